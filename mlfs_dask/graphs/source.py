"""Rows of X in tiles: the one bridge between what users hand in and what kernels see.

A *tile* is ``tile`` consecutive rows of the store (or of the array given), whatever its chunks. A
training fold keeps the store's tiles: of each tile the rows that are in the fold, in row order.
Float sums run in row order inside a tile and tiles are added in tile order, so results do not
depend on chunks, workers or on what runs where.

::

    ndarray, DataFrame, scipy sparse ──┐
    Dataset (an opened Zarr store) ────┼── as_source ──> Source ──item(t)──> small reference
    dask array (any chunks) ───────────┘                    └────block(t)──> ndarray or CSR rows
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError, StoreError
from mlfs_dask.graphs.inputs import Block, as_block, as_labels, feature_vector, fill_missing
from mlfs_dask.storage.dataset import Dataset, open_dataset

DEFAULT_TILE = 4096
# Tiles of stores kept decoded per process: folds of one job read the same tiles again and again.
_CACHE_BYTES = 256 * 2**20


@dataclass(frozen=True, eq=False)
class TileItem:
    """A small reference to the rows of one tile, cheap to send to a worker.

    Exactly one of ``address``, ``array`` and ``dependency`` says where the rows are: a store, this
    process's memory, or a Dask future or delayed object.
    """

    start: int
    stop: int
    local: IntArray | None = None  # rows inside the tile; None: all
    address: str | None = None
    digest: str | None = None  # of the store at the address when the source was made
    array: Any = None
    dependency: Any = None
    fill: FloatArray | None = None  # imputed value per feature; None: missing values stay

    def attached(self, array: Any) -> TileItem:
        """The same rows, held in memory by ``array`` (the whole tile's rows)."""
        return replace(self, array=array, dependency=None)

    def detached(self) -> TileItem:
        """The same reference without its dependency, to be sent beside it."""
        return replace(self, dependency=None)


def load_block(item: TileItem) -> Block:
    """Rows of a tile: an ndarray or CSR matrix of shape (n_rows, n_features), stored dtype.

    Parameters
    ----------
    item
        From :meth:`Source.item`.
    """
    if item.address is not None and item.digest is not None:
        block = _read_tile(item.address, item.digest, item.start, item.stop)
    elif item.dependency is not None:
        block = as_block(item.dependency.compute(scheduler="synchronous"))
    elif sp.issparse(item.array):
        block = item.array
    else:
        block = as_block(item.array)
    if item.local is not None:
        block = block[item.local]
    return block if item.fill is None else fill_missing(block, item.fill)


class Source:
    """Rows of X (and Y) in tiles.

    Made by :func:`as_source`; :meth:`take` gives a training or test fold.

    Attributes
    ----------
    n_samples, n_features, tile, n_tiles : int
        ``n_tiles`` counts the tiles that hold at least one row.
    is_sparse : bool
        Whether blocks are CSR matrices.
    dtype : numpy.dtype
        As stored; kernels convert block by block.
    feature_kind : ndarray of uint8, shape (n_features,)
        0 numeric, 1 nominal.
    feature_cost : ndarray of float64, shape (n_features,), or None
    feature_names : tuple of str, or None
    Y : ndarray of uint8, shape (n_samples, n_labels), or None
        Rows of this source only, in row order.
    offsets : ndarray of int64, shape (n_tiles + 1,)
        Tile ``t`` holds the source's rows ``offsets[t]:offsets[t + 1]``.
    """

    def __init__(
        self,
        backing: _Backing,
        *,
        tile: int,
        rows: IntArray | None = None,
        Y: ByteArray | None = None,
        fill: FloatArray | None = None,
    ) -> None:
        self._backing = backing
        self._rows = rows
        self._fill = fill
        self.tile = tile
        self.Y = Y
        self.n_features = backing.n_features
        self.is_sparse = backing.is_sparse
        self.dtype = backing.dtype
        self.feature_kind = backing.feature_kind
        self.feature_cost = backing.feature_cost
        self.feature_names = backing.feature_names
        self.n_samples = backing.n_rows if rows is None else len(rows)
        starts = np.arange(0, backing.n_rows + tile, tile).clip(max=backing.n_rows)
        bounds = starts if rows is None else np.searchsorted(rows, starts)
        held = np.flatnonzero(np.diff(bounds))
        self._tiles = held
        self._starts = starts
        self.n_tiles = len(held)
        self.offsets = np.concatenate([bounds[held], [self.n_samples]]).astype(np.int64)

    def item(self, t: int) -> TileItem:
        """Reference to the rows of tile ``t``, for an executor."""
        number = int(self._tiles[t])
        start, stop = int(self._starts[number]), int(self._starts[number + 1])
        local = None
        if self._rows is not None:
            local = self._rows[self.offsets[t] : self.offsets[t + 1]] - start
            if len(local) == stop - start:
                local = None
        return replace(self._backing.item(start, stop), local=local, fill=self._fill)

    def items(self) -> list[TileItem]:
        """References to all tiles, in tile order."""
        return [self.item(t) for t in range(self.n_tiles)]

    def block(self, t: int) -> Block:
        """Rows of tile ``t``, loaded here."""
        return load_block(self.item(t))

    def take(self, rows: IntArray) -> Source:
        """The source of some of these rows; tiles stay those of the store.

        Parameters
        ----------
        rows : ndarray of int64
            Row positions in this source, strictly increasing.

        Raises
        ------
        InputError
            Not strictly increasing or out of range.
        """
        rows = np.asarray(rows, dtype=np.int64)
        if len(rows) and (rows[0] < 0 or rows[-1] >= self.n_samples or np.any(np.diff(rows) <= 0)):
            raise InputError("rows must be strictly increasing positions of this source")
        return Source(
            self._backing,
            tile=self.tile,
            rows=rows if self._rows is None else self._rows[rows],
            Y=None if self.Y is None else self.Y[rows],
            fill=self._fill,
        )

    def filled(self, values: FloatArray) -> Source:
        """The same rows with missing values replaced by ``values`` (n_features,)."""
        return Source(self._backing, tile=self.tile, rows=self._rows, Y=self.Y, fill=values)

    def with_labels(self, Y: ByteArray | None) -> Source:
        """The same rows with other labels, shape (n_samples, n_labels)."""
        return Source(self._backing, tile=self.tile, rows=self._rows, Y=Y, fill=self._fill)


def as_source(
    X: Any,
    Y: Any = None,
    *,
    feature_kind: Any = None,
    feature_cost: Any = None,
    tile: int = DEFAULT_TILE,
) -> Source:
    """Make a source of anything that holds rows.

    Parameters
    ----------
    X : Source, Dataset, ndarray, DataFrame, scipy sparse matrix or dask array
        Shape (n_samples, n_features); missing values are NaN.
    Y : array-like of 0/1, shape (n_samples, n_labels) or (n_samples,), optional
        Defaults to the labels that come with a Dataset or Source.
    feature_kind : array-like of int, shape (n_features,), optional
        0 numeric (default), 1 nominal.
    feature_cost : array-like of float, shape (n_features,), optional
        Test costs, >= 0.
    tile
        Rows per tile for in-memory input; a store has its own.

    Raises
    ------
    InputError
        Shapes that do not fit, values that are not numbers, labels other than 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> source = as_source(np.eye(5), tile=2)
    >>> source.n_tiles, source.block(2).tolist()
    (3, [[0.0, 0.0, 0.0, 0.0, 1.0]])
    """
    if isinstance(X, Source):
        return X if Y is None else X.with_labels(as_labels(Y, X.n_samples))
    if tile < 1:
        raise InputError(f"tile = {tile}: expected at least 1 row")
    backing = _make_backing(X, tile)
    n_features = backing.n_features
    if feature_kind is not None:
        backing.feature_kind = feature_vector(feature_kind, "feature_kind", n_features, np.uint8)
        if np.any(backing.feature_kind > 1):
            raise InputError("feature_kind holds values other than 0 (numeric) and 1 (nominal)")
    if feature_cost is not None:
        backing.feature_cost = feature_vector(feature_cost, "feature_cost", n_features, np.float64)
        if not np.all(backing.feature_cost >= 0):
            raise InputError("feature_cost holds values that are negative or not a number")
    labels = X.Y if Y is None and isinstance(X, Dataset) else Y
    return Source(
        backing,
        tile=backing.tile,
        Y=None if labels is None else as_labels(labels, backing.n_rows),
    )


class _Backing:
    """Where whole rows come from; ``item(start, stop)`` refers to a range of them."""

    n_rows: int
    n_features: int
    tile: int
    is_sparse: bool
    dtype: np.dtype[Any]
    feature_kind: ByteArray
    feature_cost: FloatArray | None = None
    feature_names: tuple[str, ...] | None = None

    def item(self, start: int, stop: int) -> TileItem:
        """Reference to rows ``start:stop``."""
        raise TypeError(f"{type(self).__name__} holds no rows")


class _ArrayBacking(_Backing):
    def __init__(self, X: Block, tile: int, names: tuple[str, ...] | None) -> None:
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.tile = tile
        self.is_sparse = sp.issparse(X)
        self.dtype = X.dtype
        self.feature_kind = np.zeros(self.n_features, dtype=np.uint8)
        self.feature_names = names

    def item(self, start: int, stop: int) -> TileItem:
        return TileItem(start, stop, array=self._X[start:stop])


class _StoreBacking(_Backing):
    def __init__(self, dataset: Dataset) -> None:
        self._path, self._digest = dataset.path, dataset.digest
        self.n_rows, self.n_features = dataset.n_samples, dataset.n_features
        self.tile = dataset.tile
        self.is_sparse = dataset.is_sparse
        self.dtype = dataset.x_dtype
        self.feature_kind = dataset.feature_kind
        self.feature_cost = dataset.feature_cost
        self.feature_names = dataset.feature_names

    def item(self, start: int, stop: int) -> TileItem:
        return TileItem(start, stop, address=self._path, digest=self._digest)


class _DaskBacking(_Backing):
    """Blocks of a dask array regrouped to tiles; on the cluster if a client is there."""

    def __init__(self, X: Any, tile: int) -> None:
        if X.ndim != 2 or any(not np.isfinite(n) for n in X.shape):
            raise InputError(
                f"X is a dask array of shape {X.shape}; expected two known dimensions",
                hint="Call X.compute_chunk_sizes() first.",
            )
        self.n_rows, self.n_features = (int(n) for n in X.shape)
        self.tile = tile
        self.dtype = np.dtype(X.dtype)
        self.is_sparse = sp.issparse(getattr(X, "_meta", None))
        self.feature_kind = np.zeros(self.n_features, dtype=np.uint8)
        tiles = X.rechunk({0: tile, 1: -1}).to_delayed()[:, 0] if self.n_rows else []
        self._parts: Sequence[Any] = list(tiles)
        client = _current_client()
        if client is not None and self._parts:
            self._parts = client.compute(self._parts)

    def item(self, start: int, stop: int) -> TileItem:
        return TileItem(start, stop, dependency=self._parts[start // self.tile])


def _current_client() -> Any:
    from mlfs_dask.graphs.executor import OnCluster, get_executor

    executor = get_executor()
    return executor._client if isinstance(executor, OnCluster) else None


def _make_backing(X: Any, tile: int) -> _Backing:
    if isinstance(X, Dataset):
        return _StoreBacking(X)
    if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        return _DaskBacking(X, tile)
    names = None
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = tuple(str(name) for name in X.columns)
        X = X.to_numpy()
    block = as_block(X)
    return _ArrayBacking(block, tile, names)


class _TileCache:
    """Decoded tiles of stores, least recently used dropped first, bounded in bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._bytes = 0
        self._held: OrderedDict[tuple[str, str, int, int], Block] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, dataset: Dataset, start: int, stop: int) -> Block:
        key = (dataset.path, dataset.digest, start, stop)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        block = dataset.X[start:stop]
        size = _block_bytes(block)
        if size <= self._limit // 4:
            with self._lock:
                if key not in self._held:
                    self._held[key] = block
                    self._bytes += size
                while self._bytes > self._limit:
                    _, dropped = self._held.popitem(last=False)
                    self._bytes -= _block_bytes(dropped)
        return block


def _block_bytes(block: Block) -> int:
    if sp.issparse(block):
        return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)
    return int(block.nbytes)


_cache = _TileCache(_CACHE_BYTES)
_opened: dict[tuple[str, str], Dataset] = {}


def _read_tile(address: str, digest: str, start: int, stop: int) -> Block:
    dataset = _opened.get((address, digest))
    if dataset is None:
        dataset = open_dataset(address)
        if dataset.digest != digest:
            raise StoreError(
                f"{address} was replaced by other data while it was in use",
                hint="Start the run again on the new store.",
            )
        _opened[address, digest] = dataset
    return _cache.get(dataset, start, stop)
