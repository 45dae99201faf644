"""Rows of a block brought to the bits and values of :mod:`mlfs_dask.kernels.separation`.

Also what is needed to know how: how each column spreads, and what its values other than 0 are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.lanes import count_ones
from mlfs_dask.kernels.separation import (
    Layout,
    Planes,
    Rows,
    Side,
    WordArray,
    choose,
)


class Spread(NamedTuple):
    """Sums over the stored cells of some rows that are known, by column.

    Attributes
    ----------
    first, second : ndarray of float64, shape (n_columns,)
        Sums of ``(v - c) s`` and of its square, for a centre c and a scale s of the column.
    known : ndarray of int64, shape (n_columns,)
        Stored cells that aren't missing.
    others : ndarray of int64, shape (n_columns,)
        Those of them that aren't 0.
    low, high : ndarray of float64, shape (n_columns,)
        Extremes of these.
    """

    first: FloatArray
    second: FloatArray
    known: IntArray
    others: IntArray
    low: FloatArray
    high: FloatArray


def no_spread(n_columns: int) -> Spread:
    """Sums of no rows.

    Parameters
    ----------
    n_columns
        Number of columns.
    """
    return Spread(
        np.zeros(n_columns),
        np.zeros(n_columns),
        np.zeros(n_columns, dtype=np.int64),
        np.zeros(n_columns, dtype=np.int64),
        np.full(n_columns, np.inf),
        np.full(n_columns, -np.inf),
    )


@jit
def _add_cell(spread: Spread, r: int, v: float, centre: FloatArray, scale: FloatArray) -> None:
    if np.isnan(v):
        return
    gap = v * scale[r] - centre[r] * scale[r]
    spread.first[r] += gap
    spread.second[r] += gap * gap
    spread.known[r] += 1
    if v != 0.0:
        spread.others[r] += 1
        spread.low[r] = min(spread.low[r], v)
        spread.high[r] = max(spread.high[r], v)


@jit
def dense_spread(X: AnyArray, centre: FloatArray, scale: FloatArray, spread: Spread) -> None:
    """Add the rows of a dense block, in order.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_columns)
        NaN is missing.
    centre, scale : ndarray of float64, shape (n_columns,)
        Scales are powers of two.
    spread
        Changed.
    """
    for i in range(len(X)):
        row = X[i]
        for r in range(len(row)):
            _add_cell(spread, r, np.float64(row[r]), centre, scale)


@jit
def csr_spread(
    data: FloatArray, indices: IntArray, centre: FloatArray, scale: FloatArray, spread: Spread
) -> None:
    """As :func:`dense_spread` for the stored cells of CSR rows; the rest is up to the caller."""
    for p in range(len(data)):
        _add_cell(spread, indices[p], data[p], centre, scale)


def empty_rows(n_rows: int, layout: Layout, labels: WordArray, dtype: type) -> Rows:
    """Rows in which every cell is missing.

    Parameters
    ----------
    n_rows
        Number of rows.
    layout
        Where features stand.
    labels : ndarray of uint64, shape (n_rows, n_label_words)
    dtype
        Of the values side by side.
    """
    valued = bool(layout.valued.any())

    def planes(begin: int, n_words: int) -> Planes:
        far, zero = (np.zeros((n_rows, n_words), dtype=np.uint64) for _ in range(2))
        n_some = n_words if valued else 0
        some = np.zeros((n_rows, n_some), dtype=np.uint64)
        place = np.zeros((n_rows, n_some), dtype=np.int64)
        radius = layout.slot_radius(64 * begin, 64 * (begin + n_words))
        return Planes(far, zero, some, place, np.zeros(0), radius)

    values: AnyArray = np.full(n_rows * layout.n_lanes, np.nan, dtype=dtype)
    first = 64 * layout.n_head
    side = Side(values, layout.n_lanes, layout.slot_radius(first, first + layout.n_lanes))
    tail = planes(layout.n_head + layout.n_side, layout.n_tail)
    return Rows(planes(0, layout.n_head), side, tail, labels)


def zero_rows(n_rows: int, layout: Layout, labels: WordArray, dtype: type) -> Rows:
    """Rows in which every cell is 0.

    Parameters
    ----------
    n_rows, layout, labels, dtype
        As for :func:`empty_rows`.
    """
    rows = empty_rows(n_rows, layout, labels, dtype)
    words = choose(layout, np.arange(len(layout.slot))).words
    rows.head.zero[:] = words[: layout.n_head]
    rows.tail.zero[:] = words[layout.n_head + layout.n_side :]
    rows.side.values.reshape(n_rows, -1)[:, np.isfinite(rows.side.radius)] = 0.0
    return rows


def label_words(Y: ByteArray) -> WordArray:
    """Labels of rows in words.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)
        0 and 1.

    Returns
    -------
    ndarray of uint64, shape (n_rows, n_label_words)
    """
    packed = np.packbits(Y, axis=1, bitorder="little")
    n_words = max(1, -(-packed.shape[1] // 8))
    bytes_ = np.zeros((len(Y), 8 * n_words), dtype=np.uint8)
    bytes_[:, : packed.shape[1]] = packed
    return bytes_.view(np.uint64)


@jit
def fill_dense(X: AnyArray, layout: Layout, rows: Rows) -> None:
    """Enter the cells of a dense block.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        NaN is missing.
    layout
        Where features stand; none of them `valued`.
    rows
        From :func:`empty_rows`; changed.
    """
    side, tail = layout.n_head, layout.n_head + layout.n_side
    width = rows.side.width
    for i in range(len(X)):
        row = X[i]
        for r in range(len(row)):
            slot = layout.slot[r]
            if slot < 0:
                continue
            v = np.float64(row[r])
            w = slot >> 6
            if side <= w < tail:
                rows.side.values[i * width + slot - 64 * side] = row[r]
                continue
            bit = np.uint64(1) << np.uint64(slot & 63)
            if w < side:
                _set_bits(rows.head, i, w, bit, v, layout.radius[r])
            else:
                _set_bits(rows.tail, i, w - tail, bit, v, layout.radius[r])


@jit
def _set_bits(planes: Planes, i: int, w: int, bit: Any, v: float, radius: float) -> None:
    if v == 0.0:
        planes.zero[i, w] |= bit
    elif abs(v) > radius:
        planes.far[i, w] |= bit


@jit
def fill_csr(
    data: FloatArray, indices: IntArray, indptr: IntArray, layout: Layout, rows: Rows
) -> tuple[int, int]:
    """Enter the cells of CSR rows but for values that bits stand for.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays, each column at most once in a row; NaN is missing.
    layout
        Where features stand.
    rows
        From :func:`zero_rows`; changed.

    Returns
    -------
    int, int
        Bits of ``some`` in the head and in the tail.
    """
    side, tail, width = layout.n_head, layout.n_head + layout.n_side, rows.side.width
    n_head = n_tail = 0
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            r, v = indices[p], data[p]
            slot = layout.slot[r]
            if slot < 0 or v == 0.0:
                continue
            w, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
            if w < side:
                n_head += _move_bit(rows.head, i, w, bit, v, layout.radius[r], layout.valued[r])
            elif w >= tail:
                w -= tail
                n_tail += _move_bit(rows.tail, i, w, bit, v, layout.radius[r], layout.valued[r])
            else:
                rows.side.values[i * width + slot - 64 * side] = v
    return n_head, n_tail


@jit
def _move_bit(
    planes: Planes, i: int, w: int, bit: Any, v: float, radius: float, valued: bool
) -> int:
    """Turn a cell that was taken for 0 into what it is; count it if its value is needed."""
    planes.zero[i, w] &= ~bit
    if abs(v) > radius:
        planes.far[i, w] |= bit
    if not valued or np.isnan(v):
        return 0
    planes.some[i, w] |= bit
    return 1


@jit
def count_values(planes: Planes) -> None:
    """Set where the values of each word stand.

    Parameters
    ----------
    planes
        With the bits of ``some``; ``place`` is changed.
    """
    at = 0
    for i in range(len(planes.some)):
        for w in range(planes.some.shape[1]):
            planes.place[i, w] = at
            at += int(count_ones(planes.some[i, w]))


@jit
def fill_values(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    layout: Layout,
    planes: Planes,
    begin: int,
) -> None:
    """Enter the values that bits of ``some`` stand for, in the order of the bits.

    Parameters
    ----------
    data, indices, indptr, layout
        As for :func:`fill_csr`.
    planes
        With room for the values, which are changed.
    begin
        Word of the layout that is word 0 of the planes.
    """
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            r, v = indices[p], data[p]
            slot = layout.slot[r]
            w = (slot >> 6) - begin
            inside = slot >= 0 and 0 <= w < planes.some.shape[1]
            if not inside or v == 0.0 or np.isnan(v) or not layout.valued[r]:
                continue
            below = (np.uint64(1) << np.uint64(slot & 63)) - np.uint64(1)
            before = count_ones(planes.some[i, w] & below)
            planes.values[planes.place[i, w] + np.int64(before)] = v
