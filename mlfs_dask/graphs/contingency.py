"""Contingency tables of feature bins with groups of rows, as exact integer products.

A group is a label, a pair of labels, a label inside a bin of another feature: any 0/1 column over
the rows. Each tile multiplies the 0/1 columns of its bins by those of the groups, dense rows as
packed words (64 rows in one operation), CSR rows as a sparse product of their stored cells; the
counts of base bins are what the others leave over. Integers: any order gives the same tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.discretize import (
    Bins,
    bins_of_cells,
    common_counts,
    pack_bins,
    pack_columns,
)


@dataclass(frozen=True, eq=False)
class Contingency:
    """How many rows are in each bin and in each group.

    Attributes
    ----------
    joint : ndarray of int64, shape (n_bins, n_groups)
        Rows in the bin and in the group.
    bins : ndarray of int64, shape (n_bins,)
        Rows in the bin.
    groups : ndarray of int64, shape (n_groups,)
        Rows in the group.
    n_samples : int
    """

    joint: IntArray
    bins: IntArray
    groups: IntArray
    n_samples: int


def contingency(source: Source, bins: Bins, groups: Any, executor: Executor) -> Contingency:
    """Count the rows of every bin of every feature in every group.

    Parameters
    ----------
    source, bins
        Rows and the bins of their features.
    groups : ndarray or CSR matrix of 0 and 1, shape (n_samples, n_groups)
    executor
        Where to run.

    Examples
    --------
    >>> from mlfs_dask.graphs.discretize import find_bins
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> from mlfs_dask.graphs.source import as_source
    >>> from mlfs_dask.graphs.statistics import summarize_columns
    >>> rows, one = as_source(np.array([[4.0], [1], [3], [2]])), InProcess(1)
    >>> bins = find_bins(rows, summarize_columns(rows), one)
    >>> contingency(rows, bins, np.array([[1], [0], [1], [1]]), one).joint.tolist()
    [[1], [2]]
    """
    n_groups = groups.shape[1]
    counts = np.zeros((bins.n_bins, n_groups + 1), dtype=np.int64)
    totals = np.zeros(n_groups + 1, dtype=np.int64)
    tasks = tile_tasks(source, groups)
    for part, total in executor.map(_count_tile, tasks, executor.share(bins)):
        if sp.issparse(part):
            entries = part.tocoo()
            counts[entries.row, entries.col] += entries.data
        else:
            counts += part
        totals += total
    if bins.n_features:
        # So far the base bins are empty.
        counts[bins.base] = totals - np.add.reduceat(counts, bins.start[:-1], axis=0)
    return Contingency(counts[:, :-1], counts[:, -1], totals[:-1], source.n_samples)


def _count_tile(task: TileTask, bins: Bins) -> tuple[Any, IntArray]:
    [block] = task.load()
    [[groups]] = task.rows
    everyone = np.ones((block.shape[0], 1), dtype=np.int64)
    if sp.issparse(block):
        member = sp.hstack([sp.csr_matrix(groups, dtype=np.int64), everyone], format="csr")
        total = np.asarray(member.sum(axis=0), dtype=np.int64).ravel()
        return sp.csr_matrix(listed_bins(block, bins).T) @ sp.csr_matrix(member), total
    member = np.hstack([groups.toarray() if sp.issparse(groups) else groups, everyone])
    return common_counts(pack_bins(block, bins), pack_columns(member)), member.sum(axis=0)


def listed_bins(block: Block, bins: Bins) -> Any:
    """The bins of CSR rows, but for the base bins.

    Parameters
    ----------
    block : CSR matrix, shape (n_rows, n_features)
    bins
        Bins of the features.

    Returns
    -------
    CSR matrix of ones, shape (n_rows, n_bins)
    """
    found = bins_of_cells(block.data, block.indices, bins)
    kept = found != bins.base[block.indices]
    upto = np.concatenate([[0], np.cumsum(kept)])
    ones = np.ones(int(upto[-1]), dtype=np.int64)
    shape = (block.shape[0], bins.n_bins)
    return sp.csr_matrix((ones, found[kept], upto[block.indptr]), shape=shape)
