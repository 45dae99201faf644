"""NumPy archives: those that `mlfs data export` writes, and plain ones with X and Y."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers import npz_layout as layout
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.loaded import LoadedTable
from mlfs_dask.storage.readers.textfile import file_digest, reading
from mlfs_dask.storage.records import NOMINAL, ReadOptions, SourceFile, TableHeader

_BROKEN = (
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    SyntaxError,
)


def open_npz(path: Path, test: Path | None, options: ReadOptions) -> LoadedTable:
    """Open an archive laid out as in :mod:`mlfs_dask.storage.readers.npz_layout`.

    Parameters
    ----------
    path
        The archive.
    test
        Refused: an archive carries its own split.
    options
        ``name`` overrules the archive's.

    Raises
    ------
    DataFileError
        Damaged, a key that is missing or contradicts another, pickled objects.
    """
    if test is not None:
        raise InputError("an .npz file carries its own split: give one file, without --test")
    with reading(path):
        try:
            with np.load(path, allow_pickle=False) as archive:
                if not isinstance(archive, np.lib.npyio.NpzFile):
                    raise _error(path, "is a single array", "an .npz archive with X and Y")
                return _table(path, _Archive(path, archive), options)
        except _BROKEN as error:
            if isinstance(error, InputError):
                raise
            raise _error(
                path, f"cannot be read ({error})", "an .npz archive with X and Y"
            ) from error


class _Archive:
    """Arrays by key, each checked against the size of its member before it is made."""

    def __init__(self, path: Path, archive: Any) -> None:
        self._path = path
        self._archive = archive

    def get(self, key: str) -> AnyArray | None:
        if key not in self._archive.files:
            return None
        name = f"{key}.npy"
        with self._archive.zip.open(name) as member:
            version = np.lib.format.read_magic(member)
            reader = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            if reader is not None:
                shape, _, dtype = reader(member)
                claimed = int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize
                held = self._archive.zip.getinfo(name).file_size - member.tell()
                if claimed != held:
                    problem = f"{key} claims {claimed:,} bytes and holds {held:,}"
                    raise _error(self._path, problem, "an undamaged archive")
        array = self._archive[key]
        return np.asarray(array)

    def need(self, key: str) -> AnyArray:
        array = self.get(key)
        if array is None:
            found = ", ".join(sorted(self._archive.files)[:8]) or "nothing"
            raise _error(self._path, f"has no array {key}", f"{key} (it holds {found})")
        return array


def _table(path: Path, archive: _Archive, options: ReadOptions) -> LoadedTable:
    version = archive.get(layout.KEY_VERSION)
    if version is not None and version.tolist() != layout.VERSION:
        raise _error(path, f"has layout {version.tolist()!r}", f"layout {layout.VERSION}")
    X = _rows(path, archive)
    Y = _labels(path, archive.need(layout.KEY_Y), X.shape[0])
    split = archive.get(layout.KEY_SPLIT)
    if split is None:
        split = np.zeros(len(Y), dtype=np.uint8)
    if (
        split.shape != (len(Y),)
        or split.dtype.kind not in "ui"
        or np.any((split < 0) | (split > 2))
    ):
        raise _error(path, "split is not a vector of 0, 1 and 2", "one value for each row")
    header = _header(path, archive, options, X, Y.shape[1])
    return LoadedTable(header, X, Y, split.astype(np.uint8))


def _rows(path: Path, archive: _Archive) -> Any:
    X = archive.get(layout.KEY_X)
    if X is None and archive.get(layout.KEY_X_SHAPE) is None:
        archive.need(layout.KEY_X)
    if X is None:
        shape = archive.need(layout.KEY_X_SHAPE).tolist()
        data, indices, indptr = (
            archive.need(key)
            for key in (layout.KEY_X_DATA, layout.KEY_X_INDICES, layout.KEY_X_INDPTR)
        )
        if np.any(np.diff(indptr) < 0) or len(indptr) != shape[0] + 1:
            raise _error(path, "X_indptr does not fit X_shape", "ascending row bounds")
        X = sp.csr_matrix((data, indices, indptr), shape=tuple(shape))
        X.check_format(full_check=True)
        if not X.has_canonical_format:
            raise _error(path, "X_indices repeats a column in a row", "ascending columns")
    if X.ndim != 2 or X.dtype.kind not in "buif" or 0 in X.shape:
        problem = f"X has shape {X.shape} and dtype {X.dtype}"
        raise _error(path, problem, "real numbers, one row per sample, one column per feature")
    if np.isinf(X.data if sp.issparse(X) else X).any():
        raise _error(path, "X holds an infinity", "finite values, or NaN where one is missing")
    return X


def _labels(path: Path, Y: AnyArray, n_rows: int) -> Any:
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or len(Y) != n_rows or Y.shape[1] == 0 or Y.dtype.kind not in "buif":
        raise _error(path, f"Y has shape {Y.shape}", f"({n_rows}, number of labels), as X has rows")
    wrong = np.argwhere(~((Y == 0) | (Y == 1)))
    if len(wrong):
        row, column = wrong[0].tolist()
        problem = f"Y[{row}, {column}] is {Y[row, column].item()!r}"
        raise _error(path, problem, "0 or 1")
    return Y.astype(np.uint8)


def _header(
    path: Path, archive: _Archive, options: ReadOptions, X: Any, n_labels: int
) -> TableHeader:
    d = X.shape[1]
    kinds = archive.get(layout.KEY_FEATURE_KIND)
    if kinds is None:
        kinds = np.zeros(d, dtype=np.uint8)
    costs = archive.get(layout.KEY_FEATURE_COST)
    name = archive.get(layout.KEY_NAME)
    categories = layout.read_categories(archive.get)
    if kinds.shape != (d,) or not np.isin(kinds, (0, 1)).all():
        raise _error(path, "feature_kind does not fit X", f"{d} values of 0 and 1")
    if not set(categories) <= set(np.flatnonzero(kinds == NOMINAL).tolist()):
        raise _error(path, "category_of names a numeric feature", "indices of nominal features")
    if costs is not None and (costs.shape != (d,) or not np.all(costs >= 0)):
        raise _error(path, "feature_cost does not fit X", f"{d} values, none negative")
    return TableHeader(
        name=options.name or (stem_of(path) if name is None else str(name.item())),
        feature_names=_names(path, archive, layout.KEY_FEATURE_NAMES, d, "f"),
        label_names=_names(path, archive, layout.KEY_LABEL_NAMES, n_labels, "y"),
        feature_kind=kinds.astype(np.uint8),
        categories=categories,
        is_sparse=sp.issparse(X),
        source=(SourceFile(name=path.name, sha256=file_digest(path), format="npz"),),
        feature_cost=None if costs is None else costs.astype(np.float64),
    )


def _names(path: Path, archive: _Archive, key: str, count: int, letter: str) -> tuple[str, ...]:
    array = archive.get(key)
    if array is None:
        return tuple(f"{letter}{i + 1}" for i in range(count))
    names = tuple(str(name) for name in array.ravel().tolist())
    if len(names) != count or len(set(names)) != count:
        raise _error(path, f"{key} has {len(set(names))} different names", f"{count}")
    return names


def _error(path: Path, problem: str, expected: str) -> DataFileError:
    return DataFileError.at(
        path,
        problem=problem,
        expected=expected,
        hint="mlfs_dask/storage/readers/npz_layout.py lists the keys.",
    )
