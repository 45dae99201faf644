"""The journal of a run: one checksummed line per event; the truth that a resume replays.

A line is a JSON object with a running number ``seq`` first and the checksum of everything before it
last. What was appended is with the operating system at once, so it outlives the process, and on
the disk within a second, together with the files that it speaks of. On object storage, where
nothing can be appended to, it is a row of objects: see `mlfs_dask.jobs.lines`.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from mlfs_dask.errors import MlfsError, RunFolderError
from mlfs_dask.jobs.lines import FileLines, Lines, ObjectLines
from mlfs_dask.storage.atomic import machine_faults, new_file, sync_file, sync_folder
from mlfs_dask.storage.claims import this_process
from mlfs_dask.storage.places import ObjectPlace, Place
from mlfs_dask.storage.segments import Segments, has_grown, open_grown

_BATCH_SECONDS: Final = 1.0
_CHECK: Final = b',"check":"'
_CHECK_DIGITS: Final = 16


def read_journal(path: Place) -> tuple[list[dict[str, Any]], int]:
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


def iter_journal(path: Place) -> Iterator[tuple[dict[str, Any], int]]:
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
    if not has_grown(path):
        return
    with open_grown(path) as file:
        yield from _events(file, path, 0)


def _events(file: BinaryIO, path: Place, number: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Events of lines that follow the first `number` lines of a journal."""
    line, end = file.readline(), 0
    while line:
        after = file.readline()
        number += 1
        event = _parse(line[:-1], expected=number) if line.endswith(b"\n") else None
        if event is None and not after:
            return
        if event is None:
            raise _changed(path, number)
        end += len(line)
        yield event, end
        line = after


def _changed(path: Place, number: int) -> RunFolderError:
    return RunFolderError(
        f"{path}:{number}: this line of the journal was changed or one before it is lost",
        hint="Restore the run folder from a copy, or start the job again with --force.",
        path=str(path),
        line=number,
    )


def _token() -> dict[str, str]:
    return {"token": secrets.token_hex(8)}  # several owners may be threads of one process


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
        path: Place,
        replay: Callable[[dict[str, Any]], None] | None = None,
        *,
        guard: Callable[[], None] = lambda: None,
        renew: bool = False,
        batch_seconds: float = _BATCH_SECONDS,
    ) -> None:
        self._path = path
        self._seq = 0
        self._batch_seconds = batch_seconds
        self._unsynced: list[Path] = []
        self._dirty_since: float | None = None
        self._lock = threading.Condition()
        self._closed = False
        self._fault: BaseException | None = None
        replay = replay or (lambda event: None)
        self._lines: Lines = (
            self._take_objects(path, replay, guard)
            if isinstance(path, ObjectPlace)
            else self._take_file(path, replay, guard, renew=renew)
        )
        self._syncer = threading.Thread(target=self._sync_in_time, daemon=True)
        self._syncer.start()

    def _take_file(
        self,
        path: Path,
        replay: Callable[[dict[str, Any]], None],
        guard: Callable[[], None],
        *,
        renew: bool,
    ) -> FileLines:
        if renew and path.exists():
            with machine_faults("write the journal", path), new_file(path) as partial:
                shutil.copyfile(path, partial)
        size = 0
        for event, end in iter_journal(path):
            self._seq += 1
            size = end
            replay(event)
        with machine_faults("write the journal", path):
            return FileLines(path, size, guard)

    def _take_objects(
        self,
        folder: ObjectPlace,
        replay: Callable[[dict[str, Any]], None],
        guard: Callable[[], None],
    ) -> ObjectLines:
        """Read all segments and make the next one ours: the owner before gets no further."""
        segments, last = Segments(folder, ".jsonl"), 0
        while True:
            for number, content in segments.contents(after=last):
                last, end = number, 0
                for event, end in _events(io.BytesIO(content), folder, self._seq):  # noqa: B007
                    self._seq += 1
                    replay(event)
                if end != len(content):
                    raise _changed(folder, self._seq + 1)
            try:
                segments.create(last + 1, self._line("owner", {**this_process(), **_token()}))
            except FileExistsError:
                continue
            self._seq += 1
            return ObjectLines(folder, last + 1, guard)

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
            self._lines.close()

    def append(self, event: str, *, files: Iterable[Place] = (), **facts: Any) -> None:
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
            if self._fault is not None:
                fault, self._fault = self._fault, None
                raise fault
            self._lines.add(self._line(event, facts))
            self._seq += 1
            self._unsynced += [file for file in files if isinstance(file, Path)]
            if self._dirty_since is None:
                self._dirty_since = time.monotonic()
                self._lock.notify()
        if facts.get("seconds", 0) >= self._batch_seconds:
            self.sync()

    def _line(self, event: str, facts: dict[str, Any]) -> bytes:
        """The next line."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = {"seq": self._seq + 1, "time": now, "event": event, **facts}
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        body = text[:-1].encode()
        return body + _CHECK + _checksum(body).encode() + b'"}\n'

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
            self._lines.sync()
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
            except (OSError, MlfsError) as error:  # told to the coordinator on its next append
                self._fault = error
                return
