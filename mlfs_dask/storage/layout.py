"""How a store looks on disk: names, format version, codecs, chunk shapes.

``storage/README.md`` says it in prose, ``storage/layout-v1.json`` as a JSON Schema of the
attributes; a test holds all three together.
"""

from __future__ import annotations

from typing import Any, Final

from mlfs_dask.errors import StoreError

FORMAT: Final = 1
"""Version of the layout that this package writes and reads (attribute ``mlfs_format``)."""
SUFFIX: Final = ".zarr"
METADATA: Final = "zarr.json"
CHECKSUMS: Final = "checksums.json"
COMPLETE: Final = "complete"
BLOCKS: Final = "blocks"
"""Folder of the blocks of features that were appended, 0001, 0002, ..."""
CLOSED: Final = "closed"
"""File that says that no further block will come."""
DEFAULT_TILE: Final = 4096
"""Store rows of a tile, the unit of canonical float sums."""

_MIN_CHUNK_BYTES = 1024 * 1024
_MAX_CHUNK_BYTES = 16 * 1024 * 1024
_MIN_CHUNK_ENTRIES = 1 << 14
_MAX_CHUNK_ENTRIES = 1 << 18


def check_format(attributes: dict[str, Any], path: object) -> None:
    """Refuse a store of another format version.

    Parameters
    ----------
    attributes
        Attributes of the root group.
    path
        Store, for the message.

    Raises
    ------
    StoreError
        No ``mlfs_format`` at all, or another one.
    """
    found = attributes.get("mlfs_format")
    if found is None:
        raise StoreError(
            f"{path} is a Zarr group, but not a store of mlfs-dask (no mlfs_format)",
            hint="Make a store of your file with: mlfs data ingest FILE",
            path=str(path),
        )
    if found != FORMAT:
        raise StoreError(
            f"{path} has mlfs_format {found!r}; this version of mlfs-dask reads {FORMAT}",
            hint="Upgrade mlfs-dask, or ingest the source file again.",
            path=str(path),
            found=found,
            supported=FORMAT,
        )


def row_chunk(n_rows: int, tile: int, row_bytes: int) -> int:
    """Rows of a chunk: the fewest whole tiles of at least 1 MiB, or all rows.

    One tile a chunk when tiles are large, so that a tile is read without decoding its neighbours;
    several when they are small, so that a store is not thousands of tiny files.

    Parameters
    ----------
    n_rows
        Rows of the array.
    tile
        Rows of a tile.
    row_bytes
        Size of a row, in bytes.
    """
    tiles = max(1, -(-_MIN_CHUNK_BYTES // (tile * max(1, row_bytes))))
    return min(n_rows, tiles * tile)


def column_chunk(n_columns: int, rows: int, itemsize: int) -> int:
    """Columns of a chunk: all, or as many as fit in 16 MiB.

    Parameters
    ----------
    n_columns
        Columns of the array.
    rows
        Rows of the chunk.
    itemsize
        Size of a value, in bytes.
    """
    return max(1, min(n_columns, _MAX_CHUNK_BYTES // (rows * itemsize)))


def entry_chunk(n_entries: int, n_tiles: int) -> int:
    """Entries of a chunk of the CSR arrays: about a tile's, between 2^14 and 2^18.

    Parameters
    ----------
    n_entries
        Stored entries of the whole matrix.
    n_tiles
        Number of tiles.
    """
    per_tile = -(-n_entries // max(1, n_tiles))
    chunk = _MIN_CHUNK_ENTRIES
    while chunk < min(per_tile, _MAX_CHUNK_ENTRIES):
        chunk *= 2
    return max(1, min(n_entries, chunk))


def tiles_per_read(n_entries: int, n_rows: int, tile: int, chunk: int) -> int:
    """Whole tiles whose entries fill about one chunk, at least one.

    Parameters
    ----------
    n_entries, n_rows
        Size of the whole CSR matrix.
    tile
        Rows of a tile.
    chunk
        Entries of a chunk.
    """
    per_tile = max(1, n_entries * tile // n_rows)
    return max(1, chunk // per_tile)


def compressors() -> tuple[Any, ...]:
    """Codecs of every array: blosc-zstd-bitshuffle, then crc32c over the packed bytes."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    return (BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle"), Crc32cCodec())
