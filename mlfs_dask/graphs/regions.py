"""Positive regions of sets of features, by violators within reach.

::

    tiles ──prepare──> Rows, shared ──┬── block of rows ──> rows of POS_B, features they need
                                      └── block of rows ──> violators, kept on a worker
    decisions so far, candidates ──────────> └──> rows not in POS_B, gains of the candidates
                                             └──> once they are few: violators themselves, listed

Rows that are equal in all that is compared are one row: its labels are those that all of them
carry, and it stands for as many of them as carry no others (no other one can be in a positive
region). A block of rows is compared with all rows. Some rows take far longer than others, and those
that do stand together: where violators are kept, rows are dealt out to the blocks one by one, so
that workers end at the same time. Everything that comes back is a count or a set: the same on any
blocks, workers and tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mlfs_dask._typing import BoolArray, ByteArray, IntArray
from mlfs_dask.graphs.block_reach import KeptBlock, RowBlock
from mlfs_dask.graphs.budget import AMPLE, room, room_of_all
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.region_tasks import (
    AllRows,
    Gains,
    PreparedTiles,
    begin_block,
    gains_of_block,
    join_tiles,
    region_of_block,
    settle_block,
    weigh_rows,
)
from mlfs_dask.graphs.remaining import Listed, Remaining, join_lists, list_block
from mlfs_dask.graphs.separation import (
    Columns,
    no_holders,
    prepare_rows,
    row_bytes,
)
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.task_sizes import KEPT_BYTES, PREPARED_BYTES, have_room
from mlfs_dask.graphs.tiles import local_tasks, tile_tasks
from mlfs_dask.kernels.separation import NOWHERE, WordArray, choose

# Violators are listed if finding them takes so few looks at pairs, and no more bytes than this.
_LISTED_LOOKS = 2**24
_LISTED_BYTES = 4 * 2**20
_BLOCK_ROWS = 8192
_LEAST_ROWS = 64
# Blocks of each worker, of rows side by side; of rows dealt out, which are alike.
_SIDE_BY_SIDE, _DEALT = 8, 2


class Regions:
    """Sizes of the positive regions of a source's rows.

    Parameters
    ----------
    source
        Rows.
    Y : ndarray of uint8, shape (n_samples, n_labels)
        Their labels.
    columns
        How features separate rows.
    cells_per_row
        Stored cells of a row, about.
    executor
        Where to run.

    Attributes
    ----------
    prepared : bool
        Rows are prepared once; else anew for every request.
    looks : int
        Pairs of rows looked at so far.
    """

    def __init__(
        self,
        source: Source,
        Y: ByteArray,
        columns: Columns,
        cells_per_row: float,
        executor: Executor,
    ) -> None:
        self._executor, self._columns = executor, columns
        self._labelled = Y.any(axis=1)
        size = row_bytes(columns, Y.shape[1], cells_per_row) * source.n_samples
        item = source.dtype.itemsize + 4 * source.is_sparse
        stored, memory = cells_per_row * item * source.n_samples, room(AMPLE, executor)
        self.prepared = size <= room(PREPARED_BYTES, executor) and have_room(
            size, source.n_samples, stored, memory, memory / AMPLE
        )
        self._rows = self._all_rows(source, Y)
        self._weight, offsets = np.ones(source.n_samples, dtype=np.int64), source.offsets
        if self.prepared:
            [(self._weight, self._labelled)] = executor.map(weigh_rows, [None], self._rows)
            offsets = np.array([0, len(self._weight)])
        self._blocks = row_blocks(offsets, executor.n_workers, whole_tiles=not self.prepared)
        self._kept: list[KeptBlock] = []
        self._n_whole = 0
        self._remaining: Remaining | None = None
        self._n_open = self._try_below = self.looks = 0

    def _all_rows(self, source: Source, Y: ByteArray) -> Any:
        """`AllRows` or a future of it, which is made anew should its worker be lost."""
        executor, columns = self._executor, self._columns
        if self.prepared:
            tiles = PreparedTiles(executor.keep(prepare_rows, tile_tasks(source, Y), columns))
            common = (columns, source.offsets, Y.shape[1])
            return executor.keep(join_tiles, [tiles], *common)[0]
        local = local_tasks(source, executor, Y)
        return executor.share(
            AllRows(
                columns,
                None,
                local,
                source.offsets,
                no_holders(columns.layout),
                np.zeros(0, dtype=np.int64),
            )
        )

    def whole(self, features: IntArray) -> tuple[int, IntArray]:
        """Size of the positive region of all features, and its core.

        Rows outside the region don't matter from then on.

        Parameters
        ----------
        features : ndarray of int64
            All that may be chosen, ascending.
        """
        inside, core = self._region(features)
        self._n_whole, self._remaining = int(self._weight[inside].sum()), None
        self._n_open = len(inside)
        self._try_below = _LISTED_LOOKS // len(inside) + 1
        matters = np.flatnonzero(inside & self._labelled & (self._weight > 0))
        blocks = list(self._empty_blocks(matters))
        states = self._executor.keep(begin_block, blocks)
        self._kept = [
            replace(block, dependency=state) for block, state in zip(blocks, states, strict=True)
        ]
        return self._n_whole, core

    def _empty_blocks(self, rows: IntArray) -> Iterator[KeptBlock]:
        """Blocks for some rows: dealt out one by one if they are prepared, else by tile."""
        if self.prepared:
            n = len(self._weight)
            every, n_blocks = RowBlock(0, n, 0), n_dealt(n, self._executor.n_workers)
            for turn in range(n_blocks):
                own = rows[turn::n_blocks]
                yield KeptBlock(every, own, self._weight[own])
            return
        for block in self._blocks:
            own = rows[np.searchsorted(rows, block.first) : np.searchsorted(rows, block.last)]
            yield KeptBlock(block, own - block.first, self._weight[own])

    def needed(self, features: IntArray) -> IntArray:
        """Features of a set without which its positive region would be another, ascending.

        Parameters
        ----------
        features : ndarray of int64
            The set.
        """
        return self._region(features)[1]

    def _region(self, features: IntArray) -> tuple[BoolArray, IntArray]:
        inside: list[BoolArray] = []
        among = choose(self._columns.layout, features).words
        words = np.zeros_like(among)
        parts = self._executor.map(region_of_block, self._blocks, self._rows, among)
        for rows, needed, looks in parts:
            inside.append(rows)
            self.looks += looks
            words |= needed
        return np.concatenate(inside), self._features_of(words)

    def _features_of(self, words: WordArray) -> IntArray:
        placed = np.flatnonzero(self._columns.layout.slot != NOWHERE)
        slot = self._columns.layout.slot[placed]
        bit = np.uint64(1) << (slot & 63).astype(np.uint64)
        found: IntArray = placed[(words[slot >> 6] & bit) != 0]
        return found

    def in_order(self, order: tuple[int, ...]) -> tuple[IntArray, BoolArray]:
        """Sizes of the positive regions of the beginnings of a sequence of features.

        Parameters
        ----------
        order
            The sequence.

        Returns
        -------
        sizes : ndarray of int64, shape (len(order) + 1,)
        is_whole : ndarray of bool, shape (len(order) + 1,)
            Whether it is the region of all features.
        """
        n_open = np.zeros(len(order) + 1, dtype=np.int64)
        for part, looks in self._executor.map(settle_block, self._kept, self._rows, order):
            n_open += part
            self.looks += looks
        self._n_open = int(n_open[-1])
        return self._n_whole - n_open, n_open == 0

    def with_each(
        self, chosen: tuple[int, ...], candidates: IntArray
    ) -> tuple[IntArray, BoolArray]:
        """As :meth:`in_order`, for a set with one more feature each time.

        Parameters
        ----------
        chosen
            The set, in order of choice; it costs little if it starts with that of the last call.
        candidates : ndarray of int64
            Features to be added in turn.
        """
        slot = self._columns.layout.slot[candidates]
        placed = slot != NOWHERE
        n_open, by_slot, _ = self._gains(chosen, candidates)
        gains = np.zeros(len(candidates), dtype=np.int64)
        gains[placed] = by_slot[slot[placed]]
        return self._n_whole - n_open + gains, gains == n_open

    def _gains(self, chosen: tuple[int, ...], candidates: IntArray) -> Gains:
        if self._remaining is not None:
            self._remaining = self._remaining.after(chosen, self._columns.layout)
        elif self._n_open < self._try_below:
            self._list_violators(chosen)
        if self._remaining is not None:
            return self._remaining.gains()
        limit = room_of_all(KEPT_BYTES, self._executor) // max(len(self._kept), 1)
        layout = self._columns.layout
        common = (self._rows, chosen, choose(layout, candidates).words, limit)
        n_open, by_slot = 0, np.zeros(64 * layout.n_words, dtype=np.int64)
        for part in self._executor.map(gains_of_block, self._kept, *common):
            by_slot += part.by_slot
            n_open += part.n_open
            self.looks += part.looks
        self._n_open = n_open
        return Gains(n_open, by_slot)

    def _list_violators(self, chosen: tuple[int, ...]) -> None:
        """Take the violators of all open rows here, unless they are too many."""
        self._try_below = (self._n_open + 1) // 2  # if they are, there may be fewer later
        room = _LISTED_BYTES // (8 * max(self._columns.layout.n_words, 1))
        self._remaining = join_lists(self._lists(chosen, room), chosen, room, self._weight)

    def _lists(self, chosen: tuple[int, ...], room: int) -> Iterator[Listed | None]:
        asked = self._executor.map(list_block, self._kept, self._rows, chosen, room)
        for part, looks in asked:
            self.looks += looks
            yield part


def row_blocks(offsets: IntArray, n_workers: int, *, whole_tiles: bool) -> list[RowBlock]:
    """Cut the rows of a source into blocks for tasks.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_tiles + 1,)
        See :class:`~mlfs_dask.graphs.source.Source`.
    n_workers
        Blocks are made small enough to keep them all busy.
    whole_tiles
        A block is a tile.

    Examples
    --------
    >>> row_blocks(np.array([0, 100, 150]), 2, whole_tiles=True)
    [RowBlock(first=0, last=100, tile=0), RowBlock(first=100, last=150, tile=1)]
    >>> [(b.first, b.last) for b in row_blocks(np.array([0, 200]), 2, whole_tiles=False)]
    [(0, 64), (64, 128), (128, 192), (192, 200)]
    >>> len(row_blocks(np.array([0, 40_000]), 2, whole_tiles=False))
    16
    """
    if whole_tiles:
        bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [RowBlock(first, last, tile) for tile, (first, last) in enumerate(bounds)]
    n = int(offsets[-1])
    rows = max(_LEAST_ROWS, -(-n // _n_blocks(n, n_workers, _SIDE_BY_SIDE)))
    return [RowBlock(first, end, 0) for first, end in even_spans(n, rows)]


def n_dealt(n_rows: int, n_workers: int) -> int:
    """Blocks to which rows are dealt out one by one.

    Parameters
    ----------
    n_rows
        Of all rows.
    n_workers
        As for :func:`row_blocks`.

    Examples
    --------
    >>> n_dealt(100, 2), n_dealt(1000, 2), n_dealt(40_000, 2), n_dealt(40_000, 1)
    (2, 4, 8, 5)
    """
    return min(_n_blocks(n_rows, n_workers, _DEALT), max(1, -(-n_rows // _LEAST_ROWS)))


def _n_blocks(n: int, n_workers: int, of_each: int) -> int:
    """Blocks of at most so many rows; as many for each worker."""
    per_round = of_each * n_workers if n_workers > 1 else 1
    return per_round * max(1, -(-n // (per_round * _BLOCK_ROWS)))
