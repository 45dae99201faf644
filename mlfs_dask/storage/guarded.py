"""Zarr arrays that never read a lost chunk as zeros, with errors that name array and chunk."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
import zarr
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import LocalStore, ObjectStore

from mlfs_dask._typing import AnyArray
from mlfs_dask.errors import BucketError, MachineError, StoreCorruptError
from mlfs_dask.storage import zarr_loop  # noqa: F401 - see there: it acts when the program ends
from mlfs_dask.storage.bucket import bucket
from mlfs_dask.storage.direct import chunk_file, read_rows
from mlfs_dask.storage.places import ObjectPlace, Place

Region = tuple[slice, ...]


class CompleteStore(LocalStore):
    """Folder of a finished store: every chunk must be there."""

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Content of a file of the store; a lost chunk raises where Zarr would fill in zeros."""
        found = await super().get(key, prototype, byte_range)
        if found is None and "/c/" in key:
            raise _lost_chunk(Path(self.root), key)
        return found


class CompleteObjects(ObjectStore[Any]):
    """Prefix of a finished store on object storage: every chunk must be there.

    Parameters
    ----------
    place
        Address of the store.
    read_only
        True, for Zarr's own calls.
    """

    def __init__(self, place: ObjectPlace, *, read_only: bool = True) -> None:
        super().__init__(bucket(place.bucket).zarr_objects(place.key), read_only=read_only)
        self._place = place

    def with_read_only(self, read_only: bool = False) -> Self:
        """The same objects."""
        return type(self)(self._place, read_only=read_only)

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Content of an object of the store; a lost chunk raises where Zarr would fill in zeros."""
        asked = bucket(self._place.bucket)
        prototype = prototype or default_buffer_prototype()
        try:
            found = await asked.patiently(
                "read",
                (self._place / key).key,
                lambda: super(CompleteObjects, self).get(key, prototype, byte_range),
            )
        except FileNotFoundError:
            found = None
        if found is None and "/c/" in key:
            raise _lost_chunk(self._place, key)
        return found

    async def list_prefix(self, prefix: str) -> AsyncGenerator[str, None]:
        """Keys below a prefix."""
        for key in await bucket(self._place.bucket).keys_below(self.store, prefix):
            yield key


def zarr_store(store: Place) -> CompleteStore | CompleteObjects:
    """What Zarr reads a finished store through.

    Parameters
    ----------
    store
        Its place.
    """
    if isinstance(store, ObjectPlace):
        return CompleteObjects(store)
    return CompleteStore(store, read_only=True)


def open_group(store: Place) -> zarr.Group:
    """Root group of a finished store, for reading.

    Parameters
    ----------
    store
        Place of a store whose seal holds.
    """
    return zarr.open_group(zarr_store(store), mode="r", zarr_format=3)


def read_region(store: Place, array: zarr.Array[Any], region: Region) -> AnyArray:
    """Values of a region of an array.

    Parameters
    ----------
    store
        Folder of the store.
    array
        Array of `open_group`.
    region
        Slices with explicit bounds.

    Raises
    ------
    StoreCorruptError
        A chunk changed or is lost; names array, chunk and path.
    MachineError
        The system refused to read.
    """
    found = read_rows(store, array, region)
    if found is not None:
        return found
    try:
        return np.asarray(array[region])
    except (StoreCorruptError, BucketError, MachineError):
        raise
    except PermissionError as error:
        raise MachineError(
            f"cannot read {error.filename or store}: {error.strerror}", path=str(store)
        ) from error
    except (ValueError, RuntimeError, EOFError, OSError, TypeError) as error:
        for coordinates in chunks_of(array, region):
            if not chunk_is_sound(array, coordinates):
                raise corrupt_chunk(store, array, coordinates) from error
        raise StoreCorruptError(
            f"{store}: array {array.path!r} cannot be read: {error}", path=str(store)
        ) from error


def read_all(store: Place, array: zarr.Array[Any]) -> AnyArray:
    """All values of an array, checked like `read_region`.

    Parameters
    ----------
    store
        Folder of the store.
    array
        Array of `open_group`.
    """
    return read_region(store, array, tuple(slice(0, length) for length in array.shape))


def chunks_of(array: zarr.Array[Any], region: Region | None = None) -> Iterator[tuple[int, ...]]:
    """Coordinates of the chunks that a region touches, all by default.

    Parameters
    ----------
    array
        A Zarr array.
    region
        Slices with explicit bounds.
    """
    bounds = region or tuple(slice(0, length) for length in array.shape)
    yield from product(
        *(
            range(part.start // chunk, -(-part.stop // chunk))
            for part, chunk in zip(bounds, array.chunks, strict=True)
        )
    )


def chunk_is_sound(array: zarr.Array[Any], coordinates: tuple[int, ...]) -> bool:
    """Whether a chunk is there, passes its crc32c and unpacks.

    Parameters
    ----------
    array
        A Zarr array.
    coordinates
        Position of the chunk in the grid.
    """
    region = tuple(
        slice(at * chunk, min((at + 1) * chunk, length))
        for at, chunk, length in zip(coordinates, array.chunks, array.shape, strict=True)
    )
    try:
        array[region]
    except (BucketError, MachineError):
        raise
    except (ValueError, RuntimeError, EOFError, OSError, TypeError):  # StoreCorruptError is one
        return False
    return True


def corrupt_chunk(
    store: Place, array: zarr.Array[Any], coordinates: tuple[int, ...]
) -> StoreCorruptError:
    """Error that names a damaged chunk.

    Parameters
    ----------
    store
        Folder of the store.
    array
        Array of the chunk.
    coordinates
        Position of the chunk in the grid.
    """
    key = chunk_file(array, coordinates)
    if not (store / key).exists():
        return _lost_chunk(store, key)
    return StoreCorruptError(
        f"{store / key}: chunk {coordinates} of array {array.path!r} changed since it was written",
        hint="Ingest the source file again with --force; `mlfs data verify` lists all damage.",
        path=str(store),
        array=array.path,
        chunk=coordinates,
        files=[key],
    )


def _lost_chunk(store: Place, key: str) -> StoreCorruptError:
    array, _, chunk = key.rpartition("/c/")
    coordinates: Any = tuple(int(part) for part in chunk.split("/")) if chunk else ()
    return StoreCorruptError(
        f"{store / key}: chunk {coordinates} of array {array!r} is lost",
        hint="Ingest the source file again with --force; `mlfs data verify` lists all damage.",
        path=str(store),
        array=array,
        chunk=coordinates,
        files=[key],
    )
