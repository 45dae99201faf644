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
    """An executor of one thread that notes what it is asked to do."""

    n_workers: int = 1
    stages: list[Stage] = field(default_factory=list)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """As `InProcess.map`, with a stage noted at the end."""
        seconds, sent = 0.0, 0
        run = InProcess(1)
        for item in items:
            begin = perf_counter()
            [result] = run.map(function, [item], *common)
            seconds += perf_counter() - begin
            begin = perf_counter()
            sent += len(pickle.dumps(result, protocol=5))
            self.aside += perf_counter() - begin
            yield result
        name = getattr(function, "__name__", "task")
        self.stages.append(Stage(name, seconds, tasks=len(items), result_bytes=sent))

    aside: float = 0.0
    """Seconds of taking notes."""

    def share(self, value: Any) -> Any:
        """The value itself."""
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
    whole = perf_counter() - begin - recorded.aside
    rest = whole - sum(stage.seconds for stage in recorded.stages)
    return Work("", (*recorded.stages, Stage("decisions", max(0.0, rest))))
