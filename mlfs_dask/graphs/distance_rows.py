"""Squared distances of some rows to all training rows, without lists of the nearest.

They come by the same roads as in :mod:`mlfs_dask.graphs.search_tasks`, to the same bits; between
sparse rows there are lower bounds as well, for whoever can do with these.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, FloatArray
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.neighbor_tasks import (
    Plan,
    Rows,
    feature_parts,
    frozen,
    met_queries,
    met_strips,
    posting_strips,
    prepared,
    scaled,
    sealed,
    sparse_cells,
    sparse_rule,
    training_panels,
)
from mlfs_dask.graphs.source import load_block
from mlfs_dask.graphs.task_sizes import TRAINING_STRIP
from mlfs_dask.kernels.bits import distances_packed
from mlfs_dask.kernels.bounds import Strip, bounds_of
from mlfs_dask.kernels.distances import Columns
from mlfs_dask.kernels.meetings import distances_met
from mlfs_dask.kernels.neighbors import Window, distance_buffer, nothing_found, search_dense
from mlfs_dask.kernels.postings import POSTED_ROWS, Cells, distances_sparse

GROUP = 32
"""Queries that share training rows while these are in cache."""


def fill_distances(totals: AnyArray, some: Block, plan: Plan, train: Rows) -> int:
    """Squared distances of some rows to all training rows, over all features of a plan.

    Parameters
    ----------
    totals : ndarray, shape (n_some, >= n_train), changed
        Of float64; for 0/1 data of an unsigned type, at whose largest value sums stop.
    some : ndarray or csr_matrix, shape (n_some, n_features)
    plan, train
        How rows are compared; training rows.

    Returns
    -------
    int
        Pairs of rows that were looked at one by one.
    """
    if plan.rare is not None:
        listed, packed = met_queries(some, plan)
        base, looks = 0, 0
        for met in met_strips(train, plan):
            looks += distances_met(listed, packed, met, base, totals)
            base += met.posted.n_rows
        return looks
    if plan.layout is not None:
        queries = frozen(np.ascontiguousarray(prepared(some, plan).T))
        for base, panel in training_panels(train, plan):
            distances_packed(queries, frozen(panel), base, GROUP, totals)
    elif plan.sparse:
        rule = sealed(sparse_rule(plan))
        cells, held = sparse_cells(sp.csr_matrix(some), rule), np.empty(POSTED_ROWS)
        for base, postings in posting_strips(train, plan):
            distances_sparse(cells, postings, rule, base, totals, held)
    elif train.panel is not None:
        _fill_window(totals, some, plan, train.panel)
    else:
        for base, strip in _raw_strips(train):
            _fill_streamed(totals, some, plan, (base, strip))
    n_queries: int = some.shape[0]
    return n_queries * int(train.offsets[-1])


def fill_bounds(
    totals: FloatArray, queries: Cells, cells: Cells, plan: Plan, train: Rows
) -> tuple[FloatArray, int]:
    """Lower bounds of the squared distances of some sparse rows to all training rows.

    Parameters
    ----------
    totals : ndarray of float64, shape (n_queries, >= n_train), changed
    queries, cells
        From ``sparse_cells``; all training rows.
    plan, train
        How rows are compared; training rows.

    Returns
    -------
    slack : ndarray of float64, shape (n_queries,)
        What the distances of a query may exceed their bounds by.
    looks : int
        Pairs of rows that were looked at one by one.
    """
    slack, looks = np.zeros(len(queries.start) - 1), 0
    rule = sealed(sparse_rule(plan))
    for base, postings in posting_strips(train, plan):
        own = cells._replace(start=cells.start[base : base + postings.n_rows + 1])
        looks += bounds_of(queries, Strip(postings, own, base), rule, totals, slack)
    return slack, looks


def _fill_window(totals: AnyArray, some: Block, plan: Plan, panel: AnyArray) -> None:
    rule = plan.rule
    queries = frozen(np.ascontiguousarray(prepared(some, plan).T))
    columns = Columns(frozen(panel), rule.how, rule.bottom, rule.top)
    _advance(queries, columns, totals, Window(0, panel.shape[1], True, 0))


def _fill_streamed(totals: AnyArray, some: Block, plan: Plan, strip: tuple[int, Block]) -> None:
    base, rows = strip
    n = rows.shape[0]
    buffer = distance_buffer(some.shape[0], n, np.float64)
    for window, part, _ in feature_parts(plan.rule, n):
        queries = frozen(np.ascontiguousarray(scaled(some, part, plan.n_features).T))
        values = frozen(scaled(rows, part, plan.n_features))
        _advance(queries, Columns(values, part.how, part.bottom, part.top), buffer, window)
    totals[:, base : base + n] = buffer[:, :n]


def _advance(queries: AnyArray, columns: Columns, totals: AnyArray, window: Window) -> None:
    """Distances of all columns: a search that never looks."""
    nowhere, nobody = np.zeros(0, dtype=np.int64), np.zeros(len(queries), dtype=np.int64)
    found = nothing_found((len(queries), 0, 0), np.float64)
    search_dense(queries, columns, nowhere, 0, nobody, found, totals, window)


def _raw_strips(train: Rows) -> Iterator[tuple[int, Block]]:
    for base, item in zip(train.offsets.tolist(), train.items, strict=False):
        tile = load_block(item)
        for begin in range(0, tile.shape[0], TRAINING_STRIP):
            yield base + begin, tile[begin : begin + TRAINING_STRIP]
