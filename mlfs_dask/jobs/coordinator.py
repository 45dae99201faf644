"""Starting runs and taking them up: what must hold before a coordinator may write a folder."""

from __future__ import annotations

import logging
import shlex
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec

from mlfs_dask.errors import RunFolderError
from mlfs_dask.graphs.budget import NOTHING, use_memory
from mlfs_dask.jobs.cancel import clear_cancel
from mlfs_dask.jobs.data import open_datasets, refuse_values
from mlfs_dask.jobs.digest import job_digest, run_id
from mlfs_dask.jobs.driver import Driver
from mlfs_dask.jobs.inputs import keep_files
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.lease import Lease, own
from mlfs_dask.jobs.loghandler import log_handler
from mlfs_dask.jobs.manifest import (
    check_manifest,
    describe_dataset,
    make_manifest,
    saved_digests,
    saved_job,
)
from mlfs_dask.jobs.order import Finished, Order, interrupted_error
from mlfs_dask.jobs.plan import Plan, make_plan
from mlfs_dask.jobs.progress import Progress, Silent
from mlfs_dask.jobs.removal import clear_leftovers
from mlfs_dask.jobs.replay import Replay
from mlfs_dask.jobs.rundir import RunFolder, all_runs, write_bytes, write_json
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.sizes import parse_bytes
from mlfs_dask.storage.atomic import machine_faults, make_parent
from mlfs_dask.storage.dataset import Dataset
from mlfs_dask.storage.places import ObjectPlace

__all__ = [
    "Finished",
    "Order",
    "interrupted_error",
    "prepare_run",
    "resume_command",
    "resume_run",
    "run_job",
]


def run_job(order: Order) -> Finished:
    """Run a job to its end, or take it up where it was left; failed units are tried again.

    Parameters
    ----------
    order
        The job, and how to run it.

    Returns
    -------
    Finished
        A finished job is returned without any work.

    Raises
    ------
    JobFileError, PlanError, NotFoundError, StoreError
        The job cannot run on these data; nothing was written.
    RunFolderError
        The folder was changed, belongs to something else, or another process writes it.
    RunInterruptedError
        Ctrl-C, SIGTERM or `mlfs cancel`; what is finished is kept.
    MachineError
        The disk is full or refuses; what is finished is kept.
    """
    folder, datasets = _choose_folder(order, open_datasets(order.job, order.file))
    return _run(folder, order, datasets, retry_failed=True)


def prepare_run(order: Order) -> RunFolder:
    """Make the folder of a run without running it, or find the one that is there.

    Parameters
    ----------
    order
        The job, and how to run it.

    Raises
    ------
    JobFileError, PlanError, NotFoundError, StoreError, RunFolderError, MachineError
        As in `run_job`.
    """
    folder, datasets = _choose_folder(order, open_datasets(order.job, order.file))
    if _is_finished(folder) or (folder.exists and folder.owner() is not None):
        return folder
    make_plan(order.job, datasets, runs=order.runs)
    if folder.exists:
        check_manifest(folder, order.job, datasets)
        return folder
    with use_memory(NOTHING):
        refuse_values(order.job, datasets, order.file)
    with machine_faults("make the run folder", folder.path):
        make_parent(folder.manifest)
    with own(folder.path, folder.lock):
        if not folder.exists:
            _create(folder, replace(order, job=keep_files(order.job, folder.inputs)), datasets)
    return folder


def resume_run(
    folder: RunFolder,
    *,
    retry_failed: bool = False,
    workers: int | None = None,
    command: str = "",
    progress: Progress | None = None,
    client: Any = None,
    chain: str = "",
) -> Finished:
    """Take a run up from its folder alone.

    Parameters
    ----------
    folder
        The run.
    retry_failed
        Whether units that failed are tried again; else only what was never done is.
    workers
        Worker processes; default as the run was started.
    command
        The command that takes the run up again, for messages.
    progress
        Gets told how far it is.
    client
        Dask client whose cluster does the units.
    chain
        Name of a series of owners, each of which takes the run from the one before; see
        `mlfs_dask.jobs.lease.own`.

    Returns
    -------
    Finished
        A finished run is returned without any work.

    Raises
    ------
    NotFoundError, StoreError, RunFolderError
        The data are gone, or the data, the job or the versions are others than at the start.
    LeaseLostError
        Another process took the run over.
    RunInterruptedError, MachineError
        As in `run_job`.
    """
    if _is_finished(folder):
        return Finished(folder, "done", fresh=False)
    job = saved_job(folder)
    if workers is not None:
        job = msgspec.structs.replace(job, run=msgspec.structs.replace(job.run, workers=workers))
    order = Order(
        job=job,
        text=b"",
        file=str(folder.job),
        runs=folder.path.parent,
        command=command,
        progress=progress or Silent(),
        client=client,
    )
    datasets = open_datasets(job, order.file, saved_digests(folder))
    return _run(folder, order, datasets, retry_failed=retry_failed, chain=chain)


def _kept_here(order: Order, plan: Plan) -> int | None:
    """Memory to keep tiles by: a process that hands units to workers never needs them again."""
    if order.client is not None or plan.workers > 0:
        return NOTHING
    return parse_bytes(order.job.run.memory_per_worker or "")


def _run(
    folder: RunFolder,
    order: Order,
    datasets: Sequence[Dataset],
    *,
    retry_failed: bool,
    chain: str = "",
) -> Finished:
    plan = make_plan(order.job, datasets, runs=order.runs)
    if folder.exists:
        check_manifest(folder, order.job, datasets)
        if _is_finished(folder):
            return Finished(folder, "done", fresh=False)
    with use_memory(_kept_here(order, plan)):
        refuse_values(order.job, datasets, order.file)
    with machine_faults("make the run folder", folder.path):
        make_parent(folder.manifest)
    with own(folder.path, folder.lock, chain=chain) as lease:
        order = replace(order, job=keep_files(order.job, folder.inputs))
        if not folder.exists:
            _create(folder, order, datasets)
        with machine_faults("make the run folder", folder.path):
            folder.units.mkdir(exist_ok=True)  # may be lost: what was in it is done again
        clear_cancel(folder)
        replay = Replay()
        with (
            folder.reserved(),
            _log_to(folder),
            _journal(folder, replay, lease) as journal,
        ):
            _refuse_other_run(folder, replay)
            replay.check(folder)
            if retry_failed:
                replay.failed.clear()
            driver = Driver(folder, order, datasets, journal, replay, lease.check, lease.broken_off)
            return driver.run(plan)


def _journal(folder: RunFolder, replay: Replay, lease: Lease) -> Journal:
    """The journal, this owner's; see `mlfs_dask.jobs.lease` for why it may be put in place anew."""
    return Journal(folder.journal, replay, guard=lease.check, renew=lease.cut_off)


def _is_finished(folder: RunFolder) -> bool:
    return folder.read_state()["state"] == "done" and folder.results.is_file()


def _choose_folder(
    order: Order, datasets: Sequence[Dataset]
) -> tuple[RunFolder, Sequence[Dataset]]:
    """The folder of a job on these data, and the data as they were when its run began."""
    if isinstance(order.runs, ObjectPlace):
        clear_leftovers(order.runs)  # nothing of a run that was removed may seem to be of this one
    digest = job_digest(order.job, [(dataset.name, dataset.digest) for dataset in datasets])
    first = order.runs / run_id(order.job.name, digest)
    if not order.force:
        begun = None if RunFolder(first).exists else _begun_earlier(order, datasets)
        return begun or (RunFolder(first), datasets)
    if not RunFolder(first).exists:
        return RunFolder(first), datasets
    number = 2
    while (path := first.with_name(f"{first.name}-{number}")).exists():
        number += 1
    return RunFolder(path), datasets


def _begun_earlier(
    order: Order, datasets: Sequence[Dataset]
) -> tuple[RunFolder, Sequence[Dataset]] | None:
    """The run that follows these data since they had fewer blocks; the latest if there are more."""
    if not any(order.job.follows(dataset.name) for dataset in datasets):
        return None
    found = []
    for folder in all_runs(order.runs):
        manifest = read_manifest(folder.manifest)
        entries = [(entry["name"], entry["digest"]) for entry in manifest["datasets"]]
        names = [dataset.name for dataset in datasets]
        if manifest["name"] != order.job.name or [name for name, _ in entries] != names:
            continue
        on_chain = all(
            digest in dataset.chain for (_, digest), dataset in zip(entries, datasets, strict=True)
        )
        if on_chain and folder.id == run_id(order.job.name, job_digest(order.job, entries)):
            found.append((manifest["created"], folder))
    if not found:
        return None
    _, folder = max(found, key=lambda item: item[0])
    return folder, open_datasets(order.job, order.file, saved_digests(folder))


def _create(folder: RunFolder, order: Order, datasets: Sequence[Dataset]) -> None:
    write_bytes(folder.job, order.text)
    write_json(folder.resolved, order.job.resolved())
    write_json(folder.datasets, {dataset.name: describe_dataset(dataset) for dataset in datasets})
    write_json(folder.manifest, make_manifest(folder.id, order.job, datasets))


def _refuse_other_run(folder: RunFolder, replay: Replay) -> None:
    if replay.run not in (None, read_manifest(folder.manifest)["run"]):
        raise RunFolderError(
            f"{folder.journal} is the journal of another run, {replay.run}",
            hint="Put the run's own journal back, or start the job again with --force.",
            path=str(folder.journal),
        )


def resume_command(*words: str) -> str:
    """A command line as a user would type it.

    Parameters
    ----------
    *words
        Its parts.
    """
    return shlex.join(words)


@contextmanager
def _log_to(folder: RunFolder) -> Iterator[None]:
    """Copy the package's log into the run folder, each line with the run's id."""
    with machine_faults("write the log", folder.log):
        handler = log_handler(folder.log)
    handler.setFormatter(
        logging.Formatter(f"%(asctime)s %(levelname)s {folder.id} %(name)s: %(message)s")
    )
    if threading.current_thread() is not threading.main_thread():
        thread = threading.get_ident()  # a worker may hold the coordinators of several runs
        handler.addFilter(lambda record: record.thread == thread)
    logger = logging.getLogger("mlfs_dask")
    level = logger.level
    logger.addHandler(handler)
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        with machine_faults("write the log", folder.log):
            handler.close()
