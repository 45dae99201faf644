"""Who writes something on object storage, where no system lifts a lock when its holder dies.

A writer puts a small object that says who it is, and puts it again every few seconds. It is taken
for dead once it gave no sign for long; on its own machine at once when its process is gone.
"""

from __future__ import annotations

import os
import socket
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil

BEAT_SECONDS: Final = 5.0
STALE_SECONDS: Final = 30.0
"""A writer on another machine that gave no sign for so long is taken for dead."""


def this_process() -> dict[str, Any]:
    """Facts by which others know this process: host, pid, and what makes these unique."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
        "started": _started(os.getpid()),
    }


def is_gone(writer: dict[str, Any], modified: float) -> bool:
    """Whether a writer that did not take its leave is dead, as far as can be told.

    Parameters
    ----------
    writer
        As `this_process` described it.
    modified
        When it gave its last sign, in seconds since 1970.
    """
    if time.time() - modified >= STALE_SECONDS:
        return True
    machine, pid = writer.get("machine"), writer.get("pid")
    if machine is None or machine != _machine() or not isinstance(pid, int):
        return False
    return _started(pid) != writer.get("started")


@cache
def _machine() -> str:
    """The boot of the machine, and the name space in which process ids count."""
    parts = (socket.gethostname(), _text("/proc/sys/kernel/random/boot_id"), _link())
    return " ".join(filter(None, parts))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _link() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _started(pid: int) -> float | None:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None
