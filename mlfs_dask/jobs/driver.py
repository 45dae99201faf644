"""The loop of a run: hands out units, writes down what they decide, keeps what they give.

The folder is the whole state. A unit is committed once: its result is renamed into place, then its
line goes into the journal; a run that is taken up again skips every unit with both, and hands a
selector that was in the middle the decisions it had made.
"""

from __future__ import annotations

import hashlib
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from mlfs_dask.errors import LeaseLostError, MlfsError, RunInterruptedError
from mlfs_dask.jobs.agenda import Agenda
from mlfs_dask.jobs.backends import Backend, InProcess
from mlfs_dask.jobs.cancel import cancel_flag, clear_cancel
from mlfs_dask.jobs.data import names
from mlfs_dask.jobs.digest import versions
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.feeds import Feeds, followed
from mlfs_dask.jobs.interrupt import StopRequest, stop_on_signals
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.order import Finished, Order, interrupted_error
from mlfs_dask.jobs.outputs import write_results
from mlfs_dask.jobs.perform import Address, Selected
from mlfs_dask.jobs.plan import Plan
from mlfs_dask.jobs.replay import Replay
from mlfs_dask.jobs.results import read_unit
from mlfs_dask.jobs.rundir import RunFolder, State
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.units import Unit, part_for, units_of
from mlfs_dask.jobs.work import Failure, Outcome, Task
from mlfs_dask.storage.dataset import Dataset
from mlfs_dask.wording import counted

_LOG = logging.getLogger(__name__)
_STATE_SECONDS: Final = 1.0
_WAIT_SECONDS: Final = 0.2


class Driver:
    """One coordinator at work on a folder that it has locked.

    Parameters
    ----------
    folder
        The run.
    order
        What to do.
    datasets
        Its opened data sets.
    journal
        Of the run, open for writing.
    replay
        What the journal says so far; units it holds as failed are not tried again.
    guard
        Raises if this process may write the run no more.
    broken_off
        What became of the process that wrote the run before, if it did not leave of itself.
    """

    def __init__(
        self,
        folder: RunFolder,
        order: Order,
        datasets: Sequence[Dataset],
        journal: Journal,
        replay: Replay,
        guard: Callable[[], None],
        broken_off: str = "",
    ) -> None:
        self._folder = folder
        self._order = order
        self._journal = journal
        self._guard = guard
        self._broken_off = broken_off
        self._units = units_of(order.job, names(datasets))
        self._feeds = Feeds(folder, journal, followed(order.job, self._units, datasets, replay))
        self._sizes = {dataset.name: Sizes.of(dataset) for dataset in datasets}
        self._addresses = {d.name: Address(d.path, d.digest) for d in datasets}
        self._done = replay.done
        self._decided = replay.decided
        by_id = {unit.id: unit for unit in self._units}
        self._failures = {
            unit: (by_id[unit], failure)
            for unit, failure in replay.failed.items()
            if unit in by_id and unit not in replay.done
        }
        self._session = uuid.uuid4().hex
        self._signal = StopRequest()
        self._is_cancelled: Callable[[], bool] = cancel_flag(folder)
        self._told: set[str] = set()
        self._state_written = 0.0
        self._n_tasks = 0

    def run(self, plan: Plan) -> Finished:
        """Do what is left, put the results together.

        Parameters
        ----------
        plan
            Of the job.

        Raises
        ------
        RunInterruptedError
            A signal or a request to cancel; what is finished is kept.
        LeaseLostError
            Another process took the run over.
        MachineError
            The disk is full or refuses.
        """
        agenda = Agenda(
            self._order.job,
            self._units,
            self._sizes,
            self._done,
            self._failures,
            self._feeds.units,
        )
        try:
            self._write_state("running")
            self._say_start(plan)
            with stop_on_signals(self._signal, self._say_stop):
                if len(agenda):
                    self._drive(agenda, self._backend(plan))
            if not self.should_stop():
                return self._finish()
        except BaseException as error:
            self._end_early(error)
            raise
        raise self._interrupted()

    def _backend(self, plan: Plan) -> Backend:
        run, client = self._order.job.run, self._order.client
        if client is None and plan.workers == 0:
            return InProcess(self, run.memory_per_worker)
        from mlfs_dask.jobs.local_processes import LocalProcesses
        from mlfs_dask.jobs.on_cluster import OnClient, Share

        if client is not None:
            share = Share(priority=run.priority, most=run.most_at_once)
            return OnClient(client, self, self._session, self._folder.path, share)
        return LocalProcesses(
            plan.workers, run.memory_per_worker, self, self._session, self._folder.path
        )

    def _drive(self, agenda: Agenda, backend: Backend) -> None:
        """Hand out tasks while there are any, commit what comes back."""
        with backend:
            _LOG.info("%s: running %s", self._folder.id, backend.description)
            if backend.page:
                _LOG.info("%s: its page, while it runs: %s", self._folder.id, backend.page)
            self._order.progress.start(
                self._folder.id,
                done=len(self._done),
                total=len(self._units),
                where=backend.description,
            )
            self._feeds.take(self._feeds.names)
            while True:
                while not self.should_stop() and backend.has_room and (units := agenda.next()):
                    n_tasks = 1 + agenda.n_ready() + backend.n_in_flight
                    backend.submit(self._task(units), agenda.seconds(units), n_tasks)
                if backend.n_in_flight == 0 and not self._is_to_wait():
                    return
                for outcome in backend.collect() if backend.n_in_flight else ():
                    if self._feeds.has_to_wait(outcome):
                        continue
                    self._commit(outcome)
                    failed = outcome.payload is None
                    seconds = 0.0 if failed else outcome.seconds
                    agenda.finish(outcome.unit, seconds=seconds, failed=failed)
                self._feeds.take(self._feeds.waiting)
                for unit in self._feeds.awake():
                    agenda.add(unit)

    def _is_to_wait(self) -> bool:
        """Wait a little for a block; false if nobody waits for one or the run shall stop."""
        if self.should_stop() or not self._feeds.waiting:
            return False
        if self._feeds.begin_to_wait():
            self._write_state("running", waiting=self._feeds.waiting)
        time.sleep(_WAIT_SECONDS)
        return True

    def should_stop(self) -> bool:
        """Whether a signal came or somebody cancelled the run."""
        return self._signal() or self._is_cancelled()

    def steps(self, steps: Steps) -> None:
        """Journal what a selector decided.

        Parameters
        ----------
        steps
            Perhaps known already, from a worker that was lost.

        Raises
        ------
        MlfsError
            It decided otherwise than before.
        """
        if steps.unit in self._done:
            return
        known = self._decided.setdefault(steps.unit, [])
        again = known[steps.first : steps.first + len(steps.decided)]
        if list(steps.decided[: len(again)]) != again:
            raise MlfsError(
                f"{steps.unit} decided otherwise than before it was interrupted",
                hint="The selector is not deterministic, or a worker has other packages.",
            )
        new = steps.decided[len(again) :]
        if not new or steps.first > len(known):
            return
        self._journal.append(
            "step",
            unit=steps.unit,
            first=len(known),
            decided=new,
            seconds=steps.seconds,
            worker=steps.worker,
        )
        known.extend(new)
        self._order.progress.step(steps)

    def incident(self, message: str) -> None:
        """Note what the user should know of.

        Parameters
        ----------
        message
            In words.
        """
        self._journal.append("incident", message=message)
        _LOG.warning("%s: %s", self._folder.id, message)

    def renewed(self, task: Task) -> Task:
        """A task with the decisions known by now.

        Parameters
        ----------
        task
            Handed out before.
        """
        return self._task(task.units)

    def _task(self, units: tuple[Unit, ...]) -> Task:
        self._n_tasks += 1
        own = {unit.id for unit in units}
        needed = {needed.id for unit in units for needed in unit.needs} - own
        return Task(
            name=str(self._n_tasks),
            session=self._session,
            job=part_for(self._order.job, units),
            addresses={
                unit.dataset: self._feeds.give(unit) or self._addresses[unit.dataset]
                for unit in units
            },
            units=units,
            selected={
                unit_id: Selected.of(read_unit(self._folder, unit_id))
                for unit_id in sorted(needed & self._done)
            },
            decided={
                unit.id: tuple(self._decided[unit.id]) for unit in units if unit.id in self._decided
            },
        )

    def _commit(self, outcome: Outcome) -> None:
        if outcome.failure is not None:
            self._note_failure(outcome, outcome.failure)
        elif outcome.payload is not None:
            self._keep(outcome, outcome.payload)
        self._decided.pop(outcome.unit.id, None)
        self._order.progress.unit(outcome)
        if time.monotonic() - self._state_written > _STATE_SECONDS:
            self._write_state("running")

    def _keep(self, outcome: Outcome, payload: bytes) -> None:
        unit = outcome.unit
        file = self._folder.write_unit(unit.id, payload)
        self._journal.append(
            "unit",
            files=[file],
            unit=unit.id,
            what=str(unit),
            worker=outcome.worker,
            sha256=hashlib.sha256(payload).hexdigest(),
            bytes=len(payload),
            seconds=round(outcome.seconds, 6),
            notes=list(outcome.notes),
        )
        self._done.add(unit.id)
        _LOG.debug("done in %.3f s: %s", outcome.seconds, unit)

    def _note_failure(self, outcome: Outcome, failure: Failure) -> None:
        unit = outcome.unit
        self._failures[unit.id] = (unit, failure)
        self._journal.append(
            "failed",
            unit=unit.id,
            what=str(unit),
            worker=outcome.worker,
            error=failure.error,
            message=failure.message,
            hint=failure.hint,
            exit_code=failure.exit_code,
            traceback=failure.traceback,
        )
        level = logging.DEBUG if failure.message in self._told else logging.ERROR
        _LOG.log(level, "failed: %s: %s", unit, failure.message)
        self._told.add(failure.message)

    def _finish(self) -> Finished:
        state = self._end_state()
        self._guard()
        outputs = write_results(
            self._folder, self._order.job, self._units, self._done, self._journal
        )
        self._journal.append("finish", state=state)
        self._journal.sync()
        first = next((failure.message for _, failure in self._failures.values()), "")
        why = {"message": first} if state == "failed" else {}  # the others follow from the first
        self._write_state(state, failed=len(self._failures), outputs=outputs, **why)
        clear_cancel(self._folder)  # came too late
        self._order.progress.end(state)
        _LOG.info("%s: %s", self._folder.id, state)
        return Finished(self._folder, state, fresh=True, failures=tuple(self._failures.values()))

    def _end_state(self) -> State:
        """Done, or partly; failed where no unit has a result."""
        if not self._failures:
            return "done"
        return "partial" if self._done else "failed"

    def _write_state(self, state: State, **facts: Any) -> None:
        self._guard()
        self._state_written = time.monotonic()
        done, total = len(self._done), len(self._units)
        self._folder.write_state(state, done=done, total=total, **facts)

    def _say_start(self, plan: Plan) -> None:
        left = len(self._units) - len(self._done)
        _LOG.info("%s: %d of %s to do", self._folder.id, left, counted(len(self._units), "unit"))
        self._journal.append(
            "start",
            run=read_manifest(self._folder.manifest)["run"],
            units=len(self._units),
            done=len(self._done),
            **self._place(plan),
            versions=versions(),
            plan={
                "seconds": round(plan.seconds, 3),
                "memory_bytes": plan.memory_bytes,
                "memory_limit_bytes": plan.memory_limit_bytes,
            },
        )
        if self._broken_off:
            self.incident(self._broken_off)
        for warning in plan.warnings:
            self.incident(warning)

    def _place(self, plan: Plan) -> dict[str, Any]:
        client = self._order.client
        if client is None:
            return {"workers": plan.workers}
        return {"workers": len(client.scheduler_info(n_workers=-1)["workers"]), "cluster": True}

    def _say_stop(self, name: str) -> None:
        _LOG.warning("%s: stopping after the step in hand; once more stops at once", name)

    def _end_early(self, error: BaseException) -> None:
        """Leave word of what ended the run, as far as the disk allows."""
        self._order.progress.end("interrupted")
        if isinstance(error, LeaseLostError):
            return  # the run goes on elsewhere
        interrupted = isinstance(error, (KeyboardInterrupt, RunInterruptedError))
        self._folder.last_words()
        try:
            self._journal.append("stop", error=type(error).__name__, message=str(error))
            self._write_state("interrupted" if interrupted else "failed", message=str(error))
        except MlfsError as second:
            _LOG.error("and its end could not be noted: %s", second)

    def _interrupted(self) -> RunInterruptedError:
        cancelled = not self._signal()
        self._journal.append("stop", signal=self._signal.signal, cancelled=cancelled)
        self._write_state("cancelled" if cancelled else "interrupted")
        clear_cancel(self._folder)
        self._order.progress.end("interrupted")
        what = "cancelled" if cancelled else "stopped"
        return interrupted_error(self._folder.id, self._order.command, what)
