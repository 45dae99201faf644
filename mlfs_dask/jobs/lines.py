"""Where the lines of a journal go: into a file that is synced, or into objects written once.

Into objects they go in batches: a line is kept in memory until `Lines.sync` puts all that were
added since the last one. A process that is killed loses these, at most a second's, and with them
nothing that cannot be done again: decisions and units of which no line tells are not done.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from mlfs_dask.errors import LeaseLostError
from mlfs_dask.storage.atomic import PatientFile, machine_faults, sync_file, sync_folder
from mlfs_dask.storage.places import ObjectPlace
from mlfs_dask.storage.segments import Segments

_MOST_BYTES: Final = 1 << 20


class Lines(Protocol):
    """Takes lines."""

    def add(self, line: bytes) -> None:
        """Take a line."""

    def sync(self) -> None:
        """See that all lines outlive this machine."""

    def close(self) -> None:
        """Take no more."""


class FileLines:
    """Lines of a file; what was added is with the operating system.

    Parameters
    ----------
    path
        The file; made if need be.
    size
        What is to be kept of it, in bytes.
    guard
        Called before each line is written; raises if this process may write no more.
    """

    def __init__(self, path: Path, size: int, guard: Callable[[], None]) -> None:
        self._path = path
        self._size = size
        self._guard = guard
        self._torn: BaseException | None = None
        self._file = PatientFile(path, "ab")
        self._file.truncate(size)
        sync_folder(path.parent)

    def add(self, line: bytes) -> None:
        """Write a line, wholly or not at all; if it stays torn, it also stays the last one."""
        if self._torn is not None:
            raise self._torn
        self._guard()
        left = line
        try:
            with machine_faults("write the journal", self._path):
                while left:
                    left = left[self._file.write(left) :]
        except OSError as error:
            try:
                self._file.truncate(self._size)
            except OSError:
                self._torn = error
            raise
        self._size += len(line)

    def sync(self) -> None:
        """Flush the file to the disk."""
        sync_file(self._path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ObjectLines:
    """Lines of segments on object storage; what was added is in memory until it is synced.

    Two writers cannot get one number, so one that lost the run cannot add a line after the first
    one of its successor, however late it notices.

    Parameters
    ----------
    folder
        Prefix of the segments.
    last
        Number of the last one that is there.
    guard
        Called before each segment is put; raises if this process may write no more.
    """

    def __init__(self, folder: ObjectPlace, last: int, guard: Callable[[], None]) -> None:
        self._segments = Segments(folder, ".jsonl")
        self._last = last
        self._guard = guard
        self._waiting: list[bytes] = []
        self._bytes = 0

    def add(self, line: bytes) -> None:
        """Keep a line; a large heap of them is put at once."""
        self._waiting.append(line)
        self._bytes += len(line)
        if self._bytes > _MOST_BYTES:
            self.sync()

    def sync(self) -> None:
        """Put what was kept as the next segment."""
        if not self._waiting:
            return
        self._guard()
        try:
            self._segments.create(self._last + 1, b"".join(self._waiting))
        except FileExistsError:
            run = self._segments.folder.parent
            raise LeaseLostError(
                f"another process has taken over the run at {run}",
                hint=f"`mlfs status {shlex.quote(str(run))}` follows it.",
            ) from None
        self._last += 1
        self._waiting.clear()
        self._bytes = 0

    def close(self) -> None:
        """Nothing: all segments are closed."""
