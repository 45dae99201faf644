"""Decisions on their way from the selector that makes them to the journal that keeps them."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct, to_builtins

from mlfs_dask.selectors.engine import Choice, SelectionStoppedError, finite_or_none

_SEND_SECONDS: Final = 0.2
_SENT_AT_MOST: Final = 500  # steps per message


class Steps(Struct, frozen=True, kw_only=True):
    """What one step of a selector decided.

    Attributes
    ----------
    unit
        Id of the select unit.
    first
        How many decisions came before these.
    decided
        Records as in ``path`` of the selection, plain values.
    seconds
        How long the step took.
    worker
        Host and process that did it.
    """

    unit: str
    first: int
    decided: tuple[dict[str, Any], ...]
    seconds: float
    worker: str


def this_worker() -> str:
    """Host and number of this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


class UnitRecorder:
    """Tells what one select unit decides, and ends it between steps when asked.

    Parameters
    ----------
    unit
        Id of the unit.
    records
        What it decided before it was interrupted.
    tell
        Takes each step.
    should_stop
        Asked after each step.
    """

    def __init__(
        self,
        unit: str,
        records: Sequence[dict[str, Any]],
        tell: Callable[[Steps], None],
        should_stop: Callable[[], bool],
    ) -> None:
        self._unit = unit
        self._records = records
        self._first = len(records)
        self._tell = tell
        self._should_stop = should_stop

    @property
    def earlier(self) -> Sequence[Choice]:
        """Decisions made before the interruption."""
        return [Choice.from_record(record) for record in self._records]

    def decided(self, choices: Sequence[Choice], seconds: float) -> None:
        """Tell the decisions of a step; see `mlfs_dask.selectors.engine.Recorder`."""
        records = tuple(
            {key: finite_or_none(value) for key, value in choice.record().items()}
            for choice in choices
        )
        self._tell(
            Steps(
                unit=self._unit,
                first=self._first,
                decided=records,
                seconds=round(seconds, 6),
                worker=this_worker(),
            )
        )
        self._first += len(records)
        if self._should_stop():
            raise SelectionStoppedError(self._unit)


class StepSender:
    """Sends steps from a worker in few messages; none waits longer than a fraction of a second.

    To be used as a context manager.

    Parameters
    ----------
    send
        Takes a list of steps as plain values; called from other threads too.
    """

    def __init__(self, send: Callable[[list[dict[str, Any]]], None]) -> None:
        self._send = send
        self._waiting: list[dict[str, Any]] = []
        self._sent = 0.0
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> StepSender:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def __call__(self, steps: Steps) -> None:
        """Send a step, at once or with those that follow soon.

        Parameters
        ----------
        steps
            Of one unit.
        """
        with self._lock:
            self._waiting.append(to_builtins(steps))
            due = time.monotonic() - self._sent >= _SEND_SECONDS
            if not due and len(self._waiting) < _SENT_AT_MOST:
                if self._timer is None:
                    self._timer = threading.Timer(_SEND_SECONDS, self.flush)
                    self._timer.daemon = True
                    self._timer.start()
                return
        self.flush()

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._sent = time.monotonic()
            if waiting:  # under the lock: messages must leave in order
                self._send(waiting)
