"""Weighted means of columns and their scatter about them, in two passes over the tiles.

The second pass adds squares of deviations from the mean that the first one found, and takes back
what rounding left of their sum. No digits are lost however far from zero the values are; omitted
zeros of CSR columns enter by their weight.

Columns that are equal on all rows but those of next to no weight have a third pass: their scatter
is less than what the rounding of a mean makes of the heavy rows, so deviations are taken from the
value of the heaviest row, where all of these are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, FloatArray, IntArray, Normalize
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.rows import gather_rows
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.deviations import (
    Deviations,
    csr_deviations,
    csr_omitted,
    dense_deviations,
    zero_deviations,
)

_RUN = 1024  # dense columns taken at a time
_LITTLE = 1 / 16  # share of the whole weight below which a difference of weights is not trusted
_LOST = 1e-3  # share of the squares below which the rest of a difference has lost its digits


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
    sums = _sums(source, columns, weight, columns.shift, executor)
    omitted = np.zeros(columns.n_columns)
    if source.is_sparse:
        omitted = _omitted_weight(source, columns, weight, sums, executor)
    mean = columns.shift + (sums.first - omitted * columns.shift) / whole
    sums = _sums(source, columns, weight, mean, executor)
    scatter, lost = _about(mean, sums, omitted, whole)
    again = np.flatnonzero(lost & (columns.span > 0))
    if len(again):
        scatter[again] = scatter_about_heaviest(source, columns, again, weight, executor)
    scatter[columns.span == 0] = 0.0
    return Scatter(mean, scatter)


def scatter_about_heaviest(
    source: Source, columns: Columns, which: IntArray, weight: FloatArray, executor: Executor
) -> FloatArray:
    """Scatter of some columns about their weighted means, by deviations from the heaviest row.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    which : ndarray of int64
        Columns.
    weight : ndarray of float64, shape (n_samples,)
        At least 0, not all 0.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (len(which),)

    Notes
    -----
    A difference is taken, which loses a factor of ``sum(weight) / max(weight)`` at most, and none
    where the column is equal on all heavy rows. One pass over all columns.
    """
    centre, heaviest = columns.shift.copy(), np.array([np.argmax(weight)])
    [centre[which]] = gather_rows(source, columns, heaviest, which, executor)
    sums = _sums(source, columns, weight, centre, executor)
    omitted = np.zeros(columns.n_columns)
    if source.is_sparse:
        omitted = _omitted_weight(source, columns, weight, sums, executor)
    return _about(centre, sums, omitted, float(np.sum(weight)))[0][which]


def _about(
    centre: FloatArray, sums: Deviations, omitted: FloatArray, whole: float
) -> tuple[FloatArray, BoolArray]:
    """Scatter from deviations from a centre, and where that lost its digits."""
    rest, square = sums.first - omitted * centre, sums.second + omitted * centre * centre
    scatter = np.maximum(square - rest * rest / whole, 0.0)
    return scatter, scatter < _LOST * square


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
) -> Deviations:
    """Sums over all stored cells."""
    sums = zero_deviations(columns.n_columns)
    common = (columns, executor.share(centre))
    for part in executor.map(_deviations_of_tile, tile_tasks(source, weight), *common):
        for held, new in zip(sums, part, strict=True):
            held += new
    return sums


def _omitted_weight(
    source: Source, columns: Columns, weight: FloatArray, sums: Deviations, executor: Executor
) -> FloatArray:
    """Weight of the rows in which each column has no stored cell.

    It is what the stored cells leave of the whole. Where that is little, its digits are lost in the
    difference, while weights may span any number of powers of ten: there rows are added up.
    """
    whole = float(np.sum(weight))
    omitted = np.where(sums.stored < source.n_samples, whole - sums.weight, 0.0)
    light = np.flatnonzero((sums.stored < source.n_samples) & (omitted < _LITTLE * whole))
    if len(light):
        omitted[light] = 0.0
        for part in executor.map(_omitted_of_tile, tile_tasks(source, weight), columns, light):
            omitted[light] += part
    return omitted


def _omitted_of_tile(task: TileTask, columns: Columns, asked: IntArray) -> FloatArray:
    [block] = task.load()
    [[weight]] = task.rows
    omitted = np.zeros(len(asked))
    rows = columns.sparse(block)
    stored_in = np.full(columns.n_columns, -1, dtype=np.int64)
    csr_omitted(rows.indices, rows.indptr, weight, asked, stored_in, omitted)
    return omitted


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
