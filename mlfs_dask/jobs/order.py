"""What a coordinator is asked for, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs.progress import Progress, Silent
from mlfs_dask.jobs.rundir import RunFolder, runs_folder
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.units import Unit
from mlfs_dask.jobs.work import Failure
from mlfs_dask.storage.places import Place


@dataclass(frozen=True, kw_only=True)
class Order:
    """A job to be run, and how.

    Attributes
    ----------
    job
        Resolved job.
    text
        The job file as submitted.
    file
        Its name, for messages.
    runs
        Folder of all runs, or its address; default ``$MLFS_RUNS``, else ``./runs``.
    force
        Start a new run even if there is one.
    command
        The command that takes the run up again, for messages.
    progress
        Gets told how far it is.
    client
        Dask client whose cluster does the units, whatever ``[run]`` says.
    """

    job: Job
    text: bytes
    file: str = "job.toml"
    runs: Place = field(default_factory=runs_folder)
    force: bool = False
    command: str = ""
    progress: Progress = field(default_factory=Silent)
    client: Any = None


@dataclass(frozen=True)
class Finished:
    """What a run came to.

    Attributes
    ----------
    folder
        The run.
    state
        ``"done"``; ``"partial"`` if units failed; ``"failed"`` if no unit has a result.
    fresh
        Whether any unit ran; false for a run that was finished before.
    failures
        Units without a result and why, those of earlier calls among them.
    """

    folder: RunFolder
    state: str
    fresh: bool
    failures: tuple[tuple[Unit, Failure], ...] = ()


def interrupted_error(run: str, command: str, what: str = "stopped") -> RunInterruptedError:
    """The error of a run that was stopped, with the command to go on.

    Parameters
    ----------
    run
        Its id or name.
    command
        What takes it up again.
    what
        ``"stopped"`` or ``"cancelled"``.
    """
    return RunInterruptedError(
        f"{run} was {what}; what is finished is kept",
        hint=f"Go on with: {command}" if command else "Start the same job again to go on.",
        run=run,
    )
