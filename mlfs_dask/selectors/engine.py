"""How greedy selectors decide: pure functions from (state, reply) to (state, request).

An engine has no client, no clock and no file. It says what it needs to know next, is told, and says
what it decided::

    engine.begin()          ─> Step(state, decided=(),        request=Request(...))
    engine.advance(state, reply) ─> Step(state, decided=(c1, c2), request=Request(...) | None)
    ...                                                        stop="..." ends the loop

A step without request and without stop asks for nothing: ``advance(state, None)`` goes on. Whoever
drives an engine fulfils requests, writes down what was decided, and may stop between steps; the
state of a run is the list of its decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

S = TypeVar("S")


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
    """A feature that was chosen.

    Attributes
    ----------
    step : int
        0-based.
    feature : int
    score : float
        The method's criterion when the feature was chosen.
    reason : str
    details : mapping
        Further numbers of the step.
    """

    step: int
    feature: int
    score: float
    reason: str
    details: Mapping[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The choice as an entry of ``path_``."""
        entry = {"step": self.step, "feature": self.feature, "score": self.score}
        return {**entry, "reason": self.reason, **self.details}


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
        After each call of the engine; the last one has ``stop`` set.
    """
    step = engine.begin()
    yield step
    while step.stop is None:
        reply = None if step.request is None else fulfil(step.request)
        step = engine.advance(step.state, reply)
        yield step
