"""Measures of decisions, label by label: macro averages labels, micro pools all decisions.

Tsoumakas, Katakis and Vlahavas, "Mining multi-label data", 2010, section 4.
"""

from __future__ import annotations

from typing import Any

from mlfs_dask._typing import Conventions, FloatArray
from mlfs_dask.evaluate.metrics.comparison import Comparison
from mlfs_dask.evaluate.metrics.example import f1_of, precision_of, recall_of
from mlfs_dask.evaluate.metrics.score import Score, from_decisions, label_mean


def precision_micro(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Precision of all decisions pooled over rows and labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> precision_micro([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.6666666666666666
    """
    return from_decisions(measure_precision_micro, Y_true, Y_pred, conventions, sample_weight)


def precision_macro(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Precision of each label, averaged over the labels.

    All labels are in the mean; one neither relevant nor predicted anywhere counts 1 (sklearn: 0).

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> precision_macro([[1, 0], [0, 1]], [[1, 1], [0, 1]])  # (1 + 1/2) / 2
    0.75
    """
    return from_decisions(measure_precision_macro, Y_true, Y_pred, conventions, sample_weight)


def recall_micro(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Recall of all decisions pooled over rows and labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> recall_micro([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    1.0
    """
    return from_decisions(measure_recall_micro, Y_true, Y_pred, conventions, sample_weight)


def recall_macro(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Recall of each label, averaged over the labels.

    All labels are in the mean; one neither relevant nor predicted anywhere counts 1 (sklearn: 0).

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> recall_macro([[1, 1], [0, 1]], [[1, 0], [0, 1]])  # (1 + 1/2) / 2
    0.75
    """
    return from_decisions(measure_recall_macro, Y_true, Y_pred, conventions, sample_weight)


def f1_micro(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """F1 of all decisions pooled over rows and labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> f1_micro([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.8
    """
    return from_decisions(measure_f1_micro, Y_true, Y_pred, conventions, sample_weight)


def f1_macro(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """F1 of each label, averaged over the labels.

    All labels are in the mean; one neither relevant nor predicted anywhere counts 1 (sklearn: 0).

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        See the table of :mod:`mlfs_dask.evaluate.metrics`.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], higher is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> f1_macro([[1, 0], [0, 1]], [[1, 1], [0, 1]])  # (1 + 2/3) / 2
    0.8333333333333333
    """
    return from_decisions(measure_f1_macro, Y_true, Y_pred, conventions, sample_weight)


def label_precision(given: Comparison, conventions: Conventions) -> FloatArray:
    """Precision of each label, shape (n_labels,)."""
    return precision_of(given.labels, conventions)


def measure_precision_micro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`precision_micro`."""
    return Score(float(precision_of(given.labels.total(), conventions)[0]), given.n_weighted)


def measure_precision_macro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`precision_macro`."""
    return label_mean(label_precision(given, conventions))


def label_recall(given: Comparison, conventions: Conventions) -> FloatArray:
    """Recall of each label, shape (n_labels,)."""
    return recall_of(given.labels, conventions)


def measure_recall_micro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`recall_micro`."""
    return Score(float(recall_of(given.labels.total(), conventions)[0]), given.n_weighted)


def measure_recall_macro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`recall_macro`."""
    return label_mean(label_recall(given, conventions))


def label_f1(given: Comparison, conventions: Conventions) -> FloatArray:
    """F1 of each label, shape (n_labels,)."""
    return f1_of(given.labels, conventions)


def measure_f1_micro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`f1_micro`."""
    return Score(float(f1_of(given.labels.total(), conventions)[0]), given.n_weighted)


def measure_f1_macro(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`f1_macro`."""
    return label_mean(label_f1(given, conventions))
