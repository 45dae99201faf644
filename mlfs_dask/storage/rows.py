"""Row ranges of X, dense or CSR: fast, thread-safe, never a lost chunk as zeros."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import zarr
from scipy.sparse import csr_matrix

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.errors import InputError, StoreCorruptError
from mlfs_dask.storage.guarded import read_all, read_region
from mlfs_dask.storage.places import Place

_INT32_MAX = 2**31 - 1


class RowReader:
    """X of a store: ``reader[a:b]`` are rows a to b - 1 in the stored dtype.

    Parameters
    ----------
    store
        Folder of the store.
    node
        Dense array X, or group X in AnnData's CSR encoding.
    reopen
        Function and arguments that give the same reader in another process.

    Attributes
    ----------
    shape : (int, int)
        Samples, features.
    dtype : dtype
        Stored dtype of the values.
    is_sparse : bool
        Rows come as csr_matrix if true, as ndarray if not.
    """

    def __init__(
        self, store: Place, node: zarr.Array[Any] | zarr.Group, reopen: tuple[Any, ...]
    ) -> None:
        self._store = store
        self._node = node
        self._reopen = reopen
        self.is_sparse = isinstance(node, zarr.Group)
        if isinstance(node, zarr.Group):
            shape: Any = node.attrs["shape"]
            self._data, self._indices = self._array("data"), self._array("indices")
            self.shape: tuple[int, int] = (int(shape[0]), int(shape[1]))
            self.dtype: np.dtype = np.dtype(self._data.dtype)
        else:
            self.shape = (node.shape[0], node.shape[1])
            self.dtype = np.dtype(node.dtype)

    def __repr__(self) -> str:
        form = "CSR" if self.is_sparse else "dense"
        return f"<rows of X: {self.shape[0]} x {self.shape[1]} {self.dtype} {form}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reopen

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> AnyArray | csr_matrix:
        """Consecutive rows, as a new ndarray or csr_matrix of shape (rows, n_features)."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise InputError(
                f"rows of a store are read by ranges, X[a:b], not by {rows!r}",
                hint="Read the range that holds your rows, then pick from it.",
            )
        start, stop, _ = rows.indices(self.shape[0])
        stop = max(start, stop)
        if self.is_sparse:
            return self._sparse_rows(start, stop)
        array = self._node
        assert isinstance(array, zarr.Array)
        return read_region(self._store, array, (slice(start, stop), slice(0, self.shape[1])))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        whole = self[:]
        dense = whole if isinstance(whole, np.ndarray) else whole.toarray()
        return dense if dtype is None else dense.astype(dtype, copy=False)

    @cached_property
    def indptr(self) -> IntArray | None:
        """Where each row's entries begin, shape (n_samples + 1,); None if dense."""
        if not isinstance(self._node, zarr.Group):
            return None
        return read_all(self._store, self._array("indptr"))

    def _array(self, name: str) -> zarr.Array[Any]:
        """Array of the CSR group; the store may have been removed since it was opened."""
        assert isinstance(self._node, zarr.Group)
        try:
            array = self._node[name]
        except KeyError as error:
            raise StoreCorruptError(
                f"{self._store} is damaged: X/{name} got lost while it was in use",
                hint="Put the store back, then go on.",
                path=str(self._store),
                array=f"X/{name}",
            ) from error
        assert isinstance(array, zarr.Array)
        return array

    def _sparse_rows(self, start: int, stop: int) -> csr_matrix:
        indptr = self.indptr
        assert indptr is not None
        first, last = int(indptr[start]), int(indptr[stop])
        local = indptr[start : stop + 1] - first
        if last - first <= _INT32_MAX:
            local = local.astype(np.int32)
        entries = (slice(first, last),)
        data = read_region(self._store, self._data, entries)
        indices = read_region(self._store, self._indices, entries)
        rows = csr_matrix((data, indices, local), shape=(stop - start, self.shape[1]))
        rows.has_sorted_indices = True
        rows.has_canonical_format = True
        return rows
