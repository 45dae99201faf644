"""Rows of libsvm's multi-label text: blocks of lines at once, odd ones line by line.

The fast road takes blocks whose lines are all plain (``1,3 5:0.2 7:1``) and without fault; what it
does not take is looked at line by line, by the road that knows the whole grammar and can complain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.numerals import decode_numbers, parse_number
from mlfs_dask.storage.readers.textfile import Block, line_blocks

# One mistyped digit must not make a table of billions of columns.
MAX_INDEX: Final = 5_000_000
"""Largest feature index that is read."""
MAX_LABEL: Final = 1_000_000
"""Largest label that is read."""

_LABELS: Final = re.compile(rb"([0-9]{1,9})(?:\s*,\s*([0-9]{1,9}))*\s*,?")
_NUMBER: Final = re.compile(rb"[0-9]+")
_ENTRY: Final = re.compile(rb"\S+")
_ODD_INDEX: Final = re.compile(rb"[.eE+-][0-9]*:")
_OF_NUMBERS: Final = b"0123456789.eE+-"


@dataclass(frozen=True)
class LibsvmRows:
    """Consecutive rows.

    Parameters
    ----------
    lines : ndarray of int64, shape (n_rows,)
        Line number of each row.
    labels : ndarray of int64, shape (n_row_labels,)
        Labels of all rows, as written.
    label_bounds : ndarray of int64, shape (n_rows + 1,)
        Bounds of each row in ``labels``.
    indices : ndarray of int64, shape (n_entries,)
        Indices as written, ascending in a row.
    values : ndarray of float64, shape (n_entries,)
        Finite.
    bounds : ndarray of int64, shape (n_rows + 1,)
        Bounds of each row in ``indices`` and ``values``.
    """

    lines: IntArray
    labels: IntArray
    label_bounds: IntArray
    indices: IntArray
    values: FloatArray
    bounds: IntArray


def libsvm_rows(path: Path, *, start_line: int) -> Iterator[LibsvmRows]:
    """Rows of a file, some 256 KiB of text at a time.

    Parameters
    ----------
    path
        Plain, gzip or bzip2 file.
    start_line
        First line of rows, 1-based.

    Raises
    ------
    DataFileError
        A line that is no such row, with line and column.
    """
    for block in line_blocks(path, start_line=start_line):
        rows = _plain_rows(block)
        if rows is None:
            rows = _rows_one_by_one(path, block)
        if len(rows.lines):
            yield rows


def _plain_rows(block: Block) -> LibsvmRows | None:
    """All rows at once; None if any is not plain."""
    if b"#" in block.data:
        return None
    lines: list[int] = []
    labels: list[bytes] = []
    entries: list[bytes] = []
    n_labels: list[int] = []
    n_entries: list[int] = []
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
        if not line:
            continue
        words = line.split()
        if words and b":" not in words[0]:
            label = words.pop(0)
            labels.append(label)
            n_labels.append(label.count(b",") + 1)
        else:
            n_labels.append(0)
        lines.append(number)
        entries += words
        n_entries.append(len(words))
    numbers = _whole_numbers(b",".join(labels), sum(n_labels))
    pairs = _pairs(b",".join(entries), len(entries))
    if numbers is None or pairs is None:
        return None
    indices, values = pairs
    bounds = _bounds(n_entries)
    if len(indices) and not _ascending(indices, bounds):
        return None
    at = np.array(lines, dtype=np.int64)
    return LibsvmRows(at, numbers, _bounds(n_labels), indices, values, bounds)


def _whole_numbers(joined: bytes, n: int) -> IntArray | None:
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    if joined.translate(None, b"0123456789") != b"," * (n - 1):
        return None
    numbers = decode_numbers(joined)
    if numbers is None or len(numbers) != n or numbers.max() > MAX_LABEL:
        return None
    return numbers.astype(np.int64)


def _pairs(joined: bytes, n: int) -> tuple[IntArray, FloatArray] | None:
    if n == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if joined.translate(None, _OF_NUMBERS) != (b":," * n)[:-1] or _ODD_INDEX.search(joined):
        return None
    numbers = decode_numbers(joined.replace(b":", b","))
    if numbers is None or len(numbers) != 2 * n or not np.isfinite(numbers).all():
        return None
    if numbers[0::2].max() > MAX_INDEX:
        return None
    return numbers[0::2].astype(np.int64), numbers[1::2].copy()


def _ascending(indices: IntArray, bounds: IntArray) -> bool:
    falls = np.flatnonzero(np.diff(indices) <= 0) + 1
    # A fall is no fault where a row begins.
    return bool(np.isin(falls, bounds, assume_unique=False).all())


def _rows_one_by_one(path: Path, block: Block) -> LibsvmRows:
    lines: list[int] = []
    labels: list[list[int]] = []
    indices: list[list[int]] = []
    values: list[float] = []
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
        text = line.split(b"#", 1)[0].rstrip()
        # A line of blanks is a row without labels and entries; an empty one is none.
        if text or (line and b"#" not in line):
            head = _head(text)
            lines.append(number)
            labels.append(_label_numbers(path, number, head))
            indices.append(_entries(path, number, text, len(head), values))
    return LibsvmRows(
        np.array(lines, dtype=np.int64),
        np.array([label for row in labels for label in row], dtype=np.int64),
        _bounds([len(row) for row in labels]),
        np.array([index for row in indices for index in row], dtype=np.int64),
        np.array(values, dtype=np.float64),
        _bounds([len(row) for row in indices]),
    )


def _head(text: bytes) -> bytes:
    """What stands before the first entry."""
    at = text.find(b":")
    if at < 0:
        return text
    words = text[:at].split()
    return text[: at - len(words[-1])] if words else text[:at]


def _label_numbers(path: Path, number: int, head: bytes) -> list[int]:
    text = head.strip()
    if not text:
        return []
    column = len(head) - len(head.lstrip()) + 1
    if not _LABELS.fullmatch(text):
        raise DataFileError.at(
            path,
            line=number,
            column=column,
            problem=f"cannot read the labels {_shown(text)}",
            expected="whole numbers separated by commas",
            hint="A row is labels, a blank, then index:value entries: 1,3 5:0.2 7:1",
        )
    labels = [int(label) for label in _NUMBER.findall(text)]
    if max(labels) > MAX_LABEL:
        raise _error(
            path, number, column, f"label {max(labels)}", f"a label of at most {MAX_LABEL:,}"
        )
    return labels


def _entries(path: Path, number: int, text: bytes, start: int, values: list[float]) -> list[int]:
    """Indices of the entries of a row; their values are appended to ``values``."""
    indices: list[int] = []
    for match in _ENTRY.finditer(text, start):
        entry, column = match[0], match.start() + 1
        index, colon, value = entry.partition(b":")
        parsed = parse_number(value)
        if not (colon and _NUMBER.fullmatch(index)) or parsed is None or not np.isfinite(parsed):
            expected = "index:value with a finite number"
            raise _error(path, number, column, f"cannot read {_shown(entry)}", expected)
        position = int(index) if len(index) <= 10 else MAX_INDEX + 1
        if position > MAX_INDEX:
            expected = f"an index of at most {MAX_INDEX:,}"
            raise _error(path, number, column, f"index {_shown(index)}", expected)
        if indices and position <= indices[-1]:
            what = "stands twice" if position == indices[-1] else f"comes after {indices[-1]}"
            expected = "indices in ascending order"
            raise _error(path, number, column, f"index {position} {what}", expected)
        indices.append(position)
        values.append(parsed)
    return indices


def _bounds(counts: Sequence[int]) -> IntArray:
    bounds = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(np.asarray(counts, dtype=np.int64), out=bounds[1:])
    return bounds


def _error(path: Path, line: int, column: int, problem: str, expected: str) -> DataFileError:
    return DataFileError.at(path, line=line, column=column, problem=problem, expected=expected)


def _shown(text: bytes) -> str:
    shown = text[:40].decode("utf-8", "backslashreplace")
    return repr(shown) + ("..." if len(text) > 40 else "")
