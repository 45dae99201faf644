"""Where tasks run: what a coordinator asks of it, and the simplest answer, this process."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, Self

from mlfs_dask.graphs.budget import use_memory
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.work import Outcome, Task, run_task


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
    """Runs tasks; a context manager that starts and stops what it needs.

    Attributes
    ----------
    description
        Where, in words.
    page
        Address of the run's page while it runs; empty if there is none.
    """

    description: str
    page: str

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

    def submit(self, task: Task, seconds: float, n_tasks: int) -> None:
        """Hand in a task: its estimated time, and how many could run now, itself among them."""

    def collect(self) -> Iterator[Outcome]:
        """Outcomes of the next task that ends; waits for it and passes its steps on meanwhile."""


class InProcess:
    """One task at a time, in this process; kernels use its cores.

    Parameters
    ----------
    listener
        The coordinator.
    memory
        What the process may use, for example ``"4 GiB"``; by default ample.
    """

    description = "in this process"
    page = ""

    def __init__(self, listener: Listener, memory: str | None = None) -> None:
        self._listener = listener
        self._memory = use_memory(parse_bytes(memory) if memory else None)
        self._task: Task | None = None

    def __enter__(self) -> Self:
        self._memory.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.__exit__(None, None, None)
        self._task = None

    @property
    def has_room(self) -> bool:
        """Whether no task waits."""
        return self._task is None

    @property
    def n_in_flight(self) -> int:
        """0 or 1."""
        return int(self._task is not None)

    def submit(self, task: Task, seconds: float, n_tasks: int) -> None:
        """Take a task; it runs when its outcomes are collected."""
        self._task = task

    def collect(self) -> Iterator[Outcome]:
        """Outcomes, each as soon as its unit is done."""
        task, self._task = self._task, None
        if task is not None:
            yield from run_task(task, self._listener.steps, self._listener.should_stop)
