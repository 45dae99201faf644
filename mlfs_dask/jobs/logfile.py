"""The log of a run, read while it may be written."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mlfs_dask.jobs.rundir import RunFolder

_POLL_SECONDS: Final = 0.2
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
    reader = _Reader(folder.log, start_of_last(folder.log, lines))
    while True:
        # Asked before reading: what is written until the lock is lifted is read after that.
        ended = not follow or folder.owner() is None
        yield from reader.new()
        if ended:
            return
        time.sleep(_POLL_SECONDS)


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
