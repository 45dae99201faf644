"""Chunks on disk, unpacked by the thread that asks for them.

Zarr unpacks chunks in threads of its own and copies them to their places in its one event loop:
tasks that read side by side wait there for each other, and for the pages of memory that are touched
there first. Our own stores need no more than a checksum and Blosc. What is unusual (other codecs,
an address, a damaged chunk) is left to Zarr, and so are the words for what is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import google_crc32c
import numpy as np
import zarr
from numcodecs import blosc
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec

from mlfs_dask._typing import AnyArray
from mlfs_dask.storage.places import Place

_CHECKSUM: Final = 4  # bytes at the end of a chunk
_HEADER: Final = 16  # bytes that Blosc begins with; those from 4 to 8 say how many it holds
_CODECS: Final = (BytesCodec, BloscCodec, Crc32cCodec)


def read_rows(store: Place, array: zarr.Array[Any], region: tuple[slice, ...]) -> AnyArray | None:
    """Values of a region that takes whole rows of chunks.

    Parameters
    ----------
    store
        Place of the store.
    array
        Array of it.
    region
        Slices with explicit bounds.

    Returns
    -------
    ndarray or None
        None: Zarr has to read it.
    """
    rows, *others = region
    height = array.chunks[0]
    as_wide = all(
        (part.start, part.stop) == (0, length) and length == chunk
        for part, length, chunk in zip(others, array.shape[1:], array.chunks[1:], strict=True)
    )
    if not isinstance(store, Path) or rows.stop <= rows.start or not as_wide or not _is_ours(array):
        return None
    out = np.empty((rows.stop - rows.start, *array.shape[1:]), dtype=array.dtype)
    for number in range(rows.start // height, -(-rows.stop // height)):
        begin = number * height
        first, last = max(rows.start, begin), min(rows.stop, begin + height)
        wanted = out[first - rows.start : last - rows.start]
        whole = wanted if last - first == height else np.empty(array.chunks, dtype=array.dtype)
        if not _unpack(store / chunk_file(array, (number, *(0 for _ in others))), whole):
            return None
        if whole is not wanted:
            wanted[:] = whole[first - begin : last - begin]
    return out


def chunk_file(array: zarr.Array[Any], coordinates: tuple[int, ...]) -> str:
    """Path of a chunk's file, relative to the store.

    Parameters
    ----------
    array
        A Zarr array.
    coordinates
        Position of the chunk in the grid.
    """
    return f"{array.path}/{array.metadata.encode_chunk_key(coordinates)}"


def read_packed(file: Path) -> bytes | None:
    """Content of the file of a chunk; None if it cannot be read.

    Parameters
    ----------
    file
        Where it is.
    """
    try:
        return file.read_bytes()
    except OSError:
        return None


def _is_ours(array: zarr.Array[Any]) -> bool:
    """Whether chunks are plain numbers, packed by Blosc, with a checksum."""
    if array.shards is not None or array.dtype.kind not in "biuf" or not array.dtype.isnative:
        return False
    codecs: tuple[Any, ...] = getattr(array.metadata, "codecs", ())
    if tuple(map(type, codecs)) != _CODECS:
        return False
    endian = codecs[0].endian
    return endian is None or endian.value == sys.byteorder


def _unpack(file: Path, out: AnyArray) -> bool:
    """Fill ``out`` with the values of a chunk; False if the chunk is not what it should be."""
    packed = read_packed(file)
    if packed is None or len(packed) < _HEADER + _CHECKSUM:
        return False
    content = np.frombuffer(packed, dtype=np.uint8)[:-_CHECKSUM]
    checksum = int.from_bytes(packed[-_CHECKSUM:], "little")
    if google_crc32c.value(content) != checksum:
        return False
    if int.from_bytes(packed[4:8], "little") != out.nbytes:
        return False
    try:
        blosc.decompress(content, out)
    except (RuntimeError, ValueError):
        return False
    return True
