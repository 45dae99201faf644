"""CSV with a header line: features and label columns by name.

A column of numbers is numeric; one with any other text is nominal, its values in order of first
appearance. An empty cell, ``?``, ``NA`` and ``nan`` (any case) are missing, quoted or not. Cells
are separated by commas, or by semicolons or tabs where the header has no comma; quotes follow
RFC 4180. Columns of numbers that are infinite or have decimal commas are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers.batching import rebatch
from mlfs_dask.storage.readers.coding import CodeTable, feature_table
from mlfs_dask.storage.readers.csv_cells import (
    MISSING,
    CsvPiece,
    column_numbers,
    csv_header,
    csv_pieces,
)
from mlfs_dask.storage.readers.labels import stem_of
from mlfs_dask.storage.readers.numerals import parse_number
from mlfs_dask.storage.readers.textfile import check_file, file_digest
from mlfs_dask.storage.records import (
    BATCH_BYTES,
    NOMINAL,
    ReadOptions,
    RowBatch,
    SourceFile,
    TableHeader,
)
from mlfs_dask.wording import counted

_LABEL_CODES: Final = {
    **dict.fromkeys((b"0", b"0.0", b"false", b"no"), 0),
    **dict.fromkeys((b"1", b"1.0", b"true", b"yes"), 1),
}
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


@dataclass(frozen=True)
class _File:
    """One file; ``at[c]`` is its column of the table's column ``c``."""

    path: Path
    start_line: int
    delimiter: str
    at: list[int]
    role: Literal["data", "test"]
    split: int

    def pieces(self) -> Iterator[CsvPiece]:
        return csv_pieces(self.path, self.start_line, self.delimiter, len(self.at))


@dataclass(frozen=True)
class _Text:
    """First cell of a column that is no number, and its place."""

    file: Path
    line: int
    cell: bytes


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
        self._columns, self._files = _open_files(path, test)
        self._label_columns = _labels(path, self._columns, options)
        labels = set(self._label_columns)
        features = [c for c in range(len(self._columns)) if c not in labels]
        texts, n_rows = self._scan(features)
        found = self._values(texts)
        notes = self._mixed(texts, found)
        if not options.keep_identifiers:
            features = _without_identifiers(features, self._columns, found, n_rows, notes)
        self._features = features
        self._tables: list[CodeTable | None] = [
            feature_table(list(found[c])) if c in found else None for c in features
        ]
        kinds = [NOMINAL * (table is not None) for table in self._tables]
        self.header = TableHeader(
            name=options.name or stem_of(path),
            feature_names=tuple(self._columns[c] for c in features),
            label_names=tuple(self._columns[c] for c in self._label_columns),
            feature_kind=np.array(kinds, dtype=np.uint8),
            categories={i: t.categories for i, t in enumerate(self._tables) if t is not None},
            source=tuple(
                SourceFile(name=f.path.name, sha256=file_digest(f.path), format="csv", role=f.role)
                for f in self._files
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

    def _scan(self, features: Sequence[int]) -> tuple[dict[int, _Text], int]:
        """Columns with text, and the number of rows."""
        numeric = set(features)
        texts: dict[int, _Text] = {}
        n_rows = 0
        for file in self._files:
            before = n_rows
            for piece in file.pieces():
                n_rows += len(piece.lines)
                if not numeric or piece.matrix() is not None:
                    continue
                for column in sorted(numeric):
                    cells = piece.column(file.at[column])
                    first = column_numbers(cells)
                    if isinstance(first, int):
                        texts[column] = _Text(file.path, piece.lines[first], cells[first])
                numeric.difference_update(texts)
            if n_rows == before:
                raise DataFileError.at(
                    file.path, problem="no row follows the header", expected="at least one row"
                )
        return texts, n_rows

    def _values(self, nominal: Collection[int]) -> dict[int, dict[str, None]]:
        """Values of the nominal columns in order of first appearance."""
        found: dict[int, dict[bytes, None]] = {column: {} for column in sorted(nominal)}
        for file in self._files if nominal else ():
            for piece in file.pieces():
                for column, values in found.items():
                    values |= dict.fromkeys(piece.column(file.at[column]))
        return {
            column: {value.decode(): None for value in values if value.lower() not in MISSING}
            for column, values in found.items()
        }

    def _mixed(self, texts: Mapping[int, _Text], found: Mapping[int, Collection[str]]) -> list[str]:
        """Notes on nominal columns that hold numbers too, often a slip."""
        notes = []
        for column, values in found.items():
            no_numbers = [value for value in values if not _is_number(value)]
            text, name = texts[column], self._columns[column]
            shown = text.cell[:40].decode("utf-8", "replace")
            for is_slip, problem, expected, hint in _SLIPS:
                if all(map(is_slip, no_numbers)):
                    raise DataFileError.at(
                        text.file,
                        line=text.line,
                        problem=f"column {name!r} {problem} {shown!r}",
                        expected=expected,
                        hint=hint,
                    )
            if len(no_numbers) < len(values):
                notes.append(
                    f"column {name!r} has numbers and text ({shown!r}), first in line "
                    f"{text.line}: read as nominal"
                )
        return notes

    def _pieces(self) -> Iterator[RowBatch]:
        for file in self._files:
            for piece in file.pieces():
                matrix = piece.matrix()
                if matrix is None:
                    X, Y = self._by_columns(file, piece)
                else:
                    X, Y = self._by_matrix(file, piece, matrix)
                yield RowBatch(X, Y, np.full(len(Y), file.split, dtype=np.uint8))

    def _by_matrix(
        self, file: _File, piece: CsvPiece, matrix: FloatArray
    ) -> tuple[FloatArray, ByteArray]:
        X = matrix[:, [file.at[c] for c in self._features]]
        for i, (column, table) in enumerate(zip(self._features, self._tables, strict=True)):
            if table is not None:  # numbers here, text elsewhere in the column
                X[:, i] = _codes(table, piece.column(file.at[column]))
        Y = matrix[:, [file.at[c] for c in self._label_columns]]
        if ((Y != 0) & (Y != 1)).any():
            return X, self._labels_of(file, piece)
        return X, Y.astype(np.uint8)

    def _by_columns(self, file: _File, piece: CsvPiece) -> tuple[FloatArray, ByteArray]:
        X = np.empty((len(piece.lines), len(self._features)))
        for i, (column, table) in enumerate(zip(self._features, self._tables, strict=True)):
            cells = piece.column(file.at[column])
            X[:, i] = column_numbers(cells) if table is None else _codes(table, cells)
        return X, self._labels_of(file, piece)

    def _labels_of(self, file: _File, piece: CsvPiece) -> ByteArray:
        Y = np.empty((len(piece.lines), len(self._label_columns)), dtype=np.uint8)
        for i, column in enumerate(self._label_columns):
            at = file.at[column]
            cells = piece.column(at)
            codes = [_label_code(cell) for cell in cells]
            if -1 in codes:
                row = codes.index(-1)
                shown = cells[row][:40].decode("utf-8", "replace")
                what = "is missing" if cells[row].lower() in MISSING else f"is {shown!r}"
                raise DataFileError.at(
                    file.path,
                    line=piece.lines[row],
                    column=at + 1,
                    problem=f"label {self._columns[column]!r} {what}",
                    expected="0 or 1",
                    hint="The column is counted in cells.",
                )
            Y[:, i] = codes
        return Y


def _open_files(path: Path, test: Path | None) -> tuple[list[str], list[_File]]:
    """Columns of the table, and its files."""
    columns: list[str] = []
    files: list[_File] = []
    for each in [path] if test is None else [path, test]:
        check_file(each)
        line, start_line, delimiter, names = csv_header(each)
        _check_names(each, line, names)
        columns = columns or names
        position = {name: column for column, name in enumerate(names)}
        if set(names) != set(columns):
            odd = min(set(names) ^ set(columns))
            raise DataFileError.at(
                each,
                line=line,
                problem=f"column {odd!r} is in one of the two files only",
                expected="the same columns in the training and the test file",
            )
        split = 0 if test is None else len(files) + 1
        at = [position[name] for name in columns]
        files.append(_File(each, start_line, delimiter, at, "test" if files else "data", split))
    return columns, files


def _check_names(path: Path, line: int, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for column, name in enumerate(names, start=1):
        problem = None
        if not name.strip():
            problem = "a column has no name"
        elif name in seen:
            problem = f"two columns are named {name!r}"
        if problem:
            raise DataFileError.at(
                path, line=line, column=column, problem=problem, expected="unique names"
            )
        seen.add(name)


def _labels(path: Path, names: Sequence[str], options: ReadOptions) -> list[int]:
    labels = options.labels
    if labels is None and options.known_labels is not None:
        known = set(options.known_labels)
        return [column for column, name in enumerate(names) if name in known]
    if labels is None:
        raise InputError(
            f"{path}: a CSV file does not say which columns are labels",
            hint="Give --labels with their names (a,b,c) or their number (the last columns).",
        )
    if isinstance(labels, int):
        if labels == 0 or abs(labels) >= len(names):
            raise InputError(f"--labels {labels}: {path.name} has {counted(len(names), 'column')}")
        return list(range(len(names)))[-labels:] if labels > 0 else list(range(-labels))
    labels = tuple(_spelt(name, names) for name in labels)
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


def _spelt(name: str, names: Sequence[str]) -> str:
    """The column meant, where blanks around names (``a, b``) were not asked for."""
    near = [other for other in names if other.strip() == name.strip()]
    return near[0] if name not in names and len(near) == 1 else name


def _is_number(text: str) -> bool:
    value = parse_number(text.encode())
    return value is not None and bool(np.isfinite(value))


def _is_infinite(text: str) -> bool:
    value = parse_number(text.encode())
    return value is not None and bool(np.isinf(value))


def _has_decimal_comma(text: str) -> bool:
    return text.count(",") == 1 and _is_number(text.replace(",", "."))


_SLIPS: Final = (
    (
        _is_infinite,
        "has the infinite number",
        "finite numbers",
        "Leave the cell empty if the value is missing.",
    ),
    (
        _has_decimal_comma,
        "has the decimal comma",
        "decimal points",
        "Write the file with decimal points and commas between cells.",
    ),
)


def _label_code(cell: bytes) -> int:
    """0 or 1; -1 for what is neither."""
    word = cell.lower()
    if word in _LABEL_CODES:
        return _LABEL_CODES[word]
    value = parse_number(cell)
    return int(value) if value is not None and value in (0.0, 1.0) else -1


def _codes(table: CodeTable, cells: Sequence[bytes]) -> list[float]:
    codes = table.by_text
    return [np.nan if cell.lower() in MISSING else codes[cell] for cell in cells]
