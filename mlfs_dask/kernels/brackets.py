"""Values between two bounds, column by column: where the middle of a column is sought."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


@jit
def count_inside(
    X: AnyArray,
    which: IntArray,
    low: FloatArray,
    high: FloatArray,
    below: IntArray,
    inside: IntArray,
) -> None:
    """Count values below the lower bound, and from the lower to the upper one.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    which : ndarray of int64, shape (n_columns,)
        Features.
    low, high : ndarray of float64, shape (n_columns,)
        Bounds.
    below, inside : ndarray of int64, shape (n_columns,), changed
    """
    for i in range(len(X)):
        row = X[i]
        for c in range(len(which)):
            value = np.float64(row[which[c]])
            below[c] += value < low[c]
            inside[c] += (value >= low[c]) & (value <= high[c])


@jit
def take_inside(
    X: AnyArray,
    which: IntArray,
    low: FloatArray,
    high: FloatArray,
    place: IntArray,
    out: FloatArray,
) -> None:
    """Write the values from the lower to the upper bound, each column from a place of its own.

    Parameters
    ----------
    X, which, low, high
        As in :func:`count_inside`.
    place : ndarray of int64, shape (n_columns,), changed
        Where the next value of a column goes; negative: nowhere.
    out : ndarray of float64, changed
    """
    for i in range(len(X)):
        row = X[i]
        for c in range(len(which)):
            value = np.float64(row[which[c]])
            if place[c] >= 0 and low[c] <= value <= high[c]:
                out[place[c]] = value
                place[c] += 1


@jit
def two_values(
    X: AnyArray, which: IntArray, low: FloatArray, high: FloatArray, two_valued: BoolArray
) -> None:
    """Look for a third value beside the extremes.

    Parameters
    ----------
    X, which
        As in :func:`count_inside`.
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
