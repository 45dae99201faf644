"""What runs in a task of :mod:`mlfs_dask.graphs.regions`: a block of rows against all rows.

What a block keeps between two requests (`BlockReach`: for each row not settled the few violators
that stand against every candidate) is a cache: it knows for which decisions it was made and makes
up for those that it has missed, from nothing if need be. A block that is lost with its worker, or
sent about as an old copy, gives the same counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import BoolArray, IntArray
from mlfs_dask.graphs.neighbor_tasks import sealed
from mlfs_dask.graphs.separation import Columns, prepare_rows, sealed_rows
from mlfs_dask.graphs.tiles import TileTask
from mlfs_dask.kernels.holders import Holders
from mlfs_dask.kernels.reach import (
    Cursors,
    Reach,
    count_candidates,
    find_indispensable,
    leave_out_sure,
    narrow,
    settle_in_order,
)
from mlfs_dask.kernels.separation import Panel, Rows, WordArray, choose

_FIRST_HELD = 16
_SURE = 64
# Rows for whose violators there was no room scan again; from this share on they get more room.
_FULL_SHARE = 1 / 64


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows, prepared or to be prepared tile by tile.

    Attributes
    ----------
    columns : Columns
        How features separate rows.
    whole : Rows or None
    tiles : list of TileTask
        Empty where the whole is there.
    offsets : ndarray of int64, shape (n_tiles + 1,)
        Tile ``t`` holds rows ``offsets[t]:offsets[t + 1]``.
    holders : Holders
    """

    columns: Columns
    whole: Rows | None
    tiles: list[TileTask]
    offsets: IntArray
    holders: Holders

    def panels(self, own: Rows) -> Iterator[Panel]:
        """The rows of a block beside all rows, in index order.

        Parameters
        ----------
        own
            From :meth:`of_block`.
        """
        if self.whole is not None:
            yield Panel(own, sealed_rows(self.whole), 0)
            return
        for base, task in zip(self.offsets.tolist(), self.tiles, strict=False):
            yield Panel(own, sealed_rows(prepare_rows(task, self.columns)), base)

    def of_block(self, block: RowBlock) -> Rows:
        """The rows of a block.

        Parameters
        ----------
        block
            A whole tile, unless all rows are prepared.
        """
        if self.whole is not None:
            return sealed_rows(self.whole.part(block.first, block.last))
        return sealed_rows(prepare_rows(self.tiles[block.tile], self.columns))


@dataclass(frozen=True)
class RowBlock:
    """Rows ``first:last`` of the source, in tile ``tile``."""

    first: int
    last: int
    tile: int


class BlockReach:
    """Violators of a block's rows that are known; changed in place on the worker that keeps it.

    Parameters
    ----------
    rows : ndarray of int64
        Positions in the block of rows that aren't settled without any feature.

    Attributes
    ----------
    chosen : tuple of int
        Features for which ``reach`` holds.
    reach : Reach
    """

    def __init__(self, rows: IntArray) -> None:
        self._rows = rows
        self.forget()

    def forget(self) -> None:
        """Go back to no feature and no violator."""
        n = len(self._rows)
        self.chosen: tuple[int, ...] = ()
        self.reach = Reach(
            self._rows.copy(),
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, _FIRST_HELD), dtype=np.int32),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, _SURE), dtype=np.int32),
        )

    def missed(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """Decisions still to be made up for.

        Parameters
        ----------
        chosen
            All decisions, in order.
        """
        if chosen[: len(self.chosen)] != self.chosen:
            self.forget()
        return chosen[len(self.chosen) :]

    def writable(self) -> Reach:
        """The arrays; copies if they came read-only from elsewhere."""
        self.reach = Reach._make(x if x.flags.writeable else x.copy() for x in self.reach)
        return self.reach

    def keep(self, chosen: tuple[int, ...], which: BoolArray, cursors: Cursors) -> None:
        """Take over where a walk over all rows ended.

        Parameters
        ----------
        chosen
            Features for which it was made.
        which : ndarray of bool, shape (n_rows,)
            Rows that aren't settled.
        cursors
            After the last panel.
        """
        reach = self.reach._replace(n_held=cursors.kept)
        if not which.all():
            reach = Reach._make(array[which] for array in reach)
        self.chosen, self.reach = chosen, reach

    def make_room(self, n_full: int, limit_bytes: int) -> None:
        """Hold more violators per row if that was too few for many rows.

        Parameters
        ----------
        n_full
            Rows for whose violators there was no room.
        limit_bytes
            What the block may keep.
        """
        held = self.reach.held
        if n_full > _FULL_SHARE * len(held) and 2 * held.nbytes <= limit_bytes:
            self.reach = self.reach._replace(held=np.concatenate([held, held], axis=1))


@dataclass(frozen=True, eq=False)
class KeptBlock:
    """A block and what is kept of it.

    Attributes
    ----------
    block : RowBlock
    rows : ndarray of int64
        See `BlockReach`.
    dependency : BlockReach or Dask future of it, or None
    state : BlockReach or None
        Once attached.
    """

    block: RowBlock
    rows: IntArray
    dependency: Any = None
    state: BlockReach | None = None

    def attached(self, state: BlockReach) -> KeptBlock:
        """The block with its state in memory.

        Parameters
        ----------
        state
            What `dependency` stands for.
        """
        return replace(self, dependency=None, state=state)

    def detached(self) -> KeptBlock:
        """The block without its state, which is sent beside it."""
        return replace(self, dependency=None)


class Gains(NamedTuple):
    """What one more feature would do to a block's rows.

    Attributes
    ----------
    n_open : int
        Rows that aren't settled.
    by_slot : ndarray of int64, shape (64 * n_words,)
        Rows that the feature of each slot would settle.
    """

    n_open: int
    by_slot: IntArray


def begin_block(block: KeptBlock) -> BlockReach:
    """A block of which nothing is known.

    Parameters
    ----------
    block
        Without state.
    """
    return BlockReach(block.rows)


def region_of_block(
    block: RowBlock, rows: AllRows, features: IntArray
) -> tuple[BoolArray, WordArray]:
    """Rows of a block in the positive region of some features, and those that they need for it.

    Parameters
    ----------
    block, rows
        Which rows, and all rows.
    features : ndarray of int64
        Indices.

    Returns
    -------
    inside : ndarray of bool, shape (n_rows,)
    needed : ndarray of uint64, shape (n_words,)
        Features, by slot, without which a row would leave the region.
    """
    layout = rows.columns.layout
    among, own = choose(layout, features), rows.of_block(block)
    labelled: BoolArray = np.any(own.labels != 0, axis=1)
    outside: BoolArray = np.zeros(len(labelled), dtype=bool)
    sole = np.zeros((len(labelled), layout.n_words), dtype=np.uint64)
    for panel in rows.panels(own):
        find_indispensable(panel, among, labelled, outside, sole)
    return ~outside, np.bitwise_or.reduce(sole[~outside], axis=0)


def settle_block(block: KeptBlock, rows: AllRows, order: tuple[int, ...]) -> IntArray:
    """How many of a block's rows are left open by each beginning of a sequence of features.

    Parameters
    ----------
    block
        With its state, which moves to the end of the sequence.
    rows
        All rows.
    order
        The sequence.

    Returns
    -------
    ndarray of int64, shape (len(order) + 1,)
    """
    state = _state_of(block)
    state.forget()
    reach, layout = state.reach, rows.columns.layout
    features = np.array(order, dtype=np.int64)
    level = np.zeros(len(reach.row), dtype=np.int64)
    words = np.zeros((len(reach.row), layout.n_words), dtype=np.uint64)
    cursors, own = _cursors(reach), rows.of_block(block.block)
    sequence = layout.slot[features], choose(layout, features)
    for panel in rows.panels(own):
        settle_in_order(panel, *sequence, reach, cursors, level, words)
    reach.scanned[:] = cursors.at
    state.keep(order, ~cursors.open, cursors)
    level[~cursors.open] = len(order) + 1
    settled_by = np.bincount(level, minlength=len(order) + 2)[:-1]
    return len(level) - np.cumsum(settled_by)


def gains_of_block(
    block: KeptBlock,
    rows: AllRows,
    chosen: tuple[int, ...],
    candidates: IntArray,
    limit_bytes: int,
) -> Gains:
    """How many of a block's rows one more feature would settle.

    Parameters
    ----------
    block
        With its state, which moves to the features chosen.
    rows
        All rows.
    chosen
        In order of choice.
    candidates : ndarray of int64
        Indices.
    limit_bytes
        What the block may keep.
    """
    state, layout = _state_of(block), rows.columns.layout
    missed = np.array(state.missed(chosen), dtype=np.int64)
    reach = state.writable()
    allowed = choose(layout, candidates).words
    words = np.tile(allowed, (len(reach.row), 1))
    leave_out_sure(reach, words)
    cursors, own = _cursors(reach), rows.of_block(block.block)
    sets = choose(layout, missed), choose(layout, np.array(chosen, dtype=np.int64))
    holders = sealed(rows.holders)
    by_slot = np.zeros(64 * layout.n_words, dtype=np.int64)
    n_known = reach.n_sure.copy()
    for panel in rows.panels(own):
        narrow(panel, *sets, holders, reach, cursors, words, by_slot)
    count_candidates(reach, cursors, n_known, allowed, words, by_slot)
    unsettled = cursors.full | (cursors.kept > 0)
    state.keep(chosen, unsettled, cursors)
    state.make_room(int(cursors.full.sum()), limit_bytes)
    return Gains(int(unsettled.sum()), by_slot)


def _state_of(block: KeptBlock) -> BlockReach:
    return BlockReach(block.rows) if block.state is None else block.state


def _cursors(reach: Reach) -> Cursors:
    n = len(reach.row)
    return Cursors(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        reach.scanned.copy(),
        np.ones(n, dtype=bool),
        np.zeros(n, dtype=bool),
    )
