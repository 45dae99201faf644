"""What a worker does: the units of one task, one after the other.

Goes in: addresses and parameters. Comes out: one small JSON document per unit, and before that what
its selector decides, step by step. A unit that fails is told with its traceback and the others go
on.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

import msgspec
from msgspec import Struct, field

from mlfs_dask.errors import DegenerateInputWarning, MlfsError
from mlfs_dask.jobs.perform import Address, Selected, perform
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.steps import Steps, StepSender, UnitRecorder, this_worker
from mlfs_dask.jobs.topics import topic_of
from mlfs_dask.jobs.units import Unit
from mlfs_dask.selectors.engine import SelectionStoppedError

_MOST_STOPPED: Final = 1000
_stopped: Final[dict[str, None]] = {}
"""Sessions whose tasks this process shall leave off; a coordinator says so by `stop_session`.

The last ones: a worker that lives for months need not know each run that was ever stopped."""


class Task(Struct, frozen=True, kw_only=True):
    """Units that one worker does in one go.

    Attributes
    ----------
    name
        Unique within a session.
    session
        The coordinator's call that handed it out.
    job
        The resolved job.
    addresses
        Name of a data set -> where it lies.
    units
        What to do, selections before what judges them.
    selected
        Id of a select unit done before -> what it selected.
    decided
        Id of a select unit -> records of what it decided before it was interrupted.
    run, handed
        Path or address of the run folder, and of the file there that holds `selected` and
        `decided`, if they are large; see `mlfs_dask.jobs.handed`.
    """

    name: str
    session: str
    job: Job
    addresses: dict[str, Address]
    units: tuple[Unit, ...]
    selected: dict[str, Selected] = field(default_factory=dict)
    decided: dict[str, tuple[dict[str, Any], ...]] = field(default_factory=dict)
    run: str = ""
    handed: str = ""


class Failure(Struct, frozen=True, kw_only=True):
    """Why a unit has no result.

    Attributes
    ----------
    error
        Name of the exception's class.
    message, hint
        Its words.
    exit_code
        2 if the user can correct it, 1 if not.
    traceback
        For the log.
    """

    error: str
    message: str
    hint: str | None
    exit_code: int
    traceback: str

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Self:
        """The failure that a line of the journal tells of.

        Parameters
        ----------
        event
            A ``failed`` event.
        """
        return cls(**{name: event[name] for name in cls.__struct_fields__})


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of one unit.

    Attributes
    ----------
    unit
        The unit.
    payload
        Result as JSON; None if it failed.
    failure
        Why it failed; None if it did not.
    seconds
        How long it took.
    worker
        Host and process that did it.
    notes
        What to know about it: the road taken, warnings.
    handed
        File in the run folder that holds the payload, if it is large.
    """

    unit: Unit
    payload: bytes | None
    failure: Failure | None
    seconds: float
    worker: str
    notes: tuple[str, ...] = ()
    handed: str = ""


def run_task(
    task: Task,
    tell: Callable[[Steps], None],
    should_stop: Callable[[], bool],
) -> Iterator[Outcome]:
    """Do the units of a task; yields each outcome as it comes.

    Parameters
    ----------
    task
        What to do.
    tell
        Takes what selectors decide, step by step.
    should_stop
        Asked between steps and units; once it is true the rest is left undone.
    """
    selected = dict(task.selected)
    for unit in task.units:
        if should_stop():
            return
        if any(needed.id not in selected for needed in unit.needs):
            yield _outcome(unit, 0.0, failure=_not_selected())
            continue
        recorder = UnitRecorder(unit.id, task.decided.get(unit.id, ()), tell, should_stop)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DegenerateInputWarning)
            try:
                address = task.addresses[unit.dataset]
                result, notes = perform(task.job, unit, address, selected, recorder)
            except SelectionStoppedError:
                return
            except Exception as error:
                yield _outcome(unit, started, failure=describe(error))
                continue
        if unit.kind == "select":
            selected[unit.id] = Selected.of(result)
        notes += [str(w.message) for w in caught if _is_ours(w)]
        yield _outcome(unit, started, result=result, notes=tuple(dict.fromkeys(notes)))


@contextmanager
def tells_steps(task: Task) -> Iterator[Callable[[Steps], None]]:
    """What sends the steps of a task from a Dask worker, as events of its session.

    Parameters
    ----------
    task
        The one in hand.
    """
    from distributed import get_worker

    worker, topic = get_worker(), topic_of(task.session)
    with StepSender(lambda steps: worker.log_event(topic, steps)) as tell:
        yield tell


def stopped(task: Task) -> bool:
    """Whether this process shall leave a task off; see `stop_session`.

    Parameters
    ----------
    task
        The one in hand.
    """
    return task.session in _stopped


async def stop_session(session: str) -> None:
    """Have this worker leave off a session's tasks after the step in hand.

    A coroutine, since only these run on a worker without being waited for.

    Parameters
    ----------
    session
        As in `Task`.
    """
    _stopped[session] = None
    while len(_stopped) > _MOST_STOPPED:
        del _stopped[next(iter(_stopped))]


def describe(error: BaseException) -> Failure:
    """An exception in the words of a report.

    Parameters
    ----------
    error
        What was raised.
    """
    known = error if isinstance(error, MlfsError) else None
    return Failure(
        error=type(error).__name__,
        message=known.message if known else str(error) or type(error).__name__,
        hint=known.hint if known else None,
        exit_code=known.exit_code if known else 1,
        traceback="".join(traceback.format_exception(error)),
    )


def _outcome(
    unit: Unit,
    started: float,
    *,
    result: dict[str, Any] | None = None,
    failure: Failure | None = None,
    notes: tuple[str, ...] = (),
) -> Outcome:
    document = {"unit": unit, "result": result}
    return Outcome(
        unit=unit,
        payload=None if result is None else msgspec.json.encode(document),
        failure=failure,
        seconds=time.perf_counter() - started if started else 0.0,
        worker=this_worker(),
        notes=notes,
    )


def _not_selected() -> Failure:
    return Failure(
        error="NotRun",
        message="not run, since its selection failed",
        hint=None,
        exit_code=2,
        traceback="",
    )


def _is_ours(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, DegenerateInputWarning)
