"""Workers of the cluster as the scheduler knows them: what they hold, what they may hold."""

from __future__ import annotations

import time
from collections import deque
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

_LOST_KEPT: Final = 50
WORKERS_SHOWN: Final = 40


class WorkerNow(Struct, frozen=True, kw_only=True):
    """One worker.

    Attributes
    ----------
    name, address
        As the cluster calls it, and where it is.
    status
        Dask's word: ``"running"``, ``"paused"``, ...
    memory_bytes, peak_bytes, limit_bytes
        Resident memory now, the most seen, and what it may have; None without a limit.
    tasks
        In hand and waiting there.
    seen_seconds
        Since its last sign of life.
    """

    name: str
    address: str
    status: str
    memory_bytes: int
    peak_bytes: int
    limit_bytes: int | None
    tasks: int
    seen_seconds: float


class LostWorker(Struct, frozen=True, kw_only=True):
    """A worker that went in the middle of its work: when, which, with how many tasks in hand."""

    time: str
    address: str
    tasks: int


class Cluster(Struct, frozen=True, kw_only=True):
    """The cluster at one moment.

    Attributes
    ----------
    workers
        Those with the most memory first, at most `WORKERS_SHOWN`.
    n_workers, n_paused
        All of them, and those that take no tasks since their memory is full.
    peak_bytes
        The most memory that any worker was seen with, also of those that are gone.
    lost
        Newest first.
    """

    workers: tuple[WorkerNow, ...] = ()
    n_workers: int = 0
    n_paused: int = 0
    peak_bytes: int = 0
    lost: tuple[LostWorker, ...] = ()


class Watch:
    """Keeps an eye on the workers of a scheduler; used on its event loop only.

    Parameters
    ----------
    scheduler : distributed.Scheduler
        The scheduler.
    """

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._peaks: dict[str, int] = {}
        self._peak = 0
        self._lost: deque[LostWorker] = deque(maxlen=_LOST_KEPT)

    def sample(self) -> None:
        """Note how much memory each worker has now; to be called every second or so."""
        peaks = {}
        for worker in self._scheduler.workers.values():
            now = _memory(worker)
            peaks[worker.address] = max(now, self._peaks.get(worker.address, 0))
            self._peak = max(self._peak, now)
        self._peaks = peaks

    def heard(self, message: Any) -> None:
        """Note a worker that went; to be told what the scheduler logs.

        Parameters
        ----------
        message
            Of its topic ``"all"``.
        """
        if not isinstance(message, dict) or message.get("action") != "remove-worker":
            return
        tasks = len(message.get("processing-tasks") or ())
        if tasks and not message.get("expected", False):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            lost = LostWorker(time=now, address=str(message.get("worker", "")), tasks=tasks)
            self._lost.appendleft(lost)

    def look(self) -> Cluster:
        """The cluster as it is now."""
        self.sample()
        found = [self._worker(worker) for worker in self._scheduler.workers.values()]
        found.sort(key=lambda worker: (-worker.memory_bytes, worker.address))
        return Cluster(
            workers=tuple(found[:WORKERS_SHOWN]),
            n_workers=len(found),
            n_paused=sum(worker.status == "paused" for worker in found),
            peak_bytes=self._peak,
            lost=tuple(self._lost),
        )

    def _worker(self, worker: Any) -> WorkerNow:
        return WorkerNow(
            name=str(worker.name),
            address=worker.address,
            status=worker.status.name,
            memory_bytes=_memory(worker),
            peak_bytes=self._peaks[worker.address],
            limit_bytes=worker.memory_limit or None,
            tasks=len(worker.processing),
            seen_seconds=round(max(0.0, time.time() - worker.last_seen), 1),
        )


def _memory(worker: Any) -> int:
    return int(worker.metrics.get("memory", 0))
