"""Appending a block of new features to the rows of a store, and closing it to further ones.

The block is built beside its place, sealed, and renamed into it: who reads the store sees all of it
or nothing. No file that is there changes, so runs that read the store are not disturbed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, IntArray
from mlfs_dask.errors import InputError, StoreError
from mlfs_dask.storage import atomic
from mlfs_dask.storage.arrays import write_block_arrays
from mlfs_dask.storage.blocks import block_folder, is_closed
from mlfs_dask.storage.dtypes import parse_dtype
from mlfs_dask.storage.ingest import SPOOL, building
from mlfs_dask.storage.intake import Intake, check_features
from mlfs_dask.storage.layout import BLOCKS, CLOSED
from mlfs_dask.storage.places import ObjectPlace, Place
from mlfs_dask.storage.records import RowBatch, Rows, TableHeader, TableReader, empty_split
from mlfs_dask.storage.seal import read_marker
from mlfs_dask.storage.store import Dataset, open_store
from mlfs_dask.storage.upload import claimed
from mlfs_dask.wording import counted


def append(
    store: Place, reader: TableReader, *, prefix: str = "", dtype: str | None = None
) -> Dataset:
    """Append a block of features: the columns of a table with the same rows in the same order.

    Parameters
    ----------
    store
        Path or address of the store.
    reader
        Table, for example of ``open_table(path, options=ReadOptions(known_labels=...))``. Without
        labels, or with all labels of the store, whose values must be the same.
    prefix
        Put before the names of the new features.
    dtype
        As for `mlfs_dask.storage.ingest.ingest`.

    Returns
    -------
    Dataset
        The store with the block, opened.

    Raises
    ------
    InputError
        Another number of rows, other labels, a name that the store has already, costs where the
        store has none or none where it has some, values that no store can have.
    StoreError
        The store is closed, or somebody else is appending to it.
    MachineError
        Disk full, no permission to write.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlfs_dask.storage.ingest import ingest
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> Y = [[1], [0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.zarr"
    ...     _ = ingest(ArrayTable([[1.0], [0.0]], Y), path)
    ...     dataset = append(path, ArrayTable([[0.5], [2.0]], Y, feature_names=["late"]))
    ...     dataset.feature_names, dataset.X[0:2].tolist()
    (('f0', 'late'), [[1.0, 0.5], [0.0, 2.0]])
    """
    chosen = parse_dtype(dtype)
    with _only_writer(store):
        dataset = open_store(store)
        _refuse_closed(dataset)
        labels = _positions_of_labels(reader.header, dataset)
        header = _block_header(reader.header, dataset, prefix)
        target = block_folder(store, len(dataset.chain))
        with building(target, overwrite=False) as partial:
            with Intake(partial / SPOOL, header, chosen, of_block=True) as intake:
                for batch in reader.batches():
                    taken = _checked(batch, dataset, labels, intake.n_rows)
                    with atomic.machine_faults("write the block", target):
                        intake.take(taken)
                if intake.n_rows != dataset.n_samples:
                    raise _other_rows(dataset, counted(intake.n_rows, "row"))
                facts = {"follows": dataset.digest}
                with atomic.machine_faults("write the block", target):
                    write_block_arrays(partial, header, intake, dataset.tile, facts)
            atomic.remove(partial / SPOOL)
    return open_store(store)


def close(store: Place) -> Dataset:
    """Say that no further block will come; a store that is closed stays so.

    Parameters
    ----------
    store
        Folder of the store.

    Raises
    ------
    StoreError
        No store, or somebody is appending to it.
    MachineError
        No permission to write.
    """
    with _only_writer(store):
        dataset = open_store(store)
        target = store / CLOSED
        if not is_closed(store):
            with (
                atomic.machine_faults("close the store", store),
                atomic.new_file(target) as partial,
            ):
                partial.write_text(dataset.digest + "\n", encoding="ascii")
    return dataset


@contextmanager
def _only_writer(store: Place) -> Iterator[None]:
    """Keep others from appending at the same time; ends with this process, however it ends."""
    read_marker(store)
    if isinstance(store, ObjectPlace):
        with claimed(store):
            yield
        return
    blocks = store / BLOCKS
    with atomic.machine_faults("append to the store", store):
        blocks.mkdir(exist_ok=True)
        handle = os.open(blocks, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(
                f"another process is appending to {store}",
                hint="Wait until it is done, then try again.",
                path=str(store),
            ) from error
        yield
    finally:
        os.close(handle)


def _refuse_closed(dataset: Dataset) -> None:
    if dataset.is_closed:
        raise StoreError(
            f"{dataset.path} is closed: no block can be appended",
            hint="Make a new store of all the files with: mlfs data ingest FILE",
            path=dataset.path,
        )


def _block_header(given: TableHeader, dataset: Dataset, prefix: str) -> TableHeader:
    """The header of the block, checked: the store's labels, the store's way to hold X."""
    header = replace(
        given,
        feature_names=tuple(prefix + name for name in given.feature_names),
        label_names=dataset.label_names,
        is_sparse=dataset.is_sparse,
    )
    check_features(header)
    known = set(dataset.feature_names)
    twice = [name for name in header.feature_names if name in known]
    if twice:
        raise InputError(
            f"{dataset.path} has a feature {twice[0]!r} already"
            + (f", and {len(twice) - 1} more of the names" if len(twice) > 1 else ""),
            hint="Give the new features other names in the file, or put something before all of "
            "them with --prefix TEXT.",
            names=twice[:8],
        )
    if (header.feature_cost is None) != (dataset.feature_cost is None):
        block, store = ("no", "some") if header.feature_cost is None else ("some", "none")
        raise InputError(
            f"the block has {block} costs of its features, {dataset.path} has {store}",
            hint="An npz file holds costs as feature_cost: `mlfs data export` shows how.",
        )
    return header


def _positions_of_labels(given: TableHeader, dataset: Dataset) -> IntArray | None:
    """Where the table has each label of the store; None if it has no labels."""
    if not given.label_names:
        return None
    position = {name: i for i, name in enumerate(given.label_names)}
    if set(position) == set(dataset.label_names):
        return np.array([position[name] for name in dataset.label_names])
    if len(position) == dataset.n_labels:  # such as a .mat file, whose labels have no names
        return np.arange(dataset.n_labels)
    raise InputError(
        f"the block has {counted(len(position), 'label')}, {dataset.path} has {dataset.n_labels}",
        hint="Give the block all labels of the store, to check that rows are the same, or none.",
    )


def _checked(
    batch: RowBatch, dataset: Dataset, labels: IntArray | None, first_row: int
) -> RowBatch:
    """Rows of the table with the labels of the store, if they are the same rows."""
    rows = slice(first_row, first_row + batch.n_rows)
    known = dataset.Y[rows]
    if len(known) < batch.n_rows:
        raise _other_rows(dataset, f"at least {counted(rows.stop, 'row')}")
    if labels is not None:
        _refuse_other_labels(batch.Y[:, labels], known, dataset, first_row)
    return RowBatch(_as_stored(batch.X, dataset), known, empty_split(batch.n_rows))


def _refuse_other_labels(
    found: ByteArray, known: ByteArray, dataset: Dataset, first_row: int
) -> None:
    differing = np.argwhere(found != known)
    if len(differing):
        row, label = differing[0].tolist()
        raise InputError(
            f"row {first_row + row + 1} of the block has {found[row, label]} for the label "
            f"{dataset.label_names[label]!r}, the store has {known[row, label]}",
            hint="A block has the rows of the store in the same order.",
            row=first_row + row,
        )


def _other_rows(dataset: Dataset, found: str) -> InputError:
    return InputError(
        f"the block has {found}, {dataset.path} has {dataset.n_samples}",
        hint="A block has the rows of the store in the same order.",
    )


def _as_stored(X: Any, dataset: Dataset) -> Rows:
    if dataset.is_sparse:
        return sp.csr_matrix(X)
    return np.asarray(X.toarray() if sp.issparse(X) else X)
