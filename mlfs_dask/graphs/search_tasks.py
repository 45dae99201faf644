"""What runs in a task of :mod:`mlfs_dask.graphs.neighbors`: a block of queries, all training rows.

Five roads to the same lists: popcounts for 0/1 data; sizes and meetings for 0/1 rows of many
features; bounds and sums over stored cells for other sparse rows; sums of squares against a panel
of all training rows, or with training rows scaled strip by strip where a panel would be too big.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.neighbor_tasks import (
    Plan,
    QueryBlock,
    Rows,
    cell_strips,
    feature_parts,
    frozen,
    met_queries,
    met_strips,
    query_columns,
    query_rows,
    scaled,
    sealed,
    sparse_cells,
    sparse_rule,
    training_panels,
    wide_enough,
)
from mlfs_dask.graphs.source import load_block
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.task_sizes import TRAINING_STRIP
from mlfs_dask.kernels.bounds import search_bounded
from mlfs_dask.kernels.distances import Columns, DistanceRule
from mlfs_dask.kernels.meetings import MET_ROWS, search_met
from mlfs_dask.kernels.neighbors import (
    GROUP,
    NOBODY,
    PACKED_CHUNK,
    Found,
    Window,
    distance_buffer,
    nothing_found,
    search_dense,
    search_packed,
)
from mlfs_dask.kernels.postings import POSTED_ROWS


def search_block(
    block: QueryBlock,
    plan: Plan,
    train: Rows,
    rows: Rows,
    task: tuple[bool, int],
    finish: Callable[..., Any],
    *shared: Any,
) -> tuple[Any, int]:
    """Complete lists of a block of queries, and what ``finish`` makes of them.

    Parameters
    ----------
    block
        Which queries.
    plan, train, rows
        How rows are compared; training rows; the rows that the queries are among.
    task
        Whether queries are training rows themselves (never their own neighbours), and k.
    finish, *shared
        ``finish(found, block, *shared)`` makes the result.

    Returns
    -------
    result
    looks : int
        Pairs of rows that were looked at one by one, those of each point counted.

    Raises
    ------
    InputError
        Distances overflow.
    """
    leave_one_out, k = task
    n = block.last - block.first
    own = np.arange(block.first, block.last) if leave_one_out else np.full(n, NOBODY)
    looks = n * int(train.offsets[-1]) * len(plan.rule.stops)
    if k == 0:
        found = nothing_found((n, len(plan.rule.stops), 0), np.float64)
    elif plan.rare is not None:
        found, looks = _met_lists(query_rows(block, rows), own, plan, train, k)
    elif plan.layout is not None:
        found = _packed_lists(query_columns(block, rows, plan), own, plan, train, k)
    elif plan.sparse:
        found, looks = _sparse_lists(query_rows(block, rows), own, plan, train, k)
    elif train.panel is not None:
        found = _dense_lists(query_columns(block, rows, plan), own, plan.rule, train.panel, k)
    else:
        found = _streamed_lists(query_rows(block, rows), own, plan, train, k)
    if np.any(found.indices < 0):
        raise InputError(
            "squared distances overflow float64",
            hint='Scale the features: normalize = "minmax", or units of ordinary size.',
        )
    return finish(found, block, *shared), looks


def _packed_lists(columns: AnyArray, own: IntArray, plan: Plan, train: Rows, k: int) -> Found:
    """Lists by popcounts: in bytes, then once more in a wider type for queries that need it."""
    queries = np.ascontiguousarray(columns.T)
    found = _packed_lists_as(np.uint8, queries, own, plan, train, k)
    short = np.flatnonzero((found.indices[:, :, -1] < 0).any(axis=1))
    if len(short) == 0:
        return found
    wide = wide_enough(plan)
    again = _packed_lists_as(wide, queries[short], own[short], plan, train, k)
    distances: AnyArray = found.distances.astype(wide)
    distances[short], found.indices[short] = again
    return Found(distances, found.indices)


def _packed_lists_as(
    dtype: type, queries: AnyArray, own: IntArray, plan: Plan, train: Rows, k: int
) -> Found:
    assert plan.layout is not None
    stops = plan.layout.stops
    found = nothing_found((len(queries), len(stops), k), dtype)
    totals = distance_buffer(GROUP, PACKED_CHUNK, dtype)
    for base, panel in training_panels(train, plan):
        search_packed(frozen(queries), frozen(panel), stops, base, own, found, totals)
    return found


def _dense_lists(
    columns: AnyArray, own: IntArray, rule: DistanceRule, panel: AnyArray, k: int
) -> Found:
    """Lists by sums of squares against a panel of all training rows."""
    queries = frozen(np.ascontiguousarray(columns.T))
    n_train = panel.shape[1]
    found = nothing_found((len(queries), len(rule.stops), k), np.float64)
    totals = distance_buffer(len(queries), min(TRAINING_STRIP, n_train), np.float64)
    train = Columns(frozen(panel), rule.how, rule.bottom, rule.top)
    for begin, end in even_spans(n_train, TRAINING_STRIP):
        window = Window(begin, end, True, 0)
        search_dense(queries, train, rule.stops, 0, own, found, totals, window)
    return found


def _streamed_lists(rows: Block, own: IntArray, plan: Plan, train: Rows, k: int) -> Found:
    """Lists by sums of squares, training rows scaled strip by strip, by blocks of features."""
    n_queries = rows.shape[0]
    found = nothing_found((n_queries, len(plan.rule.stops), k), np.float64)
    totals = distance_buffer(n_queries, TRAINING_STRIP, np.float64)
    for offset, item in zip(train.offsets.tolist(), train.items, strict=False):
        tile = load_block(item)
        for begin in range(0, tile.shape[0], TRAINING_STRIP):
            strip = tile[begin : begin + TRAINING_STRIP]
            for window, part, stops in feature_parts(plan.rule, strip.shape[0]):
                queries = frozen(np.ascontiguousarray(scaled(rows, part, plan.n_features).T))
                values = frozen(scaled(strip, part, plan.n_features))
                columns = Columns(values, part.how, part.bottom, part.top)
                search_dense(queries, columns, stops, offset + begin, own, found, totals, window)
    return found


def _met_lists(rows: Block, own: IntArray, plan: Plan, train: Rows, k: int) -> tuple[Found, int]:
    """Lists by sizes and meetings."""
    assert plan.layout is not None
    assert plan.rare is not None
    dtype = wide_enough(plan)
    queries, packed = met_queries(rows, plan)
    stops = plan.rare.stops, plan.layout.stops
    found = nothing_found((rows.shape[0], len(plan.rule.stops), k), dtype)
    total = distance_buffer(1, MET_ROWS, dtype)[0]
    base = looks = 0
    for strip in met_strips(train, plan):
        looks += search_met(queries, packed, strip, stops, base, own, found, total)
        base += strip.posted.n_rows
    return found, looks


def _sparse_lists(rows: Block, own: IntArray, plan: Plan, train: Rows, k: int) -> tuple[Found, int]:
    """Lists by bounds and sums of squares over stored cells."""
    rule = sealed(sparse_rule(plan))
    queries = sparse_cells(sp.csr_matrix(rows), rule)
    found = nothing_found((rows.shape[0], len(rule.stops), k), np.float64)
    totals, looks = distance_buffer(2, POSTED_ROWS, np.float64), 0
    for strip in cell_strips(train, plan):
        looks += search_bounded(queries, strip, rule, own, found, totals)[0]
    return found, looks
