"""Readers of the field's data files.

::

    open_table ──┬── arff ── arff_header, labels, mulan_xml, arff_rows (fast), arff_cells (careful)
                 ├── csvfile, libsvm
                 └── matlab, npz
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, cast

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.registry import load, names
from mlfs_dask.storage.readers.textfile import check_file
from mlfs_dask.storage.records import ReadOptions, TableReader

__all__ = ["open_table"]

_BUILT_IN = {
    "arff": "arff:open_arff",
    "csv": "csvfile:open_csv",
    "libsvm": "libsvm:open_libsvm",
    "mat": "matlab:open_mat",
    "npz": "npz:open_npz",
}
_FORMAT_OF_SUFFIX = {
    ".arff": "arff",
    ".csv": "csv",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".txt": "libsvm",
    ".mat": "mat",
    ".npz": "npz",
}
_PACKINGS = (".gz", ".bz2")

Opener: TypeAlias = Callable[[Path, Path | None, ReadOptions], TableReader]


def open_table(
    source: Path | str, *, test: Path | str | None = None, options: ReadOptions | None = None
) -> TableReader:
    r"""Open a data file of any format.

    Parameters
    ----------
    source
        The file: ARFF (Mulan, MEKA, single-label), CSV, libsvm, ``.mat`` or ``.npz``; text may be
        packed with gzip or bzip2.
    test
        Test part of the same table; the rows of ``source`` are then its training part.
    options
        What the file does not say.

    Returns
    -------
    TableReader
        ``header``, and ``batches()`` of rows.

    Raises
    ------
    DataFileError
        The file cannot be read as its format; the message says where and what to do.
    NotFoundError
        No such file.
    InputError
        Options that do not fit the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.arff"
    ...     _ = path.write_text(
    ...         "@relation 'tiny: -C 1'\n@attribute l {0,1}\n@attribute f numeric\n"
    ...         "@data\n1,0.5\n0,?\n"
    ...     )
    ...     table = open_table(path)
    ...     [batch.X.tolist() for batch in table.batches()], table.header.label_names
    ([[[0.5], [nan]]], ('l',))
    """
    options = options or ReadOptions()
    path = Path(source)
    check_file(path)
    kind = options.format or _format_of(path)
    if test is not None:
        check_file(Path(test))
        other = options.format or _format_of(Path(test))
        if other != kind:
            raise InputError(
                f"{path.name} is {kind}, {Path(test).name} is {other}",
                hint="Training and test file must have the same format.",
            )
    return _opener(kind)(path, None if test is None else Path(test), options)


def _opener(kind: str) -> Opener:
    if kind in _BUILT_IN:
        module, _, function = _BUILT_IN[kind].partition(":")
        return cast("Opener", getattr(importlib.import_module(f"{__name__}.{module}"), function))
    if kind in names("readers"):
        return cast("Opener", load("readers", kind))
    known = ", ".join(sorted({*_BUILT_IN, *names("readers")}))
    raise InputError(f"--format {kind!r} is no known format", hint=f"Known formats: {known}.")


def _format_of(path: Path) -> str:
    name = path.name.lower()
    for packing in _PACKINGS:
        name = name.removesuffix(packing)
    suffix = Path(name).suffix
    if suffix in _FORMAT_OF_SUFFIX:
        return _FORMAT_OF_SUFFIX[suffix]
    if suffix in (".rda", ".rds", ".rdata"):
        raise DataFileError.at(
            path,
            problem="an R object; R's format is not read",
            expected="ARFF, CSV, libsvm, .mat or .npz",
            hint="Write it out in R first, for example with mldr::write_arff.",
        )
    raise DataFileError.at(
        path,
        problem=f"the name's ending {suffix!r} tells no format",
        expected=f"one of {', '.join(_FORMAT_OF_SUFFIX)}, perhaps with .gz or .bz2",
        hint="Say which it is with --format.",
    )
