"""Baselines that look at one feature at a time: variance, χ² and mutual information.

What methods that look at sets of features, or at the structure of the labels, have to beat::

    variance       mean of (f - mean f)², f normalized
    χ²             per label, sum over its two classes of (O_c - E_c)² / E_c, where O_c is the sum
                   of f over the rows of class c and E_c what it would be if f didn't depend on c
    information    per label, sum of p(b, y) log2 (p(b, y) / (p(b) p(y))) over bins b of f
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from mlfs_dask._typing import FloatArray, Impute, IntArray, Normalize
from mlfs_dask.checks import check_choice
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.columns import Columns, make_columns
from mlfs_dask.graphs.contingency import contingency
from mlfs_dask.graphs.deviations import column_scatter, divisors
from mlfs_dask.graphs.discretize import find_bins
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.label_sums import label_sums
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.contingency import label_information
from mlfs_dask.kernels.label_sums import uneven
from mlfs_dask.selectors.base import BaseSelector, labels_of


class _Baseline(BaseSelector):
    """Scores every feature by itself, higher is better, constants 0."""

    def _finish(self, scores: FloatArray, summary: ColumnSummary) -> None:
        known = np.where(summary.constant, 0.0, scores)
        self._keep_ranking(known, summary.constant, higher_is_better=True)


class Variance(_Baseline):
    """Rank features by their variance after normalization; labels are not looked at.

        variance = 1/n sum of (f_i - mean f)²

    Parameters
    ----------
    normalize : {"minmax", "none"}
        ``"minmax"`` divides the variance by the squared range.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        Population variance, 1/n sum of (f_i - mean)²; 0 for constant features. Higher is better.

    Notes
    -----
    A nominal feature of more than two values counts as a group of 0/1 columns whose variances are
    summed. Cost: O(nnz), two passes; digits survive means far from zero.

    References
    ----------
    X. He, D. Cai, P. Niyogi: Laplacian score for feature selection. NIPS 2005, where it is the
    baseline.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 10.0, 1.0], [1.0, 20.0, 1.0], [1.0, 30.0, 1.0]])
    >>> Variance().fit(X).scores_.round(4)
    array([0.2222, 0.1667, 0.    ])
    """

    def __init__(
        self,
        normalize: Normalize = "minmax",
        *,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.normalize = normalize
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("normalize", self.normalize, ("minmax", "none"))

    def _check_labels(self, source: Source) -> Source:
        return source

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        columns = make_columns(source, summary, executor)
        found = column_scatter(source, columns, np.ones(source.n_samples), executor)
        divisor = divisors(columns, self.normalize)
        with np.errstate(over="ignore"):
            variances = found.scatter / source.n_samples / divisor / divisor
        self._finish(columns.by_feature(variances), summary)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class _PerLabel(_Baseline):
    """Scores every feature against every label and brings the scores together."""

    label_scores_: FloatArray

    def __init__(
        self,
        aggregate: Literal["mean", "max"] = "mean",
        *,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.aggregate = aggregate
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("aggregate", self.aggregate, ("mean", "max"))

    @abstractmethod
    def _score_labels(
        self, source: Source, summary: ColumnSummary, executor: Executor
    ) -> FloatArray:
        """Scores, shape (n_features, n_labels)."""

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        scores = self._score_labels(source, summary, executor)
        scores[summary.constant] = 0.0
        self.label_scores_ = scores
        together = scores.mean(axis=1) if self.aggregate == "mean" else scores.max(axis=1)
        self._finish(together, summary)


class ChiSquared(_PerLabel):
    """Rank features by the χ² statistic of their sums over the rows with and without a label.

        χ² = sum over the classes c of (O_c - E_c)² / E_c

    Parameters
    ----------
    aggregate : {"mean", "max"}
        How the statistics of the labels make one score.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        Mean or maximum over labels; 0 for constant features. Higher is better.
    label_scores_ : ndarray of float64, shape (n_features, n_labels)
        Sum over the two classes c of (O_c - E_c)² / E_c, with O_c the sum of f over the rows of c
        and E_c = n_c / n sum of f; 0 for a label that all rows have, or none.

    Raises
    ------
    InputError
        `fit` refuses negative values.

    Notes
    -----
    The statistic is scikit-learn's ``chi2``. For a nominal feature of more than two values it is
    Pearson's statistic of the table of categories and label. Cost: O(nnz) per relevant label of a
    row (its d values, if X is dense), one pass.

    Sums are kept in two parts, so that small scores too are right to 1e-14 of themselves, and have
    the same bits for any tiles. scikit-learn subtracts sums that were rounded: where observed and
    expected ones are nearly equal, its scores are off by up to 1e-10 of themselves (1e-13 of the
    larger of 1 and the score), as exact fractions show on emotions, yeast, birds and enron.

    References
    ----------
    Y. Yang, J. O. Pedersen: A comparative study on feature selection in text categorization. ICML
    1997.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    >>> X = np.array([[2.0, 1.0], [4.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> ChiSquared().fit(X, Y).label_scores_.round(4)
    array([[6.    , 0.6667],
           [0.    , 2.    ]])
    """

    def _score_labels(
        self, source: Source, summary: ColumnSummary, executor: Executor
    ) -> FloatArray:
        _refuse_negative(source, summary)
        columns, Y = make_columns(source, summary, executor), labels_of(source)
        sums = label_sums(source, columns, summary, Y, executor)
        return _chi_squared(sums, Y.sum(axis=0, dtype=np.int64), len(Y), columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class MutualInformation(_PerLabel):
    """Rank features by their mutual information with the labels, in bits.

        I(f; l) = sum over bins b and y in {0, 1} of p(b, y) log2 (p(b, y) / (p(b) p(y)))

    Parameters
    ----------
    aggregate : {"mean", "max"}
        How the information on the labels makes one score.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        Mean or maximum over labels; 0 for constant features. Higher is better.
    label_scores_ : ndarray of float64, shape (n_features, n_labels)
        Sum of p(b, y) log2 (p(b, y) / (p(b) p(y))) over the bins b of the feature and y in {0, 1};
        what is below 1e-12 counts 0.

    Notes
    -----
    A numeric feature has two bins of equal frequency: the second holds the rows above the value of
    rank round(n / 2). Features of two values keep them, nominal ones their categories. Times ln 2
    it is scikit-learn's ``mutual_info_classif(discrete_features=True)`` on these bins. Cost:
    O(nnz q / 64) for dense rows, O(nnz) per relevant label for CSR, and at most nine passes for
    the bins; no column is sorted.

    References
    ----------
    R. Battiti: Using mutual information for selecting features in supervised neural net learning.
    IEEE Transactions on Neural Networks 5 (1994) 537-550.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    >>> X = np.array([[2.0, 1.0], [4.0, 0.0], [0.5, 1.0], [0.1, 0.0]])
    >>> MutualInformation().fit(X, Y).label_scores_
    array([[1., 0.],
           [0., 1.]])
    """

    def _score_labels(
        self, source: Source, summary: ColumnSummary, executor: Executor
    ) -> FloatArray:
        bins = find_bins(source, summary, executor)
        table = contingency(source, bins, labels_of(source), executor)
        return label_information(table.joint, table.bins, table.groups, table.n_samples, bins.start)


def _refuse_negative(source: Source, summary: ColumnSummary) -> None:
    negative = np.flatnonzero(summary.low < 0)
    if len(negative):
        j = int(negative[0])
        name = f" ({source.feature_names[j]})" if source.feature_names else ""
        raise InputError(
            f"Negative values in data passed to ChiSquared: feature {j}{name} has "
            f"{summary.low[j]:g}",
            hint="chi2 takes counts and other values of at least 0; mutual-info takes any.",
            feature=j,
        )


def _chi_squared(sums: FloatArray, counts: IntArray, n: int, columns: Columns) -> FloatArray:
    """Statistics from the sums over the rows of each label and over all."""
    whole = sums[:, -1].sum(axis=0)  # n E_c / n_c
    usable = whole > 0
    gaps = uneven(sums, counts, n) / n  # O_1 - E_1 = -(O_0 - E_0)
    out = np.zeros((columns.n_features, len(counts)))
    for label, count in enumerate(counts.tolist()):
        if 0 < count < n:
            gap = gaps[label]
            share = np.where(usable, gap, 0.0) / np.where(usable, whole, 1.0)
            scores = gap * share * (n / count) * (n / (n - count))
            if columns.scale is not None:
                scores = scores / columns.scale
            out[:, label] = columns.by_feature(scores)
    return out
