"""Measuring what a cluster on this machine adds to work: starting, messages, upkeep."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time, thread_time
from typing import Any, Final

from mlfs_dask.graphs.executor import OnCluster, available_cores
from mlfs_dask.graphs.messages import IN_FLIGHT, fetched_together

_LEAST: Final = 1e-4
_TASKS: Final = 400
_MANY: Final = 4  # workers
_HASHES: Final = 1_500_000  # some tenths of a second, without the interpreter's lock
_FEW_HASHES: Final = 16_000  # some milliseconds
_SHORT: Final = 120  # tasks of that length
_RESULT_BYTES: Final = 2**19


def cluster_rates() -> dict[str, float]:
    """What a cluster adds to work: starting, messages, handing out tasks, sending results."""
    begin = perf_counter()
    with _workers(1) as client:
        executor = OnCluster(client)
        _all(executor, _nothing, [0] * 20)
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
        full = _handing_out(executor, client, size=_RESULT_BYTES)
        begin = perf_counter()
    ended = perf_counter() - begin
    with _workers(available_cores()) as client:
        crowd = _short_tasks(OnCluster(client))
    return {
        "cluster_seconds": started + ended,
        "round_seconds": one,
        "reply_seconds": max(_LEAST, 2 * few.seconds / each - besides),
        "shared_reply_seconds": max(_LEAST, 2 * with_shared.seconds / each - besides),
        "crowded": max(_LEAST, _crowded(alone, crowd, worker, task, message)),
        "task_seconds": task,
        "message_seconds": message,
        "worker_seconds": worker,
        "upkeep": max(_LEAST, upkeep),
        "background": max(_LEAST, background),
        "bytes_per_second": _RESULT_BYTES / max(_LEAST, full.here - few.here),
    }


@dataclass(frozen=True)
class _TaskCost:
    """Seconds of a task that does nothing, and processor seconds here and on the worker."""

    seconds: float
    here: float
    there: float


def _handing_out(executor: OnCluster, client: Any, *shared: Any, size: int = 0) -> _TaskCost:
    before, here = sum(client.run(process_time).values()), process_time()
    took = _seconds(lambda: _all(executor, _nothing, [size] * _TASKS, *shared))
    here = process_time() - here
    there = sum(client.run(process_time).values()) - before
    return _TaskCost(took / _TASKS, here / _TASKS, there / _TASKS)


@dataclass(frozen=True)
class _Turn:
    """Seconds from sending some short tasks until the next are sent, and those of a task."""

    seconds: float
    task: float


def _short_tasks(executor: OnCluster) -> _Turn:
    """Turns of tasks of some milliseconds, on workers that have nothing else to do."""
    shared = executor.share(0)
    _all(executor, _hash, range(20), shared)
    each = median(executor.map(_hash, range(20), shared))
    took = median(_seconds(lambda: _all(executor, _hash, range(_SHORT), shared)) for _ in range(5))
    return _Turn(took / _SHORT * IN_FLIGHT * executor.n_workers, each)


def _crowded(alone: _Turn, crowd: _Turn, worker: float, task: float, message: float) -> float:
    """How much longer handing out takes if all cores have workers, as a share.

    A worker alone finds a core free for whoever answers it. The more there are, the more tasks and
    messages are part of a turn. What is lost besides is lost while workers compute.
    """

    def handing(n: int) -> float:
        return fetched_together(n) * task + min(n, fetched_together(n)) * message

    def computing(n: int) -> float:
        return max(1.0, fetched_together(n) / n) * (alone.task + worker)

    n = available_cores()
    on_their_way = IN_FLIGHT * n / fetched_together(n)
    expected = alone.seconds + (handing(n) - handing(1)) + (computing(n) - computing(1))
    expected = max(expected, on_their_way * handing(n))  # nothing else limits that many workers
    at_work = min(1.0, computing(n) * on_their_way / crowd.seconds)
    return (crowd.seconds - expected) / (handing(n) * at_work)


def _hash(item: int, shared: int) -> float:
    """Processor time of some milliseconds."""
    begin = thread_time()
    hashlib.pbkdf2_hmac("sha256", b"", b"%d" % item, _FEW_HASHES)
    return thread_time() - begin


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


def _nothing(size: int, *shared: int) -> bytes:
    return bytes(size)


def _seconds(action: Callable[[], Any]) -> float:
    begin = perf_counter()
    action()
    return perf_counter() - begin
