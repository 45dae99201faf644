"""Bonferroni-Dunn test: which methods differ from a control."""

from __future__ import annotations

from typing import Any, Unpack

from mlfs_dask.evaluate.stats.distributions import check_alpha, normal_two_sided
from mlfs_dask.evaluate.stats.posthoc import PostHoc, by_critical_difference, z_scores
from mlfs_dask.evaluate.stats.table import Reading, as_ranked


def bonferroni_dunn(
    table: Any, control: str, *, alpha: float = 0.05, **reading: Unpack[Reading]
) -> PostHoc:
    """Bonferroni-Dunn test: every method against a control.

    CD = q sqrt(k (k + 1) / (6 N)), q the normal quantile 1 - alpha / (2 (k - 1)).

    Parameters
    ----------
    table
        As for `rank_table`, or a `RankTable`.
    control
        Name of the method that the others are compared with.
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
    Demšar 2006, section 3.2.2; paper B, section 4.

    Examples
    --------
    >>> found = bonferroni_dunn([[1, 2, 3]] * 6, "A", names=["A", "B", "C"], higher_is_better=False)
    >>> round(found.critical_difference, 3), [pair.significant for pair in found.pairs]
    (1.294, [False, True])
    """
    check_alpha(alpha)
    ranking = as_ranked(table, reading)
    alone = normal_two_sided(z_scores(ranking, ranking.pairs(control)))
    adjusted = [min(1.0, (ranking.n_methods - 1) * p_value) for p_value in alone.tolist()]
    return by_critical_difference("bonferroni-dunn", ranking, alpha, control, adjusted)
