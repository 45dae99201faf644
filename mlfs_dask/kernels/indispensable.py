"""Positive region of a set of features, and the features without which it would be smaller.

A pair of rows has to be looked at until a second feature separates it, no further: if one alone
separates a row of the region from a violator, the region needs it. There is no pass for each
feature left out. Two features that are far from 0 in a row separate it from every row in which both
are 0: what is left to be looked at stands in the lists of the two that fewest rows hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import BoolArray
from mlfs_dask.kernels._jit import jit, merged
from mlfs_dask.kernels.holders import Holders, shortest_lists
from mlfs_dask.kernels.lanes import lowest_bit
from mlfs_dask.kernels.separation import (
    GROUP,
    LANES,
    NOWHERE,
    STRIP,
    Chosen,
    Panel,
    Rows,
    WordArray,
    plane_word,
    side_mask,
    violates,
)

_NONE, _SEVERAL = -1, -2


@merged
def _sole_separator(own: Rows, i: int, other: Rows, j: int, among: Chosen) -> int:
    """Slot of the only feature among some that separates two rows, ``_NONE`` or ``_SEVERAL``."""
    sole, one = _NONE, np.uint64(1)
    n_head = own.head.far.shape[1]
    for x in range(len(among.head)):
        w = among.head[x]
        word = among.words[w] & plane_word(own.head, i, other.head, j, w)
        if word:
            if sole != _NONE or word & (word - one):
                return _SEVERAL
            sole = 64 * w + np.int64(lowest_bit(word))
    for x in range(len(among.groups)):
        g = among.groups[x]
        word = among.words[n_head + (g >> 2)] >> np.uint64(LANES * (g & 3))
        word &= side_mask(own.side, i, other.side, j, LANES * g)
        if word:
            if sole != _NONE or word & (word - one):
                return _SEVERAL
            sole = 64 * n_head + LANES * g + np.int64(lowest_bit(word))
    begin = n_head + ((own.side.width + 63) >> 6)
    for x in range(len(among.tail)):
        w = among.tail[x]
        word = among.words[begin + w] & plane_word(own.tail, i, other.tail, j, w)
        if word:
            if sole != _NONE or word & (word - one):
                return _SEVERAL
            sole = 64 * (begin + w) + np.int64(lowest_bit(word))
    return sole


@jit
def find_indispensable(
    panel: Panel,
    among: Chosen,
    holders: Holders,
    labelled: BoolArray,
    outside: BoolArray,
    sole: WordArray,
) -> int:
    """Rows outside the positive region of a set of features, and what keeps the others inside.

    Parameters
    ----------
    panel
        Rows.
    among
        The set of features.
    holders
        Lists of all rows; without any unless the panel holds all rows.
    labelled : ndarray of bool, shape (n_own,)
        Rows that carry labels.
    outside : ndarray of bool, shape (n_own,), changed
        Rows with a violator within reach.
    sole : ndarray of uint64, shape (n_own, n_words), changed
        Features that alone separate the row from a violator; not complete for rows outside.

    Returns
    -------
    int
        Pairs of rows looked at.
    """
    n_own, n_other = len(panel.own.labels), len(panel.other.labels)
    listed = np.zeros(n_other, dtype=np.int32)
    has_lists = np.zeros(n_own, dtype=np.bool_)
    looks = 0
    for first in range(0, n_own, GROUP):
        for begin in range(0, n_other, STRIP):
            end = min(begin + STRIP, n_other)
            for i in range(first, min(first + GROUP, n_own)):
                if outside[i] or has_lists[i] or not labelled[i]:
                    continue
                n_rows = end - begin
                if begin == 0:
                    best, second = shortest_lists(panel.own, i, holders, among)
                    has_lists[i] = second != NOWHERE
                    if has_lists[i]:
                        n_rows = _join_lists(holders, best, second, listed)
                for p in range(n_rows):
                    j = int(listed[p]) if has_lists[i] else begin + p
                    looks += 1
                    slot = _sole_separator(panel.own, i, panel.other, j, among)
                    if slot == _SEVERAL or not violates(panel.own.labels, i, panel.other.labels, j):
                        continue
                    if slot == _NONE:
                        outside[i] = True
                        break
                    sole[i, slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
    return looks


@jit
def _join_lists(holders: Holders, one: int, other: int, listed: NDArray[np.int32]) -> int:
    """Enter the rows of two lists, ascending, each once; return how many there are."""
    place, last = holders.start[one], holders.start[one + 1]
    second, end = holders.start[other], holders.start[other + 1]
    n_rows = 0
    while place < last or second < end:
        if second == end or (place < last and holders.row[place] <= holders.row[second]):
            j = holders.row[place]
            if second < end and holders.row[second] == j:
                second += 1
            place += 1
        else:
            j = holders.row[second]
            second += 1
        listed[n_rows] = j
        n_rows += 1
    return n_rows
