"""Friedman's test: whether k methods differ at all, by their ranks on N rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from mlfs_dask.evaluate.stats.distributions import (
    check_alpha,
    chi_square_critical,
    chi_square_tail,
    f_critical,
    f_tail,
)
from mlfs_dask.evaluate.stats.table import RankTable, Reading, as_ranked


@dataclass(frozen=True, eq=False)
class Friedman:
    """Outcome of Friedman's test.

    Attributes
    ----------
    ranking
        The ranked table.
    alpha
        Level.
    tie_correction
        Whether the statistics were divided by ``tie_factor``.
    tie_factor
        1 - sum of (t^3 - t) / (N k (k^2 - 1)) over groups of t equal values; 1 without ties, 0 if
        all values of each row are equal.
    chi_square, chi_square_df, chi_square_p_value, chi_square_critical
        Friedman's statistic, k - 1 degrees of freedom.
    f_statistic, f_df, f_p_value, f_critical
        The statistic of Iman and Davenport, F with k - 1 and (k - 1)(N - 1) degrees of freedom;
        infinite if the ranks are the same in every row.
    """

    ranking: RankTable
    alpha: float
    tie_correction: bool
    tie_factor: float
    chi_square: float
    chi_square_df: int
    chi_square_p_value: float
    chi_square_critical: float
    f_statistic: float
    f_df: tuple[int, int]
    f_p_value: float
    f_critical: float

    @property
    def rejects(self) -> bool:
        """Whether "all methods are equal" is rejected, by the F statistic: F > critical value."""
        return self.f_statistic > self.f_critical


def friedman(
    table: Any,
    *,
    alpha: float = 0.05,
    tie_correction: bool = False,
    **reading: Unpack[Reading],
) -> Friedman:
    """Friedman's test with the F statistic of Iman and Davenport.

    chi_square = 12 N / (k (k + 1)) (sum of R_j^2 - k (k + 1)^2 / 4) with the average ranks R_j;
    F = (N - 1) chi_square / (N (k - 1) - chi_square). The arithmetic is exact, so identical
    rankings in all rows give an infinite F, and rows of equal values a chi_square of 0.

    Parameters
    ----------
    table
        As for `rank_table`, or a `RankTable`.
    alpha
        Level.
    tie_correction
        Divide chi_square by ``tie_factor``, as scipy.stats.friedmanchisquare does; by default it
        stands as in the papers, which makes the test a little conservative where values are equal.
    **reading
        How the table is read: ``higher_is_better``, ``names``, ``rows``, ``missing`` of
        `rank_table`.

    Raises
    ------
    InputError
        An impossible alpha; a table that `rank_table` refuses.

    References
    ----------
    Demšar, Statistical comparisons of classifiers over multiple data sets, 2006, section 3.2.2.

    Examples
    --------
    >>> same = friedman([[3, 2, 1], [9, 5, 4]])
    >>> same.chi_square, same.f_statistic, same.f_p_value, same.rejects
    (4.0, inf, 0.0, True)
    >>> equal = friedman([[1, 1, 1], [2, 2, 2]])
    >>> equal.chi_square, equal.f_statistic, equal.f_p_value, equal.rejects
    (0.0, 0.0, 1.0, False)
    """
    check_alpha(alpha)
    ranking = as_ranked(table, reading)
    n, k = ranking.n_rows, ranking.n_methods
    factor = _tie_factor(ranking)
    chi_square = _chi_square(ranking)
    if tie_correction and factor:
        chi_square /= factor
    rest = n * (k - 1) - chi_square
    f_statistic = float((n - 1) * chi_square / rest) if rest else math.inf
    f_df = (k - 1, (k - 1) * (n - 1))
    return Friedman(
        ranking=ranking,
        alpha=float(alpha),
        tie_correction=bool(tie_correction),
        tie_factor=float(factor),
        chi_square=float(chi_square),
        chi_square_df=k - 1,
        chi_square_p_value=chi_square_tail(float(chi_square), k - 1),
        chi_square_critical=chi_square_critical(alpha, k - 1),
        f_statistic=f_statistic,
        f_df=f_df,
        f_p_value=f_tail(f_statistic, f_df),
        f_critical=f_critical(alpha, f_df),
    )


def _chi_square(ranking: RankTable) -> Fraction:
    n, k = ranking.n_rows, ranking.n_methods
    doubled = [int(total) for total in (2 * ranking.ranks).sum(axis=0)]  # ranks are halves
    squares = sum(total * total for total in doubled)
    return Fraction(3 * squares, n * k * (k + 1)) - 3 * n * (k + 1)


def _tie_factor(ranking: RankTable) -> Fraction:
    n, k = ranking.n_rows, ranking.n_methods
    lost = 0
    for row in ranking.ranks:
        _, sizes = np.unique(row, return_counts=True)
        lost += sum(size**3 - size for size in sizes.tolist())
    return 1 - Fraction(lost, n * k * (k * k - 1))
