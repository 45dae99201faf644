"""The nearest rows of many overlapping classes, found in one row of distances.

Relief asks each row for its nearest neighbours among the rows that have label a and lack label b,
for many a and b at once. Classes are sets of bits, 64 rows to a word; a comparison of 64 distances
with the class's farthest neighbour so far gives bits as well, and their conjunction is nearly
always empty::

    distances   |64 rows        |64 rows        |64 rows        | ...
    have a          word            .               word          only words that are not empty
    and lack b  & ~ word            .           & ~ word
    and nearer  & compare           .           & compare        ──> insert the few that are left
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, ByteArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.lanes import LANES, lanes_below, lowest_bit

Words = NDArray[np.uint64]


class Members(NamedTuple):
    """Sets of rows as bits.

    Attributes
    ----------
    start : ndarray of int64, shape (n_sets + 1,)
        Words of set s are ``start[s]:start[s + 1]``.
    block : ndarray of int64, shape (n_words,)
        Which 64 rows a word is about, ascending inside a set.
    word : ndarray of uint64, shape (n_words,)
        Never 0.
    barred : ndarray of uint64, shape (n_barred, n_blocks)
        Sets of rows that can be taken away.
    n_rows : int
    start_of_row : ndarray of int64, shape (n_rows + 1,)
        Sets that hold row i, but for the one of all rows, are
        ``set_of_row[start_of_row[i]:start_of_row[i + 1]]``.
    set_of_row : ndarray of int32
    """

    start: IntArray
    block: IntArray
    word: Words
    barred: Words
    n_rows: int
    start_of_row: IntArray
    set_of_row: NDArray[np.int32]


def label_members(Y: ByteArray) -> Members:
    """Sets of the rows with each label, and all rows.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)

    Returns
    -------
    Members
        Set l holds the rows with label l, set ``n_labels`` all of them; each label can be barred,
        and number ``n_labels`` bars nobody.
    """
    n, q = Y.shape
    with_all = np.concatenate([Y.T, np.ones((1, n), dtype=np.uint8)])
    bits = np.zeros((q + 1, LANES // 8 * max(1, -(-n // LANES))), dtype=np.uint8)
    bits[:, : -(-n // 8)] = np.packbits(with_all, axis=1, bitorder="little")
    words = bits.view("<u8").astype(np.uint64)
    which, block = np.nonzero(words)
    start = np.searchsorted(which, np.arange(q + 2))
    barred = words.copy()
    barred[q] = 0
    row, label = np.nonzero(Y)
    start_of_row = np.searchsorted(row, np.arange(n + 1))
    labels = label.astype(np.int32)
    return Members(start, block, words[which, block], barred, n, start_of_row, labels)


def set_members(codes: IntArray, n_sets: int) -> Members:
    """Disjoint sets of rows; number 0 of those that can be barred is nobody.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Set of each row.
    n_sets
        Number of sets.
    """
    n = len(codes)
    row = np.argsort(codes, kind="stable")
    key = codes[row] * (n // LANES + 1) + row // LANES
    first = np.flatnonzero(np.diff(key, prepend=-1))
    bit = np.uint64(1) << (row % LANES).astype(np.uint64)
    word = np.bitwise_or.reduceat(bit, first) if n else bit
    start = np.searchsorted(codes[row[first]], np.arange(n_sets + 1))
    barred = np.zeros((1, max(1, -(-n // LANES))), dtype=np.uint64)
    start_of_row, code = np.arange(n + 1), codes.astype(np.int32)
    return Members(start, row[first] // LANES, word, barred, n, start_of_row, code)


@inline
def _insert(distance: AnyArray, index: IntArray, used: int, value: Any, row: int) -> None:
    """Put a row behind those that are as near or nearer; the last one falls out."""
    place = used
    while place > 0 and value < distance[place - 1]:
        distance[place] = distance[place - 1]
        index[place] = index[place - 1]
        place -= 1
    distance[place] = value
    index[place] = row


@jit
def nearest_members(
    total: AnyArray,
    members: Members,
    inside: int,
    barred: int,
    own: int,
    distance: AnyArray,
    index: IntArray,
) -> int:
    """Find the nearest rows of a class by (distance, index).

    Parameters
    ----------
    total : ndarray, shape (>= 64 * n_blocks,)
        Distance of each row.
    members
        Sets of rows.
    inside, barred
        The class: rows of one set that are not in the other.
    own
        A row that doesn't count, -1 for none.
    distance, index : ndarray, shape (k,), changed
        The nearest, ascending.

    Returns
    -------
    int
        How many were found.
    """
    block, word, away = members.block, members.word, members.barred[barred]
    k, used = len(index), 0
    limit = total[0]
    for e in range(members.start[inside], members.start[inside + 1]):
        first = LANES * block[e]
        mask = word[e] & ~away[block[e]]
        if used == k and mask:
            mask &= lanes_below(total, first, limit)
        while mask:
            j = first + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            if j == own:
                continue
            value = total[j]
            if used < k:
                _insert(distance, index, used, value, j)
                used += 1
            elif value < limit:
                _insert(distance, index, k - 1, value, j)
            if used == k:
                limit = distance[k - 1]
    return used


@jit
def all_members(members: Members, inside: int, barred: int, own: int, index: IntArray) -> int:
    """All rows of a class but one.

    Parameters
    ----------
    members, inside, barred, own
        As in :func:`nearest_members`.
    index : ndarray of int64, changed
        Gets the rows, ascending.

    Returns
    -------
    int
        How many there are.
    """
    block, word, away = members.block, members.word, members.barred[barred]
    used = 0
    for e in range(members.start[inside], members.start[inside + 1]):
        mask = word[e] & ~away[block[e]]
        while mask:
            j = LANES * block[e] + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            if j != own:
                index[used] = j
                used += 1
    return used
