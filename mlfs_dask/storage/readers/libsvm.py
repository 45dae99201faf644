"""libsvm's multi-label text: ``1,3 5:0.2 7:1`` is a row with the labels 1 and 3.

Labels are whole numbers between commas, with blanks after the commas or not; a row without labels
begins with a blank or with its first entry. ``#`` begins a comment. A first line of three whole
numbers (rows, features, labels), as extreme-classification files have, counts indices from 0.
Labels are named by their numbers, from 0 where a label 0 occurs, else from 1, to the largest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import scipy.sparse as sp

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers.batching import rebatch
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.numerals import parse_number
from mlfs_dask.storage.readers.textfile import check_file, file_digest, line_blocks
from mlfs_dask.storage.records import BATCH_BYTES, ReadOptions, RowBatch, SourceFile, TableHeader

_LABELS: Final = re.compile(rb"([0-9]{1,9})(?:\s*,\s*([0-9]{1,9}))*\s*,?")
_NUMBER: Final = re.compile(rb"[0-9]+")
_SIZES: Final = re.compile(rb"\s*([0-9]{1,12})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")
# One mistyped digit must not make a table of billions of columns.
_MAX_INDEX: Final = 5_000_000
_MAX_LABEL: Final = 1_000_000
_PIECE_ROWS: Final = 2048


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
class _Row:
    line: int
    labels: list[int]
    indices: list[int]
    values: list[float]


@dataclass
class _Extent:
    """What a first pass over the files finds."""

    n_rows: int = 0
    low_index: int = _MAX_INDEX
    high_index: int = -1
    low_label: int = _MAX_LABEL
    high_label: int = -1


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
        sizes: list[tuple[int, int, int] | None] = []
        extent = _Extent()
        for each in self._paths:
            check_file(each)
            sizes.append(_sizes(each))
            _scan(each, sizes[-1], extent)
        stated = [size for size in sizes if size is not None]
        self._skip = [size is not None for size in sizes]
        self._base = _index_base(path, extent, options, counted_from_0=bool(stated))
        self._first_label = 0 if stated or extent.low_label == 0 else 1
        n_features = _width(path, extent.high_index - self._base + 1, stated, options)
        last_label = max([extent.high_label, *(size[2] - 1 for size in stated)])
        if last_label < self._first_label:
            raise DataFileError.at(
                path, problem="no row has a label", expected="labels before the entries of a row"
            )
        labels = range(self._first_label, last_label + 1)
        roles = ("data", "test")
        self.header = TableHeader(
            name=options.name or stem_of(path),
            feature_names=tuple(f"f{j + self._base}" for j in range(n_features)),
            label_names=tuple(str(label) for label in labels),
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

    def _pieces(self) -> Iterator[RowBatch]:
        piece_rows = max(1, min(_PIECE_ROWS, BATCH_BYTES // self.header.n_labels))
        for number, path in enumerate(self._paths):
            code = 0 if len(self._paths) == 1 else number + 1
            rows: list[_Row] = []
            for row in _rows(path, skip_first=self._skip[number]):
                rows.append(row)
                if len(rows) == piece_rows:
                    yield self._batch(rows, code)
                    rows = []
            if rows:
                yield self._batch(rows, code)

    def _batch(self, rows: Sequence[_Row], code: int) -> RowBatch:
        Y = np.zeros((len(rows), self.header.n_labels), dtype=np.uint8)
        for i, row in enumerate(rows):
            Y[i, [label - self._first_label for label in row.labels]] = 1
        counts = [len(row.indices) for row in rows]
        indices = np.array([j for row in rows for j in row.indices], dtype=np.int64) - self._base
        values = np.array([v for row in rows for v in row.values], dtype=np.float64)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        X = sp.csr_matrix(
            (values, indices.astype(np.int32), indptr.astype(np.int32)),
            shape=(len(rows), self.header.n_features),
        )
        X.eliminate_zeros()
        return RowBatch(X, Y, np.full(len(rows), code, dtype=np.uint8))


def _index_base(path: Path, extent: _Extent, options: ReadOptions, *, counted_from_0: bool) -> int:
    base = options.index_base
    if base is None:
        return 0 if counted_from_0 or extent.low_index == 0 else 1
    if base not in (0, 1):
        raise InputError(f"--index-base {base}: expected 0 or 1")
    if base == 1 and extent.low_index == 0:
        raise DataFileError.at(
            path,
            problem="an entry has the index 0",
            expected="indices from 1, as --index-base says",
        )
    return base


def _width(
    path: Path, used: int, stated: Sequence[tuple[int, int, int]], options: ReadOptions
) -> int:
    asked = [size[1] for size in stated]
    if options.n_features is not None:
        asked.append(options.n_features)
    for width in asked:
        if width < used:
            raise DataFileError.at(
                path, problem=f"{width} features are stated, {used} are used", expected="enough"
            )
    width = max([used, *asked])
    if width < 1:
        raise DataFileError.at(path, problem="no row has an entry", expected="index:value entries")
    return width


def _sizes(path: Path) -> tuple[int, int, int] | None:
    """Rows, features and labels, if the first line is just these three numbers."""
    for block in line_blocks(path):
        match = _SIZES.fullmatch(block.data.split(b"\n", 1)[0])
        if match is None:
            return None
        rows, features, labels = (int(size) for size in match.groups())
        if features > _MAX_INDEX or labels > _MAX_LABEL:
            raise _error(
                path,
                1,
                1,
                f"{features} features and {labels} labels",
                f"at most {_MAX_INDEX:,} features and {_MAX_LABEL:,} labels",
            )
        return rows, features, labels
    return None


def _scan(path: Path, sizes: tuple[int, int, int] | None, extent: _Extent) -> None:
    n_rows = 0
    for row in _rows(path, skip_first=sizes is not None):
        n_rows += 1
        if row.indices:
            extent.low_index = min(extent.low_index, row.indices[0])
            extent.high_index = max(extent.high_index, row.indices[-1])
        if row.labels:
            extent.low_label = min(extent.low_label, *row.labels)
            extent.high_label = max(extent.high_label, *row.labels)
    if n_rows == 0 or (sizes is not None and sizes[0] != n_rows):
        expected = f"{sizes[0]}, as its first line says" if sizes else "at least one row"
        raise DataFileError.at(
            path,
            problem=f"the file has {n_rows} rows",
            expected=expected,
            hint="The file may be truncated: copy or download it again.",
        )
    extent.n_rows += n_rows


def _rows(path: Path, *, skip_first: bool) -> Iterator[_Row]:
    for block in line_blocks(path, start_line=2 if skip_first else 1):
        for number, line in enumerate(block.data.split(b"\n"), start=block.line):
            text = line.split(b"#", 1)[0].rstrip() if b"#" in line else line.rstrip()
            # A line of blanks is a row without labels and entries; an empty one is none.
            if text or (line and b"#" not in line):
                yield _row(path, number, text)


def _row(path: Path, number: int, text: bytes) -> _Row:
    at = text.find(b":")
    head = text if at < 0 else text[: at - len(text[:at].split()[-1]) if text[:at].split() else at]
    labels = [] if not head.strip() else _label_numbers(path, number, head)
    indices: list[int] = []
    values: list[float] = []
    for entry in text[len(head) :].split():
        index, colon, value = entry.partition(b":")
        parsed = parse_number(value)
        if not (colon and _NUMBER.fullmatch(index)) or parsed is None or not np.isfinite(parsed):
            raise _error(
                path,
                number,
                text.find(entry) + 1,
                f"cannot read {_shown(entry)}",
                "index:value with a finite number",
            )
        position = int(index) if len(index) <= 10 else _MAX_INDEX + 1
        if position > _MAX_INDEX:
            raise _error(
                path,
                number,
                text.find(entry) + 1,
                f"index {_shown(index)}",
                f"an index of at most {_MAX_INDEX:,}",
            )
        if indices and position <= indices[-1]:
            what = "stands twice" if position == indices[-1] else f"comes after {indices[-1]}"
            raise _error(
                path,
                number,
                text.find(entry) + 1,
                f"index {position} {what}",
                "indices in ascending order",
            )
        indices.append(position)
        values.append(parsed)
    return _Row(number, labels, indices, values)


def _label_numbers(path: Path, number: int, head: bytes) -> list[int]:
    if not _LABELS.fullmatch(head.strip()):
        raise _error(
            path,
            number,
            1,
            f"cannot read the labels {_shown(head.strip())}",
            "whole numbers separated by commas",
        )
    labels = [int(label) for label in _NUMBER.findall(head)]
    if max(labels) > _MAX_LABEL:
        raise _error(path, number, 1, f"label {max(labels)}", f"a label of at most {_MAX_LABEL:,}")
    return labels


def _error(path: Path, line: int, column: int, problem: str, expected: str) -> DataFileError:
    return DataFileError.at(path, line=line, column=column, problem=problem, expected=expected)


def _shown(text: bytes) -> str:
    shown = text[:40].decode("utf-8", "backslashreplace")
    return repr(shown) + ("..." if len(text) > 40 else "")
