"""What a piece of work consists of: stages of tasks, and what happens between them.

A stage maps a kernel over tiles, or blocks of rows, and adds up what comes back. Stages follow each
other, so a unit takes the sum of theirs; how many processes share a stage is not said here::

    serial ── tasks of stage 1 ── serial ── tasks of stage 2 ── ...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stage:
    """Tasks of one kind.

    Attributes
    ----------
    name
        What is done, in words.
    seconds
        Of all tasks together on one core.
    tasks
        How many; 0 if the stage is done by the process that decides, alone.
    result_bytes
        That all tasks together send back.
    sent_bytes
        That go out once to each worker.
    rounds
        How often tasks are handed out and waited for.
    read_bytes
        That are read and decoded from the store; what a process holds already is not.
    making_seconds
        Of the process that decides, to make and pack the tasks.
    shared
        Whether tasks depend on a value that went out to the workers.
    """

    name: str
    seconds: float
    tasks: float = 0.0
    result_bytes: float = 0.0
    sent_bytes: float = 0.0
    rounds: float = 1.0
    read_bytes: float = 0.0
    making_seconds: float = 0.0
    shared: bool = False


@dataclass(frozen=True)
class Work:
    """What a unit does.

    Attributes
    ----------
    road
        Name by which its speed is known; see `mlfs_dask.jobs.rates`.
    stages
        In order.

    Examples
    --------
    >>> Work("spec", (Stage("sums", 2.0, tasks=7), Stage("ranking", 0.5))).seconds
    2.5
    """

    road: str
    stages: tuple[Stage, ...]

    @property
    def seconds(self) -> float:
        """On one core, with nothing between the stages."""
        return sum(stage.seconds for stage in self.stages)

    def slower(self, times: float) -> Work:
        """The same where everything takes longer.

        Parameters
        ----------
        times
            How many times longer.
        """
        stages = (replace(stage, seconds=stage.seconds * times) for stage in self.stages)
        return Work(self.road, tuple(stages))

    def repeated(self, times: int) -> Work:
        """The same, several times; what is read is kept if it is not read anew each time.

        Parameters
        ----------
        times
            How often.
        """
        return Work(self.road, self.stages * times)


def joined(road: str, works: Iterable[Work]) -> Work:
    """Pieces of work one after the other.

    Parameters
    ----------
    road
        Name of the whole.
    works
        In order.
    """
    return Work(road, tuple(stage for work in works for stage in work.stages))
