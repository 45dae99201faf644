"""ML-kNN: labels from how many of the k nearest training rows carry them."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from mlfs_dask._typing import (
    AnyArray,
    ByteArray,
    Conventions,
    FloatArray,
    Impute,
    IntArray,
    Normalize,
    ProblemOrders,
)
from mlfs_dask.classifiers.base import BaseClassifier, Outcome, fill_values, orders_by_label
from mlfs_dask.classifiers.label_counts import counts_of_queries, empty_tables, tables_of
from mlfs_dask.errors import DegenerateInputWarning, InputError
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.neighbors import NeighborSearch
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.graphs.subspaces import SubspaceSearch
from mlfs_dask.kernels.mlknn import posteriors


class MLkNN(BaseClassifier):
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
        ``"default"``, ``"mulan"``, ``"zhang"`` or ``"sklearn"``: whose habits to follow; only
        ``"zhang"`` differs here.
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

    def fit(
        self,
        X: Any,
        Y: Any = None,
        *,
        feature_kind: Any = None,
        feature_subsets: Any = None,
    ) -> Self:
        """Count labels among the neighbours of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array, Dataset or Source, shape (n_samples, n_features)
            Numbers; NaN is missing.
        Y : array-like of 0/1, shape (n_samples, n_labels), optional
            Defaults to the labels of a Dataset or Source.
        feature_kind : array-like of int, shape (n_features,), optional
            0 numeric, 1 nominal; defaults to what a Dataset says, else numeric.
        feature_subsets : sequence or mapping of arrays of int, optional
            Features of each label, by position or by ``(label,)``: it is predicted by ML-kNN
            restricted to them, neighbours and tables included. Distances are summed in the order
            given.
        """
        self._check_parameters()
        source = self._training_source(X, Y, feature_kind)
        self.feature_subsets_ = None
        if feature_subsets is not None:
            self.feature_subsets_ = orders_by_label(
                feature_subsets, self.n_labels_, source.n_features
            )
        executor = get_executor()
        self._fill = fill_values(source, self.impute, executor)
        self._train = source = source if self._fill is None else source.filled(self._fill)
        self._summary = summarize_columns(source, executor)
        self.n_neighbors_ = k = self._usable_neighbors(source.n_samples)
        self.normalize_ = self._normalization()
        search = self._search(None, executor)
        self.road_ = ", ".join(search.roads)
        labels = _labels(source)
        shared = executor.share(labels)
        more = min(k + 1, source.n_samples - 1)
        tables, tied = empty_tables(1, k, self.n_labels_), []
        for _, (part, part_tied) in search.leave_one_out(more, tables_of, shared, k):
            tables += part
            tied.append(part_tied)
        self.tables_ = tables[0]
        self.posterior_ = posteriors(self.tables_, self.smoothing)
        with_label = self.tables_[1].sum(axis=0)
        self.prior_ = (self.smoothing + with_label) / (2 * self.smoothing + source.n_samples)
        share = float(np.sum(tied, axis=0).mean()) / source.n_samples
        self.tied_share_ = share if more > k else float("nan")
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Posterior probability of each label.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_labels)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            ``fit`` has not been called.
        InputError
            Another number of features.
        """
        query = self._query_source(X)
        query = query if self._fill is None else query.filled(self._fill)
        search = self._search(query, get_executor())
        counts = counts_of_queries(search, self.n_neighbors_, _labels(self._train))
        return _looked_up(self.posterior_, counts[:, 0])

    def curve(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Probabilities of test rows with the first c features of an order, for several c.

        One pass over the pairs of rows serves all points: distances grow feature by feature. Each
        point equals a separate fit to these features in this order, bit for bit. The estimator
        itself stays as it is.

        Parameters
        ----------
        train
            Training rows with labels.
        test
            Rows to predict; their labels are not looked at.
        order : ndarray of int64, shape (n_ordered,)
            Features, the most important first; distances are summed in this order. For an unordered
            set give its features by index and its size as the only count.
        counts
            Numbers of leading features, 0 to n_ordered.

        Yields
        ------
        count : int
            In the order given.
        proba : ndarray of float64, shape (n_test, n_labels)

        Raises
        ------
        InputError
            No labels, or orders and counts that do not fit.
        """

        def search(train: Source, test: Source, points: IntArray) -> NeighborSearch:
            normalize = self._normalization()
            return NeighborSearch(train, test, order=order, counts=points, normalize=normalize)

        return self._curve(train, test, counts, search)

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
        by_label = orders_by_label(orders, _labels(train).shape[1], train.n_features)

        def search(train: Source, test: Source, points: IntArray) -> SubspaceSearch:
            normalize = self._normalization()
            return SubspaceSearch(train, test, by_label, points, normalize=normalize)

        for count, proba in self._curve(train, test, counts, search):
            yield Outcome(count, proba, self.decide(proba))

    def _curve(
        self,
        train: Source,
        test: Source,
        counts: Sequence[int],
        make: Callable[[Source, Source, IntArray], NeighborSearch | SubspaceSearch],
    ) -> Iterator[tuple[int, FloatArray]]:
        self._check_parameters()
        fill = fill_values(train, self.impute, get_executor())
        if fill is not None:
            train, test = train.filled(fill), test.filled(fill)
        labels = _labels(train)
        k = self._usable_neighbors(train.n_samples)
        points, places = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
        search = make(train, test, points)
        shared = search.executor.share(labels)
        tables = empty_tables(len(points), k, labels.shape[1])
        for _, (part, _) in search.leave_one_out(k, tables_of, shared, k):
            tables += part
        held = counts_of_queries(search, k, labels, shared)
        for count, place in zip(counts, places, strict=True):
            posterior = posteriors(tables[place], self.smoothing)
            yield int(count), _looked_up(posterior, held[:, place])

    def _search(self, query: Source | None, executor: Executor) -> NeighborSearch | SubspaceSearch:
        """Neighbours among the rows of the fit."""
        common: Any = {
            "normalize": self.normalize_,
            "executor": executor,
            "summary": self._summary,
        }
        if self.feature_subsets_ is None:
            return NeighborSearch(self._train, query, **common)
        return SubspaceSearch(self._train, query, self.feature_subsets_, **common)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _normalization(self) -> Normalize:
        if self.normalize is not None:
            return self.normalize
        return "none" if self.conventions == "zhang" else "minmax"

    def _usable_neighbors(self, n_train: int) -> int:
        if self.n_neighbors < n_train:
            return self.n_neighbors
        warnings.warn(
            f"n_neighbors = {self.n_neighbors} with {n_train} training rows: each row has only "
            f"{n_train - 1} others, so {n_train - 1} neighbours are used",
            DegenerateInputWarning,
            stacklevel=3,
        )
        return n_train - 1

    def _check_parameters(self) -> None:
        k, s, threshold = self.n_neighbors, self.smoothing, self.threshold
        if not _is_a(numbers.Integral, k) or k < 1:
            raise InputError(f"n_neighbors = {k!r}: expected an integer of at least 1")
        if not _is_a(numbers.Real, s) or not 0 <= s < np.inf:
            raise InputError(f"smoothing = {s!r}: expected a finite number of at least 0")
        if not _is_a(numbers.Real, threshold) or not 0 <= threshold <= 1:
            raise InputError(f"threshold = {threshold!r}: expected a probability from 0 to 1")
        _check_choice("normalize", self.normalize, (None, "minmax", "none"))
        _check_choice("conventions", self.conventions, ("default", "mulan", "zhang", "sklearn"))
        _check_choice("impute", self.impute, ("none", "mean"))


def _is_a(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise InputError(f"{name} = {value!r}: expected one of {names}")


def _labels(source: Source) -> ByteArray:
    if source.Y is None:
        raise InputError("the training rows carry no labels")
    return source.Y


def _looked_up(posterior: FloatArray, counts: AnyArray) -> FloatArray:
    """``posterior[counts[i, l], l]`` for each row and label."""
    return posterior[counts, np.arange(posterior.shape[1])]
