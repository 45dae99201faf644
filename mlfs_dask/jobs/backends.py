"""Where tasks run: in this process, or on worker processes of an embedded Dask cluster."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Protocol, Self

from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.jobs.work import Outcome, Task, describe, run_task, run_whole_task

_QUEUED_PER_WORKER: Final = 2
_COUNT_SECONDS: Final = 2.0
_START_TIMEOUT: Final = "180s"  # starting processes on a machine that is busy with other things
_LOG = logging.getLogger(__name__)
# One thread per task: the workers themselves fill the cores.
_THREADS: Final = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Backend(Protocol):
    """Runs tasks; a context manager that starts and stops what it needs."""

    description: str

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""

    @property
    def has_room(self) -> bool:
        """Whether another task should be handed in now."""

    @property
    def n_in_flight(self) -> int:
        """Tasks handed in whose outcomes were not collected."""

    def submit(self, task: Task) -> None:
        """Hand in a task."""

    def collect(self) -> Iterator[Outcome]:
        """Outcomes of the next task that ends; waits for it."""


class InProcess:
    """One task at a time, in this process; kernels use its cores.

    Parameters
    ----------
    should_stop
        Asked between units; a unit that is running is finished.
    """

    description = "in this process"

    def __init__(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        self._should_stop = should_stop
        self._task: Task | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._task = None

    @property
    def has_room(self) -> bool:
        """Whether no task waits."""
        return self._task is None

    @property
    def n_in_flight(self) -> int:
        """0 or 1."""
        return int(self._task is not None)

    def submit(self, task: Task) -> None:
        """Take a task; it runs when its outcomes are collected."""
        self._task = task

    def collect(self) -> Iterator[Outcome]:
        """Outcomes, each as soon as its unit is done."""
        task, self._task = self._task, None
        if task is None:
            return
        for outcome in run_task(task):
            yield outcome
            if self._should_stop():
                return


class OnClient:
    """Tasks on the cluster of a Dask client, which stays as it is.

    Parameters
    ----------
    client : distributed.Client
        A connected client.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._completed: Any = None
        self._tasks: dict[str, Task] = {}
        self._n_workers = 0
        self._counted = -math.inf
        self.description = "on a Dask cluster"

    def __enter__(self) -> Self:
        from distributed import as_completed

        self._completed = as_completed([], loop=self._client.loop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tasks.clear()

    @property
    def has_room(self) -> bool:
        """Whether workers would run dry soon."""
        return len(self._tasks) < _QUEUED_PER_WORKER * self._count_workers()

    def _count_workers(self) -> int:
        """Workers there are, asked for now and then: asking costs a round trip."""
        now = time.monotonic()
        if now - self._counted > _COUNT_SECONDS:
            self._counted = now
            self._n_workers = len(self._client.scheduler_info(n_workers=-1)["workers"])
        return max(1, self._n_workers)

    @property
    def n_in_flight(self) -> int:
        """Tasks not collected yet."""
        return len(self._tasks)

    def submit(self, task: Task) -> None:
        """Send a task to the cluster."""
        key = f"units-{task.name}-{uuid.uuid4().hex[:8]}"
        future = self._client.submit(run_whole_task, task, key=key, pure=False)
        self._tasks[key] = task
        self._completed.add(future)

    def collect(self) -> Iterator[Outcome]:
        """Outcomes of the next task that ends, wherever it ran."""
        future = next(self._completed)
        task = self._tasks.pop(future.key)
        try:
            outcomes = future.result()
        except Exception as error:  # the task itself catches what its units raise
            _LOG.warning("task %s was lost: %s", task.name, error)
            outcomes = [_lost(unit, error) for unit in task.units]
        future.release()
        yield from outcomes


class LocalProcesses(OnClient):
    """Worker processes on this machine, one thread each, reachable from this machine only.

    Parameters
    ----------
    n_workers
        Number of processes.
    memory_per_worker
        For example ``"4 GiB"``; by default an equal share of the machine's.
    """

    def __init__(self, n_workers: int, memory_per_worker: str | None = None) -> None:
        super().__init__(None)
        self._wanted = n_workers
        self._memory = parse_bytes(memory_per_worker) if memory_per_worker else "auto"
        self._stack = ExitStack()
        plural = "" if n_workers == 1 else "es"
        self.description = f"on {n_workers} worker process{plural} of this machine"

    def __enter__(self) -> Self:
        import dask
        from distributed import Client, LocalCluster

        from mlfs_dask.jobs.worker_setup import WorkerSetup

        settings = {
            "distributed.nanny.environ": dict.fromkeys(_THREADS, "1"),
            "distributed.logging.distributed": "error",
            "distributed.comm.timeouts.connect": _START_TIMEOUT,
        }
        self._stack.enter_context(dask.config.set(settings))
        cluster = self._stack.enter_context(
            LocalCluster(
                n_workers=self._wanted,
                processes=True,
                threads_per_worker=1,
                memory_limit=self._memory,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.ERROR,
            )
        )
        self._client = self._stack.enter_context(Client(cluster, set_as_default=False))
        self._client.register_plugin(WorkerSetup())
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self._stack.__exit__(kind, error, trace)


def _lost(unit: Any, error: Exception) -> Outcome:
    failure = describe(error)
    return Outcome(unit=unit, payload=None, failure=failure, seconds=0.0, worker="lost")
