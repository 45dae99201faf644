"""What runs in a task of :mod:`mlfs_dask.graphs.subspaces`: a block of queries, all problems.

A problem's search goes on strip by strip as training rows pass by; the strip is loaded once and
prepared for each problem in turn, by the roads of :mod:`mlfs_dask.graphs.neighbor_tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.neighbor_tasks import (
    Plan,
    QueryBlock,
    Rows,
    frozen,
    prepared,
    query_rows,
    sealed,
    sparse_rule,
)
from mlfs_dask.graphs.source import TileItem, load_block
from mlfs_dask.graphs.task_sizes import PART_BYTES, TRAINING_STRIP
from mlfs_dask.kernels.distances import Columns
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
from mlfs_dask.kernels.postings import POSTED_ROWS, post, rows_in_order, search_sparse

# Training rows prepared for one problem: packed bytes or scaled values in columns, or postings.
Part: TypeAlias = Any
# Per strip of a tile: how many rows, and a part per problem.
PreparedTile: TypeAlias = "list[tuple[int, list[Part]]]"


@dataclass(frozen=True, eq=False)
class Tiles:
    """Training rows.

    Attributes
    ----------
    rows : Rows
        References to the tiles.
    parts : list of PreparedTile, or None
        All tiles prepared for all problems; None: that takes too much, they are prepared anew.
    """

    rows: Rows
    parts: list[PreparedTile] | None


def prepare_parts(item: TileItem, plans: Sequence[Plan]) -> PreparedTile:
    """Load a tile and prepare it for all problems.

    Parameters
    ----------
    item
        The tile.
    plans
        How rows are compared in each problem.
    """
    strips = _strips(load_block(item), plans)
    return [(strip.shape[0], [_part(strip, plan) for plan in plans]) for strip in strips]


def _strips(tile: Block, plans: Sequence[Plan]) -> Iterator[Block]:
    """Cut a tile so that a strip prepared for one problem takes at most `PART_BYTES`."""
    widest = max((len(p.rule.order) for p in plans if p.layout is None and not p.sparse), default=1)
    size = max(64, min(TRAINING_STRIP, PART_BYTES // (8 * max(1, widest))))
    if any(plan.sparse for plan in plans):
        size = min(size, POSTED_ROWS)
    for begin in range(0, tile.shape[0], size):
        yield tile[begin : begin + size]


def _part(strip: Block, plan: Plan) -> Part:
    if not plan.sparse:
        return prepared(strip, plan)
    return post(strip.data, strip.indices, strip.indptr, sealed(sparse_rule(plan)))


def search_subspaces(
    block: QueryBlock,
    plans: Sequence[Plan],
    train: Tiles,
    rows: Rows,
    task: tuple[bool, int],
    finish: Callable[..., Any],
    *shared: Any,
) -> Any:
    """Complete lists of a block of queries in all problems, and what ``finish`` makes of them.

    Parameters
    ----------
    block
        Which queries.
    plans, train, rows
        How rows are compared in each problem; training rows; the rows that the queries are among.
    task
        Whether queries are training rows themselves (never their own neighbours), and k.
    finish, *shared
        ``finish(found, block, *shared)`` makes the result of a list with one ``Found`` per problem.

    Raises
    ------
    InputError
        Distances overflow.
    """
    leave_one_out, k = task
    n = block.last - block.first
    own = np.arange(block.first, block.last) if leave_one_out else np.full(n, NOBODY)
    if k == 0:
        none = [nothing_found((n, len(plan.rule.stops), 0), np.float64) for plan in plans]
        return finish(none, block, *shared)
    queries = query_rows(block, rows)
    searches = [_Search(plan, _queries(queries, plan), own, k) for plan in plans]
    _pass_by(dict(enumerate(searches)), plans, train)
    short = {p: search.wider() for p, search in enumerate(searches) if search.falls_short}
    if short:
        _pass_by(short, plans, train)
        for p, wider in short.items():
            searches[p].take_over(wider)
    if any(np.any(search.found.indices < 0) for search in searches):
        raise InputError(
            "squared distances overflow float64",
            hint='Scale the features: normalize = "minmax", or units of ordinary size.',
        )
    return finish([search.found for search in searches], block, *shared)


def _queries(rows: Block, plan: Plan) -> Part:
    if plan.sparse:
        cells = sp.csr_matrix(rows)
        rule = sealed(sparse_rule(plan))
        return rows_in_order(post(cells.data, cells.indices, cells.indptr, rule))
    return frozen(np.ascontiguousarray(prepared(rows, plan).T))


def _pass_by(searches: Mapping[int, _Search], plans: Sequence[Plan], train: Tiles) -> None:
    """Let all training rows pass by, each tile loaded once; searches by problem."""
    base = 0
    for number, item in enumerate(train.rows.items):
        if train.parts is not None:
            for n_rows, parts in train.parts[number]:
                for problem, search in searches.items():
                    search.offer(base, n_rows, parts[problem])
                base += n_rows
            continue
        for strip in _strips(load_block(item), plans):
            for problem, search in searches.items():
                search.offer(base, strip.shape[0], _part(strip, plans[problem]))
            base += strip.shape[0]


class _Search:
    """Lists of some queries in the features of one problem, as training rows pass by."""

    def __init__(
        self,
        plan: Plan,
        queries: Part,
        own: IntArray,
        k: int,
        dtype: type = np.uint8,
    ) -> None:
        self._plan, self._queries, self._own, self._k = plan, queries, own, k
        self._dtype = dtype if plan.layout is not None else np.float64
        self.found = nothing_found((len(own), len(plan.rule.stops), k), self._dtype)
        self._short: IntArray = np.zeros(0, dtype=np.int64)

    def offer(self, base: int, n_rows: int, part: Part) -> None:
        """Meet training rows ``base:base + n_rows``."""
        rule, found, own = self._plan.rule, self.found, self._own
        if self._plan.layout is not None:
            totals = distance_buffer(GROUP, PACKED_CHUNK, self._dtype)
            stops = self._plan.layout.stops
            search_packed(self._queries, frozen(part), stops, base, own, found, totals)
        elif self._plan.sparse:
            totals = distance_buffer(2, POSTED_ROWS, np.float64)
            cells = sealed(sparse_rule(self._plan))
            search_sparse(self._queries, sealed(part), cells, base, own, found, totals)
        else:
            totals = distance_buffer(len(own), n_rows, np.float64)
            columns = Columns(frozen(part), rule.how, rule.bottom, rule.top)
            window = Window(0, n_rows, True, 0)
            search_dense(self._queries, columns, rule.stops, base, own, found, totals, window)

    @property
    def falls_short(self) -> bool:
        """Whether distances went beyond the type, so that some list isn't full."""
        if self._plan.layout is None:
            return False
        self._short = np.flatnonzero((self.found.indices[:, :, -1] < 0).any(axis=1))
        return len(self._short) > 0

    def wider(self) -> _Search:
        """The search of the queries that fell short, in a type that holds all distances."""
        wide = np.uint16 if len(self._plan.rule.order) < np.iinfo(np.uint16).max else np.uint32
        queries = np.ascontiguousarray(self._queries[self._short])
        return _Search(self._plan, frozen(queries), self._own[self._short], self._k, wide)

    def take_over(self, wider: _Search) -> None:
        """Put the lists of the queries that fell short in place."""
        distances: AnyArray = self.found.distances.astype(wider.found.distances.dtype)
        distances[self._short], self.found.indices[self._short] = wider.found
        self.found = Found(distances, self.found.indices)
