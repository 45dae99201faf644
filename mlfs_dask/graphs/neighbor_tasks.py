"""Rows prepared for comparison, as tasks of :mod:`mlfs_dask.graphs.neighbors` need them.

Packed bytes or scaled columns in a panel of all rows; postings of sparse rows, strip by strip, with
the commonest of 0/1 features packed beside them; or tiles from which a task makes any of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import TileItem, load_block
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.task_sizes import PART_BYTES
from mlfs_dask.kernels.bits import BitLayout, pack_csr, pack_dense
from mlfs_dask.kernels.bounds import Strip
from mlfs_dask.kernels.cell_gaps import cells_of
from mlfs_dask.kernels.distances import DistanceRule, scale_csr, scale_dense
from mlfs_dask.kernels.meetings import MET_ROWS, Listed, Met, list_ones, post_ones
from mlfs_dask.kernels.neighbors import GROUP, Window
from mlfs_dask.kernels.postings import (
    POSTED_ROWS,
    Cells,
    Postings,
    SparseRule,
    post,
    rows_in_order,
)

_ROWS, _MANY_ROWS = 512, 1024  # queries per task

T = TypeVar("T", bound=tuple[Any, ...])


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


def query_blocks(
    offsets: IntArray,
    n_workers: int,
    *,
    streamed: bool,
    packed: bool = False,
    most: int = _MANY_ROWS,
    least: int = 1,
) -> list[QueryBlock]:
    """Cut the rows of a source into blocks for tasks; a block lies inside one tile.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_tiles + 1,)
        See :class:`~mlfs_dask.graphs.source.Source`.
    n_workers
        Blocks are made small enough to keep them all busy.
    streamed
        Every task prepares the training rows anew: larger blocks pay.
    packed
        Distances are small integers: those of more rows stay near the core.
    most, least
        Rows of a block; where the bounds disagree the smaller counts.

    Examples
    --------
    >>> blocks = query_blocks(np.array([0, 100, 150]), 2, streamed=True)
    >>> [(block.first, block.last, block.tile, block.begin) for block in blocks]
    [(0, 100, 0, 0), (100, 150, 1, 0)]
    """
    rows = _MANY_ROWS if streamed or packed else _ROWS
    if not streamed:
        share = -(-int(offsets[-1]) // (4 * n_workers))
        rows = min(rows, max(8 * GROUP, least, -(-share // GROUP) * GROUP))
    rows = min(rows, most)
    bounds = enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    return [
        QueryBlock(start + begin, start + stop, tile, begin)
        for tile, (start, end) in bounds
        for begin, stop in even_spans(end - start, rows)
    ]


class Rare(NamedTuple):
    """The features of 0/1 rows that few rows have; the others have a bit in the layout.

    Attributes
    ----------
    place : ndarray of int64, shape (n_features,)
        Position of each among them in the order of summation, -1 for other features.
    stops : ndarray of int64, shape (n_points,)
        How many of them count at each point.
    """

    place: IntArray
    stops: IntArray


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
    rare : Rare or None
        Features that are met rather than compared bit by bit.
    """

    rule: DistanceRule
    layout: BitLayout | None
    sparse: bool
    n_features: int
    rare: Rare | None = None


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
    strips : list of Postings or of Met, or None
        Prepared sparse rows, up to ``POSTED_ROWS`` or ``MET_ROWS`` each.
    """

    items: list[TileItem]
    offsets: IntArray
    panel: AnyArray | None = None
    strips: list[Any] | None = None


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


def tile_strips(item: TileItem, plan: Plan) -> list[Any]:
    """Load a tile of CSR rows and turn it into postings, strip by strip."""
    block = load_block(item)
    size = POSTED_ROWS if plan.rare is None else MET_ROWS
    strips = (sp.csr_matrix(block[at : at + size]) for at in range(0, block.shape[0], size))
    if plan.rare is None:
        rule = sealed(sparse_rule(plan))
        return [post(rows.data, rows.indices, rows.indptr, rule) for rows in strips]
    return [Met(_posted(rows, plan.rare), prepared(rows, plan)) for rows in strips]


def _posted(rows: sp.csr_matrix, rare: Rare) -> Any:
    n_rare = int(np.count_nonzero(rare.place >= 0))
    return post_ones(rows.data, rows.indices, rows.indptr, frozen(rare.place), n_rare)


def met_queries(rows: Block, plan: Plan) -> tuple[Listed, AnyArray]:
    """0/1 rows as they are met: the rare ones listed, the others packed."""
    assert plan.rare is not None
    listed = list_ones(sealed(_posted(sp.csr_matrix(rows), plan.rare)))
    return sealed(listed), frozen(np.ascontiguousarray(prepared(rows, plan).T))


def sparse_cells(rows: sp.csr_matrix, rule: SparseRule) -> Cells:
    """CSR rows by their stored cells."""
    posted = sealed(post(rows.data, rows.indices, rows.indptr, rule))
    return sealed(cells_of(sealed(rows_in_order(posted)), rule))


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


def training_panels(train: Rows, plan: Plan) -> Iterator[tuple[int, AnyArray]]:
    """Prepared training rows with the index of the first, in index order."""
    if train.panel is not None:
        yield 0, train.panel
        return
    for base, item in zip(train.offsets.tolist(), train.items, strict=False):
        yield base, prepare_tile(item, plan)


def sparse_rule(plan: Plan) -> SparseRule:
    """The rule of a plan as kernels for stored cells know it."""
    rule = plan.rule
    place = _places(rule, plan.n_features)
    return SparseRule(place, rule.shift, rule.span, rule.how, rule.bottom, rule.top, rule.stops)


def _training_strips(train: Rows, plan: Plan) -> Iterator[Any]:
    """Prepared strips of the training rows, in index order."""
    if train.strips is not None:
        return iter(train.strips)
    return chain.from_iterable(tile_strips(item, plan) for item in train.items)


def posting_strips(train: Rows, plan: Plan) -> Iterator[tuple[int, Postings]]:
    """Sparse training rows as postings with the index of the first, in index order."""
    base = 0
    for start, row, value, square, n_rows in _training_strips(train, plan):
        yield base, sealed(Postings(start, row, value, square, n_rows))
        base += n_rows


def cell_strips(train: Rows, plan: Plan) -> Iterator[Strip]:
    """As :func:`posting_strips`, with the rows by their cells."""
    rule = sealed(sparse_rule(plan))
    for base, postings in posting_strips(train, plan):
        cells = sealed(cells_of(sealed(rows_in_order(postings)), rule))
        yield Strip(postings, cells, base)


def met_strips(train: Rows, plan: Plan) -> Iterator[Met]:
    """0/1 training rows as they are met, in index order."""
    for posted, columns in _training_strips(train, plan):
        yield Met(sealed(posted), frozen(columns))


def wide_enough(plan: Plan) -> type:
    """An unsigned type in which no distance of 0/1 rows is the largest value."""
    return np.uint16 if len(plan.rule.order) < np.iinfo(np.uint16).max else np.uint32


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
