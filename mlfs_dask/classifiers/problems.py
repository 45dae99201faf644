"""The single-target problems that a label matrix is split into, one model for each.

::

    Relevance (l,)        label l against the rest, on all rows
    Duel      (a, b)      label a against label b, on the rows with exactly one of the two
    Powerset  (a, b, ..)  each distinct set of these labels is a class, on all rows
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels.labelsets import find_label_sets

SetScores: TypeAlias = Literal["votes", "confidence", "marginal"]


class Target(NamedTuple):
    """What a model learns.

    Attributes
    ----------
    rows : ndarray of int64, or None
        Training rows that it learns from; None: all.
    codes : ndarray of int64, shape (n_rows,)
        Class of each of them, 0 to n_classes - 1, each at least once.
    classes : ndarray of uint8, shape (n_classes, ...)
        What the classes are.
    """

    rows: IntArray | None
    codes: IntArray
    classes: ByteArray


class SetAnswer(NamedTuple):
    """What a model of label sets says.

    Attributes
    ----------
    labels : ndarray of uint8, shape (n_rows, n_labels)
        The most probable set; of equally probable ones the first.
    scores : ndarray of float64, shape (n_rows, n_labels)
        Votes are the labels themselves.
    """

    labels: ByteArray
    scores: FloatArray | ByteArray


@dataclass(frozen=True)
class Problem(ABC):
    """One problem.

    Attributes
    ----------
    labels : tuple of int
        The labels it is about.
    """

    labels: tuple[int, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in messages; labels by number."""

    @abstractmethod
    def target(self, Y: ByteArray) -> Target:
        """What to learn from labels of training rows, shape (n_samples, n_labels)."""

    @abstractmethod
    def answer(self, proba: FloatArray, classes: ByteArray) -> Any:
        """What probabilities (n_rows, n_classes) of some classes say, as small as it can be."""


class Relevance(Problem):
    """One label against the rest; the answer is its probability, shape (n_rows,)."""

    @property
    def name(self) -> str:
        """Such as ``label 3``."""
        return f"label {self.labels[0]}"

    def target(self, Y: ByteArray) -> Target:
        """All rows, by whether they have the label; see the base class."""
        classes, codes = np.unique(Y[:, self.labels[0]], return_inverse=True)
        return Target(None, codes.ravel().astype(np.int64), classes)

    def answer(self, proba: FloatArray, classes: ByteArray) -> FloatArray:
        """Probability of 1; see the base class."""
        return _of_one(proba, classes)


class Duel(Problem):
    """Label a against label b; the answer is the probability of a, shape (n_rows,)."""

    @property
    def name(self) -> str:
        """Such as ``label 3 against label 5``."""
        return f"label {self.labels[0]} against label {self.labels[1]}"

    def target(self, Y: ByteArray) -> Target:
        """Rows with exactly one of the two, by whether it is a; see the base class."""
        a, b = self.labels
        rows = np.flatnonzero(Y[:, a] != Y[:, b])
        classes, codes = np.unique(Y[rows, a], return_inverse=True)
        return Target(rows, codes.ravel().astype(np.int64), classes)

    def answer(self, proba: FloatArray, classes: ByteArray) -> FloatArray:
        """Probability of a; see the base class."""
        return _of_one(proba, classes)


@dataclass(frozen=True)
class Powerset(Problem):
    """Sets of labels as classes, in the lexicographic order of their bits, 0 before 1.

    Attributes
    ----------
    labels : tuple of int
    scores
        ``"votes"``: 1 for labels of the most probable set, else 0. ``"confidence"``: its
        probability for its labels, one minus that for the others. ``"marginal"``: sum of the
        probabilities of the sets with the label.
    """

    scores: SetScores = "votes"

    @property
    def name(self) -> str:
        """Such as ``sets of labels 0, 3, 5``."""
        return f"sets of labels {', '.join(map(str, self.labels))}"

    def target(self, Y: ByteArray) -> Target:
        """All rows, by their set of these labels; see the base class."""
        part = np.ascontiguousarray(Y[:, self.labels])
        sets = find_label_sets(part)
        return Target(None, sets.codes, part[sets.first])

    def answer(self, proba: FloatArray, classes: ByteArray) -> SetAnswer:
        """The most probable set; see the base class."""
        best = np.argmax(proba, axis=1)
        labels = classes[best]
        if self.scores == "marginal":
            sums = proba @ classes.astype(np.float64)
            return SetAnswer(labels, np.minimum(sums, 1.0))  # rounding may lead beyond
        if self.scores == "votes":
            return SetAnswer(labels, labels)
        confidence = proba[np.arange(len(best)), best][:, None]
        return SetAnswer(labels, np.where(labels == 1, confidence, 1 - confidence))


def _of_one(proba: FloatArray, classes: ByteArray) -> FloatArray:
    column: AnyArray = proba[:, np.flatnonzero(classes == 1)]
    return column[:, 0] if column.shape[1] else np.zeros(len(proba))
