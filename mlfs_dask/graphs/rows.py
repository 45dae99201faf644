"""Chosen rows of a source, as dense columns."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, TileTasks


def gather_rows(
    source: Source, columns: Columns, rows: IntArray, which: IntArray, executor: Executor
) -> FloatArray:
    """Some columns of some rows.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    rows : ndarray of int64, shape (n_chosen,)
        Row positions in any order, repetitions allowed.
    which : ndarray of int64
        Columns.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (n_chosen, len(which))
    """
    distinct, places = np.unique(rows, return_inverse=True)
    marked = np.zeros(source.n_samples, dtype=bool)
    marked[distinct] = True
    tiles = np.unique(np.searchsorted(source.offsets, distinct, side="right") - 1)
    tasks = TileTasks(source, [(int(t),) for t in tiles], marked)
    parts = list(executor.map(_pick, tasks, columns, which))
    found = np.concatenate(parts) if parts else np.zeros((0, len(which)))
    return found[places.ravel()]


def _pick(task: TileTask, columns: Columns, which: IntArray) -> FloatArray:
    [block] = task.load()
    [[marked]] = task.rows
    return columns.dense(block[np.flatnonzero(marked)], which)
