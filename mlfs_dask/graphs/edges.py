"""The graph of nearest neighbours, and quadratic forms of columns on it.

::

    rows ──neighbours──> edges i < j, by pairs of tiles ──> sum of w_ij (f_i - f_j)² per column
                           └── only pairs of tiles that edges join are read

Edges and their weights, O(n k) numbers, are kept by the caller; each task gets those between its
two tiles. Sums have non-negative terms only and run over the edges in order.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray, IntArray, Normalize
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.neighbors import NeighborSearch, whole_lists
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK
from mlfs_dask.graphs.tiles import TileTask, TileTasks
from mlfs_dask.kernels.edges import (
    Edges,
    SparseRows,
    dense_differences,
    neighbor_edges,
    sparse_differences,
)


def nearest_edges(
    source: Source, k: int, normalize: Normalize, summary: ColumnSummary, executor: Executor
) -> Edges:
    """Edges between rows of which one is among the k nearest of the other.

    Parameters
    ----------
    source
        Rows.
    k
        Neighbours by (distance, index); all other rows if there are fewer.
    normalize
        Of the features, for the distances.
    summary
        What is known of the features.
    executor
        Where to run.
    """
    n, k = source.n_samples, min(k, source.n_samples - 1)
    neighbors, squares = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    if k:
        search = NeighborSearch(source, normalize=normalize, executor=executor, summary=summary)
        for block, found in search.leave_one_out(k, whole_lists):
            neighbors[block.first : block.last] = found.indices[:, 0]
            squares[block.first : block.last] = found.distances[:, 0]
    return neighbor_edges(neighbors, squares)


def edge_degrees(edges: Edges, weight: FloatArray, n_samples: int) -> FloatArray:
    """Sum of the weights of each row's edges, edges in order.

    Parameters
    ----------
    edges
        The graph.
    weight : ndarray of float64, shape (n_edges,)
    n_samples
        Number of rows.
    """
    ends = (edges.low, edges.high)
    low, high = (np.bincount(rows, weight, n_samples).astype(np.float64) for rows in ends)
    return low + high


def edge_forms(
    source: Source, columns: Columns, edges: Edges, weight: FloatArray, executor: Executor
) -> FloatArray:
    """``f'Lf = sum of w_ij (f_i - f_j)²`` over the edges, for every column.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    edges
        The graph.
    weight : ndarray of float64, shape (n_edges,)
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (n_columns,)
    """
    out = np.zeros(columns.n_columns)
    shape = (source.n_samples, source.n_samples)
    graph = sp.csr_matrix((weight, (edges.low, edges.high)), shape=shape)
    tasks = TileTasks(source, _joined_tiles(source, edges), graph)
    for part in executor.map(_differences, tasks, executor.share(columns), source.offsets):
        out += part
    return out


def _joined_tiles(source: Source, edges: Edges) -> list[tuple[int, ...]]:
    """Pairs of tiles with an edge between them, in order."""
    low, high = (
        np.searchsorted(source.offsets, rows, side="right") - 1 for rows in (edges.low, edges.high)
    )
    pairs = np.unique(low * source.n_tiles + high).tolist()
    return [divmod(pair, source.n_tiles) for pair in pairs]


def _differences(task: TileTask, columns: Columns, offsets: IntArray) -> FloatArray:
    a, b = task.load()
    _, right = task.number
    between = task.rows[0][0][:, offsets[right] : offsets[right + 1]].tocoo()
    rows = (between.row.astype(np.int64), between.col.astype(np.int64))
    out = np.zeros(columns.n_columns)
    if sp.issparse(a):
        mine = SparseRows(*columns.sparse(a))
        theirs = mine if b is a else SparseRows(*columns.sparse(b))
        sparse_differences(mine, theirs, rows, between.data, out)
        return out
    for lo in range(0, columns.n_columns, COLUMN_BLOCK):
        which = np.arange(lo, min(lo + COLUMN_BLOCK, columns.n_columns))
        own = columns.dense(a, which)
        other = own if b is a else columns.dense(b, which)
        dense_differences(own, other, rows, between.data, out[lo : lo + COLUMN_BLOCK])
    return out
