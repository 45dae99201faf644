"""A cluster of this machine: a scheduler and workers that outlive the command which starts them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from mlfs_dask.errors import ClusterError, MachineError
from mlfs_dask.jobs.clusters import processes
from mlfs_dask.jobs.clusters.address import SchedulerAddress, is_host, is_loopback
from mlfs_dask.jobs.clusters.certificates import make_certificates
from mlfs_dask.jobs.clusters.record import ClusterFolder, ClusterRecord, refuse_other_host
from mlfs_dask.jobs.clusters.settings import (
    COORDINATOR,
    DASHBOARD,
    ONE_THREAD,
    PAUSED,
    as_environment,
    dask_settings,
)
from mlfs_dask.jobs.clusters.tls import TlsFiles
from mlfs_dask.jobs.rundir import runs_folder
from mlfs_dask.jobs.sizes import show_bytes
from mlfs_dask.storage.atomic import remove

T = TypeVar("T")

_START_SECONDS: Final = 180.0  # starting processes on a machine that is busy with other things
_LOOK_SECONDS: Final = 0.1
_LEAST_MEMORY: Final = 200 * 2**20
_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::", "")


@dataclass(frozen=True, kw_only=True)
class ClusterOrder:
    """What kind of cluster is wanted.

    Attributes
    ----------
    workers
        Worker processes; default one per core.
    threads
        Tasks of a worker at the same time.
    memory_bytes
        Limit of a worker; default an equal share of the machine's.
    host
        Address by which scheduler and workers are reached.
    port
        Of the scheduler; 0: any that is free.
    tls
        Whether connections are encrypted and certified; default where other machines can connect
        or Dask's configuration wants it.
    files
        Certificates to use instead of making some.
    insecure
        Whether other machines may connect without TLS.
    runs
        Folder whose runs the scheduler shows; default as all commands find it.
    """

    workers: int | None = None
    threads: int = 1
    memory_bytes: int | None = None
    host: str = _LOOPBACK
    port: int = 0
    tls: bool | None = None
    files: TlsFiles | None = None
    insecure: bool = False
    runs: Path | None = None


def start_cluster(folder: ClusterFolder, order: ClusterOrder) -> ClusterRecord:
    """Start a scheduler and workers, and wait until all have found each other.

    Parameters
    ----------
    folder
        Where their state goes.
    order
        What is wanted.

    Returns
    -------
    ClusterRecord

    Raises
    ------
    ClusterError
        One is running there already; or other machines could connect without TLS; or the port is
        taken.
    MachineError
        A process ended, or was not ready in time; nothing is left running.
    """
    use_tls = _decide_tls(order)
    with folder.alone():
        _refuse_running(folder)
        record = _new_record(folder, order, use_tls=use_tls)
        folder.write(record)
        try:
            with _sigterm_like_ctrl_c():
                record = _start_scheduler(folder, order, record)
                record = _start_workers(folder, order, record)
        except BaseException:
            processes.kill(record.id)
            folder.clean(record)
            raise
    return record


def _decide_tls(order: ClusterOrder) -> bool:
    import dask

    if order.host in _ANY or not is_host(order.host):
        raise ClusterError(
            f"{order.host[:80]!r} is no address by which others can reach this machine",
            hint="Give a name or IP address of this machine as --host.",
        )
    open_network = not is_loopback(order.host)
    wanted = dask.config.get("distributed.comm.require-encryption", None)
    use_tls = (open_network or bool(wanted)) if order.tls is None else order.tls
    use_tls = use_tls or (order.tls is None and order.files is not None)
    if open_network and not use_tls and not order.insecure:
        raise ClusterError(
            f"a cluster on {order.host} without TLS lets whoever reaches it run programs in your "
            "name",
            hint="Leave --no-tls out, or give --insecure if that is what you want.",
        )
    return use_tls


@contextmanager
def _sigterm_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM too end a start in the way that leaves nothing behind."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _refuse_running(folder: ClusterFolder) -> None:
    record = folder.read()
    if record is None:
        return
    refuse_other_host(record, folder)
    if processes.members(record.id):
        raise ClusterError(
            f"a cluster is running in {folder.path} already, since {record.created}",
            hint="`mlfs cluster info` shows it, `mlfs cluster stop` ends it; --dir makes another.",
            path=str(folder.path),
        )
    folder.clean(record)


def _new_record(folder: ClusterFolder, order: ClusterOrder, *, use_tls: bool) -> ClusterRecord:
    from distributed.system import MEMORY_LIMIT

    from mlfs_dask.graphs.executor import available_cores

    workers = order.workers or available_cores()
    memory = order.memory_bytes or MEMORY_LIMIT // workers
    if memory < _LEAST_MEMORY:
        raise ClusterError(
            f"{show_bytes(memory)} per worker is less than Python and its packages take, about "
            f"{show_bytes(_LEAST_MEMORY)}",
            hint="Start fewer workers, or give more --memory.",
        )
    files = order.files
    if use_tls and files is None:
        files = make_certificates(folder.tls, (socket.gethostname(), order.host))
    elif use_tls and files is not None:
        files.security()  # they go together
    return ClusterRecord(
        id=uuid.uuid4().hex,
        host=socket.gethostname(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=importlib.metadata.version("mlfs-dask"),
        workers=workers,
        threads=order.threads,
        memory_bytes=memory,
        tls=files if use_tls else None,
        own_certificates=use_tls and order.files is None,
    )


def _start_scheduler(
    folder: ClusterFolder, order: ClusterOrder, record: ClusterRecord
) -> ClusterRecord:
    _refuse_taken_port(order)
    remove(folder.scheduler_file)
    protocol = "tls" if record.tls else "tcp"
    host = f"[{order.host}]" if ":" in order.host else order.host
    words = [
        *("scheduler", "--host", f"{protocol}://{host}", "--port", str(order.port)),
        *("--scheduler-file", str(folder.scheduler_file)),
        *("--dashboard-address", f"{_LOOPBACK}:0"),
        *("--preload", DASHBOARD, "--runs", str((order.runs or runs_folder()).absolute())),
    ]
    record = _spawn("scheduler", words, folder, record)
    facts = _wait_for_scheduler(folder, record)
    record = replace(
        record,
        address=str(SchedulerAddress.parse(facts["address"])),
        dashboard=f"http://{_LOOPBACK}:{facts['services']['dashboard']}",
    )
    folder.write(record)
    return record


def _refuse_taken_port(order: ClusterOrder) -> None:
    family = socket.getaddrinfo(order.host, order.port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family[0], socket.SOCK_STREAM) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(family[4])
        except OSError as error:
            raise ClusterError(
                f"cannot listen on {order.host}, port {order.port}: {error.strerror}",
                hint="Give another --port, or an address of this machine as --host.",
            ) from error


def _start_workers(
    folder: ClusterFolder, order: ClusterOrder, record: ClusterRecord
) -> ClusterRecord:
    words = [
        *("worker", "--scheduler-file", str(folder.scheduler_file), "--host", order.host),
        *("--nworkers", str(record.workers), "--nthreads", str(record.threads)),
        *("--memory-limit", str(record.memory_bytes), "--resources", f"{COORDINATOR}=1"),
        *("--local-directory", str(folder.scratch), "--death-timeout", "60"),
        *("--no-dashboard", "--dashboard-address", f"{_LOOPBACK}:0"),
        *("--preload", PAUSED),
    ]
    record = _spawn("workers", words, folder, record)
    _wait_for_workers(folder, record)
    return record


def _spawn(
    name: str, words: Sequence[str], folder: ClusterFolder, record: ClusterRecord
) -> ClusterRecord:
    tls = record.tls.flags() if record.tls else ()
    pid = processes.spawn(
        [sys.executable, "-m", "dask", *words, *tls],
        cluster=record.id,
        environment=_environment(record),
        cwd=folder.path,
        log=folder.log(name),
    )
    record = replace(record, pids={**record.pids, name: pid})
    folder.write(record)
    return record


def _environment(record: ClusterRecord) -> Mapping[str, str]:
    """Settings for all; what the user sets himself wins, but for threads and encryption."""
    encryption = {"distributed.comm.require-encryption": record.tls is not None}
    given = {key: value for key, value in os.environ.items() if key != "DASK_SCHEDULER_ADDRESS"}
    return {**as_environment(dask_settings()), **given, **ONE_THREAD, **as_environment(encryption)}


def _wait_for_scheduler(folder: ClusterFolder, record: ClusterRecord) -> Mapping[str, Any]:
    """What the scheduler says of itself; it writes the file when it is ready."""

    def look() -> Mapping[str, Any] | None:
        try:
            facts: dict[str, Any] = json.loads(folder.scheduler_file.read_bytes())
        except (FileNotFoundError, ValueError):  # not there yet, or half written
            return None
        return facts

    return _wait_for(look, "scheduler", folder, record)


def _wait_for_workers(folder: ClusterFolder, record: ClusterRecord) -> None:
    from distributed import Client

    assert record.address is not None
    security = record.tls.security() if record.tls else None
    with Client(record.address, security=security, set_as_default=False) as client:

        def look() -> bool | None:
            found = len(client.scheduler_info(n_workers=-1)["workers"])
            return True if found >= record.workers else None

        _wait_for(look, "workers", folder, record)


def _wait_for(
    look: Callable[[], T | None], name: str, folder: ClusterFolder, record: ClusterRecord
) -> T:
    """Look again and again, until something is found, the process ends or time is up."""
    deadline = time.monotonic() + _START_SECONDS
    while (found := look()) is None:
        if not processes.lives(record.pids[name]):
            raise _not_started(f"the {name} ended while starting", name, folder)
        if time.monotonic() > deadline:
            raise _not_started(f"the {name} took more than {_START_SECONDS:.0f} s", name, folder)
        time.sleep(_LOOK_SECONDS)
    return found


def _not_started(problem: str, name: str, folder: ClusterFolder) -> MachineError:
    lines = folder.log(name).read_text(encoding="utf-8", errors="replace").splitlines()
    said = "".join(f"\n  {line[:200]}" for line in lines[-5:])
    return MachineError(
        f"{problem}; nothing is left running. The end of {folder.log(name)}:{said}",
        log=str(folder.log(name)),
    )
