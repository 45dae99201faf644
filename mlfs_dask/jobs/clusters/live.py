"""A cluster as it is now: what its scheduler says of itself and of its workers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class LiveWorker(Struct, frozen=True, kw_only=True):
    """One worker.

    Attributes
    ----------
    address, host
        Where it is.
    status
        Dask's word: ``"running"``, ``"paused"``, ...
    threads
        Tasks at the same time.
    processing
        Tasks in hand and waiting there.
    memory_bytes, memory_limit_bytes
        Resident memory, and what it may have; None without a limit.
    resources
        What it declares.
    folder
        Where it spills.
    """

    address: str
    host: str
    status: str
    threads: int
    processing: int
    memory_bytes: int
    memory_limit_bytes: int | None
    resources: dict[str, float]
    folder: str


class Live(Struct, frozen=True, kw_only=True):
    """A cluster.

    Attributes
    ----------
    address
        Of the scheduler.
    dashboard
        Its page, or None. The host is the scheduler's own view: 127.0.0.1 is that machine's.
    workers
        By address.
    """

    address: str
    dashboard: str | None
    workers: list[LiveWorker]


def look(client: Any) -> Live:
    """Ask a scheduler.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    """
    facts = client.run_on_scheduler(_facts)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return Live(
        address=client.scheduler.address,
        dashboard=facts["dashboard"],
        workers=[
            LiveWorker(
                address=address,
                host=worker["host"],
                status=worker["status"],
                threads=worker["nthreads"],
                processing=facts["processing"].get(address, 0),
                memory_bytes=worker["metrics"].get("memory", 0),
                memory_limit_bytes=worker["memory_limit"] or None,
                resources=worker["resources"],
                folder=worker["local_directory"],
            )
            for address, worker in sorted(workers.items())
        ],
    )


def _facts(dask_scheduler: Any) -> dict[str, Any]:
    """Runs in the scheduler."""
    return {
        "dashboard": _dashboard(dask_scheduler),
        "processing": {w.address: len(w.processing) for w in dask_scheduler.workers.values()},
    }


def _dashboard(scheduler: Any) -> str | None:
    server = scheduler.services.get("dashboard")
    if server is None:
        return None
    protocol = "https" if server.ssl_options is not None else "http"
    host = f"[{server.address}]" if ":" in server.address else server.address
    return f"{protocol}://{host}:{server.port}/status"
