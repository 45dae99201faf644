"""Tasks over one tile or a pair of tiles, with the small arrays that belong to their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import Source, TileItem, load_block


@dataclass(frozen=True, eq=False)
class TileTask:
    """References to tiles and what else a kernel needs to know of their rows.

    Attributes
    ----------
    tiles : tuple of TileItem
        One tile, or the two of a pair (the same one twice on the diagonal).
    rows : tuple of tuple of ndarray or CSR matrix
        For each tile, slices of arrays over all rows.
    number : tuple of int
        Numbers of the tiles.
    """

    tiles: tuple[TileItem, ...]
    rows: tuple[tuple[Any, ...], ...]
    number: tuple[int, ...]

    @property
    def dependency(self) -> list[Any] | None:
        """What has to be computed first, for executors."""
        found = [tile.dependency for tile in self.tiles]
        return None if found[0] is None else found

    def attached(self, arrays: list[Any]) -> TileTask:
        """The same task with its tiles in memory."""
        pairs = zip(self.tiles, arrays, strict=True)
        return replace(self, tiles=tuple(tile.attached(array) for tile, array in pairs))

    def detached(self) -> TileTask:
        """The same task without its dependencies, to be sent beside it."""
        return replace(self, tiles=tuple(tile.detached() for tile in self.tiles))

    def load(self) -> list[Block]:
        """The blocks of rows; the diagonal's is loaded once."""
        first = load_block(self.tiles[0])
        if len(self.tiles) == 1:
            return [first]
        same = self.number[0] == self.number[1]
        return [first, first if same else load_block(self.tiles[1])]


class TileTasks(Sequence[TileTask]):
    """A sequence of tasks that makes each one when it is asked for.

    Parameters
    ----------
    source
        Rows.
    numbers
        Tiles of each task.
    *arrays : ndarray or CSR matrix, shape (n_samples, ...)
        Arrays over all rows.
    """

    def __init__(self, source: Source, numbers: list[tuple[int, ...]], *arrays: Any) -> None:
        self._source, self._numbers, self._arrays = source, numbers, arrays

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        number = self._numbers[index]
        bounds = [self._source.offsets[t : t + 2] for t in number]
        return TileTask(
            tiles=tuple(self._source.item(t) for t in number),
            rows=tuple(tuple(a[lo:hi] for a in self._arrays) for lo, hi in bounds),
            number=number,
        )


def tile_tasks(source: Source, *arrays: Any) -> TileTasks:
    """One task per tile, in tile order.

    Parameters
    ----------
    source
        Rows.
    *arrays : ndarray or CSR matrix, shape (n_samples, ...)
        Arrays over all rows.
    """
    return TileTasks(source, [(t,) for t in range(source.n_tiles)], *arrays)


def local_items(source: Source, executor: Executor) -> list[TileItem]:
    """References that any task can load: blocks of a dask array are fetched first.

    Parameters
    ----------
    source
        Rows.
    executor
        Where to run.
    """
    items = source.items()
    if all(item.dependency is None for item in items):
        return items
    blocks = executor.map(load_block, items)
    return [TileItem(0, block.shape[0], array=block) for block in blocks]


def resident_items(source: Source, executor: Executor) -> list[TileItem]:
    """References to all tiles for tasks that come back to them again and again.

    Tiles of stores are read where they are needed; other rows are sent to the workers once, and
    stay there.

    Parameters
    ----------
    source
        Rows.
    executor
        Where to run.
    """
    items = source.items()
    if all(item.address is not None for item in items):
        return items
    sizes = np.diff(source.offsets).tolist()
    kept = executor.keep(load_block, items)
    return [TileItem(0, n, dependency=block) for n, block in zip(sizes, kept, strict=True)]


def local_tasks(source: Source, executor: Executor, *arrays: Any) -> list[TileTask]:
    """As :func:`tile_tasks`, of references that any task can load.

    Parameters
    ----------
    source
        Rows.
    executor
        Where to run.
    *arrays : ndarray or CSR matrix, shape (n_samples, ...)
        Arrays over all rows.
    """
    tasks, items = tile_tasks(source, *arrays), local_items(source, executor)
    return [replace(task, tiles=(item,)) for task, item in zip(tasks, items, strict=True)]


def pair_tasks(source: Source, *arrays: Any) -> TileTasks:
    """One task per unordered pair of tiles, ``(0, 0), (0, 1), ..., (1, 1), ...``.

    Parameters
    ----------
    source
        Rows.
    *arrays : ndarray or CSR matrix, shape (n_samples, ...)
        Arrays over all rows.
    """
    return TileTasks(source, tile_pairs(source.n_tiles), *arrays)


def tile_pairs(n_tiles: int) -> list[tuple[int, ...]]:
    """Unordered pairs of tiles, each once: ``n_tiles (n_tiles + 1) / 2`` of them.

    Examples
    --------
    >>> tile_pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return [(i, j) for i in range(n_tiles) for j in range(i, n_tiles)]
