"""Distances of 0/1 rows with few ones: a query touches only the rows that it meets at a one.

Between 0/1 rows the squared distance is |x| + |z| - 2 |both|. Rows stand as postings, feature after
feature those in which it is 1; a query starts from the sums of sizes and takes 2 away wherever one
of its ones is met. A feature that many rows have is met too often for that: it is a bit of a packed
byte, and bytes are compared for all rows, 64 at a time::

    features that few rows have     |x| + |z| - 2 for every meeting      touches p² of the pairs
    features that many rows have    + popcount(x ^ z)                    touches all, at 64 a step

All of it is whole numbers: the distances are those of :mod:`mlfs_dask.kernels.bits`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, ByteArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.bits import add_byte, add_four_bytes
from mlfs_dask.kernels.neighbors import Found, look

MET_ROWS = 4096
"""Rows of one set of postings: their distances stay near the core. At most 2**16."""
MET_SHARE = 1 / 20
"""Where more of the rows have a feature, it is cheaper as a bit."""

MET_CELL_BYTES = 2
"""Size of a posted one."""


class Posted(NamedTuple):
    """Ones of consecutive rows, feature after feature in the order of summation.

    Attributes
    ----------
    start : ndarray of int32, shape (n_features + 1,)
        Rows with feature f are ``row[start[f]:start[f + 1]]``.
    row : ndarray of uint16
        Ascending inside a feature.
    n_rows : int
    """

    start: NDArray[np.int32]
    row: NDArray[np.uint16]
    n_rows: int


class Listed(NamedTuple):
    """Ones of consecutive rows, row after row.

    Attributes
    ----------
    start : ndarray of int64, shape (n_rows + 1,)
        Features of row i are ``feature[start[i]:start[i + 1]]``.
    feature : ndarray of int32
        Ascending inside a row.
    """

    start: IntArray
    feature: NDArray[np.int32]


class Met(NamedTuple):
    """Consecutive 0/1 training rows.

    Attributes
    ----------
    posted : Posted
        Features that few rows have.
    columns : ndarray of uint8, shape (n_bytes, n_rows)
        The others, packed.
    """

    posted: Posted
    columns: ByteArray


@jit
def post_ones(
    data: AnyArray, indices: AnyArray, indptr: AnyArray, place: IntArray, n_features: int
) -> Posted:
    """Turn 0/1 rows in CSR form into postings.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays; stored zeros count as zeros.
    place : ndarray of int64, shape (n_columns,)
        Position of each column in the order of summation, -1 if it is left out.
    n_features
        How many are not left out.
    """
    n_rows = len(indptr) - 1
    start = np.zeros(n_features + 1, dtype=np.int32)
    for p in range(indptr[0], indptr[n_rows]):
        f = place[indices[p]]
        if f >= 0 and data[p] != 0:
            start[f + 1] += 1
    for f in range(n_features):
        start[f + 1] += start[f]
    row = np.empty(start[n_features], dtype=np.uint16)
    used = start[:-1].copy()
    for i in range(n_rows):
        for p in range(indptr[i], indptr[i + 1]):
            f = place[indices[p]]
            if f >= 0 and data[p] != 0:
                row[used[f]] = i
                used[f] += 1
    return Posted(start, row, n_rows)


@jit
def list_ones(posted: Posted) -> Listed:
    """The same ones, row after row.

    Parameters
    ----------
    posted
        From :func:`post_ones`.
    """
    start = np.zeros(posted.n_rows + 1, dtype=np.int64)
    for e in range(len(posted.row)):
        start[np.int64(posted.row[e]) + 1] += 1
    for i in range(posted.n_rows):
        start[i + 1] += start[i]
    feature = np.empty(len(posted.row), dtype=np.int32)
    used = start[:-1].copy()
    for f in range(len(posted.start) - 1):
        for e in range(posted.start[f], posted.start[f + 1]):
            row = np.int64(posted.row[e])
            feature[used[row]] = f
            used[row] += 1
    return Listed(start, feature)


@jit
def sizes_between(posted: Posted, begin: int, end: int, dtype: AnyArray) -> AnyArray:
    """Number of ones of each row among the features ``begin:end``.

    Parameters
    ----------
    posted
        Rows.
    begin, end
        Features, by position.
    dtype : ndarray
        Of the type of the result.
    """
    sizes = np.zeros(posted.n_rows, dtype=dtype.dtype)
    for e in range(posted.start[begin], posted.start[end]):
        sizes[posted.row[e]] += 1
    return sizes


@jit
def _add_bytes(total: AnyArray, columns: ByteArray, own: ByteArray, begin: int, end: int) -> None:
    """Add the bits in which some bytes differ."""
    b = begin
    while b + 4 <= end:
        four = columns[b], columns[b + 1], columns[b + 2], columns[b + 3]
        add_four_bytes(total, four, own, b)
        b += 4
    while b < end:
        add_byte(total, columns[b], own[b])
        b += 1


@jit
def _add_sizes(total: AnyArray, sizes: AnyArray, own: int) -> None:
    for j in range(len(total)):
        total[j] += sizes[j] + own


@jit
def _meet(total: AnyArray, posted: Posted, features: NDArray[np.int32]) -> None:
    """Take 2 away from the rows that have one of these features, for each."""
    start, row = posted.start, posted.row
    for c in range(len(features)):
        f = features[c]
        for e in range(start[f], start[f + 1]):
            total[row[e]] -= 2


@jit
def _count_changed(before: AnyArray, total: AnyArray) -> int:
    changed = 0
    for j in range(len(total)):
        changed += int(before[j] != total[j])
    return changed


@jit
def search_met(
    queries: Listed,
    packed: ByteArray,
    rows: Met,
    stops: tuple[IntArray, IntArray],
    base: int,
    own: IntArray,
    found: Found,
    total: AnyArray,
) -> int:
    """Offer 0/1 training rows to the lists of queries.

    Parameters
    ----------
    queries : Listed
        Features that few rows have.
    packed : ndarray of uint8, shape (n_queries, n_bytes)
        The others.
    rows
        Training rows.
    stops : two ndarrays of int64, shape (n_points,)
        Features, and bytes, that count at each point.
    base
        Index of the first training row.
    own : ndarray of int64, shape (n_queries,)
        As in :func:`~mlfs_dask.kernels.neighbors.search_packed`.
    found
        Lists of an unsigned type that holds every distance, changed.
    total : ndarray, shape (>= n_rows + 64,)
        From ``distance_buffer``, of that type. On the way to a distance it may wrap around.

    Returns
    -------
    int
        Pairs of rows that met, those of each point counted.
    """
    posted, columns = rows
    n = posted.n_rows
    met, before = 0, np.empty(n, dtype=total.dtype)
    sizes = np.empty((len(stops[0]), n), dtype=total.dtype)
    for point in range(len(stops[0])):
        begin = stops[0][point - 1] if point else 0
        sizes[point] = sizes_between(posted, begin, stops[0][point], total)
    for i in range(len(own)):
        total[:n] = 0
        lists = Found(found.distances[i], found.indices[i])
        features = queries.feature[queries.start[i] : queries.start[i + 1]]
        done = byte = 0
        for point in range(len(stops[0])):
            _add_bytes(total[:n], columns, packed[i], byte, stops[1][point])
            byte = stops[1][point]
            here = done
            while here < len(features) and features[here] < stops[0][point]:
                here += 1
            _add_sizes(total[:n], sizes[point], here - done)
            before[:] = total[:n]
            _meet(total, posted, features[done:here])
            met += _count_changed(before, total[:n])
            done = here
            look(total, n, base, own[i], lists, point)
    return met


@jit
def distances_met(
    queries: Listed, packed: ByteArray, rows: Met, base: int, totals: AnyArray
) -> int:
    """Squared distances of queries to training rows over all features that count.

    Parameters
    ----------
    queries, packed, rows, base
        As in :func:`search_met`.
    totals : ndarray of an unsigned type, shape (n_queries, >= base + n_rows), changed
        Columns ``base:base + n_rows``; the type holds every distance.

    Returns
    -------
    int
        Pairs of rows that met.
    """
    posted, columns = rows
    n = posted.n_rows
    met, before = 0, np.empty(n, dtype=totals.dtype)
    sizes = sizes_between(posted, 0, len(posted.start) - 1, totals)
    for i in range(len(packed)):
        total = totals[i, base : base + n]
        total[:] = 0
        features = queries.feature[queries.start[i] : queries.start[i + 1]]
        _add_bytes(total, columns, packed[i], 0, len(columns))
        _add_sizes(total, sizes, len(features))
        before[:] = total
        _meet(total, posted, features)
        met += _count_changed(before, total)
    return met
