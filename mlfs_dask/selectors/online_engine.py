"""How selectors of a stream decide: one decision per arriving feature, with its reason.

An engine knows which features arrive in which order, and which members the set has. It asks for
dependencies (numbers of `mlfs_dask.graphs.dependency`) and says, for each arrival, what became of
it::

    Request("arrivals", features, members)  ─>  γ({f}) and γ(S + {f}) of each, None if f is constant
            with ``dependency``                 γ({f}) only where γ(S + {f}) isn't below it
            with ``least``                      γ(S + {f}) only where γ({f}) isn't below it
    Request("pairs", feature, members)      ─>  γ({g, f}) for each of these members g
    Request("set", members)                 ─>  γ of the set that a replacement makes
    Request("without", members)             ─>  γ of a set that is tried

Features that arrive in a group are measured together and decided one after the other: as soon as
one joins, the others are measured again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

from mlfs_dask.kernels.ranking import decision_key
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.wording import are, counted

NO_MORE: Final = "no feature left"
_NEGLIGIBLE: Final = 1e-12
_MOST_PAIRS: Final = 64


class Measured(NamedTuple):
    """What is known of an arriving feature.

    Attributes
    ----------
    alone : float
        γ({f}); NaN where it can't matter.
    joined : float
        γ(S + {f}); NaN where it can't matter.
    """

    alone: float
    joined: float


@dataclass(frozen=True)
class OnlineState:
    """Where a stream stands.

    Attributes
    ----------
    arrived : int
        Features that were decided on.
    members : tuple of int
        In order of arrival.
    alone : mapping of int to float
        γ({g}) of each member.
    dependency : float
        γ(S); 0 of the empty set.
    measured : tuple of (Measured or None)
        Of the next arrivals, given these members; the first is in hand.
    compared : int
        Members that the one in hand was compared with.
    visiting : tuple of int
        Members still to be tried without, for the one in hand.
    dropped : tuple of int
        Members that leave if it joins.
    """

    arrived: int = 0
    members: tuple[int, ...] = ()
    alone: Mapping[int, float] = field(default_factory=dict)
    dependency: float = 0.0
    measured: tuple[Measured | None, ...] = ()
    compared: int = 0
    visiting: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()

    def joined_by(
        self, feature: int, alone: float, dependency: float, without: Sequence[int] = ()
    ) -> OnlineState:
        """The state with one more member.

        Parameters
        ----------
        feature, alone
            The member.
        dependency
            Of the set with it.
        without
            Members that leave.
        """
        members = (*(g for g in self.members if g not in without), feature)
        known = {**self.alone, feature: alone}
        kept = {g: known[g] for g in members}
        return OnlineState(self.arrived, members, kept, dependency)


def significance(after: float, before: float) -> float:
    """Difference of two dependencies; less than 1e-12 counts as 0.

    Parameters
    ----------
    after, before
        Dependencies.
    """
    difference = after - before
    return 0.0 if abs(difference) < _NEGLIGIBLE else difference


def key(value: float) -> float:
    """The number that decisions compare, 9 significant digits.

    Parameters
    ----------
    value
        A dependency.
    """
    return float(decision_key(np.array([value]))[0])


def mean_alone(state: OnlineState) -> float:
    """Mean of γ({g}) over the members, in order of arrival; 0 if there is none.

    Parameters
    ----------
    state
        Of the stream.
    """
    total = 0.0
    for g in state.members:
        total += state.alone[g]
    return total / len(state.members) if state.members else 0.0


@dataclass(frozen=True)
class OnlineEngine:
    """What the engines of a stream have in common.

    Attributes
    ----------
    arrivals : tuple of int
        Features in order of arrival.
    group_size : int
        Features that are measured together.
    names : tuple of str or None
        Of all features, for reasons.
    earlier : tuple of Choice
        Decided before, on the first of the arrivals.
    max_features : int or None
        Members at which the stream ends.
    """

    arrivals: tuple[int, ...]
    group_size: int = 1
    names: tuple[str, ...] | None = None
    earlier: tuple[Choice, ...] = ()
    max_features: int | None = None

    def begin(self) -> Step[OnlineState]:
        """Ask for the first arrivals."""
        return self._go_on(restored(self.earlier), ())

    def replay(self, decided: Sequence[Choice]) -> Step[OnlineState]:
        """Ask for the arrivals after these decisions.

        Parameters
        ----------
        decided
            One for each of the first arrivals after the earlier ones.
        """
        return self._go_on(restored([*self.earlier, *decided]), tuple(decided))

    def _go_on(self, state: OnlineState, decided: tuple[Choice, ...]) -> Step[OnlineState]:
        """Ask for the next arrivals, or end."""
        if self.max_features is not None and len(state.members) >= self.max_features:
            n = len(state.members)
            stop = f"{counted(n, 'feature')} {are(n)} selected"
            return Step(state, decided=decided, stop=stop)
        if state.arrived >= len(self.arrivals):
            return Step(state, decided=decided, stop=NO_MORE)
        request = Request("arrivals", self._ask(state))
        return Step(replace(state, measured=()), decided=decided, request=request)

    def _ask(self, state: OnlineState) -> dict[str, Any]:
        features = self.arrivals[state.arrived : state.arrived + self.group_size]
        return {"features": features, "members": state.members}

    def _named(self, feature: int) -> str:
        return f"feature {feature}" if self.names is None else self.names[feature]

    def _choice(
        self, state: OnlineState, reason: str, score: float, *, kept: bool, **details: Any
    ) -> Choice:
        """The decision on the feature in hand, given the state after it."""
        feature = self.arrivals[state.arrived]
        about = {"kept": kept, "dependency": state.dependency, **details}
        return Choice(state.arrived, feature, score, reason, about)

    def _constant(self, state: OnlineState) -> tuple[Choice, OnlineState]:
        choice = self._choice(state, "discarded: constant", math.nan, kept=False)
        return choice, next_arrival(state)

    def _accept(
        self, state: OnlineState, known: Measured, reason: str, gain: float, **details: Any
    ) -> tuple[Choice, OnlineState]:
        """Let the feature in hand join; what was measured for the old set is void."""
        feature = self.arrivals[state.arrived]
        leaving = details.get("features", ())
        after = state.joined_by(feature, known.alone, known.joined, leaving)
        choice = self._choice(after, reason, gain, kept=True, relevance=known.alone, **details)
        return choice, replace(after, arrived=after.arrived + 1)

    def _by_significance(
        self, state: OnlineState, known: Measured, gain: float
    ) -> tuple[Choice, OnlineState]:
        """Accept what raises the dependency of the set, discard what lowers it."""
        if gain > 0:
            return self._accept(state, known, f"accepted: significance {gain:+.3g}", gain)
        return self._discard(state, known, f"discarded: significance {gain:+.3g}", gain)

    def _discard(
        self, state: OnlineState, known: Measured, reason: str, gain: float, **details: Any
    ) -> tuple[Choice, OnlineState]:
        if not math.isnan(known.alone):
            details = {"relevance": known.alone, **details}
        choice = self._choice(state, reason, gain, kept=False, **details)
        return choice, next_arrival(state)


def restored(decided: Sequence[Choice]) -> OnlineState:
    """The state after some decisions, with the bits it had.

    Parameters
    ----------
    decided
        From the first arrival on.
    """
    state = OnlineState()
    for choice in decided:
        details = choice.details
        if details["kept"]:
            leaving = details.get("features", ())
            alone, dependency = details["relevance"], details["dependency"]
            state = state.joined_by(choice.feature, alone, dependency, leaving)
        state = replace(state, arrived=state.arrived + 1)
    return state


def next_arrival(state: OnlineState) -> OnlineState:
    """The state with the arrival in hand done and the set as it was.

    Parameters
    ----------
    state
        With the arrival in hand.
    """
    return replace(state, arrived=state.arrived + 1, measured=state.measured[1:], compared=0)
