"""Where kernels run: threads of this process, or the workers of a Dask cluster.

Both executors return results in the order of the items and keep a bounded number in flight, so a
caller may add partial sums in tile order whatever finishes first, and memory stays bounded.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

from mlfs_dask.errors import InputError


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
        with ThreadPoolExecutor(min(self.n_workers, len(items))) as pool:
            yield from _ordered(
                (pool.submit(_call, function, item, *common) for item in items),
                window=2 * self.n_workers,
                discard=lambda future: future.cancel(),
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
    """

    def __init__(self, client: Any, priority: int = 0) -> None:
        self._client = client
        self._options = {"pure": False, "priority": priority}
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        self.n_workers = max(1, sum(worker["nthreads"] for worker in workers))

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """Yield ``function(item, *common)`` for every item, in order."""
        futures = self._submit_all(function, items, common)
        yield from _ordered(futures, window=3 * self.n_workers, discard=_release)

    def keep(self, function: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """Return futures; what a lost worker held is computed again by those that are left."""
        return list(self._submit_all(function, items, common))

    def _submit_all(
        self, function: Callable[..., Any], items: Sequence[Any], common: tuple[Any, ...]
    ) -> Iterator[Any]:
        # A name per call: two maps with equal arguments over a store that changed in between must
        # not share results, and tasks read well on Dask's dashboard.
        prefix = f"{getattr(function, '__name__', 'task').strip('_')}-{uuid.uuid4().hex[:12]}"
        for index, item in enumerate(items):
            yield self._submit(function, item, common, key=f"{prefix}-{index}")

    def _submit(
        self, function: Callable[..., Any], item: Any, common: tuple[Any, ...], *, key: str
    ) -> Any:
        dependency = getattr(item, "dependency", None)
        if dependency is None:
            return self._client.submit(_call, function, item, *common, key=key, **self._options)
        # Dask resolves futures among the arguments, not inside objects: send it beside the item.
        return self._client.submit(
            _call_with_dependency,
            function,
            dependency,
            item.detached(),
            *common,
            key=key,
            **self._options,
        )

    def share(self, value: Any) -> Any:
        """Scatter the value once; workers fetch it from each other."""
        return self._client.scatter(value, hash=False, broadcast=False)


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
            return OnCluster(default_client())
        except ValueError:
            pass
    return InProcess()


def _ordered(
    futures: Iterable[Any], *, window: int, discard: Callable[[Any], Any]
) -> Iterator[Any]:
    """Results in order of submission with at most ``window`` futures alive."""
    alive: deque[Any] = deque()
    source = iter(futures)
    try:
        for future in source:
            alive.append(future)
            if len(alive) >= window:
                yield _result(alive.popleft())
        while alive:
            yield _result(alive.popleft())
    finally:
        for future in alive:
            discard(future)


def _result(future: Any) -> Any:
    result = future.result()
    release = getattr(future, "release", None)
    if release is not None:
        release()
    return result


def _release(future: Any) -> None:
    future.cancel()


def _resolve(item: Any) -> Any:
    dependency = getattr(item, "dependency", None)
    return item if dependency is None else item.attached(_materialize(dependency))


def _materialize(dependency: Any) -> Any:
    if isinstance(dependency, list):
        return [_materialize(each) for each in dependency]
    # A delayed object answers to every attribute name; its type doesn't.
    if hasattr(type(dependency), "result"):
        return dependency.result()
    if hasattr(type(dependency), "compute"):
        return dependency.compute(scheduler="synchronous")
    return dependency


def _call(function: Callable[..., Any], item: Any, *common: Any) -> Any:
    return function(_resolve(item), *common)


def _call_with_dependency(
    function: Callable[..., Any], dependency: Any, item: Any, *common: Any
) -> Any:
    return function(item.attached(dependency), *common)
