"""A whole store as one NumPy archive, written member by member in bounded memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from mlfs_dask._typing import AnyArray
from mlfs_dask.storage import atomic
from mlfs_dask.storage.export.columns import Table, row_bounds
from mlfs_dask.storage.export.parts import Exported, left_out
from mlfs_dask.storage.readers import npz_layout as layout

_EPOCH = (1980, 1, 1, 0, 0, 0)  # same bytes whenever it is written


def export_npz(dataset: Table, output: Path, overwrite: bool) -> Exported:
    """Write the archive that `mlfs_dask.storage.readers` reads back to the same digest.

    Parameters
    ----------
    dataset
        Opened store.
    output
        File to write.
    overwrite
        Replace an existing file.
    """
    with (
        atomic.new_file(output, overwrite=overwrite) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for key, array in layout.header_arrays(dataset.header).items():
            _write(archive, key, array.shape, array.dtype, iter([array]))
        _write(archive, layout.KEY_Y, dataset.Y.shape, dataset.Y.dtype, iter([dataset.Y]))
        split = dataset.split
        _write(archive, layout.KEY_SPLIT, split.shape, split.dtype, iter([split]))
        if dataset.is_sparse:
            _write_sparse(archive, dataset)
        else:
            rows = (np.asarray(batch.X) for batch in dataset.batches())
            shape = (dataset.n_samples, dataset.n_features)
            _write(archive, layout.KEY_X, shape, dataset.x_dtype, rows)
    return Exported((output,), left_out(dataset, {"names", "kinds", "costs", "split"}))


def _write_sparse(archive: zipfile.ZipFile, dataset: Table) -> None:
    indptr = row_bounds(dataset)
    shape = np.array([dataset.n_samples, dataset.n_features], dtype=np.int64)
    entries = (int(indptr[-1]),)
    data = (np.asarray(rows.data) for rows in _csr_rows(dataset))
    indices = (rows.indices.astype(np.int32, copy=False) for rows in _csr_rows(dataset))
    _write(archive, layout.KEY_X_SHAPE, shape.shape, shape.dtype, iter([shape]))
    _write(archive, layout.KEY_X_INDPTR, indptr.shape, indptr.dtype, iter([indptr]))
    _write(archive, layout.KEY_X_DATA, entries, dataset.x_dtype, data)
    _write(archive, layout.KEY_X_INDICES, entries, np.dtype(np.int32), indices)


def _csr_rows(dataset: Table) -> Iterator[csr_matrix]:
    return (batch.X for batch in dataset.batches())


def _write(
    archive: zipfile.ZipFile,
    key: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    pieces: Iterator[AnyArray],
) -> None:
    """One ``.npy`` member made of pieces along the first axis."""
    info = zipfile.ZipInfo(f"{key}.npy", date_time=_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(info, "w", force_zip64=True) as member:
        header = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": shape,
        }
        np.lib.format.write_array_header_2_0(member, header)
        for piece in pieces:
            member.write(np.ascontiguousarray(piece).tobytes())
