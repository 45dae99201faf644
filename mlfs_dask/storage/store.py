"""An opened store: small facts at once, names and labels on first use, X by ranges of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray
from mlfs_dask.errors import NotFoundError, StoreError
from mlfs_dask.storage.blocks import Part, SideBySide, block_folders, check_block, is_closed
from mlfs_dask.storage.digest import chain_digest
from mlfs_dask.storage.places import ObjectPlace, Place, files_below, place
from mlfs_dask.storage.records import BATCH_BYTES, RowBatch, SourceFile, TableHeader, row_bytes
from mlfs_dask.storage.rows import RowReader
from mlfs_dask.storage.seal import read_marker
from mlfs_dask.wording import counted


class Dataset:
    """A finished store, opened for reading.

    Cheap to open, safe to use from several threads; pickles as its address, and refuses to open
    elsewhere once the store there has changed. Blocks of features appended after it was opened are
    not seen: open the store again.

    Parameters
    ----------
    store
        Place of a finished store; use `open_store` or `mlfs_dask.open_dataset`.
    digest
        The store as it was when it had this digest: without the blocks that came later. By default
        with all blocks there are.

    Attributes
    ----------
    path : str
        Absolute path of the store, or its address.
    name : str
        Name of the data set.
    n_samples, n_features, n_labels : int
        Size.
    tile : int
        Rows of a tile.
    digest : str
        Digest of the values, 64 hexadecimal digits.
    chain : tuple of str
        Digest of the store without blocks, with the first one, ...; the last is `digest`.
    parts : list of Part
        The store without its blocks, then each of these.
    X : RowReader or SideBySide
        Rows by ranges, ``X[a:b]``.
    attributes : dict
        All attributes of the store with its blocks, among them ``source``, ``notes`` and
        ``label_sets``.
    """

    def __init__(self, store: Place, digest: str | None = None) -> None:
        store = store.absolute()
        self._store = store
        self.parts, self.chain = _open_parts(store, digest)
        self._markers = tuple(part.marker for part in self.parts)
        self.attributes = _united(self.parts, self.chain[-1])
        self.path = str(store)
        self.name: str = self.attributes["name"]
        self.n_samples: int = self.attributes["n_samples"]
        self.n_features: int = self.attributes["n_features"]
        self.n_labels: int = self.attributes["n_labels"]
        self.tile: int = self.attributes["tile"]
        self.digest: str = self.attributes["digest"]
        reopen = _reopen_rows, (self.path, self._markers)
        readers = [part.rows(reopen) for part in self.parts]
        self.X: RowReader | SideBySide = (
            readers[0] if len(readers) == 1 else SideBySide(readers, reopen)
        )

    def __repr__(self) -> str:
        return (
            f"<Dataset {self.name!r}: {counted(self.n_samples, 'sample')}, "
            f"{counted(self.n_features, 'feature')}, {counted(self.n_labels, 'label')}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.path, self._markers)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Number of features of each block that was appended."""
        return tuple(part.attributes["n_features"] for part in self.parts[1:])

    @property
    def is_closed(self) -> bool:
        """Whether no further block of features will come; looked up each time."""
        return is_closed(self._store)

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
        return _sealed(self.parts[0].read("Y"))

    @cached_property
    def split(self) -> ByteArray:
        """Split as shipped, shape (n_samples,): 0 none, 1 train, 2 test; read-only."""
        return _sealed(self.parts[0].read("split"))

    @cached_property
    def feature_kind(self) -> ByteArray:
        """Kinds, shape (n_features,): 0 numeric, 1 nominal; read-only."""
        return self._side_by_side("feature_kind")

    @cached_property
    def feature_cost(self) -> FloatArray | None:
        """Test costs, shape (n_features,), or None; read-only."""
        has_costs = "feature_cost" in self.parts[0].arrays
        return self._side_by_side("feature_cost") if has_costs else None

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, as the source has them."""
        return tuple(self._side_by_side("feature_names").tolist())

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, in the order of the source's attributes."""
        return tuple(self.parts[0].read("label_names").tolist())

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
        if isinstance(self._store, ObjectPlace):
            return self._store.bytes_below()
        return sum(path.stat().st_size for path in files_below(self._store))

    def _side_by_side(self, name: str) -> AnyArray:
        return _sealed(np.concatenate([part.read(name) for part in self.parts]))


def open_store(path: Place, digest: str | None = None) -> Dataset:
    """Open a finished store by its path or address.

    Parameters
    ----------
    path
        Place of the store.
    digest
        As for `Dataset`.

    Raises
    ------
    NotFoundError
        No such folder, or no object there.
    StoreError
        Not a finished store, or one of another format version; or it never had this digest.
    StoreCorruptError
        Metadata changed, or a chunk or a block is lost.
    """
    if not path.is_dir():
        raise NotFoundError(
            f"there is no store {path}",
            hint="`mlfs data list` shows the stores and the names of the catalogue.",
            path=str(path),
        )
    return Dataset(path, digest)


def _open_parts(store: Place, digest: str | None) -> tuple[list[Part], tuple[str, ...]]:
    """The store and its blocks up to a digest, and the chain of digests."""
    parts = [Part(store)]
    chain: list[str] = [parts[0].attributes["digest"]]
    n_samples = parts[0].attributes["n_samples"]
    for folder in block_folders(store):
        if chain[-1] == digest:
            break
        block = Part(folder)
        check_block(block, n_samples, chain[-1])
        parts.append(block)
        chain.append(chain_digest(chain[-1], block.attributes["digest"]))
    if digest is not None and chain[-1] != digest:
        raise StoreError(
            f"{store} holds other data than at the start: it never had the digest {digest[:10]}...",
            hint="Put the old store back, or start the job again with --force.",
            path=str(store),
            digest=digest,
        )
    return parts, tuple(chain)


def _united(parts: list[Part], digest: str) -> dict[str, Any]:
    """Attributes of a store with those of its blocks."""
    attributes = dict(parts[0].attributes)
    for block in parts[1:]:
        own, before = block.attributes, attributes["n_features"]
        moved = {str(int(f) + before): values for f, values in own["categories"].items()}
        attributes["categories"] = {**attributes["categories"], **moved}
        attributes["n_features"] = before + own["n_features"]
        attributes["source"] = [*attributes["source"], *own["source"]]
        attributes["notes"] = [*attributes["notes"], *own["notes"]]
    return {**attributes, "digest": digest}


def _sealed(values: AnyArray) -> AnyArray:
    values.setflags(write=False)
    return values


@lru_cache(maxsize=16)
def _cached(path: str, markers: tuple[str, ...]) -> Dataset:
    dataset = open_store(place(path))
    if len(dataset.chain) == len(markers):
        return dataset
    return open_store(place(path), dataset.chain[len(markers) - 1])


def _reopen(path: str, markers: tuple[str, ...]) -> Dataset:
    """Unpickle: the same store, opened once per process."""
    store = place(path)
    folders = [store, *block_folders(store)][: len(markers)]
    if tuple(read_marker(folder) for folder in folders) != markers:
        raise StoreError(
            f"the store {path} was replaced while it was in use",
            hint="Start the job again: it will use the present store.",
            path=path,
        )
    return _cached(path, markers)


def _reopen_rows(path: str, markers: tuple[str, ...]) -> RowReader | SideBySide:
    return _reopen(path, markers).X
