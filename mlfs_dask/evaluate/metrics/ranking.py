"""Measures of how the labels of a row are ranked, and the area under the ROC curve per label.

One-error, coverage, ranking loss and average precision follow Schapire and Singer, "BoosTexter",
Machine Learning 39 (2000), section 5.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from mlfs_dask._typing import BoolArray, Conventions, FloatArray
from mlfs_dask.evaluate.metrics.comparison import Comparison, RowRanks
from mlfs_dask.evaluate.metrics.score import Score, from_scores, label_mean, row_mean

# Rows that stay out of the mean: none, those without labels, or also those with all labels.
Skip: TypeAlias = Literal["none", "empty", "degenerate"]

_ONE_ERROR: dict[Conventions, Skip] = {
    "default": "empty",
    "mulan": "none",
    "zhang": "degenerate",
    "sklearn": "empty",
}
_RANKING_LOSS: dict[Conventions, Skip] = {
    "default": "empty",
    "mulan": "none",
    "zhang": "degenerate",
    "sklearn": "none",
}
_AVERAGE_PRECISION: dict[Conventions, Skip] = {
    "default": "empty",
    "mulan": "empty",
    "zhang": "degenerate",
    "sklearn": "none",
}


def one_error(
    Y_true: Any,
    scores: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Share of rows whose top-ranked label is not relevant.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : array-like of float, shape (n_samples, n_labels)
        Higher is more relevant; NaN is refused.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], lower is better; NaN if no row is left.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.1], [0.2, 0.8]])
    0.5
    """
    return from_scores(measure_one_error, Y_true, scores, conventions, sample_weight)


def coverage(
    Y_true: Any,
    scores: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """How far down its ranking a row must be read to meet all its relevant labels.

    The rank of the deepest relevant label minus 1, averaged over the rows. scikit-learn's
    ``coverage_error`` is without the "minus 1": on rankings without ties it is ours plus 1, and
    ``conventions="sklearn"`` returns exactly it.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : array-like of float, shape (n_samples, n_labels)
        Higher is more relevant; NaN is refused.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, n_labels - 1], lower is better (zhang: from -1, sklearn: up to n_labels).

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> coverage([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1.0], [1.0, 0.2, 0.1]])
    1.5
    """
    return from_scores(measure_coverage, Y_true, scores, conventions, sample_weight)


def ranking_loss(
    Y_true: Any,
    scores: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Share of pairs (relevant, irrelevant label) in the wrong order, averaged over the rows.

    A pair of equal scores is wrong, but under ``conventions="mulan"``, where strict ranks decide.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : array-like of float, shape (n_samples, n_labels)
        Higher is more relevant; NaN is refused.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], lower is better; NaN if no row is left.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.9, 0.1]])
    0.5
    """
    return from_scores(measure_ranking_loss, Y_true, scores, conventions, sample_weight)


def average_precision(
    Y_true: Any,
    scores: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Mean over the relevant labels of the share of relevant labels among those ranked as high.

    Averaged over the rows; scikit-learn's name is ``label_ranking_average_precision_score``.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : array-like of float, shape (n_samples, n_labels)
        Higher is more relevant; NaN is refused.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In (0, 1], higher is better; NaN if no row is left.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> average_precision([[1, 0, 1, 0]], [[0.9, 0.8, 0.7, 0.1]])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return from_scores(measure_average_precision, Y_true, scores, conventions, sample_weight)


def auc_macro(
    Y_true: Any,
    scores: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Area under the ROC curve of each label, averaged over the labels where it is defined.

    A label without a positive or without a negative row has no area and is left out of the mean
    (scikit-learn and Mulan return NaN for the whole); ``score_all`` reports how many were in.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant, 0 not.
    scores : array-like of float, shape (n_samples, n_labels)
        Higher is more relevant; NaN is refused. Equal scores count half.
    conventions
        Makes no difference here.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better; NaN if no label has both kinds of rows.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> auc_macro([[1, 1], [0, 1], [0, 1]], [[0.8, 0.1], [0.9, 0.2], [0.3, 0.3]])
    0.5
    """
    return from_scores(measure_auc_macro, Y_true, scores, conventions, sample_weight)


def measure_one_error(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`one_error`."""
    ranks = given.ranks
    included = _included(ranks, _ONE_ERROR[conventions])
    return row_mean(1.0 - ranks.top_is_relevant, included, given.weight)


def measure_coverage(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`coverage`."""
    ranks = given.ranks
    if conventions == "sklearn":
        depth = ranks.depth_tied
    elif conventions == "zhang":
        depth = ranks.depth - 1
    else:
        depth = np.maximum(ranks.depth - 1, 0)
    return row_mean(depth.astype(np.float64), _included(ranks, "none"), given.weight)


def measure_ranking_loss(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`ranking_loss`."""
    ranks = given.ranks
    wrong = ranks.reversed_by_rank if conventions == "mulan" else ranks.reversed_by_score
    pairs = ranks.n_relevant * (ranks.n_labels - ranks.n_relevant)
    included = _included(ranks, _RANKING_LOSS[conventions])
    return row_mean(wrong / np.maximum(pairs, 1), included, given.weight)


def measure_average_precision(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`average_precision`."""
    ranks = given.ranks
    total = ranks.precision_sum_tied if conventions == "sklearn" else ranks.precision_sum
    values = np.where(ranks.empty, 1.0, total / np.maximum(ranks.n_relevant, 1))
    included = _included(ranks, _AVERAGE_PRECISION[conventions])
    return row_mean(values, included, given.weight)


def measure_auc_macro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`auc_macro`."""
    return label_mean(label_auc(given, conventions))


def label_auc(given: Comparison, conventions: Conventions) -> FloatArray:
    """Area of each label, shape (n_labels,); NaN where a label is constant."""
    from mlfs_dask.kernels.metrics import auc_by_label  # metrics have names without kernels

    weight = np.ones(len(given.truth)) if given.weight is None else given.weight
    return auc_by_label(given.truth, given.given_scores, weight)


def _included(ranks: RowRanks, skip: Skip) -> BoolArray:
    if skip == "none":
        return np.ones(len(ranks.n_relevant), dtype=np.bool_)
    if skip == "empty":
        return ~ranks.empty
    return ~(ranks.empty | ranks.full)
