"""Rows with equal values on some features: at which point each stands, and what rows are there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.kernels._jit import jit

_TABLE = 8  # entries per row that a table of all combinations may have


def refine(point: IntArray, n_points: int, codes: AnyArray, n_levels: int) -> tuple[IntArray, int]:
    """Tell rows at one point apart by one more feature.

    Parameters
    ----------
    point : ndarray of int64, shape (n_rows,)
        Where each row stands, from 0.
    n_points
        Number of points, each with a row.
    codes : ndarray of an integer type, shape (n_rows,)
        Which level of the feature each row has.
    n_levels
        Number of levels.

    Returns
    -------
    ndarray of int64 and int
        As ``point`` and ``n_points``; points are numbered in the order of their rows.

    Examples
    --------
    >>> import numpy as np
    >>> point, n_points = refine(np.array([0, 0, 1, 1]), 2, np.array([1, 0, 1, 1]), 2)
    >>> point.tolist(), n_points
    ([0, 1, 2, 2], 3)
    """
    combined = point * n_levels + codes
    if n_points * n_levels > _TABLE * len(point):
        # Few of the combinations occur: number those that do.
        present, combined = np.unique(combined, return_inverse=True)
        return _in_order_of_rows(combined, len(present))
    return _in_order_of_rows(combined, n_points * n_levels)


@jit
def _in_order_of_rows(combined: IntArray, n_possible: int) -> tuple[IntArray, int]:
    number = np.full(n_possible, -1, dtype=np.int64)
    point = np.empty(len(combined), dtype=np.int64)
    used = 0
    for i in range(len(combined)):
        if number[combined[i]] < 0:
            number[combined[i]] = used
            used += 1
        point[i] = number[combined[i]]
    return point, used


@jit
def first_rows(point: IntArray, n_points: int) -> IntArray:
    """The first row at each point.

    Parameters
    ----------
    point : ndarray of int64, shape (n_rows,)
        Numbered in the order of their rows.
    n_points
        Number of points.

    Returns
    -------
    ndarray of int64, shape (n_points,)
    """
    first = np.empty(n_points, dtype=np.int64)
    used = 0
    for i in range(len(point)):
        if point[i] == used:
            first[used] = i
            used += 1
    return first


@jit
def point_counts(Y: AnyArray, point: IntArray, n_points: int) -> NDArray[np.int32]:
    """Count the rows at each point that have each label.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)
    point, n_points
        As for :func:`point_classes`.

    Returns
    -------
    ndarray of int32, shape (n_points, n_labels)
    """
    counts = np.zeros((n_points, Y.shape[1]), dtype=np.int32)
    for i in range(len(Y)):
        there = counts[point[i]]
        for k in range(Y.shape[1]):
            there[k] += Y[i, k]
    return counts


def point_classes(
    codes: IntArray, point: IntArray, n_points: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Count the rows of each class at each point.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Classes, from 0.
    point : ndarray of int64, shape (n_rows,)
        Where each row stands.
    n_points
        Each with a row.

    Returns
    -------
    code, begin, of_class : ndarray of int64
        See :class:`mlfs_dask.kernels.gap_counts.Points`.

    Examples
    --------
    >>> code, begin, of_class = point_classes(np.array([5, 0, 5]), np.array([0, 1, 0]), 2)
    >>> code.tolist(), begin.tolist(), of_class.tolist()
    ([5, 0], [0, 1, 2], [2, 1])
    """
    n_classes = int(codes.max()) + 1
    entries, of_class = np.unique(point * n_classes + codes, return_counts=True)
    begin = np.searchsorted(entries, np.arange(n_points + 1) * n_classes)
    return entries % n_classes, begin, of_class
