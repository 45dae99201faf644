"""Values between two bounds, column by column: where the middle of a column is sought."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


@jit
def take_inside(
    X: AnyArray,
    which: IntArray,
    low: FloatArray,
    high: FloatArray,
    below: IntArray,
    inside: IntArray,
    out: FloatArray,
) -> None:
    """Count values below the lower bound, and fetch those from the lower to the upper one.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    which : ndarray of int64, shape (n_columns,)
        Features.
    low, high : ndarray of float64, shape (n_columns,)
        Bounds.
    below, inside : ndarray of int64, shape (n_columns,), changed
    out : ndarray of float64, shape (n_columns, n_places), changed
        Values of each column as far as there are places.
    """
    width = len(which)
    values = np.empty(width, dtype=np.float64)
    marks = np.empty(width, dtype=np.uint8)
    for i in range(len(X)):
        row = X[i]
        # Loops without a branch first: half of all values are below, which no processor foresees.
        for c in range(width):
            values[c] = np.float64(row[which[c]])
        for c in range(width):
            below[c] += values[c] < low[c]
        for c in range(width):
            marks[c] = (values[c] >= low[c]) & (values[c] <= high[c])
        for c in range(width):
            if marks[c]:
                if inside[c] < out.shape[1]:
                    out[c, inside[c]] = values[c]
                inside[c] += 1


@jit
def two_values(
    X: AnyArray, which: IntArray, low: FloatArray, high: FloatArray, two_valued: BoolArray
) -> None:
    """Look for a third value beside the extremes.

    Parameters
    ----------
    X, which
        As in :func:`take_inside`.
    low, high : ndarray of float64, shape (n_columns,)
        Extremes of each column.
    two_valued : ndarray of bool, shape (n_columns,), changed
        Cleared where a value lies between them.
    """
    for c in range(len(which)):
        for i in range(len(X)):
            value = np.float64(X[i, which[c]])
            if value != low[c] and value != high[c]:
                two_valued[c] = False
                break
