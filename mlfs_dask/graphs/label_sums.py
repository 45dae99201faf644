"""Sums of the columns over the rows of each label, tile by tile, the same bits in any order."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.exactsum import Cuts, cuts
from mlfs_dask.kernels.label_sums import add_csr, add_dense

_RUN = 1024  # dense columns taken at a time


def label_sums(
    source: Source, columns: Columns, summary: ColumnSummary, Y: ByteArray, executor: Executor
) -> FloatArray:
    """Sums of every column over the rows of each label, and over all rows.

    Parameters
    ----------
    source, columns, summary
        Rows without missing values, the columns made of them, and what is known of their features.
    Y : ndarray of uint8, shape (n_samples, n_labels)
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (2, n_labels + 1, n_columns)
        Heads and tails, whose sums are the sums wanted; the last row is over all rows. They lack
        less than n³ 2^-99 of the largest value of the column.

    Examples
    --------
    >>> from mlfs_dask.graphs.columns import make_columns
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> from mlfs_dask.graphs.source import as_source
    >>> from mlfs_dask.graphs.statistics import summarize_columns
    >>> rows, one = as_source(np.array([[1.0], [2.0], [4.0]])), InProcess(1)
    >>> summary = summarize_columns(rows)
    >>> Y = np.array([[1], [0], [1]], dtype=np.uint8)
    >>> label_sums(rows, make_columns(rows, summary, one), summary, Y, one).sum(axis=0).tolist()
    [[5.0], [7.0]]
    """
    largest = np.maximum(abs(summary.low), abs(summary.high))[columns.feature]
    if columns.scale is not None:
        largest = largest * columns.scale
    bound = np.where(np.isnan(columns.code), largest, 1.0)
    places = cuts(bound, source.n_samples)
    sums: FloatArray | None = None
    for part in executor.map(_add_tile, tile_tasks(source, Y), columns, executor.share(places)):
        sums = part if sums is None else np.add(sums, part, out=sums)
    return np.zeros((2, Y.shape[1] + 1, columns.n_columns)) if sums is None else sums


def _add_tile(task: TileTask, columns: Columns, places: Cuts) -> FloatArray:
    [block] = task.load()
    [[Y]] = task.rows
    sums = np.zeros((2, Y.shape[1] + 1, columns.n_columns))
    if sp.issparse(block):
        add_csr(*columns.sparse(block), Y, places, sums)
        return sums
    for lo in range(0, columns.n_columns, _RUN):
        hi = min(lo + _RUN, columns.n_columns)
        X, begin = columns.cut(block, lo, hi)
        part = np.zeros((2, Y.shape[1] + 1, hi - lo))
        add_dense(X, begin, Y, Cuts(places.head[lo:hi], places.tail[lo:hi]), part)
        sums[..., lo:hi] = part
    return sums
