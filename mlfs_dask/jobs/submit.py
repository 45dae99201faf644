"""Submitting: a run that is made here, and seen through by a coordinator on the cluster.

The coordinator is a task of the cluster that gives its slot back (it secedes), so one worker with
one thread suffices. Its state is the run folder alone: the scheduler starts it anew when its worker
is lost, and the new one takes the run over from the old.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from mlfs_dask.errors import ClusterError
from mlfs_dask.graphs.messages import in_one_span
from mlfs_dask.jobs import lease
from mlfs_dask.jobs.clusters.settings import ALLOWED_FAILURES, COORDINATOR, COORDINATOR_SHARE
from mlfs_dask.jobs.coordinator import prepare_run
from mlfs_dask.jobs.manifest import saved_job
from mlfs_dask.jobs.order import Order
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.units import units_of
from mlfs_dask.storage.places import place
from mlfs_dask.wording import counted

_LOG = logging.getLogger(__name__)
_FIRST: Final = 1000
"""Priority of a coordinator: above all units, whatever their jobs ask for."""


class Submitted(Struct, frozen=True, kw_only=True):
    """What became of a submission.

    Attributes
    ----------
    run
        Id of the run.
    folder
        Its folder.
    state
        ``"queued"``; ``"done"`` if it was finished before; ``"running"`` if somebody is at it.
    """

    run: str
    folder: str
    state: str


SeeThrough: TypeAlias = Callable[[str, int, int], Any]
"""What the coordinator's task calls: with the path of the run folder, the number of the chain's
first owner (see `mlfs_dask.jobs.lease`) and the number that the task's own owner will have unless
the task was begun before. Importable on the cluster."""


def submit(order: Order, see_through: SeeThrough) -> Submitted:
    """Make the run of a job and hand it to the cluster.

    Parameters
    ----------
    order
        The job; its client is connected to the cluster.
    see_through
        What the coordinator's task calls.

    Raises
    ------
    JobFileError, PlanError, NotFoundError, StoreError
        The job cannot run on these data; nothing was written or submitted.
    ClusterError
        The workers do not see the run folder.
    MachineError
        The disk is full or refuses.
    """
    folder = prepare_run(order)
    state: str = folder.read_state()["state"]
    if state != "done" and folder.owner() is not None:
        state = "running"
    if state not in ("done", "running"):
        state = "queued"
        _refuse_unseen(order.client, folder)
        _warn_of_few_failures(order.client)
        hand_over(folder, order.client, see_through)
    return Submitted(run=folder.id, folder=str(folder.path.absolute()), state=state)


def hand_over(
    folder: RunFolder, client: Any, see_through: SeeThrough, *, chain: int | None = None
) -> None:
    """Have a run seen through by a task of a cluster.

    Parameters
    ----------
    folder
        A run that exists.
    client
        Connected to the cluster; it may close at once.
    see_through
        As in `submit`.
    chain
        Number of the chain's first owner; by default this one begins a chain.
    """
    from distributed import fire_and_forget

    number = lease.next_number(folder.path)
    if chain is None:
        folder.write_state("queued", **_progress(folder))
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    holders = any(COORDINATOR in worker.get("resources", {}) for worker in workers)
    if not holders:
        _LOG.info("no worker declares the resource %s: any of them may coordinate", COORDINATOR)
    with in_one_span():
        future = client.submit(
            see_through,
            str(folder.path.absolute()),
            chain or number,
            number,
            # A second submission of a run that waits is the same task, not another one.
            key=f"mlfs-coordinator-{folder.id}-{number}",
            pure=False,
            resources={COORDINATOR: COORDINATOR_SHARE} if holders else None,
            priority=_FIRST,
        )
    fire_and_forget(future)


def _progress(folder: RunFolder) -> dict[str, int]:
    """How far the run is; one that nobody was at work on yet has its units counted."""
    progress: dict[str, int] = folder.read_state()["progress"]
    if progress["total"]:
        return progress
    names = [dataset["name"] for dataset in read_manifest(folder.manifest)["datasets"]]
    return {**progress, "total": len(units_of(saved_job(folder), names))}


def _refuse_unseen(client: Any, folder: RunFolder) -> None:
    """Workers that are there must see the run; those that come later will say so themselves."""
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        _LOG.warning("the cluster has no worker yet: the run waits for the first one")
        return
    manifest = str(folder.manifest.absolute())
    seen = client.run(_sees, manifest, workers=workers, on_error="return")
    for worker, sees in seen.items():
        if isinstance(sees, Exception) and not isinstance(sees, OSError):
            raise ClusterError(
                f"worker {worker} cannot look for {manifest}: {type(sees).__name__}: {sees}",
                hint="`mlfs doctor` with the same cluster compares what is installed there.",
                workers=[worker],
            ) from sees
    blind = [worker for worker, sees in seen.items() if sees is not True]
    if blind:
        raise ClusterError(
            f"{manifest} is not seen by {len(blind)} of {counted(len(workers), 'worker')}, "
            f"the first: {blind[0]}",
            hint="Give --runs a folder that all machines of the cluster see under the same path.",
            workers=blind,
        )


def _sees(path: str) -> bool:
    return place(path).is_file()


def _warn_of_few_failures(client: Any) -> None:
    allowed = client.run_on_scheduler(_allowed_failures)
    if allowed < ALLOWED_FAILURES:
        _LOG.warning(
            "the scheduler gives a task up after %d lost workers: set "
            "distributed.scheduler.allowed-failures to %d or more, so that a coordinator outlives "
            "them",
            allowed,
            ALLOWED_FAILURES,
        )


def _allowed_failures(dask_scheduler: Any) -> int:
    return int(dask_scheduler.allowed_failures)
