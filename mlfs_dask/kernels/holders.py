"""Rows in which a feature is not 0, for features that are 0 almost everywhere.

A feature that is further from 0 than its radius in row i separates i from every row in which it is
0. Whether it separates i from all its violators is seen from the few rows in which it is not 0:
there is no need to look at the violators one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.lanes import lowest_bit
from mlfs_dask.kernels.separation import (
    Chosen,
    Panel,
    Planes,
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


@jit
def ask_holders(
    panel: Panel,
    i: int,
    holders: Holders,
    chosen: Chosen,
    words: WordArray,
    sure: NDArray[np.int32],
    n_sure: int,
    counts: IntArray,
) -> int:
    """Settle candidates that have a list: they are dropped, or sure and counted.

    Parameters
    ----------
    panel
        Rows; the other ones are all rows.
    i
        Row that has violators within reach.
    holders
        The lists.
    chosen
        Features that put violators out of reach.
    words : ndarray of uint64, shape (n_words,), changed
        Candidates; those stay that have no list, or are no further from 0 than their radius in i.
    sure : ndarray of int32, changed
        Gets slots of sure candidates as long as there is room.
    n_sure
        Slots that it has.
    counts : ndarray of int64, shape (64 * n_words,), changed
        By slot, rows that a candidate would settle.

    Returns
    -------
    int
        Slots that ``sure`` has now.
    """
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
            if _separates_all(panel, i, holders.row[first:last], chosen, w, bit):
                counts[slot] += 1
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
    panel: Panel, i: int, rows: NDArray[np.int32], chosen: Chosen, w: int, bit: Any
) -> bool:
    """Whether one feature separates row i from those of some rows that are violators in reach."""
    own, other = panel.own, panel.other
    for p in range(len(rows)):
        j = rows[p]
        if separators(own, i, other, j, w, bit):
            continue
        if violates(own.labels, i, other.labels, j) and not is_separated(own, i, other, j, chosen):
            return False
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
