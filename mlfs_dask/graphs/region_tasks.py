"""What runs in a task of :mod:`mlfs_dask.graphs.regions`: a block of rows against all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import BoolArray, IntArray
from mlfs_dask.graphs.block_reach import BlockReach, KeptBlock, RowBlock, state_of
from mlfs_dask.graphs.duplicates import collapse
from mlfs_dask.graphs.neighbor_tasks import sealed
from mlfs_dask.graphs.separation import (
    Columns,
    find_holders,
    join_rows,
    prepare_rows,
    sealed_rows,
)
from mlfs_dask.graphs.tiles import TileTask
from mlfs_dask.kernels.holders import Holders, Within
from mlfs_dask.kernels.indispensable import find_indispensable
from mlfs_dask.kernels.reach import (
    Cursors,
    Reach,
    count_candidates,
    leave_out_sure,
    narrow,
    settle_in_order,
)
from mlfs_dask.kernels.separation import Panel, Rows, WordArray, choose, choose_words


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
    weight : ndarray of int64, shape (n_rows,)
        Rows of the source that each of the whole stands for; empty where that is one.
    """

    columns: Columns
    whole: Rows | None
    tiles: list[TileTask]
    offsets: IntArray
    holders: Holders
    weight: IntArray

    def panels(self, block: RowBlock, own: Rows) -> Iterator[Panel]:
        """The rows of a block beside all rows, in index order.

        Who does not hold on to a panel has no more than two tiles prepared at a time.

        Parameters
        ----------
        block
            Which rows.
        own
            The same, from :meth:`of_block`.
        """
        if self.whole is not None:
            yield Panel(own, sealed_rows(self.whole), 0)
            return
        for tile, task in enumerate(self.tiles):
            base = int(self.offsets[tile])
            if tile == block.tile:
                yield Panel(own, own, base)
            else:
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


@dataclass(frozen=True, eq=False)
class PreparedTiles:
    """Prepared rows of all tiles, to be joined.

    Attributes
    ----------
    dependency : list of Rows or of Dask futures of them, or None
    parts : list of Rows
        Once attached.
    """

    dependency: list[Any] | None
    parts: list[Rows] = field(default_factory=list)

    def attached(self, parts: list[Rows]) -> PreparedTiles:
        """The tiles in memory.

        Parameters
        ----------
        parts
            What `dependency` stands for.
        """
        return replace(self, dependency=None, parts=parts)

    def detached(self) -> PreparedTiles:
        """Nothing: the tiles are sent beside it."""
        return replace(self, dependency=None)


class Gains(NamedTuple):
    """What one more feature would do to a block's rows.

    Attributes
    ----------
    n_open : int
        Rows of the source that aren't settled.
    by_slot : ndarray of int, shape (64 * n_words,)
        Rows of the source that the feature of each slot would settle.
    looks : int
        Pairs of rows looked at.
    """

    n_open: int
    by_slot: IntArray
    looks: int = 0


def join_tiles(tiles: PreparedTiles, columns: Columns, offsets: IntArray, n_labels: int) -> AllRows:
    """Prepared rows of all tiles in one, equal rows once; lists of what is not 0 in few of them.

    Parameters
    ----------
    tiles
        In order.
    columns
        How features separate rows.
    offsets : ndarray of int64, shape (n_tiles + 1,)
        Where tiles begin.
    n_labels
        Number of labels.
    """
    whole = join_rows(iter(tiles.parts), int(offsets[-1]), columns, n_labels)
    whole, weight = collapse(whole)
    return AllRows(columns, whole, [], offsets, find_holders(whole, columns.layout), weight)


def weigh_rows(_: None, rows: AllRows) -> tuple[IntArray, BoolArray]:
    """How many rows of the source each of the whole stands for, and whether it carries labels.

    Parameters
    ----------
    rows
        All rows, prepared.
    """
    assert rows.whole is not None
    return rows.weight, np.any(rows.whole.labels != 0, axis=1)


def begin_block(block: KeptBlock) -> BlockReach:
    """A block of which nothing is known.

    Parameters
    ----------
    block
        Without state.
    """
    return BlockReach(block.rows, block.weight)


def region_of_block(
    block: RowBlock, rows: AllRows, features: WordArray
) -> tuple[BoolArray, WordArray, int]:
    """Rows of a block in the positive region of some features, and those that they need for it.

    Parameters
    ----------
    block, rows
        Which rows, and all rows.
    features : ndarray of uint64, shape (n_words,)
        By slot.

    Returns
    -------
    inside : ndarray of bool, shape (n_rows,)
    needed : ndarray of uint64, shape (n_words,)
        Features, by slot, without which a row would leave the region.
    looks : int
        Pairs of rows looked at.
    """
    layout = rows.columns.layout
    among, own = choose_words(layout, features), rows.of_block(block)
    labelled: BoolArray = np.any(own.labels != 0, axis=1)
    if rows.whole is not None:
        labelled &= rows.weight[block.first : block.last] > 0
    outside: BoolArray = np.zeros(len(labelled), dtype=bool)
    sole = np.zeros((len(labelled), layout.n_words), dtype=np.uint64)
    holders, looks = sealed(rows.holders), 0
    for panel in rows.panels(block, own):
        looks += find_indispensable(panel, among, holders, labelled, outside, sole)
        del panel
    return ~outside, np.bitwise_or.reduce(sole[~outside], axis=0), looks


def settle_block(block: KeptBlock, rows: AllRows, order: tuple[int, ...]) -> tuple[IntArray, int]:
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
    int
        Pairs of rows looked at.
    """
    state = state_of(block)
    state.forget()
    reach, layout = state.reach, rows.columns.layout
    features = np.array(order, dtype=np.int64)
    level = np.zeros(len(reach.row), dtype=np.int64)
    words = np.zeros((len(reach.row), layout.n_words), dtype=np.uint64)
    cursors, own = _cursors(reach), rows.of_block(block.block)
    within = Within(choose(layout, features), sealed(rows.holders))
    sequence = layout.slot[features], within
    for panel in rows.panels(block.block, own):
        settle_in_order(panel, *sequence, reach, cursors, level, words)
        del panel
    reach.scanned[:] = cursors.at
    state.keep(order, ~cursors.open, cursors)
    level[~cursors.open] = len(order) + 1
    settled_by = np.zeros(len(order) + 2, dtype=np.int64)
    np.add.at(settled_by, level, reach.weight)
    n_open = reach.weight.sum() - np.cumsum(settled_by[:-1])
    return n_open, int(cursors.counts[:, 1].sum())


def gains_of_block(
    block: KeptBlock,
    rows: AllRows,
    chosen: tuple[int, ...],
    candidates: WordArray,
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
    candidates : ndarray of uint64, shape (n_words,)
        By slot.
    limit_bytes
        What the block may keep.
    """
    state, layout = state_of(block), rows.columns.layout
    missed = np.array(state.missed(chosen), dtype=np.int64)
    reach = state.writable()
    allowed = choose_words(layout, candidates).words
    words = np.tile(allowed, (len(reach.row), 1))
    leave_out_sure(reach, words)
    cursors, own = _cursors(reach), rows.of_block(block.block)
    all_chosen = choose(layout, np.array(chosen, dtype=np.int64))
    sets = choose(layout, missed), Within(all_chosen, sealed(rows.holders))
    by_slot = np.zeros(64 * layout.n_words, dtype=np.int64)
    n_known = reach.n_sure.copy()
    for panel in rows.panels(block.block, own):
        narrow(panel, *sets, reach, cursors, words, by_slot)
        del panel
    count_candidates(reach, cursors, n_known, allowed, words, by_slot)
    unsettled = cursors.full | (cursors.kept > 0)
    n_open = int(reach.weight[unsettled].sum())
    state.keep(chosen, unsettled, cursors)
    state.make_room(int(cursors.full.sum()), limit_bytes)
    few_bytes = by_slot.astype(np.min_scalar_type(by_slot.max(initial=0)))
    return Gains(n_open, few_bytes, int(cursors.counts[:, 1].sum()))


def _cursors(reach: Reach) -> Cursors:
    n = len(reach.row)
    return Cursors(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        reach.scanned.copy(),
        np.ones(n, dtype=bool),
        np.zeros(n, dtype=bool),
        np.column_stack([reach.weight, np.zeros(n, dtype=np.int64)]),
    )
