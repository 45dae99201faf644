"""Similarities of rows by their features, exp(-|x - z|² / (2δ²)), summed strictly in order.

Squared distances are summed feature after feature, never taken from matrix products: equal rows are
at distance 0. On 0/1 features they are popcounts, and the exponential is a table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import ByteArray, FloatArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.distances import NOMINAL, add_four_plain, add_nominal, add_plain
from mlfs_dask.kernels.lanes import count_ones

# Features of one sweep: with 4,096 rows they stay in the second-level cache.
_SWEEP = 32


@jit
def add_distances(
    left: FloatArray, begin: int, end: int, right: FloatArray, how: ByteArray, out: FloatArray
) -> None:
    """Add squared distances over a run of features.

    Parameters
    ----------
    left : ndarray of float64, shape (n_features, n_left)
        Scaled columns.
    begin, end
        Rows of the left block that are compared.
    right : ndarray of float64, shape (n_features, n_right)
        Scaled columns.
    how : ndarray of uint8, shape (n_features,)
        ``PLAIN`` or ``NOMINAL``.
    out : ndarray of float64, shape (>= end - begin, >= n_right), changed
    """
    d, n = right.shape
    own = np.empty(d, dtype=np.float64)
    for sweep in range(0, d, _SWEEP):
        stop = min(sweep + _SWEEP, d)
        for i in range(begin, end):
            total = out[i - begin, :n]
            for c in range(sweep, stop):
                own[c] = left[c, i]
            c = sweep
            while c < stop:
                coded = how[c] == NOMINAL
                for other in range(c + 1, min(c + 4, stop)):
                    coded = coded or how[other] == NOMINAL
                if c + 4 <= stop and not coded:
                    columns = (right[c], right[c + 1], right[c + 2], right[c + 3])
                    add_four_plain(total, columns, own, c)
                    c += 4
                else:
                    if how[c] == NOMINAL:
                        add_nominal(total, right[c], own[c])
                    else:
                        add_plain(total, right[c], own[c])
                    c += 1


@jit
def exponentials(out: FloatArray, n_rows: int, n_columns: int, rate: float) -> None:
    """Replace squared distances t by ``exp(-rate t)``.

    Parameters
    ----------
    out : ndarray of float64, changed
        Its first rows and columns.
    n_rows, n_columns
        How many of them.
    rate
        1 / (2δ²).
    """
    for i in range(n_rows):
        for j in range(n_columns):
            out[i, j] = np.exp(-rate * out[i, j])


@jit
def packed_affinities(
    left: NDArray[np.uint64],
    begin: int,
    end: int,
    right: NDArray[np.uint64],
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Fill in similarities of 0/1 rows from a table over the number of features that differ.

    Parameters
    ----------
    left : ndarray of uint64, shape (n_left, n_words)
        Packed rows.
    begin, end
        Rows of the left block that are compared.
    right : ndarray of uint64, shape (n_words, n_right)
        Packed rows, word by word.
    table : ndarray of float64, shape (n_features + 1,)
    out : ndarray of float64, shape (>= end - begin, >= n_right), changed
    """
    n = right.shape[1]
    differ = np.empty(n, dtype=np.int64)
    for i in range(begin, end):
        differ[:] = 0
        for w in range(len(right)):
            own, others = left[i, w], right[w]
            for j in range(n):
                differ[j] += np.int64(count_ones(others[j] ^ own))
        row = out[i - begin]
        for j in range(n):
            row[j] = table[differ[j]]
