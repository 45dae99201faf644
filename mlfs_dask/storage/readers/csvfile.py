"""CSV with a header line: features and label columns by name.

A column of numbers is numeric; one with any other text is nominal, its values in order of first
appearance. An empty cell, ``?``, ``NA`` and ``nan`` (any case) are missing. Cells are separated by
commas, or by semicolons or tabs where the header has no comma; quotes follow RFC 4180.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers.batching import rebatch
from mlfs_dask.storage.readers.coding import CodeTable, feature_table
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.textfile import check_file, file_digest, line_blocks
from mlfs_dask.storage.records import (
    BATCH_BYTES,
    NOMINAL,
    ReadOptions,
    RowBatch,
    SourceFile,
    TableHeader,
)

_MISSING: Final = frozenset({"", "?", "na", "nan"})
_LABEL_CODES: Final = {
    **dict.fromkeys(("0", "0.0", "false", "no"), 0),
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
}
_PIECE_ROWS: Final = 1024
_IDENTIFIER_VALUES: Final = 20
_IDENTIFIER_SHARE: Final = 0.95


def open_csv(path: Path, test: Path | None, options: ReadOptions) -> CsvTable:
    """Open one file, or a training and a test file with the same columns.

    Parameters
    ----------
    path, test
        Plain, gzip or bzip2 files in UTF-8.
    options
        ``labels`` (names or a number) is needed; ``keep_identifiers``, ``name``.

    Raises
    ------
    DataFileError
        A line that does not fit the header, a label that is not 0/1, with line and column.
    InputError
        No labels given, or unknown ones.
    """
    return CsvTable(path, test, options)


class CsvTable:
    """Rows and header of one or two CSV files.

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
        self._columns = _header(path)
        self._label_columns = _labels(path, self._columns, options)
        labels = set(self._label_columns)
        features = [c for c in range(len(self._columns)) if c not in labels]
        numeric, n_rows = self._scan(features)
        found = self._values([c for c in features if c not in numeric])
        notes = [
            f"column {self._columns[c]!r} has numbers and text ({text!r}): read as nominal"
            for c, text in _mixed(found)
        ]
        if not options.keep_identifiers:
            features = _without_identifiers(features, self._columns, found, n_rows, notes)
        self._features = features
        self._tables: list[CodeTable | None] = [
            feature_table(list(found[c])) if c in found else None for c in features
        ]
        nominal = {i: t.categories for i, t in enumerate(self._tables) if t is not None}
        kinds = [NOMINAL * (table is not None) for table in self._tables]
        self._readers = [_cell_reader(table) for table in self._tables]
        roles = ("data", "test")
        self.header = TableHeader(
            name=options.name or stem_of(path),
            feature_names=tuple(self._columns[c] for c in features),
            label_names=tuple(self._columns[c] for c in self._label_columns),
            feature_kind=np.array(kinds, dtype=np.uint8),
            categories=nominal,
            source=tuple(
                SourceFile(name=p.name, sha256=file_digest(p), format="csv", role=roles[i])  # type: ignore[arg-type]  # a tuple of literals
                for i, p in enumerate(self._paths)
            ),
            notes=tuple(notes),
        )

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in file order.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        return rebatch(self._pieces(), max_bytes)

    def _scan(self, features: Sequence[int]) -> tuple[set[int], int]:
        """Columns without any text, and the number of rows."""
        numeric = set(features)
        n_rows = 0
        for path in self._paths:
            before = n_rows
            for _, row in self._rows(path):
                n_rows += 1
                text = [c for c in numeric if _number(row[c]) is None]
                numeric.difference_update(c for c in text if row[c].lower() not in _MISSING)
            if n_rows == before:
                raise DataFileError.at(
                    path, problem="no row follows the header", expected="at least one row"
                )
        return numeric, n_rows

    def _values(self, nominal: Sequence[int]) -> dict[int, dict[str, None]]:
        """Values of the nominal columns in order of first appearance."""
        found: dict[int, dict[str, None]] = {column: {} for column in nominal}
        for path in self._paths if nominal else ():
            for _, row in self._rows(path):
                for column, values in found.items():
                    cell = row[column]
                    if cell not in values and cell.lower() not in _MISSING:
                        values[cell] = None
        return found

    def _pieces(self) -> Iterator[RowBatch]:
        for number, path in enumerate(self._paths):
            code = 0 if len(self._paths) == 1 else number + 1
            X: list[list[float]] = []
            Y: list[list[int]] = []
            for line, row in self._rows(path):
                X.append(
                    [read(row[c]) for c, read in zip(self._features, self._readers, strict=True)]
                )
                Y.append([self._label(path, line, row[c], c) for c in self._label_columns])
                if len(Y) == _PIECE_ROWS:
                    yield _batch(X, Y, code)
                    X, Y = [], []
            if Y:
                yield _batch(X, Y, code)

    def _label(self, path: Path, line: int, cell: str, column: int) -> int:
        code = _LABEL_CODES.get(cell.lower())
        if code is None:
            what = "is missing" if cell.lower() in _MISSING else f"is {cell[:40]!r}"
            raise DataFileError.at(
                path,
                line=line,
                column=column + 1,
                problem=f"label {self._columns[column]!r} {what}",
                expected="0 or 1",
                hint="The column is counted in cells.",
            )
        return code

    def _rows(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and cells, stripped of blanks, in the order of the first file's columns."""
        names = _header(path)
        if sorted(names) != sorted(self._columns):
            odd = sorted(set(names) ^ set(self._columns))[0]
            raise DataFileError.at(
                path,
                line=1,
                problem=f"column {odd!r} is in one of the two files only",
                expected="the same columns in the training and the test file",
            )
        position = {name: column for column, name in enumerate(names)}
        order = None if names == self._columns else [position[name] for name in self._columns]
        for line, row in _records(path):
            if len(row) != len(names):
                raise DataFileError.at(
                    path,
                    line=line,
                    column=min(len(row), len(names)) + 1,
                    problem=f"the line has {len(row)} cells",
                    expected=f"{len(names)}, as the header has",
                    hint="The column is counted in cells.",
                )
            cells = [cell.strip() for cell in row]
            yield line, cells if order is None else [cells[i] for i in order]


def _records(path: Path, *, header: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The header, or the records after it, with the line each begins on."""
    delimiter = _delimiter(path)
    lines = _lines(path)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    first = True
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataFileError.at(
                path,
                line=line,
                problem=f"cannot be read as CSV: {error}",
                expected="quotes in pairs",
            ) from error
        if not row or row == [""]:
            continue
        if header == first:
            yield line, row
        if first and header:
            return
        first = False


def _lines(path: Path) -> Iterator[str]:
    for block in line_blocks(path):
        for number, line in enumerate(block.data.splitlines(keepends=True), start=block.line):
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise DataFileError.at(
                    path,
                    line=number,
                    column=error.start + 1,
                    problem="is not UTF-8",
                    expected="text in UTF-8",
                    hint="Re-encode it: iconv -f latin1 -t utf-8 OLD > NEW.",
                ) from error


def _delimiter(path: Path) -> str:
    first = next(_lines(path), "")
    return next((d for d in (",", ";", "\t") if d in first), ",")


def _header(path: Path) -> list[str]:
    for line, row in _records(path, header=True):
        seen: set[str] = set()
        for column, name in enumerate(row):
            problem = None
            if not name.strip():
                problem = "a column has no name"
            elif name in seen:
                problem = f"two columns are named {name!r}"
            if problem:
                raise DataFileError.at(
                    path, line=line, column=column + 1, problem=problem, expected="unique names"
                )
            seen.add(name)
        return row  # names are never rewritten, so blanks around them stay
    raise DataFileError.at(path, problem="the file has no line", expected="a header and rows")


def _labels(path: Path, names: Sequence[str], options: ReadOptions) -> list[int]:
    labels = options.labels
    if labels is None:
        raise InputError(
            f"{path}: a CSV file does not say which columns are labels",
            hint="Give --labels with their names (a,b,c) or their number (the last columns).",
        )
    if isinstance(labels, int):
        if labels == 0 or abs(labels) >= len(names):
            raise InputError(f"--labels {labels}: {path.name} has {len(names)} columns")
        return list(range(len(names)))[-labels:] if labels > 0 else list(range(-labels))
    unknown = [name for name in labels if name not in names]
    if unknown:
        raise InputError(
            f"--labels names {unknown[0]!r}, which is no column of {path.name}",
            hint=f"Its columns are: {', '.join(names[:12])}.",
        )
    if not labels or len(set(labels)) < len(labels) or len(labels) == len(names):
        raise InputError("--labels must name at least one column, each once, and leave a feature")
    return sorted(names.index(name) for name in labels)


def _without_identifiers(
    features: Sequence[int],
    names: Sequence[str],
    found: Mapping[int, Collection[str]],
    n_rows: int,
    notes: list[str],
) -> list[int]:
    kept = []
    for column in features:
        values = len(found.get(column, ()))
        if values > _IDENTIFIER_VALUES and values >= _IDENTIFIER_SHARE * n_rows:
            notes.append(
                f"column {names[column]!r} has a value of its own in nearly every row, like an "
                "identifier: kept out (--keep-identifiers keeps it)"
            )
        else:
            kept.append(column)
    return kept


def _mixed(found: Mapping[int, Collection[str]]) -> Iterator[tuple[int, str]]:
    """Nominal columns that hold numbers too, often a slip, each with its first text."""
    for column, values in found.items():
        texts = [value for value in values if _number(value) is None]
        if len(texts) < len(values):
            yield column, texts[0]


def _number(cell: str) -> float | None:
    """A finite number, else None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # float() takes underscores and digits of other scripts, which are no numbers here.
    return value if math.isfinite(value) and cell.isascii() and "_" not in cell else None


def _cell_reader(table: CodeTable | None) -> Callable[[str], float]:
    if table is None:
        return lambda cell: np.nan if cell.lower() in _MISSING else float(cell)
    codes = dict(zip(table.values, table.codes, strict=True))
    return lambda cell: np.nan if cell.lower() in _MISSING else codes[cell]


def _batch(X: list[list[float]], Y: list[list[int]], code: int) -> RowBatch:
    cells = np.array(X, dtype=np.float64).reshape(len(Y), -1)
    return RowBatch(cells, np.array(Y, dtype=np.uint8), np.full(len(Y), code, dtype=np.uint8))
