"""Strict sums behind principal components: cross products of centred rows, and projections."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.kernels._jit import jit


@jit
def add_products(X: FloatArray, out: FloatArray) -> None:
    """Add the products of all pairs of columns, row by row; the lower triangle only.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
        Centred.
    out : ndarray of float64, shape (n_columns, n_columns), changed
    """
    for i in range(len(X)):
        for a in range(X.shape[1]):
            x = X[i, a]
            if x != 0.0:
                for b in range(a + 1):
                    out[a, b] += x * X[i, b]


@jit
def _project(X: FloatArray, axes: FloatArray, out: FloatArray) -> None:
    for i in range(len(X)):
        for j in range(X.shape[1]):
            x = X[i, j]
            for t in range(axes.shape[1]):
                out[i, t] += x * axes[j, t]


def project(X: FloatArray, axes: FloatArray) -> FloatArray:
    """Coordinates of rows on axes, summed over the columns in order.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
    axes : ndarray of float64, shape (n_columns, n_axes)

    Returns
    -------
    ndarray of float64, shape (n_rows, n_axes)

    Examples
    --------
    >>> project(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    out = np.zeros((len(X), axes.shape[1]))
    _project(X, axes, out)
    return out
