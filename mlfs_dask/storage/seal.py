"""The seal of a store: ``checksums.json`` and the marker ``complete``.

crc32c in each chunk finds damage to the chunk's bytes, but Zarr reads a lost chunk as zeros and
trusts its metadata. So ``checksums.json`` lists the sha256 of every metadata file, and shape and
number of chunks of every array; ``complete`` holds the sha256 of ``checksums.json`` and is written
last. ``checksums.json`` is a function of the rest of the store, so it can be rebuilt, which tells
which of the two was damaged. A block of features appended later has a seal of its own; that of the
store stays as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from mlfs_dask.errors import BucketError, MachineError, StoreCorruptError, StoreError
from mlfs_dask.storage.layout import BLOCKS, CHECKSUMS, COMPLETE, METADATA
from mlfs_dask.storage.places import Place, files_below, relative_path

_SHA256_LINE = re.compile(rb"[0-9a-f]{64}\n")


def write_seal(store: Path) -> None:
    """Write ``checksums.json``, then ``complete``.

    Parameters
    ----------
    store
        Folder of a store, or of a block, whose arrays are all written.
    """
    content = seal_content(store)
    (store / CHECKSUMS).write_bytes(content)
    with open(store / CHECKSUMS, "rb") as handle:
        os.fsync(handle.fileno())
    marker = hashlib.sha256(content).hexdigest() + "\n"
    (store / COMPLETE).write_bytes(marker.encode())
    with open(store / COMPLETE, "rb") as handle:
        os.fsync(handle.fileno())


def seal_content(store: Place) -> bytes:
    """What ``checksums.json`` says of a store in its present state.

    Parameters
    ----------
    store
        Folder of a store.

    Returns
    -------
    bytes
        Canonical JSON: sorted keys, two blanks of indentation, a newline at the end.
    """
    metadata: dict[str, str] = {}
    arrays: dict[str, dict[str, Any]] = {}
    for path in files_below(store, METADATA):
        relative = relative_path(path, store)
        if relative.parts[0] == BLOCKS:
            continue
        content = path.read_bytes()
        metadata[relative.as_posix()] = hashlib.sha256(content).hexdigest()
        node = json.loads(content)
        if node["node_type"] == "array":
            arrays[relative.parent.as_posix()] = {
                "chunks": count_chunks(node),
                "shape": node["shape"],
            }
    seal = {"arrays": arrays, "format": 1, "metadata": metadata}
    return (json.dumps(seal, indent=2, sort_keys=True) + "\n").encode()


def count_chunks(node: dict[str, Any]) -> int:
    """Number of chunks that an array has when all are written.

    Parameters
    ----------
    node
        Metadata of a Zarr v3 array with a regular grid.
    """
    number = 1
    chunk_shape = node["chunk_grid"]["configuration"]["chunk_shape"]
    for length, chunk in zip(node["shape"], chunk_shape, strict=True):
        number *= -(-length // chunk)
    return number


def read_marker(store: Place) -> str:
    """Content of ``complete``: it changes whenever anything in a store does.

    Parameters
    ----------
    store
        Folder of a store.

    Raises
    ------
    StoreError
        No marker: not a store, or one that was never finished.
    MachineError
        The marker may not be read.
    """
    try:
        return (store / COMPLETE).read_text(encoding="ascii", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreError(
            f"{store} is not a finished store: it has no file {COMPLETE!r}",
            hint="Make a store of your file with: mlfs data ingest FILE",
            path=str(store),
        ) from error
    except MachineError:
        raise
    except OSError as error:
        raise MachineError(
            f"cannot read {store / COMPLETE}: {error.strerror}", path=str(store)
        ) from error


def check_seal(store: Place) -> dict[str, Any]:
    """Check marker, checksums and metadata files; arrays are not read.

    Parameters
    ----------
    store
        Folder of a store or of a block.

    Returns
    -------
    dict
        Content of ``checksums.json``.

    Raises
    ------
    StoreError
        Not a finished store.
    StoreCorruptError
        A file changed or is lost; ``facts["files"]`` names it.
    """
    read_marker(store)
    damaged = damaged_metadata(store)
    if damaged:
        raise StoreCorruptError(
            f"{store} is damaged: {', '.join(damaged)} changed or got lost since it was written",
            hint="Ingest the source file again with --force; `mlfs data verify` lists all damage.",
            path=str(store),
            files=damaged,
        )
    seal: dict[str, Any] = json.loads((store / CHECKSUMS).read_bytes())
    return seal


def damaged_metadata(store: Place) -> list[str]:
    """Names of the files of seal and metadata that changed or are lost.

    Parameters
    ----------
    store
        Folder of a store.

    Returns
    -------
    list of str
        Paths relative to the store; empty if the seal holds.
    """
    marker = _read(store / COMPLETE)
    content = _read(store / CHECKSUMS)
    if content is None:
        return [CHECKSUMS]
    if marker is not None and _marker_of(content) == marker:
        wanted: dict[str, str] = json.loads(content)["metadata"]
        return [name for name, digest in wanted.items() if _sha256(store / name) != digest]
    if marker is None or not _SHA256_LINE.fullmatch(marker):
        return [COMPLETE]
    return _who_broke_the_seal(store, content, marker)


def _who_broke_the_seal(store: Place, content: bytes, marker: bytes) -> list[str]:
    """Tell a damaged marker from a damaged list by rebuilding the list from the metadata."""
    try:
        rebuilt = seal_content(store)
    except (BucketError, MachineError):
        raise
    except (ValueError, KeyError, TypeError, OSError):
        return [CHECKSUMS, COMPLETE]
    if rebuilt == content:
        return [COMPLETE]
    if _marker_of(rebuilt) == marker:
        return [CHECKSUMS]
    return [CHECKSUMS, COMPLETE]


def _marker_of(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


def _sha256(path: Place) -> str | None:
    content = _read(path)
    return None if content is None else hashlib.sha256(content).hexdigest()


def _read(path: Place) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
