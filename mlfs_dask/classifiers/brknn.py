"""BRkNN: labels that enough of the k nearest training rows carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from mlfs_dask._typing import (
    AnyArray,
    ByteArray,
    Conventions,
    FloatArray,
    Impute,
    IntArray,
    Normalize,
)
from mlfs_dask.checks import check_choice
from mlfs_dask.classifiers.curves import Answers, Searched
from mlfs_dask.classifiers.neighbors import NeighborClassifier
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.label_counts import Ties, counts_of_queries, counts_with_all_tied

Extension: TypeAlias = Literal["none", "a", "b"]


class BRkNN(NeighborClassifier):
    """Binary relevance by k nearest neighbours, one search for all labels.

    A label's score is the share of the nearest training rows that carry it, a little smoothed;
    extensions see to it that a row doesn't stay without labels.

    Parameters
    ----------
    n_neighbors
        k >= 1; with fewer training rows n - 1 are used, with a warning.
    extension
        ``"none"``: every label with a score from ``threshold`` on. ``"a"``: if there is none, the
        label with the highest score. ``"b"``: the s labels with the highest scores, s the mean
        number of labels of the neighbours, rounded up; none if no neighbour carries a label. Of
        equal scores the higher label index counts as higher, as in all measures by rank.
    ties
        ``"first"``: of rows as far away as the k-th neighbour the first ones count, so that there
        are k. ``"all"``: every one of them counts. The default, None, is ``"all"`` with
        ``conventions = "mulan"``, else ``"first"``.
    normalize
        ``"minmax"``: numeric features scaled by their training range, test values not clipped,
        constant features 0. ``"none"``: as given. The default, None, is ``"none"`` with
        ``conventions = "zhang"``, else ``"minmax"``.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
    threshold
        A label is predicted from this score on; extension b doesn't ask for it.

    Attributes
    ----------
    n_neighbors_ : int
        k as used.
    ties_, normalize_ : str
        ``ties`` and ``normalize`` as used.
    road_, pair_share_, feature_subsets_
        As for ML-kNN.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas: An empirical study of lazy multilabel classification
    algorithms. Proc. 5th Hellenic Conference on Artificial Intelligence (2008) 401-406.

    Notes
    -----
    Score (c + 1/n) / (k' + q/n), where c of k' neighbours carry the label, n training rows, q
    labels.

    Conventions:

    - ``default``: distances on min-max scaled features; of rows equally far away the first count;
      a score of exactly 0.5 is "present". Half of the neighbours are less than 0.5 as soon as
      there are more than two labels: "absent".
    - ``mulan``: as ``default``, but all rows as far away as the k-th neighbour count. (Mulan draws
      the label of extension a among equal scores, rounds the size of extension b to the nearest
      number, and fails where it is 0; here there is no draw, and 0 is none.)
    - ``zhang``: distances on the values as given.
    - ``sklearn``: as ``default``.

    Rows without labels count as neighbours like others. How measures treat rows without labels, and
    where coverage begins to count, is decided by the conventions of the evaluation.

    Nothing to fit; O(n d + k q) per row to predict, with all ties O(n q) more where there are
    some; never more than blocks of the distances in memory.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> BRkNN(n_neighbors=3).fit(X, Y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        extension: Extension = "none",
        ties: Ties | None = None,
        normalize: Normalize | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        threshold: float = 0.5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.extension = extension
        self.ties = ties
        self.normalize = normalize
        self.conventions = conventions
        self.impute = impute
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("extension", self.extension, ("none", "a", "b"))
        check_choice("ties", self.ties, (None, "all", "first"))

    def _ties(self) -> Ties:
        if self.ties is not None:
            return self.ties
        return "all" if self.conventions == "mulan" else "first"

    def _learn(self, searched: Searched) -> Ties:
        """Which rows count; the training rows are all else that is needed."""
        return self._ties()

    def _show(self, learned: Sequence[Ties]) -> None:
        self.ties_ = learned[0]

    def _answer(self, searched: Searched, learned: Ties) -> Answers:
        rows = searched.rows
        count = counts_of_queries if learned == "first" else counts_with_all_tied
        found = count(searched.search, rows.k, rows.labels)
        proba = confidences(found.counts, found.sizes, len(rows.labels))
        if self.extension != "b":
            return Answers(proba, self.decide(proba), found.tied)
        carried = found.counts.sum(axis=-1, dtype=np.int64)
        mean = -(-carried // np.maximum(found.sizes, 1))
        return Answers(proba, best_labels(proba, mean), found.tied)

    def decide(self, proba: FloatArray) -> ByteArray:
        """Labels from scores, without extension b: that one asks the neighbours.

        Parameters
        ----------
        proba : ndarray of float64, shape (..., n_labels)

        Raises
        ------
        InputError
            ``extension = "b"``.
        """
        if self.extension == "b":
            raise InputError(
                "extension = 'b' decides by the neighbours of a row, which its scores don't tell",
                hint="Ask predict or outcomes for the labels.",
            )
        predicted = super().decide(proba)
        if self.extension == "a":
            empty = ~predicted.any(axis=-1)
            one = np.ones(int(empty.sum()), dtype=np.int64)
            predicted[empty] = best_labels(proba[empty], one)
        return predicted


def confidences(counts: AnyArray, sizes: IntArray, n_train: int) -> FloatArray:
    """Smoothed shares of neighbours that carry each label.

    Parameters
    ----------
    counts : ndarray of an unsigned type, shape (..., n_labels)
        How many do.
    sizes : ndarray of int64, shape (...)
        Of how many.
    n_train
        Training rows.

    Returns
    -------
    ndarray of float64, shape (..., n_labels)
        (n c + 1) / (n k' + q): whole numbers, so that one half is exactly 0.5.

    Examples
    --------
    >>> confidences(np.array([[1, 2]]), np.array([2]), 4).tolist()
    [[0.5, 0.9]]
    """
    above = n_train * counts.astype(np.float64) + 1.0
    below = n_train * sizes.astype(np.float64) + counts.shape[-1]
    shares: FloatArray = above / below[..., None]
    return shares


def best_labels(proba: FloatArray, sizes: IntArray) -> ByteArray:
    """As many of the labels with the highest scores as asked for; ties go to the higher index.

    Parameters
    ----------
    proba : ndarray of float64, shape (..., n_labels)
    sizes : ndarray of int64, shape (...)

    Examples
    --------
    >>> best_labels(np.array([[0.2, 0.7, 0.2], [0.1, 0.1, 0.1]]), np.array([2, 0])).tolist()
    [[0, 1, 1], [0, 0, 0]]
    """
    worst_first = np.argsort(proba, axis=-1, kind="stable")
    places = np.empty(proba.shape, dtype=np.int64)
    np.put_along_axis(places, worst_first, np.arange(proba.shape[-1]), axis=-1)
    best: ByteArray = (places >= proba.shape[-1] - sizes[..., None]).astype(np.uint8)
    return best
