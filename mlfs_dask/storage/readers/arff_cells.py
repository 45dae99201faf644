"""Rows of an ARFF file cell by cell: quotes, text, comments, missing values, and every mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.arff_header import unescape
from mlfs_dask.storage.readers.coding import CodeTable
from mlfs_dask.storage.readers.numerals import parse_number
from mlfs_dask.storage.readers.textfile import Block
from mlfs_dask.wording import counted

# Possessive repeats (*+) never give back what they took: the time is linear whatever the text.
_QUOTED: Final = rb"'((?:[^'\\]|\\.)*+)'[ \t]*+|\"((?:[^\"\\]|\\.)*+)\"[ \t]*+"
_CELL: Final = re.compile(
    rb"[ \t]*+(?:" + _QUOTED + rb"|([^,'\" \t][^,]*+|(?=,|$)))(,|$)", re.DOTALL
)
_ENTRY: Final = re.compile(
    rb"[ \t]*+([0-9]++)[ \t]++(?:" + _QUOTED + rb"|([^,'\" \t][^, \t]*+)[ \t]*+)(,|$)", re.DOTALL
)
_SHOWN: Final = 40


@dataclass(frozen=True)
class Column:
    """How one attribute is read.

    Parameters
    ----------
    name
        Of the attribute.
    table
        Codes of a nominal attribute; None of a numeric one.
    is_label
        Missing values are refused.
    """

    name: str
    table: CodeTable | None = None
    is_label: bool = False


@dataclass(frozen=True)
class DenseRows:
    """Coded cells, shape (n_rows, n_attributes); NaN is missing."""

    cells: FloatArray


@dataclass(frozen=True)
class SparseRows:
    """Coded cells as triplets: rows in order, columns ascending in a row."""

    n_rows: int
    row: IntArray
    column: IntArray
    value: FloatArray


class ArffCells:
    """The careful decoder of one file.

    Parameters
    ----------
    path
        The file, for messages.
    columns
        How each attribute is coded, in file order.
    """

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._path = path
        self._columns = columns
        self._quick: list[Callable[[bytes], float | None]] = [
            float_or_none if column.table is None else _plain_codes(column.table)
            for column in columns
        ]

    def dense(self, block: Block) -> DenseRows:
        """Rows of a block of dense lines."""
        rows = [self._dense_row(number, line) for number, line in _data_lines(block)]
        cells = np.array(rows, dtype=np.float64).reshape(len(rows), len(self._columns))
        return DenseRows(cells)

    def sparse(self, block: Block) -> SparseRows:
        """Rows of a block of sparse lines."""
        counts: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for number, line in _data_lines(block):
            before = len(columns)
            self._sparse_row(number, line, columns, values)
            counts.append(len(columns) - before)
        return SparseRows(
            len(counts),
            np.repeat(np.arange(len(counts)), counts),
            np.array(columns, dtype=np.int64),
            np.array(values, dtype=np.float64),
        )

    def _dense_row(self, number: int, line: bytes) -> list[float]:
        if b"'" not in line and b'"' not in line:
            cells = line.replace(b", ", b",").split(b",")
            if len(cells) == len(self._columns):
                row = [get(cell) for get, cell in zip(self._quick, cells, strict=True)]
                if None not in row:
                    return row  # type: ignore[return-value]  # no None is left in it
        indent = _indent(line)
        if line.startswith(b"{", indent):
            self._fail(
                number, indent + 1, "a sparse row in a dense file", "values separated by commas"
            )
        return self._careful_row(number, line)

    def _careful_row(self, number: int, line: bytes) -> list[float]:
        row: list[float] = []
        at, more = 0, True
        for column in self._columns:
            if not more:
                self._fail_width(number, len(line), f"the row has {counted(len(row), 'value')}")
            start = at + _indent(line[at:])
            match = _CELL.match(line, start)
            if match is None:
                self._fail(number, start + 1, f"cannot read {_shown(line[start:])}", "a value or ?")
            quoted = match[1] if match[1] is not None else match[2]
            text = quoted if quoted is not None else match[3].rstrip()
            row.append(self._value(number, start + 1, column, text, quoted=quoted is not None))
            at, more = match.end(), bool(match[4])
        if more:
            start = at + _indent(line[at:])
            self._fail_width(
                number, start + 1, f"the row has more than {counted(len(row), 'value')}"
            )
        return row

    def _sparse_row(
        self, number: int, line: bytes, columns: list[int], values: list[float]
    ) -> None:
        at = _indent(line)
        if not line.startswith(b"{", at):
            what = f"a dense row in a sparse file: {_shown(line[at:])}"
            self._fail(number, at + 1, what, "{index value,...}")
        if not line.endswith(b"}"):
            what = "the sparse row has no closing brace"
            self._fail(number, len(line), what, "}", "The file may be truncated: copy it again.")
        at, end, last = at + 1, len(line) - 1, -1
        more = bool(line[at:end].strip())
        while more:
            start = at + _indent(line[at:end])
            match = _ENTRY.match(line, start, end)
            if match is None:
                self._fail(number, start + 1, f"cannot read {_shown(line[start:])}", "index value")
            last = self._index(number, start + 1, match[1], last)
            group = next(g for g in (2, 3, 4) if match[g] is not None)
            quoted, place = group != 4, match.start(group) + (group == 4)
            columns.append(last)
            values.append(
                self._value(number, place, self._columns[last], match[group], quoted=quoted)
            )
            at, more = match.end(), bool(match[5])

    def _index(self, number: int, at: int, text: bytes, last: int) -> int:
        # A number of more digits than any width is out of range, however long it is.
        index = int(text) if len(text) <= 18 else len(self._columns)
        if index >= len(self._columns):
            width = len(self._columns)
            self._fail(number, at, f"index {_shown(text)}", f"0 to {width - 1}, one per attribute")
        if index <= last:
            what = "stands twice in the row" if index == last else f"comes after index {last}"
            self._fail(number, at, f"index {index} {what}", "indices in ascending order")
        return index

    def _value(self, number: int, at: int, column: Column, text: bytes, *, quoted: bool) -> float:
        if text == b"?" and not quoted:
            if column.is_label:
                self._fail(
                    number,
                    at,
                    f"label {column.name!r} is missing",
                    "0 or 1",
                    "Rows with unknown labels cannot be used: remove them.",
                )
            return np.nan
        if quoted and b"\\" in text:
            text = unescape(text.decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
        value = self._known(column, text)
        if value is None:
            table = column.table
            self._fail(
                number,
                at,
                f"attribute {column.name!r} has the value {_shown(text)}",
                "a number or ?" if table is None else _shown_domain(table),
                None if text else "A missing value is written ?.",
            )
        return value

    @staticmethod
    def _known(column: Column, text: bytes) -> float | None:
        if column.table is None:
            value = parse_number(text)
            return None if value is None or not np.isfinite(value) else value
        if text in column.table.by_text:
            return column.table.by_text[text]
        if column.table.by_number is not None:
            number = parse_number(text)
            return None if number is None else column.table.by_number.get(number)
        return None

    def _fail_width(self, number: int, at: int, problem: str) -> NoReturn:
        self._fail(
            number,
            at,
            problem,
            f"{len(self._columns)}, one for each attribute",
            "Text with commas needs quotes; a row cut short tells of a truncated file.",
        )

    def _fail(
        self, line: int, column: int, problem: str, expected: str, hint: str | None = None
    ) -> NoReturn:
        raise DataFileError.at(
            self._path, line=line, column=column, problem=problem, expected=expected, hint=hint
        )


def float_or_none(text: bytes) -> float | None:
    """A finite plain number, else None: the careful road decides then."""
    try:
        value = float(text)
    except ValueError:
        return None
    # float() takes underscores, nan and inf, which are no numbers of ARFF.
    return value if np.isfinite(value) and b"_" not in text else None


def _data_lines(block: Block) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
        text = line.rstrip()
        if text and not text.lstrip().startswith(b"%"):
            yield number, text


def _indent(text: bytes) -> int:
    return len(text) - len(text.lstrip())


def _plain_codes(table: CodeTable) -> Callable[[bytes], float | None]:
    """Codes of values without quotes, where ``?`` always means missing."""
    codes = table.by_text
    if b"?" in codes:
        codes = {text: code for text, code in codes.items() if text != b"?"}
    return codes.get


def _shown(text: bytes) -> str:
    shown = text[:_SHOWN].decode("utf-8", "backslashreplace")
    return repr(shown) + ("..." if len(text) > _SHOWN else "")


def _shown_domain(table: CodeTable) -> str:
    shown = ", ".join(table.values[:6])
    more = f", ... ({len(table.values)} values)" if len(table.values) > 6 else ""
    return f"one of {{{shown}{more}}}"
