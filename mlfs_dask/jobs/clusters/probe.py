"""What one process says of itself and its machine; runs on clients, schedulers and workers."""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from mlfs_dask.jobs.clusters.versions import installed_versions


class Pool(Struct, frozen=True):
    """A library with threads of its own.

    Attributes
    ----------
    library
        Its name, for example ``"openblas"`` or ``"numba"``.
    threads
        How many it uses.
    architecture
        Processor it was compiled or chosen for, where it says so.
    """

    library: str
    threads: int
    architecture: str | None


class Facts(Struct, frozen=True, kw_only=True):
    """A process that runs kernels.

    Attributes
    ----------
    host
        Name of the machine.
    versions
        As `installed_versions`.
    cores
        That the process may use.
    memory_bytes
        That the process may use: of the machine, of its container, or what a batch system grants.
    machine_bytes
        Of the machine or container: what all processes there share.
    processor
        As the compiler of the kernels names it.
    pools
        Libraries with threads.
    kernels
        Why kernels cannot be used; None if they can.
    numba_cache
        Folder of compiled code, or None if there is no writable one.
    folder
        Where the process writes what does not fit into memory.
    free_bytes
        Of the disk that holds `folder`.
    """

    host: str
    versions: dict[str, str | None]
    cores: int
    memory_bytes: int
    machine_bytes: int
    processor: str | None
    pools: list[Pool]
    kernels: str | None
    numba_cache: str | None
    folder: str
    free_bytes: int


class SchedulerFacts(Struct, frozen=True, kw_only=True):
    """A scheduler.

    Attributes
    ----------
    host
        Name of the machine.
    versions
        As `installed_versions`.
    allowed_failures
        Workers that a task may lose.
    worker_ttl
        Seconds after which a silent worker is given up; None: never.
    pages
        Addresses that its pages listen at.
    pages_encrypted
        Whether they are served by HTTPS.
    """

    host: str
    versions: dict[str, str | None]
    allowed_failures: int
    worker_ttl: float | None
    pages: list[str]
    pages_encrypted: bool


def probe(dask_worker: Any = None) -> Facts:
    """Facts of this process.

    Parameters
    ----------
    dask_worker
        Given by Dask where it runs on a worker.
    """
    from distributed.system import MEMORY_LIMIT

    from mlfs_dask.graphs.executor import available_cores

    folder = dask_worker.local_directory if dask_worker is not None else _scratch()
    kernels = _kernels_error()
    return Facts(
        host=socket.gethostname(),
        versions=installed_versions(),
        cores=available_cores(),
        memory_bytes=int(MEMORY_LIMIT),
        machine_bytes=_machine_bytes(int(MEMORY_LIMIT)),
        processor=_processor(),
        pools=_pools() if kernels is None else [],
        kernels=kernels,
        numba_cache=_numba_cache(),
        folder=folder,
        free_bytes=free_bytes(folder),
    )


def probe_scheduler(dask_scheduler: Any) -> SchedulerFacts:
    """Facts of the scheduler that runs this; it needs no kernels and imports none.

    Parameters
    ----------
    dask_scheduler
        Given by Dask.
    """
    server = dask_scheduler.http_server
    sockets = [] if server is None else server._sockets.values()
    return SchedulerFacts(
        host=socket.gethostname(),
        versions=installed_versions(),
        allowed_failures=int(dask_scheduler.allowed_failures),
        worker_ttl=dask_scheduler.worker_ttl,
        pages=sorted({str(each.getsockname()[0]) for each in sockets}),
        pages_encrypted=server is not None and server.ssl_options is not None,
    )


def store_digest(path: str) -> str:
    """Digest of the store that this process sees at a path.

    Parameters
    ----------
    path
        Absolute path, or address.

    Raises
    ------
    StoreError
        It sees none, or a damaged one.
    """
    from mlfs_dask.storage.places import place
    from mlfs_dask.storage.store import open_store

    return open_store(place(path)).digest


def answer_note(folder: str, note: str, answer: str, seconds: float) -> bool:
    """Read a file that another process wrote, and write one beside it.

    Parameters
    ----------
    folder
        Where both lie.
    note, answer
        Names of the file to be read and of the one to be written.
    seconds
        How long a shared disk may take to show the first.

    Returns
    -------
    bool
        Whether the note was seen.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    from mlfs_dask.storage.atomic import create_file
    from mlfs_dask.storage.places import place

    deadline = time.monotonic() + seconds
    while not (place(folder) / note).exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    create_file(place(folder) / answer, answer.encode())
    return True


def free_bytes(folder: str | Path) -> int:
    """Free bytes of the disk that holds a folder, or will hold it once it is made.

    Parameters
    ----------
    folder
        Any path.
    """
    path = Path(folder).absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def _machine_bytes(own: int) -> int:
    """Dask's figure, unless that comes from a limit that is set for each process alone."""
    import resource

    import psutil

    _, of_each = resource.getrlimit(resource.RLIMIT_RSS)
    return int(psutil.virtual_memory().total) if 0 < of_each <= own else own


def _scratch() -> str:
    import tempfile

    import dask

    return str(dask.config.get("temporary-directory", None) or tempfile.gettempdir())


def _kernels_error() -> str | None:
    try:
        import mlfs_dask.kernels.bits  # noqa: F401  compiles nothing, but numba looks for its cache
    except Exception as error:  # whatever it is, it is what the user wants to know
        return f"{type(error).__name__}: {error}"
    return None


def _processor() -> str | None:
    try:
        from llvmlite.binding import get_host_cpu_name
    except ImportError:
        return None
    return str(get_host_cpu_name())


def _pools() -> list[Pool]:
    import numba
    import scipy.linalg  # noqa: F401  brings its BLAS
    from threadpoolctl import threadpool_info

    found = [
        Pool(pool["internal_api"], pool["num_threads"], pool.get("architecture"))
        for pool in threadpool_info()
    ]
    return [*dict.fromkeys(found), Pool("numba", vars(numba.config)["NUMBA_NUM_THREADS"], None)]


def _numba_cache() -> str | None:
    """Where numba keeps compiled kernels: the folder named, or the one beside them."""
    import mlfs_dask

    named = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(named) if named else Path(mlfs_dask.__file__).parent / "kernels" / "__pycache__"
    probed = folder
    while not probed.exists():
        probed = probed.parent
    return str(folder) if os.access(probed, os.W_OK) else None
