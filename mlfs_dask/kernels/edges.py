"""Graphs as lists of edges: symmetric neighbours, and squared differences along edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


class Edges(NamedTuple):
    """Edges of an undirected graph without loops, each once.

    Attributes
    ----------
    low, high : ndarray of int64, shape (n_edges,)
        The two rows of each edge, ``low < high``; edges in ascending order.
    square : ndarray of float64, shape (n_edges,)
        Squared length.
    """

    low: IntArray
    high: IntArray
    square: FloatArray


def neighbor_edges(neighbors: IntArray, squares: FloatArray) -> Edges:
    """Join two rows if either is among the other's neighbours.

    Parameters
    ----------
    neighbors : ndarray of int64, shape (n_samples, k)
        Neighbours of each row.
    squares : ndarray of float64, shape (n_samples, k)
        Squared distances, the same in both directions.

    Examples
    --------
    >>> edges = neighbor_edges(np.array([[1], [0], [1]]), np.array([[1.0], [1.0], [4.0]]))
    >>> edges.low.tolist(), edges.high.tolist(), edges.square.tolist()
    ([0, 1], [1, 2], [1.0, 4.0])
    """
    n, k = neighbors.shape
    own, other = np.repeat(np.arange(n), k), neighbors.ravel()
    low, high = np.minimum(own, other), np.maximum(own, other)
    _, kept = np.unique(low * n + high, return_index=True)
    return Edges(low[kept], high[kept], squares.ravel()[kept])


@jit
def dense_differences(
    left: FloatArray,
    right: FloatArray,
    rows: tuple[IntArray, IntArray],
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """Add ``w (f_i - f_j)²`` of every edge, edges in order.

    Parameters
    ----------
    left, right : ndarray of float64, shape (n_rows, n_columns)
        Rows of two tiles.
    rows : two ndarrays of int64, shape (n_edges,)
        Row of each edge on the left and on the right.
    weight : ndarray of float64, shape (n_edges,)
    out : ndarray of float64, shape (n_columns,), changed
    """
    for e in range(len(weight)):
        a, b, w = left[rows[0][e]], right[rows[1][e]], weight[e]
        for j in range(len(out)):
            gap = a[j] - b[j]
            out[j] += w * gap * gap


class SparseRows(NamedTuple):
    """CSR rows in the types that kernels are compiled for, features ascending in each row.

    Attributes
    ----------
    data : ndarray of float64, shape (nnz,)
    indices, indptr : ndarray of int64
    """

    data: FloatArray
    indices: AnyArray
    indptr: AnyArray


@jit
def sparse_differences(
    left: SparseRows,
    right: SparseRows,
    rows: tuple[IntArray, IntArray],
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """As :func:`dense_differences` for CSR rows: only cells that one of the two stores.

    Parameters
    ----------
    left, right
        Rows of two tiles.
    rows, weight, out
        See :func:`dense_differences`.
    """
    for e in range(len(weight)):
        i, j, w = rows[0][e], rows[1][e], weight[e]
        p, p_end = left.indptr[i], left.indptr[i + 1]
        r, r_end = right.indptr[j], right.indptr[j + 1]
        while p < p_end or r < r_end:
            if r == r_end or (p < p_end and left.indices[p] < right.indices[r]):
                column, gap = left.indices[p], left.data[p]
                p += 1
            elif p == p_end or right.indices[r] < left.indices[p]:
                column, gap = right.indices[r], right.data[r]
                r += 1
            else:
                column, gap = left.indices[p], left.data[p] - right.data[r]
                p, r = p + 1, r + 1
            out[column] += w * gap * gap
