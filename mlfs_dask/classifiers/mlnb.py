"""Multi-label Gaussian naive Bayes (Zhang, Peña & Robles 2009)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mlfs_dask._typing import FloatArray, Impute, IntArray
from mlfs_dask.checks import check_smoothing, check_threshold, is_number
from mlfs_dask.classifiers.base import BaseClassifier, fill_values, labels_of, orders_by_label
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.densities import (
    Inputs,
    judging_tasks,
    moments_of,
    probabilities_of,
    refuse_categories,
)
from mlfs_dask.graphs.distance_checks import checked_order
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.principal import principal_components
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import refuse_infinite, refuse_missing, summarize_columns
from mlfs_dask.kernels.naive_bayes import Densities, make_densities, no_moments


class _Model(NamedTuple):
    """Densities of some labels.

    Attributes
    ----------
    labels : list of int
    inputs : Inputs
    densities : Densities
    """

    labels: list[int]
    inputs: Inputs
    densities: Densities


class MLNBClassifier(BaseClassifier):
    """Multi-label Gaussian naive Bayes.

    A row x has label l with probability 1 / (1 + exp(-m)),

        m = log((s + n_l) / (s + n - n_l)) + sum over features j of
            log(N1(x_j) + 1e-20) - log(N0(x_j) + 1e-20)

    with the normal densities N1 of the n_l training rows with l and N0 of the others (mean, and
    standard deviation with n - 1), summed in the order of the features. With the features that the
    selector of the same name chooses it is the whole method of the reference.

    Parameters
    ----------
    smoothing
        s >= 0 added to every count of the priors.
    pca
        Take principal components of the training rows instead of the features, as many as this
        share of the features, rounded up; 0.3 in the reference. At each point of a curve they are
        those of its features. At most 4,096 features.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first;
        ``"none"`` refuses them.
    threshold
        A label is predicted from this probability on.

    Attributes
    ----------
    prior_ : ndarray of float64, shape (n_labels,)
        (s + n_l) / (2 s + n).
    feature_subsets_ : list of ndarray of int64, or None
        Features of each label.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities,
        nominal features of more than two values.
    MissingValuesError
        Missing values with ``impute = "none"``.

    References
    ----------
    M.-L. Zhang, J. M. Peña, V. Robles: Feature selection for multi-label naive Bayes
    classification. Information Sciences 179 (2009) 3218-3229.

    Notes
    -----
    A class of one row, or of equal values, has a thousandth of the feature's standard deviation (1
    if that is 0); a class without rows has density 0, so that its label is never (or always)
    predicted. The reference computes components from test rows too; here they come from training
    rows only.

    O(n d q) to fit and to predict; a curve over numbers of features costs one pass, with ``pca``
    one for each point. Memory is that of a tile.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> MLNBClassifier().fit(X, Y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    refuses_categories: ClassVar[bool] = True

    def __init__(
        self,
        smoothing: float = 1.0,
        pca: float | None = None,
        impute: Impute = "none",
        threshold: float = 0.5,
    ) -> None:
        self.smoothing = smoothing
        self.pca = pca
        self.impute = impute
        self.threshold = threshold

    def fit(
        self, X: Any, Y: Any = None, *, feature_kind: Any = None, feature_subsets: Any = None
    ) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array, Dataset or Source, shape (n_samples, n_features)
            Numbers; NaN is missing.
        Y : array-like of 0/1, shape (n_samples, n_labels), optional
            Defaults to the labels of a Dataset or Source.
        feature_kind : array-like of int, shape (n_features,), optional
            0 numeric, 1 nominal; defaults to what a Dataset says, else numeric.
        feature_subsets : sequence or mapping of arrays of int, optional
            Features of each label, by position or by ``(label,)``: label l is what this classifier
            says of it when it is trained on them alone.
        """
        self._check_parameters()
        source = self._training_source(X, Y, feature_kind)
        parts = [(list(range(self.n_labels_)), np.arange(source.n_features))]
        self.feature_subsets_ = None
        if feature_subsets is not None:
            subsets = orders_by_label(feature_subsets, self.n_labels_, source.n_features)
            self.feature_subsets_ = subsets
            parts = [([label], features) for label, features in enumerate(subsets)]
        executor = get_executor()
        self._fill = fill_values(source, self.impute, executor)
        source = source if self._fill is None else source.filled(self._fill)
        self._used = np.unique(np.concatenate([features for _, features in parts]))
        self._check_rows(source, self._used, executor)
        self._models = [self._learn(source, *part, executor) for part in parts]
        s, counts = float(self.smoothing), labels_of(source).sum(axis=0)
        with np.errstate(invalid="ignore"):
            self.prior_ = (s + counts) / (2 * s + source.n_samples)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Score of each label, shape (n_samples, n_labels); see the base class."""
        query = self._query_source(X)
        query = query if self._fill is None else query.filled(self._fill)
        executor = get_executor()
        self._check_rows(query, self._used, executor)
        proba = np.empty((query.n_samples, self.n_labels_))
        for labels, inputs, densities in self._models:
            count = np.array([inputs.width])
            [found] = probabilities_of(query, inputs, densities, count, executor)
            proba[:, labels] = found
        return proba

    def curve(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Scores of test rows with the first c features of an order, for several c.

        Each point equals a separate fit to these features in this order, bit for bit.

        Parameters
        ----------
        train
            Training rows with labels.
        test
            Rows to predict; their labels are not looked at.
        order : ndarray of int64, shape (n_ordered,)
            Features, the most important first; log ratios are added in this order.
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
            No labels, orders and counts that do not fit, values that are missing or infinite.
        """
        self._check_parameters()
        points, places = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
        order, points = checked_order(order, points, train.n_features)
        order = order[: points[-1]]
        executor = get_executor()
        fill = fill_values(train, self.impute, executor)
        if fill is not None:
            train, test = train.filled(fill), test.filled(fill)
        for rows in (train, test):
            self._check_rows(rows, order, executor)
        labels = list(range(labels_of(train).shape[1]))
        if self.pca is None:
            _, inputs, densities = self._learn(train, labels, order, executor)
            found = probabilities_of(test, inputs, densities, points, executor)
            for place in places:
                yield int(points[place]), found[place]
            return
        for place in places:
            _, inputs, densities = self._learn(train, labels, order[: points[place]], executor)
            every = np.array([inputs.width])
            [proba] = probabilities_of(test, inputs, densities, every, executor)
            yield int(points[place]), proba

    def _learn(
        self, train: Source, labels: list[int], features: IntArray, executor: Executor
    ) -> _Model:
        """Densities of some labels on some features."""
        inputs = Inputs(features)
        if self.pca is not None and len(features):
            found = principal_components(train, features, float(self.pca), executor)
            inputs = Inputs(features, found.mean, found.axes)
        rows = train.with_labels(np.ascontiguousarray(labels_of(train)[:, labels]))
        tasks = judging_tasks(rows, rows.items())
        moments = moments_of(tasks, executor.share(inputs), len(labels), executor)
        known = no_moments(len(labels), inputs.width) if moments is None else moments
        return _Model(labels, inputs, make_densities(known, float(self.smoothing)))

    def _check_rows(self, source: Source, used: IntArray, executor: Executor) -> None:
        """Refuse what has no density in the features that are used."""
        name = type(self).__name__
        summary = summarize_columns(source, executor)
        ours = np.isin(np.arange(source.n_features), used)
        low, high = (np.where(ours, ends, 0.0) for ends in (summary.low, summary.high))
        missing = np.where(ours, summary.n_missing, 0)
        refuse_missing(replace(summary, n_missing=missing), source, name)
        summary = replace(summary, low=low, high=high)
        refuse_infinite(summary, source)
        refuse_categories(source, summary, name)

    def _check_parameters(self) -> None:
        check_smoothing(self.smoothing)
        check_threshold(self.threshold)
        if self.pca is not None and (not is_number(self.pca) or not 0 < self.pca <= 1):
            raise InputError(f"pca = {self.pca!r}: expected a share above 0 and at most 1")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute == "mean"
        return tags
