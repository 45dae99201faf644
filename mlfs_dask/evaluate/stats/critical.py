"""Critical differences of average ranks."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.stats.distributions import check_alpha, normal_quantile, range_quantile
from mlfs_dask.wording import counted

CriticalTest: TypeAlias = Literal["nemenyi", "bonferroni-dunn"]


def critical_difference(
    n_methods: int, n_rows: int, alpha: float = 0.05, test: CriticalTest = "nemenyi"
) -> float:
    """Difference of average ranks that has to be exceeded.

    Parameters
    ----------
    n_methods, n_rows
        k and N of the table.
    alpha
        Level.
    test
        ``"nemenyi"`` for all pairs, ``"bonferroni-dunn"`` for all against one control.

    Raises
    ------
    InputError
        An impossible alpha, fewer than two methods or one row, an unknown test.

    Examples
    --------
    Papers C (seven methods, seven data sets) and B (five methods, six data sets):

    >>> round(critical_difference(7, 7), 3)
    3.404
    >>> round(critical_difference(5, 6, alpha=0.1, test="bonferroni-dunn"), 3)
    2.046
    """
    check_alpha(alpha)
    if n_methods < 2 or n_rows < 1:
        raise InputError(
            f"{counted(n_methods, 'method')} on {counted(n_rows, 'row')}: nothing to compare"
        )
    return quantile(test, n_methods, alpha) * standard_error(n_methods, n_rows)


def quantile(test: CriticalTest, n_methods: int, alpha: float) -> float:
    """The factor q of a critical difference q sqrt(k (k + 1) / (6 N)).

    Parameters
    ----------
    test
        ``"nemenyi"``: quantile 1 - alpha of the studentized range of k groups with infinite
        degrees of freedom, over sqrt(2). ``"bonferroni-dunn"``: normal quantile
        1 - alpha / (2 (k - 1)).
    n_methods
        k, at least 2.
    alpha
        Level.

    Raises
    ------
    InputError
        An unknown test.
    """
    if test == "nemenyi":
        return range_quantile(alpha, n_methods)
    if test == "bonferroni-dunn":
        return normal_quantile(alpha / (2 * (n_methods - 1)))
    raise InputError(
        f"{test!r} has no critical difference", hint="Known: nemenyi, bonferroni-dunn."
    )


def standard_error(n_methods: int, n_rows: int) -> float:
    """Standard error of a difference of average ranks, sqrt(k (k + 1) / (6 N)).

    Parameters
    ----------
    n_methods, n_rows
        k and N of the table.
    """
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_rows))
