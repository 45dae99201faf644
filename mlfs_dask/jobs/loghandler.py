"""Where the log of a run goes: into a file, or into objects written once, every two seconds."""

from __future__ import annotations

import io
import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from mlfs_dask.errors import BucketError, MachineError
from mlfs_dask.storage.atomic import PatientFile, machine_faults
from mlfs_dask.storage.places import ObjectPlace, Place
from mlfs_dask.storage.segments import Segments

_FLUSH_SECONDS: Final = 2.0


def log_handler(log: Place) -> logging.Handler:
    """Handler that adds to the log of a run.

    Parameters
    ----------
    log
        Its file, or the prefix of its segments.
    """
    if isinstance(log, ObjectPlace):
        return LogObjects(log)
    return LogFile(log, encoding="utf-8")


class LogFile(logging.FileHandler):
    """A log whose disk is full ends the run like any other of its files, not in a traceback."""

    def _open(self) -> io.TextIOWrapper:
        file = io.BufferedWriter(PatientFile(self.baseFilename, "ab"))
        return io.TextIOWrapper(file, encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:
        """Raise what was caught: logging calls this from its except clause."""
        with machine_faults("write the log", Path(self.baseFilename)):
            raise


class LogObjects(logging.Handler):
    """A log of segments on object storage.

    While the server does not answer lines are kept; only the last attempt, on closing, may fail.

    Parameters
    ----------
    folder
        Prefix of the segments.
    """

    def __init__(self, folder: ObjectPlace) -> None:
        super().__init__()
        self._segments = Segments(folder, ".txt")
        self._last = max(self._segments.numbers(), default=0)
        self._waiting: list[str] = []
        self._putting = threading.Lock()
        self._ended = threading.Event()
        self._flusher = threading.Thread(target=self._flush_in_time, daemon=True)
        self._flusher.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self._waiting.append(self.format(record))

    def flush(self) -> None:
        """Put what was kept as the next segment."""
        with self._putting:
            lines = list(self._waiting)
            if not lines:
                return
            content = "".join(f"{line}\n" for line in lines).encode(errors="replace")
            while True:
                try:
                    self._segments.create(self._last + 1, content)
                except FileExistsError:  # another owner logs too, for a moment
                    self._last += 1
                    continue
                break
            self._last += 1
            del self._waiting[: len(lines)]

    def close(self) -> None:
        """Put the rest."""
        self._ended.set()
        self._flusher.join()
        try:
            self.flush()
        finally:
            super().close()

    def _flush_in_time(self) -> None:
        while not self._ended.wait(_FLUSH_SECONDS):
            with suppress(BucketError, MachineError):
                self.flush()
