"""What a selection consists of, as measured: tasks, their time, what they send, what is left."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.jobs.workload import Stage, Work


@dataclass
class Recorded:
    """An executor of one thread that notes what it is asked to do, and what would be sent.

    Attributes
    ----------
    stages
        In order.
    aside
        Seconds of packing what stays here: they are no part of the selection in one process, but a
        worker unpacks its tasks and packs its results.
    computed
        Seconds of kernels alone.
    """

    n_workers: int = 1
    stages: list[Stage] = field(default_factory=list)
    aside: float = 0.0
    computed: float = 0.0
    _shared: dict[int, Any] = field(default_factory=dict)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """As `InProcess.map`, with a stage noted at the end."""
        seconds, packing, sent = 0.0, 0.0, 0
        run = InProcess(1)
        small = [value for value in common if id(value) not in self._shared]
        for item in items:
            begin = perf_counter()
            task = pickle.dumps((item, small), protocol=5)
            packed = perf_counter()
            pickle.loads(task)
            unpacked = perf_counter()
            [result] = run.map(function, [item], *common)
            done = perf_counter()
            sent += len(task) + len(pickle.dumps(result, protocol=5))
            end = perf_counter()
            seconds += done - unpacked
            packing += (unpacked - packed) + (end - done)
            self.aside += (unpacked - begin) + (end - done)
            yield result
        name = getattr(function, "__name__", "task")
        self.stages.append(Stage(name, seconds + packing, tasks=len(items), result_bytes=sent))
        self.computed += seconds

    def share(self, value: Any) -> Any:
        """The value itself; sending it is a round of its own."""
        begin = perf_counter()
        size = len(pickle.dumps(value, protocol=5))
        self._shared[id(value)] = value
        self.stages.append(Stage("share", 0.0, tasks=1, sent_bytes=size))
        self.aside += perf_counter() - begin
        return value

    def keep(self, function: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """The results themselves."""
        return list(self.map(function, items, *common))


def work_of(select: Callable[[Any], Any]) -> Work:
    """Stages of a selection, and the rest as one that the deciding process does alone.

    Parameters
    ----------
    select
        Runs it on an executor.
    """
    recorded = Recorded()
    begin = perf_counter()
    select(recorded)
    rest = perf_counter() - begin - recorded.aside - recorded.computed
    return Work("", (*recorded.stages, Stage("decisions", max(0.0, rest))))
