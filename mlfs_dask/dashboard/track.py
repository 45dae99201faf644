"""A run as its journal tells it: read once, then only what is new."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from mlfs_dask.dashboard.pace import seconds_between, seconds_left
from mlfs_dask.jobs.follow import JournalTail
from mlfs_dask.jobs.rundir import RunFolder

_DECISIONS_KEPT: Final = 40


class Planned(Struct, frozen=True, kw_only=True):
    """What the plan gave a session; None where it was not told.

    Attributes
    ----------
    seconds
        For the whole run.
    memory_bytes, memory_limit_bytes
        What a worker needs, and what the job allows it.
    """

    seconds: float | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None


class Session(Struct, kw_only=True):
    """One call that works on a run, or did.

    Attributes
    ----------
    started, last
        Times of its first event and of the last unit or decision, in ISO 8601.
    workers
        Worker processes; 0: it works itself.
    done_before, done, failed
        Units finished before it, by it, and failed in it.
    end
        How it ended; empty while it runs, or if it broke off without a word.
    plan
        What was expected of it.
    """

    started: str
    last: str
    workers: int
    done_before: int
    done: int = 0
    failed: int = 0
    end: str = ""
    plan: Planned = Planned()


class Done(Struct, frozen=True):
    """A finished unit: its seconds, who did it, and when."""

    seconds: float
    worker: str
    time: str


class Failed(Struct, frozen=True, kw_only=True):
    """A unit without a result, and why."""

    unit: str
    what: str
    error: str
    message: str
    hint: str | None
    time: str


class Incident(Struct, kw_only=True):
    """Something that the user should know of.

    Attributes
    ----------
    message
        In words.
    time
        When it was noted last.
    times
        How often.
    """

    message: str
    time: str
    times: int = 1


class InHand(Struct, kw_only=True):
    """A selection that was begun and is not finished.

    Attributes
    ----------
    decided
        How many decisions it has made.
    last
        The last of them, oldest first.
    worker, time
        Who made them, and when the last came.
    """

    decided: int
    last: deque[dict[str, Any]]
    worker: str
    time: str


class Track:
    """What is known of one run; `read` brings it up to date.

    Parameters
    ----------
    folder
        The run; may be running.

    Attributes
    ----------
    sessions : list of Session
        Oldest first.
    done, failed, in_hand : dict
        Id of a unit -> what became of it.
    incidents : dict
        Message -> incident, in the order of their first time.
    events : int
        How many were read: what was made of an earlier state is old if this has changed.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._tail = JournalTail(folder.journal)
        self.sessions: list[Session] = []
        self.done: dict[str, Done] = {}
        self.failed: dict[str, Failed] = {}
        self.in_hand: dict[str, InHand] = {}
        self.incidents: dict[str, Incident] = {}
        self.events = 0

    def read(self) -> None:
        """Take in what was written since the last call; a line of another make is passed over."""
        for event in self._tail.read():
            self.events += 1
            try:
                take = _TAKE[event["event"]]
                if datetime.fromisoformat(event["time"]).tzinfo is None:
                    continue
                take(self, event)
            except (LookupError, TypeError, ValueError, AttributeError, msgspec.ValidationError):
                continue  # the tail checks no checksums: what is no event of ours is not shown

    def left(self, done: int, total: int) -> float | None:
        """Seconds until the run is done, by the pace of its last session.

        Parameters
        ----------
        done, total
            Finished units and all units.
        """
        if not self.sessions:
            return None
        now = self.sessions[-1]
        return seconds_left(
            done=done,
            total=total,
            fresh=now.done,
            elapsed=seconds_between(now.started, now.last),
            planned=now.plan.seconds,
        )

    def _start(self, event: dict[str, Any]) -> None:
        self.sessions.append(
            Session(
                started=event["time"],
                last=event["time"],
                workers=int(event["workers"]),
                done_before=int(event["done"]),
                plan=msgspec.convert(event.get("plan", {}), Planned),
            )
        )

    def _step(self, event: dict[str, Any]) -> None:
        unit, first, decided = str(event["unit"]), int(event["first"]), list(event["decided"])
        known = self.in_hand.get(unit)
        if known is None:
            known = InHand(decided=first, last=deque(maxlen=_DECISIONS_KEPT), worker="", time="")
        # A selection that was begun anew decides the same again: that is not counted twice.
        known.last.extend(
            msgspec.convert(decided[max(0, known.decided - first) :], list[dict[str, Any]])
        )
        known.decided = max(known.decided, first + len(decided))
        known.worker, known.time = str(event["worker"]), event["time"]
        self.in_hand[unit] = known
        self.sessions[-1].last = event["time"]

    def _unit(self, event: dict[str, Any]) -> None:
        unit = str(event["unit"])
        self.done[unit] = Done(float(event["seconds"]), str(event["worker"]), event["time"])
        self.in_hand.pop(unit, None)
        self.failed.pop(unit, None)
        self.sessions[-1].done += 1
        self.sessions[-1].last = event["time"]

    def _failed(self, event: dict[str, Any]) -> None:
        unit = str(event["unit"])
        self.failed[unit] = Failed(
            unit=unit,
            what=str(event["what"]),
            error=str(event["error"]),
            message=str(event["message"]),
            hint=event["hint"] and str(event["hint"]),
            time=event["time"],
        )
        self.in_hand.pop(unit, None)
        self.sessions[-1].failed += 1

    def _incident(self, event: dict[str, Any]) -> None:
        message = str(event["message"])
        known = self.incidents.get(message)
        if known is None:
            self.incidents[message] = Incident(message=message, time=event["time"])
        else:
            known.time, known.times = event["time"], known.times + 1

    def _stop(self, event: dict[str, Any]) -> None:
        if event.get("cancelled"):
            end = "cancelled"
        elif event.get("signal"):
            end = f"stopped by {event['signal']}"
        else:
            end = f"{event.get('error', 'an error')}: {event.get('message', '')}"
        self.sessions[-1].end = end

    def _finish(self, event: dict[str, Any]) -> None:
        self.sessions[-1].end = str(event["state"])


_TAKE: Final = {
    "start": Track._start,
    "step": Track._step,
    "unit": Track._unit,
    "failed": Track._failed,
    "incident": Track._incident,
    "stop": Track._stop,
    "finish": Track._finish,
}
