"""Dense rows with words in them, all columns of a kind at once.

A word of up to eight bytes fits in one 64-bit integer, so that a block of words becomes a matrix of
integers, and columns with the same declaration are compared with each declared value in one step.
Columns with longer words, and numbers among words, go column by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.storage.readers.arff_cells import Column, DenseRows
from mlfs_dask.storage.readers.coding import CodeTable
from mlfs_dask.storage.readers.numerals import decode_numbers

_COMMA, _FEED = ord(","), ord("\n")
_UNDECLARED: Final = -1.0
_WIDTH: Final = 8
# The first bytes of a window of eight; nothing of a longer word.
_MASKS: Final = np.array([256**size - 1 for size in range(_WIDTH + 1)] + [0], dtype=np.uint64)
_MISSING: Final = np.uint64(ord("?"))
# Up to so many values are compared one by one, more are looked up by bisection.
_FEW: Final = 4


class WordRows:
    """Decoder of rows some of whose nominal values are words.

    Parameters
    ----------
    columns
        How each attribute is coded, in file order.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._width = len(columns)
        self._numeric = [c for c, column in enumerate(columns) if column.table is None]
        kinds = [_Kind(*same) for same in _same_declarations(columns)]
        self._short = [kind for kind in kinds if kind.is_short]
        self._long = [kind for kind in kinds if not kind.is_short]

    def dense(self, data: bytes) -> DenseRows | None:
        """Rows of lines of the right width; None if some cell needs a closer look.

        Parameters
        ----------
        data
            Lines, each with its line feed, without quotes.
        """
        keys = _keys(data).reshape(-1, self._width)
        cells = np.empty(keys.shape)
        missing = b"?" in data
        for kind in self._short:
            codes = kind.codes(keys[:, kind.columns], missing=missing)
            if codes is None:
                return None
            cells[:, kind.columns] = codes
        if not self._long and not self._numeric:
            return DenseRows(cells)
        words = data[:-1].replace(b"\n", b",").split(b",")
        for kind in self._long:
            for column in kind.columns.tolist():
                found = kind.look_up(words[column :: self._width])
                if found is None:
                    return None
                cells[:, column] = found
        for column in self._numeric:
            values = _numbers(words[column :: self._width])
            if values is None or len(values) != len(cells) or np.isinf(values).any():
                return None
            cells[:, column] = values
        return DenseRows(cells)


def _same_declarations(columns: Sequence[Column]) -> Iterator[tuple[CodeTable, bool, list[int]]]:
    """Nominal columns by table and role; tables of the same object are compared once."""
    by_object: dict[tuple[int, bool], tuple[CodeTable, list[int]]] = {}
    for position, column in enumerate(columns):
        if column.table is not None:
            key = (id(column.table), column.is_label)
            by_object.setdefault(key, (column.table, []))[1].append(position)
    by_value: dict[tuple[CodeTable, bool], list[int]] = {}
    for (_, is_label), (table, where) in by_object.items():
        by_value.setdefault((table, is_label), []).extend(where)
    return ((table, is_label, where) for (table, is_label), where in by_value.items())


class _Kind:
    """Columns with the same declaration."""

    def __init__(self, table: CodeTable, is_label: bool, columns: Sequence[int]) -> None:
        self.columns: IntArray = np.array(columns, dtype=np.int64)
        self._missing = _UNDECLARED if is_label else np.nan
        # An unquoted ? is missing, also where '?' in quotes is a declared value.
        self._by_text = table.by_text | {b"?": self._missing}
        words = list(table.by_text)
        # A word of no bytes has the key of a word that is too long.
        self.is_short = all(0 < len(word) <= _WIDTH for word in words)
        if self.is_short:
            keys = np.array([int.from_bytes(word, "little") for word in words], dtype=np.uint64)
            order = np.argsort(keys)
            self._keys = keys[order]
            self._codes = np.array(list(table.by_text.values()))[order]

    def codes(self, keys: AnyArray, *, missing: bool) -> FloatArray | None:
        """Codes of cells by key; None if one of them is undeclared."""
        codes: FloatArray
        if len(self._keys) <= _FEW:
            codes = np.full(keys.shape, _UNDECLARED)
            for key, code in zip(self._keys, self._codes, strict=True):
                codes = np.where(keys == key, code, codes)
        else:
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            codes = np.where(self._keys[at] == keys, self._codes[at], _UNDECLARED)
        if missing:
            codes = np.where(keys == _MISSING, self._missing, codes)
        return None if (codes == _UNDECLARED).any() else codes

    def look_up(self, words: Sequence[bytes]) -> FloatArray | None:
        """Codes of one column by text; None if a cell is undeclared."""
        codes = np.array([self._by_text.get(word, _UNDECLARED) for word in words])
        return None if (codes == _UNDECLARED).any() else codes


def _keys(data: bytes) -> AnyArray:
    """Each cell's bytes as one integer, 0 where there are none or too many."""
    padded = data + bytes(_WIDTH)
    text = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero((text == _COMMA) | (text == _FEED))
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    windows: AnyArray = np.ndarray(len(data), dtype="<u8", buffer=padded, strides=(1,))
    keys: AnyArray = windows[starts] & _MASKS[np.minimum(ends - starts, _WIDTH + 1)]
    return keys


def _numbers(words: list[bytes]) -> FloatArray | None:
    joined = b",".join(words)
    if b"?" not in joined:
        return decode_numbers(joined)
    return (
        decode_numbers(joined.replace(b"?", b"null"), missing=True) if b"n" not in joined else None
    )
