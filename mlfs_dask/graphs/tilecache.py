"""Tiles kept decoded per process: the folds of one job read the same tiles again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

import scipy.sparse as sp

from mlfs_dask.graphs.budget import room
from mlfs_dask.graphs.inputs import Block


class TileCache:
    """Tiles by key, least recently used dropped first, bounded in bytes.

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
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        block = load()
        size, limit = _block_bytes(block), room(self._limit)
        if size <= limit // 4:
            with self._lock:
                if key not in self._held:
                    self._held[key] = block
                    self._bytes += size
                while self._bytes > limit:
                    _, dropped = self._held.popitem(last=False)
                    self._bytes -= _block_bytes(dropped)
        return block


def _block_bytes(block: Block) -> int:
    if sp.issparse(block):
        return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)
    return int(block.nbytes)
