"""Rows that are equal in all that is compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.kernels._jit import jit, merged
from mlfs_dask.kernels.separation import Planes, Rows, WordArray

_ODD = np.uint64(0x9E3779B97F4A7C15)


@merged
def _mixed(code: Any, word: Any) -> Any:
    """Return a number of 64 bits that depends on all bits of two."""
    code = (code ^ word) * _ODD
    return code ^ (code >> np.uint64(29))


@merged
def _mixed_planes(code: Any, planes: Planes, bits: WordArray, i: int) -> Any:
    for w in range(planes.far.shape[1]):
        code = _mixed(_mixed(code, planes.far[i, w]), planes.zero[i, w])
    for w in range(planes.some.shape[1]):
        if planes.some[i, w]:
            code = _mixed(code, planes.some[i, w])
    for p in range(*_value_range(planes, i)):
        code = _mixed(code, bits[p])
    return code


@merged
def _value_range(planes: Planes, i: int) -> tuple[int, int]:
    """Return where the values of a row begin and end."""
    n_words = planes.some.shape[1]
    if n_words == 0:
        return 0, 0
    last = planes.place[i + 1, 0] if i + 1 < len(planes.place) else len(planes.values)
    return planes.place[i, 0], last


@merged
def _same_planes(planes: Planes, bits: WordArray, i: int, j: int) -> bool:
    for w in range(planes.far.shape[1]):
        if planes.far[i, w] != planes.far[j, w] or planes.zero[i, w] != planes.zero[j, w]:
            return False
    for w in range(planes.some.shape[1]):
        if planes.some[i, w] != planes.some[j, w]:
            return False
    begin, end = _value_range(planes, i)
    other = _value_range(planes, j)[0]
    p = 0
    while begin + p < end and bits[begin + p] == bits[other + p]:
        p += 1
    return bool(begin + p == end)


@jit
def row_codes(rows: Rows, head: WordArray, side: AnyArray, tail: WordArray) -> WordArray:
    """A number of 64 bits for each row, equal for equal rows; labels don't count.

    Parameters
    ----------
    rows
        As they came from their tiles.
    head, side, tail : ndarray of uint32 or uint64
        The bits of their values.
    """
    width = rows.side.width
    codes = np.zeros(len(rows.labels), dtype=np.uint64)
    for i in range(len(codes)):
        code = _mixed_planes(np.uint64(1), rows.head, head, i)
        for k in range(i * width, (i + 1) * width):
            code = _mixed(code, np.uint64(side[k]))
        codes[i] = _mixed_planes(code, rows.tail, tail, i)
    return codes


@jit
def equal_to_first(
    rows: Rows, head: WordArray, side: AnyArray, tail: WordArray, codes: WordArray, order: IntArray
) -> IntArray:
    """For each row the first one that it is equal to.

    Parameters
    ----------
    rows, head, side, tail
        As for :func:`row_codes`.
    codes : ndarray of uint64, shape (n_rows,)
        From there.
    order : ndarray of int64, shape (n_rows,)
        Rows by code, those of equal code ascending.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        Of rows that differ and have one code, not all equal ones may be found.
    """
    width = rows.side.width
    first = np.arange(len(codes))
    for at in range(1, len(order)):
        i, j = first[order[at - 1]], order[at]
        if codes[i] != codes[j]:
            continue
        same = _same_planes(rows.head, head, i, j) and _same_planes(rows.tail, tail, i, j)
        k = 0
        while same and k < width:
            same = side[i * width + k] == side[j * width + k]
            k += 1
        if same:
            first[j] = i
    return first
