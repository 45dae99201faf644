"""From batches of rows to a finished store, in memory bounded by a batch and a chunk.

The rows pass once: each batch is checked, hashed and spooled. Then dtype, chunks and counts are
known, the arrays are written chunk by chunk, sealed, synced and renamed into place. A store on
object storage is built on this machine in the same way, and then sent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlfs_dask.errors import InputError, StoreError
from mlfs_dask.storage import atomic
from mlfs_dask.storage.arrays import write_arrays
from mlfs_dask.storage.dtypes import parse_dtype
from mlfs_dask.storage.intake import Intake, check_header
from mlfs_dask.storage.layout import DEFAULT_TILE, METADATA, SUFFIX
from mlfs_dask.storage.places import ObjectPlace, Place
from mlfs_dask.storage.records import RowBatch, TableHeader, TableReader
from mlfs_dask.storage.seal import write_seal
from mlfs_dask.storage.store import Dataset, open_store
from mlfs_dask.storage.upload import is_unfinished, writing

SPOOL = ".spool"


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """How a store is laid out.

    Parameters
    ----------
    tile
        Rows of a tile, the unit of canonical float sums.
    dtype
        Dtype of X; the smallest that holds all values exactly if None.
    overwrite
        Replace an existing store.
    name
        Attribute ``name``; the table's name if None.
    """

    tile: int = DEFAULT_TILE
    dtype: str | None = None
    overwrite: bool = False
    name: str | None = None


def ingest(
    reader: TableReader,
    dest: Place,
    *,
    tile: int = DEFAULT_TILE,
    dtype: str | None = None,
    overwrite: bool = False,
    name: str | None = None,
) -> Dataset:
    """Write a table to a store.

    Parameters
    ----------
    reader
        Table, for example of ``open_table(path)``.
    dest
        Path or address of the store, by custom ``NAME.zarr``.
    tile
        Rows of a tile.
    dtype
        Dtype of X: uint8, int16, float32, float64; by default the smallest that holds all values.
    overwrite
        Replace an existing store.
    name
        Name of the data set; that of the table by default.

    Returns
    -------
    Dataset
        The finished store, opened.

    Raises
    ------
    InputError
        A table without rows, wrong values, a dtype that cannot hold them.
    StoreError
        `dest` exists and `overwrite` is false, or is no store.
    MachineError
        Disk full, no permission to write, a server that does not answer.
    BucketError
        Object storage that is not there or refuses.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> table = ArrayTable(np.eye(4), np.ones((4, 2), np.uint8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset = ingest(table, Path(folder) / "eye.zarr")
    ...     (dataset.n_samples, dataset.n_features, dataset.x_dtype.name)
    (4, 4, 'uint8')
    """
    options = StoreOptions(tile=tile, dtype=dtype, overwrite=overwrite, name=name)
    return create_store(dest, reader.header, reader.batches(), options)


def create_store(
    dest: Place,
    header: TableHeader,
    batches: Iterable[RowBatch],
    options: StoreOptions | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Dataset:
    """Write rows to a store.

    Parameters
    ----------
    dest
        Path or address of the store.
    header
        Names, kinds, sources.
    batches
        Consecutive rows, taken once.
    options
        Tile, dtype, name, overwriting.
    attributes
        Further attributes of the store, for example ``truth``.

    Returns
    -------
    Dataset
        The finished store, opened.

    Raises
    ------
    InputError, StoreError, MachineError
        As `ingest`.
    """
    options = options or StoreOptions()
    dtype = parse_dtype(options.dtype)
    if options.tile < 1:
        raise InputError(f"tile must be at least 1 row, {options.tile} was given")
    check_header(header)
    check_destination(dest, overwrite=options.overwrite)
    with building(dest, overwrite=options.overwrite) as partial:
        with Intake(partial / SPOOL, header, dtype) as intake:
            for batch in batches:
                with atomic.machine_faults("write the store", dest):
                    intake.take(batch)
            intake.finish()
            facts = {**(attributes or {}), "name": options.name or header.name}
            with atomic.machine_faults("write the store", dest):
                write_arrays(partial, header, intake, options.tile, facts)
        atomic.remove(partial / SPOOL)
    return open_store(dest)


@contextmanager
def building(dest: Place, *, overwrite: bool) -> Iterator[Path]:
    """Folder to build a store in, or a block of one; sealed and put in place when all went well.

    Parameters
    ----------
    dest
        What it becomes; otherwise it is removed.
    overwrite
        Replace what is there.
    """
    if isinstance(dest, ObjectPlace):
        with tempfile.TemporaryDirectory(prefix="mlfs-") as folder:
            partial = Path(folder, dest.name)
            (partial / SPOOL).mkdir(parents=True)
            yield partial
            write_seal(partial)
            with writing(dest) as send:
                check_destination(dest, overwrite=overwrite)
                send(partial)
        return
    with atomic.machine_faults("write the store", dest):
        atomic.make_parent(dest)
        atomic.clean_leftovers(dest.parent)
        partial = atomic.partial_path(dest)
        partial.mkdir()
    try:
        with atomic.machine_faults("write the store", dest):
            (partial / SPOOL).mkdir()
        yield partial
        with atomic.machine_faults("write the store", dest):
            atomic.sync_tree(partial)
            write_seal(partial)
            atomic.sync_folder(partial)
            atomic.publish_folder(partial, dest, overwrite=overwrite)
    finally:
        atomic.remove(partial)


def check_destination(dest: Place, *, overwrite: bool) -> None:
    """Refuse a destination that exists, before any work.

    Parameters
    ----------
    dest
        Path or address of the store to be.
    overwrite
        An existing store may be replaced; anything else never is.

    Raises
    ------
    StoreError
        `dest` exists and may not be replaced.
    """
    if not dest.name or dest.name.startswith("."):
        raise StoreError(f"{dest} is no name for a store", hint=f"Give a name like NAME{SUFFIX}.")
    if not dest.exists() and not dest.is_symlink():
        return
    if isinstance(dest, ObjectPlace) and is_unfinished(dest):
        return
    is_store = dest.is_dir() and not dest.is_symlink() and (dest / METADATA).is_file()
    if not is_store:
        raise StoreError(
            f"{dest} exists and is not a store: it will not be replaced",
            hint="Give another name, or remove it yourself.",
            path=str(dest),
        )
    if not overwrite:
        raise StoreError(
            f"{dest} exists already",
            hint="Give --force to replace it, or another name for the store.",
            path=str(dest),
        )
