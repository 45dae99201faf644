"""The nearest training rows of each query, at several numbers of features, in one pass.

Each query keeps one list per point of the curve: its k nearest rows so far, by (distance, index).
Training rows pass by in index order and enter a list only with a strictly smaller distance, so ties
stay with the lower index and lists do not depend on how the rows were cut::

    for chunk of training rows:            stays in cache
        for feature, in ranking order:     distances of the chunk grow
            at each point: scan the chunk for distances below the list's last

The last points of a curve cost little more than one search, and a list's k nearest are a prefix of
its k + 1 nearest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.bits import add_byte, add_four_bytes
from mlfs_dask.kernels.distances import (
    NOMINAL,
    PLAIN,
    Columns,
    add_four_plain,
    add_missing,
    add_nominal,
    add_plain,
)
from mlfs_dask.kernels.lanes import (
    LANES,
    first_lanes,
    lanes_at_most,
    lanes_below,
    lowest_bit,
)

NOBODY = -1
"""``own`` of a query that is no training row."""
PACKED_CHUNK, DENSE_CHUNK = 4096, 512
"""Training rows that pass by together: their columns and distances stay in cache."""
GROUP = 8
"""Queries that share a chunk while it is in cache."""


class Found(NamedTuple):
    """The nearest rows so far.

    Attributes
    ----------
    distances : ndarray, shape (n_queries, n_points, k)
        Squared, ascending; uint8, uint16, uint32 or float64, the type's largest where nothing was
        found.
    indices : ndarray of int64, shape (n_queries, n_points, k)
        Positions among the training rows, -1 where nothing was found.
    """

    distances: AnyArray
    indices: IntArray


class Window(NamedTuple):
    """Which part of the work one call does.

    Attributes
    ----------
    begin, end : int
        Columns, that is training rows, ``begin:end``.
    fresh : bool
        Distances start from 0; else they go on from what is there (more features of the same rows).
    point : int
        Point of the curve that the first stop is.
    """

    begin: int
    end: int
    fresh: bool
    point: int


def nothing_found(shape: tuple[int, int, int], dtype: type) -> Found:
    """Lists of shape (n_queries, n_points, k) with nothing in them."""
    largest = np.inf if dtype is np.float64 else np.iinfo(dtype).max
    return Found(np.full(shape, largest, dtype=dtype), np.full(shape, -1, dtype=np.int64))


def distance_buffer(n_queries: int, n_rows: int, dtype: type) -> AnyArray:
    """Room for the running distances of ``n_rows`` rows; whole vectors are read beyond the last."""
    return np.zeros((n_queries, n_rows + LANES), dtype=dtype)


@inline
def insert(distance: AnyArray, index: IntArray, value: Any, row: Any) -> None:
    """Put a row nearer than the last one behind those that are as near; the last one falls out.

    Parameters
    ----------
    distance, index : ndarray, shape (k,), changed
        A list.
    value, row
        The row and its distance.
    """
    place = len(distance) - 1
    while place > 0 and value < distance[place - 1]:
        distance[place] = distance[place - 1]
        index[place] = index[place - 1]
        place -= 1
    distance[place] = value
    index[place] = row


@jit
def _scan(total: AnyArray, n_rows: int, base: int, own: int, found: Found) -> None:
    """Offer the rows ``base + j``, j < n_rows, with distances ``total[j]`` to one list."""
    distance, index = found
    last = len(distance) - 1
    for start in range(0, n_rows, LANES):
        mask = lanes_below(total, start, distance[last]) & first_lanes(n_rows - start)
        while mask:
            j = start + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            if total[j] < distance[last] and base + j != own:
                insert(distance, index, total[j], base + j)


@jit
def _scan_within(
    total: AnyArray, n_rows: int, base: int, own: int, found: Found, bound: float
) -> None:
    """As :func:`_scan` for an empty list and a chunk with k rows at most ``bound`` away."""
    distance, index = found
    last = len(distance) - 1
    limit = bound
    for start in range(0, n_rows, LANES):
        mask = lanes_at_most(total, start, limit) & first_lanes(n_rows - start)
        while mask:
            j = start + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            if total[j] <= limit and total[j] < distance[last] and base + j != own:
                insert(distance, index, total[j], base + j)
                limit = min(limit, distance[last])


@jit
def look(total: AnyArray, n_rows: int, base: int, own: int, lists: Found, point: int) -> None:
    """Look at a chunk for one query at one point of the curve.

    Parameters
    ----------
    total : ndarray, shape (>= n_rows + 64,)
        Distances of the chunk's rows; beyond them anything.
    n_rows, base
        The chunk is the training rows ``base`` to ``base + n_rows``.
    own
        Index of the query among them, or ``NOBODY``.
    lists : Found
        The query's lists, shape (n_points, k), changed.
    point
        Which of them.

    Notes
    -----
    The nearest rows of the point before are near at this one too: their largest distance bounds
    the first chunk's scan, which would otherwise insert far rows only to push them out again.
    """
    found = Found(lists.distances[point], lists.indices[point])
    k = len(found.indices)
    if point > 0 and found.indices[k - 1] < 0:
        before = lists.indices[point - 1]
        bound = total[0]
        usable = True
        for r in range(k):
            j = before[r] - base
            if j < 0 or j >= n_rows:
                usable = False
                break
            if r == 0 or total[j] > bound:
                bound = total[j]
        if usable and found.indices[0] < 0:
            _scan_within(total, n_rows, base, own, found, bound)
            return
    _scan(total, n_rows, base, own, found)


@jit
def search_packed(
    queries: ByteArray,
    columns: ByteArray,
    stops: IntArray,
    base: int,
    own: IntArray,
    found: Found,
    totals: AnyArray,
) -> None:
    """Offer packed training rows to the lists of packed queries.

    Parameters
    ----------
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    columns : ndarray of uint8, shape (n_bytes, n_rows)
        Training rows, consecutive.
    stops : ndarray of int64, shape (n_points,)
        Bytes that count at each point.
    base
        Index of the first training row.
    own : ndarray of int64, shape (n_queries,)
        Index of each query among the training rows, or ``NOBODY``: a row is never its own
        neighbour, by index.
    found
        Lists, changed.
    totals : ndarray, shape (GROUP, PACKED_CHUNK + 64)
        From :func:`distance_buffer`, of the lists' type. Sums stop at the type's largest value,
        which never enters a list: a list that isn't full at the end needs a wider type.
    """
    # Rows outside, queries inside: a chunk of rows stays near the core until all have seen it.
    for begin in range(0, columns.shape[1], PACKED_CHUNK):
        end = min(begin + PACKED_CHUNK, columns.shape[1])
        n = end - begin
        for first in range(0, len(queries), GROUP):
            group = min(GROUP, len(queries) - first)
            totals[:group, :n] = 0
            b = 0
            for point in range(len(stops)):
                while b + 4 <= stops[point]:
                    # Rows are cut one by one: only then are they known to be contiguous.
                    four = (
                        columns[b, begin:end],
                        columns[b + 1, begin:end],
                        columns[b + 2, begin:end],
                        columns[b + 3, begin:end],
                    )
                    for i in range(group):
                        add_four_bytes(totals[i, :n], four, queries[first + i], b)
                    b += 4
                while b < stops[point]:
                    for i in range(group):
                        add_byte(totals[i, :n], columns[b, begin:end], queries[first + i, b])
                    b += 1
                for i in range(group):
                    lists = Found(found.distances[first + i], found.indices[first + i])
                    look(totals[i], n, base + begin, own[first + i], lists, point)


@jit
def search_dense(
    queries: AnyArray,
    columns: Columns,
    stops: IntArray,
    base: int,
    own: IntArray,
    found: Found,
    totals: AnyArray,
    window: Window,
) -> None:
    """Offer training rows to the lists of queries, any values.

    Parameters
    ----------
    queries : ndarray of float64, shape (n_queries, n_kept)
        Scaled like the columns.
    columns
        Training rows, consecutive: some features of them, in the order of summation.
    stops : ndarray of int64, shape (n_stops,)
        Numbers of these features at which to look, not decreasing; may be empty.
    base
        Index of the training row in column 0.
    own
        As in :func:`search_packed`.
    found
        Lists of float64, changed.
    totals : ndarray of float64, shape (n_queries, >= end - begin + 64)
        Distances so far; changed.
    window
        Which rows, and whether distances start from 0.
    """
    for first in range(0, len(queries), GROUP):
        group = range(first, min(first + GROUP, len(queries)))
        for begin in range(window.begin, window.end, DENSE_CHUNK):
            rows = (begin, min(begin + DENSE_CHUNK, window.end))
            at = begin - window.begin
            if window.fresh:
                for i in group:
                    totals[i, at : at + rows[1] - begin] = 0.0
            f = 0
            for s in range(len(stops) + 1):
                end = stops[s] if s < len(stops) else len(columns.how)
                _advance(queries, group, columns, rows, (f, end), totals, at)
                f = end
                if s < len(stops):
                    for i in group:
                        lists = Found(found.distances[i], found.indices[i])
                        look(
                            totals[i, at:],
                            rows[1] - begin,
                            base + begin,
                            own[i],
                            lists,
                            window.point + s,
                        )


@jit
def _advance(
    queries: AnyArray,
    group: range,
    columns: Columns,
    rows: tuple[int, int],
    features: tuple[int, int],
    totals: AnyArray,
    at: int,
) -> None:
    """Add some features to the distances of a chunk, for a group of queries."""
    values, how = columns.values, columns.how
    begin, end = rows
    stop = at + end - begin
    f, last = features
    while f < last:
        if f + 4 <= last and how[f] | how[f + 1] | how[f + 2] | how[f + 3] == PLAIN:
            # Rows are cut one by one: only then are they known to be contiguous.
            four = (
                values[f, begin:end],
                values[f + 1, begin:end],
                values[f + 2, begin:end],
                values[f + 3, begin:end],
            )
            for i in group:
                add_four_plain(totals[i, at:stop], four, queries[i], f)
            f += 4
            continue
        column = values[f, begin:end]
        for i in group:
            if how[f] == PLAIN:
                add_plain(totals[i, at:stop], column, queries[i, f])
            elif how[f] == NOMINAL:
                add_nominal(totals[i, at:stop], column, queries[i, f])
            else:
                add_missing(
                    totals[i, at:stop], column, queries[i, f], columns.bottom[f], columns.top[f]
                )
        f += 1
