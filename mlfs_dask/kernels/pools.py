"""The nearest rows of every label at once, from which classes of one query take theirs.

Relief asks a row for the nearest rows that have label a and lack label b, for many a and b. The
rows near the query are put in order once and dealt to the labels that they carry, more to each than
a list needs; a class takes the first ones that it holds::

    rows by (distance, row)   3 17 20 4 9 31 ...
    with label a              3    20   9 31 ...     class (a, not b)    3    9 31
    with label b                17 20        ...     class (b, not a)      17

Which rows are near is guessed from a few distances. A class whose pool holds too few of it is
looked for by itself, so the lists are the same whatever the guess was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.lanes import LANES, first_lanes, lanes_at_most, lowest_bit
from mlfs_dask.kernels.members import Members, Words

_POOL = 4  # rows in a pool, as a multiple of those that a list needs
_NEAR = 16  # rows put in order per label; more would take longer than they save
_SAMPLE = 256
_MOVES = 16  # per row, before the order is made in another way


class Pools(NamedTuple):
    """Pools of one query, and what they are made with.

    Attributes
    ----------
    distance : ndarray, shape (n_sets, size)
        Ascending; a distance, or a lower bound of it when the pool was made.
    row : ndarray of int64, shape (n_sets, size)
        The last distance and row of each pool are scratch.
    used : ndarray of int64, shape (n_sets,)
        Rows in each, at most ``size - 1``.
    order, spare : ndarray of int32, shape (n_rows,)
        Rows near the query, and scratch.
    box : ndarray of int32, shape (n_rows + 1,)
        Scratch.
    """

    distance: AnyArray
    row: IntArray
    used: IntArray
    order: NDArray[np.int32]
    spare: NDArray[np.int32]
    box: NDArray[np.int32]


def make_pools(k: int, n_rows: int, n_sets: int, dtype: type) -> Pools:
    """Room for a pool of each set.

    Parameters
    ----------
    k
        Rows that a list needs.
    n_rows
        Rows in all.
    n_sets
        How many sets have pools; 0: every list is looked for by itself.
    dtype
        Of the distances.
    """
    shape = n_sets, _POOL * k + 1
    n = n_rows if n_sets else 0
    order, spare = np.empty((2, n), dtype=np.int32)
    used, box = np.zeros(n_sets, dtype=np.int64), np.empty(n + 1, dtype=np.int32)
    return Pools(np.empty(shape, dtype=dtype), np.empty(shape, np.int64), used, order, spare, box)


@jit
def _collect(total: AnyArray, n: int, most: int, order: NDArray[np.int32]) -> int:
    """All rows up to some distance, about ``most`` of them, ascending by index."""
    if most >= n:
        for j in range(n):
            order[j] = j
        return n
    sample = np.empty(_SAMPLE, dtype=total.dtype)
    for s in range(_SAMPLE):
        sample[s] = total[s * n // _SAMPLE]
    sample.sort()
    limit = sample[most * _SAMPLE // n]
    found = 0
    for start in range(0, n, LANES):
        mask = lanes_at_most(total, start, limit) & first_lanes(n - start)
        while mask:
            order[found] = start + np.int64(lowest_bit(mask))
            found += 1
            mask &= mask - np.uint64(1)
    return found


@jit
def _settle(total: AnyArray, order: NDArray[np.int32]) -> bool:
    """Put rows in order that are nearly so; False if that would take long."""
    moves = 0
    for r in range(1, len(order)):
        row = order[r]
        value, place = total[row], r
        while place > 0 and value < total[order[place - 1]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
        moves += r - place
        if moves > _MOVES * len(order):
            return False
    return True


@jit
def sort_near(total: AnyArray, n: int, most: int, pools: Pools) -> NDArray[np.int32]:
    """The rows near a query by (distance, row): all up to some distance, about ``most``.

    Parameters
    ----------
    total : ndarray, shape (>= 64 * ceil(n / 64),)
        Distance of each row.
    n
        Rows.
    most
        How many are wanted; all from ``n`` on.
    pools
        Whose scratch is used.

    Returns
    -------
    ndarray of int32
    """
    found = _collect(total, n, most, pools.spare)
    rows, order, count = pools.spare[:found], pools.order[:found], pools.box[: found + 1]
    if found == 0:
        return order
    low, high = total[rows[0]], total[rows[0]]
    for r in range(found):
        low, high = min(low, total[rows[r]]), max(high, total[rows[r]])
    width = np.float64(high) - np.float64(low)
    # Rows go to about as many boxes as there are rows; no box is before that of a nearer row.
    scale = (found - 1) / width if width > 0.0 else 0.0
    if not (scale < np.inf and width < np.inf):
        order[:] = rows[np.argsort(total[rows], kind="mergesort")]
        return order
    count[:] = 0
    for r in range(found):
        count[_box(total[rows[r]], low, scale) + 1] += 1
    for b in range(found):
        count[b + 1] += count[b]
    for r in range(found):
        b = _box(total[rows[r]], low, scale)
        order[count[b]] = rows[r]
        count[b] += 1
    if not _settle(total, order):
        order[:] = rows[np.argsort(total[rows], kind="mergesort")]
    return order


@inline
def _box(value: float, low: float, scale: float) -> int:
    return int((np.float64(value) - np.float64(low)) * scale)


@jit
def deal(total: AnyArray, members: Members, own: int, pools: Pools) -> None:
    """Make the pools of a query.

    Parameters
    ----------
    total : ndarray, shape (>= 64 * n_blocks,)
        Distances of all rows from the query, or lower bounds of them.
    members
        Sets of rows, the last one that of all rows.
    own
        A row that is in no pool, -1 for none.
    pools
        Changed.
    """
    n_sets, last = len(pools.used), pools.row.shape[1] - 1
    used, distance, row = pools.used, pools.distance, pools.row
    start, carried = members.start_of_row, members.set_of_row
    used[:] = 0
    if n_sets == 0:
        return
    near = sort_near(total, members.n_rows, _NEAR * n_sets, pools)
    everybody = n_sets - 1
    for r in range(len(near)):
        j = np.int64(near[r])
        if j == own:
            continue
        value = total[j]
        # Nobody knows which pools are full: what comes too late is written behind the last.
        place = used[everybody]
        distance[everybody, place], row[everybody, place] = value, j
        used[everybody] = min(place + 1, last)
        for e in range(start[j], start[j + 1]):
            which = carried[e]
            place = used[which]
            distance[which, place], row[which, place] = value, j
            used[which] = min(place + 1, last)


@inline
def take(
    near: AnyArray,
    rows: IntArray,
    many: IntArray,
    away: Words,
    class_: tuple[int, int],
    distance: AnyArray,
    index: IntArray,
) -> int:
    """The nearest rows of a class as far as they are in a pool.

    Parameters
    ----------
    near, rows, many
        ``distance``, ``row`` and ``used`` of :class:`Pools`.
    away : ndarray of uint64, shape (n_barred, n_blocks)
        Sets that can be taken away.
    class_ : tuple of int
        The rows of one set that are not in another: the numbers of both.
    distance, index : ndarray, shape (k,), changed
        The nearest, ascending.

    Returns
    -------
    int
        How many were found; if fewer than k, there may be more outside the pool.
    """
    inside, barred = class_
    found = 0
    for r in range(many[inside]):
        j = rows[inside, r]
        bit = (away[barred, j // LANES] >> np.uint64(j % LANES)) & np.uint64(1)
        if bit == 0:
            distance[found], index[found] = near[inside, r], j
            found += 1
            if found == len(index):
                break
    return found
