"""Numeric variables of a MATLAB file of version 5 to 7.2.

SciPy's reader is compiled code that trusts the file: a damaged one can end the process. Real
matrices, dense and sparse, are all that a data set needs, and their part of the format is small::

    128 bytes      text, version 0x0100, "IM" (little-endian) or "MI"
    elements       tag (type, size), data, padding to 8 bytes; data of 4 bytes or less in the tag
      compressed   zlib stream of one element
      matrix       flags, dimensions, name, then the real part; or of a sparse matrix row indices,
                   column bounds, real part
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from scipy.sparse import csc_matrix

from mlfs_dask._typing import AnyArray
from mlfs_dask.wording import counted, counted_by_thousands

_HEAD: Final = 128
_COMPRESSED: Final = 15
_MATRIX: Final = 14
_SPARSE: Final = 5
_NUMERIC: Final = range(6, 16)
_COMPLEX: Final = 0x0800
_KINDS: Final = {1: "cells", 2: "a struct", 3: "an object", 4: "text", 16: "a function"}
_STORED: Final = {
    **{1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4"},
    **{9: "f8", 12: "i8", 13: "u8"},
}
# Names have at most 63 characters; flags, dimensions and name of a matrix fit in here.
_PEEK: Final = 1024
_MAX_RATIO: Final = 1100  # of zlib, a little over


@dataclass(frozen=True, slots=True)
class Foreign:
    """A variable that is no real matrix.

    Parameters
    ----------
    kind
        What it is, in words.
    """

    kind: str


Variable: TypeAlias = AnyArray | csc_matrix | Foreign


def read_mat5(content: bytes, wanted: Callable[[str], bool]) -> dict[str, Variable | None]:
    """Variables of a file by name.

    Parameters
    ----------
    content
        The whole file.
    wanted
        Which names to read; the value of any other is None.

    Returns
    -------
    dict of str to ndarray, csc_matrix, Foreign or None
        Dense matrices in the dtype in which they are stored, in Fortran order.

    Raises
    ------
    ValueError
        The file is of another version, damaged or truncated.
    """
    if len(content) < _HEAD or content[126:128] not in (b"IM", b"MI"):
        raise ValueError("it has not the head of a MATLAB file of version 5")
    order = "<" if content[126:128] == b"IM" else ">"
    version = int.from_bytes(content[124:126], "little" if order == "<" else "big")
    if version != 0x0100:
        raise ValueError(f"it is of version {version:#06x}, not 0x0100")
    found: dict[str, Variable | None] = {}
    for body in _matrices(memoryview(content)[_HEAD:], order, wanted, found):
        matrix = _Matrix(_Elements(body, order))
        found[matrix.name] = matrix.value()
    return found


def _matrices(
    data: memoryview,
    order: str,
    wanted: Callable[[str], bool],
    found: dict[str, Variable | None],
) -> Iterator[memoryview]:
    """Bodies of the wanted matrices; the names of the others are put down as None."""
    elements = _Elements(data, order)
    while elements.left:
        kind, body = elements.next(padded_unless=_COMPRESSED)
        if kind == _COMPRESSED:
            head = _inflated(body, order, limit=_PEEK)
            if head is None:
                continue
            name = _Matrix(_Elements(head, order)).name
            if wanted(name):
                whole = _inflated(body, order)
                assert whole is not None
                yield whole
            else:
                found[name] = None
        elif kind == _MATRIX:
            name = _Matrix(_Elements(body, order)).name
            if wanted(name):
                yield body
            else:
                found[name] = None


def _inflated(packed: memoryview, order: str, limit: int | None = None) -> memoryview | None:
    """Body of the one matrix in a zlib stream, or its beginning; None if it is something else."""
    try:
        stream = zlib.decompressobj()
        tag = stream.decompress(packed, 8)
        if len(tag) < 8:
            raise ValueError("a compressed variable is cut short")
        kind, size = struct.unpack(f"{order}II", tag)
        if kind != _MATRIX:
            return None
        if size > _MAX_RATIO * len(packed):
            raise ValueError(f"a compressed variable claims {counted_by_thousands(size, 'byte')}")
        asked = size if limit is None else min(size, limit)
        body = stream.decompress(stream.unconsumed_tail, asked) if asked else b""
        if limit is None:
            # Reading to the end of the stream checks its checksum.
            rest = stream.decompress(stream.unconsumed_tail, 1)
            if len(body) < size or rest or not stream.eof:
                raise ValueError("a compressed variable is cut short or longer than it says")
    except zlib.error as error:
        raise ValueError(f"a compressed variable is damaged ({error})") from error
    return memoryview(body)


class _Elements:
    """Elements one after the other."""

    def __init__(self, data: memoryview, order: str) -> None:
        self._data = data
        self._at = 0
        self.order = order

    @property
    def left(self) -> bool:
        return self._at < len(self._data)

    def next(self, *, padded_unless: int | None = None) -> tuple[int, memoryview]:
        """Type and data of the next element."""
        if self._at + 8 > len(self._data):
            raise ValueError("it ends inside an element")
        first, size = struct.unpack_from(f"{self.order}II", self._data, self._at)
        small = first >> 16
        if small:
            if small > 4:
                raise ValueError(f"a small element of {small} bytes")
            start = self._at + 4
            self._at += 8
            return first & 0xFFFF, self._data[start : start + small]
        start = self._at + 8
        if start + size > len(self._data):
            raise ValueError("it ends inside an element")
        padding = 0 if first == padded_unless else -size % 8
        self._at = start + size + padding
        return first, self._data[start : start + size]

    def numbers(self) -> AnyArray:
        """The next element as an array."""
        kind, data = self.next()
        stored = _STORED.get(kind)
        if stored is None:
            raise ValueError(f"numbers of the unknown type {kind}")
        dtype = np.dtype(f"{self.order}{stored}")
        if len(data) % dtype.itemsize:
            raise ValueError(f"{counted(len(data), 'byte')} of numbers of {dtype.itemsize} bytes")
        cells: AnyArray = np.frombuffer(data, dtype=dtype)
        return cells


class _Matrix:
    """A matrix element: its head at once, its values when asked for."""

    def __init__(self, elements: _Elements) -> None:
        self._elements = elements
        flags = elements.numbers()
        if flags.shape != (2,) or flags.dtype.kind != "u":
            raise ValueError("a variable without flags")
        self._class = int(flags[0]) & 0xFF
        self._complex = bool(int(flags[0]) & _COMPLEX)
        if self._class == 17:  # has no dimensions in this place
            self.name = ""
            return
        self.shape = tuple(int(size) for size in elements.numbers())
        if len(self.shape) < 2 or min(self.shape) < 0:
            raise ValueError(f"a variable of shape {self.shape}")
        _, name = elements.next()
        self.name = bytes(name).decode("latin-1").rstrip("\0")

    def value(self) -> Variable:
        """The matrix."""
        if self._complex:
            return Foreign("complex numbers")
        if self._class == _SPARSE:
            return self._sparse()
        if self._class not in _NUMERIC:
            return Foreign(_KINDS.get(self._class, "an object"))
        cells = self._elements.numbers()
        n_cells = 1
        for size in self.shape:
            n_cells *= size
        if len(cells) != n_cells:
            raise ValueError(
                f"{self.name} has {counted(len(cells), 'cell')} and the shape {self.shape}"
            )
        return cells.reshape(self.shape, order="F")

    def _sparse(self) -> Variable:
        rows, bounds, values = (self._elements.numbers() for _ in range(3))
        if len(self.shape) != 2 or rows.dtype.kind not in "iu" or bounds.dtype.kind not in "iu":
            raise ValueError(f"the sparse matrix {self.name} is damaged")
        starts = bounds.astype(np.int64)
        n_entries = int(starts[-1]) if len(starts) else -1
        if (
            len(starts) != self.shape[1] + 1
            or starts[0] != 0
            or (np.diff(starts) < 0).any()
            or n_entries > min(len(rows), len(values))
        ):
            raise ValueError(f"the sparse matrix {self.name} is damaged")
        indices = rows[:n_entries].astype(np.int64)
        if n_entries and not (indices.min() >= 0 and indices.max() < self.shape[0]):
            raise ValueError(f"the sparse matrix {self.name} has entries outside of it")
        data = values[:n_entries].astype(values.dtype.newbyteorder("="))
        matrix = csc_matrix((data, indices, starts), shape=self.shape)
        if not matrix.has_canonical_format:
            raise ValueError(f"the sparse matrix {self.name} has an entry twice or out of order")
        return matrix
