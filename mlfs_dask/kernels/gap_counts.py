"""What the gap neighbourhoods of rows say about labels: which are pure, how many rows agree.

Rows with equal values stand at one *point* and share their neighbourhood. Two ways to count:

- hard: a label is pure around a row if the row and all its neighbours have the same value of it.
  The labels of 64 points are one word each, so that the neighbours of a block count at once.
- soft: the share of a row's neighbours that have the row's own value of a label, or its class.
  Shares are added exactly (`mlfs_dask.kernels.exactsum`): the same bits in any order.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.gap_levels import RowBuffer
from mlfs_dask.kernels.lanes import LANES, first_lanes, lanes_at_most, lowest_bit

Counting: TypeAlias = Literal["hard", "soft", "classes"]

HARD, SOFT, CLASSES = 0, 1, 2
"""What is counted; see the module."""

LabelWords: TypeAlias = NDArray[np.uint64]


class Points(NamedTuple):
    """Points and the rows that stand there; what isn't counted has no labels.

    Attributes
    ----------
    size : ndarray of int64, shape (n_points,)
        Rows at each point.
    some, every : ndarray of uint64, shape (n_blocks, n_labels)
        Bit i of block b: some row, every row at point 64 b + i has the label. Hard counts.
    having : ndarray of int32 or uint8, shape (n_points, n_labels)
        Rows with each label. Soft counts.
    code : ndarray of int64, shape (n_points,)
        Class of each point's only row. Counts of classes.
    """

    size: IntArray
    some: LabelWords
    every: LabelWords
    having: AnyArray
    code: IntArray


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
    present, absent : ndarray of uint64, shape (n_labels,)
        Neighbours of some block with each label, without it.
    having : ndarray of int64, shape (n_labels,)
        Neighbours with each label.
    """

    what: int
    places: Cuts
    present: LabelWords
    absent: LabelWords
    having: IntArray


def make_counter(what: int, places: Cuts) -> Counter:
    """Room for counting; one per thread.

    Parameters
    ----------
    what
        ``HARD``, ``SOFT`` or ``CLASSES``.
    places
        Where shares are parted, for each label (or for the one class).
    """
    n_labels = len(places.head)
    present, absent = np.zeros((2, n_labels), dtype=np.uint64)
    return Counter(what, places, present, absent, np.zeros(n_labels, dtype=np.int64))


@jit
def count_neighbors(
    row: RowBuffer, n: int, own: int, level: Any, points: Points, counter: Counter, tally: Tally
) -> None:
    """Count what the neighbourhood of the rows at one point says.

    Parameters
    ----------
    row
        Squared distances from the point, after ``find_extremes``.
    n
        Points.
    own
        The point.
    level
        Points at most this far away are neighbours.
    points
        All of them.
    counter, tally
        Changed.
    """
    if counter.what == HARD:
        _count_pure(row, n, own, level, points, counter, tally)
    elif counter.what == SOFT:
        _count_labels(row, n, own, level, points, counter, tally)
    else:
        _count_class(row, n, own, level, points, counter, tally)


@jit
def _count_pure(
    row: RowBuffer, n: int, own: int, level: Any, points: Points, counter: Counter, tally: Tally
) -> None:
    present, absent = counter.present, counter.absent
    present[:] = np.uint64(0)
    absent[:] = np.uint64(0)
    for b in range(len(points.some)):
        mask = np.uint64(0)
        if row.smallest[b] <= level:
            mask = lanes_at_most(row.total, LANES * b, level) & first_lanes(n - LANES * b)
        if own // LANES == b:
            mask |= np.uint64(1) << np.uint64(own % LANES)
        if mask:
            some, every = points.some[b], points.every[b]
            for k in range(len(present)):
                present[k] |= mask & some[k]
                absent[k] |= mask & ~every[k]
    for k in range(len(present)):
        if present[k] == 0 or absent[k] == 0:
            tally.pure[k] += points.size[own]


@jit
def _count_labels(
    row: RowBuffer, n: int, own: int, level: Any, points: Points, counter: Counter, tally: Tally
) -> None:
    having = counter.having
    having[:] = 0
    size = 0
    for b in range(-(-n // LANES)):
        mask = np.uint64(0)
        if row.smallest[b] <= level:
            mask = lanes_at_most(row.total, LANES * b, level) & first_lanes(n - LANES * b)
        if own // LANES == b:
            mask |= np.uint64(1) << np.uint64(own % LANES)
        while mask:
            j = LANES * b + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            size += points.size[j]
            there = points.having[j]
            for k in range(len(having)):
                having[k] += there[k]
    rows = points.size[own]
    for k in range(len(having)):
        inside = points.having[own, k]
        add_share(having[k], size, inside, k, counter.places, tally.shares)
        add_share(size - having[k], size, rows - inside, k, counter.places, tally.shares)


@jit
def _count_class(
    row: RowBuffer, n: int, own: int, level: Any, points: Points, counter: Counter, tally: Tally
) -> None:
    size = same = 1
    for b in range(-(-n // LANES)):
        if row.smallest[b] <= level:
            mask = lanes_at_most(row.total, LANES * b, level) & first_lanes(n - LANES * b)
            while mask:
                j = LANES * b + np.int64(lowest_bit(mask))
                mask &= mask - np.uint64(1)
                size += 1
                same += points.code[j] == points.code[own]
    add_share(same, size, 1, 0, counter.places, tally.shares)


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
def label_words(Y: AnyArray) -> LabelWords:
    """Pack the labels of rows, 64 rows to a word.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)

    Returns
    -------
    ndarray of uint64, shape (n_blocks, n_labels)
        Bit i of block b: row 64 b + i has the label.
    """
    words = np.zeros((-(-len(Y) // LANES), Y.shape[1]), dtype=np.uint64)
    for i in range(len(Y)):
        word, bit = words[i // LANES], np.uint64(1) << np.uint64(i % LANES)
        for k in range(Y.shape[1]):
            if Y[i, k]:
                word[k] |= bit
    return words


@jit
def point_words(Y: AnyArray, point: IntArray, n_points: int) -> tuple[LabelWords, LabelWords]:
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
    some, every : ndarray of uint64, shape (n_blocks, n_labels)
    """
    shape = (-(-n_points // LANES), Y.shape[1])
    some = np.zeros(shape, dtype=np.uint64)
    every = np.full(shape, ~np.uint64(0))
    for i in range(len(Y)):
        b, bit = point[i] // LANES, np.uint64(1) << np.uint64(point[i] % LANES)
        present, whole = some[b], every[b]
        for k in range(shape[1]):
            if Y[i, k]:
                present[k] |= bit
            else:
                whole[k] &= ~bit
    return some, every


@jit
def point_counts(Y: AnyArray, point: IntArray, n_points: int) -> NDArray[np.int32]:
    """Count the rows at each point that have each label.

    Parameters
    ----------
    Y, point, n_points
        As for :func:`point_words`.

    Returns
    -------
    ndarray of int32, shape (n_points, n_labels)
    """
    counts = np.zeros((n_points, Y.shape[1]), dtype=np.int32)
    for i in range(len(Y)):
        there = counts[point[i]]
        for k in range(Y.shape[1]):
            there[k] += Y[i, k]
    return counts
