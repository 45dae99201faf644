"""DML-kNN: ML-kNN that asks the training rows whose neighbours carry all labels alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
from mlfs_dask.checks import check_count, check_smoothing
from mlfs_dask.classifiers.base import labels_of
from mlfs_dask.classifiers.curves import Answers, Searched, tied_share
from mlfs_dask.classifiers.neighbors import NeighborClassifier
from mlfs_dask.graphs.label_counts import counts_of, counts_of_training
from mlfs_dask.graphs.neighbor_tasks import QueryBlock
from mlfs_dask.kernels.dmlknn import count_alike, scores
from mlfs_dask.kernels.neighbors import Found


class _Learned(NamedTuple):
    """What the training rows teach.

    Attributes
    ----------
    around : ndarray of an unsigned type, shape (n_points, n_train, n_labels)
        Counting vectors, each row without itself.
    tied : ndarray of float64, shape (n_points,)
        Share of training rows tied at the k-th neighbour.
    smoothing : float
    delta : int
    """

    around: AnyArray
    tied: FloatArray
    smoothing: float
    delta: int


class DMLkNN(NeighborClassifier):
    """Dependent multi-label k nearest neighbours.

    As ML-kNN it counts, by label, the neighbours of a row that carry it; but a label is judged only
    by the training rows whose counts of *all* labels differ from the row's by at most delta, so
    labels that occur together say something about each other.

    Parameters
    ----------
    n_neighbors
        k >= 1; with fewer training rows n - 1 are used, with a warning.
    smoothing
        s >= 0 added to every count.
    delta
        Largest difference of counts between rows that are alike, at least 0. From k on all rows are
        alike and only the smoothing differs from ML-kNN's.
    normalize
        ``"minmax"``: numeric features scaled by their training range, test values not clipped,
        constant features 0. ``"none"``: as given. The default, None, is ``"none"`` with
        ``conventions = "zhang"``, else ``"minmax"``.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
    threshold
        A label is predicted from this score on.

    Attributes
    ----------
    n_neighbors_ : int
        k as used.
    normalize_ : str
        ``normalize`` as used.
    prior_ : ndarray of float64, shape (n_labels,)
        P(H1) of each label.
    counts_ : ndarray of an unsigned type, shape (n_samples, n_labels)
        How many of a training row's neighbours carry each label; with features per label a list of
        them.
    tied_share_ : float
        Share of training rows whose (k+1)-th neighbour is as near as the k-th. NaN if there is no
        further row.
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
    Z. Younes, F. Abdallah, T. Denœux: Multi-label classification algorithm derived from k-nearest
    neighbor rule with label dependencies. Proc. 16th European Signal Processing Conference (2008).

    Notes
    -----
    Score p1 / (p1 + p0), p1 = P(H1) (s + V) / (s q + n_l), where n_l training rows carry label l
    and V of those that are alike carry it and have the row's own count of it; p0 likewise of rows
    without it. Without smoothing both may be 0, and so is the score then.

    Conventions:

    - ``default``: distances on min-max scaled features; of rows equally far away the first counts;
      a score of exactly 0.5 is "present".
    - ``mulan``: the same. Mulan takes its search's own order of ties and always delta = 6; here
      delta is what it is set to.
    - ``zhang``: distances on the values as given.
    - ``sklearn``: as ``default``.

    Rows without labels train like others. How measures treat rows without labels, and where
    coverage begins to count, is decided by the conventions of the evaluation.

    O(n² d) to fit, O(n (d + q)) per row to predict, never more than blocks of the distances in
    memory.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> DMLkNN(n_neighbors=2, delta=1).fit(X, Y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
        delta: int = 6,
        normalize: Normalize | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        threshold: float = 0.5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.delta = delta
        self.normalize = normalize
        self.conventions = conventions
        self.impute = impute
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_smoothing(self.smoothing)
        check_count("delta", self.delta, 0)

    def _learn(self, searched: Searched) -> _Learned:
        rows = searched.rows
        counts, _, tied = counts_of_training(searched.search, rows.k, rows.labels)
        around = np.ascontiguousarray(counts.transpose(1, 0, 2))
        return _Learned(around, tied.mean(axis=0), float(self.smoothing), self.delta)

    def _answer(self, searched: Searched, learned: _Learned) -> Answers:
        search, labels, k = searched.search, searched.rows.labels, searched.rows.k
        n_train, n_labels = labels.shape
        n_with = labels.sum(axis=0, dtype=np.int64)
        proba = np.empty((search.n_queries, search.n_points, n_labels))
        tied = np.empty(proba.shape[:2])
        shared = search.executor.share(labels), search.executor.share(learned.around)
        found = search.of_queries(min(k + 1, n_train), _votes_of, *shared, k, learned.delta)
        for block, (votes, part) in found:
            rows = slice(block.first, block.last)
            proba[rows] = scores(votes, n_with, n_train, learned.smoothing)
            tied[rows] = part
        return Answers(proba, self.decide(proba), tied)

    def _tied_in_training(self, learned: _Learned) -> FloatArray:
        return learned.tied

    def _show(self, learned: Sequence[_Learned]) -> None:
        n_with = labels_of(self._train).sum(axis=0, dtype=np.int64)
        s, n = float(self.smoothing), self._train.n_samples
        self.prior_ = (s + n_with) / (2 * s + n)
        counts = [each.around[0] for each in learned]
        self.counts_ = counts[0] if self.feature_subsets_ is None else counts
        self.tied_share_ = tied_share([each.tied[0] for each in learned], n, self.n_neighbors_)


def _votes_of(
    found: Found, block: QueryBlock, labels: ByteArray, around: AnyArray, k: int, delta: int
) -> tuple[IntArray, FloatArray]:
    """Votes on a block of queries, shape (n_rows, n_points, 2, n_labels), and who is tied."""
    counts, tied, _ = counts_of(found, block, labels, k)
    n_rows, n_points, n_labels = counts.shape
    votes = np.zeros((n_points, n_rows, 2, n_labels), dtype=np.int64)
    for point in range(n_points):
        own = np.ascontiguousarray(counts[:, point])
        count_alike(own, around[point], labels, delta, votes[point])
    return votes.transpose(1, 0, 2, 3), tied
