"""Tasks on the workers of a Dask cluster.

Any of its workers may die at any time. Dask starts what they had in hand anew; here such tasks get
the decisions made since, and a task that Dask gives up is tried once more with nothing beside it,
since a worker that dies takes along tasks that did it no harm.
"""

from __future__ import annotations

import logging
import math
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from msgspec import Struct

from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.graphs.executor import OnCluster
from mlfs_dask.graphs.messages import in_one_span
from mlfs_dask.jobs.backends import Listener
from mlfs_dask.jobs.fetched import cluster_lost, fetch_outcomes
from mlfs_dask.jobs.handed import fetch_outcome, forget, run_stowed_task, sees_run, stow
from mlfs_dask.jobs.sizes import show_bytes
from mlfs_dask.jobs.spread import is_worth_it, lost_with_the_cluster, run_spread
from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.topics import empty_topic, forget_session, topic_of
from mlfs_dask.jobs.work import Outcome, Task, describe, stop_session
from mlfs_dask.storage.places import Place
from mlfs_dask.wording import counted

_QUEUED_PER_THREAD: Final = 2
_COUNT_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.2
_YOUNG_SECONDS: Final = 60.0
_STILL_SECONDS: Final = 20.0
_MOST_ALONE: Final = 2
_KEPT_MESSAGES: Final = 100
_LOG = logging.getLogger(__name__)


class Share(Struct, frozen=True, kw_only=True):
    """A run's part of a cluster that others use too.

    Attributes
    ----------
    priority
        Tasks of a run with a higher one go first.
    most
        Tasks at the same time, at most; None for no limit.
    """

    priority: int = 0
    most: int | None = None


class WorkerDiedError(Exception):
    """A task takes the workers along that have it in hand."""


class OnClient:
    """Tasks on the cluster of a Dask client, which stays as it is.

    A task runs whole on one worker, unless it is long and there are too few others to keep the
    workers busy: then it runs here, and its kernels are tasks of the workers.

    Parameters
    ----------
    client : distributed.Client
        A connected client. The tasks go through a connection of their own: a client has one handler
        for a topic, and several runs, or its owner, may want to hear of the same.
    listener
        The coordinator.
    session
        As in the tasks.
    run
        The run folder, for what is too large to travel with a task.
    share
        How much of the cluster the run may have.

    Notes
    -----
    Among runs of the same priority, one goes first until its tasks took a minute together: a short
    job need not wait for a long one. After that they take turns, since each keeps only few tasks in
    the queue and Dask takes them in the order they came.
    """

    def __init__(
        self, client: Any, listener: Listener, session: str, run: Place, share: Share | None = None
    ) -> None:
        self._run = run
        self._given = client
        self._client: Any = None
        self._stack = ExitStack()
        self._listener = listener
        self._session = session
        self._share = share or Share()
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._tasks: dict[str, tuple[Task, Any]] = {}
        self._spread: set[str] = set()
        self._suspects: deque[Task] = deque()
        self._alone = False
        self._alone_lost = 0
        self._took = 0.0
        self._n_workers = self._n_threads = 0
        self._counted = self._told_to_stop = -math.inf
        self._memory: dict[str, int] = {}
        self._messages = 0
        self.description = "on a Dask cluster"
        self.page = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._client = stack.enter_context(self._connect(stack))
            for topic, handler in self._topics.items():
                self._client.subscribe_topic(topic, handler)
            self._stack = stack.pop_all()
        return self

    def _connect(self, stack: ExitStack) -> Any:
        from distributed import Client

        return Client(
            self._given.scheduler.address,
            security=self._given.security,
            set_as_default=False,
            name="mlfs-units",
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client.status == "running":
            if self._tasks:  # left behind by an error: a worker must not go on for nobody
                self._stop_workers()
            own = topic_of(self._session)
            for topic in self._topics.keys() - {own}:
                self._client.unsubscribe_topic(topic)
            if kind is None:
                self._on_scheduler(forget_session, own)
        self._tasks.clear()
        forget(self._run)
        self._stack.__exit__(kind, error, trace)

    @property
    def _topics(self) -> dict[str, Callable[[tuple[float, Any]], None]]:
        """What the scheduler tells of, and who takes it."""
        return {
            topic_of(self._session): self._on_steps,
            "all": self._on_event,
            "worker-restart-memory": self._on_memory,
        }

    def _on_scheduler(self, function: Callable[..., None], topic: str) -> None:
        """Have the scheduler forget what it passed on, which it would keep while it lives."""
        with suppress(OSError):  # it lives no more, and what it kept neither
            self._client.run_on_scheduler(function, topic=topic)

    def _on_steps(self, event: tuple[float, Any]) -> None:
        self._inbox.put(("steps", event[1]))

    def _on_event(self, event: tuple[float, Any]) -> None:
        message = event[1]
        if not isinstance(message, dict) or message.get("action") != "remove-worker":
            return
        if not message.get("expected", False):
            self._inbox.put(("lost", message))

    def _on_memory(self, event: tuple[float, Any]) -> None:
        self._inbox.put(("memory", event[1]))

    @property
    def has_room(self) -> bool:
        """Whether workers would run dry soon, and the run may have more of them."""
        self._count()
        most = _QUEUED_PER_THREAD * max(1, self._n_threads)
        if self._share.most is not None:
            most = min(most, self._share.most)
        return not self._alone and len(self._tasks) < most

    def _count(self) -> None:
        """Count workers and their threads, now and then: asking costs a round trip."""
        now = time.monotonic()
        if now - self._counted > _COUNT_SECONDS:
            self._counted = now
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            self._n_workers = len(workers)
            self._n_threads = sum(worker["nthreads"] for worker in workers)

    @property
    def n_in_flight(self) -> int:
        """Tasks not collected yet."""
        return len(self._tasks) + len(self._suspects)

    def submit(self, task: Task, seconds: float, n_tasks: int) -> None:
        """Send a task to the cluster, whole or spread over the workers."""
        self._count()
        wide = self._share.most is None and is_worth_it(seconds, n_tasks, self._n_threads)
        self._send(task, spread=wide)

    def _send(self, task: Task, *, spread: bool = False) -> None:
        key = f"units-{task.name}-{uuid.uuid4().hex[:8]}"
        priority = 2 * self._share.priority + (self._took < _YOUNG_SECONDS)
        future: Any
        if spread:
            executor = OnCluster(self._client, priority)
            future = run_spread(task, executor, self._tell, self._is_told_to_stop)
            self._spread.add(key)
        else:
            task = stow(task, self._run, self._is_seen)
            with in_one_span():
                future = self._client.submit(
                    run_stowed_task, task, key=key, pure=False, priority=priority
                )
        self._tasks[key] = (task, future)
        future.add_done_callback(lambda future: self._inbox.put(("ended", (key, future))))

    def _is_seen(self) -> bool:
        seen = self._client.run(sees_run, str(self._run.absolute()), on_error="return")
        return all(answer is True for answer in seen.values())

    def _tell(self, steps: Steps) -> None:
        self._inbox.put(("steps", [msgspec.to_builtins(steps)]))

    def _is_told_to_stop(self) -> bool:
        return self._told_to_stop > -math.inf

    def collect(self) -> Iterator[Outcome]:
        """Outcomes of the next task that ends, wherever it ran."""
        if not self._tasks and self._suspects:
            self._alone = True
            self._alone_lost = 0
            self._send(self._listener.renewed(self._suspects.popleft()))
        looked = _seconds()
        while self._tasks:
            before, looked = looked, _seconds()
            if looked - before > _STILL_SECONDS:
                self._listener.incident(
                    f"the coordinator stood still for {looked - before:.0f} s: its process was "
                    "stopped, its machine slept, or its disk did not answer"
                )
            if self._listener.should_stop():
                self._stop()
            try:
                kind, content = self._inbox.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            if kind == "steps":
                self._take_steps(content)
            elif kind == "memory":
                self._memory[content["worker"]] = content["rss"]
            elif kind == "lost":
                self._worker_lost(content)
            elif kind == "given up":
                yield from self._give_up(content)
                return
            elif content[0] in self._tasks:
                yield from self._outcomes(*content)
                return

    def _take_steps(self, message: list[dict[str, Any]]) -> None:
        for steps in message:
            self._listener.steps(msgspec.convert(steps, Steps))
        self._messages += 1
        if self._messages % _KEPT_MESSAGES == 0:
            self._on_scheduler(empty_topic, topic_of(self._session))

    def _outcomes(self, key: str, future: Any) -> list[Outcome]:
        from distributed import KilledWorker

        task, _ = self._tasks.pop(key)
        if key in self._spread:
            self._spread.remove(key)
            return self._outcomes_of_spread(task, future.result())
        alone, self._alone = self._alone, False
        try:
            outcomes = fetch_outcomes(future)
        except RunInterruptedError:  # the cluster is lost
            raise
        except Exception as error:  # the task itself catches what its units raise
            if isinstance(error, KilledWorker) and not alone:
                return self._suspect(task)
            _LOG.warning("task %s was lost: %s", task.name, error)
            outcomes = [_lost(unit, error) for unit in task.units]
        future.release()
        outcomes = [fetch_outcome(outcome) for outcome in outcomes]
        self._took += sum(outcome.seconds for outcome in outcomes)
        return outcomes

    def _outcomes_of_spread(self, task: Task, outcomes: list[Outcome]) -> list[Outcome]:
        if lost_with_the_cluster(outcomes):
            if self._client.status != "running":
                raise cluster_lost()
            self._listener.incident(
                f"what workers held of {task.units[0]} was lost with them: it starts anew on one"
            )
            self._send(self._listener.renewed(task))
            return []
        self._took += sum(outcome.seconds for outcome in outcomes)
        return outcomes

    def _suspect(self, task: Task) -> list[Outcome]:
        """Lay a task aside, to be tried unit by unit when nothing else is in hand."""
        self._suspects += [msgspec.structs.replace(task, units=(unit,)) for unit in task.units]
        more = len(task.units) - 1
        others = f" and {more} more unit{'s' * (more > 1)}" if more else ""
        self._listener.incident(
            f"each worker that had {task.units[0]}{others} in hand was lost: tried again at the "
            "end, one unit at a time and with nothing beside it"
        )
        return []

    def _give_up(self, key: str) -> list[Outcome]:
        """Let a task fail that took its workers along while it had them for itself."""
        if key not in self._tasks:  # it ended after all
            return []
        task, future = self._tasks.pop(key)
        future.cancel()
        self._alone, self._alone_lost = False, 0
        error = WorkerDiedError(f"{_MOST_ALONE} workers died while they did this and nothing else")
        return [_lost(unit, error) for unit in task.units]

    def _worker_lost(self, message: dict[str, Any]) -> None:
        """Note it; the scheduler starts its tasks anew, here they get the decisions made since."""
        lost = [key for key in message["processing-tasks"] if key in self._tasks]
        self._counted = -math.inf
        self._count()
        memory = self._memory.pop(message["worker"], None)
        why = f": it used {show_bytes(memory)} of memory, above its limit," if memory else ""
        left = "" if self._n_workers else "; no worker is left, the run waits for one"
        self._listener.incident(
            f"worker {message['worker']} was lost{why} with {counted(len(lost), 'task')} in hand"
            f"{', to start anew' if lost else ''}{left}"
        )
        if self._alone and lost:
            self._alone_lost += 1
        for key in lost:
            if self._alone_lost >= _MOST_ALONE:
                self._inbox.put(("given up", key))
                continue
            task, future = self._tasks[key]
            renewed = self._listener.renewed(task)
            if task.handed or renewed.decided != task.decided:
                del self._tasks[key]
                future.cancel()
                self._send(renewed)

    def _stop(self) -> None:
        """Have tasks end after the step in hand; those that no worker has end at once."""
        self._count()
        self._suspects.clear()
        if self._n_workers == 0:
            self._tasks.clear()
        elif time.monotonic() - self._told_to_stop > _COUNT_SECONDS:
            self._stop_workers()

    def _stop_workers(self) -> None:
        """Tell the workers there are; others may come and get tasks, so once is not enough."""
        self._told_to_stop = time.monotonic()
        with suppress(OSError):  # who is out of reach need not be told
            self._client.run(stop_session, self._session, wait=False, on_error="ignore")


def _seconds() -> float:
    """A clock that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _lost(unit: Any, error: Exception) -> Outcome:
    failure = describe(error)
    if isinstance(error, WorkerDiedError):
        failure = msgspec.structs.replace(
            failure,
            hint="Incidents and the workers' logs say what they died of. Was it memory? Then give "
            "workers more, or fewer of them, and `mlfs resume --retry-failed`.",
        )
    return Outcome(unit=unit, payload=None, failure=failure, seconds=0.0, worker="lost")
