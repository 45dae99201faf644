"""One writer per run folder: a lock that the system lifts when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from mlfs_dask.errors import RunFolderError
from mlfs_dask.storage.atomic import machine_faults
from mlfs_dask.storage.places import Place

# Who asks for the holder holds the lock himself for a moment, which is no reason to give up.
_ATTEMPTS: Final = 5
_SECONDS_BETWEEN: Final = 0.02


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold a lock file while the block runs.

    Parameters
    ----------
    path
        The lock file; it stays behind, empty, when the block ends.

    Raises
    ------
    RunFolderError
        Another process holds it; the message says which.
    """
    handle = _take(path)
    try:
        with machine_faults("lock", path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(_me()).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _take(path: Path) -> int:
    """Handle of the lock file that lies at a path, locked."""
    while True:
        with machine_faults("lock", path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        try:
            _lock(handle, path)
            if _lies_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the run was removed in between, with this file


def _lock(handle: int, path: Path) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt == _ATTEMPTS:
                raise held_by(path.parent, holder(path) or {}) from None
            time.sleep(_SECONDS_BETWEEN)


def _lies_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def holder(path: Path) -> dict[str, Any] | None:
    """Who holds a lock: ``host``, ``pid``, ``since``; None if nobody does.

    Parameters
    ----------
    path
        The lock file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            found: dict[str, Any] = json.loads(os.pread(handle, 4096, 0))
        except ValueError:
            return {"host": None, "pid": None, "since": None}
        return found
    else:
        return None
    finally:
        os.close(handle)


def _me() -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": now}


def held_by(run: Place, other: dict[str, Any]) -> RunFolderError:
    """The error of a run that another process has.

    Parameters
    ----------
    run
        Its folder.
    other
        As `holder` tells it.
    """
    named = shlex.quote(str(run))
    return RunFolderError(
        f"the run {run.name} is being written by process {other.get('pid')} on "
        f"{other.get('host')}, since {other.get('since')}",
        hint=f"Wait for it (`mlfs status {named}`), or stop it: `mlfs cancel {named}`.",
        run=run.name,
        holder=other,
    )
