"""The log of a run, read while it may be written."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.storage.places import ObjectPlace, Place
from mlfs_dask.storage.segments import Segments

_POLL_SECONDS: Final = 0.2
_ASK_SECONDS: Final = 1.0  # on object storage each look is a request
_PIECE: Final = 1 << 16


def start_of_last(path: Path, lines: int | None) -> int:
    """Where the last lines of a file begin, in bytes.

    Parameters
    ----------
    path
        The file; may be missing.
    lines
        How many; None for all of them.
    """
    if lines is None or not path.is_file():
        return 0
    starts: deque[int] = deque(maxlen=lines)
    end = 0
    with path.open("rb") as file:
        for line in file:
            starts.append(end)
            end += len(line)
    return starts[0] if starts else end


def read_log(
    folder: RunFolder, *, lines: int | None = None, follow: bool = False
) -> Iterator[bytes]:
    """The text of a run's log, in pieces.

    Parameters
    ----------
    folder
        The run; it need not have a log yet.
    lines
        Only so many of the last lines to begin with.
    follow
        Go on until no process writes the run any more. A log that gets shorter or is replaced is
        read from its beginning.
    """
    reader = _reader(folder.log, lines)
    pause = _ASK_SECONDS if isinstance(folder.log, ObjectPlace) else _POLL_SECONDS
    while True:
        # Asked before reading: what is written until the lock is lifted is read after that.
        ended = not follow or folder.owner() is None
        yield from reader.new()
        if ended:
            return
        time.sleep(pause)


def _reader(log: Place, lines: int | None) -> _Reader | _Segments:
    if isinstance(log, ObjectPlace):
        return _Segments(log, lines)
    return _Reader(log, start_of_last(log, lines))


class _Segments:
    """Reads segments on from where it stopped."""

    def __init__(self, folder: ObjectPlace, lines: int | None) -> None:
        self._segments = Segments(folder)
        self._lines = lines
        self._last = 0

    def new(self) -> Iterator[bytes]:
        found = []
        for number, content in self._segments.contents(after=self._last):
            self._last = number
            found += content.splitlines(keepends=True)
        if self._lines is not None:  # of what was there to begin with
            found = found[len(found) - min(len(found), self._lines) :]
            self._lines = None
        yield from found


class _Reader:
    """Reads a file on from where it stopped."""

    def __init__(self, path: Path, place: int) -> None:
        self._path = path
        self._place = place
        self._identity: tuple[int, int] | None = None

    def new(self) -> Iterator[bytes]:
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            facts = os.fstat(file.fileno())
            identity = (facts.st_dev, facts.st_ino)
            if self._identity not in (None, identity) or facts.st_size < self._place:
                self._place = 0
            self._identity = identity
            file.seek(self._place)
            while piece := file.read(_PIECE):
                self._place += len(piece)
                yield piece
