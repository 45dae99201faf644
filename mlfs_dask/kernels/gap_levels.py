"""How far a gap neighbourhood reaches: the first wide gap between sorted distances, without a sort.

The other n - 1 rows stand at distances ``d_1 <= ... <= d_(n-1)`` from a row. Its gap neighbourhood
(paper D, definition 9) ends before the first gap that is at least as wide as

    w = factor (d_(n-1) - d_1) / (n - 2)

Such a gap mostly lies near the front. So the squared distances from a row are read once for their
extremes and for the smallest one of each 64; the few nearest are then taken out of the few blocks
that hold them, and more of them as long as there was no gap::

    |3 7 9 ...|2 8 8 ...|5 5 6 ...|   ── smallest of each ──> 3 2 5 ── nearest ──> 2 3 5 5

Distances are compared as they are, roots of squares that have one value on every road.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.lanes import (
    LANES,
    first_lanes,
    lanes_at_most,
    lanes_largest,
    lanes_smallest,
    lowest_bit,
)

_FIRST_BLOCKS = 4  # whose smallest values bound what is looked at first
_MORE = 4  # times as many each time there was no gap
_SHORT = 48  # values that are sorted by insertion
_CACHE_BYTES = 256 * 2**10  # of the distances from rows that are looked at together


class GapRule(NamedTuple):
    """Where a neighbourhood ends.

    Attributes
    ----------
    factor : float
        Mean gaps that a wide gap has, above 0.
    strict : bool
        A wide gap is wider than w; else it is at least as wide.
    n_rows : int
        Rows of the data, however many of them are told apart.
    """

    factor: float
    strict: bool
    n_rows: int


class RowBuffer(NamedTuple):
    """Room for the squared distances from a few rows to n points.

    Rows follow each other: those of row i begin at ``i * stride``.

    Attributes
    ----------
    total : ndarray of float64 or an unsigned type, shape (n_rows * stride,)
        Squared distances; beyond the last point ``nobody``.
    smallest : ndarray of the same type, shape (n_rows, n_blocks + 2)
        Of each 64 distances; then the smallest and the largest of all.
    level : ndarray of the same type, shape (n_rows,)
        Points at most so far away are neighbours.
    near : ndarray of the same type, shape (stride,)
        What is being looked at.
    total_bits, smallest_bits : ndarray of an unsigned type
        The same memory as ``total`` and ``smallest``: floats that aren't negative compare as their
        bits do.
    nobody : ndarray of the same type, shape (1,)
        The type's largest value, which no distance has.
    whole : bool
        Distances are whole numbers.
    """

    total: AnyArray
    smallest: AnyArray
    level: AnyArray
    near: AnyArray
    total_bits: AnyArray
    smallest_bits: AnyArray
    nobody: AnyArray
    whole: bool


def row_buffer(n: int, dtype: Any, most_rows: int = 1) -> RowBuffer:
    """Room for squared distances to n points, from as many rows as stay in cache.

    Parameters
    ----------
    n
        At least 1.
    dtype
        float64, or an unsigned type for whole numbers.
    most_rows
        No more rows than that.
    """
    whole = np.dtype(dtype) != np.float64
    n_blocks = -(-n // LANES)
    stride = LANES * n_blocks
    n_rows = min(most_rows, max(1, _CACHE_BYTES // (stride * np.dtype(dtype).itemsize)))
    nobody = np.full(1, np.iinfo(dtype).max if whole else np.inf, dtype=dtype)
    total = np.full(n_rows * stride, nobody[0], dtype=dtype)
    smallest = np.empty((n_rows, n_blocks + 2), dtype=dtype)
    level, near = np.empty(n_rows, dtype=dtype), np.empty(stride, dtype=dtype)
    bits = dtype if whole else np.uint64
    views = (total.view(bits), smallest.view(bits))
    return RowBuffer(total, smallest, level, near, *views, nobody, whole)


@jit
def find_extremes(rows: RowBuffer, n: int, first: int, count: int, size: IntArray) -> None:
    """Find the smallest distance of each block, and the extremes of all, for each row.

    Parameters
    ----------
    rows
        Distances to n points; the smallest ones are filled in.
    n
        Points, at least 2 if one stands for a single row.
    first, count
        The rows' own points are ``first`` and those after it.
    size : ndarray of int64, shape (n,)
        Rows that each point stands for. A row that is alone at its point has no neighbour there:
        that distance becomes ``nobody``.
    """
    total, bits, smallest = rows.total, rows.total_bits, rows.smallest_bits
    nobody = rows.nobody[0]
    n_blocks = smallest.shape[1] - 2
    full = n // LANES
    for i in range(count):
        at = i * len(rows.near)
        own = first + i
        if size[own] == 1:
            # For now another one's: it moves no extreme and leaves no block without its smallest.
            total[at + own] = total[at + (own - 1 if own > 0 else 1)]
        low = bits[at]
        high = bits[at]
        for b in range(full):
            least = lanes_smallest(bits, at + LANES * b)
            smallest[i, b] = least
            low = min(low, least)
            high = max(high, lanes_largest(bits, at + LANES * b))
        if full < n_blocks:
            least = bits[at + LANES * full]
            for j in range(at + LANES * full, at + n):
                least = min(least, bits[j])
                high = max(high, bits[j])
            smallest[i, full] = least
            low = min(low, least)
        smallest[i, n_blocks] = low
        smallest[i, n_blocks + 1] = high
        if size[own] == 1:
            total[at + own] = nobody


@inline
def is_wide(gap: float, width: float, strict: bool) -> bool:
    """Whether a neighbourhood ends before this gap."""
    return gap > width if strict else gap >= width


@jit
def gap_width(low: float, high: float, rule: GapRule) -> float:
    """The width w of a wide gap.

    Parameters
    ----------
    low, high
        The smallest and the largest distance.
    rule
        Of at least 3 rows.
    """
    return rule.factor * (high - low) / (rule.n_rows - 2)


@jit
def find_levels(rows: RowBuffer, n: int, count: int, rule: GapRule) -> None:
    """Find the largest squared distance in the neighbourhood of each row.

    Parameters
    ----------
    rows
        After :func:`find_extremes`; ``level`` is filled in. All points are neighbours if there is
        no wide gap, if all are equally far, or if there are fewer than three rows.
    n
        Points.
    count
        Rows.
    rule
        Where a neighbourhood ends.
    """
    level, all_smallest = rows.level, rows.smallest
    n_blocks = all_smallest.shape[1] - 2
    for i in range(count):
        nearest, farthest = all_smallest[i, n_blocks], all_smallest[i, n_blocks + 1]
        level[i] = farthest
        low, high = np.sqrt(np.float64(nearest)), np.sqrt(np.float64(farthest))
        if low == high or rule.n_rows < 3:
            continue
        width = gap_width(low, high, rule)
        if rows.whole and is_wide(np.sqrt(np.float64(nearest) + 1.0) - low, width, rule.strict):
            # Whatever comes next is at least as far away as the next whole number.
            level[i] = nearest
            continue
        at = i * len(rows.near)
        total, smallest = rows.total[at : at + n], all_smallest[i, :n_blocks]
        level[i] = _first_gap(total, smallest, farthest, width, rule.strict, rows.near)


@jit
def _first_gap(
    total: AnyArray, smallest: AnyArray, farthest: Any, width: float, strict: bool, near: AnyArray
) -> Any:
    """The last distance before a wide gap."""
    blocks = _FIRST_BLOCKS
    while True:
        bound = _bound(smallest, blocks, farthest, near)
        count = _collect(total, smallest, bound, near)
        before = np.sqrt(np.float64(near[0]))
        for k in range(1, count):
            distance = np.sqrt(np.float64(near[k]))
            if is_wide(distance - before, width, strict):
                return near[k - 1]
            before = distance
        if bound == farthest:
            return farthest
        blocks *= _MORE


@jit
def _bound(smallest: AnyArray, blocks: int, farthest: Any, near: AnyArray) -> Any:
    """What the smallest value of so many blocks is at most; of fewer blocks, the largest of all."""
    n_blocks = len(smallest)
    if blocks >= n_blocks:
        return farthest
    if blocks > _FIRST_BLOCKS:
        held = near[:n_blocks]
        held[:] = smallest
        held.sort()
        return held[blocks - 1]
    for k in range(blocks):
        near[k] = farthest
    for b in range(n_blocks):
        value = smallest[b]
        if value < near[blocks - 1]:
            place = blocks - 1
            while place > 0 and value < near[place - 1]:
                near[place] = near[place - 1]
                place -= 1
            near[place] = value
    return near[blocks - 1]


@jit
def _collect(total: AnyArray, smallest: AnyArray, bound: Any, near: AnyArray) -> int:
    """Put the values that are at most the bound into ``near``, sorted; returns how many."""
    count = 0
    for b in range(len(smallest)):
        if smallest[b] <= bound:
            mask = lanes_at_most(total, LANES * b, bound) & first_lanes(len(total) - LANES * b)
            while mask:
                near[count] = total[LANES * b + np.int64(lowest_bit(mask))]
                count += 1
                mask &= mask - np.uint64(1)
    if count > _SHORT:
        near[:count].sort()
        return count
    for k in range(1, count):
        value = near[k]
        place = k
        while place > 0 and value < near[place - 1]:
            near[place] = near[place - 1]
            place -= 1
        near[place] = value
    return count
