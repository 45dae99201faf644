"""Where whole rows come from: memory or a Dask array (stores: :mod:`mlfs_dask.graphs.source`)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.missing import MissingCells, float_dtype


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
    missing: MissingCells | None = None  # cells still to be taken away from the whole tile
    features: IntArray | None = None  # columns, ascending; None: all
    fill: FloatArray | None = None  # imputed value per feature; None: missing values stay

    def attached(self, array: Any) -> TileItem:
        """The same rows, held in memory by ``array`` (the whole tile's rows)."""
        return replace(self, array=array, dependency=None)

    def detached(self) -> TileItem:
        """The same reference without its dependency, to be sent beside it."""
        return replace(self, dependency=None)


class Backing:
    """Where whole rows come from; ``item(start, stop)`` refers to a range of them."""

    n_rows: int
    n_features: int
    tile: int
    is_sparse: bool
    dtype: np.dtype[Any]
    feature_kind: ByteArray
    feature_cost: FloatArray | None = None
    feature_names: tuple[str, ...] | None = None
    missing: MissingCells | None = None

    def item(self, start: int, stop: int) -> TileItem:
        """Reference to rows ``start:stop``."""
        raise TypeError(f"{type(self).__name__} holds no rows")

    def with_missing(self, cells: MissingCells) -> Self:
        """The same rows with cells missing, each tile's taken away when it is loaded."""
        other = copy.copy(self)
        other.missing = cells
        other.dtype = float_dtype(self.dtype)
        return other


class ArrayBacking(Backing):
    """Rows in this process's memory.

    Parameters
    ----------
    X : ndarray or csr_matrix, shape (n_rows, n_features)
    tile
        Rows per tile.
    names
        Of the features, if they have any.
    """

    def __init__(self, X: Block, tile: int, names: tuple[str, ...] | None) -> None:
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.tile = tile
        self.is_sparse = sp.issparse(X)
        self.dtype = X.dtype
        self.feature_kind = np.zeros(self.n_features, dtype=np.uint8)
        self.feature_names = names

    def item(self, start: int, stop: int) -> TileItem:
        """Reference to rows ``start:stop``."""
        return TileItem(start, stop, array=self._X[start:stop])

    def with_missing(self, cells: MissingCells) -> Self:
        """The same rows with cells missing, taken away at once: no tile is drawn twice."""
        other = super().with_missing(cells)
        other._X = cells.inject(self._X, 0)
        return other


class DaskBacking(Backing):
    """Blocks of a dask array regrouped to tiles; on the cluster if a client is there.

    Parameters
    ----------
    X : dask array, shape (n_rows, n_features)
    tile
        Rows per tile.

    Raises
    ------
    InputError
        Not two-dimensional, or of unknown size.
    """

    def __init__(self, X: Any, tile: int) -> None:
        if X.ndim != 2 or any(not np.isfinite(n) for n in X.shape):
            raise InputError(
                f"X is a dask array of shape {X.shape}; expected two known dimensions",
                hint="Call X.compute_chunk_sizes() first.",
            )
        if np.ma.isMaskedArray(getattr(X, "_meta", None)):
            X = X.astype(np.float64)  # masked cells become NaN
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
        """Reference to rows ``start:stop``, those of one tile."""
        part = self._parts[start // self.tile]
        return TileItem(start, stop, dependency=part, missing=self.missing)


def _current_client() -> Any:
    from mlfs_dask.graphs.executor import OnCluster, get_executor

    executor = get_executor()
    return executor._client if isinstance(executor, OnCluster) else None
