"""Tiles kept decoded per process: the folds of one job read the same tiles again and again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

import scipy.sparse as sp

from mlfs_dask.graphs.budget import room
from mlfs_dask.graphs.inputs import Block

IDLE_SECONDS: Final = 600.0
"""Tiles that nobody asked for so long are those of jobs that ended: a worker outlives thousands."""


class TileCache:
    """Tiles by key, least recently used dropped first, bounded in bytes and in time.

    Parameters
    ----------
    limit_bytes
        Size of all tiles together where memory is ample; one of more than a quarter of it is not
        kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._bytes = 0
        self._held: OrderedDict[Hashable, Block] = OrderedDict()
        self._used: dict[Hashable, float] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, load: Callable[[], Block]) -> Block:
        """The tile of a key, loaded unless it is held.

        Parameters
        ----------
        key
            Equal only for equal rows.
        load
            Reads the tile.
        """
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._touch(key)
                return held
        block = load()
        size, limit = _block_bytes(block), room(self._limit)
        with self._lock:
            if size <= limit // 4:
                if key not in self._held:
                    self._held[key] = block
                    self._bytes += size
                self._touch(key)
            self._drop(limit, time.monotonic() - IDLE_SECONDS)
        return block

    def _touch(self, key: Hashable) -> None:
        self._held.move_to_end(key)
        self._used[key] = time.monotonic()

    def _drop(self, limit: int, since: float) -> None:
        while self._held:
            key = next(iter(self._held))
            if self._bytes <= limit and self._used[key] >= since:
                return
            self._bytes -= _block_bytes(self._held.pop(key))
            del self._used[key]


def _block_bytes(block: Block) -> int:
    if sp.issparse(block):
        return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)
    return int(block.nbytes)
