"""Null distributions of the tests: tails and quantiles, from scipy.

scipy.stats is imported on first use, so that naming a test costs nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.errors import InputError


def check_alpha(alpha: Any) -> float:
    """The level of a test as a float.

    Parameters
    ----------
    alpha
        Probability of rejecting a true hypothesis.

    Raises
    ------
    InputError
        No number, or outside (0, 1).
    """
    try:
        inside = bool(0 < alpha < 1)  # False for NaN too
    except TypeError:
        inside = False
    if not inside:
        raise InputError(f"alpha = {alpha!r} is outside (0, 1)", hint="Usual are 0.05 and 0.1.")
    return float(alpha)


def chi_square_tail(statistic: float, df: int) -> float:
    """P(chi-square with ``df`` degrees of freedom > statistic)."""
    from scipy import stats

    return float(stats.chi2.sf(statistic, df))


def chi_square_critical(alpha: float, df: int) -> float:
    """The value that a chi-square variable exceeds with probability alpha."""
    from scipy import stats

    return float(stats.chi2.isf(alpha, df))


def f_tail(statistic: float, df: tuple[int, int]) -> float:
    """P(F > statistic); 0 for an infinite statistic."""
    from scipy import stats

    return float(stats.f.sf(statistic, *df))


def f_critical(alpha: float, df: tuple[int, int]) -> float:
    """The value that an F variable exceeds with probability alpha."""
    from scipy import stats

    return float(stats.f.isf(alpha, *df))


def normal_two_sided(z: FloatArray) -> FloatArray:
    """P(|Z| > |z|) of a standard normal variable, shape as given."""
    from scipy import stats

    return np.asarray(2 * stats.norm.sf(np.abs(z)), dtype=np.float64)


def normal_quantile(tail: float) -> float:
    """The value that a standard normal variable exceeds with probability ``tail``."""
    from scipy import stats

    return float(stats.norm.isf(tail))


def range_tail(z: FloatArray, n_methods: int) -> FloatArray:
    """P(range of n_methods standard normal variables > sqrt(2) |z|), shape as given."""
    from scipy import stats

    tails = stats.studentized_range.sf(math.sqrt(2) * np.abs(z), n_methods, np.inf)
    return np.clip(np.asarray(tails, dtype=np.float64), 0.0, 1.0)


def range_quantile(alpha: float, n_methods: int) -> float:
    """Quantile 1 - alpha of the range of n_methods standard normal variables, over sqrt(2)."""
    from scipy import stats

    return float(stats.studentized_range.isf(alpha, n_methods, np.inf)) / math.sqrt(2)
