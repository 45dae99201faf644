"""Rows of an ARFF file as numbers, a block of lines at a time.

Almost all blocks are plain: numbers between commas, or sparse rows ``{index value,...}`` of
numbers. Their shape is checked on the positions of the delimiters, then the whole block is turned
into float64 at once (sparse rows in arff_entries.py); words are looked up (arff_words.py). A block
that is anything else (quotes, comments, blanks, mistakes) goes line by line, where a mistake is
refused with line and column (arff_cells.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.storage.readers.arff_cells import ArffCells, Column, DenseRows, SparseRows
from mlfs_dask.storage.readers.arff_entries import decode_entries
from mlfs_dask.storage.readers.arff_words import WordRows
from mlfs_dask.storage.readers.numerals import decode_numbers
from mlfs_dask.storage.readers.textfile import Block

_COMMA, _FEED = ord(","), ord("\n")
_SMALL: Final = 256


class ArffRows:
    """Decoder of blocks of one file.

    Parameters
    ----------
    path
        The file, for messages.
    columns
        How each attribute is coded, in file order.
    is_sparse
        Whether the rows are ``{index value,...}``.
    """

    def __init__(self, path: Path, columns: Sequence[Column], *, is_sparse: bool) -> None:
        self._columns = columns
        self._cells = ArffCells(path, columns)
        self._is_sparse = is_sparse
        self._labels = np.flatnonzero([column.is_label for column in columns])
        lookups = _distinct_lookups(columns)
        self._plain = lookups is not None
        self._lookups, self._lookup_of = lookups or ([], np.empty(0, np.int64))
        self._words = None if self._plain or is_sparse else WordRows(columns)
        self._groups = [np.flatnonzero(self._lookup_of == k) for k in range(len(self._lookups))]

    def decode(self, block: Block) -> DenseRows | SparseRows:
        """Rows of a block of lines.

        Raises
        ------
        DataFileError
            A mistake, with its line and column.
        """
        return self.sparse(block) if self._is_sparse else self.dense(block)

    def dense(self, block: Block) -> DenseRows:
        """Rows of a block of dense lines."""
        data = _ended(block.data)
        if b" " in data and b", " in data:
            data = data.replace(b", ", b",")
        fast = None
        if _is_table(data, len(self._columns)):
            fast = self._words.dense(data) if self._words else self._fast_dense(data)
        return fast if fast is not None else self._cells.dense(block)

    def sparse(self, block: Block) -> SparseRows:
        """Rows of a block of sparse lines."""
        fast = self._fast_sparse(block) if self._plain else None
        return fast if fast is not None else self._cells.sparse(block)

    def columns(self, block: Block, positions: Sequence[int]) -> tuple[int, dict[int, FloatArray]]:
        """Rows of a block, and the stated cells of a few nominal attributes alone.

        Parameters
        ----------
        block
            Lines.
        positions
            Attributes wanted.

        Returns
        -------
        n_rows : int
        cells : dict of ndarray of float64
            By attribute; of sparse rows only the cells that are stated.
        """
        if not self._is_sparse:
            data = _ended(block.data)
            # A comment may have as many commas as a row.
            if b"%" not in data and _is_table(data, len(self._columns)):
                lines = data[:-1].split(b"\n")
                quick = {at: self._column(lines, at) for at in positions}
                found = {at: cells for at, cells in quick.items() if cells is not None}
                if len(found) == len(positions):
                    return len(lines), found
        rows = self.decode(block)
        if isinstance(rows, SparseRows):
            return rows.n_rows, {at: rows.value[rows.column == at] for at in positions}
        return len(rows.cells), {at: rows.cells[:, at] for at in positions}

    def _column(self, lines: Sequence[bytes], at: int) -> FloatArray | None:
        """Codes of one column of unquoted lines; None if some cell needs a closer look."""
        table, after = self._columns[at].table, len(self._columns) - at
        assert table is not None
        if b"?" in table.by_text:
            return None
        if at < after:
            cells = [line.split(b",", at + 1)[at].strip() for line in lines]
        else:
            cells = [line.rsplit(b",", after)[-after].strip() for line in lines]
        codes = list(map(table.by_text.get, cells))
        return None if None in codes else np.array(codes, dtype=np.float64)

    def _fast_dense(self, data: bytes) -> DenseRows | None:
        width, n_rows = len(self._columns), data.count(b"\n")
        missing = b"?" in data
        joined = data[:-1].replace(b"\n", b",")
        if missing:
            if b"null" in joined:
                return None
            joined = joined.replace(b"?", b"null")
        numbers = decode_numbers(joined, missing=missing)
        if numbers is None or len(numbers) != n_rows * width or np.isinf(numbers).any():
            return None
        cells = numbers.reshape(n_rows, width)
        for lookup, group in zip(self._lookups, self._groups, strict=True):
            codes = _coded(lookup, cells[:, group])
            if codes is None:
                return None
            cells[:, group] = codes
        if missing and np.isnan(cells[:, self._labels]).any():
            return None  # the careful road says where
        return DenseRows(cells)

    def _fast_sparse(self, block: Block) -> SparseRows | None:
        entries = decode_entries(_ended(block.data))
        if entries is None:
            return None
        column, value = entries.column, entries.value
        if np.any(column >= len(self._columns)) or np.isinf(value).any():
            return None
        ascending = (np.diff(column) > 0) | (np.diff(entries.row) > 0)
        if not ascending.all():
            return None
        which = self._lookup_of[column]
        for number, lookup in enumerate(self._lookups):
            here = which == number
            codes = _coded(lookup, value[here])
            if codes is None:
                return None
            value[here] = codes
        return entries


def _coded(lookup: FloatArray, values: FloatArray) -> FloatArray | None:
    """Codes of small whole numbers, NaN kept; None if one is undeclared."""
    known = ~np.isnan(values)
    whole = np.where(known, values, 0.0)
    if np.any((whole < 0) | (whole >= _SMALL) | (whole != np.floor(whole))):
        return None
    codes = lookup[whole.astype(np.int64)]
    if np.any(codes[known] < 0):
        return None
    return np.where(known, codes, np.nan)


def _distinct_lookups(columns: Sequence[Column]) -> tuple[list[FloatArray], IntArray] | None:
    """Distinct code look-ups, and which of them each column uses (-1: numeric).

    None if some nominal attribute has values other than small whole numbers.
    """
    lookups: list[FloatArray] = []
    number_of: dict[bytes, int] = {}
    number_by_table: dict[int, int] = {}
    which = np.full(len(columns), -1, dtype=np.int64)
    for position, column in enumerate(columns):
        if column.table is None:
            continue
        key = id(column.table)
        if key not in number_by_table:
            lookup = column.table.small_lookup()
            if lookup is None:
                return None
            number = number_of.setdefault(lookup.tobytes(), len(lookups))
            if number == len(lookups):
                lookups.append(lookup)
            number_by_table[key] = number
        which[position] = number_by_table[key]
    return lookups, which


def _is_table(data: bytes, width: int) -> bool:
    """Whether every line has so many cells, none of them quoted."""
    if b"'" in data or b'"' in data:
        return False
    text = np.frombuffer(data, dtype=np.uint8)
    feeds = np.flatnonzero(text == _FEED)
    commas = np.flatnonzero(text == _COMMA)
    per_row = np.diff(np.searchsorted(commas, feeds), prepend=0)
    return bool(np.all(per_row == width - 1))


def _ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"
