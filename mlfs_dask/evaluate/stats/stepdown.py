"""Holm: a correction for several tests at once, and the post-hoc test on average ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from mlfs_dask.evaluate.stats.distributions import check_alpha, normal_two_sided
from mlfs_dask.evaluate.stats.posthoc import PostHoc, rank_pairs, z_scores
from mlfs_dask.evaluate.stats.table import Reading, as_ranked


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted by Holm's step-down method.

    The i-th smallest of m is multiplied by m - i + 1; no adjusted value is below that of a smaller
    p-value, none above 1. A hypothesis is rejected at level alpha iff its adjusted p-value is at
    most alpha.

    Parameters
    ----------
    p_values
        One per hypothesis.

    Returns
    -------
    list of float
        In the order given.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, 1979.

    Examples
    --------
    >>> holm_adjusted([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: (p_values[i], i))
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, position in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p_values[position]))
        adjusted[position] = reached
    return adjusted


def holm(
    table: Any,
    *,
    control: str | None = None,
    alpha: float = 0.05,
    **reading: Unpack[Reading],
) -> PostHoc:
    """Holm's step-down test on average ranks: all pairs, or all against a control.

    Parameters
    ----------
    table
        As for `rank_table`, or a `RankTable`.
    control
        Name of the method that the others are compared with; None: all pairs.
    alpha
        Level.
    **reading
        How the table is read, see `rank_table`.

    Raises
    ------
    InputError
        An impossible alpha; no such control; a table that `rank_table` refuses.

    References
    ----------
    Demšar 2006, section 3.2.2.

    Examples
    --------
    >>> found = holm([[1, 2, 3]] * 6, names=["A", "B", "C"], higher_is_better=False)
    >>> [round(pair.adjusted_p_value, 4) for pair in found.pairs]
    [0.1665, 0.0016, 0.1665]
    """
    check_alpha(alpha)
    ranking = as_ranked(table, reading)
    adjusted = holm_adjusted(normal_two_sided(z_scores(ranking, ranking.pairs(control))).tolist())
    significant = [p_value <= alpha for p_value in adjusted]
    pairs = rank_pairs(ranking, control, adjusted, significant)
    return PostHoc("holm", ranking, float(alpha), control, None, None, pairs)
