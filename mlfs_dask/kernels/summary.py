"""Column summaries of a block of rows: extremes, missing values, sums in row order."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


@jit
def dense_summary(
    X: AnyArray, low: FloatArray, high: FloatArray, total: FloatArray, missing: IntArray
) -> None:
    """Update column extremes, sums and missing counts with the rows of a dense block, in row order.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        NaN is missing.
    low, high : ndarray of float64, shape (n_features,), changed
        Start from +inf and -inf.
    total : ndarray of float64, shape (n_features,), changed
        Sum of the known values.
    missing : ndarray of int64, shape (n_features,), changed
    """
    n, d = X.shape
    for i in range(n):
        row = X[i]
        for j in range(d):
            v = np.float64(row[j])
            if np.isnan(v):
                missing[j] += 1
            else:
                total[j] += v
                if v < low[j]:
                    low[j] = v
                if v > high[j]:
                    high[j] = v


@jit
def csr_summary(
    data: AnyArray,
    indices: AnyArray,
    low: FloatArray,
    high: FloatArray,
    total: FloatArray,
    missing: IntArray,
    stored: IntArray,
) -> None:
    """As :func:`dense_summary` for the stored cells of CSR rows; ``stored`` counts them per column.

    Parameters
    ----------
    data, indices : ndarray, shape (nnz,)
        Stored values and their columns, row after row.
    low, high, total : ndarray of float64, shape (n_features,), changed
    missing, stored : ndarray of int64, shape (n_features,), changed
        The caller accounts for omitted cells, which are zeros.
    """
    for p in range(len(data)):
        j = indices[p]
        v = np.float64(data[p])
        stored[j] += 1
        if np.isnan(v):
            missing[j] += 1
        else:
            total[j] += v
            if v < low[j]:
                low[j] = v
            if v > high[j]:
                high[j] = v


@jit
def dense_all_binary(X: AnyArray, binary: AnyArray) -> None:
    """Clear ``binary[j]`` where column j holds anything but 0 and 1 (NaN too)."""
    n, d = X.shape
    for i in range(n):
        row = X[i]
        for j in range(d):
            if not (row[j] == 0 or row[j] == 1):
                binary[j] = False


@jit
def csr_all_binary(data: AnyArray, indices: AnyArray, binary: AnyArray) -> None:
    """As :func:`dense_all_binary` for stored cells of CSR rows."""
    for p in range(len(data)):
        if not (data[p] == 0 or data[p] == 1):
            binary[indices[p]] = False
