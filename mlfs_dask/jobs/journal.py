"""The journal of a run: one checksummed line per event; the truth that a resume replays.

A line is a JSON object with a running number ``seq`` first and the checksum of everything before it
last. What was appended is with the operating system at once, so it outlives the process, and on
the disk within a second, together with the files that it speaks of.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mlfs_dask.errors import RunFolderError
from mlfs_dask.storage.atomic import PatientFile, machine_faults, new_file, sync_file, sync_folder

_BATCH_SECONDS: Final = 1.0
_CHECK: Final = b',"check":"'
_CHECK_DIGITS: Final = 16


def read_journal(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Events of a journal, and the number of bytes they take.

    Parameters
    ----------
    path
        The journal; a missing one has no events.

    Returns
    -------
    events : list of dict
        In order, without checksums. A torn last line is dropped.
    size : int
        Bytes up to the end of the last whole line.

    Raises
    ------
    RunFolderError
        A line other than the last was changed or lost.
    """
    events: list[dict[str, Any]] = []
    size = 0
    for event, end in iter_journal(path):
        events.append(event)
        size = end
    return events, size


def iter_journal(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Events of a journal one by one, in memory that does not grow with it.

    Parameters
    ----------
    path
        The journal; a missing one has no events.

    Yields
    ------
    event : dict
        Without its checksum.
    end : int
        Bytes up to the end of its line.

    Raises
    ------
    RunFolderError
        A line other than the last was changed or lost. A torn last line is dropped.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        line, end, number = file.readline(), 0, 0
        while line:
            after = file.readline()
            number += 1
            event = _parse(line[:-1], expected=number) if line.endswith(b"\n") else None
            if event is None and not after:
                return
            if event is None:
                raise RunFolderError(
                    f"{path}:{number}: this line of the journal was changed or one before it is "
                    "lost",
                    hint="Restore the run folder from a copy, or start the job again with --force.",
                    path=str(path),
                    line=number,
                )
            end += len(line)
            yield event, end
            line = after


def _parse(line: bytes, expected: int) -> dict[str, Any] | None:
    body, mark, check = line.rpartition(_CHECK)
    if not mark or check != f'{_checksum(body)}"}}'.encode():
        return None
    event: dict[str, Any] = json.loads(body + b"}")
    return event if event.pop("seq", None) == expected else None


def _checksum(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:_CHECK_DIGITS]


class Journal:
    """Appends events; to be used as a context manager by the one writer of a run.

    Parameters
    ----------
    path
        The journal; a torn last line is cut off.
    replay
        Told each event that stands there already, in order.
    guard
        Called before each line is written; raises if this process may write no more.
    renew
        Whether to put a copy in its place first: what another process, cut off but perhaps alive,
        still writes then goes nowhere.
    batch_seconds
        How long a line may stay unsynced.
    """

    def __init__(
        self,
        path: Path,
        replay: Callable[[dict[str, Any]], None] | None = None,
        *,
        guard: Callable[[], None] = lambda: None,
        renew: bool = False,
        batch_seconds: float = _BATCH_SECONDS,
    ) -> None:
        if renew and path.exists():
            with machine_faults("write the journal", path), new_file(path) as partial:
                shutil.copyfile(path, partial)
        size = self._seq = 0
        for event, end in iter_journal(path):
            self._seq += 1
            size = end
            if replay is not None:
                replay(event)
        self._path = path
        self._size = size
        self._guard = guard
        self._batch_seconds = batch_seconds
        self._unsynced: list[Path] = []
        self._dirty_since: float | None = None
        self._lock = threading.Condition()
        self._closed = False
        self._fault: BaseException | None = None
        self._torn: BaseException | None = None
        with machine_faults("write the journal", path):
            self._file = PatientFile(path, "ab")
            self._file.truncate(size)
            sync_folder(path.parent)
        self._syncer = threading.Thread(target=self._sync_in_time, daemon=True)
        self._syncer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify()
        self._syncer.join()
        try:
            self.sync()
        finally:
            self._file.close()

    def append(self, event: str, *, files: Iterable[Path] = (), **facts: Any) -> None:
        """Add a line; it is synced at once if its step took a second or more (``seconds``).

        Parameters
        ----------
        event
            What happened: ``start``, ``step``, ``unit``, ``failed``, ``incident``, ``stop`` or
            ``finish``.
        files
            Files the line speaks of, to be synced before it.
        **facts
            Plain values.

        Raises
        ------
        MachineError
            The disk is full or refuses.
        LeaseLostError
            The run is another process's by now.
        """
        with self._lock:
            if self._torn is not None:
                raise self._torn
            if self._fault is not None:
                fault, self._fault = self._fault, None
                raise fault
            self._guard()
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            record = {"seq": self._seq + 1, "time": now, "event": event, **facts}
            text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
            body = text[:-1].encode()
            self._write(body + _CHECK + _checksum(body).encode() + b'"}\n')
            self._seq += 1
            self._unsynced += files
            if self._dirty_since is None:
                self._dirty_since = time.monotonic()
                self._lock.notify()
        if facts.get("seconds", 0) >= self._batch_seconds:
            self.sync()

    def _write(self, line: bytes) -> None:
        """Write a line, wholly or not at all; if it stays torn, it also stays the last one."""
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
        """Flush what is unsynced to the disk: files first, then the lines that speak of them.

        Raises
        ------
        MachineError
            The disk is full or refuses.
        """
        with self._lock, machine_faults("write the journal", self._path):
            if self._dirty_since is None:
                return
            for file in self._unsynced:
                sync_file(file)
            for folder in {file.parent for file in self._unsynced}:
                sync_folder(folder)
            sync_file(self._path)
            self._unsynced.clear()
            self._dirty_since = None

    def _sync_in_time(self) -> None:
        while True:
            with self._lock:
                while self._dirty_since is None and not self._closed:
                    self._lock.wait()
                if self._closed:
                    return
                assert self._dirty_since is not None
                left = self._dirty_since + self._batch_seconds - time.monotonic()
                if left > 0:
                    self._lock.wait(left)
                    continue
            try:
                self.sync()
            except OSError as error:  # told to the coordinator on its next append
                self._fault = error
                return
