"""Weighted means of columns and their scatter about them, in two passes over the tiles.

The second pass adds squares of deviations from the mean that the first one found, and takes back
what rounding left of their sum. No digits are lost however far from zero the values are; omitted
zeros of CSR columns enter by their weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray, Normalize
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.deviations import (
    Deviations,
    csr_deviations,
    dense_deviations,
    zero_deviations,
)

_RUN = 1024  # dense columns taken at a time


class Scatter(NamedTuple):
    """Centre and spread of every column.

    Attributes
    ----------
    mean : ndarray of float64, shape (n_columns,)
    scatter : ndarray of float64, shape (n_columns,)
        ``sum of w (f - mean)²``.
    """

    mean: FloatArray
    scatter: FloatArray


def column_scatter(
    source: Source, columns: Columns, weight: FloatArray, executor: Executor
) -> Scatter:
    """Weighted mean and scatter of every column.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    weight : ndarray of float64, shape (n_samples,)
        At least 0; means are taken as 0 where all weights are.
    executor
        Where to run.

    Examples
    --------
    >>> from mlfs_dask.graphs.columns import make_columns
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> from mlfs_dask.graphs.source import as_source
    >>> from mlfs_dask.graphs.statistics import summarize_columns
    >>> rows, one = as_source(np.array([[1e9 + 1], [1e9 + 2], [1e9 + 3]])), InProcess(1)
    >>> columns = make_columns(rows, summarize_columns(rows), one)
    >>> column_scatter(rows, columns, np.ones(3), one).scatter.tolist()
    [2.0]
    """
    whole = float(np.sum(weight))
    if whole == 0.0:
        return Scatter(np.zeros(columns.n_columns), np.zeros(columns.n_columns))
    first, _ = _sums(source, columns, weight, columns.shift, executor)
    mean = columns.shift + first / whole
    rest, square = _sums(source, columns, weight, mean, executor)
    return Scatter(mean, np.maximum(square - rest * rest / whole, 0.0))


def divisors(columns: Columns, normalize: Normalize) -> FloatArray:
    """What columns are divided by to be normalized; 1 for constant ones.

    Parameters
    ----------
    columns
        The columns.
    normalize
        ``"minmax"``: their ranges; ``"none"``: the powers of two that they were multiplied by.

    Returns
    -------
    ndarray of float64, shape (n_columns,)
    """
    if normalize == "minmax":
        return np.where(columns.span > 0, columns.span, 1.0)
    return np.ones(columns.n_columns) if columns.scale is None else columns.scale


def _sums(
    source: Source, columns: Columns, weight: FloatArray, centre: FloatArray, executor: Executor
) -> tuple[FloatArray, FloatArray]:
    """Sums of deviations from a centre and of their squares, over all rows."""
    sums = zero_deviations(columns.n_columns)
    common = (columns, executor.share(centre))
    for part in executor.map(_deviations_of_tile, tile_tasks(source, weight), *common):
        for held, new in zip(sums, part, strict=True):
            held += new
    if not source.is_sparse:
        return sums.first, sums.second
    # The difference of the weights is rounding noise where nothing is omitted.
    whole = float(np.sum(weight))
    omitted = np.where(sums.stored < source.n_samples, whole - sums.weight, 0.0)
    return sums.first - omitted * centre, sums.second + omitted * centre * centre


def _deviations_of_tile(task: TileTask, columns: Columns, centre: FloatArray) -> Deviations:
    [block] = task.load()
    [[weight]] = task.rows
    sums = zero_deviations(columns.n_columns)
    if sp.issparse(block):
        csr_deviations(*columns.sparse(block), weight, centre, sums)
        return sums
    for lo in range(0, columns.n_columns, _RUN):
        part = slice(lo, min(lo + _RUN, columns.n_columns))
        X, begin = columns.cut(block, part.start, part.stop)
        run = Deviations(sums.first[part], sums.second[part], sums.weight[part], sums.stored[part])
        dense_deviations(X, begin, weight, centre[part], run)
    return sums
