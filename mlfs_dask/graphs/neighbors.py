"""Exact nearest neighbours: blocks of queries against tiles of training rows.

::

    training tiles ──prepare──> panel (packed bytes or scaled columns) or postings (sparse rows),
                                shared with all workers
    query block ──────────────> lists of the k nearest, per point of a curve ──finish──> result

A task owns a block of queries and meets all training rows in index order, so its lists are complete
when it ends: nothing is merged, nothing depends on how many workers there are. What a task returns
is up to ``finish`` (label counts, tables): small things cross the wire.

Sparse rows meet only the rows that store one of their features: distances of 0/1 rows are counted
from what they share, others are bounded by it and summed in full where a bound can't decide. Up to
``BRUTE_FEATURES`` 0/1 features are compared bit by bit, which takes no longer.

Memory: training rows are prepared once if that takes at most ``PREPARED_BYTES`` (0/1 data: one bit
per feature, or 2 bytes per stored cell; other sparse rows: 20 bytes per stored cell; else 8 bytes
per cell); more are prepared strip
by strip inside each task, by feature blocks of at most 32 MiB. A task's own buffers are a block of
queries and its running distances to 4,096 rows, below 80 MiB. Tiles of a dask array are fetched to
the caller when they cannot be prepared once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray, Normalize
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.budget import room
from mlfs_dask.graphs.distance_checks import checked_order, known_of_both
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.neighbor_tasks import (
    Plan,
    QueryBlock,
    Rare,
    Rows,
    prepare_tile,
    query_blocks,
    tile_strips,
)
from mlfs_dask.graphs.search_tasks import search_block
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary, summarize_columns
from mlfs_dask.graphs.tiles import local_items
from mlfs_dask.kernels.bits import bit_layout
from mlfs_dask.kernels.distances import DistanceRule, distance_rule
from mlfs_dask.kernels.meetings import MET_CELL_BYTES, MET_SHARE
from mlfs_dask.kernels.neighbors import Found
from mlfs_dask.kernels.postings import CELL_BYTES

PREPARED_BYTES = 256 * 2**20
"""Training rows are prepared once and shared if that takes no more."""
SPARSE_SHARE = 1 / 16
"""CSR rows that store no more than this share of their cells are compared by stored cells."""
BRUTE_FEATURES = 1024
"""Up to so many 0/1 features are compared bit by bit."""
_LEAST_CELLS = 2**23  # of dense rows compared: a millisecond, below it a thread doesn't pay

Finish: TypeAlias = Callable[..., Any]
Road: TypeAlias = Literal["popcount", "meetings", "postings", "dense"]


class NeighborSearch:
    """Nearest training rows of training or other rows, for nested sets of features.

    Parameters
    ----------
    train
        Training rows.
    query
        Other rows whose neighbours will be asked for; None: only the training rows' own.
    order : ndarray of int64, shape (n_ordered,), optional
        Features in the order in which distances are summed; default: all, by index.
    counts : ndarray of int64, shape (n_points,), optional
        Numbers of leading features at which neighbours are looked at, not decreasing; default:
        all of ``order``.
    normalize
        ``"minmax"`` (training ranges, not clipped, constant features 0) or ``"none"``.
    executor
        Where to run; default: :func:`~mlfs_dask.graphs.executor.get_executor`.
    summary
        Column summary of ``train`` if it is known already.

    Raises
    ------
    InputError
        Orders, counts or shapes that do not fit, infinite values.

    Notes
    -----
    O(n_queries n_train n_features) operations on vectors, 8 features at a time on 0/1 data; on
    sparse rows as many as there are pairs of stored cells of one feature.
    """

    def __init__(
        self,
        train: Source,
        query: Source | None = None,
        *,
        order: IntArray | None = None,
        counts: IntArray | None = None,
        normalize: Normalize = "minmax",
        executor: Executor | None = None,
        summary: ColumnSummary | None = None,
    ) -> None:
        self.executor = executor or get_executor()
        self.n_train = train.n_samples
        self.n_queries = 0 if query is None else query.n_samples
        order, counts = checked_order(order, counts, train.n_features)
        self.n_points = len(counts)
        summary = summary or summarize_columns(train, self.executor)
        known, asked = known_of_both(train, query, self.executor, summary)
        rule = distance_rule(
            order, counts, known, asked, nominal=train.feature_kind == 1, normalize=normalize
        )
        plan = comparison(rule, train, summary)
        self.road: Road = road_of(plan)
        """How distances are computed; the numbers are the same."""
        self.roads = [self.road]
        """The same as a list: see ``SubspaceSearch``."""
        self._looks = self._pairs = 0
        posted = self.road in ("meetings", "postings")
        rows = self._post(train, plan, summary) if posted else self._prepare(train, plan)
        self.plan = plan
        """What is compared, and how."""
        self._streamed = rows.panel is None and rows.strips is None
        self._train_offsets, self._tile_offsets = rows.offsets, train.offsets
        self._plan, self._train = self.executor.share(plan), self.executor.share(rows)
        if query is not None:
            self._query_offsets = query.offsets
            self._query = self.executor.share(
                Rows(local_items(query, self.executor), query.offsets)
            )

    def leave_one_out(
        self, k: int, finish: Finish, *shared: Any
    ) -> Iterator[tuple[QueryBlock, Any]]:
        """Search the nearest other training rows of every training row.

        Parameters
        ----------
        k
            Number of neighbours, at most ``n_train - 1``.
        finish
            Module-level function ``finish(found, block, *shared)`` that runs in the task and makes
            its result of the block's lists (:class:`~mlfs_dask.kernels.neighbors.Found`).
        *shared
            Further arguments, from ``executor.share``.

        Yields
        ------
        block, result
            In row order.
        """
        task = (True, k)
        return self._run(self._train_offsets, self._train, task, finish, *shared)

    def of_queries(self, k: int, finish: Finish, *shared: Any) -> Iterator[tuple[QueryBlock, Any]]:
        """Search the nearest training rows of every query; as :meth:`leave_one_out`.

        Parameters
        ----------
        k
            Number of neighbours, at most ``n_train``.
        finish, *shared
            See :meth:`leave_one_out`.
        """
        task = (False, k)
        return self._run(self._query_offsets, self._query, task, finish, *shared)

    def over_training(
        self, task: Callable[..., Any], *shared: Any
    ) -> Iterator[tuple[QueryBlock, Any]]:
        """Run another task on every block of training rows.

        Parameters
        ----------
        task
            Module-level function ``task(block, plan, train, *shared)`` of a block, of how rows are
            compared, and of the prepared training rows.
        *shared
            Further arguments, from ``executor.share``.

        Yields
        ------
        block, result
            In row order.
        """
        blocks = self._blocks(self._tile_offsets)
        results = self.executor.map(task, blocks, self._plan, self._train, *shared)
        yield from zip(blocks, results, strict=True)

    def over_queries(
        self, task: Callable[..., Any], items: Sequence[Any], *shared: Any
    ) -> Iterator[Any]:
        """Run another task on some of the queries.

        Parameters
        ----------
        task
            Module-level function ``task(item, plan, train, query, *shared)`` of an item, of how
            rows are compared, of the training rows and of the queries.
        items
            What the task is to do.
        *shared
            Further arguments, from ``executor.share``.

        Yields
        ------
        result
            In the order of the items.
        """
        return self.executor.map(task, items, self._plan, self._train, self._query, *shared)

    def _run(
        self, offsets: IntArray, rows: Any, task: tuple[bool, int], finish: Finish, *shared: Any
    ) -> Iterator[tuple[QueryBlock, Any]]:
        blocks = self._blocks(offsets)
        results = self.executor.map(
            search_block, blocks, self._plan, self._train, rows, task, finish, *shared
        )
        for block, (result, looks) in zip(blocks, results, strict=True):
            self._looks += looks
            self._pairs += (block.last - block.first) * self.n_train * self.n_points
            yield block, result

    @property
    def pair_share(self) -> float:
        """Pairs of rows looked at one by one so far, as a share of all pairs that were asked for.

        Rows that share no stored feature but common ones are not looked at where there are many
        features; bit by bit, and between dense rows, all are. NaN before any search.
        """
        return self._looks / self._pairs if self._pairs else float("nan")

    def _blocks(self, offsets: IntArray) -> list[QueryBlock]:
        packed = self.road in ("popcount", "meetings")
        per_row = max(1, self.n_train * len(self.plan.rule.order))
        least = _LEAST_CELLS // per_row if self.road == "dense" else 1
        n, streamed = self.executor.n_workers, self._streamed
        return query_blocks(offsets, n, streamed=streamed, packed=packed, least=least)

    def _post(self, train: Source, plan: Plan, summary: ColumnSummary) -> Rows:
        rows = Rows(local_items(train, self.executor), train.offsets)
        size = CELL_BYTES * summary.n_cells
        if plan.rare is not None and plan.layout is not None:
            size = MET_CELL_BYTES * summary.n_cells + plan.layout.n_bytes * train.n_samples
        if size > room(PREPARED_BYTES, self.executor):
            return rows
        tiles = self.executor.map(tile_strips, rows.items, self.executor.share(plan))
        return replace(rows, strips=[strip for tile in tiles for strip in tile])

    def _prepare(self, train: Source, plan: Plan) -> Rows:
        width = plan.layout.n_bytes if plan.layout else 8 * len(plan.rule.order)
        if width * train.n_samples > room(PREPARED_BYTES, self.executor):
            return Rows(local_items(train, self.executor), train.offsets)
        panel: AnyArray
        if plan.layout:
            panel = np.empty((plan.layout.n_bytes, train.n_samples), dtype=np.uint8)
        else:
            panel = np.empty((len(plan.rule.order), train.n_samples))
        parts = self.executor.map(prepare_tile, train.items(), self.executor.share(plan))
        for start, end, part in zip(train.offsets[:-1], train.offsets[1:], parts, strict=True):
            panel[:, start:end] = part
        return Rows([], np.array([0, train.n_samples]), panel)


def nearest_neighbors(
    train: Source,
    query: Source | None,
    k: int,
    order: IntArray | None = None,
    normalize: Normalize = "minmax",
    executor: Executor | None = None,
) -> tuple[FloatArray, IntArray]:
    """Find the k nearest training rows of each query, by (distance, index).

    Parameters
    ----------
    train
        Training rows.
    query
        Rows whose neighbours are sought; None: the training rows, none its own neighbour (by
        index, so that a duplicate counts, at distance 0).
    k
        At most the number of training rows (``query`` None: less one).
    order : ndarray of int64, optional
        Features in the order of summation; default: all, by index.
    normalize
        ``"minmax"`` or ``"none"``.
    executor
        Where to run.

    Returns
    -------
    distances : ndarray of float64, shape (n_queries, k)
        Euclidean, ascending. Rows are compared by the squares, before the root is taken.
    indices : ndarray of int64, shape (n_queries, k)
        Rows of ``train``; equal distances in index order.

    Raises
    ------
    InputError
        k out of range, features that do not fit, infinite values.

    Examples
    --------
    >>> import numpy as np
    >>> from mlfs_dask.graphs.source import as_source
    >>> rows = as_source(np.array([[0.0], [1.0], [4.0], [5.0]]))
    >>> distances, indices = nearest_neighbors(rows, None, 2, normalize="none")
    >>> indices.tolist()
    [[1, 2], [0, 2], [3, 1], [2, 1]]
    >>> distances[0].tolist()
    [1.0, 4.0]
    """
    most = train.n_samples - (query is None)
    if not 1 <= k <= most:
        raise InputError(f"k = {k}: expected 1 to {most}, the rows that can be neighbours")
    search = NeighborSearch(train, query, order=order, normalize=normalize, executor=executor)
    n = search.n_train if query is None else search.n_queries
    distances, indices = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    lists_of = search.leave_one_out if query is None else search.of_queries
    for block, found in lists_of(k, whole_lists):
        rows = slice(block.first, block.last)
        distances[rows] = np.sqrt(found.distances[:, 0].astype(np.float64))
        indices[rows] = found.indices[:, 0]
    return distances, indices


def comparison(rule: DistanceRule, train: Source, summary: ColumnSummary) -> Plan:
    """Choose how rows are compared; the distances are the same.

    Parameters
    ----------
    rule
        Which features are compared, and how.
    train, summary
        Training rows, and what is known of their features.
    """
    d = train.n_features
    if not rule.packed:
        few = summary.n_cells <= SPARSE_SHARE * train.n_samples * d
        return Plan(rule, None, train.is_sparse and few, d)
    rare = summary.total[rule.order] <= MET_SHARE * train.n_samples
    if not train.is_sparse or len(rare) <= BRUTE_FEATURES or 2 * np.count_nonzero(rare) < len(rare):
        return Plan(rule, bit_layout(rule.order, rule.stops, d), False, d)
    below = np.concatenate([[0], np.cumsum(rare)])[rule.stops]
    place = np.full(d, -1, dtype=np.int64)
    place[rule.order[rare]] = np.arange(np.count_nonzero(rare))
    layout = bit_layout(rule.order[~rare], rule.stops - below, d)
    return Plan(rule, layout, False, d, Rare(place, below))


def road_of(plan: Plan) -> Road:
    """Name of how rows are compared."""
    if plan.rare is not None:
        return "meetings"
    return "popcount" if plan.layout is not None else "postings" if plan.sparse else "dense"


def whole_lists(found: Found, block: QueryBlock) -> Found:
    """Return the lists as they are: a ``finish`` for :class:`NeighborSearch`."""
    return found
