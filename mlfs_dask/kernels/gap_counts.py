"""What the gap neighbourhoods of rows say about labels: which are pure, how many rows agree.

Rows with equal values stand at one *point* and share their neighbourhood. Two ways to count:

- hard: a label is pure around a row if the row and all its neighbours have the same value of it.
  Labels are bits: of each point, for a few neighbours among 64, and of 64 points for each label,
  for many of them at once.
- soft: the share of a row's neighbours that have the row's own value of a label, or its class.
  Shares are added exactly (`mlfs_dask.kernels.exactsum`): the same bits in any order.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.gap_levels import RowBuffer
from mlfs_dask.kernels.lanes import LANES, count_ones, first_lanes, lanes_at_most, lowest_bit

Counting: TypeAlias = Literal["hard", "soft", "classes"]

HARD, SOFT, CLASSES = 0, 1, 2
"""What is counted; see the module."""

LabelWords: TypeAlias = NDArray[np.uint64]

_FEW = 8  # neighbours among 64 points that are looked at one by one


class Points(NamedTuple):
    """Points and the rows that stand there; what isn't counted has no labels.

    Attributes
    ----------
    size : ndarray of int64, shape (n_points,)
        Rows at each point.
    some, every : ndarray of uint64, shape (n_blocks, n_labels)
        Bit i of block b: some row, every row at point 64 b + i has the label. Hard counts.
    some_here, every_here : ndarray of uint64, shape (n_points, n_words)
        The same by points: bit k of a point's words is label k.
    having : ndarray of int32 or uint8, shape (n_points, n_labels)
        Rows with each label. Soft counts.
    code : ndarray of int64, shape (n_points,) or (n_entries,)
        Class of each point's only row, or each class at each point. Counts of classes.
    begin : ndarray of int64, shape (0,) or (n_points + 1,)
        Classes at point j are the entries ``begin[j]:begin[j + 1]``; empty if each point has one
        row.
    of_class : ndarray of int64, shape (0,) or (n_entries,)
        Rows of that class at that point.
    """

    size: IntArray
    some: LabelWords
    every: LabelWords
    some_here: LabelWords
    every_here: LabelWords
    having: AnyArray
    code: IntArray
    begin: IntArray
    of_class: IntArray


class Tally(NamedTuple):
    """What was counted so far.

    Attributes
    ----------
    pure : ndarray of int64, shape (n_labels,)
        Rows around which each label is pure.
    shares : ndarray of float64, shape (2, n_labels)
        Sums of shares, heads and tails.
    """

    pure: IntArray
    shares: FloatArray


class Counter(NamedTuple):
    """How to count, with room for one neighbourhood.

    Attributes
    ----------
    what : int
        ``HARD``, ``SOFT`` or ``CLASSES``.
    places : Cuts
        Where shares are parted.
    present, absent : ndarray of uint64, shape (n_words,)
        Bit k: some row around has label k, lacks it.
    having : ndarray of int64, shape (n_labels,) or (n_classes,)
        Neighbours with each label, or of each class.
    """

    what: int
    places: Cuts
    present: LabelWords
    absent: LabelWords
    having: IntArray


def make_counter(what: int, places: Cuts, n_classes: int = 0) -> Counter:
    """Room for counting; one per thread.

    Parameters
    ----------
    what
        ``HARD``, ``SOFT`` or ``CLASSES``.
    places
        Where shares are parted, for each label (or for the one class).
    n_classes
        Of counts of classes.
    """
    n_labels = len(places.head)
    present, absent = np.zeros((2, -(-n_labels // LANES)), dtype=np.uint64)
    having = np.zeros(n_classes if what == CLASSES else n_labels, dtype=np.int64)
    return Counter(what, places, present, absent, having)


@jit
def count_neighbors(
    rows: RowBuffer,
    n: int,
    first: int,
    count: int,
    points: Points,
    counter: Counter,
    tally: Tally,
) -> None:
    """Count what the neighbourhoods of the rows at some points say.

    Parameters
    ----------
    rows
        Squared distances from these points, after ``find_levels``.
    n
        Points.
    first, count
        The points are ``first`` and those after it.
    points
        All of them.
    counter, tally
        Changed.
    """
    if counter.what == HARD:
        _count_pure(rows, n, first, count, points, counter, tally)
    elif counter.what == SOFT:
        _count_labels(rows, n, first, count, points, counter, tally)
    elif len(points.begin):
        _count_classes(rows, n, first, count, points, counter, tally)
    else:
        _count_class(rows, n, first, count, points, counter, tally)


@jit
def _count_pure(
    rows: RowBuffer,
    n: int,
    first: int,
    count: int,
    points: Points,
    counter: Counter,
    tally: Tally,
) -> None:
    # Taken out of their tuples once: inside the loop that costs more than the work itself.
    total, smallest, pure = rows.total, rows.smallest, tally.pure
    some, every, some_here, every_here = points[1:5]
    present, absent = counter.present, counter.absent
    for i in range(count):
        own, level = first + i, rows.level[i]
        for w in range(len(present)):
            present[w] = some_here[own, w]
            absent[w] = ~every_here[own, w]
        for b in range(len(some)):
            if smallest[i, b] > level:
                continue
            start = i * len(rows.near) + LANES * b
            mask = lanes_at_most(total, start, level) & first_lanes(n - LANES * b)
            if count_ones(mask) > _FEW:
                _add_block(some[b], every[b], mask, present, absent)
                if _all_mixed(present, absent, len(pure)):
                    break  # as around each of many equal rows
                continue
            while mask:
                j = LANES * b + np.int64(lowest_bit(mask))
                mask &= mask - np.uint64(1)
                for w in range(len(present)):
                    present[w] |= some_here[j, w]
                    absent[w] |= ~every_here[j, w]
        for k in range(len(pure)):
            mixed = (present[k // LANES] & absent[k // LANES]) >> np.uint64(k % LANES)
            if not mixed & np.uint64(1):
                pure[k] += points.size[own]


@jit
def _add_block(
    some: LabelWords, every: LabelWords, mask: int, present: LabelWords, absent: LabelWords
) -> None:
    """Add many neighbours among 64 points, label by label."""
    for k in range(len(some)):
        bit = np.uint64(1) << np.uint64(k % LANES)
        if mask & some[k]:
            present[k // LANES] |= bit
        if mask & ~every[k]:
            absent[k // LANES] |= bit


@jit
def _all_mixed(present: LabelWords, absent: LabelWords, n_labels: int) -> bool:
    """Whether further neighbours can't change anything."""
    for w in range(len(present)):
        left = n_labels - LANES * w
        if present[w] & absent[w] != first_lanes(left):
            return False
    return True


@jit
def _count_labels(
    rows: RowBuffer,
    n: int,
    first: int,
    count: int,
    points: Points,
    counter: Counter,
    tally: Tally,
) -> None:
    total, smallest, having = rows.total, rows.smallest, counter.having
    sizes, there = points.size, points.having
    for i in range(count):
        own, level = first + i, rows.level[i]
        having[:] = 0
        size = 0
        for b in range(smallest.shape[1] - 2):
            mask = np.uint64(0)
            if smallest[i, b] <= level:
                start = i * len(rows.near) + LANES * b
                mask = lanes_at_most(total, start, level) & first_lanes(n - LANES * b)
            if own // LANES == b:
                mask |= np.uint64(1) << np.uint64(own % LANES)
            while mask:
                j = LANES * b + np.int64(lowest_bit(mask))
                mask &= mask - np.uint64(1)
                size += sizes[j]
                for k in range(len(having)):
                    having[k] += there[j, k]
        for k in range(len(having)):
            inside, outside = there[own, k], sizes[own] - there[own, k]
            add_share(having[k], size, inside, k, counter.places, tally.shares)
            add_share(size - having[k], size, outside, k, counter.places, tally.shares)


@jit
def _count_class(
    rows: RowBuffer,
    n: int,
    first: int,
    count: int,
    points: Points,
    counter: Counter,
    tally: Tally,
) -> None:
    total, smallest, code = rows.total, rows.smallest, points.code
    for i in range(count):
        own, level = first + i, rows.level[i]
        size = same = 1
        for b in range(smallest.shape[1] - 2):
            if smallest[i, b] <= level:
                start = i * len(rows.near) + LANES * b
                mask = lanes_at_most(total, start, level) & first_lanes(n - LANES * b)
                while mask:
                    j = LANES * b + np.int64(lowest_bit(mask))
                    mask &= mask - np.uint64(1)
                    size += 1
                    same += code[j] == code[own]
        add_share(same, size, 1, 0, counter.places, tally.shares)


@jit
def _count_classes(
    rows: RowBuffer,
    n: int,
    first: int,
    count: int,
    points: Points,
    counter: Counter,
    tally: Tally,
) -> None:
    """As :func:`_count_class` where several rows stand at a point."""
    total, smallest, having = rows.total, rows.smallest, counter.having
    sizes, code, begin, of_class = points.size, points.code, points.begin, points.of_class
    for i in range(count):
        own, level = first + i, rows.level[i]
        having[:] = 0
        size = 0
        for b in range(smallest.shape[1] - 2):
            mask = np.uint64(0)
            if smallest[i, b] <= level:
                start = i * len(rows.near) + LANES * b
                mask = lanes_at_most(total, start, level) & first_lanes(n - LANES * b)
            if own // LANES == b:
                mask |= np.uint64(1) << np.uint64(own % LANES)
            while mask:
                j = LANES * b + np.int64(lowest_bit(mask))
                mask &= mask - np.uint64(1)
                size += sizes[j]
                for e in range(begin[j], begin[j + 1]):
                    having[code[e]] += of_class[e]
        for e in range(begin[own], begin[own + 1]):
            add_share(having[code[e]], size, of_class[e], 0, counter.places, tally.shares)


@jit
def add_share(same: int, size: int, rows: int, k: int, places: Cuts, sums: FloatArray) -> None:
    """Add the share of neighbours that agree, for some rows with the same share.

    Parameters
    ----------
    same, size
        Rows in the neighbourhood that agree, and all of them, the row itself among both.
    rows
        How many rows have this share; 0 adds nothing.
    k
        Label.
    places
        Where shares are parted.
    sums : ndarray of float64, shape (2, n_labels), changed
        Heads and tails.

    Notes
    -----
    A row without any neighbour agrees with all of them. A head or tail times a number of rows is
    exact, as sums of them are.
    """
    if rows == 0:
        return
    share = 1.0 if size == 1 else (same - 1) / (size - 1)
    head, tail = places.head[k], places.tail[k]
    top = (share + head) - head
    rest = share - top
    sums[0, k] += rows * top
    sums[1, k] += rows * ((rest + tail) - tail)


@jit
def point_words(
    Y: AnyArray, point: IntArray, n_points: int
) -> tuple[LabelWords, LabelWords, LabelWords, LabelWords]:
    """Pack which labels some and every row at a point has.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)
    point : ndarray of int64, shape (n_rows,)
        Where each row stands.
    n_points
        Each with a row.

    Returns
    -------
    some, every, some_here, every_here : ndarray of uint64
        See :class:`Points`.
    """
    q = Y.shape[1]
    n_blocks, n_words = -(-n_points // LANES), -(-q // LANES)
    some = np.zeros((n_blocks, q), dtype=np.uint64)
    every = np.full((n_blocks, q), ~np.uint64(0))
    some_here = np.zeros((n_points, n_words), dtype=np.uint64)
    every_here = np.full((n_points, n_words), ~np.uint64(0))
    for i in range(len(Y)):
        p = point[i]
        bit = np.uint64(1) << np.uint64(p % LANES)
        for k in range(q):
            label = np.uint64(1) << np.uint64(k % LANES)
            if Y[i, k]:
                some[p // LANES, k] |= bit
                some_here[p, k // LANES] |= label
            else:
                every[p // LANES, k] &= ~bit
                every_here[p, k // LANES] &= ~label
    return some, every, some_here, every_here
