"""Sparse rows ``{index value,...}`` of plain numbers, a block at a time.

The text is cut at its delimiters. Every pair of neighbouring delimiters is checked against the
grammar, which tells indices from values; whole numbers are then summed up digit by digit, for all
tokens of the block together.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.storage.readers.arff_cells import SparseRows
from mlfs_dask.storage.readers.numerals import decode_numbers

_DIGIT, _BLANK, _COMMA, _FEED, _OPEN, _CLOSE, _MARK, _OTHER = range(8)
# Whole numbers of so many digits are exact in float64 and int64.
_MAX_DIGITS: Final = 15
_NO, _TOKEN, _NOTHING = range(3)


def _classes() -> ByteArray:
    table = np.full(256, _OTHER, dtype=np.uint8)
    for chars, kind in (
        (b"0123456789", _DIGIT),
        (b" ", _BLANK),
        (b",", _COMMA),
        (b"\n", _FEED),
        (b"{", _OPEN),
        (b"}", _CLOSE),
        (b"+-.eE", _MARK),
    ):
        table[list(chars)] = kind
    return table


def _grammar() -> ByteArray:
    """What stands between two delimiters, by 8 * first + second."""
    table = np.full(64, _NO, dtype=np.uint8)
    for first, second in ((_OPEN, _BLANK), (_COMMA, _BLANK), (_BLANK, _COMMA), (_BLANK, _CLOSE)):
        table[8 * first + second] = _TOKEN
    for first, second in ((_OPEN, _CLOSE), (_CLOSE, _FEED), (_FEED, _OPEN)):
        table[8 * first + second] = _NOTHING
    return table


_CLASS: Final = _classes()
_BETWEEN: Final = _grammar()


def decode_entries(data: bytes) -> SparseRows | None:
    r"""Indices and numbers of sparse rows; None if some row needs a closer look.

    Parameters
    ----------
    data
        Lines, each with its line feed.

    Examples
    --------
    >>> rows = decode_entries(b"{0 1,3 25}\n{}\n{2 0.5}\n")
    >>> rows.n_rows, rows.row.tolist(), rows.column.tolist(), rows.value.tolist()
    (3, [0, 0, 2], [0, 3, 2], [1.0, 25.0, 0.5])
    >>> decode_entries(b"{0 1, 3 25}\n") is None
    True
    """
    text = np.frombuffer(data, dtype=np.uint8)
    kinds = _CLASS[text]
    highest = int(kinds.max())
    if highest == _OTHER:
        return None
    has_marks = highest == _MARK
    ends = np.flatnonzero((kinds != _DIGIT) & (kinds != _MARK) if has_marks else kinds)
    delimiters = kinds[ends]
    if not (len(ends) and ends[0] == 0 and delimiters[0] == _OPEN and ends[-1] == len(data) - 1):
        return None
    first, second, lengths = delimiters[:-1], delimiters[1:], np.diff(ends) - 1
    between = _BETWEEN[8 * first + second]
    if not np.all(np.where(lengths > 0, between == _TOKEN, between == _NOTHING)):
        return None
    is_index = second == _BLANK
    is_value = first == _BLANK
    if has_marks and not _marks_in_values(kinds, ends, delimiters):
        return None
    column = _whole_numbers(text, ends[1:][is_index], lengths[is_index])
    if column is None:
        return None
    value = None if has_marks else _whole_numbers(text, ends[1:][is_value], lengths[is_value])
    values = _real_values(data, len(column)) if value is None else value.astype(np.float64)
    if values is None:
        return None
    feeds = np.cumsum(second == _FEED)
    return SparseRows(int(feeds[-1]), feeds[is_index], column, values)


def _marks_in_values(kinds: ByteArray, ends: IntArray, delimiters: ByteArray) -> bool:
    """Whether signs, points and exponents stand in values alone, not in indices."""
    marks = np.flatnonzero(kinds == _MARK)
    return bool(np.all(delimiters[np.searchsorted(ends, marks) - 1] == _BLANK))


def _whole_numbers(text: ByteArray, ends: IntArray, lengths: IntArray) -> IntArray | None:
    """Numbers of the digits before each end; None if some are too long."""
    numbers = np.zeros(len(ends), dtype=np.int64)
    if not len(ends):
        return numbers
    longest = int(lengths.max())
    if longest > _MAX_DIGITS:
        return None
    for place in range(longest):
        # A token shorter than this has its delimiter, or older text, here: no digit of its own.
        digits = text[np.maximum(ends - 1 - place, 0)] - np.uint8(ord("0"))
        numbers += np.where(lengths > place, digits, np.uint8(0)) * np.int64(10**place)
    return numbers


def _real_values(data: bytes, count: int) -> FloatArray | None:
    """Values of entries whose shape is known to be right."""
    if not count:
        return np.empty(0)
    body = data.replace(b"{}\n", b"").replace(b"{", b"").replace(b"}\n", b",")
    numbers = decode_numbers(body[:-1].replace(b" ", b","))
    return None if numbers is None or len(numbers) != 2 * count else numbers[1::2].copy()
