"""Shares of classes among the nearest training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray, Normalize
from mlfs_dask.checks import check_count
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.neighbors import nearest_neighbors
from mlfs_dask.graphs.source import as_source


class NearestModel(LearnedModel):
    """Training rows and their classes.

    Parameters
    ----------
    X : ndarray of float64 or CSR matrix, shape (n_rows, n_columns)
    y : ndarray of int64, shape (n_rows,)
        Class codes.
    kind : ndarray of uint8, shape (n_columns,)
    learner
        How neighbours are found.
    """

    def __init__(self, X: Block, y: IntArray, kind: ByteArray, learner: NearestRows) -> None:
        self._rows, self._kind, self._y = X, kind, y
        self._k = learner.n_neighbors if learner.n_neighbors < len(y) else len(y) - 1
        self._normalize = learner.normalize

    def proba(self, X: Block) -> FloatArray:
        """Share of each class among the k nearest; see the base class."""
        train, query = (as_source(rows, feature_kind=self._kind) for rows in (self._rows, X))
        # The task that asks has one of the executor's threads already.
        _, nearest = nearest_neighbors(
            train, query, self._k, normalize=self._normalize, executor=InProcess(1)
        )
        classes = np.arange(self._y.max() + 1)
        return np.stack([(self._y[nearest] == c).mean(axis=1) for c in classes], axis=1)


@dataclass(frozen=True)
class NearestRows(BaseLearner):
    """Share of each class among the k nearest training rows, in the order (distance, index).

    Distances are those of the classifiers by neighbours: missing values are as far away as the
    training range allows, nominal values are equal or not. ``brknn`` says the same for all labels
    with one search; here every model searches by itself.

    Parameters
    ----------
    n_neighbors
        k; with no more training rows than that, all but one.
    normalize
        ``"minmax"``: numeric features scaled by their training range. ``"none"``: as given.

    Notes
    -----
    Nothing to learn; O(n d) per row to predict.
    """

    name: ClassVar[str] = "knn"
    takes_missing: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    n_neighbors: int = 10
    normalize: Normalize = "minmax"

    def check(self) -> None:
        """Refuse fewer than one neighbour."""
        check_count("n_neighbors", self.n_neighbors)

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> NearestModel:
        """Keep the rows; see the base class. Nothing is drawn."""
        return NearestModel(X, y, kind, self)
