"""Nemenyi's test: which of all pairs of methods differ."""

from __future__ import annotations

from typing import Any, Unpack

from mlfs_dask.evaluate.stats.distributions import check_alpha, range_tail
from mlfs_dask.evaluate.stats.posthoc import PostHoc, by_critical_difference, z_scores
from mlfs_dask.evaluate.stats.table import Reading, as_ranked


def nemenyi(table: Any, *, alpha: float = 0.05, **reading: Unpack[Reading]) -> PostHoc:
    """Nemenyi's test: all pairs, by the range of k normal variables.

    CD = q sqrt(k (k + 1) / (6 N)), q the quantile 1 - alpha of the studentized range of k groups
    with infinite degrees of freedom, over sqrt(2).

    Parameters
    ----------
    table
        As for `rank_table`, or a `RankTable`.
    alpha
        Level.
    **reading
        How the table is read, see `rank_table`.

    Raises
    ------
    InputError
        An impossible alpha; a table that `rank_table` refuses.

    References
    ----------
    Demšar 2006, section 3.2.2; paper C, section 5.

    Examples
    --------
    >>> found = nemenyi([[1, 2, 3]] * 6, higher_is_better=False, names=["A", "B", "C"])
    >>> round(found.critical_difference, 3), found.groups
    (1.353, (('A', 'B'), ('B', 'C')))
    """
    check_alpha(alpha)
    ranking = as_ranked(table, reading)
    adjusted = range_tail(z_scores(ranking, ranking.pairs()), ranking.n_methods)
    return by_critical_difference("nemenyi", ranking, alpha, None, adjusted.tolist())
