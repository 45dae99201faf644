"""Weighted sums of the differences between rows that are known by their stored cells.

As :mod:`mlfs_dask.kernels.gaps`, to the same bits, in time that grows with the cells: a feature
that neither row stores adds nothing. What cells a query has is marked beside the features, so a
neighbour's cells are passed over once, without guessing which of them meet one of the query's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.gaps import difference
from mlfs_dask.kernels.postings import Cells, SparseRows, SparseRule
from mlfs_dask.kernels.terms import Terms


class Scratch(NamedTuple):
    """What :func:`add_sparse_gaps` needs besides, clean between targets.

    Attributes
    ----------
    total : ndarray of float64, shape (n_kept,)
        Zeros.
    cell : ndarray of int64, shape (n_kept,)
        Which of the query's cells a feature is, -1 for none.
    seen : ndarray of bool, shape (n_kept,)
    touched : ndarray of int64, shape (n_kept + 1,)
    """

    total: FloatArray
    cell: IntArray
    seen: AnyArray
    touched: IntArray


def make_scratch(n_kept: int) -> Scratch:
    """Scratch for so many features."""
    return Scratch(
        np.zeros(n_kept),
        np.full(n_kept, -1, dtype=np.int64),
        np.zeros(n_kept, dtype=np.bool_),
        np.empty(n_kept + 1, dtype=np.int64),
    )


@jit
def cells_of(rows: SparseRows, rule: SparseRule) -> Cells:
    """Rows with the differences of their cells to omitted ones.

    Parameters
    ----------
    rows
        From ``rows_in_order``.
    rule
        How features are compared.
    """
    gap = np.empty(len(rows.place), dtype=np.float64)
    for p in range(len(gap)):
        f = rows.place[p]
        omitted = (0.0 - rule.shift[f]) / rule.span[f]
        gap[p] = difference(rows.value[p], omitted, rule.how[f], rule.bottom[f], rule.top[f])
    return Cells(rows.start, rows.place, rows.value, gap)


@jit
def add_sparse_gaps(
    terms: Terms,
    queries: Cells,
    rows: Cells,
    rule: SparseRule,
    places: Cuts,
    sums: FloatArray,
    scratch: Scratch,
) -> None:
    """As :func:`add_dense_gaps` for rows by their stored cells, to the same bits.

    Parameters
    ----------
    terms
        Which rows, and what each counts.
    queries, rows
        From :func:`cells_of`.
    rule
        How features are compared.
    places, sums
        As in :func:`add_dense_gaps`.
    scratch
        From :func:`make_scratch`.

    Notes
    -----
    A feature that neither row stores adds 0. One that the query stores adds the difference to an
    omitted cell for every neighbour but those that store it too.
    """
    longest = 0
    for i in range(len(queries.start) - 1):
        longest = max(longest, queries.start[i + 1] - queries.start[i])
    mine = np.empty(longest, dtype=np.float64)
    both = np.empty((2, longest + 1), dtype=np.int64)
    kept = np.empty(longest, dtype=np.float64)
    for t in range(len(terms.query)):
        first, last = terms.start[t], terms.start[t + 1]
        if first == last:
            continue
        begin, end = queries.start[terms.query[t]], queries.start[terms.query[t] + 1]
        own = queries.place[begin:end]
        used = 0
        for c in range(end - begin):
            scratch.cell[own[c]] = c
            scratch.seen[own[c]] = True
            scratch.touched[used] = own[c]
            used += 1
            mine[c] = 0.0
        alone = queries.gap[begin:end]
        for e in range(first, last):
            weight = terms.weight[e]
            row = rows.start[terms.row[e]], rows.start[terms.row[e] + 1]
            shared, used = _add_cells(rows, row, weight, scratch, used, both)
            for s in range(shared):
                kept[s] = mine[both[0, s]]
            for c in range(len(alone)):
                mine[c] += weight * alone[c]
            for s in range(shared):
                c, p = both[0, s], both[1, s]
                f = own[c]
                gap = difference(
                    queries.value[begin + c],
                    rows.value[p],
                    rule.how[f],
                    rule.bottom[f],
                    rule.top[f],
                )
                mine[c] = kept[s] + weight * gap
        for c in range(len(own)):
            scratch.cell[own[c]] = -1
            scratch.total[own[c]] = mine[c]
        _add_touched(scratch, used, places, sums[terms.sum[t]])


class Ones(NamedTuple):
    """0/1 rows by the features that are 1.

    Attributes
    ----------
    start : ndarray of int64, shape (n_rows + 1,)
        Features of row i are ``place[start[i]:start[i + 1]]``.
    place : ndarray of int32
        Positions in the order of summation.
    """

    start: IntArray
    place: AnyArray


@jit
def ones_of(rows: SparseRows) -> Ones:
    """The features that are 1 in 0/1 rows, stored zeros left out.

    Parameters
    ----------
    rows
        From ``rows_in_order``.
    """
    start = np.zeros(len(rows.start), dtype=np.int64)
    place = np.empty(len(rows.place), dtype=np.int32)
    used = 0
    for i in range(len(rows.start) - 1):
        for p in range(rows.start[i], rows.start[i + 1]):
            if rows.value[p] != 0.0:
                place[used] = rows.place[p]
                used += 1
        start[i + 1] = used
    return Ones(start, place[:used].copy())


@jit
def add_gaps_of_ones(
    terms: Terms, queries: Ones, rows: Ones, places: Cuts, sums: FloatArray, scratch: Scratch
) -> None:
    """As :func:`add_sparse_gaps` for 0/1 rows: a feature that both rows have adds nothing.

    Parameters
    ----------
    terms, places, sums, scratch
        As in :func:`add_sparse_gaps`.
    queries, rows
        From :func:`ones_of`.
    """
    longest = 0
    for i in range(len(queries.start) - 1):
        longest = max(longest, queries.start[i + 1] - queries.start[i])
    mine, kept = np.empty(longest), np.empty(longest + 1)
    shared = np.empty(longest + 1, dtype=np.int64)
    total, cell, seen, touched = scratch.total, scratch.cell, scratch.seen, scratch.touched
    for t in range(len(terms.query)):
        first, last = terms.start[t], terms.start[t + 1]
        if first == last:
            continue
        own = queries.place[queries.start[terms.query[t]] : queries.start[terms.query[t] + 1]]
        used = 0
        for c in range(len(own)):
            cell[own[c]], seen[own[c]], touched[used] = c, True, own[c]
            used += 1
            mine[c] = 0.0
        for e in range(first, last):
            weight = terms.weight[e]
            both = 0
            for p in range(rows.start[terms.row[e]], rows.start[terms.row[e] + 1]):
                f = np.uint64(rows.place[p])  # which is not looked at for being negative
                total[f] += weight
                shared[both] = cell[f]
                both += int(cell[f] >= 0)
                touched[used] = f
                used += int(not seen[f])
                seen[f] = True
            for s in range(both):
                kept[s] = mine[shared[s]]
            for c in range(len(own)):
                mine[c] += weight
            for s in range(both):
                mine[shared[s]] = kept[s]
        for c in range(len(own)):
            cell[own[c]] = -1
            total[own[c]] = mine[c]
        _add_touched(scratch, used, places, sums[terms.sum[t]])


@inline
def _add_cells(
    rows: Cells,
    row: tuple[int, int],
    weight: float,
    scratch: Scratch,
    used: int,
    both: IntArray,
) -> tuple[int, int]:
    """Add the cells of one row as if the query omitted them; note those that it stores.

    Which cells it stores cannot be guessed, so there is no branch: what is added to the query's own
    features is thrown away.
    """
    place, gap = rows.place, rows.gap
    total, cell, seen, touched = scratch.total, scratch.cell, scratch.seen, scratch.touched
    shared = 0
    for p in range(row[0], row[1]):
        f = np.uint64(place[p])  # which is not looked at for being negative
        c = cell[f]
        total[f] += weight * gap[p]
        both[0, shared], both[1, shared] = c, p
        shared += int(c >= 0)
        touched[used] = f
        used += int(not seen[f])
        seen[f] = True
    return shared, used


@jit
def _add_touched(scratch: Scratch, used: int, places: Cuts, sums: FloatArray) -> None:
    """Add the sums of some features, and clean the scratch."""
    for n in range(used):
        f = scratch.touched[n]
        term = scratch.total[f]
        head, tail = places.head[f], places.tail[f]
        top = (term + head) - head
        sums[0, f] += top
        sums[1, f] += ((term - top) + tail) - tail
        scratch.total[f] = 0.0
        scratch.seen[f] = False
