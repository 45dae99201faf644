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

import copy
import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.backing import ArrayBacking, Backing, DaskBacking, TileItem
from mlfs_dask.graphs.inputs import Block, as_block, as_labels, feature_vector, fill_missing
from mlfs_dask.graphs.missing import MissingCells
from mlfs_dask.graphs.tilecache import TileCache
from mlfs_dask.storage.dataset import Dataset, open_dataset

__all__ = ["DEFAULT_TILE", "MissingCells", "Source", "TileItem", "as_source", "load_block"]

DEFAULT_TILE = 4096
# Tiles of stores kept decoded per process: folds of one job read the same tiles again and again.
_CACHE_BYTES = 2**30
_MOST_OPENED = 64  # versions of stores; one that is followed has many


def load_block(item: TileItem) -> Block:
    """Rows of a tile: an ndarray or CSR matrix of shape (n_rows, n_features), stored dtype.

    Parameters
    ----------
    item
        From :meth:`Source.item`.
    """
    block = _whole_tile(item)
    if item.local is not None:
        block = block[item.local]
    if item.features is not None:
        block = _columns(block, item.features)
    return block if item.fill is None else fill_missing(block, item.fill)


def _whole_tile(item: TileItem) -> Block:
    """All rows and features of a tile, without its missing cells."""
    if item.address is not None and item.digest is not None:
        return _read_tile(item.address, item.digest, item.start, item.stop, item.missing)
    if item.dependency is not None:
        block = as_block(item.dependency.compute(scheduler="synchronous"))
    elif sp.issparse(item.array):
        block = item.array
    else:
        block = as_block(item.array)
    return block if item.missing is None else item.missing.inject(block, item.start)


def _columns(block: Block, features: IntArray) -> Block:
    # Indexing a dense block by a list of columns would give it in Fortran's order.
    return block[:, features] if sp.issparse(block) else np.take(block, features, axis=1)


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

    def __init__(self, backing: Backing, *, tile: int, Y: ByteArray | None = None) -> None:
        self._backing = backing
        self._rows: IntArray | None = None
        self._features: IntArray | None = None
        self._fill: FloatArray | None = None
        self.tile = tile
        self.Y = Y
        self.n_features = backing.n_features
        self.is_sparse = backing.is_sparse
        self.dtype = backing.dtype
        self.feature_kind = backing.feature_kind
        self.feature_cost = backing.feature_cost
        self.feature_names = backing.feature_names
        self._lay_tiles()

    def _lay_tiles(self) -> None:
        n_rows, rows = self._backing.n_rows, self._rows
        self.n_samples = n_rows if rows is None else len(rows)
        starts = np.arange(0, n_rows + self.tile, self.tile).clip(max=n_rows)
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
        whole = self._backing.item(start, stop)
        return replace(whole, local=local, features=self._features, fill=self._fill)

    def items(self) -> list[TileItem]:
        """References to all tiles, in tile order."""
        return [self.item(t) for t in range(self.n_tiles)]

    def block(self, t: int) -> Block:
        """Rows of tile ``t``, loaded here."""
        return load_block(self.item(t))

    def take(self, rows: IntArray) -> Self:
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
        other = copy.copy(self)
        other._rows = rows if self._rows is None else self._rows[rows]
        other.Y = None if self.Y is None else self.Y[rows]
        other._lay_tiles()
        return other

    def filled(self, values: FloatArray) -> Self:
        """The same rows with missing values replaced by ``values`` (n_features,)."""
        other = copy.copy(self)
        other._fill = values
        return other

    def with_labels(self, Y: ByteArray | None) -> Self:
        """The same rows with other labels, shape (n_samples, n_labels)."""
        other = copy.copy(self)
        other.Y = Y
        return other

    def with_costs(self, costs: FloatArray | None) -> Self:
        """The same rows with other test costs of the features.

        Parameters
        ----------
        costs : array-like of float, shape (n_features,), or None
            Not negative; of the features kept, if :meth:`keep_features` came first.

        Raises
        ------
        InputError
            Another shape, a cost that is negative or not a number.
        """
        other = copy.copy(self)
        other.feature_cost = None if costs is None else _checked_costs(costs, self.n_features)
        return other

    def with_missing(self, cells: MissingCells) -> Self:
        """The same rows as if cells of the data set they come from were missing.

        Cells are drawn for rows and features as the data set counts them, whatever was taken or
        kept before; values filled in by :meth:`filled` fill them too. Labels stay.

        Parameters
        ----------
        cells
            Which.

        Raises
        ------
        InputError
            Cells were taken away before.
        """
        if self._backing.missing is not None:
            raise InputError(f"cells are already missing by {self._backing.missing}")
        other = copy.copy(self)
        other._backing = self._backing.with_missing(cells)
        other.dtype = other._backing.dtype
        return other

    def keep_features(self, features: IntArray) -> Self:
        """The same rows with some of their features; names, kinds and costs follow.

        Parameters
        ----------
        features : ndarray of int64
            Positions of features in this source, strictly increasing, at least one.

        Raises
        ------
        InputError
            None, not strictly increasing or out of range.
        """
        kept = np.asarray(features, dtype=np.int64)
        in_order = len(kept) > 0 and kept[0] >= 0 and bool(np.all(np.diff(kept) > 0))
        if not in_order or kept[-1] >= self.n_features:
            raise InputError(
                "features must be strictly increasing positions of this source, at least one"
            )
        other = copy.copy(self)
        other._features = kept if self._features is None else self._features[kept]
        other._fill = None if self._fill is None else self._fill[kept]
        other.n_features = len(kept)
        other.feature_kind = self.feature_kind[kept]
        other.feature_cost = None if self.feature_cost is None else self.feature_cost[kept]
        names = self.feature_names
        other.feature_names = None if names is None else tuple(names[f] for f in kept)
        return other


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
        backing.feature_cost = _checked_costs(feature_cost, n_features)
    labels = X.Y if Y is None and isinstance(X, Dataset) else Y
    return Source(
        backing,
        tile=backing.tile,
        Y=None if labels is None else as_labels(labels, backing.n_rows),
    )


def labels_of(source: Source) -> ByteArray:
    """Labels of rows that have some.

    Parameters
    ----------
    source
        Rows.

    Returns
    -------
    ndarray of uint8, shape (n_samples, n_labels)

    Raises
    ------
    InputError
        They have none.
    """
    if source.Y is None:
        raise InputError("requires y to be passed, but the target y is None")
    return source.Y


def _checked_costs(costs: Any, n_features: int) -> FloatArray:
    checked = feature_vector(costs, "feature_cost", n_features, np.float64)
    if not np.all(checked >= 0):
        raise InputError("feature_cost holds values that are negative or not a number")
    try:
        math.fsum(checked)
    except OverflowError as error:
        raise InputError(
            "feature_cost adds up to more than 1.8e308, the largest number there is",
            hint="Give costs in a larger unit.",
        ) from error
    return checked


class _StoreBacking(Backing):
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
        return TileItem(start, stop, address=self._path, digest=self._digest, missing=self.missing)


def _make_backing(X: Any, tile: int) -> Backing:
    if isinstance(X, Dataset):
        return _StoreBacking(X)
    if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        return DaskBacking(X, tile)
    names = None
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = tuple(str(name) for name in X.columns)
        X = _table_values(X)
    block = as_block(X)
    return ArrayBacking(block, tile, names)


def _table_values(X: Any) -> Any:
    """Values of a DataFrame; what its nullable columns lack is NaN."""
    values = X.to_numpy()
    if values.dtype != object:
        return values
    try:
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return values  # refused by those who know what to say


_cache = TileCache(_CACHE_BYTES)


@lru_cache(maxsize=_MOST_OPENED)
def _opened(address: str, digest: str) -> Dataset:
    return open_dataset(address, digest)


def _read_tile(
    address: str, digest: str, start: int, stop: int, missing: MissingCells | None
) -> Block:
    """Rows of a store with their missing cells taken away, once for all folds."""
    dataset = _opened(address, digest)

    def load() -> Block:
        block = dataset.X[start:stop]
        return block if missing is None else missing.inject(block, start)

    return _cache.get((dataset.path, dataset.digest, start, stop, missing), load)
