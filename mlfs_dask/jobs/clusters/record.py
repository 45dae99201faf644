"""What is known of a cluster that ``mlfs cluster start`` made: a file in its state folder."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from mlfs_dask.errors import ClusterError
from mlfs_dask.jobs.clusters.tls import TlsFiles
from mlfs_dask.storage.atomic import machine_faults, new_file, remove

RECORD = "cluster.json"
SCHEDULER_FILE = "scheduler.json"
_LARGEST = 2**16


class ClusterRecord(Struct, frozen=True, kw_only=True):
    """A cluster of this machine.

    Attributes
    ----------
    format
        Version of the file.
    id
        What its processes carry in their environment.
    host
        Name of the machine they run on.
    created
        When, in UTC.
    version
        Of mlfs-dask.
    workers, threads, memory_bytes
        Processes, tasks of each at the same time, limit of each.
    address, dashboard
        Where the scheduler and its pages are; None until it has started.
    tls
        Certificates; None where connections are plain.
    own_certificates
        Whether they were made for this cluster and go with it.
    pids
        ``"scheduler"`` and ``"workers"`` -> process that was started.
    """

    format: Literal[1] = 1
    id: str
    host: str
    created: str
    version: str
    workers: int
    threads: int
    memory_bytes: int
    address: str | None = None
    dashboard: str | None = None
    tls: TlsFiles | None = None
    own_certificates: bool = False
    pids: dict[str, int] = msgspec.field(default_factory=dict)


class ClusterFolder:
    """State folder of a cluster of this machine.

    Parameters
    ----------
    path
        The folder; default ``$MLFS_CLUSTER``, else ``./cluster``.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path or os.environ.get("MLFS_CLUSTER") or "cluster").absolute()

    @property
    def record(self) -> Path:
        """What `read` reads."""
        return self.path / RECORD

    @property
    def scheduler_file(self) -> Path:
        """Written by the scheduler, read by workers and clients."""
        return self.path / SCHEDULER_FILE

    @property
    def tls(self) -> Path:
        """Certificates made for the cluster."""
        return self.path / "tls"

    @property
    def scratch(self) -> Path:
        """Where workers spill."""
        return self.path / "scratch"

    @property
    def lock(self) -> Path:
        """Held while the cluster is being started or stopped."""
        return self.path / "lock"

    def log(self, process: str) -> Path:
        """What a process says.

        Parameters
        ----------
        process
            ``"scheduler"`` or ``"workers"``.
        """
        return self.path / "logs" / f"{process}.log"

    def write(self, record: ClusterRecord) -> None:
        """Write the record, readable by the owner alone.

        Parameters
        ----------
        record
            Of this folder.
        """
        text = msgspec.json.format(msgspec.json.encode(record), indent=2)
        with machine_faults("write", self.record), new_file(self.record) as partial:
            partial.touch(mode=0o600)
            partial.write_bytes(text + b"\n")

    def read(self) -> ClusterRecord | None:
        """The record; None where no cluster was started, or it was stopped.

        Raises
        ------
        ClusterError
            It is damaged, or of a cluster on another machine.
        """
        return read_record(self.record)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other commands that start or stop the cluster away.

        Raises
        ------
        ClusterError
            Another one is at work.
        MachineError
            The folder cannot be written.
        """
        with machine_faults("write", self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterError(
                    f"another command is starting or stopping the cluster in {self.path}",
                    hint="Wait for it, or choose another --dir.",
                ) from None
            yield
        finally:
            os.close(handle)

    def clean(self, record: ClusterRecord) -> None:
        """Remove all but the logs of a cluster that has ended.

        Parameters
        ----------
        record
            Of the cluster.
        """
        for path in (self.scheduler_file, self.scratch):
            remove(path)
        if record.own_certificates:
            remove(self.tls)
        remove(self.record)


def read_record(path: Path) -> ClusterRecord | None:
    """Record of a cluster; None if there is no such file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ClusterError
        It is damaged.
    """
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_LARGEST), type=ClusterRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ClusterError(
            f"{path} is no record of a cluster: {error}",
            hint="End its processes by hand and delete the file, or choose another --dir.",
            path=str(path),
        ) from error


def refuse_other_host(record: ClusterRecord, folder: ClusterFolder) -> None:
    """Raise if the processes of a cluster are not this machine's.

    Parameters
    ----------
    record
        Of the cluster.
    folder
        Where it was read.

    Raises
    ------
    ClusterError
        Says where they are.
    """
    if record.host != socket.gethostname():
        raise ClusterError(
            f"the cluster in {folder.path} runs on {record.host}, this is {socket.gethostname()}",
            hint=f"Do it on {record.host}, or choose another --dir.",
            host=record.host,
        )
