"""The end of a cluster of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mlfs_dask.jobs.clusters import processes
from mlfs_dask.jobs.clusters.record import ClusterFolder, refuse_other_host

_STOP_SECONDS: Final = 20.0  # a worker in the middle of a task takes ten


@dataclass(frozen=True)
class Stopped:
    """What `stop_cluster` did.

    Attributes
    ----------
    ended, killed
        Processes that went by themselves, and that had to be killed.
    """

    ended: int
    killed: int


def stop_cluster(folder: ClusterFolder) -> Stopped | None:
    """End a cluster of this machine, workers first, and whatever is left of it.

    Parameters
    ----------
    folder
        Its state folder; only logs stay in it.

    Returns
    -------
    Stopped or None
        None if no cluster was started there.

    Raises
    ------
    ClusterError
        It runs on another machine, or another command is starting or stopping it.
    MachineError
        A process does not die.
    """
    if folder.read() is None:
        return None
    with folder.alone():
        record = folder.read()
        if record is None:  # another command was faster
            return None
        refuse_other_host(record, folder)
        leaders = [record.pids[name] for name in ("workers", "scheduler") if name in record.pids]
        ended, killed = processes.end(record.id, leaders, _STOP_SECONDS)
        folder.clean(record)
    return Stopped(ended, killed)
