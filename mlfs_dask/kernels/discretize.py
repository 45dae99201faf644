"""From values to bins: two bins of equal frequency, or the categories as they are.

A numeric feature is cut at the value of rank round(n / 2) of its sorted column: bin 1 holds the
rows above it, bin 0 the others. Features of two values keep them, nominal ones their categories.
The bins of all features are numbered one after the other; one bin of each feature, the one that
zeros fall into, is its *base*: in sparse data its rows are not stored, and its counts are what the
other bins leave over::

    feature     0 (numeric)   1 (nominal, 3 codes)   2 (0/1)
    bin         0     1       2     3     4          5     6
    base        *             *                      *
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.lanes import count_ones

WORD_ROWS = 64
"""Rows that one word of packed bins holds."""


class Bins(NamedTuple):
    """The bins of all features.

    Attributes
    ----------
    start : ndarray of int64, shape (n_features + 1,)
        Bins of feature r are ``start[r]:start[r + 1]``.
    cut : ndarray of float64, shape (n_features,)
        Values above it are in the second of two bins; NaN where bins are categories.
    code : ndarray of float64, shape (n_bins,)
        Category of each bin, ascending inside a feature; NaN where bins are cut.
    base : ndarray of int64, shape (n_features,)
        The bin of each feature that holds zeros; the first one if none does.
    """

    start: IntArray
    cut: FloatArray
    code: FloatArray
    base: IntArray

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.cut)

    @property
    def n_bins(self) -> int:
        """Number of bins of all features."""
        return len(self.code)

    @property
    def feature(self) -> IntArray:
        """Feature of each bin, shape (n_bins,)."""
        return np.repeat(np.arange(self.n_features), np.diff(self.start))


def middle_rank(n: int) -> int:
    """Rank of the value that a column is cut at: round(n / 2), halves up, 1 is the smallest.

    Examples
    --------
    >>> middle_rank(4), middle_rank(5)
    (2, 3)
    """
    return (n + 1) // 2


def make_bins(cut: FloatArray, feature: IntArray, code: FloatArray) -> Bins:
    """Number the bins of cut features and of categories.

    Parameters
    ----------
    cut : ndarray of float64, shape (n_features,)
        Where each feature is cut; NaN for features with categories.
    feature : ndarray of int64, shape (n_categories,)
        Feature of each category, ascending.
    code : ndarray of float64, shape (n_categories,)
        Categories, ascending inside a feature.

    Examples
    --------
    >>> bins = make_bins(np.array([0.5, np.nan]), np.array([1, 1, 1]), np.array([0.0, 2.0, 5.0]))
    >>> bins.start.tolist(), bins.base.tolist()
    ([0, 2, 5], [0, 2])
    """
    is_cut = ~np.isnan(cut)
    sizes = np.where(is_cut, 2, np.bincount(feature, minlength=len(cut)))
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = np.full(start[-1], np.nan)
    codes[~np.repeat(is_cut, sizes)] = code
    base = start[:-1] + (is_cut & (cut < 0))
    holds_zero = np.flatnonzero(codes == 0)
    base[np.searchsorted(start, holds_zero, side="right") - 1] = holds_zero
    return Bins(start, cut.astype(np.float64), codes, base.astype(np.int64))


@inline
def _bin_of(value: float, feature: int, bins: Bins) -> Any:
    """Bin of a known value."""
    first, cut = bins.start[feature], bins.cut[feature]
    if not np.isnan(cut):
        return first + (1 if value > cut else 0)
    last = bins.start[feature + 1]
    return first + np.searchsorted(bins.code[first:last], value)


@jit
def bins_of_cells(data: AnyArray, indices: AnyArray, bins: Bins) -> IntArray:
    """Bin of every stored cell of CSR rows, shape (nnz,).

    Parameters
    ----------
    data, indices : ndarray, shape (nnz,)
        Stored values and their features.
    bins
        All bins.
    """
    out = np.empty(len(data), dtype=np.int64)
    for p in range(len(data)):
        out[p] = _bin_of(np.float64(data[p]), indices[p], bins)
    return out


@jit
def pack_bins(X: AnyArray, bins: Bins) -> NDArray[np.uint64]:
    """Rows of each bin as bits, without the base bins.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    bins
        All bins.

    Returns
    -------
    ndarray of uint64, shape (n_words, n_bins)
        Bit ``i % 64`` of word ``i // 64`` is row i; base bins are 0 throughout.
    """
    n, d = X.shape
    words = np.zeros((-(-n // WORD_ROWS), len(bins.code)), dtype=np.uint64)
    is_cut = ~np.isnan(bins.cut)
    upper = bins.base == bins.start[:-1]
    listed = bins.start[:-1] + upper
    for i in range(n):
        row, out = X[i], words[i // WORD_ROWS]
        place = np.uint64(i % WORD_ROWS)
        for r in range(d):
            value = np.float64(row[r])
            if is_cut[r]:
                # Of two bins one is listed: no branch on the value.
                out[listed[r]] |= np.uint64((value > bins.cut[r]) == upper[r]) << place
            else:
                b = _bin_of(value, r, bins)
                if b != bins.base[r]:
                    out[b] |= np.uint64(1) << place
    return words


@jit
def pack_columns(G: AnyArray) -> NDArray[np.uint64]:
    """Rows where each column isn't 0, as bits.

    Parameters
    ----------
    G : ndarray, shape (n_rows, n_groups)

    Returns
    -------
    ndarray of uint64, shape (n_words, n_groups)
        As :func:`pack_bins`.
    """
    n = len(G)
    words = np.zeros((-(-n // WORD_ROWS), G.shape[1]), dtype=np.uint64)
    for i in range(n):
        row, out = G[i], words[i // WORD_ROWS]
        bit = np.uint64(1) << np.uint64(i % WORD_ROWS)
        for g in range(len(row)):
            if row[g] != 0:
                out[g] |= bit
    return words


@jit
def common_counts(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> IntArray:
    """Number of rows that each column on the left shares with each on the right.

    Parameters
    ----------
    left : ndarray of uint64, shape (n_words, n_left)
    right : ndarray of uint64, shape (n_words, n_right)

    Returns
    -------
    ndarray of int64, shape (n_left, n_right)
    """
    counts = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for w in range(len(left)):
        theirs = right[w]
        for a in range(left.shape[1]):
            own = left[w, a]
            if own == 0:
                continue
            out = counts[a]
            for b in range(len(theirs)):
                out[b] += np.int64(count_ones(own & theirs[b]))
    return counts


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


SIGN = 1 << 63
"""The key of zero: keys of negative values are below it, those of positive ones above."""


class Digits(NamedTuple):
    """What is known of the keys of the values sought, one in each of some columns.

    The key of a value is its 64 bits as an unsigned integer, all of them turned for a negative
    value and the sign alone for others: keys are in the order of the values.

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
