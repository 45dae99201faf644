"""Weighted sums of the differences between rows, feature by feature.

Relief adds up ``w |x_ir - x_jr|`` over the neighbours j of a row i; how one feature differs follows
the rules of :mod:`mlfs_dask.kernels.distances`. The sum of one row runs over its neighbours in
index order, on every road; what rows add up to is kept by :mod:`mlfs_dask.kernels.exactsum`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.distances import NOMINAL
from mlfs_dask.kernels.exactsum import Cuts, add_exactly
from mlfs_dask.kernels.members import Terms
from mlfs_dask.kernels.postings import SparseRows, SparseRule


class Kinds(NamedTuple):
    """Columns of dense rows, sorted by how they are compared.

    Attributes
    ----------
    plain, coded : int
        So many columns are compared by difference, then so many by equality; the rest by difference
        with missing values.
    bottom, top : ndarray of float64, shape (n_kept,)
        See ``DistanceRule``.
    """

    plain: int
    coded: int
    bottom: FloatArray
    top: FloatArray


@inline
def _gap(a: float, b: float, how: int, bottom: float, top: float) -> float:
    """Difference of two values, not squared; see ``add_plain`` and its siblings."""
    if how == NOMINAL:
        return 0.0 if a == b else 1.0
    gap = abs(a - b)
    if np.isnan(gap):
        if np.isnan(a) and np.isnan(b):
            return top - bottom
        known = b if np.isnan(a) else a
        return max(top - known, known - bottom)
    return gap


@jit
def _add_row(total: FloatArray, own: AnyArray, row: AnyArray, weight: float, kinds: Kinds) -> None:
    for r in range(kinds.plain):
        total[r] += weight * abs(np.float64(own[r]) - np.float64(row[r]))
    for r in range(kinds.plain, kinds.plain + kinds.coded):
        total[r] += 0.0 if own[r] == row[r] else weight
    bottom, top = kinds.bottom, kinds.top
    for r in range(kinds.plain + kinds.coded, len(total)):
        a, b = own[r], row[r]
        known = b if np.isnan(a) else a
        far = max(top[r] - known, known - bottom[r])
        far = top[r] - bottom[r] if np.isnan(known) else far
        gap = abs(a - b)
        total[r] += weight * (far if np.isnan(gap) else gap)


@jit
def _add_four_rows(
    total: FloatArray,
    own: AnyArray,
    rows: tuple[AnyArray, AnyArray, AnyArray, AnyArray],
    weight: FloatArray,
    plain: int,
) -> None:
    """As :func:`_add_row` for the plain columns of four rows, one after the other."""
    a, b, c, d = rows
    w0, w1, w2, w3 = weight[0], weight[1], weight[2], weight[3]
    for r in range(plain):
        x = np.float64(own[r])
        g0, g1 = abs(x - np.float64(a[r])), abs(x - np.float64(b[r]))
        g2, g3 = abs(x - np.float64(c[r])), abs(x - np.float64(d[r]))
        total[r] = (((total[r] + w0 * g0) + w1 * g1) + w2 * g2) + w3 * g3


@jit
def add_dense_gaps(
    terms: Terms,
    queries: AnyArray,
    rows: AnyArray,
    kinds: Kinds,
    places: Cuts,
    sums: FloatArray,
) -> None:
    """Add the terms of some queries to the sums they belong to.

    Parameters
    ----------
    terms
        Which rows, and what each counts.
    queries : ndarray of float64 or uint8, shape (n_queries, n_kept)
    rows : ndarray of the same type, shape (n_rows, n_kept)
        Training rows that the terms name.
    kinds
        How the columns are compared.
    places
        Where the sums of single queries are parted.
    sums : ndarray of float64, shape (n_sums, 2, n_kept), changed
    """
    total = np.empty(queries.shape[1], dtype=np.float64)
    only_plain = kinds.plain == len(total)
    for t in range(len(terms.query)):
        own = queries[terms.query[t]]
        e, last = terms.start[t], terms.start[t + 1]
        if e == last:
            continue
        total[:] = 0.0
        while only_plain and e + 4 <= last:
            r = terms.row[e : e + 4]
            four = (rows[r[0]], rows[r[1]], rows[r[2]], rows[r[3]])
            _add_four_rows(total, own, four, terms.weight[e : e + 4], kinds.plain)
            e += 4
        while e < last:
            _add_row(total, own, rows[terms.row[e]], terms.weight[e], kinds)
            e += 1
        add_exactly(total, places, sums[terms.sum[t]])


class Scratch(NamedTuple):
    """What :func:`add_sparse_gaps` needs besides, clean between targets.

    Attributes
    ----------
    total : ndarray of float64, shape (n_kept,)
        Zeros.
    cell : ndarray of int64, shape (n_kept,)
        Which of the query's cells a feature is, -1 for none.
    seen : ndarray of bool, shape (n_kept,)
    touched : ndarray of int64, shape (n_kept,)
    omitted : ndarray of float64, shape (n_kept,)
        What a cell that isn't stored counts as.
    """

    total: FloatArray
    cell: IntArray
    seen: AnyArray
    touched: IntArray
    omitted: FloatArray


def make_scratch(rule: SparseRule) -> Scratch:
    """Scratch for features compared by a rule."""
    n_kept = len(rule.span)
    return Scratch(
        np.zeros(n_kept),
        np.full(n_kept, -1, dtype=np.int64),
        np.zeros(n_kept, dtype=np.bool_),
        np.empty(n_kept, dtype=np.int64),
        (0.0 - rule.shift) / rule.span,
    )


class Cells(NamedTuple):
    """Rows by their stored cells, with what each adds where the other row omits the feature.

    Attributes
    ----------
    start : ndarray of int64, shape (n_rows + 1,)
        Cells of row i are ``start[i]:start[i + 1]``.
    place : ndarray of int64, shape (n_cells,)
        Position of the feature in the order of summation, ascending inside a row.
    value : ndarray of float64, shape (n_cells,)
        Scaled; NaN is missing.
    gap : ndarray of float64, shape (n_cells,)
        Difference to an omitted cell.
    """

    start: IntArray
    place: IntArray
    value: FloatArray
    gap: FloatArray


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
        gap[p] = _gap(rows.value[p], omitted, rule.how[f], rule.bottom[f], rule.top[f])
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
    both = np.empty((2, longest), dtype=np.int64)
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
                gap = _gap(
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


@inline
def _add_cells(
    rows: Cells,
    row: tuple[int, int],
    weight: float,
    scratch: Scratch,
    used: int,
    both: IntArray,
) -> tuple[int, int]:
    """Add the cells of one row that the query omits; note those that it stores."""
    place, gap = rows.place, rows.gap
    total, cell, seen, touched = scratch.total, scratch.cell, scratch.seen, scratch.touched
    shared = 0
    for p in range(row[0], row[1]):
        f = place[p]
        c = cell[f]
        if c >= 0:
            both[0, shared], both[1, shared] = c, p
            shared += 1
            continue
        total[f] += weight * gap[p]
        if not seen[f]:
            seen[f] = True
            touched[used] = f
            used += 1
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
