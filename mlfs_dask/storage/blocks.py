"""Blocks of features that were appended to a store, and X of all of them side by side.

::

    NAME.zarr/                 part 0: X, names, kinds, costs; Y and split are here only
      blocks/0001/             part 1: X, names, kinds, costs of further features of the same rows
      blocks/0002/             part 2
      closed                   no further block will come

Each part has a seal of its own, so appending changes no file that is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy.sparse as sp
import zarr

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.errors import BucketError, MachineError, MlfsError, StoreCorruptError, StoreError
from mlfs_dask.storage import guarded
from mlfs_dask.storage.direct import chunk_file
from mlfs_dask.storage.dtypes import largest_dtype
from mlfs_dask.storage.layout import BLOCKS, CLOSED, COMPLETE, METADATA, check_format
from mlfs_dask.storage.places import ObjectPlace, Place, relative_path
from mlfs_dask.storage.records import TableHeader
from mlfs_dask.storage.rows import RowReader
from mlfs_dask.storage.seal import check_seal, read_marker

if TYPE_CHECKING:
    from mlfs_dask.storage.store import Dataset

_NUMBER: Final = re.compile(r"[0-9]{4,}")
_AGAIN: Final = "Put the block back from a copy, or ingest and append the source files again."


class Part:
    """A store without its blocks, or one of these: opened and checked.

    Parameters
    ----------
    folder
        Of the store or of the block.

    Attributes
    ----------
    folder : Path or ObjectPlace
    marker : str
        Content of ``complete``.
    root : zarr.Group
    attributes : dict
    arrays : dict
        What the seal says of each array.

    Raises
    ------
    StoreError
        Not finished, or of another format version.
    StoreCorruptError
        Metadata changed, or a chunk is lost.
    """

    def __init__(self, folder: Place) -> None:
        self.folder = folder
        self.marker = read_marker(folder)
        with _still_there(folder):
            seal = self._seal()
            self.root = guarded.open_group(folder)
            self.attributes: dict[str, Any] = dict(self.root.attrs)
            check_format(self.attributes, folder)
            self.arrays: dict[str, Any] = seal["arrays"]
            for name, expected in self.arrays.items():
                array = self.root[name]
                assert isinstance(array, zarr.Array)
                if array.nchunks_initialized != expected["chunks"]:
                    _name_lost_chunk(folder, array)

    def _seal(self) -> dict[str, Any]:
        try:
            return check_seal(self.folder)
        except StoreCorruptError:
            _refuse_other_format(self.folder)
            raise

    def read(self, name: str) -> AnyArray:
        """All values of an array.

        Parameters
        ----------
        name
            Of the array.
        """
        with _still_there(self.folder):
            array = self.root[name]
            assert isinstance(array, zarr.Array)
            return guarded.read_all(self.folder, array)

    def header(self, store: Dataset) -> TableHeader:
        """Names, kinds and costs of this part, as a reader of its table would give them.

        Parameters
        ----------
        store
            The store it belongs to.
        """
        categories: dict[str, list[str]] = self.attributes["categories"]
        has_costs = "feature_cost" in self.arrays
        return TableHeader(
            name=store.name,
            feature_names=tuple(self.read("feature_names").tolist()),
            label_names=store.label_names,
            feature_kind=self.read("feature_kind"),
            categories={int(f): tuple(values) for f, values in categories.items()},
            is_sparse=store.is_sparse,
            feature_cost=self.read("feature_cost") if has_costs else None,
        )

    def rows(self, reopen: tuple[Any, ...]) -> RowReader:
        """X of this part.

        Parameters
        ----------
        reopen
            As for `RowReader`.
        """
        with _still_there(self.folder):
            return RowReader(self.folder, self.root["X"], reopen)


def block_folder(store: Place, number: int) -> Place:
    """Where a block of a store lies.

    Parameters
    ----------
    store
        Folder of the store.
    number
        From 1.

    Examples
    --------
    >>> from pathlib import Path
    >>> str(block_folder(Path("a.zarr"), 12))
    'a.zarr/blocks/0012'
    """
    return store / BLOCKS / f"{number:04d}"


def block_folders(store: Place) -> list[Place]:
    """Folders of the blocks of a store, in order.

    Parameters
    ----------
    store
        Folder of the store.

    Raises
    ------
    StoreCorruptError
        One between the others is lost.
    """
    blocks = store / BLOCKS
    names = (
        [entry.name for entry in blocks.iterdir() if _is_there(entry)] if blocks.is_dir() else []
    )
    numbers = sorted(int(name) for name in names if _NUMBER.fullmatch(name))
    for expected, number in enumerate(numbers, 1):
        if number != expected:
            lost = block_folder(store, expected)
            raise StoreCorruptError(
                f"{lost} is lost: there are later blocks",
                hint=_AGAIN,
                path=str(store),
                files=[relative_path(lost, store).as_posix()],
            )
    return [block_folder(store, number) for number in numbers]


def is_closed(store: Place) -> bool:
    """Whether no further block will come.

    Parameters
    ----------
    store
        Folder of the store.
    """
    return (store / CLOSED).is_file()


def check_block(block: Part, n_samples: int, before: str) -> None:
    """Refuse a block that belongs to other rows or to another place in the chain.

    Parameters
    ----------
    block
        Opened.
    n_samples
        Rows of the store.
    before
        Digest of the store before this block.

    Raises
    ------
    StoreCorruptError
        It was moved here from another store, or blocks changed places.
    """
    found = (block.attributes.get("n_samples"), block.attributes.get("follows"))
    if found != (n_samples, before):
        raise StoreCorruptError(
            f"{block.folder} does not belong here: it was appended to other data",
            hint=_AGAIN,
            path=str(block.folder),
            files=[METADATA],
        )


class SideBySide:
    """X of several parts: ``reader[a:b]`` are rows a to b - 1 with the columns of all of them.

    Parameters
    ----------
    parts
        X of each part, all dense or all sparse.
    reopen
        Function and arguments that give the same reader in another process.

    Attributes
    ----------
    shape : (int, int)
        Samples, features of all parts.
    dtype : dtype
        The smallest that holds the values of all parts.
    is_sparse : bool
        Rows come as csr_matrix if true, as ndarray if not.
    """

    def __init__(self, parts: Sequence[RowReader], reopen: tuple[Any, ...]) -> None:
        self._parts = list(parts)
        self._reopen = reopen
        self.shape = (parts[0].shape[0], sum(part.shape[1] for part in parts))
        self.is_sparse = parts[0].is_sparse
        self.dtype = parts[0].dtype
        for part in parts[1:]:
            self.dtype = largest_dtype(self.dtype, part.dtype)

    def __repr__(self) -> str:
        return f"<{len(self._parts)} parts side by side: {self._parts}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reopen

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> AnyArray | sp.csr_matrix:
        """Consecutive rows, as a new ndarray or csr_matrix of shape (rows, n_features)."""
        found = [part[rows] for part in self._parts]
        if self.is_sparse:
            whole = sp.csr_matrix(sp.hstack(found, format="csr", dtype=self.dtype))
            whole.has_sorted_indices = True
            whole.has_canonical_format = True
            return whole
        return np.concatenate(found, axis=1, dtype=self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        whole = self[:]
        dense = whole if isinstance(whole, np.ndarray) else whole.toarray()
        return dense if dtype is None else dense.astype(dtype, copy=False)

    @cached_property
    def indptr(self) -> IntArray | None:
        """Where each row's entries would begin, shape (n_samples + 1,); None if dense."""
        found = [part.indptr for part in self._parts]
        total = np.zeros(self.shape[0] + 1, dtype=np.int64)
        for indptr in found:
            if indptr is None:
                return None
            total += indptr
        return total


@contextmanager
def _still_there(folder: Place) -> Iterator[None]:
    """Say it where a store or a block is removed or replaced just while it is opened."""
    try:
        yield
    except MlfsError:
        raise
    except (KeyError, FileNotFoundError, NotADirectoryError) as error:
        check_seal(folder)  # says what is gone
        raise StoreError(
            f"{folder} was replaced while it was being opened",
            hint="Do it again, with the store that is there now.",
            path=str(folder),
        ) from error


def _is_there(block: Place) -> bool:
    """A folder gets its name when all is in it; objects come one by one, the marker last."""
    return not isinstance(block, ObjectPlace) or (block / COMPLETE).is_file()


def _refuse_other_format(store: Place) -> None:
    """Say so where another version of mlfs-dask made the store: its seal may differ too."""
    try:
        attributes = json.loads((store / METADATA).read_bytes())["attributes"]
        version = attributes["mlfs_format"]
    except (BucketError, MachineError):
        raise
    except (OSError, ValueError, KeyError, TypeError):
        return
    if isinstance(version, int):
        check_format(attributes, store)


def _name_lost_chunk(store: Place, array: zarr.Array[Any]) -> None:
    for coordinates in guarded.chunks_of(array):
        if not (store / chunk_file(array, coordinates)).is_file():
            raise guarded.corrupt_chunk(store, array, coordinates)
