"""Violators within reach: which rows keep a row out of the positive region.

Row j *violates* row i if i carries a label that j lacks. It is *within reach* on a set B of
features if none of them separates the two (:mod:`mlfs_dask.kernels.separation`). Row i is in the
positive region of B iff no violator is within reach, so a pair of rows is done with as soon as one
feature separates it, and a row as soon as its violators stand against every candidate.

Kernels take the rows of a block and compare them with one panel of all rows after the other, in
ascending order. Nothing but booleans, bits and counts comes out: the same on any cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import BoolArray, IntArray
from mlfs_dask.kernels._jit import jit, merged
from mlfs_dask.kernels.holders import Within, ask_holders, next_holder, shortest_lists
from mlfs_dask.kernels.lanes import lowest_bit
from mlfs_dask.kernels.separation import (
    GROUP,
    NOWHERE,
    STRIP,
    Chosen,
    Panel,
    Rows,
    WordArray,
    is_separated,
    separators,
    violates,
)

_UNKNOWN = -1


class Reach(NamedTuple):
    """Violators known so far of rows that are not settled.

    Attributes
    ----------
    row : ndarray of int64, shape (n_rows,)
        Position in the block.
    weight : ndarray of int64, shape (n_rows,)
        Rows of the source that each stands for.
    scanned : ndarray of int64, shape (n_rows,)
        All violators within reach before this row of all rows are held.
    n_held : ndarray of int64, shape (n_rows,)
    held : ndarray of int32, shape (n_rows, room)
        Violators within reach, rows among all rows, ascending.
    n_sure : ndarray of int64, shape (n_rows,)
    sure : ndarray of int32, shape (n_rows, room)
        Slots of candidates known to separate the row from every violator within reach. They stay
        such as features are chosen; with them, rows whose violators are too many to be held need
        not look at all of them again.
    """

    row: IntArray
    weight: IntArray
    scanned: IntArray
    n_held: IntArray
    held: NDArray[np.int32]
    n_sure: IntArray
    sure: NDArray[np.int32]


class Cursors(NamedTuple):
    """Where the walk over the panels stands.

    Attributes
    ----------
    read, kept : ndarray of int64, shape (n_rows,)
        Held violators looked at, and those of them that stay.
    at : ndarray of int64, shape (n_rows,)
        Next row to be looked at.
    open : ndarray of bool, shape (n_rows,)
        More violators need to be seen.
    full : ndarray of bool, shape (n_rows,)
        Violators were looked at for which there is no room.
    counts : ndarray of int64, shape (n_rows, 2)
        Rows of the source that each stands for, and pairs of rows looked at.
    """

    read: IntArray
    kept: IntArray
    at: IntArray
    open: BoolArray
    full: BoolArray
    counts: IntArray


@jit
def settle_in_order(
    panel: Panel,
    order: IntArray,
    within: Within,
    reach: Reach,
    cursors: Cursors,
    level: IntArray,
    words: WordArray,
) -> None:
    """How many features of a sequence each row needs until no violator is within reach.

    Parameters
    ----------
    panel
        Rows.
    order : ndarray of int64, shape (n_chosen,)
        Slots of the sequence.
    within
        The same features as a set.
    reach : Reach, changed
        Of new rows; gets the first violator that no feature of the sequence separates.
    cursors : Cursors, changed
        Fresh for the first panel.
    level : ndarray of int64, shape (n_rows,), changed
        From 0: features needed for the rows seen so far.
    words : ndarray of uint64, shape (n_rows, n_words), changed
        From 0: the first ``level`` features of the sequence.
    """
    own, other, base = panel.own, panel.other, panel.base
    chosen, holders = within
    n_rows, end_of_panel = len(reach.row), base + len(other.labels)
    for first in range(0, n_rows, GROUP):
        for begin in range(base, end_of_panel, STRIP):
            end = min(begin + STRIP, end_of_panel)
            for r in range(first, min(first + GROUP, n_rows)):
                i = reach.row[r]
                first_ones = Chosen(words[r], chosen.head, chosen.groups, chosen.tail)
                if not cursors.open[r] or cursors.at[r] >= end:
                    continue
                place, last = _begin_walk(own, i, Within(first_ones, holders), cursors.at[r])
                while cursors.open[r]:
                    if last > 0:
                        cursors.at[r] = holders.row[place] if place < last else end_of_panel
                        place += 1
                    if cursors.at[r] >= end:
                        break
                    j = cursors.at[r] - base
                    cursors.counts[r, 1] += 1
                    if violates(own.labels, i, other.labels, j) and not is_separated(
                        own, i, other, j, first_ones
                    ):
                        _raise_level(panel, i, j, order, level, words, r)
                        if not is_separated(own, i, other, j, first_ones):
                            cursors.open[r] = False
                            reach.held[r, 0] = cursors.at[r]
                            cursors.kept[r] = 1
                        still = Within(first_ones, holders)
                        place, last = _begin_walk(own, i, still, cursors.at[r] + 1)
                    cursors.at[r] += 1


@merged
def _begin_walk(own: Rows, i: int, within: Within, j: int) -> tuple[int, int]:
    """Return where the rows from j on begin that need to be looked at in a list, and its end.

    That is 0 if there is no list: all rows need to be looked at.
    """
    if len(within.holders.row) == 0:
        return 0, 0
    slot, _ = shortest_lists(own, i, within.holders, within.chosen)
    if slot == NOWHERE:
        return 0, 0
    return next_holder(within.holders, slot, j), within.holders.start[slot + 1]


@jit
def _raise_level(
    panel: Panel, i: int, j: int, order: IntArray, level: IntArray, words: WordArray, r: int
) -> None:
    """Go on in the sequence until a feature separates two rows, at most to its end."""
    while level[r] < len(order):
        slot = order[level[r]]
        level[r] += 1
        if slot >= 0:
            w, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
            words[r, w] |= bit
            if separators(panel.own, i, panel.other, j, w, bit):
                return


@jit
def narrow(
    panel: Panel,
    new: Chosen,
    within: Within,
    reach: Reach,
    cursors: Cursors,
    words: WordArray,
    counts: IntArray,
) -> None:
    """Drop violators that new features separate; look for more until no candidate is left.

    Parameters
    ----------
    panel
        Rows.
    new
        Features chosen since the last call.
    within
        All that are chosen.
    reach : Reach, changed
        ``n_held`` isn't: it is ``cursors.kept`` after the last panel.
    cursors : Cursors, changed
        Fresh for the first panel.
    words : ndarray of uint64, shape (n_rows, n_words), changed
        Candidates that aren't sure; those stay that separate the row from all its violators
        within reach, but for those that are counted.
    counts : ndarray of int64, shape (64 * n_words,), changed
        By slot, rows that a candidate would settle.
    """
    base = panel.base
    n_rows, end_of_panel = len(reach.row), base + len(panel.other.labels)
    alive = np.zeros(words.shape[1], dtype=np.int64)
    for first in range(0, n_rows, GROUP):
        for begin in range(base, end_of_panel, STRIP):
            end = min(begin + STRIP, end_of_panel)
            for r in range(first, min(first + GROUP, n_rows)):
                row = words[r]
                _look_at_held(panel, new, reach, cursors, r, end, row, alive)
                while cursors.open[r] and cursors.at[r] < end:
                    _look_for_more(panel, within, reach, cursors, r, end, row, alive)
                    if cursors.open[r] and cursors.at[r] < end:  # no room for the violator at hand
                        reach.n_sure[r] = ask_holders(
                            panel,
                            reach.row[r],
                            within,
                            row,
                            reach.sure[r],
                            reach.n_sure[r],
                            counts,
                            cursors.counts[r],
                        )
                        reach.scanned[r] = cursors.at[r]
                        cursors.open[r] = cursors.full[r] = _list_alive(row, alive) > 0
                if not cursors.full[r]:
                    reach.scanned[r] = cursors.at[r]


@merged
def _list_alive(words: WordArray, alive: IntArray) -> int:
    """Words that aren't empty: how many; ``alive`` begins with them."""
    n_alive = 0
    for w in range(len(words)):
        if words[w]:
            alive[n_alive] = w
            n_alive += 1
    return n_alive


@merged
def _keep_separators(
    words: WordArray, alive: IntArray, n_alive: int, own: Rows, i: int, other: Rows, j: int
) -> int:
    """Clear the features that don't separate row i from row j; words that are left, as above."""
    n_left = 0
    for x in range(n_alive):
        w = alive[x]
        words[w] = separators(own, i, other, j, w, words[w])
        if words[w]:
            alive[n_left] = w
            n_left += 1
    return n_left


@merged
def _look_at_held(
    panel: Panel,
    new: Chosen,
    reach: Reach,
    cursors: Cursors,
    r: int,
    end: int,
    words: WordArray,
    alive: IntArray,
) -> None:
    """Held violators before row ``end``: those that new features separate are dropped."""
    own, other, base, i = panel.own, panel.other, panel.base, reach.row[r]
    n_alive = _UNKNOWN
    while cursors.read[r] < reach.n_held[r] and reach.held[r, cursors.read[r]] < end:
        held = reach.held[r, cursors.read[r]]
        cursors.read[r] += 1
        cursors.counts[r, 1] += 1
        if is_separated(own, i, other, held - base, new):
            continue
        reach.held[r, cursors.kept[r]] = held
        cursors.kept[r] += 1
        if cursors.open[r]:
            if n_alive == _UNKNOWN:
                n_alive = _list_alive(words, alive)
            n_alive = _keep_separators(words, alive, n_alive, own, i, other, held - base)
            cursors.open[r] = n_alive > 0


@merged
def _look_for_more(
    panel: Panel,
    within: Within,
    reach: Reach,
    cursors: Cursors,
    r: int,
    end: int,
    words: WordArray,
    alive: IntArray,
) -> None:
    """Rows before row ``end``, until no candidate is left, or no room for the first time."""
    own, other, base, i = panel.own, panel.other, panel.base, reach.row[r]
    chosen, holders = within
    n_alive = _list_alive(words, alive)
    place, last = _begin_walk(own, i, within, cursors.at[r])
    while True:
        if last > 0:
            cursors.at[r] = holders.row[place] if place < last else base + len(other.labels)
            place += 1
        if cursors.at[r] >= end:
            return
        j = cursors.at[r] - base
        cursors.counts[r, 1] += 1
        if violates(own.labels, i, other.labels, j) and not is_separated(own, i, other, j, chosen):
            if not cursors.full[r]:
                if cursors.kept[r] == reach.held.shape[1]:
                    return
                reach.held[r, cursors.kept[r]] = cursors.at[r]
                cursors.kept[r] += 1
            n_alive = _keep_separators(words, alive, n_alive, own, i, other, j)
            cursors.open[r] = n_alive > 0
        cursors.at[r] += 1
        if not cursors.open[r]:
            return


@jit
def leave_out_sure(reach: Reach, words: WordArray) -> None:
    """Take the sure candidates off the candidates that are to be looked at.

    Parameters
    ----------
    reach
        With the sure ones.
    words : ndarray of uint64, shape (n_rows, n_words), changed
    """
    for r in range(len(words)):
        for x in range(reach.n_sure[r]):
            slot = reach.sure[r, x]
            words[r, slot >> 6] &= ~(np.uint64(1) << np.uint64(slot & 63))


@jit
def count_candidates(
    reach: Reach,
    cursors: Cursors,
    n_known: IntArray,
    candidates: WordArray,
    words: WordArray,
    counts: IntArray,
) -> None:
    """Count by slot the rows that a candidate would settle; note candidates that became sure.

    Parameters
    ----------
    reach : Reach, changed
    cursors
        After the last panel.
    n_known : ndarray of int64, shape (n_rows,)
        Sure candidates before :func:`narrow`, which counts those that it finds itself.
    candidates : ndarray of uint64, shape (n_words,)
        All of them.
    words : ndarray of uint64, shape (n_rows, n_words)
        From :func:`narrow`.
    counts : ndarray of int64, shape (64 * n_words,), changed
    """
    for r in range(len(words)):
        if cursors.kept[r] == 0 and not cursors.full[r]:
            continue  # settled
        for x in range(n_known[r]):
            slot = reach.sure[r, x]
            if candidates[slot >> 6] & (np.uint64(1) << np.uint64(slot & 63)):
                counts[slot] += reach.weight[r]
        for w in range(words.shape[1]):
            word = words[r, w]
            while word:
                found = 64 * w + np.int64(lowest_bit(word))
                counts[found] += reach.weight[r]
                word &= word - np.uint64(1)
                if cursors.full[r] and reach.n_sure[r] < reach.sure.shape[1]:
                    reach.sure[r, reach.n_sure[r]] = found
                    reach.n_sure[r] += 1
