"""Where tasks run: in this process, or on worker processes of an embedded Dask cluster."""

from __future__ import annotations

import logging
import math
import queue
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec

from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.work import (
    Outcome,
    Task,
    describe,
    run_task,
    run_whole_task,
    stop_session,
    topic_of,
)

_QUEUED_PER_WORKER: Final = 2
_COUNT_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.2
_START_TIMEOUT: Final = "180s"  # starting processes on a machine that is busy with other things
_LOG = logging.getLogger(__name__)
# One thread per task: the workers themselves fill the cores.
_THREADS: Final = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Listener(Protocol):
    """What a backend needs of the coordinator; called in the coordinator's thread only."""

    def steps(self, steps: Steps) -> None:
        """A selector decided something."""

    def incident(self, message: str) -> None:
        """Something happened that the user should know of."""

    def should_stop(self) -> bool:
        """Whether tasks shall end after the step in hand."""

    def renewed(self, task: Task) -> Task:
        """The same task with the decisions known by now."""


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
        """Outcomes of the next task that ends; waits for it and passes its steps on meanwhile."""


class InProcess:
    """One task at a time, in this process; kernels use its cores.

    Parameters
    ----------
    listener
        The coordinator.
    """

    description = "in this process"

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
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
        if task is not None:
            yield from run_task(task, self._listener.steps, self._listener.should_stop)


class OnClient:
    """Tasks on the cluster of a Dask client, which stays as it is.

    Parameters
    ----------
    client : distributed.Client
        A connected client.
    listener
        The coordinator.
    session
        As in the tasks.
    """

    def __init__(self, client: Any, listener: Listener, session: str) -> None:
        self._client = client
        self._listener = listener
        self._session = session
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._tasks: dict[str, tuple[Task, Any]] = {}
        self._n_workers = 0
        self._counted = -math.inf
        self._told_to_stop = False
        self.description = "on a Dask cluster"

    def __enter__(self) -> Self:
        self._client.subscribe_topic(topic_of(self._session), self._on_steps)
        self._client.subscribe_topic("all", self._on_event)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client.status == "running":
            for topic in (topic_of(self._session), "all"):
                self._client.unsubscribe_topic(topic)
            if self._tasks:  # left behind by an error: a worker must not go on for nobody
                self._stop_workers()
        self._tasks.clear()

    def _on_steps(self, event: tuple[float, Any]) -> None:
        self._inbox.put(("steps", event[1]))

    def _on_event(self, event: tuple[float, Any]) -> None:
        message = event[1]
        if message.get("action") == "remove-worker" and not message.get("expected", False):
            self._inbox.put(("lost", message))

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
        self._tasks[key] = (task, future)
        future.add_done_callback(lambda future: self._inbox.put(("ended", future)))

    def collect(self) -> Iterator[Outcome]:
        """Outcomes of the next task that ends, wherever it ran."""
        while True:
            if self._listener.should_stop():
                self._stop_workers()
            try:
                kind, content = self._inbox.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            if kind == "steps":
                for steps in content:
                    self._listener.steps(msgspec.convert(steps, Steps))
            elif kind == "lost":
                self._worker_lost(content)
            elif content.key in self._tasks:
                yield from self._outcomes(content)
                return

    def _outcomes(self, future: Any) -> list[Outcome]:
        task, _ = self._tasks.pop(future.key)
        try:
            outcomes: list[Outcome] = future.result()
        except CancelledError as error:  # nobody here cancels what is still among the tasks
            raise RunInterruptedError(
                "the cluster was lost: its scheduler is gone or out of reach",
                hint="What is finished is kept; go on with it on another cluster.",
            ) from error
        except Exception as error:  # the task itself catches what its units raise
            _LOG.warning("task %s was lost: %s", task.name, error)
            outcomes = [_lost(unit, error) for unit in task.units]
        future.release()
        return outcomes

    def _worker_lost(self, message: dict[str, Any]) -> None:
        """Note it; the scheduler starts its tasks anew, here they get the decisions made since."""
        lost = [key for key in message["processing-tasks"] if key in self._tasks]
        self._listener.incident(
            f"worker {message['worker']} was lost with {len(lost)} tasks in hand, which start anew"
        )
        for key in lost:
            task, future = self._tasks[key]
            renewed = self._listener.renewed(task)
            if renewed != task:
                del self._tasks[key]
                future.cancel()
                self.submit(renewed)

    def _stop_workers(self) -> None:
        if not self._told_to_stop:
            self._told_to_stop = True
            self._client.run(stop_session, self._session, wait=False, on_error="ignore")


class LocalProcesses(OnClient):
    """Worker processes on this machine, one thread each, reachable from this machine only.

    Parameters
    ----------
    n_workers
        Number of processes.
    memory_per_worker
        For example ``"4 GiB"``; by default an equal share of the machine's.
    listener, session
        As in `OnClient`.
    """

    def __init__(
        self,
        n_workers: int,
        memory_per_worker: str | None,
        listener: Listener,
        session: str,
    ) -> None:
        super().__init__(None, listener, session)
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
