"""Rows in which a feature is not 0, for features that are 0 almost everywhere.

A feature that is further from 0 than its radius in row i separates i from every row in which it is
0. Whether it separates i from all its violators is seen from the few rows in which it is not 0:
there is no need to look at the violators one by one. For the same reason the rows that a set of
features does not separate from i all stand in the list of each of its features that is far from 0
in i. The shortest one is walked along; most pairs of rows are never looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import IntArray
from mlfs_dask.kernels._jit import jit, merged
from mlfs_dask.kernels.lanes import lowest_bit
from mlfs_dask.kernels.separation import (
    NOWHERE,
    Chosen,
    Panel,
    Planes,
    Rows,
    WordArray,
    is_separated,
    separators,
    violates,
)


class Holders(NamedTuple):
    """For some features that are mostly 0, the rows in which they are not.

    Attributes
    ----------
    start : ndarray of int64, shape (64 * n_words + 1,)
        Rows of a slot stand at ``start[slot]:start[slot + 1]``; none: the slot has no list.
    row : ndarray of int32
        Rows among all rows whose cell is missing or other than 0, ascending.
    """

    start: IntArray
    row: NDArray[np.int32]


class Within(NamedTuple):
    """What decides which pairs of rows need to be looked at.

    Attributes
    ----------
    chosen : Chosen
        Features that put violators out of reach.
    holders : Holders
        Lists of all rows; without any unless a panel holds all rows.
    """

    chosen: Chosen
    holders: Holders


@jit
def shortest_lists(own: Rows, i: int, holders: Holders, chosen: Chosen) -> tuple[int, int]:
    """Find the two chosen features far from 0 in a row that fewest rows hold.

    Parameters
    ----------
    own, i
        The row.
    holders
        The lists.
    chosen
        Features.

    Returns
    -------
    int, int
        Slots; ``NOWHERE`` where there is none with a list.
    """
    best = second = NOWHERE
    if len(holders.row) > 0:
        for x in range(len(chosen.head)):
            w = chosen.head[x]
            word = own.head.far[i, w] & chosen.words[w]
            best, second = _shorter(holders, 64 * w, word, best, second)
        begin = own.head.far.shape[1] + ((own.side.width + 63) >> 6)
        for x in range(len(chosen.tail)):
            w = chosen.tail[x]
            word = own.tail.far[i, w] & chosen.words[begin + w]
            best, second = _shorter(holders, 64 * (begin + w), word, best, second)
    return best, second


@merged
def _shorter(holders: Holders, begin: int, word: Any, best: Any, second: Any) -> tuple[Any, Any]:
    """Return the slots of the two shortest lists: of two lists and those of a word's features."""
    while word:
        slot = begin + np.int64(lowest_bit(word))
        word &= word - np.uint64(1)
        length = holders.start[slot + 1] - holders.start[slot]
        if length == 0:
            continue
        if best == NOWHERE or length < holders.start[best + 1] - holders.start[best]:
            best, second = slot, best
        elif second == NOWHERE or length < holders.start[second + 1] - holders.start[second]:
            second = slot
    return best, second


@merged
def next_holder(holders: Holders, slot: int, j: int) -> int:
    """Return the place in the list of a slot where the rows from row j on begin."""
    low, high = int(holders.start[slot]), int(holders.start[slot + 1])
    while low < high:
        middle = (low + high) >> 1
        if holders.row[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def ask_holders(
    panel: Panel,
    i: int,
    within: Within,
    words: WordArray,
    sure: NDArray[np.int32],
    n_sure: int,
    counts: IntArray,
    own_counts: IntArray,
) -> int:
    """Settle candidates that have a list: they are dropped, or sure and counted.

    Parameters
    ----------
    panel
        Rows; the other ones are all rows.
    i
        Row that has violators within reach.
    within
        Features chosen, and the lists.
    words : ndarray of uint64, shape (n_words,), changed
        Candidates; those stay that have no list, or are no further from 0 than their radius in i.
    sure : ndarray of int32, changed
        Gets slots of sure candidates as long as there is room.
    n_sure
        Slots that it has.
    counts : ndarray of int64, shape (64 * n_words,), changed
        By slot, rows that a candidate would settle.
    own_counts : ndarray of int64, shape (2,), changed
        Rows that row i stands for, and pairs of rows looked at.

    Returns
    -------
    int
        Slots that ``sure`` has now.
    """
    chosen, holders = within
    for w in range(len(words)):
        left = words[w]
        while left:
            bit = left & (~left + np.uint64(1))
            left ^= bit
            slot = 64 * w + np.int64(lowest_bit(bit))
            first, last = holders.start[slot], holders.start[slot + 1]
            if first == last or not _is_far(panel, i, w, bit):
                continue
            words[w] ^= bit
            if _separates_all(panel, i, holders.row[first:last], chosen, w, bit, own_counts):
                counts[slot] += own_counts[0]
                if n_sure < len(sure):
                    sure[n_sure] = slot
                    n_sure += 1
    return n_sure


@jit
def _is_far(panel: Panel, i: int, w: int, bit: Any) -> bool:
    head, tail = panel.own.head.far, panel.own.tail.far
    if w < head.shape[1]:
        return bool(head[i, w] & bit != 0)
    return bool(tail[i, w - head.shape[1] - ((panel.own.side.width + 63) >> 6)] & bit != 0)


@jit
def _separates_all(
    panel: Panel,
    i: int,
    rows: NDArray[np.int32],
    chosen: Chosen,
    w: int,
    bit: Any,
    own_counts: IntArray,
) -> bool:
    """Whether one feature separates row i from those of some rows that are violators in reach."""
    own, other = panel.own, panel.other
    # Two cells that are not 0 are apart only where their values are kept.
    valued = own.head.some.shape[1] + own.tail.some.shape[1] > 0
    for p in range(len(rows)):
        j = rows[p]
        if not violates(own.labels, i, other.labels, j):
            continue
        if valued and separators(own, i, other, j, w, bit):
            continue
        if not is_separated(own, i, other, j, chosen):
            own_counts[1] += p + 1
            return False
    own_counts[1] += len(rows)
    return True


@jit
def count_holders(planes: Planes, counts: IntArray) -> None:
    """Count by slot the rows whose cell is missing or other than 0.

    Parameters
    ----------
    planes
        Of all rows.
    counts : ndarray of int64, shape (64 * n_words,), changed
        By slot of these words.
    """
    for i in range(len(planes.zero)):
        for w in range(planes.zero.shape[1]):
            word = ~planes.zero[i, w]
            while word:
                counts[64 * w + np.int64(lowest_bit(word))] += 1
                word &= word - np.uint64(1)


@jit
def list_holders(planes: Planes, listed: WordArray, at: IntArray, row: NDArray[np.int32]) -> None:
    """Enter rows in the lists of some slots.

    Parameters
    ----------
    planes
        Of all rows.
    listed : ndarray of uint64, shape (n_words,)
        Slots that have a list, of these words.
    at : ndarray of int64, shape (64 * n_words,), changed
        Where the next row of each list goes.
    row : ndarray of int32, changed
        See `Holders`.
    """
    for i in range(len(planes.zero)):
        for w in range(planes.zero.shape[1]):
            word = ~planes.zero[i, w] & listed[w]
            while word:
                slot = 64 * w + np.int64(lowest_bit(word))
                row[at[slot]] = i
                at[slot] += 1
                word &= word - np.uint64(1)
