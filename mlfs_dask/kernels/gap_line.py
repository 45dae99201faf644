"""Gap neighbourhoods on a single feature: one sort for all rows.

On a line a neighbourhood is a stretch of the sorted values around a row's own. Its end is a wide
gap on both sides at once, over the same distances from the row::

    own value          left   ·····|         |··········|      |···   distances to smaller values
                       right  ··|      |·······|     |·····|   |·     distances to larger ones
                                                             └ first wide gap of both together

So only gaps that are wide on one side are looked at, and stretches of values without any are passed
over. What the rows of a neighbourhood carry is the difference of two running counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.gap_counts import HARD, Tally, add_share
from mlfs_dask.kernels.gap_levels import GapRule, gap_width, is_wide

LABELS = 64
"""Labels whose running counts are held at once."""
_RUN = 64  # gaps that are passed over together
_TINY = 1e-140


@inline
def _distance(a: float, b: float) -> float:
    """The root of a squared difference, as distances over several features are made."""
    gap = abs(a - b)
    # The root of a square is the number itself unless the square is lost.
    return gap if gap > _TINY else math.sqrt(gap * gap)


@jit
def line_stretches(values: FloatArray, size: IntArray, rule: GapRule) -> tuple[IntArray, IntArray]:
    """Find the neighbourhood of the rows at each value.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values,)
        Different ones, ascending.
    size : ndarray of int64, shape (n_values,)
        Rows with each value.
    rule
        Where a neighbourhood ends.

    Returns
    -------
    first, last : ndarray of int64, shape (n_values,)
        The rows at value v and all their neighbours have the values ``first[v]:last[v]``.
    """
    n = len(values)
    first, last = np.zeros(n, dtype=np.int64), np.full(n, n, dtype=np.int64)
    if n < 2 or rule.n_rows < 3:
        return first, last
    # Rounding of distances makes a gap wider by less than this.
    slack = 1e-15 * (values[-1] - values[0])
    widest = np.zeros(-(-n // _RUN))
    for v in range(1, n):
        run = (v - 1) // _RUN
        widest[run] = max(widest[run], values[v] - values[v - 1] + slack)
    for v in range(n):
        nearest = np.inf
        if v > 0:
            nearest = min(nearest, _distance(values[v], values[v - 1]))
        if v < n - 1:
            nearest = min(nearest, _distance(values[v], values[v + 1]))
        if size[v] > 1:
            nearest = 0.0
        farthest = max(_distance(values[v], values[0]), _distance(values[v], values[-1]))
        if nearest < farthest:
            width = gap_width(nearest, farthest, rule)
            wide = Wide(width, rule.strict, values, widest)
            first[v], last[v] = _stretch(v, nearest, wide)
    return first, last


class Wide(NamedTuple):
    """What a wide gap is, for the rows at one value.

    Attributes
    ----------
    width : float
    strict : bool
    values : ndarray of float64, shape (n_values,)
    widest : ndarray of float64, shape (n_runs,)
        No gap after one of these 64 values is wider.
    """

    width: float
    strict: bool
    values: FloatArray
    widest: FloatArray


@jit
def _stretch(v: int, nearest: float, wide: Wide) -> tuple[int, int]:
    """Find the first gap that is wide on both sides; a side without further values is all gap."""
    values, n = wide.values, len(wide.values)
    own = values[v]
    left, right = _to_the_left(v, own, wide), _to_the_right(v, own, wide)
    while True:
        beyond_left = _distance(own, values[left - 1]) if left > 0 else np.inf
        beyond_right = _distance(own, values[right + 1]) if right < n - 1 else np.inf
        following = min(beyond_left, beyond_right)
        if following == np.inf:
            return 0, n
        before = max(_distance(own, values[left]), _distance(own, values[right]))
        # The way to the nearest neighbour is no gap.
        if is_wide(following - max(before, nearest), wide.width, wide.strict):
            return left, right + 1
        if beyond_left <= beyond_right:
            left = _to_the_left(left - 1, own, wide)
        else:
            right = _to_the_right(right + 1, own, wide)


@jit
def _to_the_left(v: int, own: float, wide: Wide) -> int:
    """The next value, from v on, with a wide gap to its left; 0 if there is none."""
    values = wide.values
    while v > 0:
        run = (v - 1) // _RUN
        if wide.widest[run] < wide.width:
            v = run * _RUN
            continue
        gap = _distance(own, values[v - 1]) - _distance(own, values[v])
        if is_wide(gap, wide.width, wide.strict):
            return v
        v -= 1
    return 0


@jit
def _to_the_right(v: int, own: float, wide: Wide) -> int:
    """The next value, from v on, with a wide gap to its right; the last if there is none."""
    values, last = wide.values, len(wide.values) - 1
    while v < last:
        run = v // _RUN
        if wide.widest[run] < wide.width:
            v = (run + 1) * _RUN
            continue
        gap = _distance(own, values[v + 1]) - _distance(own, values[v])
        if is_wide(gap, wide.width, wide.strict):
            return v
        v += 1
    return last


@jit
def tally_line(
    what: int,
    stretches: tuple[IntArray, IntArray],
    size: IntArray,
    having: NDArray[np.int32],
    places: Cuts,
    tally: Tally,
) -> None:
    """Count what the neighbourhoods say about some labels.

    Parameters
    ----------
    what
        ``HARD`` or ``SOFT``.
    stretches
        From :func:`line_stretches`.
    size : ndarray of int64, shape (n_values,)
        Rows with each value.
    having : ndarray of int32, shape (n_values, n_labels)
        Those of them with each label.
    places
        Where shares of these labels are parted.
    tally
        Of these labels, changed.
    """
    n_values, n_labels = having.shape
    rows = np.zeros(n_values + 1, dtype=np.int64)
    sums = np.zeros((n_values + 1, n_labels), dtype=np.int64)
    for v in range(n_values):
        rows[v + 1] = rows[v] + size[v]
        for k in range(n_labels):
            sums[v + 1, k] = sums[v, k] + having[v, k]
    for v in range(n_values):
        first, last = stretches[0][v], stretches[1][v]
        n = rows[last] - rows[first]
        for k in range(n_labels):
            count = sums[last, k] - sums[first, k]
            inside = having[v, k]
            if what == HARD:
                if count == 0 or count == n:
                    tally.pure[k] += size[v]
            else:
                add_share(count, n, inside, k, places, tally.shares)
                add_share(n - count, n, size[v] - inside, k, places, tally.shares)


@jit
def tally_line_classes(
    stretches: tuple[IntArray, IntArray],
    value: IntArray,
    code: IntArray,
    order: IntArray,
    places: Cuts,
    tally: Tally,
) -> None:
    """Count which share of a row's neighbours have its class.

    Parameters
    ----------
    stretches
        From :func:`line_stretches`.
    value : ndarray of int64, shape (n_rows,)
        Position of each row's value.
    code : ndarray of int64, shape (n_rows,)
        Class of each row.
    order : ndarray of int64, shape (n_rows,)
        Rows by class, inside it by value.
    places
        Where the shares are parted.
    tally
        Changed.
    """
    n = len(order)
    starts = np.zeros(len(stretches[0]) + 1, dtype=np.int64)
    for i in range(n):
        starts[value[i] + 1] += 1
    starts = np.cumsum(starts)
    begin = 0
    while begin < n:
        end = begin + 1
        while end < n and code[order[end]] == code[order[begin]]:
            end += 1
        own = value[order[begin:end]]
        lo = np.searchsorted(own, stretches[0][own])
        hi = np.searchsorted(own, stretches[1][own])
        for i in range(end - begin):
            first, last = stretches[0][own[i]], stretches[1][own[i]]
            add_share(hi[i] - lo[i], starts[last] - starts[first], 1, 0, places, tally.shares)
        begin = end
