"""Sums of columns over the rows of each label, all but exact, and how far they are from even.

A sum over some rows and its share of the sum over all are nearly equal where a column says little
of a label, and float sums would leave nothing but their rounding of the difference. Here terms are
parted as in :mod:`mlfs_dask.kernels.exactsum`, and sums, and their products with counts, are pairs
of floats: what they lack is far below the last digit of a sum of floats.
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.labelsets import find_label_sets

_HALVES = 2.0**27 + 1.0  # a product with it parts 53 digits in two


def add_dense(X: AnyArray, start: int, Y: ByteArray, places: Cuts, sums: FloatArray) -> None:
    """Add dense rows to the sums of their labels.

    Rows of the same labels are added up first, and then once to each label: no sum is rounded, so
    the order does not matter.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    start
        First column; as many follow as there are places.
    Y : ndarray of uint8, shape (n_rows, n_labels)
    places
        From :func:`mlfs_dask.kernels.exactsum.cuts`.
    sums : ndarray of float64, shape (2, n_labels + 1, n_columns), changed
        Heads and tails of the sums over the rows of each label, then over all.
    """
    sets = find_label_sets(Y)
    order = np.argsort(sets.codes, kind="stable")
    _add_sets(X, start, Y, order, np.cumsum(sets.counts), places, sums)


@jit
def _add_sets(
    X: AnyArray,
    start: int,
    Y: ByteArray,
    order: IntArray,
    ends: IntArray,
    places: Cuts,
    sums: FloatArray,
) -> None:
    """Add rows in an order that has those of the same labels together, up to each of the ends."""
    head, tail = places.head, places.tail
    width, last = len(head), Y.shape[1]
    tops, rests = np.empty(width), np.empty(width)
    first = 0
    for end in ends:
        tops[:] = 0.0
        rests[:] = 0.0
        for position in range(first, end):
            row = X[order[position], start : start + width]
            for j in range(width):
                term = np.float64(row[j])
                top = (term + head[j]) - head[j]
                tops[j] += top
                rests[j] += ((term - top) + tail[j]) - tail[j]
        labels = Y[order[first]]
        for label in range(last + 1):
            if label == last or labels[label]:
                heads, tails = sums[0, label], sums[1, label]
                for j in range(width):
                    heads[j] += tops[j]
                    tails[j] += rests[j]
        first = end


@jit
def add_csr(
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    Y: ByteArray,
    places: Cuts,
    sums: FloatArray,
) -> None:
    """Add CSR rows to the sums of their labels.

    Parameters
    ----------
    data, indices, indptr
        The rows.
    Y, places, sums
        As for :func:`add_dense`.
    """
    head, tail = places.head, places.tail
    last = Y.shape[1]
    for i in range(len(indptr) - 1):
        for label in range(last + 1):
            if label == last or Y[i, label]:
                heads, tails = sums[0, label], sums[1, label]
                for p in range(indptr[i], indptr[i + 1]):
                    j = indices[p]
                    top = (data[p] + head[j]) - head[j]
                    heads[j] += top
                    tails[j] += ((data[p] - top) + tail[j]) - tail[j]


@inline
def _product_error(a: float, b: float, product: float) -> float:
    """What rounding took off a product (Dekker 1971)."""
    left = _HALVES * a
    a_high = left - (left - a)
    right = _HALVES * b
    b_high = right - (right - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@jit
def uneven(sums: FloatArray, counts: IntArray, n: int) -> FloatArray:
    """How far the sum over the rows of each label is from its share of the sum over all.

    Parameters
    ----------
    sums : ndarray of float64, shape (2, n_labels + 1, n_columns)
        From :func:`add_dense` and :func:`add_csr`.
    counts : ndarray of int64, shape (n_labels,)
        Rows with each label.
    n
        All rows.

    Returns
    -------
    ndarray of float64, shape (n_labels, n_columns)
        ``n S_l - n_l S``.

    Examples
    --------
    >>> import numpy as np
    >>> sums = np.array([[[2.0], [4.0]], [[2.0**-60], [2.0**-60]]])
    >>> float(uneven(sums, np.array([1]), 2)[0, 0]) == 2.0**-60
    True
    """
    _, n_rows, width = sums.shape
    last, whole = n_rows - 1, np.float64(n)
    out = np.empty((last, width))
    for label in range(last):
        count = np.float64(counts[label])
        for j in range(width):
            mine, share = whole * sums[0, label, j], count * sums[0, last, j]
            gap = mine - share
            # Rounded off the difference (Knuth), the two products, and the tails.
            back = gap - mine
            rest = (mine - (gap - back)) - (share + back)
            rest += _product_error(whole, sums[0, label, j], mine)
            rest -= _product_error(count, sums[0, last, j], share)
            out[label, j] = gap + (rest + (whole * sums[1, label, j] - count * sums[1, last, j]))
    return out
