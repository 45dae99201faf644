"""Cancelling: a flag in the run folder that its coordinator looks at between steps."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import Final

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs import lease
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.storage.atomic import machine_faults
from mlfs_dask.storage.places import ObjectPlace

_LOOK_SECONDS: Final = 0.2
_ASK_SECONDS: Final = 2.0  # on object storage each look is a request
_FINAL: Final = ("done", "partial", "cancelled")


def request_cancel(folder: RunFolder) -> bool:
    """Ask for a run to end after the step in hand; what is finished is kept.

    Parameters
    ----------
    folder
        The run.

    Returns
    -------
    bool
        Whether a process is at work on it, which will see to it; else the run is marked here.

    Raises
    ------
    RunFolderError
        The run is done, partly or wholly, or was cancelled before.
    """
    state = folder.read_state()
    if state["state"] in _FINAL:
        raise RunFolderError(
            f"{folder.id} is {state['state']} already: there is nothing to cancel",
            hint=f"`mlfs status {shlex.quote(str(folder.path))}` shows it.",
            state=state["state"],
        )
    if folder.owner() is not None:
        with machine_faults("cancel", folder.cancel):
            folder.cancel.touch()
        return True
    with lease.alone(folder.path, folder.lock):
        folder.write_state("cancelled", **state["progress"])
    return False


def clear_cancel(folder: RunFolder) -> None:
    """Forget an earlier request: somebody takes the run up again.

    Parameters
    ----------
    folder
        The run.
    """
    with machine_faults("go on with", folder.cancel):
        folder.cancel.unlink(missing_ok=True)


def cancel_flag(folder: RunFolder) -> Callable[[], bool]:
    """Whether the flag is there, looked at a few times per second at most, or less often.

    Parameters
    ----------
    folder
        The run.
    """
    seen, looked = False, 0.0
    pause = _ASK_SECONDS if isinstance(folder.cancel, ObjectPlace) else _LOOK_SECONDS

    def is_cancelled() -> bool:
        nonlocal seen, looked
        now = time.monotonic()
        if not seen and now - looked >= pause:
            seen, looked = folder.cancel.exists(), now
        return seen

    return is_cancelled
