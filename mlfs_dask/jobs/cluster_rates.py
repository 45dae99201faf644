"""Measuring what a cluster on this machine adds to work: starting, messages, upkeep."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time, thread_time
from typing import Any, Final

import numpy as np

from mlfs_dask.graphs.executor import IN_FLIGHT, OnCluster, available_cores, fetched_together

_LEAST: Final = 1e-4
_TASKS: Final = 400
_MANY: Final = 4  # workers
_HASHES: Final = 1_500_000  # some tenths of a second, without the interpreter's lock
_FEW_HASHES: Final = 12_000  # some milliseconds


def cluster_rates() -> dict[str, float]:
    """What a cluster adds to work: starting, messages, handing out tasks, sending results."""
    begin = perf_counter()
    with _workers(1) as client:
        executor = OnCluster(client)
        _all(executor, _nothing, range(20))
        started = perf_counter() - begin
        one = median(_seconds(lambda: _all(executor, _nothing, [0])) for _ in range(15))
        few = _handing_out(executor, client)
        with_shared = _handing_out(executor, client, executor.share(0))
        executor.n_workers = _MANY  # as many results in a message as there ever are
        many = _handing_out(executor, client)
        executor.n_workers = 1
        each, at_most = 1 / fetched_together(1), 1 / fetched_together(_MANY)
        message = max(_LEAST, (few.here - many.here) / (each - at_most))
        task = max(_LEAST, few.here - message * each)
        worker = max(_LEAST, min(few.there, many.there))
        # Two batches are on their way; of the time of both, this is not the reply.
        besides = (worker + task) / each + message
        upkeep, background = _beside_tasks(executor)
        alone = _short_tasks(executor)
        size = 16 * 2**20
        sent = median(_seconds(lambda: _all(executor, np.zeros, [size // 8])) for _ in range(15))
        begin = perf_counter()
    ended = perf_counter() - begin
    with _workers(available_cores()) as client:
        crowded = _short_tasks(OnCluster(client))
    more = fetched_together(available_cores()) - fetched_together(1)
    crowded -= alone + more * task + (available_cores() - 1) * message
    return {
        "cluster_seconds": started + ended,
        "round_seconds": one,
        "reply_seconds": max(_LEAST, 2 * few.seconds / each - besides),
        "shared_reply_seconds": max(_LEAST, 2 * with_shared.seconds / each - besides),
        "crowded_seconds": max(_LEAST, crowded),
        "task_seconds": task,
        "message_seconds": message,
        "worker_seconds": worker,
        "upkeep": max(_LEAST, upkeep),
        "background": max(_LEAST, background),
        "bytes_per_second": size / max(_LEAST, sent - one),
    }


@dataclass(frozen=True)
class _TaskCost:
    """Seconds of a task that does nothing, and processor seconds here and on the worker."""

    seconds: float
    here: float
    there: float


def _handing_out(executor: OnCluster, client: Any, *shared: Any) -> _TaskCost:
    before, here = sum(client.run(process_time).values()), process_time()
    took = _seconds(lambda: _all(executor, _nothing, range(_TASKS), *shared))
    here = process_time() - here
    there = sum(client.run(process_time).values()) - before
    return _TaskCost(took / _TASKS, here / _TASKS, there / _TASKS)


def _short_tasks(executor: OnCluster) -> float:
    """Seconds from sending some short tasks until the next are sent, one after the other done.

    Where all cores have workers, whoever answers waits for one of them.
    """
    shared = executor.share(0)
    _all(executor, _hash, range(20), shared)
    batches = _TASKS / fetched_together(executor.n_workers)
    took = _seconds(lambda: _all(executor, _hash, range(_TASKS), shared))
    return took / batches * IN_FLIGHT * executor.n_workers / fetched_together(executor.n_workers)


def _hash(item: int, shared: int) -> int:
    hashlib.pbkdf2_hmac("sha256", b"", b"%d" % item, _FEW_HASHES)
    return shared


def _beside_tasks(executor: OnCluster) -> tuple[float, float]:
    """What a worker and what this process does while a worker computes, in seconds of a second."""
    begin, here = perf_counter(), process_time()
    shares = list(executor.map(_beside, range(4)))
    return median(shares), (process_time() - here) / (perf_counter() - begin)


def _beside(item: int) -> float:
    """Processor time of this process's other threads during a task, as a share of the task's."""
    process, thread = process_time(), thread_time()
    hashlib.pbkdf2_hmac("sha256", b"", b"%d" % item, _HASHES)
    own = thread_time() - thread
    return (process_time() - process - own) / own


@contextmanager
def _workers(count: int) -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    from mlfs_dask.jobs.clusters.settings import ONE_THREAD

    settings = {"distributed.nanny.environ": dict(ONE_THREAD)}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=40,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _all(executor: OnCluster, function: Callable[..., Any], items: Any, *shared: Any) -> None:
    for _ in executor.map(function, list(items), *shared):
        pass


def _nothing(item: int, *shared: int) -> int:
    return item


def _seconds(action: Callable[[], Any]) -> float:
    begin = perf_counter()
    action()
    return perf_counter() - begin
