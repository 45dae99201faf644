"""Time of streams of features: how many join is guessed, and rows that are equal on them are one.

How many features of a stream join, and how many rows they tell apart, is in the rows, which a plan
does not read. So this is the least certain of the costs; `guess` says what was taken for true.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mlfs_dask.jobs.row_shape import MIB, NS, Params, Shape, passes, summary
from mlfs_dask.jobs.workload import Stage, Work
from mlfs_dask.wording import counted

_LOOKS: Final = 4.0  # at sets, for each that joins where the mean of the members decides first
_FREQUENT: Final = 0.1  # share of the rows that store a feature, where more of them do
_BLOCK: Final = 256 * MIB  # of distances, at most, in a task
_ARRIVAL: Final = 4e5  # of a feature that is looked at by itself


@dataclass(frozen=True)
class Joins:
    """How features join a set: fewer and fewer do, as seen on data sets of several kinds.

    Attributes
    ----------
    members
        Arrivals -> how many of them join.
    arrivals
        Members -> after how many arrivals there are so many.
    frequent
        How many times more rows store them than store a feature of the data.
    by_mean
        Whether arrivals below the mean of the members are discarded without a look at the set.
    """

    members: Callable[[float], float]
    arrivals: Callable[[float], float]
    frequent: float = 1.0
    by_mean: bool = False


BY_SIGNIFICANCE: Final = Joins(lambda n: 1.3 * n ** (2 / 3), lambda m: (m / 1.3) ** 1.5)
"""Whatever adds something joins."""
BY_MEAN: Final = Joins(
    lambda n: 3.5 * math.log(n + 1), lambda m: math.exp(min(m, 100.0) / 3.5), 10.0, by_mean=True
)
"""Members have to be better and better by themselves."""


def arriving(s: Shape, params: Params, joins: Joins = BY_SIGNIFICANCE) -> float:
    """Features that arrive in a stream until it ends, or enough of them joined.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    joins
        How features join.
    """
    most, all_of_them = params.get("max_features"), coming(s, params)
    if most is None:
        return all_of_them
    return float(min(all_of_them, max(most, joins.arrivals(most))))


def coming(s: Shape, params: Params) -> float:
    """Features of a stream, whether it ends before the last of them or not.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    order = params.get("arrival")
    return float(s.d if order is None or isinstance(order, str) else min(s.d, len(order)))


def joining(s: Shape, params: Params, joins: Joins = BY_SIGNIFICANCE) -> float:
    """How many of them may join.

    Parameters
    ----------
    s, params, joins
        As in `arriving`.
    """
    arrivals = arriving(s, params, joins)
    few = min(arrivals, joins.members(arrivals))
    return float(min(few, params.get("max_features") or few))


def standing(s: Shape, members: float) -> float:
    """Points at which rows stand by some features: those that store the same ones are one.

    Sparse rows store so many of them as by chance. Those that store any other values than 1 are
    taken to be different from all, and so are dense rows, whose ones are not known.

    Parameters
    ----------
    s
        Rows.
    members
        How many features.
    """
    if not s.sparse:
        return float(s.n)
    stored = members * s.per_row / s.d
    if not s.bits:
        return min(1.0 - s.n * math.expm1(-stored), float(s.n))
    points, share, ways = 0.0, math.exp(-min(stored, 700.0)), 1.0
    for ones in range(int(stored + 10 * math.sqrt(stored) + 10)):
        points += min(ways, s.n * share)
        share *= stored / (ones + 1)
        ways = min(float(s.n), ways * max(0.0, members - ones) / (ones + 1))
    return max(1.0, min(points, float(s.n)))


def at_points(s: Shape, params: Params, joins: Joins = BY_SIGNIFICANCE) -> float | None:
    """Points at which rows stand at the end of a stream; None if all pairs of rows are less work.

    See :class:`mlfs_dask.graphs.dependency.Dependency`.

    Parameters
    ----------
    s, params, joins
        As in `arriving`.
    """
    if not s.sparse:
        return None
    members = joining(s, params, joins)
    more = min(joins.frequent, max(1.0, _FREQUENT * s.d / s.per_row))
    points = standing(s, min(members * more, float(s.d)))
    look, width = _of_a_pair(s, members)
    return points if points**2 * (width + look) <= look * float(s.n) ** 2 else None


def _of_a_pair(s: Shape, members: float) -> tuple[float, float]:
    """What looking at the distance of two rows takes, and making it, in comparisons of values."""
    return (2.0, members / 8) if s.bits else (4.0, members)


def stream(s: Shape, params: Params, joins: Joins = BY_SIGNIFICANCE) -> Work:
    """Distances to all rows, once for each feature that arrives, and gaps between them.

    Rows that are equal on the features that joined are one point. These features become more with
    time, and so do points: on average there are a third of the pairs that there are at the end.

    Parameters
    ----------
    s, params, joins
        As in `arriving`.
    """
    arrivals, members = arriving(s, params, joins), joining(s, params, joins)
    points = at_points(s, params, joins)
    batches = max(1.0, arrivals * s.n / (64 * MIB))
    first = (summary(s), passes(s, "columns that arrive", 2.0, times=batches))
    ns, of_a_row = (0.09, 45.0) if s.bits else (1.5, 600.0)
    looks, alone = arrivals, of_a_row * s.n
    if joins.by_mean:
        looks, alone = min(arrivals, _LOOKS * members), _ARRIVAL + (50.0 if s.bits else 150.0) * s.n
    if points is not None:
        look, width = _of_a_pair(s, members)
        pairs = points**2 / 3 * ns / look * (width + look)
        return Work("streams", (*first, Stage("arrivals", (looks * pairs + arrivals * alone) * NS)))
    blocks = math.ceil(float(s.n) * s.n * (1 if s.bits else 8) / _BLOCK)
    stage = Stage(
        "arrivals",
        (looks * float(s.n) * s.n * ns + arrivals * alone) * NS,
        tasks=looks * max(8, blocks),  # few rows are cut into as many as there are workers
        result_bytes=looks * 8.0 * s.n,
        rounds=looks,
    )
    return Work("streams", (*first, stage))


def stream_by_mean(s: Shape, params: Params) -> Work:
    """The same where the mean of the members decides first.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    return stream(s, params, BY_MEAN)


def guess(s: Shape, params: Params, joins: Joins = BY_SIGNIFICANCE) -> str:
    """What the time of a stream depends on, in words.

    Parameters
    ----------
    s, params, joins
        As in `arriving`.
    """
    members, arrivals = round(joining(s, params, joins)), round(arriving(s, params, joins))
    joined = (
        f"time and memory rest on a guess that {members} of {counted(arrivals, 'feature')} join"
    )
    if at_points(s, params, joins) is not None:
        return f"{joined}, and that rows store them as by chance"
    return f"{joined}; rows are taken to differ on them, which is an upper bound"


def guess_by_mean(s: Shape, params: Params) -> str:
    """The same where the mean of the members decides first.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    return guess(s, params, BY_MEAN)
