"""Scatter of columns inside the classes of many two-class problems, without a pass for each.

::

    label l against the rest    sums per label         n_labels rows of sums, closed form
    label a against label b     sums per label set     a class is a union of label sets

Differences that lost digits are found, and their columns summed once more from terms that are not
negative, shifted by values that occur in the same class or label set (as in
:mod:`mlfs_dask.graphs.scatter`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.groups import column_runs, group_sums, groups_of_tile
from mlfs_dask.graphs.labelsets import sets_of_rows
from mlfs_dask.graphs.laplacian import CANCELLED
from mlfs_dask.graphs.products import sparse_columns
from mlfs_dask.graphs.rows import gather_rows
from mlfs_dask.graphs.scatter import sides_of_labels
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.task_sizes import SUMS_BYTES
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.hitmiss import count_of_pairs, rows_apart
from mlfs_dask.kernels.labelsets import LabelSets, find_label_sets
from mlfs_dask.kernels.pairsums import (
    SetTables,
    carriers_of,
    csr_group_extremes,
    dense_group_extremes,
    dense_pairs,
    pair_extremes,
    sparse_pairs,
)
from mlfs_dask.kernels.spectral import dense_scatter_sums


@dataclass(frozen=True, eq=False)
class ProblemTerms:
    """What is known of each column in each problem.

    Attributes
    ----------
    within : ndarray of float64, shape (n_problems, n_columns)
        Scatter about the means of the two classes.
    square : ndarray of float64, shape (n_problems, n_columns)
        Sum of squares of the values as they are.
    scatter : ndarray of float64, shape (n_problems, n_columns)
        Scatter about the mean of all rows of the problem.
    """

    within: FloatArray
    square: FloatArray
    scatter: FloatArray


def label_terms(
    source: Source, summary: ColumnSummary, columns: Columns, Y: ByteArray, executor: Executor
) -> ProblemTerms:
    """Terms of each label against the rest.

    Parameters
    ----------
    source, summary, columns
        Rows, what is known of their features, and the columns made of them.
    Y : ndarray of uint8, shape (n_samples, n_labels)
    executor
        Where to run.

    Returns
    -------
    ProblemTerms
        A row per label; those of a label that all rows have, or none, mean nothing.
    """
    shape = (Y.shape[1], columns.n_columns)
    terms = ProblemTerms(np.empty(shape), np.empty(shape), np.empty(shape))
    member = sp.csr_matrix(Y)
    weights = np.ones(len(Y)), np.zeros(len(Y))
    binary = _binary(summary, columns)
    again = np.zeros(columns.n_columns, dtype=bool)
    for start, stop in column_runs(source, columns, Y.shape[1]):
        run = slice(start, stop)
        sums, moments, _ = group_sums(source, columns, (start, stop), member, weights, executor)
        held = sums.toarray() if sp.issparse(sums) else sums
        for label, n_1 in enumerate(Y.sum(axis=0, dtype=np.int64).tolist()):
            n_0 = len(Y) - n_1
            if n_0 == 0 or n_1 == 0:
                continue
            has, lacks = held[label], moments.g - held[label]
            within = moments.gg - has * has / n_1 - lacks * lacks / n_0
            exact = _scatter_of_ones(has, n_1) + _scatter_of_ones(lacks, n_0)
            within = np.where(binary[run], exact, within)
            gap = has / n_1 - lacks / n_0
            terms.within[label, run] = within
            terms.square[label, run] = moments.ff
            terms.scatter[label, run] = within + n_1 * n_0 / len(Y) * gap * gap
            again[run] |= ~binary[run] & (moments.gg > 0) & (within <= CANCELLED * moments.gg)
    _sum_labels_again(source, columns, np.flatnonzero(again), Y, terms, executor)
    return terms


def _scatter_of_ones(total: FloatArray, rows: int) -> FloatArray:
    """Scatter of values 0 and 1 (or 0 and -1) by their sum: no digits are lost."""
    ones = np.abs(total)
    scatter: FloatArray = ones * (rows - ones) / rows
    return scatter


def _binary(summary: ColumnSummary, columns: Columns) -> BoolArray:
    """Columns of 0 and 1, shifted or not."""
    binary: BoolArray = ~np.isnan(columns.code) | summary.binary[columns.feature]
    return binary


def _sum_labels_again(
    source: Source,
    columns: Columns,
    which: IntArray,
    Y: ByteArray,
    terms: ProblemTerms,
    executor: Executor,
) -> None:
    q, n = Y.shape[1], len(Y)
    mass, first = sides_of_labels(Y)
    for part in _parts(which, 2 * q):
        base = gather_rows(source, columns, first, part, executor)
        tables = _group_tables(source, columns, part, Y, base, mass, executor)
        within = tables.inside[:q] + tables.inside[q:]
        gap = (base[:q] - base[q:]) + (tables.rest[:q] - tables.rest[q:])
        between = (mass[:q] * mass[q:] / n)[:, None] * gap * gap
        terms.within[:, part] = within
        terms.scatter[:, part] = within + between


def pair_terms(
    source: Source, summary: ColumnSummary, columns: Columns, Y: ByteArray, executor: Executor
) -> ProblemTerms:
    """Terms of label a against label b on the rows with exactly one of them, for all pairs.

    Parameters
    ----------
    source, summary, columns, Y, executor
        As in :func:`label_terms`.

    Returns
    -------
    ProblemTerms
        A row per pair (a, b), a < b, in lexicographic order; those of a pair without rows in one
        of the classes mean nothing.
    """
    sets = find_label_sets(Y)
    shape = (count_of_pairs(Y.shape[1]), columns.n_columns)
    terms = ProblemTerms(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    which = np.arange(columns.n_columns)
    if source.is_sparse:
        which = _sparse_pair_terms(source, summary, columns, sets, Y, terms, executor)
    carriers = carriers_of(Y[sets.first])
    for part in _parts(which, sets.n_sets):
        base = gather_rows(source, columns, sets.first, part, executor)
        member = sets_of_rows(sets)
        tables = _group_tables(source, columns, part, member, base, sets.counts, executor)
        found = [np.empty((shape[0], len(part))) for _ in range(3)]
        dense_pairs(tables, carriers, *found)
        terms.within[:, part], terms.square[:, part], terms.scatter[:, part] = found
    return terms


def _sparse_pair_terms(
    source: Source,
    summary: ColumnSummary,
    columns: Columns,
    sets: LabelSets,
    Y: ByteArray,
    terms: ProblemTerms,
    executor: Executor,
) -> IntArray:
    """Terms by stored cells; returns the columns that have to be summed once more."""
    shape = (sets.n_sets, columns.n_columns)
    sums, squares = sp.csr_matrix(shape), sp.csr_matrix(shape)
    for one, two in executor.map(_cell_sums, tile_tasks(source, sets_of_rows(sets)), columns):
        sums, squares = sums + one, squares + two
    cancelled = np.zeros(columns.n_columns, dtype=bool)
    sparse_pairs(
        sparse_columns(sums.tocsc()),
        sparse_columns(squares.tocsc()),
        Y[sets.first],
        rows_apart(Y),
        _binary(summary, columns),
        (terms.within, terms.square, terms.scatter),
        cancelled,
    )
    return np.flatnonzero(cancelled)


def _cell_sums(task: TileTask, columns: Columns) -> tuple[Any, Any]:
    """Sums of values and of squares per label set, rows in order."""
    [block] = task.load()
    [[member]] = task.rows
    rows = columns.sparse(block)
    shape = (block.shape[0], columns.n_columns)
    picks = sp.csr_matrix(member.T)
    X = sp.csr_matrix(tuple(rows), shape=shape)
    squared = sp.csr_matrix((rows.data * rows.data, rows.indices, rows.indptr), shape=shape)
    return picks @ X, picks @ squared


def _parts(which: IntArray, n_groups: int) -> list[IntArray]:
    width = max(1, SUMS_BYTES // (40 * max(n_groups, 1)))
    return [which[lo : lo + width] for lo in range(0, len(which), width)]


def _group_tables(
    source: Source,
    columns: Columns,
    which: IntArray,
    member: Any,
    base: FloatArray,
    mass: IntArray,
    executor: Executor,
) -> SetTables:
    total, shifted, square = (np.zeros(base.shape) for _ in range(3))
    tasks = tile_tasks(source, member)
    for present, *parts in executor.map(_table_tile, tasks, columns, which, executor.share(base)):
        for held, part in zip((total, shifted, square), parts, strict=True):
            held[present] += part
    rest = total / np.maximum(mass, 1)[:, None]
    return SetTables(base, rest, np.maximum(shifted - total * rest, 0.0), square, mass)


def _table_tile(
    task: TileTask, columns: Columns, which: IntArray, base: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    [block] = task.load()
    [[member]] = task.rows
    present, groups = groups_of_tile(member)
    total, shifted, plain, square = (np.zeros((len(present), len(which))) for _ in range(4))
    X = columns.dense(block, which)
    dense_scatter_sums(X, groups, base[present], total, shifted)
    dense_scatter_sums(X, groups, np.zeros_like(total), plain, square)
    return present, total, shifted, square


def pair_constants(source: Source, Y: ByteArray, executor: Executor) -> BoolArray:
    """Features with one value on the rows that have exactly one of two labels.

    Parameters
    ----------
    source
        Rows without missing values.
    Y : ndarray of uint8, shape (n_samples, n_labels)
    executor
        Where to run.

    Returns
    -------
    ndarray of bool, shape (n_pairs, n_features)
        True as well where there is no such row.
    """
    sets, d = find_label_sets(Y), source.n_features
    carriers = carriers_of(Y[sets.first])
    constant = np.empty((count_of_pairs(Y.shape[1]), d), dtype=bool)
    for part in _parts(np.arange(d), sets.n_sets):
        run = int(part[0]), int(part[-1]) + 1
        shape = (sets.n_sets, len(part))
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        stored = np.zeros(shape, dtype=np.int64)
        for present, *parts in executor.map(_extremes, tile_tasks(source, sets.codes), run):
            low[present] = np.minimum(low[present], parts[0])
            high[present] = np.maximum(high[present], parts[1])
            stored[present] += parts[2]
        if source.is_sparse:
            omitted = stored < sets.counts[:, None]
            low = np.where(omitted, np.minimum(low, 0.0), low)
            high = np.where(omitted, np.maximum(high, 0.0), high)
        found = np.empty((len(constant), len(part)), dtype=bool)
        pair_extremes(low, high, carriers, found)
        constant[:, part] = found
    return constant


def _extremes(
    task: TileTask, run: tuple[int, int]
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    [block] = task.load()
    [[codes]] = task.rows
    present, local = np.unique(codes, return_inverse=True)
    shape = (len(present), run[1] - run[0])
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    stored = np.zeros(shape, dtype=np.int64)
    groups = local.ravel().astype(np.int64)
    if sp.issparse(block):
        csr_group_extremes(
            (block.data, block.indices, block.indptr), groups, run[0], low, high, stored
        )
    else:
        dense_group_extremes(block, groups, run[0], low, high)
    return present, low, high, stored
