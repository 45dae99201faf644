"""Spooled rows into Zarr arrays, one whole chunk at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zarr

from mlfs_dask._typing import AnyArray
from mlfs_dask.storage.intake import Intake
from mlfs_dask.storage.layout import (
    FORMAT,
    column_chunk,
    compressors,
    entry_chunk,
    row_chunk,
    tiles_per_read,
)
from mlfs_dask.storage.records import TableHeader
from mlfs_dask.storage.spool import Spool


def write_arrays(
    store: Path, header: TableHeader, intake: Intake, tile: int, attributes: Mapping[str, Any]
) -> None:
    """Write all arrays and attributes of a store.

    Parameters
    ----------
    store
        Folder of the store, which holds nothing of Zarr yet.
    header
        Header of the table.
    intake
        Its spooled rows.
    tile
        Rows of a tile.
    attributes
        Attributes beyond those that follow from the rows; at least ``name``.
    """
    facts = {
        **_attributes(header, intake),
        "n_labels": header.n_labels,
        "label_sets": intake.label_sets,
        "tile": tile,
        **attributes,
    }
    root = zarr.create_group(store, zarr_format=3, attributes=facts)
    _write_features(root, header, intake, tile)
    _write_rows(root, "Y", intake.labels, np.dtype(np.uint8), tile)
    _write_rows(root, "split", intake.split, np.dtype(np.uint8), tile, flat=True)
    _write_names(root, "label_names", header.label_names)


def write_block_arrays(
    block: Path, header: TableHeader, intake: Intake, tile: int, attributes: Mapping[str, Any]
) -> None:
    """Write all arrays and attributes of a block of features.

    Parameters
    ----------
    block
        Its folder, which holds nothing of Zarr yet.
    header, intake, tile
        As in `write_arrays`; labels and split are left out.
    attributes
        Attributes beyond those that follow from the rows.
    """
    facts = {**_attributes(header, intake), **attributes}
    root = zarr.create_group(block, zarr_format=3, attributes=facts)
    _write_features(root, header, intake, tile)


def _write_features(root: zarr.Group, header: TableHeader, intake: Intake, tile: int) -> None:
    if header.is_sparse:
        _write_sparse(root, header, intake, tile)
    else:
        _write_rows(root, "X", intake.values, intake.x_dtype, tile)
    _write_whole(root, "feature_kind", header.feature_kind)
    if header.feature_cost is not None:
        _write_whole(root, "feature_cost", header.feature_cost.astype(np.float64))
    _write_names(root, "feature_names", header.feature_names)


def _attributes(header: TableHeader, intake: Intake) -> dict[str, Any]:
    return {
        "mlfs_format": FORMAT,
        "n_samples": intake.n_rows,
        "n_features": header.n_features,
        "source": [msgspec.to_builtins(file) for file in header.source],
        "digest": intake.digest,
        "categories": {str(f): list(header.categories[f]) for f in sorted(header.categories)},
        "notes": list(header.notes),
    }


def _write_sparse(root: zarr.Group, header: TableHeader, intake: Intake, tile: int) -> None:
    """CSR in AnnData's encoding; ``row_chunk`` says how many rows to read at a time."""
    n, n_entries = intake.n_rows, intake.columns.n_rows
    chunk = entry_chunk(n_entries, -(-n // tile))
    group = root.create_group(
        "X",
        attributes={
            "encoding-type": "csr_matrix",
            "encoding-version": "0.1.0",
            "shape": [n, header.n_features],
            "row_chunk": tile * tiles_per_read(n_entries, n, tile, chunk),
        },
    )
    _write_entries(group, "data", intake.values, intake.x_dtype, chunk)
    _write_entries(group, "indices", intake.columns, np.dtype(np.int32), chunk)
    _write_indptr(group, intake.counts, tile)


def _write_rows(
    root: zarr.Group, name: str, rows: Spool, dtype: np.dtype, tile: int, *, flat: bool = False
) -> None:
    height = row_chunk(rows.n_rows, tile, rows.width * dtype.itemsize)
    width = column_chunk(rows.width, height, dtype.itemsize)
    shape, chunks = (rows.n_rows, rows.width), (height, width)
    array = _create(root, name, shape[: 2 - flat], chunks[: 2 - flat], dtype)
    for start in range(0, rows.n_rows, height):
        stop = min(start + height, rows.n_rows)
        for left in range(0, rows.width, width):
            right = min(left + width, rows.width)
            block = rows.read(start, stop, dtype, slice(left, right))
            if flat:
                array[start:stop] = block[:, 0]
            else:
                array[start:stop, left:right] = block


def _write_entries(
    group: zarr.Group, name: str, entries: Spool, dtype: np.dtype, chunk: int
) -> None:
    array = _create(group, name, (entries.n_rows,), (chunk,), dtype)
    for start in range(0, entries.n_rows, chunk):
        stop = min(start + chunk, entries.n_rows)
        array[start:stop] = entries.read(start, stop, dtype)[:, 0]


def _write_indptr(group: zarr.Group, counts: Spool, tile: int) -> None:
    length = counts.n_rows + 1
    chunk = row_chunk(length, tile, 8)
    array = _create(group, "indptr", (length,), (chunk,), np.dtype(np.int64))
    before = 0
    for start in range(0, length, chunk):
        stop = min(start + chunk, length)
        block = np.zeros(stop - start, dtype=np.int64)
        np.cumsum(counts.read(start, stop - 1, block.dtype)[:, 0], out=block[1:])
        block += before
        array[start:stop] = block
        if stop < length:
            before = int(block[-1] + counts.read(stop - 1, stop, block.dtype)[0, 0])


def _write_whole(root: zarr.Group, name: str, values: AnyArray) -> None:
    _create(root, name, values.shape, values.shape, values.dtype)[:] = values


def _write_names(root: zarr.Group, name: str, names: tuple[str, ...]) -> None:
    array = _create(root, name, (len(names),), (len(names),), str)
    array[:] = np.array(names, dtype=np.dtypes.StringDType())


def _create(
    group: zarr.Group, name: str, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: Any
) -> zarr.Array[Any]:
    return group.create_array(
        name,
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        compressors=compressors(),
        config={"write_empty_chunks": True},
    )
