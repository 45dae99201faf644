"""Where kernels run: threads of this process, or the workers of a Dask cluster.

Both executors return results in the order of the items and keep a bounded number in flight, so a
caller may add partial sums in tile order whatever finishes first, and memory stays bounded.
"""

from __future__ import annotations

import itertools
import os
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Protocol

from mlfs_dask.errors import InputError
from mlfs_dask.graphs.budget import limit_memory, memory_limit
from mlfs_dask.graphs.losses import Held, is_future
from mlfs_dask.graphs.messages import (
    IN_FLIGHT,
    Wishes,
    Wrapped,
    fetched_together,
    in_one_span,
    sent_bytes,
    unwrap,
)
from mlfs_dask.graphs.places import Places, drop_vain_wishes

_HELD_BACK: Final = 0.002  # seconds until the next message, as schedulers and workers of Dask do it
_KEPT_BY_SCHEDULER: Final = 4 * 2**20  # bytes of a shared value; Dask warns from 10 MB on


class Executor(Protocol):
    """Maps a kernel over items and yields the results in the order of the items."""

    n_workers: int

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """Yield ``function(item, *common)`` for every item, in order."""

    def share(self, value: Any) -> Any:
        """Put a read-only value near the workers once; pass the result in ``common``."""

    def keep(self, function: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """Compute as `map` does and leave results where they are, as dependencies of items."""


def available_cores() -> int:
    """Number of cores this process may use, which container limits may make fewer than exist."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class InProcess:
    """Runs kernels on threads of this process; kernels release the GIL.

    Parameters
    ----------
    n_threads
        Number of threads; default: the cores this process may use.

    Examples
    --------
    >>> list(InProcess(2).map(pow, [1, 2, 3], 2))
    [1, 4, 9]
    """

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None and n_threads < 1:
            raise InputError(f"n_threads = {n_threads}: expected at least 1")
        self.n_workers = n_threads or available_cores()

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """Yield ``function(item, *common)`` for every item, in order."""
        if self.n_workers == 1 or len(items) <= 1:
            for item in items:
                yield function(_resolve(item), *common)
            return
        n_threads = min(self.n_workers, len(items))
        with ThreadPoolExecutor(
            n_threads, initializer=limit_memory, initargs=(memory_limit(),)
        ) as pool:
            yield from _ordered(
                (pool.submit(_call, function, item, *common) for item in items),
                window=2 * self.n_workers,
            )

    def share(self, value: Any) -> Any:
        """Return the value itself: threads see the same memory."""
        return value

    def keep(self, function: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """Return the results themselves."""
        return list(self.map(function, items, *common))


class OnCluster:
    """Runs kernels as tasks of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        A connected client.
    priority
        Of the tasks, among those of others; higher ones go first.

    Raises
    ------
    InputError
        The client is asynchronous.
    """

    def __init__(self, client: Any, priority: int = 0) -> None:
        if client.asynchronous:
            raise InputError(
                f"the Dask client of {client.scheduler.address} is asynchronous: expected one that "
                "waits for results",
                hint="Make a Client without asynchronous=True, outside of coroutines, and fit in "
                "a thread: await asyncio.to_thread(selector.fit, X, Y).",
            )
        self._client = client
        # A client sends a message at once and holds back the next ones for 10 ms, if nobody minds:
        # longer than many a task. Results are released in between, so that every batch would wait.
        stream = getattr(client, "scheduler_comm", None)
        if stream is not None:
            stream.interval = _HELD_BACK
        self._options = {"pure": False, "priority": priority}
        scheduler = client.scheduler_info(n_workers=-1)
        workers = scheduler["workers"]
        slots = [name for name, worker in workers.items() for _ in range(worker["nthreads"])]
        self.n_workers = max(1, len(slots))
        self._places, self._held = Places(slots), Held(client)
        drop_vain_wishes(client, scheduler["id"])
        limits = [worker["memory_limit"] for worker in workers.values() if worker["memory_limit"]]
        self.memory_bytes: int | None = min(limits, default=None)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """Yield ``function(item, *common)`` for every item, in order.

        Tasks are sent and results are fetched several at a time: the scheduler's part of a message
        costs as much as a short task.
        """
        prefix, window = _prefix(function), IN_FLIGHT * self.n_workers
        # A task without others has its place where most of what it needs is, or nobody is at work.
        in_turn = len(items) > 1 or any(self._places.home_of(item) for item in items)
        turn = self._places.turn(items)
        submit = partial(self._submit_in_turn, turn) if in_turn else self._submit
        alive: deque[Any] = deque()
        sent = losses = 0
        try:
            while sent < len(items) or alive:
                # What is sent soon after a message is held back: tasks go before results that are
                # released, and all of them together.
                try:
                    done, results = self._fetch(alive)
                    losses = 0 if done else losses
                except CancelledError as error:
                    losses += 1
                    self._held.bear(error, losses)
                    prefix, done, results = _prefix(function), [], []
                    sent -= self._withdraw(alive)
                if sent < len(items) and len(alive) <= window // 2:
                    upto = min(sent + window - len(alive), len(items))
                    some = [items[index] for index in range(sent, upto)]
                    alive.extend(submit(function, some, common, prefix, sent))
                    sent = upto
                for future in done:
                    future.release()
                yield from results
        finally:
            for future in alive:
                future.cancel()

    def _withdraw(self, alive: deque[Any]) -> int:
        """How many tasks are taken back: those from the first one on that was lost."""
        stays = itertools.takewhile(lambda future: not future.cancelled(), alive)
        n_lost = len(alive) - len(list(stays))
        self._client.cancel([alive.pop() for _ in range(n_lost)])
        return n_lost

    def _fetch(self, alive: deque[Any]) -> tuple[list[Any], list[Any]]:
        """The first futures and their results, in one message; others are at work meanwhile."""
        count = min(fetched_together(self.n_workers), len(alive))
        first = [alive[index] for index in range(count)]
        results: list[Any] = self._client.gather(first) if first else []
        for _ in first:
            alive.popleft()
        return first, results

    def keep(self, function: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """Return futures; what a lost worker held is computed again by those that are left.

        If it was made of shared values, as long as the caller has the references to these.
        """
        turn = self._places.turn(items)
        futures = self._submit_in_turn(turn, function, items, common, _prefix(function), 0)
        for kept, item, home in zip(futures, items, self._places.wishes(turn, items), strict=True):
            self._places.settle(kept, home)
            dependency = getattr(item, "dependency", None)
            alone = item if dependency is None else item.detached()
            again = partial(self._keep_again, function, alone)
            self._held.made_of(kept, again, dependency, *common)
        return futures

    def _keep_again(
        self, function: Callable[..., Any], item: Any, dependency: Any, *common: Any
    ) -> Any:
        return self._send(function, [item], [dependency], common, _prefix(function), 0)[0]

    def _submit_in_turn(
        self,
        turn: int,
        function: Callable[..., Any],
        items: Sequence[Any],
        common: tuple[Any, ...],
        prefix: str,
        first: int,
    ) -> list[Any]:
        """As `_submit`, with a wish: each item goes to a certain worker, if that is there.

        So a tile that is looked at again is where it was decoded. And Dask would send all tasks
        that depend on a shared value to its only holder, from where others take them one by one.
        Where the user says which workers he wants, it's those.
        """
        from dask.base import annotate, get_annotations

        wishes = self._places.wishes(turn + first, items)
        wished = [home for home in wishes if home is not None]
        if len(wished) < len(wishes) or "workers" in get_annotations():
            return self._submit(function, items, common, prefix, first)
        with annotate(workers=Wishes(first, wished), allow_other_workers=True):
            return self._submit(function, items, common, prefix, first)

    def _submit(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        common: tuple[Any, ...],
        prefix: str,
        first: int,
    ) -> list[Any]:
        # Dask resolves futures among the arguments, not inside objects: send it beside the item.
        dependencies = [getattr(item, "dependency", None) for item in items]
        pairs = zip(items, dependencies, strict=True)
        alone = [item if dependency is None else item.detached() for item, dependency in pairs]
        return self._send(function, alone, dependencies, common, prefix, first)

    def _send(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        dependencies: Sequence[Any],
        common: tuple[Any, ...],
        prefix: str,
        first: int,
    ) -> list[Any]:
        count = len(items)
        if count == 0:
            return []
        present = self._held.present
        needed = [present(dependency) for dependency in dependencies]
        shared = [present(value) for value in common]
        with in_one_span():
            futures: list[Any] = self._client.map(
                _call_with_dependency,
                [function] * count,
                needed,
                items,
                *([value] * count for value in shared),
                key=[f"{prefix}-{first + index}" for index in range(count)],
                **self._options,
            )
        return futures

    def share(self, value: Any) -> Any:
        """Put the value on one worker, from where others fetch it; a list is spread over workers.

        The scheduler keeps a small one, so that it can be had again if its workers are lost. One
        that is too big for that is put there again from here.
        """
        if isinstance(value, list):
            return self._held.put(value)
        if sent_bytes(value) > _KEPT_BY_SCHEDULER:
            return self._held.put([value])[0]
        with in_one_span():
            return self._client.submit(unwrap, Wrapped(value), key=_prefix(unwrap), **self._options)


_chosen: Final[ContextVar[Executor | None]] = ContextVar("mlfs_executor", default=None)


@contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Have `get_executor` return an executor to this thread while the block runs.

    Parameters
    ----------
    executor
        Any.

    Examples
    --------
    >>> with use_executor(InProcess(3)):
    ...     get_executor().n_workers
    3
    """
    before = _chosen.set(executor)
    try:
        yield
    finally:
        _chosen.reset(before)


def get_executor() -> Executor:
    """The one of `use_executor`, or the current Dask client's cluster, or threads of this process.

    Inside a Dask worker it is one thread of the worker's own unless `use_executor` says otherwise,
    since the cluster's slots are already taken by tasks like the calling one.
    """
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    if "distributed" in sys.modules:
        from distributed import default_client, get_worker

        try:
            get_worker()
        except ValueError:
            pass
        else:
            return InProcess(1)
        try:
            client = default_client()
        except ValueError:
            pass
        else:
            return OnCluster(client)
    return InProcess()


def _prefix(function: Callable[..., Any]) -> str:
    """A name per call.

    Two maps with equal arguments over a store that changed in between must not share results, and
    tasks read well on Dask's dashboard.
    """
    return f"{getattr(function, '__name__', 'task').strip('_')}-{uuid.uuid4().hex[:12]}"


def _ordered(futures: Iterable[Future[Any]], *, window: int) -> Iterator[Any]:
    """Results in order of submission with at most ``window`` futures alive."""
    alive: deque[Future[Any]] = deque()
    try:
        for future in futures:
            alive.append(future)
            if len(alive) >= window:
                yield alive.popleft().result()
        while alive:
            yield alive.popleft().result()
    finally:
        for future in alive:
            future.cancel()


def _resolve(item: Any) -> Any:
    dependency = getattr(item, "dependency", None)
    return item if dependency is None else item.attached(_materialize(dependency))


def _materialize(dependency: Any) -> Any:
    if isinstance(dependency, list):
        return [_materialize(each) for each in dependency]
    if is_future(dependency):
        return dependency.result()
    if hasattr(type(dependency), "compute"):
        return dependency.compute(scheduler="synchronous")
    return dependency


def _call(function: Callable[..., Any], item: Any, *common: Any) -> Any:
    return function(_resolve(item), *common)


def _call_with_dependency(
    function: Callable[..., Any], dependency: Any, item: Any, *common: Any
) -> Any:
    return function(item if dependency is None else item.attached(dependency), *common)
