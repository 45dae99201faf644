"""The coordinator: starts a run or takes one up, hands out units, keeps what they give.

The folder is the whole state. A unit is committed once: its result is renamed into place, then its
line goes into the journal; a run that is taken up again skips every unit with both.
"""

from __future__ import annotations

import hashlib
import logging
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mlfs_dask.errors import MlfsError, RunInterruptedError
from mlfs_dask.jobs import lock
from mlfs_dask.jobs.agenda import Agenda
from mlfs_dask.jobs.backends import Backend, InProcess, LocalProcesses, OnClient
from mlfs_dask.jobs.data import names, open_datasets, refuse_missing_values
from mlfs_dask.jobs.digest import job_digest, run_id, versions
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.interrupt import StopRequest, stop_on_signals
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.manifest import check_manifest, describe_dataset, make_manifest
from mlfs_dask.jobs.perform import Address
from mlfs_dask.jobs.plan import Plan, make_plan
from mlfs_dask.jobs.progress import Progress, Silent
from mlfs_dask.jobs.replay import finished_units
from mlfs_dask.jobs.results import read_unit, write_results
from mlfs_dask.jobs.rundir import RunFolder, State, runs_folder, write_bytes, write_json
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.units import Unit, units_of
from mlfs_dask.jobs.work import Outcome, Task
from mlfs_dask.storage.atomic import machine_faults, make_parent
from mlfs_dask.storage.dataset import Dataset

_LOG = logging.getLogger(__name__)
_STATE_SECONDS: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Order:
    """A job to be run, and how.

    Attributes
    ----------
    job
        Resolved job.
    text
        The job file as submitted.
    file
        Its name, for messages.
    runs
        Folder of all runs; default ``$MLFS_RUNS``, else ``./runs``.
    force
        Start a new run even if there is one.
    command
        The command that takes the run up again, for messages.
    progress
        Gets told how far it is.
    client
        Dask client whose cluster does the units, whatever ``[run]`` says.
    """

    job: Job
    text: bytes
    file: str = "job.toml"
    runs: Path = field(default_factory=runs_folder)
    force: bool = False
    command: str = ""
    progress: Progress = field(default_factory=Silent)
    client: Any = None


@dataclass(frozen=True)
class Finished:
    """What a call of `run_job` came to.

    Attributes
    ----------
    folder
        The run.
    state
        ``"done"`` or ``"partial"``.
    fresh
        Whether any unit ran; false for a run that was finished before.
    failures
        What failed: unit and message.
    """

    folder: RunFolder
    state: str
    fresh: bool
    failures: tuple[Outcome, ...] = ()


def run_job(order: Order) -> Finished:
    """Run a job to its end, or take it up where it was left.

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
        Ctrl-C or SIGTERM; what is finished is kept.
    MachineError
        The disk is full or refuses; what is finished is kept.
    """
    datasets = open_datasets(order.job, order.file)
    plan = make_plan(order.job, datasets, runs=order.runs)
    folder = _choose_folder(order, datasets)
    if folder.exists:
        check_manifest(folder, datasets)
        if folder.read_state()["state"] == "done" and folder.results.is_file():
            return Finished(folder, "done", fresh=False)
    refuse_missing_values(order.job, datasets, order.file)
    with machine_faults("make the run folder", folder.path):
        make_parent(folder.manifest)
    with lock.hold(folder.lock):
        if not folder.exists:
            _create(folder, order, datasets)
        with _log_to(folder), Journal(folder.journal) as journal:
            return _Coordinator(folder, order, datasets, journal).run(plan)


def _choose_folder(order: Order, datasets: Sequence[Dataset]) -> RunFolder:
    digest = job_digest(order.job, [(dataset.name, dataset.digest) for dataset in datasets])
    first = order.runs / run_id(order.job.name, digest)
    if not order.force or not RunFolder(first).exists:
        return RunFolder(first)
    number = 2
    while (path := first.with_name(f"{first.name}-{number}")).exists():
        number += 1
    return RunFolder(path)


def _create(folder: RunFolder, order: Order, datasets: Sequence[Dataset]) -> None:
    with machine_faults("make the run folder", folder.path):
        folder.units.mkdir(exist_ok=True)
    write_bytes(folder.job, order.text)
    write_json(folder.resolved, order.job.resolved())
    write_json(folder.datasets, {dataset.name: describe_dataset(dataset) for dataset in datasets})
    write_json(folder.manifest, make_manifest(folder.id, order.job, datasets))


class _Coordinator:
    """One call of `run_job` on a folder that is locked."""

    def __init__(
        self, folder: RunFolder, order: Order, datasets: Sequence[Dataset], journal: Journal
    ) -> None:
        self._folder = folder
        self._order = order
        self._datasets = datasets
        self._journal = journal
        self._units = units_of(order.job, names(datasets))
        self._sizes = {dataset.name: Sizes.of(dataset) for dataset in datasets}
        self._addresses = {d.name: Address(d.path, d.digest) for d in datasets}
        self._done = finished_units(folder, journal)
        self._failures: list[Outcome] = []
        self._told: set[str] = set()
        self._state_written = 0.0
        self._n_tasks = 0

    def run(self, plan: Plan) -> Finished:
        agenda = Agenda(self._order.job, self._units, self._sizes, self._done)
        self._write_state("running")
        self._say_start(plan)
        try:
            with stop_on_signals(self._say_stop) as stop:
                if len(agenda):
                    self._drive(agenda, self._backend(plan, stop), stop)
        except BaseException as error:
            self._end_early(error)
            raise
        if stop():
            raise self._interrupted(stop)
        return self._finish()

    def _backend(self, plan: Plan, stop: StopRequest) -> Backend:
        if self._order.client is not None:
            return OnClient(self._order.client)
        if plan.workers == 0:
            return InProcess(stop)
        return LocalProcesses(plan.workers, self._order.job.run.memory_per_worker)

    def _drive(self, agenda: Agenda, backend: Backend, stop: StopRequest) -> None:
        """Hand out tasks while there are any, commit what comes back."""
        with backend:
            _LOG.info("%s: running %s", self._folder.id, backend.description)
            self._order.progress.start(
                self._folder.id,
                done=len(self._done),
                total=len(self._units),
                where=backend.description,
            )
            while True:
                while not stop() and backend.has_room and (units := agenda.next()) is not None:
                    backend.submit(self._task(units))
                if backend.n_in_flight == 0:
                    return
                for outcome in backend.collect():
                    self._commit(outcome)
                    agenda.finish(outcome.unit, failed=outcome.payload is None)

    def _task(self, units: tuple[Unit, ...]) -> Task:
        self._n_tasks += 1
        own = {unit.id for unit in units}
        needed = {unit.needs.id for unit in units if unit.needs is not None} - own
        return Task(
            name=str(self._n_tasks),
            job=self._order.job,
            addresses={unit.dataset: self._addresses[unit.dataset] for unit in units},
            units=units,
            orders={
                unit_id: tuple(read_unit(self._folder, unit_id)["order"])
                for unit_id in sorted(needed & self._done)
            },
        )

    def _commit(self, outcome: Outcome) -> None:
        unit = outcome.unit
        facts: dict[str, Any] = {"unit": unit.id, "what": str(unit), "worker": outcome.worker}
        if outcome.payload is None:
            assert outcome.failure is not None
            self._failures.append(outcome)
            failure = outcome.failure
            self._journal.append(
                "failed",
                **facts,
                error=failure.error,
                message=failure.message,
                traceback=failure.traceback,
            )
            level = logging.DEBUG if failure.message in self._told else logging.ERROR
            _LOG.log(level, "failed: %s: %s", unit, failure.message)
            self._told.add(failure.message)
        else:
            file = self._folder.write_unit(unit.id, outcome.payload)
            self._journal.append(
                "unit",
                files=[file],
                **facts,
                sha256=hashlib.sha256(outcome.payload).hexdigest(),
                bytes=len(outcome.payload),
                seconds=round(outcome.seconds, 6),
                notes=list(outcome.notes),
            )
            self._done.add(unit.id)
            _LOG.debug("done in %.3f s: %s", outcome.seconds, unit)
        self._order.progress.unit(outcome)
        if time.monotonic() - self._state_written > _STATE_SECONDS:
            self._write_state("running")

    def _finish(self) -> Finished:
        state: State = "partial" if self._failures else "done"
        outputs = write_results(
            self._folder, self._order.job, self._units, self._done, self._journal
        )
        self._journal.append("finish", state=state)
        self._journal.sync()
        self._write_state(state, failed=len(self._failures), outputs=outputs)
        self._order.progress.end(state)
        _LOG.info("%s: %s", self._folder.id, state)
        return Finished(self._folder, state, fresh=True, failures=tuple(self._failures))

    def _write_state(self, state: State, **facts: Any) -> None:
        self._state_written = time.monotonic()
        done, total = len(self._done), len(self._units)
        self._folder.write_state(state, done=done, total=total, **facts)

    def _say_start(self, plan: Plan) -> None:
        left = len(self._units) - len(self._done)
        _LOG.info("%s: %d of %d units to do", self._folder.id, left, len(self._units))
        self._journal.append(
            "start",
            run=self._folder.id,
            units=len(self._units),
            done=len(self._done),
            workers=plan.workers,
            versions=versions(),
        )
        for warning in plan.warnings:
            self._journal.append("incident", message=warning)
            _LOG.warning("%s", warning)

    def _say_stop(self, name: str) -> None:
        _LOG.warning("%s: stopping after the units in hand; once more stops at once", name)

    def _end_early(self, error: BaseException) -> None:
        """Leave word of what ended the run, as far as the disk allows."""
        self._order.progress.end("interrupted")
        interrupted = isinstance(error, KeyboardInterrupt)
        try:
            self._journal.append("stop", error=type(error).__name__, message=str(error))
            self._write_state("interrupted" if interrupted else "failed", message=str(error))
        except MlfsError as second:
            _LOG.error("and its end could not be noted: %s", second)

    def _interrupted(self, stop: StopRequest) -> RunInterruptedError:
        self._journal.append("stop", signal=stop.signal)
        self._write_state("interrupted")
        self._order.progress.end("interrupted")
        return interrupted_error(self._folder.id, self._order.command)


def interrupted_error(run: str, command: str) -> RunInterruptedError:
    """The error of a run that was stopped, with the command to go on.

    Parameters
    ----------
    run
        Its id or name.
    command
        What takes it up again.
    """
    return RunInterruptedError(
        f"{run} was stopped; what is finished is kept",
        hint=f"Go on with: {command}" if command else "Start the same job again to go on.",
        run=run,
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
        handler = logging.FileHandler(folder.log, encoding="utf-8")
    handler.setFormatter(
        logging.Formatter(f"%(asctime)s %(levelname)s {folder.id} %(name)s: %(message)s")
    )
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
        handler.close()
