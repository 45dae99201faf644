"""Whether anything of many jobs on one cluster stays behind.

What is watched: the memory of every process while they run; at rest, after each round, what a
process has open (files, sockets, threads), what the scheduler and the workers know, and the files
that are left. Memory has to be level in the second half, counts have to be what they were after the
first rounds.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import psutil

LEVEL_MB_PER_JOB = 0.05
LEVEL_MB = 8.0
"""What an allocator takes and gives back by itself: where jobs are few it hides a slope."""
_WARM_ROUNDS = 2
_CLOSING_SECONDS = 0.5
_MOST_POINTS = 600


@dataclass
class Record:
    """What was seen of a long run."""

    memory: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    """Jobs done by then, and MB of each process."""
    rests: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    """Jobs done by then, and counts at rest."""

    def second_half(self) -> list[tuple[int, dict[str, float]]]:
        """Memory from half of the jobs on."""
        middle = self.memory[-1][0] / 2
        return [sample for sample in self.memory if sample[0] >= middle]

    def slopes(self) -> dict[str, float]:
        """MB per job of each process over the second half."""
        half = self.second_half()
        jobs = [done for done, _ in half]
        return {name: slope(jobs, [sizes[name] for _, sizes in half]) for name in half[0][1]}

    def bound(self) -> float:
        """MB per job that still count as level."""
        half = self.second_half()
        return max(LEVEL_MB_PER_JOB, LEVEL_MB / max(1, half[-1][0] - half[0][0]))

    def warm(self) -> dict[str, int]:
        """The highest counts of the first rounds."""
        first = [counts for _, counts in self.rests[:_WARM_ROUNDS]]
        return {name: max(counts[name] for counts in first) for name in first[0]}

    def growing(self) -> dict[str, str]:
        """What grows, and how; empty if all is level."""
        bound = self.bound()
        found = {
            name: f"{steep:+.3f} MB per job, more than {bound:.3f}"
            for name, steep in self.slopes().items()
            if steep > bound
        }
        later = [counts for _, counts in self.rests[len(self.rests) // 2 :]]
        for name, count in self.warm().items():
            least = min(counts[name] for counts in later)
            if least > count:
                found[name] = f"at most {count} in the first rounds, at least {least} later"
        return found


def slope(x, y) -> float:
    """Theil and Sen's: the median of the slopes between any two points."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) > _MOST_POINTS:
        some = np.linspace(0, len(x) - 1, _MOST_POINTS).round().astype(int)
        x, y = x[some], y[some]
    first, second = np.triu_indices(len(x), 1)
    apart = x[second] - x[first]
    steps = (y[second] - y[first])[apart > 0] / apart[apart > 0]
    return float(np.median(steps)) if len(steps) else 0.0


class Sampler:
    """Notes the memory of processes every few seconds while the block runs.

    Memory is what a process has for itself (USS): shared libraries do not count. A process that
    ends is an error: a worker that was replaced, because it had grown beyond its limit, say, would
    look as good as new.
    """

    def __init__(self, record: Record, processes: Mapping[str, int], seconds: float) -> None:
        self._record, self._seconds = record, seconds
        self._processes = {name: psutil.Process(pid) for name, pid in processes.items()}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler")
        self._fault: psutil.Error | None = None
        self.jobs = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def check(self) -> None:
        """Raise if a process has ended."""
        if self._fault is not None:
            raise self._fault

    def _run(self) -> None:
        while not self._end.wait(self._seconds):
            try:
                sizes = {
                    name: process.memory_full_info().uss / 2**20
                    for name, process in self._processes.items()
                }
            except psutil.Error as error:
                self._fault = error
                return
            self._record.memory.append((self.jobs, sizes))

    def open_things(self) -> dict[str, int]:
        """Descriptors, sockets and threads of each process."""
        found = {}
        for name, process in self._processes.items():
            found[f"{name}: descriptors"] = process.num_fds()
            found[f"{name}: sockets"] = len(process.net_connections())
            found[f"{name}: threads"] = process.num_threads()
        return found


def at_rest(client, seconds: float = 5.0) -> dict[str, int]:
    """Counts of scheduler and workers; what goes on its own way soon has gone.

    Connections that Dask keeps for the next message, as many as there ever were messages at a time,
    are closed: they are nobody's leak, and among them one could not be seen.
    """
    gc.collect()  # futures of this process let go of their keys
    deadline = time.monotonic() + seconds
    while client.run_on_scheduler(_census)["keys"] and time.monotonic() < deadline:
        time.sleep(0.1)
    found = {f"scheduler: {name}": n for name, n in client.run_on_scheduler(_census).items()}
    for number, counts in enumerate(client.run(_worker_census).values()):
        found |= {f"worker {number}: {name}": n for name, n in counts.items()}
    client.run(_close_idle_connections)
    client.run_on_scheduler(_close_idle_connections)
    time.sleep(_CLOSING_SECONDS)  # the other ends follow
    return found


def _close_idle_connections(dask_worker=None, dask_scheduler=None) -> None:
    (dask_worker or dask_scheduler).rpc.collect()


def _census(dask_scheduler) -> dict[str, int]:
    topics = dask_scheduler._broker._topics
    return {
        "keys": len(dask_scheduler.tasks),
        "unrunnable keys": len(dask_scheduler.unrunnable),
        "groups of keys": len(dask_scheduler.task_groups),
        "prefixes of keys": len(dask_scheduler.task_prefixes),
        "clients": len(dask_scheduler.clients),
        "topics of ours": sum(name.startswith("mlfs") for name in topics),
    }


def _worker_census(dask_worker) -> dict[str, int]:
    return {"keys": len(dask_worker.state.tasks), "data": len(dask_worker.data)}


_kept = []


def keep_for_ever(path: str) -> None:
    """Runs in a worker that is to be found out: 8 MB and an open file are never let go of."""
    _kept.append((bytearray(os.urandom(2**23)), os.open(path, os.O_RDONLY)))
