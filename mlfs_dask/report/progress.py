"""How it went: sessions, times, failures, incidents and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mlfs_dask.jobs.history import FailedUnit, read_history
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.sessions import Session, read_sessions
from mlfs_dask.jobs.sizes import show_seconds
from mlfs_dask.report import words
from mlfs_dask.wording import counted, counted_by_thousands

FAILURES_SHOWN: Final = 20
_LOST: Final = "lost"


@dataclass(frozen=True)
class SessionRow:
    """One call that worked on the run."""

    started: str
    lasted: str
    where: str
    units: str
    end: str


@dataclass(frozen=True)
class FailureRow:
    """Units that failed for the same reason."""

    message: str
    hint: str
    error: str
    units: tuple[str, ...]
    traceback: str


@dataclass(frozen=True)
class Timing:
    """Seconds of one kind of unit."""

    what: str
    names: tuple[str, ...]
    units: int
    mean: str
    longest: str
    total: str


@dataclass(frozen=True)
class Note:
    """A note of the units, and whose it is."""

    text: str
    selectors: tuple[str, ...]
    units: int


@dataclass(frozen=True)
class Progress:
    """How the run went.

    Attributes
    ----------
    units
        How many units are done of how many.
    where, lasted
        On what, and how long: by the clock and of work.
    sessions
        Calls that worked on it.
    failures, n_failed
        Reasons of failures, the first few, and how many units have no result.
    incidents, notes
        Warnings and the like, each once.
    timings
        By selector and classifier, longest first.
    """

    units: str
    where: str
    lasted: str
    sessions: tuple[SessionRow, ...]
    failures: tuple[FailureRow, ...]
    more_failures: int
    n_failed: int
    incidents: tuple[str, ...]
    notes: tuple[Note, ...]
    timings: tuple[Timing, ...]


def read_progress(run: Run) -> Progress:
    """How the run went.

    Parameters
    ----------
    run
        A run with results.
    """
    folder = RunFolder(run.path)
    history = read_history(folder)
    sessions = read_sessions(folder)
    timings = run.timings
    counts = folder.read_state()["progress"]
    failures = _failures(history.failures)
    return Progress(
        units=f"{counts['done']:,} of {counted_by_thousands(counts['total'], 'unit')}",
        where=_where(run, sessions),
        lasted=_lasted(sessions, timings["unit_seconds"]),
        sessions=tuple(
            _session(session, run.state, last=session is sessions[-1]) for session in sessions
        ),
        failures=tuple(failures[:FAILURES_SHOWN]),
        more_failures=len(failures[FAILURES_SHOWN:]),
        n_failed=len(history.failures),
        incidents=tuple(incident.message for incident in history.incidents),
        notes=tuple(_notes(timings["units"])),
        timings=tuple(_timings(timings["units"])),
    )


def _where(run: Run, sessions: Sequence[Session]) -> str:
    workers = {unit["worker"] for unit in run.timings["units"]} - {_LOST}
    hosts = sorted({worker.rpartition(":")[0] for worker in workers})
    how = sorted({(session.cluster, session.workers) for session in sessions})
    kind = " and ".join(dict.fromkeys(_place(*each) for each in how))
    machine = run.manifest.get("machine", {})
    built = " ".join(str(machine[key]) for key in ("system", "processor") if key in machine)
    on = f"; {counted(len(hosts), 'machine')}: {words.listed(hosts, 8)}" if hosts else ""
    return f"{kind or 'nowhere yet'}{on}{f' ({built})' if built else ''}"


def _place(cluster: bool, workers: int) -> str:
    if cluster:
        return "on a Dask cluster"
    if workers == 0:
        return "in one process"
    return f"on {counted(workers, 'worker process', 'worker processes')}"


def _lasted(sessions: Sequence[Session], work: float) -> str:
    clock = show_seconds(sum(session.seconds for session in sessions))
    resumed = len(sessions) - 1
    again = {-1: "", 0: ", not interrupted", 1: ", taken up again once"}.get(
        resumed, f", taken up again {resumed} times"
    )
    return f"{clock} by the clock, {show_seconds(work)} of work in units{again}"


def _session(session: Session, state: str, *, last: bool) -> SessionRow:
    broken = "runs" if last and state == "running" else "broke off without a word"
    failed = f", {session.failed:,} failed" if session.failed else ""
    return SessionRow(
        started=session.started[:19].replace("T", " "),
        lasted=show_seconds(session.seconds),
        where=_where_of(session),
        units=f"{session.done:,} done, {session.done_before:,} before{failed}",
        end=session.end or broken,
    )


def _where_of(session: Session) -> str:
    if session.workers == 0 and not session.cluster:
        return "in one process"
    workers = counted_by_thousands(session.workers, "worker")
    return f"{workers} of a cluster" if session.cluster else workers


def _failures(failures: Sequence[FailedUnit]) -> list[FailureRow]:
    groups: dict[tuple[str, str], list[FailedUnit]] = {}
    for failure in failures:
        groups.setdefault((failure.error, failure.message), []).append(failure)
    return [
        FailureRow(
            message=message,
            hint=alike[0].hint or "",
            error=error,
            units=tuple(each.what for each in alike),
            traceback=alike[0].traceback,
        )
        for (error, message), alike in groups.items()
    ]


def _notes(units: Sequence[dict[str, Any]]) -> list[Note]:
    found: dict[str, list[str]] = {}
    for unit in units:
        for note in unit["notes"]:
            found.setdefault(note, []).append(words.selector_words(unit["selector"]))
    return [
        Note(
            text=text,
            selectors=tuple(dict.fromkeys(selectors)),
            units=len(selectors),
        )
        for text, selectors in found.items()
    ]


def _timings(units: Sequence[dict[str, Any]]) -> list[Timing]:
    groups: dict[tuple[str, str, str], list[float]] = {}
    for unit in units:
        selecting = unit["classifier"] is None
        key = (
            "selecting" if selecting else "judging",
            unit["dataset"],
            unit["selector"] if selecting else unit["classifier"],
        )
        groups.setdefault(key, []).append(unit["seconds"])
    ordered = sorted(groups.items(), key=lambda item: -sum(item[1]))
    return [
        Timing(
            what=what,
            names=names,
            units=len(each),
            mean=show_seconds(sum(each) / len(each)),
            longest=show_seconds(max(each)),
            total=show_seconds(sum(each)),
        )
        for (what, *rest), each in ordered
        for names in [tuple(rest)]
    ]
