"""What runs in a task: fit the model of one problem, or ask it.

::

    training rows ──(columns of the model, as float64)──> learner ──> model ──┐
    test rows     ──────────── tile by tile ──────────────────────────────────┴──> answer

Tasks get references to tiles: a worker reads a store by its address. Training rows are put
together once per process, in the stored type and with the columns that some model uses; besides, a
task holds its model's own copy of them as float64 and one tile of test rows.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, IntArray
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, ClassShares, LearnedModel
from mlfs_dask.classifiers.problems import Problem
from mlfs_dask.errors import InputError, MlfsError
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import TileItem, load_block
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.wording import counted


class TrainingRows:
    """Rows to learn from.

    Parameters
    ----------
    items
        References to their tiles.
    labels : ndarray of uint8, shape (n_rows, n_labels)
    kind : ndarray of uint8, shape (n_features,)
        0 numeric, 1 nominal.
    """

    def __init__(self, items: Sequence[TileItem], labels: ByteArray, kind: ByteArray) -> None:
        self.items, self.labels, self.kind = list(items), labels, kind
        self._put_together()

    def _put_together(self) -> None:
        self._lock = threading.Lock()
        self._whole: Block | None = None

    def whole(self) -> Block:
        """All rows in one matrix, made at the first call."""
        with self._lock:
            if self._whole is None:
                blocks = [load_block(item) for item in self.items]
                stack = sp.vstack if sp.issparse(blocks[0]) else np.concatenate
                self._whole = blocks[0] if len(blocks) == 1 else stack(blocks)
                if sp.issparse(self._whole):
                    self._whole = sp.csr_matrix(self._whole)
            return self._whole

    def __getstate__(self) -> dict[str, Any]:
        return {"items": self.items, "labels": self.labels, "kind": self.kind}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._put_together()


@dataclass(frozen=True, eq=False)
class ModelTask:
    """Which model to fit.

    Attributes
    ----------
    problem : Problem
    features : ndarray of int64
        Columns of the training rows, in the order in which the learner gets them.
    stream : SeedSequence
        Of this model alone.
    """

    problem: Problem
    features: IntArray
    stream: np.random.SeedSequence


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The model of one problem.

    Attributes
    ----------
    problem : Problem
    features : ndarray of int64
    classes : ndarray of uint8, shape (n_classes, ...)
        None: no training row.
    model : LearnedModel or None
        None: the training rows are of one class at most, which is the answer for all rows.
    dense : bool
        Whether CSR rows are made dense.
    """

    problem: Problem
    features: IntArray
    classes: ByteArray
    model: LearnedModel | None
    dense: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of it."""
        return () if self.model is None else self.model.notes

    def ask(self, items: Sequence[TileItem]) -> Any:
        """What it says of some rows; None if it never saw a row.

        Parameters
        ----------
        items
            References to their tiles.
        """
        if len(self.classes) == 0:
            return None
        with _failing_by_name(self.problem), single_blas_thread():
            proba = [self._proba(load_block(item)) for item in items]
        return self.problem.answer(np.concatenate(proba), self.classes)

    def _proba(self, block: Block) -> Any:
        if self.model is None:
            return np.ones((block.shape[0], 1))
        proba = self.model.proba(columns_of(block, self.features, dense=self.dense))
        if not np.isfinite(proba).all():
            raise InputError(
                "its probabilities are not finite numbers",
                hint="Values may be too large or too small to compute with: scale the features.",
            )
        return proba


class Asked(NamedTuple):
    """What became of a model.

    Attributes
    ----------
    answer
        None: it has no training row.
    notes : tuple of str
    constant : bool
        Its training rows are of one class.
    """

    answer: Any
    notes: tuple[str, ...]
    constant: bool


def fit_model(task: ModelTask, train: TrainingRows, learner: BaseLearner) -> FittedModel:
    """Fit the model of a problem.

    Parameters
    ----------
    task
        Which.
    train
        Rows to learn from.
    learner
        How.
    """
    target = task.problem.target(train.labels)
    features, dense = task.features, not learner.takes_sparse
    model: LearnedModel | None = None
    if len(target.classes) > 1 and len(features) == 0:
        model = ClassShares(target.codes)
    elif len(target.classes) > 1:
        rows = train.whole() if target.rows is None else train.whole()[target.rows]
        with _failing_by_name(task.problem), single_blas_thread():
            model = learner.learn(
                columns_of(rows, features, dense=dense),
                target.codes,
                train.kind[features],
                task.stream,
            )
    return FittedModel(task.problem, features, target.classes, model, dense)


@contextmanager
def _failing_by_name(problem: Problem) -> Iterator[None]:
    """Say in an error whose model it is about."""
    try:
        yield
    except MlfsError as error:
        message = f"the model of {problem.name}: {error.message}"
        facts = {**error.facts, "labels": problem.labels}
        raise type(error)(message, hint=error.hint, **facts) from error
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise MlfsError(
            f"the model of {problem.name} failed: {said}", labels=problem.labels
        ) from error


def fit_and_ask(
    task: ModelTask, train: TrainingRows, test: Sequence[TileItem], learner: BaseLearner
) -> Asked:
    """Fit the model of a problem, ask it, and forget it.

    Parameters
    ----------
    task, train, learner
        As for `fit_model`.
    test
        References to the tiles of the rows to ask about.
    """
    fitted = fit_model(task, train, learner)
    return Asked(fitted.ask(test), fitted.notes, len(fitted.classes) == 1)


def ask_model(fitted: FittedModel, test: Sequence[TileItem]) -> Any:
    """What a fitted model says of some rows.

    Parameters
    ----------
    fitted
        The model.
    test
        References to the tiles of the rows to ask about.
    """
    return fitted.ask(test)


def columns_of(rows: Block, features: IntArray, *, dense: bool) -> Block:
    """Some columns of rows as a learner gets them.

    Parameters
    ----------
    rows : ndarray or CSR matrix, shape (n_rows, n_features)
    features : ndarray of int64
        Columns, in any order.
    dense
        Whether CSR rows are made dense.

    Returns
    -------
    C-contiguous ndarray or canonical CSR matrix of float64, shape (n_rows, len(features))
        Not a copy where rows are all that is asked for already.
    """
    as_they_are = len(features) == rows.shape[1] and np.array_equal(
        features, np.arange(rows.shape[1])
    )
    if not sp.issparse(rows):
        taken = rows if as_they_are else np.take(rows, features, axis=1)
        return np.ascontiguousarray(taken, dtype=np.float64)
    taken = sp.csr_matrix(rows if as_they_are else rows[:, features], dtype=np.float64)
    if dense:
        return taken.toarray()
    taken.sort_indices()
    return taken


class Notes:
    """Counts what should be known of models while their answers go by."""

    def __init__(self) -> None:
        self._n_models = 0
        self._said: Counter[str] = Counter()

    def answers(self, asked: Iterable[Asked]) -> Iterator[Any]:
        """The answers of models, one by one.

        Parameters
        ----------
        asked
            What became of the models.
        """
        for each in asked:
            self._n_models += 1
            self._said.update(each.notes)
            if each.constant:
                self._said["training rows of one class, which is the answer"] += 1
            if each.answer is None:
                self._said["no training row, no answer"] += 1
            yield each.answer

    def told(self) -> list[str]:
        """What there is to know of the models so far.

        Examples
        --------
        >>> notes = Notes()
        >>> list(notes.answers([Asked(0.5, (), False), Asked(1.0, (), True)]))
        [0.5, 1.0]
        >>> notes.told()
        ['training rows of one class, which is the answer: 1 of 2 models']
        """
        found = sorted(self._said.items())
        return [f"{what}: {count} of {counted(self._n_models, 'model')}" for what, count in found]
