"""Wilcoxon's signed-rank test on pairs of methods, with Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.stats.distributions import check_alpha, normal_two_sided
from mlfs_dask.evaluate.stats.groups import groups_of
from mlfs_dask.evaluate.stats.stepdown import holm_adjusted
from mlfs_dask.evaluate.stats.table import RankTable, Reading, as_ranked, shared_ranks

Zeros: TypeAlias = Literal["drop", "pratt"]
_EXACT_UP_TO: Final = 100
_DIGITS: Final = 12


@dataclass(frozen=True)
class SignedRankPair:
    """Two methods compared row by row.

    Attributes
    ----------
    first, second
        Their names; the control, if there is one, is the second.
    n_used, n_zero
        Rows with and without a difference.
    first_better, second_better
        Sums of the ranks of the rows where the one or the other is better.
    exact
        Whether the p-value comes from the exact distribution, else from the normal one.
    p_value
        Two-sided, of this pair alone.
    adjusted_p_value
        By Holm among all pairs that are looked at.
    significant
        Whether the adjusted p-value is at most the level.
    """

    first: str
    second: str
    n_used: int
    n_zero: int
    first_better: float
    second_better: float
    exact: bool
    p_value: float
    adjusted_p_value: float
    significant: bool

    @property
    def statistic(self) -> float:
        """Wilcoxon's T: the smaller of the two rank sums."""
        return min(self.first_better, self.second_better)

    @property
    def better(self) -> str | None:
        """The method with the greater rank sum; None if they are equal."""
        if self.first_better == self.second_better:
            return None
        return self.first if self.first_better > self.second_better else self.second


@dataclass(frozen=True, eq=False)
class Wilcoxon:
    """Outcome of signed-rank tests.

    Attributes
    ----------
    ranking
        The table (its ranks within rows are not what this test uses).
    alpha
        Level, over all pairs together.
    control
        The method that all others are compared with; None: all pairs.
    zeros
        What was done about rows without a difference.
    pairs
        The pairs, in the order of the table's columns.
    """

    ranking: RankTable
    alpha: float
    control: str | None
    zeros: Zeros
    pairs: tuple[SignedRankPair, ...]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Maximal runs of neighbours in average rank without a difference; empty with a control.

        Signed ranks may tell near neighbours apart and not far ones: the pairs say all of it.
        """
        if self.control is not None:
            return ()
        differing = [(pair.first, pair.second) for pair in self.pairs if pair.significant]
        return groups_of(self.ranking.names, self.ranking.average_ranks.tolist(), differing)


def wilcoxon(
    table: Any,
    *,
    control: str | None = None,
    alpha: float = 0.05,
    zeros: Zeros = "drop",
    **reading: Unpack[Reading],
) -> Wilcoxon:
    """Signed-rank tests of all pairs, or of all methods against a control.

    Rows are ranked by the size of the difference, equal sizes share ranks; sizes are equal if they
    agree to 12 digits of the greatest value, so 0.3 - 0.1 equals 0.2. Up to 100 rows
    with a difference, p-values come from the exact distribution over all signs, shared ranks
    included; above, from the normal distribution with the variance of the shared ranks and without
    a continuity correction.

    Parameters
    ----------
    table
        As for `rank_table`, or a `RankTable`.
    control
        Name of the method that the others are compared with; None: all pairs.
    alpha
        Level over all pairs together, by Holm's correction.
    zeros
        Rows without a difference: ``"drop"`` leaves them out before ranking (Wilcoxon),
        ``"pratt"`` ranks them with the others and then leaves their ranks out. A pair without any
        difference has p = 1.
    **reading
        How the table is read, see `rank_table`.

    Raises
    ------
    InputError
        An impossible alpha; no such control; an unknown rule; a table that `rank_table` refuses.

    References
    ----------
    Wilcoxon, Individual comparisons by ranking methods, 1945; Pratt 1959; Demšar 2006, section
    3.1.3.

    Examples
    --------
    >>> found = wilcoxon({"A": [8, 7, 9, 6, 5, 8], "B": [5, 5, 8, 4, 4, 8]})
    >>> pair = found.pairs[0]
    >>> pair.n_used, pair.n_zero, pair.statistic, pair.p_value, pair.better
    (5, 1, 0.0, 0.0625, 'A')
    """
    check_alpha(alpha)
    if zeros not in ("drop", "pratt"):
        raise InputError(f"zeros = {zeros!r} is not known", hint="Known: drop, pratt.")
    ranking = as_ranked(table, reading)
    chosen = ranking.pairs(control)
    alone = [_compare(ranking, a, b, zeros) for a, b in chosen]
    adjusted = holm_adjusted([p for *_, p in alone])
    pairs = tuple(
        SignedRankPair(
            first=ranking.names[a],
            second=ranking.names[b],
            n_used=len(signed),
            n_zero=ranking.n_rows - len(signed),
            first_better=float(signed[signed > 0].sum()),
            second_better=float(np.abs(signed[signed < 0]).sum()),
            exact=len(signed) <= _EXACT_UP_TO,
            p_value=p_value,
            adjusted_p_value=adjusted[i],
            significant=adjusted[i] <= alpha,
        )
        for i, ((a, b), (signed, p_value)) in enumerate(zip(chosen, alone, strict=True))
    )
    return Wilcoxon(ranking, float(alpha), control, zeros, pairs)


def _compare(ranking: RankTable, a: int, b: int, zeros: Zeros) -> tuple[FloatArray, float]:
    """Ranks of the rows with a difference, positive where a is better; p-value of the pair."""
    x, y = ranking.values[:, a], ranking.values[:, b]
    signed = signed_ranks(x - y if ranking.higher_is_better else y - x, _noise(x, y), zeros)
    return signed, _p_value(signed)


def _noise(x: FloatArray, y: FloatArray) -> float:
    """Size below which a difference is rounding error."""
    return float(max(np.abs(x).max(), np.abs(y).max())) * 10.0**-_DIGITS


def signed_ranks(differences: FloatArray, unit: float, zeros: Zeros) -> FloatArray:
    """Ranks of the sizes of the differences with their signs; rows without one are left out.

    Parameters
    ----------
    differences : ndarray of float64, shape (n_rows,)
        No NaN.
    unit
        Differences count in multiples of it; 0 only if all differences are 0.
    zeros
        As for `wilcoxon`.

    Returns
    -------
    ndarray of float64, shape (number of non-zero differences,)

    Examples
    --------
    >>> signed_ranks(np.array([0.3, 0.0, -0.1, 0.1]), 1e-12, "drop").tolist()
    [3.0, -1.5, 1.5]
    >>> signed_ranks(np.array([0.3, 0.0, -0.1, 0.1]), 1e-12, "pratt").tolist()
    [4.0, -2.5, 2.5]
    """
    counted = np.rint(differences / unit) if unit else np.zeros_like(differences)
    if zeros == "drop":
        counted = counted[counted != 0]
    ranks = shared_ranks(np.abs(counted)[None, :], higher_is_better=False)[0]
    return np.asarray((np.sign(counted) * ranks)[counted != 0], dtype=np.float64)


def _p_value(signed: FloatArray) -> float:
    if len(signed) <= _EXACT_UP_TO:
        return exact_p_value(signed.tolist())
    z = signed.sum() / math.sqrt(float((signed**2).sum()))
    return float(normal_two_sided(np.array([z]))[0])


def exact_p_value(signed: Sequence[float]) -> float:
    """Share of all choices of signs whose rank sum is as far from its mean as the one seen.

    Parameters
    ----------
    signed
        Whole or half ranks with their signs.

    Examples
    --------
    >>> exact_p_value([1, 2, 3, 4, 5, -6])
    0.4375
    """
    doubled = [round(2 * abs(rank)) for rank in signed]
    total = sum(doubled)
    chance = np.zeros(total + 1)  # of each sum of the positive doubled ranks
    chance[0] = 1.0
    reached = 0
    for rank in doubled:
        reached += rank
        chance[: reached + 1] *= 0.5
        chance[rank : reached + 1] += chance[: reached + 1 - rank].copy()
    positive = sum(rank for rank, sign in zip(doubled, signed, strict=True) if sign > 0)
    smaller = min(positive, total - positive)
    return min(1.0, 2 * math.fsum(chance[: smaller + 1].tolist()))
