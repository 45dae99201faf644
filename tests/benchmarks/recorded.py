"""What a selection consists of, as measured: tasks, their time, what they send, what is left.

Workers differ from other processes in what Dask sets for them: memory that a task sets free goes
back to the system at once, and the next task asks for it anew, page by page. So tasks are measured
in processes of that kind, ``python -m benchmarks.recorded REQUEST``, as many at a time as there
shall be workers.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, Final

import msgspec

import mlfs_dask as mlfs
from mlfs_dask.graphs.executor import InProcess, use_executor
from mlfs_dask.jobs.workload import Stage, Work

_TESTS: Final = Path(__file__).resolve().parent.parent
_REPEATS: Final = 3
_READY: Final = "ready"


@dataclass
class Recorded:
    """An executor of one thread that notes what it is asked to do, and what would be sent.

    Attributes
    ----------
    n_workers
        For whom work is cut into tasks.
    stages
        In order.
    aside
        Seconds of making tasks, and of packing what stays here, which is no part of the selection
        in one process: a worker unpacks its tasks and packs its results.
    computed
        Seconds of kernels alone.
    _there
        What workers would have already, by its id: values that were shared, results they keep.
    """

    n_workers: int = 1
    stages: list[Stage] = field(default_factory=list)
    aside: float = 0.0
    computed: float = 0.0
    _there: dict[int, Any] = field(default_factory=dict)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *common: Any
    ) -> Iterator[Any]:
        """As `InProcess.map`, with a stage noted at the end."""
        return self._run(function, items, common)

    def _run(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        common: tuple[Any, ...],
        *,
        fetched: bool = True,
    ) -> Iterator[Any]:
        """One after the other, each as a worker does it; results are packed if they are fetched."""
        seconds, packing, making, sent = 0.0, 0.0, 0.0, 0
        run = InProcess(1)
        small = [value for value in common if id(value) not in self._there]
        for number in range(len(items)):
            asked = perf_counter()
            item = items[number]
            kept = getattr(item, "dependency", None) is not None
            task = pickle.dumps((item.detached() if kept else item, small), protocol=5)
            packed = perf_counter()
            pickle.loads(task)
            unpacked = perf_counter()
            [result] = run.map(function, [item], *common)
            done = perf_counter()
            sent += len(task) + (len(pickle.dumps(result, protocol=5)) if fetched else 0)
            end = perf_counter()
            seconds += done - unpacked
            packing += (unpacked - packed) + (end - done)
            making += packed - asked
            self.aside += (unpacked - asked) + (end - done)
            yield result
        name = getattr(function, "__name__", "task")
        self.stages.append(
            Stage(
                name,
                seconds + packing,
                tasks=len(items),
                result_bytes=sent,
                rounds=1.0 if fetched else 0.0,
                making_seconds=making,
                shared=len(small) < len(common),
            )
        )
        self.computed += seconds

    def share(self, value: Any) -> Any:
        """The value itself; it is sent, and nothing is waited for."""
        begin = perf_counter()
        size = len(pickle.dumps(value, protocol=5))
        self._there[id(value)] = value
        self.stages.append(Stage("share", 0.0, tasks=1, sent_bytes=size, rounds=0.0))
        self.aside += perf_counter() - begin
        return value

    def keep(self, function: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """The results themselves; on a cluster nothing is fetched and nothing waited for."""
        results = list(self._run(function, items, common, fetched=False))
        self._there.update((id(result), result) for result in results)
        return results


def selection(method: str, params: dict[str, Any], path: str) -> Callable[[Any], list[int]]:
    """A selection on rows of a store, to be run on any executor."""

    def select(executor: Any) -> list[int]:
        with use_executor(executor):
            fitted = mlfs.get_selector(method, **params).fit(mlfs.open_dataset(path))
        order: list[int] = fitted.order_.tolist()
        return order

    return select


def work_on_workers(
    method: str, params: dict[str, Any], path: str, *, workers: int = 1, warm: bool = True
) -> Work:
    """Tasks as workers do them, and what this process does between them.

    Parameters
    ----------
    method, params, path
        See `selection`.
    workers
        Processes that do all of it side by side, each by itself: they share caches and memory as
        workers do. Of what they take the mean counts.
    warm
        Kernels are loaded and tiles kept by a first run.
    """
    import dask
    import distributed  # noqa: F401  its settings

    set_for_workers = dask.config.get("distributed.nanny.pre-spawn-environ")
    path_of_modules = [str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    asked = {"method": method, "params": params, "path": path, "workers": workers, "warm": warm}
    request = json.dumps(asked)
    there = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.recorded", request],
            env={
                **os.environ,
                **{name: str(value) for name, value in set_for_workers.items()},
                "PYTHONPATH": os.pathsep.join(path_of_modules),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(workers)
    ]
    ready = [_line_of(process) for process in there]  # all of them, before one goes on
    assert ready == [_READY] * workers
    for process in there:
        assert process.stdin is not None
        print(file=process.stdin, flush=True)
    works = [msgspec.json.decode(_line_of(process), type=Work) for process in there]
    for process in there:
        process.communicate()
        assert process.returncode == 0
    select = selection(method, params, path)
    if warm:
        work_of(select, workers)
    return Work("", (*_mean(works).stages[:-1], work_of(select, workers).stages[-1]))


def _line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _measured(select: Callable[[Any], Any], workers: int, *, warm: bool) -> Work:
    """The median of some measures, or one."""
    works = [work_of(select, workers) for _ in range(_REPEATS if warm else 1)]
    return sorted(works, key=lambda work: work.seconds)[len(works) // 2]


def _mean(works: Sequence[Work]) -> Work:
    """Of works of the same stages."""
    columns = zip(*(work.stages for work in works), strict=True)
    return Work(
        "",
        tuple(
            replace(stages[0], seconds=fmean(stage.seconds for stage in stages))
            for stages in columns
        ),
    )


def work_of(select: Callable[[Any], Any], workers: int = 1) -> Work:
    """Stages of a selection, and the rest as one that the deciding process does alone.

    Parameters
    ----------
    select
        Runs it on an executor.
    workers
        For whom work is cut into tasks.
    """
    recorded = Recorded(workers)
    begin = perf_counter()
    select(recorded)
    rest = perf_counter() - begin - recorded.aside - recorded.computed
    return Work("", (*recorded.stages, Stage("decisions", max(0.0, rest))))


def _answer(request: str) -> None:
    """Measure what a request asks for: once others are ready, too."""
    asked = json.loads(request)
    warm, workers = asked.pop("warm"), asked.pop("workers")
    select = selection(**asked)
    if warm:
        work_of(select, workers)
    print(_READY, flush=True)
    sys.stdin.readline()
    print(msgspec.json.encode(_measured(select, workers, warm=warm)).decode())


if __name__ == "__main__":
    _answer(sys.argv[1])
