"""Sessions of a run: from each start to its end or its break, as the journal tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from mlfs_dask.jobs.journal import iter_journal
from mlfs_dask.jobs.rundir import RunFolder


class Session(Struct, frozen=True, kw_only=True):
    """One call that worked on a run.

    Attributes
    ----------
    started, ended
        Times of its first and last event, in ISO 8601.
    seconds
        Between them.
    workers
        Worker processes it started, 0: it worked itself; or those of the cluster when it began.
    cluster
        Whether it was on a cluster that others had started.
    done_before, done, failed
        Units that were finished before it, that it finished, and that failed in it.
    steps
        Decisions it wrote down.
    end
        How it ended: ``done``, ``partial``, ``cancelled``, ``stopped by SIGINT``, an error; empty
        if it broke off without a word or still runs.
    versions
        Packages and their versions.
    """

    started: str
    ended: str
    seconds: float
    workers: int
    cluster: bool
    done_before: int
    done: int
    failed: int
    steps: int
    end: str
    versions: dict[str, str]


def read_sessions(folder: RunFolder) -> list[Session]:
    """Sessions of a run, in memory that does not grow with the length of its journal.

    Parameters
    ----------
    folder
        The run; may be running.

    Raises
    ------
    RunFolderError
        The journal was changed.
    """
    found: list[dict[str, Any]] = []
    for event, _ in iter_journal(folder.journal):
        kind = event["event"]
        if kind == "start":
            found.append(_begun(event))
        if not found:
            continue
        now = found[-1]
        now["ended"] = event["time"]
        now["done"] += kind == "unit"
        now["failed"] += kind == "failed"
        now["steps"] += len(event["decided"]) if kind == "step" else 0
        if kind in ("stop", "finish"):
            now["end"] = _end(event)
    return [Session(seconds=_seconds(facts), **facts) for facts in found]


def fruitless_starts(folder: RunFolder) -> int:
    """How often a run was begun or taken up since something was last decided or finished.

    Parameters
    ----------
    folder
        The run; may be running.

    Raises
    ------
    RunFolderError
        The journal was changed.
    """
    count = 0
    for event, _ in iter_journal(folder.journal):
        if event["event"] == "start":
            count += 1
        elif event["event"] in ("step", "unit", "failed"):
            count = 0
    return count


def _begun(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "started": event["time"],
        "ended": event["time"],
        "workers": event["workers"],
        "cluster": event.get("cluster", False),
        "done_before": event["done"],
        "done": 0,
        "failed": 0,
        "steps": 0,
        "end": "",
        "versions": event["versions"],
    }


def _end(event: dict[str, Any]) -> str:
    if event["event"] == "finish":
        return str(event["state"])
    if event.get("cancelled"):
        return "cancelled"
    if event.get("signal"):
        return f"stopped by {event['signal']}"
    return f"{event.get('error', 'an error')}: {event.get('message', '')}"


def _seconds(facts: dict[str, Any]) -> float:
    begun, ended = (datetime.fromisoformat(facts[key]) for key in ("started", "ended"))
    return max(0.0, (ended - begun).total_seconds())  # somebody may have set the clock back
