"""A raw temporary file for rows whose final dtype and count are not known yet.

Parsing a text file twice costs more than writing its values once, so a writer of stores spools
what the reader yields and decides on dtype and chunks when all of it has passed. Each piece lies in
the file in its own smallest dtype: a spool of 0/1 data takes a byte a value.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from mlfs_dask._typing import AnyArray


class _Piece(NamedTuple):
    start: int  # first row
    dtype: np.dtype
    offset: int  # in bytes


class Spool:
    """Rows of fixed width, appended once, then read in any ranges.

    Parameters
    ----------
    path
        File to create; its owner removes it.
    width
        Values of a row.
    """

    def __init__(self, path: Path, width: int = 1) -> None:
        self.width = width
        self.n_rows = 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._pieces: list[_Piece] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._fd)

    def append(self, rows: AnyArray) -> None:
        """Write rows at the end, in their own dtype.

        Parameters
        ----------
        rows : ndarray, shape (r, width) or (r,)
        """
        if rows.size == 0:
            return
        view = np.ascontiguousarray(rows).data.cast("B")
        self._pieces.append(_Piece(self.n_rows, rows.dtype, self._bytes))
        while view:
            written = os.write(self._fd, view)
            self._bytes += written
            view = view[written:]
        self.n_rows += len(rows)

    def read(
        self, start: int, stop: int, dtype: np.dtype, columns: slice | None = None
    ) -> AnyArray:
        """Rows ``start`` to ``stop`` in one dtype.

        Parameters
        ----------
        start, stop
            Range of rows.
        dtype
            Dtype that holds the values of all pieces.
        columns
            Range of columns with explicit bounds; all by default.

        Returns
        -------
        ndarray of `dtype`, shape (stop - start, width of `columns`)
        """
        first, last = (columns.start, columns.stop) if columns else (0, self.width)
        out = np.empty((stop - start, last - first), dtype=dtype)
        at = bisect_right(self._pieces, start, key=lambda piece: piece.start) - 1
        row = start
        while row < stop:
            ends = self._pieces[at + 1].start if at + 1 < len(self._pieces) else self.n_rows
            upto = min(stop, ends)
            out[row - start : upto - start] = self._read_piece(
                self._pieces[at], row, upto, first, last
            )
            row, at = upto, at + 1
        return out

    def _read_piece(self, piece: _Piece, start: int, stop: int, first: int, last: int) -> AnyArray:
        row_bytes = self.width * piece.dtype.itemsize
        offset = piece.offset + (start - piece.start) * row_bytes
        rows = np.empty((stop - start, last - first), dtype=piece.dtype)
        if last - first == self.width:
            self._read_into(rows, offset)
            return rows
        offset += first * piece.dtype.itemsize
        for i in range(stop - start):
            self._read_into(rows[i], offset + i * row_bytes)
        return rows

    def _read_into(self, target: AnyArray, offset: int) -> None:
        view = target.data.cast("B")
        while view:
            n_bytes = os.preadv(self._fd, [view], offset)
            if n_bytes == 0:
                raise OSError("the temporary file of the ingest was cut short")
            offset += n_bytes
            view = view[n_bytes:]
