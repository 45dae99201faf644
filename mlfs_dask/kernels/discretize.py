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

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
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
