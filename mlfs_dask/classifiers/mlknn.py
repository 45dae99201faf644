"""ML-kNN: labels from how many of the k nearest training rows carry them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import (
    AnyArray,
    Conventions,
    FloatArray,
    Impute,
    IntArray,
    Normalize,
    ProblemOrders,
)
from mlfs_dask.checks import check_smoothing
from mlfs_dask.classifiers.base import Outcome, orders_by_label
from mlfs_dask.classifiers.curves import Answers, Rows, Searched, outcomes_of, tied_share
from mlfs_dask.classifiers.neighbors import NeighborClassifier
from mlfs_dask.graphs.label_counts import counts_of_queries, tables_of_training
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.subspaces import SubspaceSearch
from mlfs_dask.kernels.mlknn import posteriors


class _Learned(NamedTuple):
    """What the training rows teach.

    Attributes
    ----------
    tables : ndarray of int64, shape (n_points, 2, k + 1, n_labels)
    posteriors : list of ndarray of float64, shape (k + 1, n_labels)
        By point.
    tied : ndarray of float64, shape (n_points,)
        Share of training rows tied at the k-th neighbour.
    """

    tables: IntArray
    posteriors: list[FloatArray]
    tied: FloatArray


class MLkNN(NeighborClassifier):
    """Multi-label k nearest neighbours.

    The count of a label among the k nearest training rows decides, by Bayes' rule with
    probabilities counted on the training rows (each without itself among its neighbours).
    Neighbours are exact, in the order (distance, index). Missing values (NaN) need no imputation:
    a missing numeric value is as far away as the training range allows, a missing nominal one
    differs from everything.

    Parameters
    ----------
    n_neighbors
        k >= 1; with fewer training rows n - 1 are used, with a warning.
    smoothing
        s >= 0 added to every count.
    normalize
        ``"minmax"``: numeric features scaled by their training range, test values not clipped,
        constant features 0 (Mulan, WEKA). ``"none"``: as given (the authors' MATLAB package). The
        default, None, is ``"none"`` with ``conventions = "zhang"``, else ``"minmax"``.
    conventions
        ``"default"``, ``"mulan"``, ``"zhang"`` or ``"sklearn"``: whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
    threshold
        A label is predicted from this probability on.

    Attributes
    ----------
    n_neighbors_ : int
        k as used.
    normalize_ : str
        ``normalize`` as used.
    prior_ : ndarray of float64, shape (n_labels,)
        P(H1) of each label.
    tables_ : ndarray of int64, shape (2, n_neighbors_ + 1, n_labels)
        ``tables_[1, j, l]``: training rows with label l and j neighbours with it (the paper's
        c[j]); ``tables_[0]``: rows without it (c').
    posterior_ : ndarray of float64, shape (n_neighbors_ + 1, n_labels)
        Probability of label l when j neighbours carry it.
    tied_share_ : float
        Share of training rows whose (k+1)-th neighbour is as near as the k-th: there the choice of
        neighbours rests on the order of the rows. NaN if there is no further row. With features per
        label the mean over the labels.
    road_ : str
        ``"popcount"`` for 0/1 data, ``"postings"`` for other sparse rows, else ``"dense"``; the
        numbers are the same. With features per label all that some label took.
    pair_share_ : float
        Pairs of training rows that were looked at one by one, as a share of all: in sparse rows of
        many features those that share one, else all; NaN where nothing is learned from neighbours.
        With features per label the mean over the labels.
    feature_subsets_ : list of ndarray of int64, or None
        Features of each label.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou: ML-KNN: A lazy learning approach to multi-label learning. Pattern
    Recognition 40 (2007) 2038-2048, equations 1-7.

    Notes
    -----
    Conventions:

    - ``default``: distances on min-max scaled features; of rows equally far away the first counts;
      a posterior of exactly 0.5 is "present".
    - ``mulan``: the same. Mulan takes its search's own order of ties and tosses a coin at 0.5, so
      only rows without ties are comparable; see ``tied_share_`` and ``tied_rows``.
    - ``zhang``: distances on the values as given (the authors' MATLAB package).
    - ``sklearn``: as ``default``.

    Rows without labels train like others. How measures treat rows without labels, and where
    coverage begins to count, is decided by the conventions of the evaluation.

    O(n² d) to fit, O(n d + k q) per row to predict, never more than blocks of the distances in
    memory.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> MLkNN(n_neighbors=2).fit(X, Y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
        normalize: Normalize | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        threshold: float = 0.5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.normalize = normalize
        self.conventions = conventions
        self.impute = impute
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_smoothing(self.smoothing)

    def _learn(self, searched: Searched) -> _Learned:
        rows, smoothing = searched.rows, float(self.smoothing)
        tables, tied = tables_of_training(searched.search, rows.k, rows.labels)
        return _Learned(tables, [posteriors(table, smoothing) for table in tables], tied)

    def _answer(self, searched: Searched, learned: _Learned) -> Answers:
        counts, _, tied = counts_of_queries(searched.search, searched.rows.k, searched.rows.labels)
        proba = np.empty(counts.shape)
        for point, posterior in enumerate(learned.posteriors):
            proba[:, point] = _looked_up(posterior, counts[:, point])
        return Answers(proba, self.decide(proba), tied)

    def _tied_in_training(self, learned: _Learned) -> FloatArray:
        return learned.tied

    def problem_outcomes(
        self, train: Source, test: Source, orders: ProblemOrders, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`curve` with an order of its own for each label, and the labels predicted.

        Each label's scores equal a separate fit to its features, bit for bit; rows are loaded once
        for all labels. Distances in the features of one label say nothing of another, so this costs
        as many curves as there are labels.

        Parameters
        ----------
        train, test
            Training rows with labels; rows to predict.
        orders
            Features of ``(l,)`` for each label l, best first.
        counts
            Numbers of leading features; a label with fewer takes all of them.

        Yields
        ------
        Outcome
            In the order of ``counts``.

        Raises
        ------
        InputError
            Orders that are not one per label, or do not fit.
        """
        rows = self._rows(train, test)
        by_label = orders_by_label(orders, rows.labels.shape[1], train.n_features)
        points, places = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
        curve = self._learned_curve(self._searched_by_label(rows, by_label, points), places)
        yield from outcomes_of(curve, rows.k, counts)

    def _searched_by_label(
        self, rows: Rows, orders: Sequence[IntArray], points: IntArray | None
    ) -> Searched:
        search = SubspaceSearch(
            rows.train,
            rows.query,
            orders,
            points,
            normalize=rows.normalize,
            summary=rows.summary,
        )
        return Searched(rows, search, None, np.zeros(1, np.int64) if points is None else points)

    def _searches(self, query: Source | None) -> Iterator[Searched]:
        subsets = self.feature_subsets_
        if subsets is None:
            yield from super()._searches(query)
            return
        yield self._searched_by_label(self._fitted_rows(query), subsets, None)

    def _show(self, learned: Sequence[_Learned]) -> None:
        [(tables, [self.posterior_], tied)] = learned
        self.tables_ = tables[0]
        n, with_label = self._train.n_samples, self.tables_[1].sum(axis=0)
        s = float(self.smoothing)
        self.prior_ = (s + with_label) / (2 * s + n)
        self.tied_share_ = tied_share([tied[0]], n, self.n_neighbors_)


def _looked_up(posterior: FloatArray, counts: AnyArray) -> FloatArray:
    """``posterior[counts[i, l], l]`` for each row and label."""
    return posterior[counts, np.arange(posterior.shape[1])]
