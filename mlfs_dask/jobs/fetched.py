"""What a task on a cluster gave, or that the cluster is lost with it."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from typing import Any, Final

from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs.work import Outcome

_NOTICED_SECONDS: Final = 0.2


def fetch_outcomes(future: Any) -> list[Outcome]:
    """What a task gave.

    A scheduler that dies while it is asked breaks the connection before the client knows that all
    its tasks are lost. This says nothing of the task: a moment later it is asked once more.

    Parameters
    ----------
    future : distributed.Future
        Of a task that ended.

    Raises
    ------
    RunInterruptedError
        The scheduler is gone or out of reach.
    Exception
        Whatever ended the task on its worker.
    """
    try:
        return _result(future)
    except OSError:
        if future.status == "error":  # the task's own
            raise
    time.sleep(_NOTICED_SECONDS)
    try:
        return _result(future)
    except OSError as error:
        if future.status == "error":
            raise
        raise cluster_lost() from error


def _result(future: Any) -> list[Outcome]:
    try:
        outcomes: list[Outcome] = future.result()
    except CancelledError as error:  # nobody here cancels what is still among the tasks
        raise cluster_lost() from error
    return outcomes


def cluster_lost() -> RunInterruptedError:
    """The error for a cluster that is lost."""
    return RunInterruptedError(
        "the cluster was lost: its scheduler is gone or out of reach",
        hint="What is finished is kept; go on with it on another cluster.",
    )
