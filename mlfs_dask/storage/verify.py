"""Read a whole store and name every file that changed or got lost since it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import msgspec
import zarr

from mlfs_dask.errors import (
    BucketError,
    MachineError,
    MlfsError,
    NotFoundError,
    StoreCorruptError,
    StoreError,
)
from mlfs_dask.storage import guarded
from mlfs_dask.storage.blocks import Part, block_folders, is_closed
from mlfs_dask.storage.digest import StoreDigest
from mlfs_dask.storage.direct import chunk_file
from mlfs_dask.storage.layout import BLOCKS, CHECKSUMS, CLOSED, COMPLETE, METADATA, check_format
from mlfs_dask.storage.places import Place, files_below, relative_path
from mlfs_dask.storage.records import BATCH_BYTES, row_bytes
from mlfs_dask.storage.seal import count_chunks, damaged_metadata
from mlfs_dask.storage.store import Dataset, open_store

_OTHER_VALUES: Final = "values are not those that were written: the digest differs"


class Damage(msgspec.Struct, frozen=True):
    """One damaged file.

    Attributes
    ----------
    file
        Path relative to the store.
    problem
        What is wrong with it.
    """

    file: str
    problem: str


class VerifyReport(msgspec.Struct, frozen=True):
    """What `verify` found.

    Attributes
    ----------
    path
        The store.
    ok
        Nothing is damaged.
    n_files
        Metadata files and chunks looked at.
    damage
        Damaged files.
    notes
        Files that do not belong to the store; they do no harm.
    """

    path: str
    ok: bool
    n_files: int
    damage: tuple[Damage, ...]
    notes: tuple[str, ...] = ()


def verify(store: Place) -> VerifyReport:
    """Check every byte of a store and its blocks: seal, metadata, chunks, digest of the values.

    Parameters
    ----------
    store
        Place of a store.

    Returns
    -------
    VerifyReport
        Names each flipped byte's file and each lost chunk.

    Raises
    ------
    NotFoundError
        No such folder, or no object there.
    StoreError
        A folder that never was a store, or one of another format version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlfs_dask.storage.ingest import ingest
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.zarr"
    ...     _ = ingest(ArrayTable([[1.0], [0.0]], [[1], [0]]), path)
    ...     (path / "X" / "c" / "0" / "0").unlink()
    ...     [damage.file for damage in verify(path).damage]
    ['X/c/0/0']
    """
    _check_is_store(store)
    damage, known = _damaged_files(store)
    try:
        blocks = block_folders(store)
    except StoreCorruptError as error:
        blocks = []
        damage += [Damage(name, "is lost") for name in error.facts["files"]]
    for block in blocks:
        found, files = _damaged_files(block)
        place = relative_path(block, store).as_posix()
        damage += [Damage(f"{place}/{item.file}", item.problem) for item in found]
        known |= {f"{place}/{name}" for name in files}
    if is_closed(store):
        known.add(CLOSED)
    if not damage:
        damage += _wrong_values(store)
    files = {relative_path(path, store).as_posix() for path in files_below(store)}
    return VerifyReport(
        path=str(store),
        ok=not damage,
        n_files=len(known),
        damage=tuple(damage),
        notes=tuple(f"{name} does not belong to the store" for name in sorted(files - known)),
    )


def _damaged_files(folder: Place) -> tuple[list[Damage], set[str]]:
    """What is wrong with a store (not its blocks) or with a block; all files it should have."""
    damage = [Damage(name, _metadata_problem(folder, name)) for name in damaged_metadata(folder)]
    known = {COMPLETE, CHECKSUMS}
    unreadable = {item.file for item in damage}
    for metadata in files_below(folder, METADATA):
        relative = relative_path(metadata, folder)
        if relative.parts[0] == BLOCKS:
            continue
        known.add(relative.as_posix())
        if relative.as_posix() not in unreadable:
            damage += _damaged_chunks(folder, metadata, known)
    return damage, known


def _check_is_store(store: Place) -> None:
    if not store.is_dir():
        raise NotFoundError(f"there is no store {store}", path=str(store))
    if not any((store / name).exists() for name in (METADATA, COMPLETE, CHECKSUMS)):
        raise StoreError(f"{store} is not a store", path=str(store))
    if not damaged_metadata(store):
        check_format(json.loads((store / METADATA).read_bytes())["attributes"], store)


def _metadata_problem(store: Place, name: str) -> str:
    return "changed since it was written" if (store / name).is_file() else "is lost"


def _damaged_chunks(store: Place, metadata: Place, known: set[str]) -> Iterator[Damage]:
    """Chunks of one array that are lost, fail their crc32c or do not unpack."""
    node = json.loads(metadata.read_bytes())
    if node["node_type"] != "array" or count_chunks(node) == 0:
        return
    array = zarr.open_array(
        guarded.zarr_store(store),
        path=relative_path(metadata.parent, store).as_posix(),
        mode="r",
        zarr_format=3,
    )
    for coordinates in guarded.chunks_of(array):
        name = chunk_file(array, coordinates)
        known.add(name)
        if not (store / name).is_file():
            yield Damage(name, f"chunk {coordinates} of array {array.path!r} is lost")
        elif not guarded.chunk_is_sound(array, coordinates):
            problem = f"chunk {coordinates} of array {array.path!r} changed since it was written"
            yield Damage(name, problem)


def _wrong_values(store: Place) -> Iterator[Damage]:
    """Chunks may be whole and yet not this store's: the digest of the values tells."""
    try:
        whole = open_store(store)
        first = open_store(store, whole.chain[0])
        digest = StoreDigest(first.header)
        for batch in first.batches():
            digest.update(batch.X, batch.Y, batch.split)
    except (BucketError, MachineError):
        raise
    except (MlfsError, ValueError, IndexError) as error:
        yield Damage("X", f"the arrays contradict each other: {error}")
        return
    if digest.hexdigest() != first.digest:
        yield Damage("X", _OTHER_VALUES)
    for block in whole.parts[1:]:
        place = relative_path(block.folder, store).as_posix()
        try:
            found = _digest_of_block(block, whole)
        except (BucketError, MachineError):
            raise
        except (MlfsError, ValueError, IndexError) as error:
            yield Damage(f"{place}/X", f"the arrays contradict each other: {error}")
            continue
        if found != block.attributes["digest"]:
            yield Damage(f"{place}/X", _OTHER_VALUES)
    if whole.is_closed and (store / CLOSED).read_bytes() != f"{whole.digest}\n".encode():
        yield Damage(CLOSED, "says that the store ended with other blocks")


def _digest_of_block(block: Part, whole: Dataset) -> str:
    header = block.header(whole)
    digest = StoreDigest(header, of_block=True)
    reader = block.rows(())
    step = max(1, BATCH_BYTES // row_bytes(header.n_features, 0))
    for start in range(0, whole.n_samples, step):
        rows = slice(start, start + step)
        digest.update(reader[rows], whole.Y[rows], whole.split[rows])
    return digest.hexdigest()
