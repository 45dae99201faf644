"""What grows where nothing can be appended to: objects ``00000001.jsonl``, ``00000002.jsonl``, ...

Each is written once, and only if it is not there yet, so of several writers one gets each number;
the others learn that they are not alone. What was written is the objects one after the other.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from mlfs_dask.storage.places import ObjectPlace, Place

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Segments:
    """The objects below one prefix.

    Parameters
    ----------
    folder
        The prefix.
    ending
        Of the names of objects to be written.
    """

    def __init__(self, folder: ObjectPlace, ending: str = "") -> None:
        self.folder = folder
        self._ending = ending

    def numbers(self, after: int = 0) -> list[int]:
        """Numbers that are taken, ascending.

        Parameters
        ----------
        after
            Only larger ones.
        """
        return [int(each.stem) for each in self._objects(after)]

    def create(self, number: int, content: bytes) -> None:
        """Write one; FileExistsError if another writer did.

        Parameters
        ----------
        number
            Of the object.
        content
            Bytes that no other writer would write.
        """
        (self.folder / f"{number:08d}{self._ending}").create(content)

    def contents(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Number and content of each, in order, as they are fetched.

        Parameters
        ----------
        after
            Only those with larger numbers.
        """
        for each in self._objects(after):
            yield int(each.stem), each.read_bytes()

    def _objects(self, after: int) -> list[ObjectPlace]:
        found = (each for each in self.folder.iterdir() if each.stem.isdigit())
        return sorted(each for each in found if int(each.stem) > after)


def open_grown(path: Place) -> BinaryIO:
    """Open what grows for reading: a file, or the segments below a prefix one after the other.

    Parameters
    ----------
    path
        Its place.

    Raises
    ------
    FileNotFoundError
        No such file; a prefix without segments is empty.
    """
    if isinstance(path, ObjectPlace):
        return io.BufferedReader(_Joined(Segments(path)))
    return path.open("rb")


def has_grown(path: Place) -> bool:
    """Whether anything of what grows is there.

    Parameters
    ----------
    path
        Its place.
    """
    return path.is_dir() if isinstance(path, ObjectPlace) else path.exists()


class _Joined(io.RawIOBase):
    """Segments as one stream, one of them in memory at a time."""

    def __init__(self, segments: Segments) -> None:
        self._contents = segments.contents()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._left:
            following = next(self._contents, None)
            if following is None:
                return 0
            self._left = following[1]
        view = memoryview(buffer).cast("B")
        piece, self._left = self._left[: len(view)], self._left[len(view) :]
        view[: len(piece)] = piece
        return len(piece)
