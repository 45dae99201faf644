"""0/1 features packed into bytes, laid out for curves over feature counts.

Between two rows of 0/1 data the squared distance is the number of features that differ: popcount
of the xor of packed words. Features are packed in ranking order, and a new byte begins after each
count at which neighbours are looked at, so that a distance grows by whole bytes from point to
point::

    counts 3, 11        |f0 f1 f2 . . . . .|f3 f4 f5 f6 f7 f8 f9 f10|
                        └── 1st point ─────┘                        └ 2nd point

Training rows stand in columns, ``(n_bytes, n_rows)``: byte b of 64 neighbouring rows is one vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.lanes import count_ones, saturating_add


class BitLayout(NamedTuple):
    """Where each feature's bit stands.

    Attributes
    ----------
    byte : ndarray of int64, shape (n_features,)
        Byte of the feature; -1: the feature is left out.
    bit : ndarray of uint8, shape (n_features,)
        The one bit of that byte.
    stops : ndarray of int64, shape (n_points,)
        Bytes that count at each point.
    n_bytes : int
    """

    byte: IntArray
    bit: ByteArray
    stops: IntArray
    n_bytes: int


def bit_layout(order: IntArray, stops: IntArray, n_features: int) -> BitLayout:
    """Give every feature a bit, in ranking order, with a new byte after each stop.

    Parameters
    ----------
    order : ndarray of int64, shape (n_ordered,)
        Features in the order of summation.
    stops : ndarray of int64, shape (n_points,)
        Numbers of leading features at which neighbours are looked at, not decreasing.
    n_features
        Features of the rows that will be packed.

    Examples
    --------
    >>> layout = bit_layout(np.array([2, 0, 1]), np.array([1, 3]), 3)
    >>> layout.byte.tolist(), layout.bit.tolist(), layout.stops.tolist()
    ([1, 1, 0], [1, 2, 1], [1, 2])
    """
    byte = np.full(n_features, -1, dtype=np.int64)
    bit = np.zeros(n_features, dtype=np.uint8)
    ends = np.zeros(len(stops), dtype=np.int64)
    used = begin = 0
    for point, stop in enumerate(stops.tolist()):
        place = np.arange(stop - begin)
        byte[order[begin:stop]] = used + place // 8
        bit[order[begin:stop]] = 1 << (place % 8)
        used += -(-(stop - begin) // 8)
        ends[point], begin = used, stop
    return BitLayout(byte, bit, ends, used)


@jit
def pack_dense(X: AnyArray, layout: BitLayout) -> ByteArray:
    """Pack 0/1 rows.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        0 and 1 in every feature that has a bit.
    layout
        From :func:`bit_layout`.

    Returns
    -------
    ndarray of uint8, shape (n_rows, n_bytes)
    """
    packed = np.zeros((len(X), layout.n_bytes), dtype=np.uint8)
    for i in range(len(X)):
        row, out = X[i], packed[i]
        for f in range(len(row)):
            if layout.byte[f] >= 0 and row[f] != 0:
                out[layout.byte[f]] |= layout.bit[f]
    return packed


@jit
def pack_csr(data: AnyArray, indices: AnyArray, indptr: AnyArray, layout: BitLayout) -> ByteArray:
    """As :func:`pack_dense` for CSR rows.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays; stored zeros count as zeros.
    layout
        From :func:`bit_layout`.
    """
    n_rows = len(indptr) - 1
    packed = np.zeros((n_rows, layout.n_bytes), dtype=np.uint8)
    for i in range(n_rows):
        out = packed[i]
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            if layout.byte[f] >= 0 and data[p] != 0:
                out[layout.byte[f]] |= layout.bit[f]
    return packed


@jit
def add_byte(total: AnyArray, column: ByteArray, own: int) -> None:
    """Add to each row's distance the bits in which one byte differs from the query's."""
    for j in range(len(total)):
        total[j] = saturating_add(total[j], count_ones(np.uint8(column[j] ^ own)))


@jit
def add_four_bytes(
    total: AnyArray,
    columns: tuple[ByteArray, ByteArray, ByteArray, ByteArray],
    own: ByteArray,
    at: int,
) -> None:
    """As :func:`add_byte` for bytes ``at`` to ``at + 3`` of the query.

    Four at a time, since reading and writing the distances costs as much as counting bits.
    """
    c0, c1, c2, c3 = columns
    q0, q1, q2, q3 = own[at], own[at + 1], own[at + 2], own[at + 3]
    for j in range(len(total)):
        # At most 32 bits differ: the partial sum fits a byte.
        low = np.uint8(count_ones(np.uint8(c0[j] ^ q0)) + count_ones(np.uint8(c1[j] ^ q1)))
        high = np.uint8(count_ones(np.uint8(c2[j] ^ q2)) + count_ones(np.uint8(c3[j] ^ q3)))
        total[j] = saturating_add(total[j], np.uint8(low + high))


@jit
def distances_packed(
    queries: ByteArray, columns: ByteArray, base: int, group: int, totals: AnyArray
) -> None:
    """Squared distances of packed rows over all their bytes.

    Parameters
    ----------
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    columns : ndarray of uint8, shape (n_bytes, n_rows)
        Training rows.
    base
        Index of the first of them.
    group
        Queries that share training rows while these are in cache.
    totals : ndarray of an unsigned type, shape (n_queries, >= base + n_rows), changed
        Columns ``base:base + n_rows``; sums stop at the type's largest value.
    """
    n_bytes, n_rows = columns.shape
    chunk = 4096  # training rows that pass by together
    for first in range(0, len(queries), group):
        last = min(first + group, len(queries))
        for begin in range(0, n_rows, chunk):
            end = min(begin + chunk, n_rows)
            totals[first:last, base + begin : base + end] = 0
            b = 0
            while b + 4 <= n_bytes:
                # Rows are cut one by one: only then are they known to be contiguous.
                four = (
                    columns[b, begin:end],
                    columns[b + 1, begin:end],
                    columns[b + 2, begin:end],
                    columns[b + 3, begin:end],
                )
                for i in range(first, last):
                    add_four_bytes(totals[i, base + begin : base + end], four, queries[i], b)
                b += 4
            while b < n_bytes:
                for i in range(first, last):
                    total = totals[i, base + begin : base + end]
                    add_byte(total, columns[b, begin:end], queries[i, b])
                b += 1
