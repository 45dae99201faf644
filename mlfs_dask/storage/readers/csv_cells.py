"""Cells of CSV files: blocks of lines at once where nothing is quoted, Python's csv where it is.

Records follow RFC 4180. A file goes to Python's csv from the first block that holds a quote.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.numerals import decode_numbers, parse_number
from mlfs_dask.storage.readers.textfile import Block, line_blocks
from mlfs_dask.wording import counted

MISSING: Final = frozenset({b"", b"?", b"na", b"nan"})
"""Cells in lower case that stand for a missing value."""

_PIECE_ROWS: Final = 1024
# A quoted name of more characters is a quote without its pair (the limit of Python's csv).
_LONGEST_NAME: Final = 131_072
# Possessive: a long run of blanks is tried once.
_GAP: Final = re.compile(rb"(?<![^,])[ \t]*+(?:\?|[nN][aA][nN]?+)?+[ \t]*+(?![^,])")
_QUOTED: Final = re.compile(r'"[^"]*"')


class CsvPiece:
    """Consecutive rows of cells.

    Parameters
    ----------
    lines
        Line number of each row.
    n_columns
        Cells of each row.
    cells
        All cells, row after row, stripped of blanks or not.
    joined
        The cells with commas between; None where a cell may hold a comma.
    """

    def __init__(
        self, lines: Sequence[int], n_columns: int, cells: list[bytes] | None, joined: bytes | None
    ) -> None:
        self.lines = lines
        self._n_columns = n_columns
        self._cells = cells
        self._joined = joined

    def matrix(self) -> FloatArray | None:
        """All cells as numbers, shape (n_rows, n_columns), NaN where missing; None if any is none.

        Quick, so what it does not take may still be numbers in another spelling.
        """
        if self._joined is None:
            return None
        values = decode_numbers(self._joined)
        if values is None and b"null" not in self._joined:
            values = decode_numbers(_GAP.sub(b"null", self._joined), missing=True)
        if values is None or len(values) != len(self.lines) * self._n_columns:
            return None
        # Numbers beyond float64 are for the slow road, which names them.
        return None if np.isinf(values).any() else values.reshape(len(self.lines), -1)

    def column(self, column: int) -> list[bytes]:
        """Cells of a column, stripped of blanks."""
        if self._cells is None:
            assert self._joined is not None
            self._cells = self._joined.split(b",")
        return [cell.strip() for cell in self._cells[column :: self._n_columns]]


def column_numbers(cells: Sequence[bytes]) -> FloatArray | int:
    """Numbers of a column, NaN where missing; or the position of the first cell that is neither.

    Parameters
    ----------
    cells
        Stripped of blanks.

    Examples
    --------
    >>> column_numbers([b"1", b"NA", b"+.5"]), column_numbers([b"1", b"x"])
    (array([1. , nan, 0.5]), 1)
    """
    values = decode_numbers(b",".join(cells))
    if values is not None and len(values) == len(cells) and not np.isinf(values).any():
        return values
    values = np.empty(len(cells))
    for position, cell in enumerate(cells):
        value = np.nan if cell.lower() in MISSING else parse_number(cell)
        if value is None or np.isinf(value):
            return position
        values[position] = value
    return values


def csv_header(path: Path) -> tuple[int, int, str, list[str]]:
    """Names of the columns.

    Returns
    -------
    line, next_line
        Lines where the header begins and where the rows do.
    delimiter
        The first of comma, semicolon and tab that stands in the header outside of quotes.
    names
        As they are written, blanks included.
    """
    first, lines = _header_lines(path)
    if not lines:
        raise DataFileError.at(path, problem="the file has no line", expected="a header and rows")
    bare = _QUOTED.sub("", "".join(lines))
    delimiter = next((mark for mark in (",", ";", "\t") if mark in bare), ",")
    numbered = iter(enumerate(lines, start=first))
    begin, end, names = next(_records(path, first, numbered, delimiter))
    return begin, end + 1, delimiter, names


def _header_lines(path: Path) -> tuple[int, list[str]]:
    """Lines that may belong to the header, those after a quote without its pair included."""
    lines: list[str] = []
    first, open_since, is_open = 1, 0, False
    for number, line in _lines(path, 1):
        if not lines and not line.strip(" \r\n"):
            continue
        first = first if lines else number
        lines.append(line)
        if line.count('"') % 2:
            is_open, open_since = not is_open, 0
        open_since += len(line)
        if not is_open or open_since > 2 * _LONGEST_NAME:
            break
    return first, lines


def csv_pieces(path: Path, start_line: int, delimiter: str, n_columns: int) -> Iterator[CsvPiece]:
    """Rows after the header.

    Parameters
    ----------
    path
        Plain, gzip or bzip2 file in UTF-8.
    start_line, delimiter
        As `csv_header` tells.
    n_columns
        Cells that each row must have.

    Raises
    ------
    DataFileError
        Another number of cells, a quote without its pair, text that is not UTF-8.
    """
    for block in line_blocks(path, start_line=start_line, unix_ends=False):
        if b'"' in block.data:
            yield from _careful_pieces(path, block.line, delimiter, n_columns)
            return
        _check_text(path, block)
        piece = _plain_piece(path, block, delimiter.encode(), n_columns)
        if piece.lines:
            yield piece


def _plain_piece(path: Path, block: Block, delimiter: bytes, n_columns: int) -> CsvPiece:
    data = block.data.replace(b"\r\n", b"\n")
    if b"\r" in data:
        at = data.index(b"\r")
        raise DataFileError.at(
            path,
            line=block.line + data.count(b"\n", 0, at),
            column=at - data.rfind(b"\n", 0, at),
            problem="a carriage return without a line feed",
            expected="lines ended by a line feed",
            hint="Convert the line ends: tr '\\r' '\\n' < OLD > NEW.",
        )
    rows = [
        (number, row)
        for number, row in enumerate(data.split(b"\n"), start=block.line)
        if row.strip(b" ")
    ]
    for number, row in rows:
        if row.count(delimiter) != n_columns - 1:
            raise _ragged(path, number, row.count(delimiter) + 1, n_columns)
    lines = [number for number, _ in rows]
    if delimiter == b",":
        return CsvPiece(lines, n_columns, None, b",".join([row for _, row in rows]))
    cells = delimiter.join([row for _, row in rows]).split(delimiter) if rows else []
    # A comma inside a cell would look like two cells.
    joined = None if b"," in data else b",".join(cells)
    return CsvPiece(lines, n_columns, cells, joined)


def _careful_pieces(
    path: Path, start_line: int, delimiter: str, n_columns: int
) -> Iterator[CsvPiece]:
    lines: list[int] = []
    cells: list[bytes] = []
    numbered = _lines(path, start_line)
    for line, _, row in _records(path, start_line, numbered, delimiter):
        if len(row) != n_columns:
            raise _ragged(path, line, len(row), n_columns)
        lines.append(line)
        cells += [cell.encode() for cell in row]
        if len(lines) == _PIECE_ROWS:
            yield CsvPiece(lines, n_columns, cells, None)
            lines, cells = [], []
    if lines:
        yield CsvPiece(lines, n_columns, cells, None)


def _records(
    path: Path, start_line: int, numbered: Iterator[tuple[int, str]], delimiter: str
) -> Iterator[tuple[int, int, list[str]]]:
    """Records with their first and last line; empty ones are passed over."""
    last = start_line - 1

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in numbered:
            last = number
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        line = last + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataFileError.at(
                path,
                line=line,
                problem=f"cannot be read as CSV: {error}",
                expected="quotes in pairs, lines ended by line feeds",
                hint="A quote inside a quoted cell is written twice.",
            ) from error
        if row and (len(row) > 1 or row[0].strip(" ")):
            yield line, last, row


def _lines(path: Path, start_line: int) -> Iterator[tuple[int, str]]:
    for block in line_blocks(path, start_line=start_line, unix_ends=False):
        _check_text(path, block)
        lines = block.data.decode().split("\n")
        for number, line in enumerate(lines[:-1], start=block.line):
            yield number, line + "\n"
        if lines[-1]:
            yield block.line + len(lines) - 1, lines[-1]


def _check_text(path: Path, block: Block) -> None:
    try:
        if not block.data.isascii():
            block.data.decode()
    except UnicodeDecodeError as error:
        before = block.data[: error.start]
        raise DataFileError.at(
            path,
            line=block.line + before.count(b"\n"),
            column=error.start - before.rfind(b"\n"),
            problem="is not UTF-8",
            expected="text in UTF-8",
            hint="Re-encode it: iconv -f latin1 -t utf-8 OLD > NEW.",
        ) from error


def _ragged(path: Path, line: int, n_cells: int, n_columns: int) -> DataFileError:
    return DataFileError.at(
        path,
        line=line,
        column=min(n_cells, n_columns) + 1,
        problem=f"the line has {counted(n_cells, 'cell')}",
        expected=f"{n_columns}, as the header has",
        hint="The column is counted in cells.",
    )
