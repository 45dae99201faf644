"""The value of a measure together with what it was averaged over."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mlfs_dask._typing import BoolArray, Conventions, FloatArray
from mlfs_dask.errors import DegenerateInputWarning
from mlfs_dask.evaluate.metrics.comparison import Comparison, check_conventions, compare


class Score(NamedTuple):
    """Value of a measure and the number of rows or labels in its mean.

    ``value`` is NaN exactly when ``n_scored`` is 0: the measure is undefined for this input.
    """

    value: float
    n_scored: int


Measure: TypeAlias = Callable[[Comparison, Conventions], Score]


def row_mean(values: FloatArray, included: BoolArray, weight: FloatArray | None) -> Score:
    """Mean over the included rows, summed exactly so that no order of rows matters.

    Parameters
    ----------
    values : ndarray of float64, shape (n_samples,)
        One value per row.
    included : ndarray of bool, shape (n_samples,)
        Rows that count.
    weight : ndarray of float64, shape (n_samples,), or None
        Weights of the rows; rows of weight 0 are not scored.
    """
    if weight is None:
        n_scored = int(np.count_nonzero(included))
        total = math.fsum(values[included].tolist())
        return Score(total / n_scored if n_scored else math.nan, n_scored)
    included = included & (weight > 0)
    n_scored = int(np.count_nonzero(included))
    if n_scored == 0:
        return Score(math.nan, 0)
    used = weight[included]
    total = math.fsum((values[included] * used).tolist())
    return Score(total / math.fsum(used.tolist()), n_scored)


def label_mean(values: FloatArray) -> Score:
    """Mean over the labels whose value is defined (not NaN).

    Parameters
    ----------
    values : ndarray of float64, shape (n_labels,)
        One value per label.
    """
    return row_mean(values, ~np.isnan(values), None)


def from_scores(
    measure: Measure, Y_true: Any, scores: Any, conventions: Conventions, sample_weight: Any
) -> float:
    """Value of a measure of label scores, with a warning where it is undefined."""
    check_conventions(conventions)
    given = compare(Y_true, scores=scores, sample_weight=sample_weight)
    return _value(measure(given, conventions))


def from_decisions(
    measure: Measure, Y_true: Any, Y_pred: Any, conventions: Conventions, sample_weight: Any
) -> float:
    """Value of a measure of label decisions."""
    check_conventions(conventions)
    given = compare(Y_true, Y_pred=Y_pred, sample_weight=sample_weight)
    return _value(measure(given, conventions))


def _value(score: Score) -> float:
    if score.n_scored == 0:
        warnings.warn(
            "the measure is undefined here (no row or label is left to average over): NaN",
            DegenerateInputWarning,
            stacklevel=4,
        )
    return score.value
