"""Nearest neighbours in several subspaces at once: each problem has features of its own.

Distances in one subspace say nothing of another, so there are as many searches as problems; but
rows are loaded once for all of them::

    training tile ──load once──> prepared for problem 0, 1, 2, ...   (kept, if they all fit)
    query block   ──load once──> lists of problem 0, 1, 2, ... ──finish──> result

Each problem's lists are those of :class:`~mlfs_dask.graphs.neighbors.NeighborSearch` with its
order, to the last bit. A task holds a block of queries with its lists, below ``LISTS_BYTES``, and
one tile of training rows, prepared strip by strip where that takes more than 32 MiB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mlfs_dask._typing import IntArray, Normalize
from mlfs_dask.graphs.budget import room
from mlfs_dask.graphs.distance_checks import checked_order, known_of_both
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.neighbor_tasks import Plan, QueryBlock, Rows, query_blocks, stored_cells
from mlfs_dask.graphs.neighbors import PREPARED_BYTES, SPARSE_SHARE
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.subspace_tasks import PreparedTile, Tiles, prepare_parts, search_subspaces
from mlfs_dask.graphs.tiles import local_items
from mlfs_dask.kernels.bits import bit_layout
from mlfs_dask.kernels.distances import Known, distance_rule
from mlfs_dask.kernels.postings import CELL_BYTES

LISTS_BYTES = 64 * 2**20
"""Lists of neighbours that a task holds."""


class SubspaceSearch:
    """Nearest training rows of training or other rows, in the features of several problems.

    Parameters
    ----------
    train
        Training rows.
    query
        Other rows whose neighbours will be asked for; None: only the training rows' own.
    orders : sequence of ndarray of int64
        Features of each problem in the order in which distances are summed.
    counts : ndarray of int64, shape (n_points,), optional
        Numbers of leading features at which neighbours are looked at, not decreasing; a problem
        with fewer features takes all of them. Default: all of each order.
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
    As many searches as problems: O(n_problems n_queries n_train n_features).
    """

    def __init__(
        self,
        train: Source,
        query: Source | None,
        orders: Sequence[IntArray],
        counts: IntArray | None = None,
        *,
        normalize: Normalize = "minmax",
        executor: Executor | None = None,
        summary: ColumnSummary | None = None,
    ) -> None:
        self.executor = executor or get_executor()
        self.n_points = 1 if counts is None else len(counts)
        self.n_queries = 0 if query is None else query.n_samples
        known, asked = known_of_both(train, query, self.executor, summary)
        few = self._few_cells(train)
        plans = [
            _plan(order, counts, (known, asked), train, normalize, few=few is not None)
            for order in orders
        ]
        self.roads = sorted({_road(plan) for plan in plans})
        """How distances are computed, by problem; the numbers are the same."""
        self.pair_share = 1.0
        """Pairs of rows looked at, as a share of all: see ``NeighborSearch``."""
        self._plans = self.executor.share(plans)
        self._n_problems = len(plans)
        rows = Rows(local_items(train, self.executor), train.offsets)
        parts: list[PreparedTile] | None = None
        if _prepared_bytes(plans, train.n_samples, few or 0) <= room(PREPARED_BYTES, self.executor):
            parts = list(self.executor.map(prepare_parts, rows.items, self._plans))
        self._streamed = parts is None
        self._train_offsets = train.offsets
        self._train = self.executor.share(Tiles(rows, parts))
        if query is not None:
            self._query_offsets = query.offsets
            self._query = self.executor.share(
                Rows(local_items(query, self.executor), query.offsets)
            )
        self._own_rows = self.executor.share(rows)

    def leave_one_out(
        self, k: int, finish: Callable[..., Any], *shared: Any
    ) -> Iterator[tuple[QueryBlock, Any]]:
        """Search the nearest other training rows of every training row.

        Parameters
        ----------
        k
            Number of neighbours, at most ``n_train - 1``.
        finish
            Module-level function ``finish(found, block, *shared)`` that runs in the task and makes
            its result of the block's lists: one
            :class:`~mlfs_dask.kernels.neighbors.Found` per problem.
        *shared
            Further arguments, from ``executor.share``.

        Yields
        ------
        block, result
            In row order.
        """
        return self._run(self._train_offsets, self._own_rows, (True, k), finish, *shared)

    def of_queries(
        self, k: int, finish: Callable[..., Any], *shared: Any
    ) -> Iterator[tuple[QueryBlock, Any]]:
        """Search the nearest training rows of every query; as :meth:`leave_one_out`.

        Parameters
        ----------
        k
            Number of neighbours, at most ``n_train``.
        finish, *shared
            See :meth:`leave_one_out`.
        """
        return self._run(self._query_offsets, self._query, (False, k), finish, *shared)

    def _run(
        self,
        offsets: IntArray,
        rows: Any,
        task: tuple[bool, int],
        finish: Callable[..., Any],
        *shared: Any,
    ) -> Iterator[tuple[QueryBlock, Any]]:
        per_row = 16 * self._n_problems * self.n_points * max(1, task[1])
        blocks = query_blocks(
            offsets,
            self.executor.n_workers,
            streamed=self._streamed,
            most=max(1, LISTS_BYTES // per_row),
        )
        results = self.executor.map(
            search_subspaces, blocks, self._plans, self._train, rows, task, finish, *shared
        )
        yield from zip(blocks, results, strict=True)

    def _few_cells(self, train: Source) -> int | None:
        """Number of stored cells, if they are few."""
        if not train.is_sparse:
            return None
        count = int(sum(self.executor.map(stored_cells, train.items())))
        return count if count <= SPARSE_SHARE * train.n_samples * train.n_features else None


def _plan(
    order: IntArray,
    counts: IntArray | None,
    known: tuple[Known, Known],
    train: Source,
    normalize: Normalize,
    *,
    few: bool,
) -> Plan:
    ends = None if counts is None else np.minimum(counts, len(order))
    order, ends = checked_order(order, ends, train.n_features)
    rule = distance_rule(order, ends, *known, nominal=train.feature_kind == 1, normalize=normalize)
    d = train.n_features
    layout = bit_layout(rule.order, rule.stops, d) if rule.packed else None
    return Plan(rule, layout, few and layout is None, d)


def _road(plan: Plan) -> str:
    return "popcount" if plan.layout is not None else "postings" if plan.sparse else "dense"


def _prepared_bytes(plans: Sequence[Plan], n_rows: int, n_cells: int) -> int:
    total = 0
    for plan in plans:
        if plan.sparse:
            total += CELL_BYTES * n_cells
        else:
            width = plan.layout.n_bytes if plan.layout else 8 * len(plan.rule.order)
            total += width * n_rows
    return total
