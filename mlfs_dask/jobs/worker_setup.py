"""What each worker process of an embedded cluster does first."""

from __future__ import annotations

import signal
from typing import Any

from distributed import WorkerPlugin

from mlfs_dask.jobs import paused


class WorkerSetup(WorkerPlugin):
    """Makes a worker, also one that replaces a dead one, ignore Ctrl-C, and not wait in vain.

    A terminal sends Ctrl-C to the whole group of processes; the coordinator decides what it means.
    """

    name = "mlfs-setup"

    def setup(self, worker: Any) -> None:
        """Run in the worker's main thread."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        paused.watch(worker)
