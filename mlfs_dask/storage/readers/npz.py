"""``.npz`` archives: a whole store, or just X and Y (keys in npz_layout.py).

Memory is bounded by a batch and the row bounds of CSR rows.
"""

from __future__ import annotations

import errno
import struct
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers import npz_layout as layout
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.npz_member import Member
from mlfs_dask.storage.readers.plain_arrays import (
    check_real,
    dense_steps,
    feature_rows,
    label_rows,
    numbered,
    one_or_pair,
    row_steps,
    source_file,
)
from mlfs_dask.storage.readers.textfile import file_digest, reading
from mlfs_dask.storage.records import (
    BATCH_BYTES,
    NOMINAL,
    ReadOptions,
    RowBatch,
    TableHeader,
    TableReader,
)
from mlfs_dask.wording import counted

# What zipfile and NumPy raise on damaged bytes.
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,  # of zipfile, for a packing or a version that damage made up
    OverflowError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    TypeError,
    ValueError,
)
# Each column gets a name and a kind: a few bytes of a false shape must not claim the memory.
_MAX_COLUMNS: Final = 5_000_000
_LAYOUT_HINT: Final = "Write it with `mlfs data export`, or with numpy.savez(file, X=X, Y=Y)."


def open_npz(path: Path, test: Path | None, options: ReadOptions) -> TableReader:
    """Open an archive, or a training and a test archive.

    Parameters
    ----------
    path, test
        The files.
    options
        ``name`` counts; labels are in the archive.

    Raises
    ------
    DataFileError
        Not an archive of NumPy arrays, keys missing, shapes or values that do not fit.
    """
    second = None if test is None else NpzTable(test, options)
    return one_or_pair(NpzTable(path, options), path, second, test)


class NpzTable:
    """Rows and header of one archive.

    Parameters
    ----------
    path
        The file.
    options
        ``name`` overrides the archive's.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path = path
        with _archive(path) as archive:
            self._keys = {name.removesuffix(".npy") for name in archive.namelist()}
            version = self._small(archive, layout.KEY_VERSION)
            if version is not None and version.tolist() != layout.VERSION:
                raise self._error(
                    f"{layout.KEY_VERSION} is {version.tolist()!r}", f"version {layout.VERSION}"
                )
            self._indptr, (n, d) = self._shape_of_x(archive)
            q = self._shape_of_y(archive, n)
            if max(d, q) > _MAX_COLUMNS:
                raise self._error(
                    f"{counted(d, 'feature')}, {counted(q, 'label')}",
                    f"at most {_MAX_COLUMNS:,} of each",
                )
            self._check_split(archive, n)
            self.header = self._make_header(archive, d, q, options)

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in order; each call reads the archive anew.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        with _archive(self._path) as archive, ExitStack() as stack:
            labels = stack.enter_context(Member(self._path, archive, layout.KEY_Y))
            split = None
            if layout.KEY_SPLIT in self._keys:
                split = stack.enter_context(Member(self._path, archive, layout.KEY_SPLIT))
            for start, X in self._rows(archive, stack, max_bytes, labels.shape[0]):
                size = X.shape[0]
                relevant = labels.take(size).reshape(size, -1)
                Y = label_rows(self._path, layout.KEY_Y, relevant, start)
                marks = np.zeros(size, np.uint8) if split is None else split.take(size)
                if not np.isin(marks, (0, 1, 2)).all():
                    raise self._error(f"{layout.KEY_SPLIT} has other values", "0, 1 or 2")
                yield RowBatch(X, Y, marks.astype(np.uint8))

    def _rows(
        self, archive: zipfile.ZipFile, stack: ExitStack, max_bytes: int, n: int
    ) -> Iterator[tuple[int, Any]]:
        d, q = self.header.n_features, self.header.n_labels
        if self._indptr is None:
            dense = stack.enter_context(Member(self._path, archive, layout.KEY_X))
            steps = dense_steps(n, d, q, max_bytes)
            for start in steps:
                rows = dense.take(min(steps.step, n - start))
                yield start, feature_rows(self._path, layout.KEY_X, rows, start)
            return
        data = stack.enter_context(Member(self._path, archive, layout.KEY_X_DATA))
        columns = stack.enter_context(Member(self._path, archive, layout.KEY_X_INDICES))
        for start, stop in row_steps(self._indptr, q, max_bytes):
            bounds = self._indptr[start : stop + 1] - self._indptr[start]
            indices = columns.take(int(bounds[-1])).astype(np.int64)
            self._check_indices(indices, bounds, d)
            parts = (data.take(int(bounds[-1])), indices.astype(np.int32), bounds)
            piece = csr_matrix(parts, shape=(stop - start, d))
            yield start, feature_rows(self._path, layout.KEY_X_DATA, piece, start)

    def _check_indices(self, indices: IntArray, bounds: IntArray, d: int) -> None:
        if len(indices) and (indices.min() < 0 or indices.max() >= d):
            raise self._error(f"{layout.KEY_X_INDICES} is out of range", f"0 to {d - 1}")
        row = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        if ((np.diff(indices) <= 0) & (np.diff(row) == 0)).any():
            raise self._error(
                f"{layout.KEY_X_INDICES} is not ascending within a row",
                "ascending column indices, each once",
                "Call sum_duplicates() on the matrix before saving.",
            )

    def _shape_of_x(self, archive: zipfile.ZipFile) -> tuple[IntArray | None, tuple[int, int]]:
        if layout.KEY_X in self._keys:
            with Member(self._path, archive, layout.KEY_X) as member:
                check_real(self._path, layout.KEY_X, member)
                shape = member.shape
            if len(shape) != 2 or 0 in shape:
                raise self._error(f"X has shape {shape}", "rows x features, one of each at least")
            return None, (shape[0], shape[1])
        parts = (layout.KEY_X_DATA, layout.KEY_X_INDICES, layout.KEY_X_INDPTR, layout.KEY_X_SHAPE)
        missing = [key for key in parts if key not in self._keys]
        if missing:
            raise self._error(
                f"has neither X nor {missing[0]}", "X, or its CSR parts", _LAYOUT_HINT
            )
        return self._csr_shape(archive)

    def _csr_shape(self, archive: zipfile.ZipFile) -> tuple[IntArray, tuple[int, int]]:
        bounds = self._small(archive, layout.KEY_X_INDPTR)
        shape = self._small(archive, layout.KEY_X_SHAPE)
        assert bounds is not None
        assert shape is not None
        with (
            Member(self._path, archive, layout.KEY_X_DATA) as data,
            Member(self._path, archive, layout.KEY_X_INDICES) as indices,
        ):
            check_real(self._path, layout.KEY_X_DATA, data)
            same = data.shape == indices.shape and len(data.shape) == 1
            n_entries = data.shape[0] if same else -1
            whole = all(array.dtype.kind in "iu" for array in (bounds, shape, indices))
        if not whole or shape.shape != (2,) or min(shape.tolist()) < 1:
            raise self._error(
                f"{layout.KEY_X_SHAPE} is {shape.tolist()}, in {shape.dtype}",
                "rows and columns, and bounds and indices in whole numbers",
            )
        n, d = (int(size) for size in shape.tolist())
        if (
            bounds.shape != (n + 1,)
            or int(bounds[0]) != 0
            or int(bounds[-1]) != n_entries
            or (np.diff(bounds.astype(np.int64)) < 0).any()
        ):
            raise self._error("the CSR parts of X contradict each other", "one CSR matrix")
        return bounds.astype(np.int64), (n, d)

    def _shape_of_y(self, archive: zipfile.ZipFile, n: int) -> int:
        if layout.KEY_Y not in self._keys:
            raise self._error("has no Y", "the labels as Y", _LAYOUT_HINT)
        with Member(self._path, archive, layout.KEY_Y) as member:
            check_real(self._path, layout.KEY_Y, member)
            shape = member.shape if len(member.shape) != 1 else (*member.shape, 1)
        if len(shape) != 2 or shape[0] != n or shape[1] < 1:
            raise self._error(f"Y has shape {shape}", f"({n}, labels), as X has rows")
        return shape[1]

    def _check_split(self, archive: zipfile.ZipFile, n: int) -> None:
        if layout.KEY_SPLIT not in self._keys:
            return
        with Member(self._path, archive, layout.KEY_SPLIT) as member:
            check_real(self._path, layout.KEY_SPLIT, member)
            if member.shape != (n,):
                raise self._error(f"{layout.KEY_SPLIT} has shape {member.shape}", f"({n},)")

    def _make_header(
        self, archive: zipfile.ZipFile, d: int, q: int, options: ReadOptions
    ) -> TableHeader:
        def small(key: str) -> AnyArray | None:
            return self._small(archive, key)

        try:
            categories = layout.read_categories(small)
        except InputError as error:
            raise self._error(error.message) from error
        kinds = self._column(small(layout.KEY_FEATURE_KIND), layout.KEY_FEATURE_KIND, d)
        if kinds is None:
            kinds = np.isin(np.arange(d), list(categories))
        if not np.isin(kinds, (0, 1)).all():
            raise self._error(f"{layout.KEY_FEATURE_KIND} has other values", "0 or 1")
        if not set(categories) <= set(np.flatnonzero(kinds == NOMINAL).tolist()):
            raise self._error(f"{layout.KEY_CATEGORY_OF} names features that are not nominal")
        cost = self._column(small(layout.KEY_FEATURE_COST), layout.KEY_FEATURE_COST, d)
        if cost is not None and not (np.isfinite(cost) & (cost >= 0)).all():
            raise self._error(f"{layout.KEY_FEATURE_COST} has other values", "finite costs >= 0")
        name = small(layout.KEY_NAME)
        return TableHeader(
            name=options.name or (stem_of(self._path) if name is None else str(name)),
            feature_names=self._names(small, layout.KEY_FEATURE_NAMES, "f", d),
            label_names=self._names(small, layout.KEY_LABEL_NAMES, "y", q),
            feature_kind=kinds.astype(np.uint8),
            categories=categories,
            is_sparse=self._indptr is not None,
            source=source_file(self._path, file_digest(self._path), "npz"),
            feature_cost=None if cost is None else cost.astype(np.float64),
        )

    def _column(self, array: AnyArray | None, key: str, d: int) -> AnyArray | None:
        if array is not None:
            check_real(self._path, key, array)
            if array.shape != (d,):
                raise self._error(f"{key} has shape {array.shape}", f"({d},)")
        return array

    def _names(self, small: Any, key: str, prefix: str, n: int) -> tuple[str, ...]:
        array = small(key)
        if array is None:
            return numbered(prefix, n, 1)
        if array.shape != (n,) or array.dtype.kind != "U":
            raise self._error(f"{key} has shape {array.shape} of {array.dtype}", counted(n, "text"))
        names = tuple(str(name) for name in array.tolist())
        if len(set(names)) < n:
            twice = Counter(names).most_common(1)[0][0]
            raise self._error(f"{key} has {twice!r} twice", "unique names")
        return names

    def _small(self, archive: zipfile.ZipFile, key: str) -> AnyArray | None:
        """A whole array, None where the archive has none."""
        if key not in self._keys:
            return None
        with Member(self._path, archive, key) as member:
            return member.whole()

    def _error(
        self, problem: str, expected: str | None = None, hint: str | None = None
    ) -> DataFileError:
        return DataFileError.at(self._path, problem=problem, expected=expected, hint=hint)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """The opened archive; what zipfile and NumPy say about damage becomes one error."""
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
                yield archive
        except DataFileError:
            raise
        except (OSError, *_DAMAGE) as error:
            # A damaged table of contents sends zipfile to places before the file's beginning.
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            raise DataFileError.at(
                path,
                problem=f"not a readable NumPy archive: {error}",
                expected="a .npz file",
                hint="Copy or download the file again.",
            ) from error
