"""Weighted sums of deviations from a centre, and of their squares, rows in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


class Deviations(NamedTuple):
    """Sums per column over the rows that are stored.

    Attributes
    ----------
    first, second : ndarray of float64, shape (n_columns,)
        ``sum of w (f - c)`` and ``sum of w (f - c)²``.
    weight : ndarray of float64, shape (n_columns,)
        ``sum of w``.
    stored : ndarray of int64, shape (n_columns,)
        Number of rows.
    """

    first: FloatArray
    second: FloatArray
    weight: FloatArray
    stored: IntArray


def zero_deviations(n_columns: int) -> Deviations:
    """Sums of no rows."""
    first, second, weight = np.zeros((3, n_columns))
    return Deviations(first, second, weight, np.zeros(n_columns, dtype=np.int64))


@jit
def dense_deviations(
    X: AnyArray, start: int, weight: FloatArray, centre: FloatArray, sums: Deviations
) -> None:
    """Add the rows of a dense block to ``first`` and ``second``.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    start
        First column; as many follow as there are centres.
    weight : ndarray of float64, shape (n_rows,)
    centre : ndarray of float64, shape (n_columns,)
    sums
        Changed.
    """
    width = len(centre)
    for i in range(len(X)):
        row, w = X[i, start : start + width], weight[i]
        for j in range(width):
            gap = np.float64(row[j]) - centre[j]
            sums.first[j] += w * gap
            sums.second[j] += w * gap * gap


@jit
def csr_deviations(
    data: FloatArray,
    indices: IntArray,
    indptr: AnyArray,
    weight: FloatArray,
    centre: FloatArray,
    sums: Deviations,
) -> None:
    """Add the stored cells of CSR rows.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays of the columns that count.
    weight : ndarray of float64, shape (n_rows,)
    centre : ndarray of float64, shape (n_columns,)
    sums
        Changed; the caller accounts for omitted cells.
    """
    for i in range(len(indptr) - 1):
        w = weight[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            gap = data[p] - centre[j]
            sums.first[j] += w * gap
            sums.second[j] += w * gap * gap
            sums.weight[j] += w
            sums.stored[j] += 1


@jit
def csr_omitted(
    indices: IntArray,
    indptr: AnyArray,
    weight: FloatArray,
    columns: IntArray,
    stored_in: IntArray,
    omitted: FloatArray,
) -> None:
    """Add the weight of the rows in which columns have no stored cell.

    Parameters
    ----------
    indices, indptr : ndarray
        CSR arrays of the columns that count.
    weight : ndarray of float64, shape (n_rows,)
    columns : ndarray of int64, shape (n_asked,)
        The columns asked for.
    stored_in : ndarray of int64, shape (n_columns,)
        All -1; changed.
    omitted : ndarray of float64, shape (n_asked,)
        Changed.
    """
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            stored_in[indices[p]] = i
        for k in range(len(columns)):
            if stored_in[columns[k]] != i:
                omitted[k] += weight[i]


@jit
def standard_deviation(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation (with n - 1) of one column, rows in order.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        At least two.
    """
    total = square = 0.0
    for value in values:
        total += value
    mean = total / len(values)
    for value in values:
        square += (value - mean) * (value - mean)
    return mean, np.sqrt(square / (len(values) - 1))
