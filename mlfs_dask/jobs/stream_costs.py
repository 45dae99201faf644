"""Time of streams of features: how many join is guessed, and rows that are equal on them are one.

How many features of a stream join, and how many rows they tell apart, is in the rows, which a plan
does not read. So this is the least certain of the costs; `guess` says what was taken for true.
"""

from __future__ import annotations

import math
from typing import Final

from mlfs_dask.jobs.row_shape import MIB, NS, Params, Shape, passes, summary
from mlfs_dask.jobs.workload import Stage, Work

_JOINING: Final = 1.3  # times arrivals to the power of
_GROWTH: Final = 2 / 3


def arriving(s: Shape, params: Params) -> float:
    """Features that arrive in a stream until it ends, or enough of them joined.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    most, all_of_them = params.get("max_features"), coming(s, params)
    if most is None:
        return all_of_them
    return float(min(all_of_them, max(most, (most / _JOINING) ** (1 / _GROWTH))))


def coming(s: Shape, params: Params) -> float:
    """Features of a stream, whether it ends before the last of them or not.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    order = params.get("arrival")
    return float(s.d if order is None or isinstance(order, str) else min(s.d, len(order)))


def joining(s: Shape, params: Params) -> float:
    """How many of them may join: fewer and fewer do, as seen on data sets of several kinds.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    arrivals = arriving(s, params)
    few = min(arrivals, _JOINING * arrivals**_GROWTH)
    return float(min(few, params.get("max_features") or few))


def standing(s: Shape, members: float) -> float:
    """Points at which rows stand by some 0/1 features: those that store the same ones are one.

    Rows store so many of them as by chance. Other values are taken to be different everywhere, and
    so are dense rows, whose ones are not known.

    Parameters
    ----------
    s
        Rows.
    members
        How many features.
    """
    if not (s.sparse and s.bits):
        return float(s.n)
    stored = members * s.per_row / s.d
    points, share, ways = 0.0, math.exp(-min(stored, 700.0)), 1.0
    for ones in range(int(stored + 10 * math.sqrt(stored) + 10)):
        points += min(ways, s.n * share)
        share *= stored / (ones + 1)
        ways = min(float(s.n), ways * max(0.0, members - ones) / (ones + 1))
    return max(1.0, min(points, float(s.n)))


def at_points(s: Shape, params: Params) -> float | None:
    """Points at which rows stand at the end of a stream; None if all pairs of rows are less work.

    See :class:`mlfs_dask.graphs.dependency.Dependency`.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    members = joining(s, params)
    points = standing(s, members)
    few = points**2 * (members / 8 + 2) <= 2.0 * float(s.n) ** 2
    return points if few and s.sparse and s.bits else None


def stream(s: Shape, params: Params) -> Work:
    """Distances to all rows, once for each feature that arrives, and gaps between them.

    Rows that are equal on the features that joined are one point. These features become more with
    time, and so do points: on average there are a third of the pairs that there are at the end.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    arrivals, members, points = arriving(s, params), joining(s, params), at_points(s, params)
    batches = max(1.0, arrivals * s.n / (64 * MIB))
    first = (summary(s), passes(s, "columns that arrive", 2.0, times=batches))
    of_a_pair, of_a_row = (0.09, 45.0) if s.bits else (1.5, 600.0)
    rows = of_a_row * s.n
    if points is not None:
        pairs = points**2 / 3 * of_a_pair / 2 * (members / 8 + 2)
        return Work("streams", (*first, Stage("arrivals", arrivals * (pairs + rows) * NS)))
    stage = Stage(
        "arrivals",
        arrivals * (float(s.n) * s.n * of_a_pair + rows) * NS,
        tasks=arrivals * 8,
        result_bytes=arrivals * 8.0 * s.n,
        rounds=arrivals,
    )
    return Work("streams", (*first, stage))


def guess(s: Shape, params: Params) -> str:
    """What the time of a stream depends on, in words.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    members, arrivals = round(joining(s, params)), round(arriving(s, params))
    joined = f"time and memory rest on a guess that {members} of {arrivals} features join"
    if at_points(s, params) is not None:
        return f"{joined}, and that rows store them as by chance"
    return f"{joined}; rows are taken to differ on them, which is an upper bound"
