"""Neighbours in sparse rows: distances that touch stored cells only, to the same bits.

Where both rows omit a feature it adds exactly 0 to their distance and can be passed over. Training
rows stand as postings, feature after feature in ranking order the cells that some row stores; a
query walks along them from one of its own stored features to the next::

    features    f0   f1   f2   f3   f4   f5   f6
    query       .    .    x    .    .    x    .
    walk        └ cells ┘ all  └ cells ┘ all  └ cells ...

Between its stored features only the rows of the cells change; at one of them all rows change by one
number, but those of its posting by their own. Every sum meets its terms in the same order as in
:mod:`mlfs_dask.kernels.distances`, less the zeros, so the two roads agree to the last bit. Memory
is that of the stored cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.distances import NOMINAL
from mlfs_dask.kernels.neighbors import Found, look

POSTED_ROWS = 1024
"""Rows whose cells make one set of postings: it stays in cache while the queries pass by."""
CELL_BYTES = 20
"""Size of a posted cell."""


class SparseRows(NamedTuple):
    """Rows with their stored cells in the order of summation.

    Attributes
    ----------
    start : ndarray of int64, shape (n_rows + 1,)
        Cells of row i are ``start[i]:start[i + 1]``.
    place : ndarray of int64, shape (n_cells,)
        Position of the feature in the order of summation, ascending inside a row.
    value : ndarray of float64, shape (n_cells,)
        Scaled; NaN is missing.
    """

    start: IntArray
    place: IntArray
    value: FloatArray


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


class Postings(NamedTuple):
    """Stored cells of consecutive rows, feature after feature in the order of summation.

    Attributes
    ----------
    start : ndarray of int64, shape (n_kept + 1,)
        Cells of feature f are ``start[f]:start[f + 1]``.
    row : ndarray of int32, shape (n_cells,)
        Rows, ascending inside a feature.
    value : ndarray of float64, shape (n_cells,)
        Scaled; NaN is missing.
    square : ndarray of float64, shape (n_cells,)
        What the cell adds to the distance from a row that omits the feature.
    n_rows : int
    """

    start: IntArray
    row: AnyArray
    value: FloatArray
    square: FloatArray
    n_rows: int


class SparseRule(NamedTuple):
    """How the features are compared, in the order of summation; see ``DistanceRule``.

    Attributes
    ----------
    place : ndarray of int64, shape (n_features,)
        Position of each feature in that order, -1 if it is left out.
    shift, span : ndarray of float64, shape (n_kept,)
        A known value x enters as ``(x - shift) / span``.
    how : ndarray of uint8, shape (n_kept,)
    bottom, top : ndarray of float64, shape (n_kept,)
    stops : ndarray of int64, shape (n_points,)
    """

    place: IntArray
    shift: FloatArray
    span: FloatArray
    how: ByteArray
    bottom: FloatArray
    top: FloatArray
    stops: IntArray


@inline
def squared_gap(a: float, b: float, how: int, bottom: float, top: float) -> float:
    """Squared gap of two values; the rules of ``add_plain``, ``add_missing``, ``add_nominal``.

    Parameters
    ----------
    a, b
        Scaled values.
    how, bottom, top
        See ``DistanceRule``.
    """
    if how == NOMINAL:
        return 0.0 if a == b else 1.0
    gap = a - b
    if np.isnan(gap):
        if np.isnan(a) and np.isnan(b):
            gap = top - bottom
        else:
            known = b if np.isnan(a) else a
            gap = max(top - known, known - bottom)
    return gap * gap


@jit
def post(data: AnyArray, indices: AnyArray, indptr: AnyArray, rule: SparseRule) -> Postings:
    """Turn CSR rows into postings.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays; stored zeros may be among them.
    rule
        How features are compared.
    """
    n_rows, n_kept = len(indptr) - 1, len(rule.span)
    start = np.zeros(n_kept + 1, dtype=np.int64)
    for p in range(indptr[0], indptr[n_rows]):
        f = rule.place[indices[p]]
        if f >= 0:
            start[f + 1] += 1
    for f in range(n_kept):
        start[f + 1] += start[f]
    row = np.empty(start[-1], dtype=np.int32)
    value, square = np.empty(start[-1]), np.empty(start[-1])
    used = start[:-1].copy()
    for i in range(n_rows):
        for p in range(indptr[i], indptr[i + 1]):
            f = rule.place[indices[p]]
            if f >= 0:
                e = used[f]
                used[f] += 1
                row[e] = i
                value[e] = (np.float64(data[p]) - rule.shift[f]) / rule.span[f]
                omitted = (0.0 - rule.shift[f]) / rule.span[f]
                square[e] = squared_gap(omitted, value[e], rule.how[f], rule.bottom[f], rule.top[f])
    return Postings(start, row, value, square, n_rows)


@jit
def rows_in_order(postings: Postings) -> SparseRows:
    """Put each row's cells in the order of summation.

    Parameters
    ----------
    postings
        Of the rows.
    """
    start = np.zeros(postings.n_rows + 1, dtype=np.int64)
    n_cells = postings.start[-1]
    for e in range(n_cells):
        start[postings.row[e] + 1] += 1
    for i in range(postings.n_rows):
        start[i + 1] += start[i]
    place = np.empty(n_cells, dtype=np.int64)
    value = np.empty(n_cells)
    used = start[:-1].copy()
    for f in range(len(postings.start) - 1):
        for e in range(postings.start[f], postings.start[f + 1]):
            i = postings.row[e]
            place[used[i]], value[used[i]] = f, postings.value[e]
            used[i] += 1
    return SparseRows(start, place, value)


@jit
def _add_cells(total: FloatArray, begin: int, end: int, postings: Postings) -> None:
    """Add features that the query omits to the distances of the rows that store them."""
    row, square = postings.row, postings.square
    for e in range(begin, end):
        total[row[e]] += square[e]


@jit
def _add_to_all(
    total: FloatArray, own: float, f: int, postings: Postings, rule: SparseRule, held: FloatArray
) -> None:
    """Add one feature that the query stores to the distances of all rows."""
    # Taken out of the tuples once: a look-up inside the loops would count references.
    row, value = postings.row, postings.value
    begin, end = postings.start[f], postings.start[f + 1]
    how, bottom, top = rule.how[f], rule.bottom[f], rule.top[f]
    for e in range(begin, end):
        held[e - begin] = total[row[e]]
    omitted = (0.0 - rule.shift[f]) / rule.span[f]
    for_omitted = squared_gap(own, omitted, how, bottom, top)
    for j in range(len(total)):
        total[j] += for_omitted
    for e in range(begin, end):
        total[row[e]] = held[e - begin] + squared_gap(own, value[e], how, bottom, top)


@jit
def search_sparse(
    queries: SparseRows,
    postings: Postings,
    rule: SparseRule,
    base: int,
    own: IntArray,
    found: Found,
    totals: FloatArray,
) -> None:
    """Offer training rows to the lists of queries.

    Parameters
    ----------
    queries
        From :func:`rows_in_order`.
    postings
        Training rows, consecutive.
    rule
        How features are compared and where to look.
    base
        Index of the first training row.
    own : ndarray of int64, shape (n_queries,)
        As in :func:`~mlfs_dask.kernels.neighbors.search_packed`.
    found
        Lists of float64, changed.
    totals : ndarray of float64, shape (2, >= n_rows + 64)
        From ``distance_buffer``.
    """
    n = postings.n_rows
    total, held = totals[0, :n], totals[1]
    for i in range(len(queries.start) - 1):
        total[:] = 0.0
        cell, last = queries.start[i], queries.start[i + 1]
        lists = Found(found.distances[i], found.indices[i])
        done = 0  # features summed so far
        for point in range(len(rule.stops)):
            stop = rule.stops[point]
            while cell < last and queries.place[cell] < stop:
                f = queries.place[cell]
                _add_cells(total, postings.start[done], postings.start[f], postings)
                _add_to_all(total, queries.value[cell], f, postings, rule, held)
                done = f + 1
                cell += 1
            _add_cells(total, postings.start[done], postings.start[stop], postings)
            done = stop
            look(totals[0], n, base, own[i], lists, point)


@jit
def distances_sparse(
    queries: SparseRows | Cells,
    postings: Postings,
    rule: SparseRule,
    base: int,
    totals: FloatArray,
    held: FloatArray,
) -> None:
    """Squared distances of queries to training rows over all features that count.

    Parameters
    ----------
    queries, postings, rule, base
        As in :func:`search_sparse`.
    totals : ndarray of float64, shape (n_queries, >= base + n_rows), changed
        Columns ``base:base + n_rows``.
    held : ndarray of float64, shape (n_rows,)
        Scratch.
    """
    n = postings.n_rows
    for i in range(len(queries.start) - 1):
        total = totals[i, base : base + n]
        total[:] = 0.0
        done = 0  # features summed so far
        for cell in range(queries.start[i], queries.start[i + 1]):
            f = queries.place[cell]
            _add_cells(total, postings.start[done], postings.start[f], postings)
            _add_to_all(total, queries.value[cell], f, postings, rule, held)
            done = f + 1
        _add_cells(total, postings.start[done], postings.start[-1], postings)
