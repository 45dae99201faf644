"""Measures of decisions, row by row: how well each predicted label set fits the true one.

Godbole and Sarawagi, "Discriminative methods for multi-labeled classification", PAKDD 2004;
Tsoumakas, Katakis and Vlahavas, "Mining multi-label data", 2010, section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_dask._typing import Conventions, FloatArray
from mlfs_dask.evaluate.metrics.comparison import Comparison, Counts
from mlfs_dask.evaluate.metrics.score import Score, from_decisions, row_mean


def hamming_loss(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Share of wrong decisions among all rows and labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        Makes no difference here.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    float
        In [0, 1], lower is better.

    Raises
    ------
    InputError
        Impossible input; the message names the row.

    Examples
    --------
    >>> hamming_loss([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.25
    """
    return from_decisions(measure_hamming_loss, Y_true, Y_pred, conventions, sample_weight)


def subset_accuracy(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Share of rows whose predicted label set is exactly the true one.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        1 relevant (predicted), 0 not.
    conventions
        Makes no difference here.
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
    >>> subset_accuracy([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.5
    """
    return from_decisions(measure_subset_accuracy, Y_true, Y_pred, conventions, sample_weight)


def accuracy(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Labels both true and predicted over labels true or predicted, averaged over the rows.

    The Jaccard index of the two sets; a row where both are empty counts 1 (sklearn: 0).

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
    >>> accuracy([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.75
    """
    return from_decisions(measure_accuracy, Y_true, Y_pred, conventions, sample_weight)


def precision_example(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Share of the predicted labels that are true, averaged over the rows.

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
    >>> precision_example([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.75
    """
    return from_decisions(measure_precision_example, Y_true, Y_pred, conventions, sample_weight)


def recall_example(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Share of the true labels that are predicted, averaged over the rows.

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
    >>> recall_example([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    0.75
    """
    return from_decisions(measure_recall_example, Y_true, Y_pred, conventions, sample_weight)


def f1_example(
    Y_true: Any,
    Y_pred: Any,
    conventions: Conventions = "default",
    *,
    sample_weight: Any = None,
) -> float:
    """Harmonic mean of precision and recall of each row, averaged over the rows.

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
    >>> f1_example([[0, 0], [0, 1]], [[0, 0], [1, 0]])  # 1 for the two empty sets, 0 for the miss
    0.5
    """
    return from_decisions(measure_f1_example, Y_true, Y_pred, conventions, sample_weight)


def measure_hamming_loss(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`hamming_loss`."""
    rows = given.rows
    # Whole numbers are averaged and divided once, so the value is the correctly rounded one.
    wrong = _mean(rows.relevant + rows.predicted - 2.0 * rows.hits, given)
    return Score(wrong.value / given.truth.shape[1], wrong.n_scored)


def measure_subset_accuracy(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`subset_accuracy`."""
    rows = given.rows
    return _mean(((rows.hits == rows.relevant) & (rows.hits == rows.predicted)) * 1.0, given)


def measure_accuracy(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`accuracy`."""
    rows = given.rows
    union = rows.relevant + rows.predicted - rows.hits
    return _mean(ratio(rows.hits, union, rows, conventions), given)


def measure_precision_example(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`precision_example`."""
    return _mean(precision_of(given.rows, conventions), given)


def measure_recall_example(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`recall_example`."""
    return _mean(recall_of(given.rows, conventions), given)


def measure_f1_example(given: Comparison, conventions: Conventions) -> Score:
    """Score of :func:`f1_example`."""
    return _mean(f1_of(given.rows, conventions), given)


def precision_of(counts: Counts, conventions: Conventions) -> FloatArray:
    """Hits over predicted, per row or per label."""
    return ratio(counts.hits, counts.predicted, counts, conventions)


def recall_of(counts: Counts, conventions: Conventions) -> FloatArray:
    """Hits over relevant, per row or per label."""
    return ratio(counts.hits, counts.relevant, counts, conventions)


def f1_of(counts: Counts, conventions: Conventions) -> FloatArray:
    """Twice the hits over relevant plus predicted, per row or per label."""
    return ratio(2.0 * counts.hits, counts.relevant + counts.predicted, counts, conventions)


def ratio(
    numerator: FloatArray, denominator: FloatArray, counts: Counts, conventions: Conventions
) -> FloatArray:
    """Quotient with the rule for empty denominators.

    1 where nothing is relevant and nothing predicted (0 under sklearn), 0 where only the
    denominator is empty.
    """
    nothing = (counts.relevant == 0) & (counts.predicted == 0)
    undefined = np.where(nothing, 0.0 if conventions == "sklearn" else 1.0, 0.0)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def _mean(values: FloatArray, given: Comparison) -> Score:
    return row_mean(values, np.ones(len(values), dtype=np.bool_), given.weight)
