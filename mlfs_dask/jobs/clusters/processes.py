"""Processes that outlive the command which starts them, and are found again to be ended.

Each carries the cluster's id in its environment and hands it on to its children. A process that
has a number from the record but not the id is somebody else's, who got the number later.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mlfs_dask.errors import MachineError
from mlfs_dask.storage.atomic import machine_faults

MARK: Final = "MLFS_CLUSTER_ID"
_KILL_SECONDS: Final = 10.0
_LAST_SECONDS: Final = 2.0  # helpers of processes that have ended look after themselves
_LOOK_SECONDS: Final = 0.05


def spawn(
    words: Sequence[str], *, cluster: str, environment: Mapping[str, str], cwd: Path, log: Path
) -> int:
    """Start a process in a session of its own: no terminal reaches it.

    Parameters
    ----------
    words
        The command.
    cluster
        Id to carry.
    environment
        Its variables.
    cwd
        Where it runs.
    log
        File for what it says; replaced.

    Returns
    -------
    int
        Its number.

    Raises
    ------
    MachineError
        It cannot be started.
    """
    with machine_faults("start a process that logs to", log):
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                # Packages that rename processes would write over the environment.
                env={**environment, MARK: cluster, "SPT_NOENV": "1"},
                start_new_session=True,
                umask=0o077,
            )
    return process.pid


def members(cluster: str) -> list[Any]:
    """Living processes that carry a cluster's id, as ``psutil.Process``.

    Parameters
    ----------
    cluster
        The id.
    """
    return [process for process in _marked(cluster) if _lives(process)]


def _marked(cluster: str) -> Iterator[Any]:
    import psutil

    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == cluster:
                yield process
        except (psutil.Error, OSError):  # gone in between, or another user's
            continue


def end(cluster: str, leaders: Sequence[int], seconds: float) -> tuple[int, int]:
    """End all processes of a cluster: leaders one after the other as they wish, then the rest.

    Parameters
    ----------
    cluster
        The id.
    leaders
        Numbers of the processes to be asked, in this order.
    seconds
        How long each may take.

    Returns
    -------
    ended, killed : int
        How many went by themselves and how many had to be killed.

    Raises
    ------
    MachineError
        Some cannot be killed.
    """
    before = members(cluster)
    for leader in leaders:
        found = [process for process in members(cluster) if process.pid == leader]
        for process in found:
            _signal(process.terminate)
        _wait(found, seconds)
    _wait(members(cluster), _LAST_SECONDS)
    killed = kill(cluster)
    return max(0, len(before) - killed), killed


def kill(cluster: str) -> int:
    """Kill what is left of a cluster.

    Parameters
    ----------
    cluster
        The id.

    Returns
    -------
    int
        How many were there.

    Raises
    ------
    MachineError
        Some do not die.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + _KILL_SECONDS
    while left := members(cluster):  # again and again: they may start others while they die
        if time.monotonic() > deadline:
            numbers = ", ".join(str(process.pid) for process in left)
            raise MachineError(f"these processes of the cluster do not die: {numbers}")
        for process in left:
            killed.add(process.pid)
            _signal(process.kill)
        _wait(left, 1.0)
    return len(killed)


def _signal(send: Any) -> None:
    import psutil

    try:
        send()
    except psutil.NoSuchProcess:
        return


def _wait(processes: Sequence[Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(map(_lives, processes)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def lives(pid: int) -> bool:
    """Whether a process that was started here a short while ago is still there.

    One that begins just now shows no environment for a moment: it is no member yet, and lives.

    Parameters
    ----------
    pid
        Its number.
    """
    import psutil

    try:
        return _lives(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def _lives(process: Any) -> bool:
    """Whether it does anything still; one that nobody collects stays in the table for ever."""
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
