"""libsvm's multi-label text: ``1,3 5:0.2 7:1`` is a row with the labels 1 and 3.

Labels are whole numbers between commas, with blanks after the commas or not; a row without labels
begins with a blank or with its first entry. ``#`` begins a comment. Labels are named by their
numbers, from 0 where a label 0 occurs, else from 1, to the largest; features are counted from 0
where an index 0 occurs, else from 1, unless told otherwise.

A first line of three whole numbers can be no row: it is the head of an extreme-classification file
(rows, features, labels). Labels and features are then counted from 0, but from 1 where no 0 occurs
and the largest number is only possible so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers.batching import rebatch
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.libsvm_rows import MAX_INDEX, MAX_LABEL, LibsvmRows, libsvm_rows
from mlfs_dask.storage.readers.textfile import check_file, file_digest, line_blocks
from mlfs_dask.storage.records import BATCH_BYTES, ReadOptions, RowBatch, SourceFile, TableHeader
from mlfs_dask.wording import are, counted

_SIZES: Final = re.compile(rb"\s*([0-9]{1,12})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")


def open_libsvm(path: Path, test: Path | None, options: ReadOptions) -> LibsvmTable:
    """Open one file, or a training and a test file; the wider one sets the width.

    Parameters
    ----------
    path, test
        Plain, gzip or bzip2 files.
    options
        ``index_base``, ``n_features``, ``name``.

    Raises
    ------
    DataFileError
        A line that is no such row, with line and column.
    """
    return LibsvmTable(path, test, options)


@dataclass(frozen=True)
class _Sizes:
    """What the first line of an extreme-classification file states."""

    rows: int
    features: int
    labels: int


@dataclass
class _Range:
    """Smallest and largest of the numbers seen, and where they stand."""

    low: int | None = None
    high: int = -1
    low_at: tuple[Path, int] | None = None
    high_at: tuple[Path, int] | None = None

    def see(self, path: Path, lines: IntArray, bounds: IntArray, numbers: IntArray) -> None:
        """Take in the numbers of some rows."""
        if len(numbers) == 0:
            return
        low, high = int(numbers.argmin()), int(numbers.argmax())
        if self.low is None or numbers[low] < self.low:
            self.low, self.low_at = int(numbers[low]), (path, _line(lines, bounds, low))
        if numbers[high] > self.high:
            self.high, self.high_at = int(numbers[high]), (path, _line(lines, bounds, high))


class LibsvmTable:
    """Rows and header of one or two libsvm files.

    Parameters
    ----------
    path, test
        The files.
    options
        What they do not say.
    """

    def __init__(self, path: Path, test: Path | None, options: ReadOptions) -> None:
        self._paths = [path] if test is None else [path, test]
        for each in self._paths:
            check_file(each)
        sizes = [_sizes(each) for each in self._paths]
        self._start_lines = [1 if size is None else 2 for size in sizes]
        labels, indices = self._scan(sizes)
        stated = [size for size in sizes if size is not None]
        self._base = _index_base(indices, max((s.features for s in stated), default=None), options)
        n_features = _width(path, indices, self._base, stated, options)
        self._first_label, end = _label_range(path, labels, stated)
        names = [str(label) for label in range(self._first_label, end)]
        roles = ("data", "test")
        self.header = TableHeader(
            name=options.name or stem_of(path),
            feature_names=tuple(f"f{j + self._base}" for j in range(n_features)),
            label_names=tuple(names),
            feature_kind=np.zeros(n_features, dtype=np.uint8),
            is_sparse=True,
            source=tuple(
                SourceFile(name=p.name, sha256=file_digest(p), format="libsvm", role=roles[i])  # type: ignore[arg-type]  # a tuple of literals
                for i, p in enumerate(self._paths)
            ),
        )

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in file order.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        return rebatch(self._pieces(), max_bytes)

    def _scan(self, sizes: Sequence[_Sizes | None]) -> tuple[_Range, _Range]:
        """Range of the labels and of the indices of all files; rows are counted."""
        labels, indices = _Range(), _Range()
        for path, size, start_line in zip(self._paths, sizes, self._start_lines, strict=True):
            n_rows = 0
            for rows in libsvm_rows(path, start_line=start_line):
                n_rows += len(rows.lines)
                labels.see(path, rows.lines, rows.label_bounds, rows.labels)
                indices.see(path, rows.lines, rows.bounds, rows.indices)
            if n_rows == 0 or (size is not None and size.rows != n_rows):
                raise DataFileError.at(
                    path,
                    problem=f"the file has {counted(n_rows, 'row')}",
                    expected=f"{size.rows}, as its first line says" if size else "at least one row",
                    hint="The file may be truncated: copy or download it again.",
                )
        return labels, indices

    def _pieces(self) -> Iterator[RowBatch]:
        step = max(1, BATCH_BYTES // self.header.n_labels)
        for number, path in enumerate(self._paths):
            code = 0 if len(self._paths) == 1 else number + 1
            for rows in libsvm_rows(path, start_line=self._start_lines[number]):
                for start in range(0, len(rows.lines), step):
                    yield self._batch(rows, start, min(start + step, len(rows.lines)), code)

    def _batch(self, rows: LibsvmRows, start: int, stop: int, code: int) -> RowBatch:
        n = stop - start
        label_bounds = rows.label_bounds[start : stop + 1]
        labels = rows.labels[label_bounds[0] : label_bounds[-1]] - self._first_label
        Y = np.zeros((n, self.header.n_labels), dtype=np.uint8)
        Y[np.repeat(np.arange(n), np.diff(label_bounds)), labels] = 1
        bounds = rows.bounds[start : stop + 1]
        entries = slice(bounds[0], bounds[-1])
        indices = (rows.indices[entries] - self._base).astype(np.int32)
        X = sp.csr_matrix(
            (rows.values[entries], indices, (bounds - bounds[0]).astype(np.int32)),
            shape=(n, self.header.n_features),
        )
        X.eliminate_zeros()
        return RowBatch(X, Y, np.full(n, code, dtype=np.uint8))


def _index_base(indices: _Range, stated: int | None, options: ReadOptions) -> int:
    base = options.index_base
    if base is None:
        if indices.low == 0:
            return 0
        return int(stated is None or indices.high == stated)
    if base not in (0, 1):
        raise InputError(f"--index-base {base}: expected 0 or 1")
    if base == 1 and indices.low == 0 and indices.low_at is not None:
        path, line = indices.low_at
        raise DataFileError.at(
            path,
            line=line,
            problem="an entry has the index 0",
            expected="indices from 1, as --index-base says",
        )
    return base


def _width(
    path: Path, indices: _Range, base: int, sizes: Sequence[_Sizes], options: ReadOptions
) -> int:
    asked = [size.features for size in sizes]
    if options.n_features is not None:
        if not 1 <= options.n_features <= MAX_INDEX:
            raise InputError(f"--n-features {options.n_features}: expected 1 to {MAX_INDEX:,}")
        asked.append(options.n_features)
    used = indices.high + 1 - base if indices.high_at is not None else 0
    if asked and min(asked) < used and indices.high_at is not None:
        file, line = indices.high_at
        stated = min(asked)
        raise DataFileError.at(
            file,
            line=line,
            problem=f"{counted(stated, 'feature')} {are(stated)} stated, {used} {are(used)} used",
            expected=f"{used} or more",
            hint="The largest index stands in this line, counted from "
            f"{base}: --index-base says from where to count.",
        )
    width = max([used, *asked])
    if width < 1:
        raise DataFileError.at(path, problem="no row has an entry", expected="index:value entries")
    return width


def _label_range(path: Path, labels: _Range, stated: Sequence[_Sizes]) -> tuple[int, int]:
    """First label, and the one after the last."""
    if not stated:
        first, end = int(labels.low != 0), labels.high + 1
    else:
        n_labels = max(size.labels for size in stated)
        first = int(labels.low != 0 and labels.high == n_labels)
        end = first + n_labels
    if labels.high >= end and labels.high_at is not None:
        file, line = labels.high_at
        raise DataFileError.at(
            file,
            line=line,
            problem=f"label {labels.high} is beyond the {counted(end - first, 'label')} of the "
            "first line",
            expected=f"labels from 0 to {end - first - 1}",
        )
    if end <= first:
        raise DataFileError.at(
            path, problem="no row has a label", expected="labels before the entries of a row"
        )
    return first, end


def _sizes(path: Path) -> _Sizes | None:
    """Rows, features and labels, if the first line is just these three numbers."""
    block = next(line_blocks(path), None)
    match = None if block is None else _SIZES.fullmatch(block.data.split(b"\n", 1)[0])
    if match is None:
        return None
    rows, features, labels = (int(size) for size in match.groups())
    if features > MAX_INDEX or labels > MAX_LABEL:
        raise DataFileError.at(
            path,
            line=1,
            column=1,
            problem=f"{counted(features, 'feature')} and {counted(labels, 'label')}",
            expected=f"at most {MAX_INDEX:,} features and {MAX_LABEL:,} labels",
        )
    return _Sizes(rows, features, labels)


def _line(lines: IntArray, bounds: IntArray, position: int) -> int:
    """Line of the row that holds an entry."""
    return int(lines[np.searchsorted(bounds, position, side="right") - 1])
