"""Sums of columns over groups of rows, and weighted moments, in one pass over the tiles.

Groups are label sets (each row in one) or labels (each row in several). Tiles are added from 0.0
in tile order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK, SUMS_BYTES
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.spectral import (
    Moments,
    csr_moments,
    dense_group_sums,
    dense_moments,
    zero_moments,
)

_SPARSE = 4  # sums are sparse if at most 1 in so many is not 0: then products of them are cheaper


def column_runs(source: Source, columns: Columns, n_groups: int) -> list[tuple[int, int]]:
    """Runs of columns whose sums per group fit `SUMS_BYTES`; CSR rows make one.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    n_groups
        Number of groups.
    """
    if source.is_sparse:
        return [(0, columns.n_columns)]
    blocks = max(1, SUMS_BYTES // (8 * max(n_groups, 1) * COLUMN_BLOCK))
    width = blocks * COLUMN_BLOCK
    return even_spans(columns.n_columns, width)


def group_sums(
    source: Source,
    columns: Columns,
    run: tuple[int, int],
    member: Any,
    weights: tuple[FloatArray, FloatArray],
    executor: Executor,
) -> tuple[Any, Moments, Moments]:
    """Sums per group and weighted moments of a run of columns.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    run
        First column and the one after the last.
    member : CSR matrix of ones, shape (n_samples, n_groups)
        Groups of each row.
    weights : two ndarrays of float64, shape (n_samples,)
        Weights of the two moments; the second is mostly 0.
    executor
        Where to run.

    Returns
    -------
    sums : ndarray or CSC matrix, shape (n_groups, n_run)
        Sums of g = f - shift; CSR rows whose sums are not mostly 0 give an ndarray, too.
    moments, others
        Weighted by the first and the second weight.
    """
    width = run[1] - run[0]
    shape = (member.shape[1], width)
    is_dense = not source.is_sparse or 8 * shape[0] * shape[1] <= SUMS_BYTES
    sums: Any = np.zeros(shape) if is_dense else sp.csr_matrix(shape)
    moments, others = zero_moments(width), zero_moments(width)
    tasks = tile_tasks(source, member, *weights)
    for present, part, *tile_moments in executor.map(_sum_tile, tasks, columns, run):
        if not is_dense:
            sums = sums + _place(part, present, shape[0])
        elif source.is_sparse:
            sums[np.repeat(present, np.diff(part.indptr)), part.indices] += part.data
        else:
            sums[present] += part
        for total, addend in zip((moments, others), tile_moments, strict=True):
            for held, new in zip(total, addend, strict=True):
                held += new
    if source.is_sparse and not (is_dense and np.count_nonzero(sums) > sums.size // _SPARSE):
        sums = sp.csc_matrix(sums)
    return sums, moments, others


def groups_of_tile(member: Any) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """The groups that occur in a tile, and which of them each row belongs to.

    Parameters
    ----------
    member : CSR matrix, shape (n_rows, n_groups), or ndarray of uint8, shape (n_rows, n_labels)
        Groups of each row; or labels of 0 and 1, whose groups are the rows that have each label,
        then those that lack it.

    Returns
    -------
    present : ndarray of int64
        Groups that occur, ascending.
    groups : two ndarrays of int64
        Row pointers and positions in ``present``, as in CSR.

    Examples
    --------
    >>> present, (pointers, local) = groups_of_tile(np.array([[1, 0], [1, 1]], dtype=np.uint8))
    >>> present.tolist(), pointers.tolist(), local.tolist()
    ([0, 1, 3], [0, 2, 4], [0, 2, 0, 1])
    """
    if sp.issparse(member):
        pointers, found, n_groups = member.indptr, member.indices, member.shape[1]
    else:
        n_rows, q = member.shape
        pointers, n_groups = np.arange(n_rows + 1) * q, 2 * q
        found = np.where(member, np.arange(q), np.arange(q, 2 * q)).ravel()
    present = np.flatnonzero(np.bincount(found, minlength=n_groups))
    place = np.zeros(n_groups, dtype=np.int64)
    place[present] = np.arange(len(present))
    return present, (pointers.astype(np.int64), place[found])


def _place(part: Any, present: IntArray, n_groups: int) -> Any:
    """Rows of ``part`` at the places of their groups."""
    lengths = np.zeros(n_groups, dtype=np.int64)
    lengths[present] = np.diff(part.indptr)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_matrix((part.data, part.indices, indptr), shape=(n_groups, part.shape[1]))


def _sum_tile(
    task: TileTask, columns: Columns, run: tuple[int, int]
) -> tuple[IntArray, Any, Moments, Moments]:
    [block] = task.load()
    [[member, weight, other]] = task.rows
    present, groups = groups_of_tile(member)
    start, stop = run
    moments, others = zero_moments(stop - start), zero_moments(stop - start)
    if sp.issparse(block):
        rows = columns.sparse(block)
        csr_moments(*rows, weight, moments)
        if other.any():
            csr_moments(*rows, other, others)
        ones = np.ones(len(groups[1]))
        picks = sp.csr_matrix((ones, groups[1], groups[0]), shape=(len(weight), len(present)))
        X = sp.csr_matrix(tuple(rows), shape=(len(weight), columns.n_columns))
        # Products of CSR matrices add in row order, as the dense kernel does.
        part = sp.csr_matrix(picks.T) @ X
        part.sort_indices()
        return present, part, moments, others
    X, begin = columns.cut(block, start, stop)
    shift = columns.shift[start:stop]
    by_group = np.zeros((len(present), stop - start))
    dense_moments(X, begin, weight, shift, moments)
    dense_group_sums(X, begin, groups, shift, by_group)
    if other.any():
        dense_moments(X, begin, other, shift, others)
    return present, by_group, moments, others
