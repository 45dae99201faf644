"""Stores back into the field's files, and what each format cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.storage import atomic
from mlfs_dask.storage.export.arff import export_meka, export_mulan
from mlfs_dask.storage.export.columns import Columns, Table
from mlfs_dask.storage.export.npz import export_npz
from mlfs_dask.storage.export.parts import Exported
from mlfs_dask.storage.export.text import export_csv, export_libsvm
from mlfs_dask.storage.store import Dataset

__all__ = ["FORMATS", "ExportReport", "export_store"]

FORMATS: Final[dict[str, Callable[[Table, Path, bool], Exported]]] = {
    "npz": export_npz,
    "arff": export_mulan,
    "meka": export_meka,
    "csv": export_csv,
    "libsvm": export_libsvm,
}
"""Name of a format -> writer."""

_BY_SUFFIX: Final = {
    ".npz": "npz",
    ".arff": "arff",
    ".csv": "csv",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".txt": "libsvm",
}


class ExportReport(msgspec.Struct, frozen=True):
    """What `export_store` wrote.

    Attributes
    ----------
    format
        One of `FORMATS`.
    files
        Paths written.
    not_held
        Parts of the store that the format cannot hold, one sentence each.
    """

    format: str
    files: tuple[str, ...]
    not_held: tuple[str, ...]


def export_store(
    dataset: Dataset,
    output: Path,
    format: str | None = None,
    *,
    features: Sequence[int] | IntArray | None = None,
    overwrite: bool = False,
) -> ExportReport:
    """Write a store, or some of its features, as a file of another format.

    Parameters
    ----------
    dataset
        Opened store.
    output
        File to write. ARFF formats write ``STEM-train`` and ``STEM-test`` where the store has a
        split, and Mulan's an XML of the same stem. A name that ends in ``.gz`` is packed.
    format
        ``"npz"`` (the whole store), ``"arff"`` (Mulan's ARFF + XML), ``"meka"``, ``"csv"`` or
        ``"libsvm"``; by default what the name's ending tells.
    features : sequence of int, optional
        Indices of the features to write, all by default; the columns keep the order of the store.
    overwrite
        Replace existing files.

    Returns
    -------
    ExportReport

    Raises
    ------
    InputError
        Unknown format; values or names that the format would not give back; no such feature.
    StoreError
        A file exists and `overwrite` is false.
    MachineError
        Disk full, no permission to write.

    Examples
    --------
    >>> import tempfile
    >>> from mlfs_dask.storage.ingest import ingest
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = ArrayTable([[1.0], [0.0]], [[1], [0]], feature_cost=[3.0])
    ...     dataset = ingest(table, Path(folder) / "tiny.zarr")
    ...     export_store(dataset, Path(folder) / "tiny.csv", features=[0]).not_held
    ('the costs of the features',)
    """
    name = format or _BY_SUFFIX.get(Path(output.name.removesuffix(".gz")).suffix)
    if name not in FORMATS:
        raise InputError(
            f"{name!r} is no format to export to"
            if name
            else f"the ending of {output.name!r} does not tell a format",
            hint=f"Give --format, one of {', '.join(FORMATS)}.",
        )
    table = dataset if features is None else Columns(dataset, features)
    with atomic.machine_faults("write", output):
        atomic.make_parent(output)
        exported = FORMATS[name](table, output, overwrite)
    return ExportReport(name, tuple(str(file) for file in exported.files), exported.not_held)
