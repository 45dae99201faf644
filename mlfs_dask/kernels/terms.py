"""The nearest rows of every class that a query asks for, with what each of them counts.

Rows that stand in several lists of one query are joined: their weights add up, and each is compared
with the query once. Lists of many labels share what was looked for once
(:mod:`mlfs_dask.kernels.pools`). Where distances are known by lower bounds only, a list is settled
by the bounds if the gap behind its last row is wider than they may be off; else the few rows in
doubt are summed in full (:mod:`mlfs_dask.kernels.bounds`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.bounds import Doubt, sum_in_full
from mlfs_dask.kernels.lanes import LANES, lanes_at_most, lowest_bit
from mlfs_dask.kernels.members import Members, all_members, nearest_members
from mlfs_dask.kernels.pools import Pools, deal, make_pools, take


class Lists(NamedTuple):
    """Which lists of neighbours some queries ask for, and what each neighbour counts.

    Attributes
    ----------
    start : ndarray of int64, shape (n_targets + 1,)
        Lists of target t are ``start[t]:start[t + 1]``. A target is a query together with the sum
        that its neighbours are added to.
    query, sum : ndarray of int64, shape (n_targets,)
    inside, barred : ndarray of int64, shape (n_lists,)
        Candidates of a list: the rows in one set and not in the other.
    size : ndarray of int64, shape (n_lists,)
        Number of candidates, the query itself not counted.
    weight : ndarray of float64, shape (n_lists,)
        Of each neighbour.
    """

    start: IntArray
    query: IntArray
    sum: IntArray
    inside: IntArray
    barred: IntArray
    size: IntArray
    weight: FloatArray


class Terms(NamedTuple):
    """Weighted differences to be added up.

    Attributes
    ----------
    start : ndarray of int64, shape (n_targets + 1,)
        Terms of target t are ``start[t]:start[t + 1]``.
    query, sum : ndarray of int64, shape (n_targets,)
        See :class:`Lists`.
    row : ndarray of int64, shape (n_terms,)
        Training rows, ascending inside a target, each once.
    weight : ndarray of float64, shape (n_terms,)
    """

    start: IntArray
    query: IntArray
    sum: IntArray
    row: IntArray
    weight: FloatArray


class Room(NamedTuple):
    """Scratch of :func:`find_terms`.

    Attributes
    ----------
    distance : ndarray, shape (k + 1,)
    row : ndarray of int64, shape (k + 1,)
    held : ndarray of float64, shape (n_rows,)
        Weights collected so far.
    seen : ndarray of bool, shape (n_rows,)
        All False between targets.
    pools : Pools
    """

    distance: AnyArray
    row: IntArray
    held: FloatArray
    seen: AnyArray
    pools: Pools


def make_room(k: int, n_rows: int, dtype: type, n_pools: int = 0) -> Room:
    """Scratch for lists of k neighbours.

    Parameters
    ----------
    k, n_rows, dtype
        See :class:`Room`.
    n_pools
        All sets, the last one that of all rows, where lists share pools; 0: they do not.
    """
    return Room(
        np.empty(k + 1, dtype=dtype),
        np.empty(k + 1, dtype=np.int64),
        np.empty(n_rows),
        np.zeros(n_rows, dtype=np.bool_),
        make_pools(k + 1, n_rows, n_pools, dtype),
    )


@jit
def settle_class(
    total: FloatArray,
    members: Members,
    class_: tuple[int, int],
    own: int,
    limit: float,
    room: Room,
    doubt: Doubt,
    query: int,
) -> None:
    """Find the nearest rows of a class where their bounds cannot decide.

    Parameters
    ----------
    total : ndarray of float64, shape (>= 64 * n_blocks,), changed
        Bounds; those that cannot decide become distances.
    members, own
        As in :func:`nearest_members`.
    class_ : tuple of int
        ``inside`` and ``barred``; it has more than k rows.
    limit
        No less than the k-th smallest distance.
    room
        Its first k rows become the nearest.
    doubt
        How far off the bounds may be.
    query
        The row of the bounds.
    """
    k, (inside, barred) = len(room.row) - 1, class_
    block, word, away = members.block, members.word, members.barred[barred]
    for e in range(members.start[inside], members.start[inside + 1]):
        first = LANES * block[e]
        mask = word[e] & ~away[block[e]]
        if mask:
            mask &= lanes_at_most(total, first, limit)
        while mask:
            j = first + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            if j != own:
                sum_in_full(total, doubt, query, j)
    nearest_members(total, members, inside, barred, own, room.distance[:k], room.row[:k])


@jit
def _begin_query(
    total: AnyArray, members: Members, own: int, pools: Pools, doubt: Doubt | None
) -> None:
    deal(total, members, own, pools)
    if doubt is not None:
        doubt.known[:] = False


@inline
def _farthest(total: AnyArray, index: IntArray, known: AnyArray, slack: float) -> float:
    """What the distances of some rows are at most."""
    limit = 0.0
    for r in range(len(index)):
        j = index[r]
        limit = max(limit, total[j] if known[j] else total[j] + slack)
    return limit


@inline
def _join(
    index: IntArray, weight: float, held: FloatArray, seen: AnyArray, row: IntArray, used: int
) -> int:
    """Add the weight of a list to its rows, and those not seen before to the target's."""
    for r in range(len(index)):
        j = index[r]
        if seen[j]:
            held[j] += weight
        else:
            seen[j] = True
            held[j] = weight
            row[used] = j
            used += 1
    return used


@jit
def _settle(row: IntArray, weight: FloatArray, room: Room) -> None:
    """Sort the rows of a target, take their weights and clear the scratch."""
    if 32 * len(row) < len(room.seen):
        row.sort()
    else:
        used = 0
        for j in range(len(room.seen)):
            if room.seen[j]:
                row[used] = j
                used += 1
    for e in range(len(row)):
        weight[e] = room.held[row[e]]
        room.seen[row[e]] = False


@jit
def find_terms(
    totals: AnyArray,
    members: Members,
    lists: Lists,
    own: IntArray,
    largest: Any,
    room: Room,
    unsure: AnyArray,
    doubt: Doubt | None,
) -> Terms:
    """Neighbours of all lists, those of one target joined.

    Parameters
    ----------
    totals : ndarray, shape (n_queries, >= 64 * n_blocks), changed
        Distances, or lower bounds of them.
    members, lists
        What is asked for.
    own : ndarray of int64, shape (n_queries,)
        Row that each query is.
    largest
        A distance as large as this is not known exactly.
    room
        From :func:`make_room`.
    unsure : ndarray of bool, shape (n_queries,), changed
        Set where such a distance would have decided; their terms weigh nothing.
    doubt
        How far off they may be where they are lower bounds; None: they are distances.
    """
    k = len(room.row) - 1
    wanted = k if doubt is None else k + 1
    n_targets = len(lists.query)
    capacity = 0
    for e in range(len(lists.size)):
        capacity += min(k, lists.size[e])
    start = np.zeros(n_targets + 1, dtype=np.int64)
    row = np.empty(capacity, dtype=np.int64)
    weight = np.empty(capacity)
    # Taken out of the tuples once: a look-up inside the loops would count references.
    distance, index, held, seen = room.distance[:wanted], room.row[:wanted], room.held, room.seen
    near, rows, many = room.pools.distance, room.pools.row, room.pools.used
    inside, barred, size, share = lists.inside, lists.barred, lists.size, lists.weight
    away = members.barred
    used, before = 0, -1
    for t in range(n_targets):
        begin, query = used, lists.query[t]
        total, me = totals[query], own[query]
        if query != before:
            _begin_query(total, members, me, room.pools, doubt)
            before = query
        for e in range(lists.start[t], lists.start[t + 1]):
            class_ = inside[e], barred[e]
            if size[e] <= k:
                found = all_members(members, inside[e], barred[e], me, index)
            else:
                found = k
                pooled = take(near, rows, many, away, class_, distance, index) if len(many) else 0
                if pooled < wanted:
                    nearest_members(total, members, inside[e], barred[e], me, distance, index)
                if doubt is not None:
                    limit = _farthest(total, index[:k], doubt.known, doubt.slack[query])
                    if not limit < distance[k]:
                        settle_class(total, members, class_, me, limit, room, doubt, query)
                if distance[k - 1] >= largest:
                    unsure[query] = True
            used = _join(index[:found], share[e], held, seen, row, used)
        _settle(row[begin:used], weight[begin:used], room)
        start[t + 1] = used
    for t in range(n_targets):
        if unsure[lists.query[t]]:
            weight[start[t] : start[t + 1]] = 0.0
    return Terms(start, lists.query, lists.sum, row[:used], weight[:used])
