"""What post-hoc tests on average ranks share.

All look at z = (R_a - R_b) / sqrt(k (k + 1) / (6 N)) for average ranks R of k methods on N rows;
they differ in which pairs they look at and in how they pay for looking at many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.evaluate.stats.critical import CriticalTest, quantile, standard_error
from mlfs_dask.evaluate.stats.distributions import normal_two_sided
from mlfs_dask.evaluate.stats.groups import groups_of
from mlfs_dask.evaluate.stats.table import RankTable


@dataclass(frozen=True)
class RankPair:
    """Two methods compared by their average ranks.

    Attributes
    ----------
    first, second
        Their names; the control, if there is one, is the second.
    difference
        Average rank of the first minus that of the second: negative if the first is better.
    z
        The difference in standard errors.
    p_value
        Two-sided, of this pair alone.
    adjusted_p_value
        Of this pair among all that the test looks at.
    significant
        Whether they differ at the test's level.
    """

    first: str
    second: str
    difference: float
    z: float
    p_value: float
    adjusted_p_value: float
    significant: bool

    @property
    def better(self) -> str | None:
        """The method with the lower average rank; None if they are equal."""
        if self.difference == 0:
            return None
        return self.first if self.difference < 0 else self.second


@dataclass(frozen=True, eq=False)
class PostHoc:
    """Outcome of a post-hoc test.

    Attributes
    ----------
    test
        ``"nemenyi"``, ``"bonferroni-dunn"`` or ``"holm"``.
    ranking
        The ranked table.
    alpha
        Level.
    control
        The method that all others are compared with; None: all pairs.
    quantile, critical_difference
        q and CD = q sqrt(k (k + 1) / (6 N)); None for Holm, whose limit differs from pair to pair.
    pairs
        The pairs, in the order of the table's columns.
    """

    test: str
    ranking: RankTable
    alpha: float
    control: str | None
    quantile: float | None
    critical_difference: float | None
    pairs: tuple[RankPair, ...]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Maximal groups of methods without a difference, best first; empty with a control."""
        if self.control is not None:
            return ()
        differing = [(pair.first, pair.second) for pair in self.pairs if pair.significant]
        return groups_of(self.ranking.names, self.ranking.average_ranks.tolist(), differing)


def by_critical_difference(
    test: CriticalTest,
    ranking: RankTable,
    alpha: float,
    control: str | None,
    adjusted: Sequence[float],
) -> PostHoc:
    """A test that compares every difference with one critical difference.

    Parameters
    ----------
    test
        Whose quantile.
    ranking
        The ranked table.
    alpha
        Level.
    control
        The method that all others are compared with; None: all pairs.
    adjusted
        Adjusted p-values of the pairs.
    """
    factor = quantile(test, ranking.n_methods, alpha)
    limit = factor * standard_error(ranking.n_methods, ranking.n_rows)
    ranks = ranking.average_ranks
    significant = [bool(abs(ranks[a] - ranks[b]) > limit) for a, b in ranking.pairs(control)]
    pairs = rank_pairs(ranking, control, adjusted, significant)
    return PostHoc(test, ranking, float(alpha), control, factor, limit, pairs)


def rank_pairs(
    ranking: RankTable,
    control: str | None,
    adjusted: Sequence[float],
    significant: Sequence[bool],
) -> tuple[RankPair, ...]:
    """The pairs of a test with what it found.

    Parameters
    ----------
    ranking
        The ranked table.
    control
        The method that all others are compared with; None: all pairs.
    adjusted, significant
        Per pair.
    """
    ranks = ranking.average_ranks
    chosen = ranking.pairs(control)
    z = z_scores(ranking, chosen)
    alone = normal_two_sided(z)
    return tuple(
        RankPair(
            first=ranking.names[a],
            second=ranking.names[b],
            difference=float(ranks[a] - ranks[b]),
            z=float(z[i]),
            p_value=float(alone[i]),
            adjusted_p_value=float(adjusted[i]),
            significant=significant[i],
        )
        for i, (a, b) in enumerate(chosen)
    )


def z_scores(ranking: RankTable, chosen: Sequence[tuple[int, int]]) -> FloatArray:
    """Differences of average ranks in standard errors.

    Parameters
    ----------
    ranking
        The ranked table.
    chosen
        Pairs of columns.

    Returns
    -------
    ndarray of float64, shape (number of pairs,)
    """
    ranks = ranking.average_ranks
    differences = np.array([ranks[a] - ranks[b] for a, b in chosen], dtype=np.float64)
    return differences / standard_error(ranking.n_methods, ranking.n_rows)
