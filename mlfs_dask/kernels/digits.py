"""The middle value of columns, without sorting them: by signs, then by the digits of their keys.

The key of a value is its 64 bits as an unsigned integer, all of them turned for a negative value
and the sign alone for others: keys are in the order of the values. Counting eight bits of the keys
at a time, among those that begin as the key sought does, finds it in eight passes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit

SIGN = 1 << 63
"""The key of zero: keys of negative values are below it, those of positive ones above."""


def middle_rank(n: int) -> int:
    """Rank of the value that a column is cut at: round(n / 2), halves up, 1 is the smallest.

    Examples
    --------
    >>> middle_rank(4), middle_rank(5)
    (2, 3)
    """
    return (n + 1) // 2


@jit
def dense_sides(
    X: AnyArray,
    low: FloatArray,
    high: FloatArray,
    below: IntArray,
    zero: IntArray,
    two_valued: BoolArray,
) -> None:
    """Count negative values and zeros of each column, and look for a third value.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    low, high : ndarray of float64, shape (n_features,)
        Extremes of each column.
    below, zero : ndarray of int64, shape (n_features,), changed
    two_valued : ndarray of bool, shape (n_features,), changed
        Cleared where a value lies between the extremes.
    """
    for i in range(len(X)):
        row = X[i]
        for r in range(len(row)):
            value = np.float64(row[r])
            below[r] += value < 0
            zero[r] += value == 0
            if value != low[r] and value != high[r]:
                two_valued[r] = False


@jit
def csr_sides(
    data: AnyArray,
    indices: AnyArray,
    low: FloatArray,
    high: FloatArray,
    below: IntArray,
    above: IntArray,
    two_valued: BoolArray,
) -> None:
    """As :func:`dense_sides` for stored cells of CSR rows; positive ones take the zeros' place."""
    for p in range(len(data)):
        r, value = indices[p], np.float64(data[p])
        below[r] += value < 0
        above[r] += value > 0
        if value != low[r] and value != high[r]:
            two_valued[r] = False


class Digits(NamedTuple):
    """What is known of the keys of the values sought, one in each of some columns.

    Attributes
    ----------
    prefix : ndarray of uint64, shape (n_columns,)
        Leading bits of each key.
    known : uint64
        Which bits these are.
    shift : uint64
        Position of the next eight.
    """

    prefix: NDArray[np.uint64]
    known: np.uint64
    shift: np.uint64


def values_of_keys(keys: NDArray[np.uint64]) -> FloatArray:
    """Values that have these keys.

    Parameters
    ----------
    keys : ndarray of uint64, any shape

    Examples
    --------
    >>> values_of_keys(np.array([SIGN, SIGN + (1 << 62)], dtype=np.uint64)).tolist()
    [0.0, 2.0]
    """
    sign = np.uint64(SIGN)
    return np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)


@inline
def _bits(value: float) -> Any:
    """The bits of a value; a sum with 0.0 turns -0.0 into 0.0."""
    return np.float64(value + 0.0).view(np.uint64)


@inline
def _key(bits: Any) -> Any:
    """The key of a value by its bits."""
    sign = np.uint64(SIGN)
    return ~bits if bits & sign else bits | sign


@jit
def dense_digits(X: AnyArray, which: IntArray, digits: Digits, counts: IntArray) -> np.uint64:
    """Count the next eight bits of the keys that begin as the key sought in their column does.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    which : ndarray of int64, shape (n_columns,)
        Features.
    digits
        What is known of the keys sought.
    counts : ndarray of int64, shape (n_columns, 256), changed

    Returns
    -------
    uint64
        Bits that some value has, before any is turned.
    """
    occupied = np.uint64(0)
    for i in range(len(X)):
        row = X[i]
        for c in range(len(which)):
            bits = _bits(np.float64(row[which[c]]))
            occupied |= bits
            key = _key(bits)
            if key & digits.known == digits.prefix[c]:
                counts[c, (key >> digits.shift) & np.uint64(255)] += 1
    return occupied


@jit
def csr_digits(
    data: AnyArray, indices: AnyArray, place: IntArray, digits: Digits, counts: IntArray
) -> np.uint64:
    """As :func:`dense_digits` for stored cells of CSR rows, without zeros.

    Parameters
    ----------
    data, indices : ndarray, shape (nnz,)
        Stored values and their features.
    place : ndarray of int64, shape (n_features,)
        Column that each feature is counted in; -1: none.
    digits, counts
        See :func:`dense_digits`.
    """
    occupied = np.uint64(0)
    for p in range(len(data)):
        c = place[indices[p]]
        if c < 0 or data[p] == 0:
            continue
        bits = _bits(np.float64(data[p]))
        occupied |= bits
        key = _key(bits)
        if key & digits.known == digits.prefix[c]:
            counts[c, (key >> digits.shift) & np.uint64(255)] += 1
    return occupied
