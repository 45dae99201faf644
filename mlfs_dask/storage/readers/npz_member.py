"""One array of a ``.npz`` archive, read from the front in pieces, never unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Final, Self

import numpy as np
from numpy.lib import format as npy

from mlfs_dask._typing import AnyArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.wording import counted_by_thousands

_MAX_WHOLE: Final = 4 * 1024**3


class Member:
    """An array of an archive; as a context it holds its stream open.

    Parameters
    ----------
    path
        The archive, for messages.
    archive
        It, opened.
    key
        Name of the array.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype

    Raises
    ------
    DataFileError
        Python objects, or another size than the shape says.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile, key: str) -> None:
        self._path, self._key = path, key
        info = archive.getinfo(f"{key}.npy")
        self._stream: IO[bytes] = archive.open(info)
        try:
            self.shape, self._fortran, self.dtype = _read_head(self._stream)
            if self.dtype.hasobject:
                problem = f"{key} holds Python objects, which are never unpickled"
                raise DataFileError.at(path, problem=problem, expected="numbers or texts")
            claimed = int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
            held = info.file_size - self._stream.tell()
            if claimed != held or any(size < 0 for size in self.shape):
                problem = f"{key} claims {counted_by_thousands(claimed, 'byte')} and holds {held:,}"
                raise DataFileError.at(path, problem=problem, expected="an undamaged archive")
        except BaseException:
            self._stream.close()
            raise
        self._n_bytes = claimed
        self._held: AnyArray | None = None
        self._at = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stream.close()

    def whole(self) -> AnyArray:
        """All of it, 4 GiB at most: a small archive can unpack to anything."""
        if self._n_bytes > _MAX_WHOLE:
            raise DataFileError.at(
                self._path,
                problem=f"{self._key} unpacks to {self._n_bytes:,} bytes and is read in one piece",
                expected=f"at most {_MAX_WHOLE:,} bytes",
                hint="X and Y in C order (numpy.ascontiguousarray) are read row by row.",
            )
        cells = np.frombuffer(self._stream.read(), dtype=self.dtype)
        return cells.reshape(self.shape, order="F" if self._fortran else "C")

    def take(self, n_rows: int) -> AnyArray:
        """The next rows along the first axis."""
        if self._fortran and len(self.shape) > 1:
            # Column after column: the rows are scattered over all of it.
            held = self.whole() if self._held is None else self._held
            self._held, self._at = held, self._at + n_rows
            return held[self._at - n_rows : self._at]
        row = self.shape[1:]
        n_bytes = n_rows * int(np.prod(row)) * self.dtype.itemsize
        return np.frombuffer(self._stream.read(n_bytes), dtype=self.dtype).reshape(n_rows, *row)


def _read_head(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the npy format")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    return tuple(int(size) for size in shape), bool(fortran), dtype
