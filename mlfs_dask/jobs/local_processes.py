"""Tasks on worker processes that a run starts for itself on this machine."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any, Final
from urllib.parse import quote

from mlfs_dask.errors import MachineError
from mlfs_dask.jobs.backends import Listener
from mlfs_dask.jobs.clusters.settings import (
    ALLOWED_FAILURES,
    DASHBOARD,
    DASHBOARD_RUNS,
    ONE_THREAD,
)
from mlfs_dask.jobs.on_cluster import OnClient
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.storage.places import Place
from mlfs_dask.wording import counted

_START_TIMEOUT: Final = "180s"  # starting processes on a machine that is busy with other things


class LocalProcesses(OnClient):
    """Worker processes on this machine, one thread each, reachable from this machine only.

    Parameters
    ----------
    n_workers
        Number of processes.
    memory_per_worker
        For example ``"4 GiB"``; by default an equal share of the machine's.
    listener, session, run
        As in `OnClient`.
    """

    def __init__(
        self,
        n_workers: int,
        memory_per_worker: str | None,
        listener: Listener,
        session: str,
        run: Place,
    ) -> None:
        super().__init__(None, listener, session, run)
        self._wanted = n_workers
        self._memory_limit = parse_bytes(memory_per_worker) if memory_per_worker else "auto"
        processes = counted(n_workers, "worker process", "worker processes")
        self.description = f"on {processes} of this machine"

    def _connect(self, stack: ExitStack) -> Any:
        import dask
        from distributed import Client, LocalCluster

        from mlfs_dask.jobs.worker_setup import WorkerSetup

        settings = {
            "distributed.nanny.environ": dict(ONE_THREAD),
            "distributed.logging.distributed": "error",
            "distributed.comm.timeouts.connect": _START_TIMEOUT,
            "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
            "distributed.scheduler.preload": [*_preloads(), DASHBOARD],
            DASHBOARD_RUNS: [str(self._run.parent.absolute())],
        }
        stack.enter_context(dask.config.set(settings))
        try:
            cluster: Any = LocalCluster(
                n_workers=self._wanted,
                processes=True,
                threads_per_worker=1,
                memory_limit=self._memory_limit,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.ERROR,
            )
        except (OSError, RuntimeError) as error:  # Dask says either where a process ends too soon
            raise MachineError(
                f"the worker processes of this machine did not start: {error}",
                hint="Resume the run; --workers 0 needs none, a smaller number less memory.",
            ) from error
        stack.enter_context(cluster)
        server = cluster.scheduler.http_server
        self.page = f"http://127.0.0.1:{server.port}/mlfs/runs/{quote(self._run.name)}"
        client = Client(cluster, set_as_default=False)
        client.register_plugin(WorkerSetup())
        return client


def _preloads() -> list[str]:
    """What the user has schedulers load; not a second time what is added here."""
    import dask

    given = dask.config.get("distributed.scheduler.preload")
    return [name for name in ([given] if isinstance(given, str) else given) if name != DASHBOARD]
