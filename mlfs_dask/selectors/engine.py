"""How greedy selectors decide: pure functions from (state, reply) to (state, request).

An engine has no client, no clock and no file. It says what it needs to know next, is told, and says
what it decided::

    engine.begin()          ─> Step(state, decided=(),        request=Request(...))
    engine.advance(state, reply) ─> Step(state, decided=(c1, c2), request=Request(...) | None)
    ...                                                        stop="..." ends the loop
    engine.replay((c1, c2))      ─> Step(state, decided=(c1, c2), request=Request(...) | None)

A step without request and without stop asks for nothing: ``advance(state, None)`` goes on. Whoever
drives an engine fulfils requests, writes down what was decided, and may stop between steps; the
state of a run is the list of its decisions, from which `replay` makes the engine's state anew.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, Self, TypeVar

S = TypeVar("S")
NO_FEATURE: Final = -1
"""Of a choice that is no single feature's: a generation of a genetic search."""
_OWN_KEYS: Final = ("step", "feature", "score", "reason")


@dataclass(frozen=True)
class Request:
    """A statistic that the engine needs.

    Attributes
    ----------
    kind : str
        Name of the statistic.
    arguments : mapping
        What it is asked of, for example chosen features and candidates.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """A feature that was chosen, or another step that was decided.

    Attributes
    ----------
    step : int
        0-based.
    feature : int
        `NO_FEATURE` in a step that chooses none by itself.
    score : float
        The method's criterion when the feature was chosen.
    reason : str
    details : mapping
        Further plain values of the step.
    """

    step: int
    feature: int
    score: float
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The choice as an entry of ``path_``."""
        feature = None if self.feature == NO_FEATURE else self.feature
        entry = {"step": self.step, "feature": feature, "score": self.score}
        return {**entry, "reason": self.reason, **self.details}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The choice that a record tells of.

        Parameters
        ----------
        record
            From `record`, perhaps by way of JSON; a score of None is NaN.
        """
        feature = NO_FEATURE if record["feature"] is None else record["feature"]
        score = math.nan if record["score"] is None else record["score"]
        details = {key: value for key, value in record.items() if key not in _OWN_KEYS}
        return cls(record["step"], feature, score, record["reason"], details)


@dataclass(frozen=True)
class Step(Generic[S]):
    """What an engine answers.

    Attributes
    ----------
    state
        To be handed back.
    decided : tuple of Choice
        Features chosen in this step, in order.
    request : Request or None
        What it needs to go on.
    stop : str or None
        Why it is finished.
    """

    state: S
    decided: tuple[Choice, ...] = ()
    request: Request | None = None
    stop: str | None = None


class Engine(Protocol[S]):
    """A greedy loop that decides and does nothing else."""

    def begin(self) -> Step[S]:
        """The first step; decides nothing yet."""

    def advance(self, state: S, reply: Any) -> Step[S]:
        """Go on from a state with the reply to its request (None if it had none)."""

    def replay(self, decided: Sequence[Choice]) -> Step[S]:
        """The step after these decisions, with the same bits as if the loop had never stopped."""


class SelectionStoppedError(Exception):
    """A recorder asked the loop to stop between two steps; what was decided is recorded."""


class Recorder(Protocol):
    """Writes down what a loop decides, and knows what it decided before it was interrupted."""

    @property
    def earlier(self) -> Sequence[Choice]:
        """Decisions of a loop that is taken up again; empty for a new one."""

    def decided(self, choices: Sequence[Choice], seconds: float) -> None:
        """Note the decisions of one step.

        Parameters
        ----------
        choices
            In order.
        seconds
            How long the step took, its request included.

        Raises
        ------
        SelectionStoppedError
            The loop shall end here.
        """


_RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Have the next loop that is driven in this block recorded.

    Parameters
    ----------
    recorder
        For one loop: of several the first one takes it.
    """
    token = _RECORDER.set(recorder)
    try:
        yield
    finally:
        _RECORDER.reset(token)


def drive(engine: Engine[Any], fulfil: Callable[[Request], Any]) -> Iterator[Step[Any]]:
    """Run an engine to its end in this process, step by step.

    Parameters
    ----------
    engine
        Decides.
    fulfil
        Computes what is requested.

    Yields
    ------
    Step
        After each call of the engine; the last one has ``stop`` set. Under a recorder with earlier
        decisions the first step holds all of these.

    Raises
    ------
    SelectionStoppedError
        The recorder ended the loop.
    """
    recorder = _RECORDER.get()
    _RECORDER.set(None)
    earlier = () if recorder is None else tuple(recorder.earlier)
    step = engine.replay(earlier) if earlier else engine.begin()
    yield step
    while step.stop is None:
        started = time.perf_counter()
        reply = None if step.request is None else fulfil(step.request)
        step = engine.advance(step.state, reply)
        if recorder is not None and step.decided:
            recorder.decided(step.decided, time.perf_counter() - started)
        yield step


def finite_or_none(value: Any) -> Any:
    """The value, or None for a float that isn't finite.

    Parameters
    ----------
    value
        Of any type.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
