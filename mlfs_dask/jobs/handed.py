"""What is too large to travel with a task lies in the run folder, which the workers see.

Tasks are sent to the scheduler and stay in its memory until they are done, so they must be small:
addresses and parameters. Two things in them grow with the data: the orders of the selections that a
curve judges, and the decisions of a selector that was interrupted. On the way back it is the result
of a selection. Each is written to ``handed`` in the run folder once it is large, and is removed
when it has been read.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from mlfs_dask.errors import MachineError
from mlfs_dask.jobs.perform import Selected
from mlfs_dask.jobs.work import Outcome, Task, run_task, stopped, tells_steps
from mlfs_dask.storage.atomic import machine_faults, remove, write_whole
from mlfs_dask.storage.places import Place, place

LARGE: Final = 2**18
"""Bytes that still travel with a task, or with its outcome."""


class Handed(Struct, frozen=True):
    """What a task needs of earlier units."""

    selected: dict[str, Selected]
    decided: dict[str, tuple[dict[str, Any], ...]]


def stow(task: Task, run: Place, is_seen: Callable[[], bool]) -> Task:
    """The task with its large parts laid into the run folder.

    Parameters
    ----------
    task
        As it runs in this process.
    run
        The run folder.
    is_seen
        Whether all workers see it; asked only if something is large. Else all travels with it.

    Raises
    ------
    MachineError
        The disk is full or refuses.
    """
    task = msgspec.structs.replace(task, run=str(run.absolute()))
    content = msgspec.msgpack.encode(Handed(task.selected, task.decided))
    if len(content) <= LARGE or not is_seen():
        return task
    file = _folder(run) / f"{task.session}-{task.name}"
    _write(file, content)
    return msgspec.structs.replace(task, selected={}, decided={}, handed=str(file.absolute()))


def run_stowed_task(task: Task) -> list[Outcome]:
    """Do the units of a task on a Dask worker; its steps are sent as events of the session.

    Parameters
    ----------
    task
        As `stow` returns it.

    Returns
    -------
    list of Outcome
        Large ones in the run folder, for `fetch_outcome`.
    """
    if task.handed:
        handed = msgspec.msgpack.decode(place(task.handed).read_bytes(), type=Handed)
        task = msgspec.structs.replace(task, selected=handed.selected, decided=handed.decided)
    with tells_steps(task) as tell:
        return [_stowed(outcome, task) for outcome in run_task(task, tell, lambda: stopped(task))]


def fetch_outcome(outcome: Outcome) -> Outcome:
    """The outcome with its result, wherever that lay.

    Parameters
    ----------
    outcome
        Of `run_stowed_task`.

    Raises
    ------
    MachineError
        The result cannot be read.
    """
    if not outcome.handed:
        return outcome
    file = place(outcome.handed)
    with machine_faults("read the result", file):
        payload = file.read_bytes()
    file.unlink(missing_ok=True)
    return msgspec.structs.replace(outcome, payload=payload, handed="")


def sees_run(run: str) -> bool:
    """Whether this process sees a run folder.

    Parameters
    ----------
    run
        Its path or address.
    """
    return (place(run) / "manifest.json").is_file()


def forget(run: Place) -> None:
    """Remove what was handed and never read.

    Parameters
    ----------
    run
        The run folder.
    """
    remove(_folder(run))


def _stowed(outcome: Outcome, task: Task) -> Outcome:
    payload = outcome.payload
    if payload is None or len(payload) <= LARGE or not task.run or not sees_run(task.run):
        return outcome
    name = f"{task.session}-{outcome.unit.id}-{uuid.uuid4().hex[:8]}"
    file = _folder(place(task.run)) / name
    try:
        _write(file, payload)
    except MachineError:
        return outcome  # it travels itself; the coordinator, who must write it too, tells of it
    return msgspec.structs.replace(outcome, payload=b"", handed=str(file))


def _folder(run: Place) -> Place:
    return run / "handed"


def _write(file: Place, content: bytes) -> None:
    with machine_faults("hand over", file):
        file.parent.mkdir(exist_ok=True)
        if isinstance(file, Path):
            write_whole(file, content)
        else:
            file.write_bytes(content)
