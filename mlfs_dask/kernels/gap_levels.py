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

from mlfs_dask._typing import AnyArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.lanes import (
    LANES,
    first_lanes,
    lanes_at_most,
    lanes_largest,
    lanes_smallest,
    lowest_bit,
)

_FIRST_BLOCKS = 8  # whose smallest values bound what is looked at first
_MORE = 8  # times as many each time there was no gap
_SHORT = 48  # values that are sorted by insertion


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
    """Room for the squared distances from one row to n points.

    Attributes
    ----------
    total : ndarray of float64 or an unsigned type, shape (64 n_blocks,)
        Squared distances; beyond the last point ``nobody``.
    smallest : ndarray of the same type, shape (n_blocks + 2,)
        Of each 64 distances; then the smallest and the largest of all.
    near : ndarray of the same type, shape (64 n_blocks,)
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
    near: AnyArray
    total_bits: AnyArray
    smallest_bits: AnyArray
    nobody: AnyArray
    whole: bool


def row_buffer(n: int, dtype: Any) -> RowBuffer:
    """Room for squared distances to n points.

    Parameters
    ----------
    n
        At least 1.
    dtype
        float64, or an unsigned type for whole numbers.
    """
    whole = np.dtype(dtype) != np.float64
    n_blocks = -(-n // LANES)
    nobody = np.full(1, np.iinfo(dtype).max if whole else np.inf, dtype=dtype)
    total = np.full(LANES * n_blocks, nobody[0], dtype=dtype)
    smallest = np.empty(n_blocks + 2, dtype=dtype)
    bits = dtype if whole else np.uint64
    near = np.empty(LANES * n_blocks, dtype=dtype)
    return RowBuffer(total, smallest, near, total.view(bits), smallest.view(bits), nobody, whole)


@jit
def find_extremes(row: RowBuffer, n: int, own: int, alone: bool) -> None:
    """Find the smallest distance of each block, and the extremes of all.

    Parameters
    ----------
    row
        Distances to n points; the rest is filled in.
    n
        Points, at least 2 if the row is alone.
    own
        The row's own point.
    alone
        It stands for this row only: it is no neighbour, its distance becomes ``nobody``.
    """
    bits, smallest = row.total_bits, row.smallest_bits
    n_blocks = len(smallest) - 2
    if alone:
        # For now another one's, which moves no extreme and leaves no block without its smallest.
        row.total[own] = row.total[own - 1 if own > 0 else 1]
    full = n // LANES
    low = bits[0]
    high = bits[0]
    for b in range(full):
        smallest[b] = lanes_smallest(bits, LANES * b)
        low = min(low, smallest[b])
        high = max(high, lanes_largest(bits, LANES * b))
    if full < n_blocks:
        least = bits[LANES * full]
        for j in range(LANES * full, n):
            least = min(least, bits[j])
            high = max(high, bits[j])
        smallest[full] = least
        low = min(low, least)
    smallest[n_blocks] = low
    smallest[n_blocks + 1] = high
    if alone:
        row.total[own] = row.nobody[0]


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
def last_level(row: RowBuffer, n: int, rule: GapRule) -> Any:
    """Find the largest squared distance in the neighbourhood.

    Parameters
    ----------
    row
        After :func:`find_extremes`.
    n
        Points.
    rule
        Where the neighbourhood ends.

    Returns
    -------
    float or int
        Points at most this far away are the neighbours: all of them if there is no wide gap, if all
        are equally far, or if there are fewer than three rows.
    """
    n_blocks = len(row.smallest) - 2
    nearest, farthest = row.smallest[n_blocks], row.smallest[n_blocks + 1]
    low, high = np.sqrt(np.float64(nearest)), np.sqrt(np.float64(farthest))
    if low == high or rule.n_rows < 3:
        return farthest
    width = gap_width(low, high, rule)
    if row.whole and is_wide(np.sqrt(np.float64(nearest) + 1.0) - low, width, rule.strict):
        return nearest  # whatever comes next is at least as far away as the next whole number
    blocks = _FIRST_BLOCKS
    while True:
        bound = _bound(row, blocks)
        count = _collect(row, n, bound)
        before = np.sqrt(np.float64(row.near[0]))
        for k in range(1, count):
            distance = np.sqrt(np.float64(row.near[k]))
            if is_wide(distance - before, width, rule.strict):
                return row.near[k - 1]
            before = distance
        if bound == farthest:
            return farthest
        blocks *= _MORE


@jit
def _bound(row: RowBuffer, blocks: int) -> Any:
    """What the smallest value of so many blocks is at most; of fewer blocks, the largest of all."""
    n_blocks = len(row.smallest) - 2
    if blocks >= n_blocks:
        return row.smallest[n_blocks + 1]
    held = row.near[:n_blocks]
    if blocks > _FIRST_BLOCKS:
        held[:] = row.smallest[:n_blocks]
        held.sort()
        return held[blocks - 1]
    held[:blocks] = row.nobody[0]
    for b in range(n_blocks):
        value = row.smallest[b]
        if value < held[blocks - 1]:
            place = blocks - 1
            while place > 0 and value < held[place - 1]:
                held[place] = held[place - 1]
                place -= 1
            held[place] = value
    return held[blocks - 1]


@jit
def _collect(row: RowBuffer, n: int, bound: Any) -> int:
    """Put the values that are at most the bound into ``near``, sorted; returns how many."""
    count = 0
    for b in range(len(row.smallest) - 2):
        if row.smallest[b] <= bound:
            mask = lanes_at_most(row.total, LANES * b, bound) & first_lanes(n - LANES * b)
            while mask:
                row.near[count] = row.total[LANES * b + np.int64(lowest_bit(mask))]
                count += 1
                mask &= mask - np.uint64(1)
    values = row.near[:count]
    if count > _SHORT:
        values.sort()
        return count
    for k in range(1, count):
        value = values[k]
        place = k
        while place > 0 and value < values[place - 1]:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    return count
