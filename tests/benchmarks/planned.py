"""Runs of jobs against their plans: peak memory per process, time, units and tasks.

The process that runs a job is new, so that its peak is its own; the workers it starts are looked at
with it. This module is also what that process runs: ``python -m benchmarks.planned REQUEST``.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
NOTHING = """
import numpy as np
import mlfs_dask.jobs.coordinator, mlfs_dask.cli.run
from mlfs_dask import get_selector
X = np.random.default_rng(0).random((50, 5))
get_selector("spec").fit(X, (X[:, :2] > 0.5).astype(np.uint8))
"""


@dataclass(frozen=True)
class Planned:
    """A plan and what became of it.

    Attributes
    ----------
    name
        What was done.
    memory, peak
        Of the largest process, as planned and as measured, in bytes.
    seconds, took
        Of the command.
    units, tasks
        As planned; those that were done are compared at once.
    """

    name: str
    memory: int
    peak: int
    seconds: float
    took: float
    units: int
    tasks: int

    @property
    def memory_ratio(self) -> float:
        """Planned to measured."""
        return self.memory / self.peak

    @property
    def time_ratio(self) -> float:
        """Planned to measured."""
        return self.seconds / self.took

    @property
    def is_above_its_floor(self) -> bool:
        """Whether arrays matter beside what a process takes that has none."""
        return self.peak > 1.3 * floor()

    def __str__(self) -> str:
        mib = 2.0**20
        return (
            f"{self.name}: planned {self.memory / mib:.0f} MiB and {self.seconds:.3g} s, "
            f"measured {self.peak / mib:.0f} MiB and {self.took:.3g} s"
        )


def planned(
    name: str, text: str, overrides: Sequence[str], runs: Path, *, most_seconds: float = math.inf
) -> Planned | None:
    """Plan a job and run it; None if that is planned to take too long.

    Parameters
    ----------
    name
        To call it by.
    text
        Of the job file.
    overrides
        As ``--set`` takes them.
    runs
        Folder of its run.
    most_seconds
        What is too long.

    Raises
    ------
    AssertionError
        The run did other units, or made other tasks, than were planned.
    PlanError
        The plan is refused.
    """
    from mlfs_dask.jobs.data import open_datasets
    from mlfs_dask.jobs.jobfile import parse_job
    from mlfs_dask.jobs.plan import make_plan
    from processes import run_command

    job = parse_job(text.encode(), name, overrides)
    plan = make_plan(job, open_datasets(job))
    if plan.seconds > most_seconds:
        return None
    request = json.dumps({"text": text, "overrides": list(overrides), "runs": str(runs)})
    command = [sys.executable, "-m", "benchmarks.planned", request]
    cost = run_command(command, env={**os.environ, "PYTHONPATH": _path()})
    done = json.loads(cost.stdout)
    n_units = plan.n_selections + plan.n_curves
    assert done == {"state": "done", "units": n_units, "tasks": plan.n_tasks}, name
    return Planned(
        name, plan.memory_bytes, cost.peak_bytes, plan.seconds, cost.seconds, n_units, plan.n_tasks
    )


@cache
def floor() -> int:
    """Bytes of a process that loads what a run needs and does next to nothing."""
    from processes import run_command

    return run_command([sys.executable, "-c", NOTHING]).peak_bytes


def _path() -> str:
    places = [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, places))


def main(request: str) -> None:
    """Run a job and print what it did as one line of JSON."""
    from mlfs_dask.jobs import agenda
    from mlfs_dask.jobs.backends import InProcess
    from mlfs_dask.jobs.coordinator import run_job
    from mlfs_dask.jobs.jobfile import parse_job
    from mlfs_dask.jobs.on_cluster import OnClient
    from mlfs_dask.jobs.order import Order

    asked = json.loads(request)
    handed: list[int] = []
    for kind in (InProcess, OnClient):
        _count(kind, handed)
    setattr(agenda, "_WRONG", float("inf"))  # noqa: B010  kernels may be compiled meanwhile
    text = asked["text"].encode()
    job = parse_job(text, "planned.toml", asked["overrides"])
    done = run_job(Order(job=job, text=text, runs=Path(asked["runs"])))
    print(json.dumps({"state": done.state, "units": sum(handed), "tasks": len(handed)}))


def _count(kind: Any, handed: list[int]) -> None:
    submit = kind.submit

    def counting(backend: Any, task: Any, *others: Any) -> None:
        handed.append(len(task.units))
        submit(backend, task, *others)

    kind.submit = counting


if __name__ == "__main__":
    main(sys.argv[1])
