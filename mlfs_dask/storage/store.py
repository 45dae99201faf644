"""An opened store: small facts at once, names and labels on first use, X by ranges of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray
from mlfs_dask.errors import NotFoundError, StoreCorruptError, StoreError
from mlfs_dask.storage import guarded
from mlfs_dask.storage.layout import METADATA, check_format
from mlfs_dask.storage.records import BATCH_BYTES, RowBatch, SourceFile, TableHeader, row_bytes
from mlfs_dask.storage.rows import RowReader
from mlfs_dask.storage.seal import check_seal, read_marker


class Dataset:
    """A finished store, opened for reading.

    Cheap to open, safe to use from several threads; pickles as its address, and refuses to open
    elsewhere once the store there has changed.

    Parameters
    ----------
    store
        Folder of a finished store; use `open_store` or `mlfs_dask.open_dataset`.

    Attributes
    ----------
    path : str
        Absolute path of the store.
    name : str
        Name of the data set.
    n_samples, n_features, n_labels : int
        Size.
    tile : int
        Rows of a tile.
    digest : str
        Digest of the values, 64 hexadecimal digits.
    X : RowReader
        Rows by ranges, ``X[a:b]``.
    attributes : dict
        All attributes of the store, among them ``source``, ``notes`` and ``label_sets``.
    """

    def __init__(self, store: Path) -> None:
        store = store.absolute()
        self._store = store
        self._marker = read_marker(store)
        self._root, self._seal = _open_checked(store)
        self.attributes: dict[str, Any] = dict(self._root.attrs)
        self.path = str(store)
        self.name: str = self.attributes["name"]
        self.n_samples: int = self.attributes["n_samples"]
        self.n_features: int = self.attributes["n_features"]
        self.n_labels: int = self.attributes["n_labels"]
        self.tile: int = self.attributes["tile"]
        self.digest: str = self.attributes["digest"]
        self.X = RowReader(store, self._root["X"], (_reopen_rows, (self.path, self._marker)))

    def __repr__(self) -> str:
        return (
            f"<Dataset {self.name!r}: {self.n_samples} samples, {self.n_features} features, "
            f"{self.n_labels} labels>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.path, self._marker)

    @property
    def is_sparse(self) -> bool:
        """Whether X is stored as CSR."""
        return self.X.is_sparse

    @property
    def x_dtype(self) -> np.dtype:
        """Stored dtype of X."""
        return self.X.dtype

    @property
    def truth(self) -> dict[str, Any] | None:
        """What was planted in synthetic data; None for real data."""
        return self.attributes.get("truth")

    @cached_property
    def categories(self) -> dict[int, tuple[str, ...]]:
        """Index of each nominal feature -> its values in the order of the stored codes."""
        stored: dict[str, list[str]] = self.attributes["categories"]
        return {int(feature): tuple(values) for feature, values in stored.items()}

    @cached_property
    def Y(self) -> ByteArray:
        """Labels, shape (n_samples, n_labels): 1 relevant, 0 not; read-only."""
        return self._read("Y")

    @cached_property
    def split(self) -> ByteArray:
        """Split as shipped, shape (n_samples,): 0 none, 1 train, 2 test; read-only."""
        return self._read("split")

    @cached_property
    def feature_kind(self) -> ByteArray:
        """Kinds, shape (n_features,): 0 numeric, 1 nominal; read-only."""
        return self._read("feature_kind")

    @cached_property
    def feature_cost(self) -> FloatArray | None:
        """Test costs, shape (n_features,), or None; read-only."""
        return self._read("feature_cost") if "feature_cost" in self._seal["arrays"] else None

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, as the source has them."""
        return tuple(self._read("feature_names").tolist())

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, in the order of the source's attributes."""
        return tuple(self._read("label_names").tolist())

    @property
    def header(self) -> TableHeader:
        """Names, kinds, sources and costs, as a reader of the same table would give them."""
        return TableHeader(
            name=self.name,
            feature_names=self.feature_names,
            label_names=self.label_names,
            feature_kind=self.feature_kind,
            categories=self.categories,
            is_sparse=self.is_sparse,
            source=tuple(SourceFile(**file) for file in self.attributes["source"]),
            notes=tuple(self.attributes["notes"]),
            feature_cost=self.feature_cost,
        )

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in store order, X in the stored dtype, in batches of whole tiles where they fit.

        Parameters
        ----------
        max_bytes
            Bound on the size of a batch in float64 (CSR entries if sparse), in bytes.

        Examples
        --------
        A store is a table too, so it can be copied to another tile or dtype::

            ingest(open_dataset("emotions"), Path("copy.zarr"), tile=64)
        """
        step = max(1, max_bytes // self._row_bytes)
        if step > self.tile:
            step -= step % self.tile
        for start in range(0, self.n_samples, step):
            rows = slice(start, min(start + step, self.n_samples))
            yield RowBatch(self.X[rows], self.Y[rows], self.split[rows])

    @property
    def _row_bytes(self) -> int:
        if self.X.indptr is None:
            return row_bytes(self.n_features, self.n_labels)
        entries = -(-int(self.X.indptr[-1]) // self.n_samples)
        return 12 * entries + self.n_labels + 1

    @property
    def bytes_on_disk(self) -> int:
        """Size of all files of the store."""
        return sum(path.stat().st_size for path in self._store.rglob("*") if path.is_file())

    def _read(self, name: str) -> AnyArray:
        array = self._root[name]
        assert isinstance(array, zarr.Array)
        values = guarded.read_all(self._store, array)
        values.setflags(write=False)
        return values


def open_store(path: Path) -> Dataset:
    """Open a finished store by its path.

    Parameters
    ----------
    path
        Folder of the store.

    Raises
    ------
    NotFoundError
        No such folder.
    StoreError
        Not a finished store, or one of another format version.
    StoreCorruptError
        Metadata changed, or a chunk is lost.
    """
    if not path.is_dir():
        raise NotFoundError(
            f"there is no store {path}",
            hint="`mlfs data list` shows the stores and the names of the catalogue.",
            path=str(path),
        )
    return Dataset(path)


def _open_checked(store: Path) -> tuple[zarr.Group, dict[str, Any]]:
    """Root group and seal, after format version, seal and number of chunks are checked."""
    try:
        seal = check_seal(store)
    except StoreCorruptError:
        _refuse_other_format(store)
        raise
    root = guarded.open_group(store)
    check_format(dict(root.attrs), store)
    for name, expected in seal["arrays"].items():
        array = root[name]
        assert isinstance(array, zarr.Array)
        if array.nchunks_initialized != expected["chunks"]:
            _name_lost_chunk(store, array)
    return root, seal


def _refuse_other_format(store: Path) -> None:
    """Say so where another version of mlfs-dask made the store: its seal may differ too."""
    try:
        attributes = json.loads((store / METADATA).read_bytes())["attributes"]
        version = attributes["mlfs_format"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if isinstance(version, int):
        check_format(attributes, store)


def _name_lost_chunk(store: Path, array: zarr.Array[Any]) -> None:
    for coordinates in guarded.chunks_of(array):
        if not (store / guarded.chunk_file(array, coordinates)).is_file():
            raise guarded.corrupt_chunk(store, array, coordinates)


@lru_cache(maxsize=16)
def _cached(path: str, marker: str) -> Dataset:
    return open_store(Path(path))


def _reopen(path: str, marker: str) -> Dataset:
    """Unpickle: the same store, opened once per process."""
    if read_marker(Path(path)) != marker:
        raise StoreError(
            f"the store {path} was replaced while it was in use",
            hint="Start the job again: it will use the present store.",
            path=path,
        )
    return _cached(path, marker)


def _reopen_rows(path: str, marker: str) -> RowReader:
    return _reopen(path, marker).X
