"""Dense rows with words in them: every cell is looked up once, then columns of a kind at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.storage.readers.arff_cells import Column, DenseRows
from mlfs_dask.storage.readers.coding import CodeTable
from mlfs_dask.storage.readers.numerals import decode_numbers

_UNDECLARED: Final = -1.0
# Kinds of columns times words, 8 bytes each.
_MAX_CODES: Final = 4_000_000


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
        tables: dict[tuple[int, bool], tuple[CodeTable, bool, list[int]]] = {}
        for position, column in enumerate(columns):
            if column.table is not None:
                key = (id(column.table), column.is_label)
                tables.setdefault(key, (column.table, column.is_label, []))[2].append(position)
        self._number: dict[bytes, int] = {}
        for table, _, _ in tables.values():
            for word in table.by_text:
                self._number.setdefault(word, len(self._number))
        self._missing = self._number.setdefault(b"?", len(self._number))
        # Many long domains, all different, are better left to the careful road.
        self._fits = len(tables) * len(self._number) <= _MAX_CODES
        self._groups: list[tuple[IntArray, FloatArray]] = [
            (np.array(group), self._codes(table, is_label=is_label))
            for table, is_label, group in (tables.values() if self._fits else ())
        ]

    def _codes(self, table: CodeTable, *, is_label: bool) -> FloatArray:
        """Code of every word in one kind of column; the last entry is for unknown words."""
        codes = np.full(len(self._number) + 1, _UNDECLARED)
        for word, code in table.by_text.items():
            codes[self._number[word]] = code
        # Also where '?' in quotes is a declared value.
        codes[self._missing] = _UNDECLARED if is_label else np.nan
        return codes

    def dense(self, data: bytes) -> DenseRows | None:
        """Rows of lines of the right width; None if some cell needs a closer look.

        Parameters
        ----------
        data
            Lines, each with its line feed, without quotes.
        """
        if not self._fits:
            return None
        words = data[:-1].replace(b"\n", b",").split(b",")
        n_rows = len(words) // self._width
        numbers = np.fromiter(
            map(self._number.get, words, repeat(len(self._number))), np.int64, len(words)
        ).reshape(n_rows, self._width)
        cells = np.empty((n_rows, self._width))
        for group, codes in self._groups:
            coded = codes[numbers[:, group]]
            if (coded == _UNDECLARED).any():
                return None
            cells[:, group] = coded
        for column in self._numeric:
            values = _numbers(words[column :: self._width])
            if values is None or len(values) != n_rows or np.isinf(values).any():
                return None
            cells[:, column] = values
        return DenseRows(cells)


def _numbers(words: list[bytes]) -> FloatArray | None:
    joined = b",".join(words)
    if b"?" not in joined:
        return decode_numbers(joined)
    return (
        decode_numbers(joined.replace(b"?", b"null"), missing=True) if b"n" not in joined else None
    )
