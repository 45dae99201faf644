"""What runs in a task of :mod:`mlfs_dask.graphs.neighbors`: a block of queries, all training rows.

Four roads to the same lists: popcounts for 0/1 data; postings for other sparse rows; sums of
squares against a panel of all training rows, or with training rows scaled strip by strip where a
panel would be too big.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import TileItem, load_block
from mlfs_dask.kernels.bits import BitLayout, pack_csr, pack_dense
from mlfs_dask.kernels.distances import Columns, DistanceRule, scale_csr, scale_dense
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
from mlfs_dask.kernels.postings import (
    POSTED_ROWS,
    Postings,
    SparseRule,
    post,
    rows_in_order,
    search_sparse,
)

T = TypeVar("T", bound=tuple[Any, ...])

PART_BYTES = 32 * 2**20
"""Size of a block of scaled columns where training rows are prepared strip by strip."""
STRIP = 4096
"""Training rows whose running distances a task holds."""


@dataclass(frozen=True)
class QueryBlock:
    """Consecutive queries of one task.

    Attributes
    ----------
    first, last : int
        Rows ``first:last`` of the queries.
    tile, begin : int
        They are the rows from ``begin`` on of this tile of the source.
    """

    first: int
    last: int
    tile: int
    begin: int


@dataclass(frozen=True, eq=False)
class Plan:
    """How rows are compared: what every task needs to know.

    Attributes
    ----------
    rule : DistanceRule
    layout : BitLayout or None
        Where the bits stand; None: distances are sums of squares.
    sparse : bool
        Only stored cells are touched.
    n_features : int
    """

    rule: DistanceRule
    layout: BitLayout | None
    sparse: bool
    n_features: int


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a source: references to its tiles, and all of them prepared where that is possible.

    Attributes
    ----------
    items : list of TileItem
        Empty where a panel takes their place.
    offsets : ndarray of int64, shape (n_tiles + 1,)
        Tile ``t`` holds rows ``offsets[t]:offsets[t + 1]``.
    panel : ndarray or None
        Prepared rows in columns, shape (n_bytes or n_kept, n_rows).
    strips : list of Postings or None
        Prepared sparse rows, up to ``POSTED_ROWS`` each.
    """

    items: list[TileItem]
    offsets: IntArray
    panel: AnyArray | None = None
    strips: list[Postings] | None = None


def prepared(block: Block, plan: Plan) -> AnyArray:
    """Rows in columns: packed bytes or scaled values, shape (n_bytes or n_kept, n_rows).

    Parameters
    ----------
    block : ndarray or csr_matrix, shape (n_rows, n_features)
    plan
        How rows are compared.
    """
    if plan.layout is None:
        return scaled(block, plan.rule, plan.n_features)
    if sp.issparse(block):
        packed = pack_csr(block.data, block.indices, block.indptr, plan.layout)
    else:
        packed = pack_dense(block, plan.layout)
    return np.ascontiguousarray(packed.T)


def prepare_tile(item: TileItem, plan: Plan) -> AnyArray:
    """Load a tile and prepare its rows; see :func:`prepared`."""
    return prepared(load_block(item), plan)


def stored_cells(item: TileItem) -> int:
    """Load a tile of CSR rows and count its stored cells."""
    return int(load_block(item).nnz)


def tile_postings(item: TileItem, plan: Plan) -> list[Postings]:
    """Load a tile of CSR rows and turn it into postings, strip by strip."""
    block = load_block(item)
    rule = sparse_rule(plan)
    strips = (block[begin : begin + POSTED_ROWS] for begin in range(0, block.shape[0], POSTED_ROWS))
    return [post(rows.data, rows.indices, rows.indptr, rule) for rows in strips]


def search_block(
    block: QueryBlock,
    plan: Plan,
    train: Rows,
    rows: Rows,
    task: tuple[bool, int],
    finish: Callable[..., Any],
    *shared: Any,
) -> Any:
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

    Raises
    ------
    InputError
        Distances overflow.
    """
    leave_one_out, k = task
    n = block.last - block.first
    own = np.arange(block.first, block.last) if leave_one_out else np.full(n, NOBODY)
    if k == 0:
        found = nothing_found((n, len(plan.rule.stops), 0), np.float64)
    elif plan.layout is not None:
        found = _packed_lists(query_columns(block, rows, plan), own, plan, train, k)
    elif plan.sparse:
        found = _sparse_lists(query_rows(block, rows), own, plan, train, k)
    elif train.panel is not None:
        found = _dense_lists(query_columns(block, rows, plan), own, plan.rule, train.panel, k)
    else:
        found = _streamed_lists(query_rows(block, rows), own, plan, train, k)
    if np.any(found.indices < 0):
        raise InputError(
            "squared distances overflow float64",
            hint='Scale the features: normalize = "minmax", or units of ordinary size.',
        )
    return finish(found, block, *shared)


def query_rows(block: QueryBlock, rows: Rows) -> Block:
    """Load the rows of a block as they are stored."""
    loaded = load_block(rows.items[block.tile])
    return loaded[block.begin : block.begin + block.last - block.first]


def query_columns(block: QueryBlock, rows: Rows, plan: Plan) -> AnyArray:
    """The rows of a block in columns; see :func:`prepared`."""
    if rows.panel is not None:
        return rows.panel[:, block.first : block.last]
    return prepared(query_rows(block, rows), plan)


def scaled(block: Block, rule: DistanceRule, n_features: int) -> FloatArray:
    """Rows in columns of scaled values, shape (n_kept, n_rows)."""
    if not sp.issparse(block):
        return scale_dense(block, rule.order, rule.shift, rule.span)
    place = _places(rule, n_features)
    return scale_csr(block.data, block.indices, block.indptr, place, rule.shift, rule.span)


def _places(rule: DistanceRule, n_features: int) -> IntArray:
    place = np.full(n_features, -1, dtype=np.int64)
    place[rule.order] = np.arange(len(rule.order))
    return place


def _packed_lists(columns: AnyArray, own: IntArray, plan: Plan, train: Rows, k: int) -> Found:
    """Lists by popcounts: in bytes, then once more in a wider type for queries that need it."""
    queries = np.ascontiguousarray(columns.T)
    found = _packed_lists_as(np.uint8, queries, own, plan, train, k)
    short = np.flatnonzero((found.indices[:, :, -1] < 0).any(axis=1))
    if len(short) == 0:
        return found
    wide = np.uint16 if len(plan.rule.order) < np.iinfo(np.uint16).max else np.uint32
    again = _packed_lists_as(wide, queries[short], own[short], plan, train, k)
    distances = found.distances.astype(wide)
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


def training_panels(train: Rows, plan: Plan) -> Iterator[tuple[int, AnyArray]]:
    """Prepared training rows with the index of the first, in index order."""
    if train.panel is not None:
        yield 0, train.panel
        return
    for base, item in zip(train.offsets.tolist(), train.items, strict=False):
        yield base, prepare_tile(item, plan)


def _dense_lists(
    columns: AnyArray, own: IntArray, rule: DistanceRule, panel: AnyArray, k: int
) -> Found:
    """Lists by sums of squares against a panel of all training rows."""
    queries = frozen(np.ascontiguousarray(columns.T))
    n_train = panel.shape[1]
    found = nothing_found((len(queries), len(rule.stops), k), np.float64)
    totals = distance_buffer(len(queries), min(STRIP, n_train), np.float64)
    train = Columns(frozen(panel), rule.how, rule.bottom, rule.top)
    for begin in range(0, n_train, STRIP):
        window = Window(begin, min(begin + STRIP, n_train), True, 0)
        search_dense(queries, train, rule.stops, 0, own, found, totals, window)
    return found


def _streamed_lists(rows: Block, own: IntArray, plan: Plan, train: Rows, k: int) -> Found:
    """Lists by sums of squares, training rows scaled strip by strip, by blocks of features."""
    n_queries = rows.shape[0]
    found = nothing_found((n_queries, len(plan.rule.stops), k), np.float64)
    totals = distance_buffer(n_queries, STRIP, np.float64)
    for offset, item in zip(train.offsets.tolist(), train.items, strict=False):
        tile = load_block(item)
        for begin in range(0, tile.shape[0], STRIP):
            strip = tile[begin : begin + STRIP]
            for window, part, stops in feature_parts(plan.rule, strip.shape[0]):
                queries = frozen(np.ascontiguousarray(scaled(rows, part, plan.n_features).T))
                values = frozen(scaled(strip, part, plan.n_features))
                columns = Columns(values, part.how, part.bottom, part.top)
                search_dense(queries, columns, stops, offset + begin, own, found, totals, window)
    return found


def _sparse_lists(rows: Block, own: IntArray, plan: Plan, train: Rows, k: int) -> Found:
    """Lists by sums of squares over stored cells."""
    rows = sp.csr_matrix(rows)
    rule = sparse_rule(plan)
    queries = rows_in_order(post(rows.data, rows.indices, rows.indptr, rule))
    found = nothing_found((rows.shape[0], len(rule.stops), k), np.float64)
    totals = distance_buffer(2, POSTED_ROWS, np.float64)
    base = 0
    for strip in training_strips(train, plan):
        search_sparse(queries, strip, rule, base, own, found, totals)
        base += strip.n_rows
    return found


def sparse_rule(plan: Plan) -> SparseRule:
    """The rule of a plan as kernels for stored cells know it."""
    rule = plan.rule
    place = _places(rule, plan.n_features)
    return SparseRule(place, rule.shift, rule.span, rule.how, rule.bottom, rule.top, rule.stops)


def training_strips(train: Rows, plan: Plan) -> Iterator[Postings]:
    """Postings of the training rows, in index order."""
    tiles = (tile_postings(item, plan) for item in train.items)
    strips = chain.from_iterable(tiles) if train.strips is None else train.strips
    for start, row, value, square, n_rows in strips:
        yield sealed(Postings(start, row, value, square, n_rows))


def feature_parts(
    rule: DistanceRule, n_rows: int
) -> Iterator[tuple[Window, DistanceRule, IntArray]]:
    """Blocks of features in the order of summation, with the stops that lie in each."""
    n_kept = len(rule.order)
    width = max(4, PART_BYTES // (8 * max(1, n_rows)))
    for begin in range(0, max(1, n_kept), width):
        end = min(begin + width, n_kept)
        # A stop at a border belongs to the block that ends there; a stop at 0 to the first.
        lowest = begin if begin else -1
        inside = (rule.stops > lowest) & (rule.stops <= end)
        point = int(np.searchsorted(rule.stops, lowest, side="right"))
        window = Window(0, n_rows, begin == 0, point)
        yield window, rule.part(begin, end), rule.stops[inside] - begin


def frozen(array: AnyArray) -> AnyArray:
    """A read-only view: arrays that come from other workers are so, and one type is one kernel."""
    view = array.view()
    view.flags.writeable = False
    return view


def sealed(arrays: T) -> T:
    """A named tuple of arrays and numbers with its arrays read-only; see :func:`frozen`."""
    views = (frozen(each) if isinstance(each, np.ndarray) else each for each in arrays)
    return type(arrays)(*views)
