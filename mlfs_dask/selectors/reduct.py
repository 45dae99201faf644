"""The loop of paper E: from the core to a set of features that keeps the positive region.

Asks how large positive regions are, decides which feature comes next, knows of nothing else::

    region of all features, core ─> regions while the core enters ─> regions with each candidate
                                    (it enters whole, or as far        └─> choice ─┐
                                     as it may, by significance)           ^───────┘ ─> prune
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels.ranking import decision_key
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.wording import counted

_NEGLIGIBLE: Final = 1e-12
DROPPED: Final = "dropped: the positive region stays as it is"


class WholeRegion(NamedTuple):
    """Reply to ``"whole"``.

    Attributes
    ----------
    size : int
        Rows in the positive region of all features.
    core : tuple of int
        Features without which it would be another region, ascending.
    """

    size: int
    core: tuple[int, ...]


class Sizes(NamedTuple):
    """Reply to ``"in_order"`` and ``"with"``.

    Attributes
    ----------
    rows : ndarray of int64
        Rows in the positive region of each set that was asked for.
    is_whole : ndarray of bool
        Whether that is the region of all features.
    """

    rows: IntArray
    is_whole: BoolArray


@dataclass(frozen=True, eq=False)
class ReductState:
    """Where the loop stands.

    Attributes
    ----------
    chosen : tuple of int
        In order of choice, those that were dropped left out.
    n_steps : int
        Decisions made.
    whole : WholeRegion or None
        Once it is known.
    rows : int
        In the positive region of the chosen features; -1 if it isn't known.
    is_whole : bool
        That is the region of all features.
    finished : str or None
        Why no feature is added any more, once features may be dropped.
    n_tested : int
        Then: features from this position on stay.
    """

    chosen: tuple[int, ...] = ()
    n_steps: int = 0
    whole: WholeRegion | None = None
    rows: int = -1
    is_whole: bool = False
    finished: str | None = None
    n_tested: int = 0


@dataclass(frozen=True, eq=False)
class ReductEngine:
    """Adds the feature of the largest significance until the positive region is that of all.

    Attributes
    ----------
    constant : ndarray of bool, shape (n_features,)
        Never chosen.
    cost : ndarray of float64, shape (n_features,), or None
        Of each feature; None: 0.
    use_cost : bool
        Significance is less the normalised cost.
    budget : float or None
        Largest cost of the chosen features together.
    max_features : int or None
        Largest number of them.
    min_dependency : float or None
        Share of the positive region that is enough.
    prune : bool
        Drop features at the end that the region doesn't need.
    """

    constant: BoolArray
    cost: FloatArray | None
    use_cost: bool = True
    budget: float | None = None
    max_features: int | None = None
    min_dependency: float | None = None
    prune: bool = False

    def begin(self) -> Step[ReductState]:
        """Ask for the positive region of all features and its core."""
        return Step(ReductState(), request=Request("whole"))

    def replay(self, decided: Sequence[Choice]) -> Step[ReductState]:
        """Ask the same, with these decisions made already; or what else may be dropped.

        Parameters
        ----------
        decided
            In order.
        """
        chosen: list[int] = []
        state = ReductState(n_steps=len(decided))
        for choice in decided:
            if choice.reason == DROPPED:
                place = chosen.index(choice.feature)
                del chosen[place]
                rows, stop = choice.details["positive"], choice.details["stop"]
                state = replace(state, rows=rows, finished=stop, n_tested=place)
            else:
                chosen.append(choice.feature)
        state = replace(state, chosen=tuple(chosen))
        if state.finished is not None:
            return self._ask_what_is_needed(state, tuple(decided))
        return Step(state, decided=tuple(decided), request=Request("whole"))

    def advance(self, state: ReductState, reply: Any) -> Step[ReductState]:
        """Decide what the reply allows.

        Parameters
        ----------
        state
            From the last step.
        reply
            `WholeRegion`, then `Sizes`; at the end, if features may be dropped, those that the
            region of the chosen ones needs (a tuple of int).
        """
        if isinstance(reply, WholeRegion):
            return self._enter(replace(state, whole=reply))
        if not isinstance(reply, Sizes):
            return self._drop(state, reply)
        if state.rows < 0:
            return self._settle_in(state, reply)
        return self._choose(state, reply)

    def _enter(self, state: ReductState) -> Step[ReductState]:
        """Ask for the regions of the features chosen so far, and of the core as it enters."""
        core = self._core(state)
        order = core if state.chosen == core[: len(state.chosen)] else state.chosen
        return Step(state, request=Request("in_order", {"order": order}))

    def _core(self, state: ReductState) -> tuple[int, ...]:
        """The core, if it may enter whole; else nothing."""
        assert state.whole is not None
        core = state.whole.core
        return core if self._may_all(core) else ()

    def _may_all(self, features: tuple[int, ...]) -> bool:
        few = self.max_features is None or len(features) <= self.max_features
        return few and self._affordable(features)

    def _affordable(self, features: Sequence[int]) -> bool:
        if self.budget is None:
            return True
        return bool(_key(self._cost_of(features)) <= _key(self.budget))

    def _cost_of(self, features: Sequence[int]) -> float:
        return 0.0 if self.cost is None else _sum(self.cost, features)

    def _settle_in(self, state: ReductState, sizes: Sizes) -> Step[ReductState]:
        """The rest of the core enters."""
        known = len(state.chosen)
        order = self._core(state) if len(sizes.rows) - 1 > known else state.chosen
        decided: list[Choice] = []
        for place in range(known, len(order)):
            details = self._details(order[: place + 1], int(sizes.rows[place + 1]))
            number = state.n_steps + len(decided)
            decided.append(Choice(number, order[place], math.nan, "core", details))
        state = replace(
            state,
            chosen=order,
            n_steps=state.n_steps + len(decided),
            rows=int(sizes.rows[-1]),
            is_whole=bool(sizes.is_whole[-1]),
        )
        return self._go_on(state, tuple(decided))

    def _details(self, chosen: Sequence[int], rows: int, **more: Any) -> dict[str, Any]:
        cost = None if self.cost is None else self._cost_of(chosen)
        return {"cost": cost, "positive": rows, **more}

    def _go_on(self, state: ReductState, decided: tuple[Choice, ...]) -> Step[ReductState]:
        """Stop, or ask for the regions with each candidate."""
        candidates = self._candidates(state)
        stop = self._stop(state, candidates)
        if stop is None:
            arguments = {"chosen": state.chosen, "candidates": candidates}
            return Step(state, decided=decided, request=Request("with", arguments))
        if self.prune:
            state = replace(state, finished=stop, n_tested=len(state.chosen))
            return self._ask_what_is_needed(state, decided)
        return Step(state, decided=decided, stop=stop)

    def _candidates(self, state: ReductState) -> IntArray:
        """Features that may come next, ascending; only those of the core until it is complete."""
        assert state.whole is not None
        pool = np.flatnonzero(~self.constant)
        if not self._may_all(state.whole.core):
            pool = np.array(state.whole.core, dtype=np.int64)
        left = pool[~np.isin(pool, np.array(state.chosen, dtype=np.int64))]
        if self.budget is None or self.cost is None:
            return left
        spent = self._cost_of(state.chosen) + self.cost[left]
        # Only sums this near to the budget can have its key.
        surely, perhaps = (spent <= (1.0 + sign * 1e-8) * self.budget for sign in (-1, 1))
        for place in np.flatnonzero(perhaps & ~surely):
            perhaps[place] = self._affordable([*state.chosen, int(left[place])])
        return left[perhaps]

    def _stop(self, state: ReductState, candidates: IntArray) -> str | None:
        assert state.whole is not None
        size, core = state.whole
        n, rows = len(state.chosen), state.rows
        if state.is_whole:
            return f"the positive region of all features is reached: {counted(size, 'row')}"
        if self.min_dependency is not None and _key(rows) >= _key(self.min_dependency * size):
            share = f"{rows} of {counted(size, 'row')} of the positive region"
            return f"min_dependency = {self.min_dependency:g} is reached: {share}"
        full = self.max_features is not None and n >= self.max_features
        if not full and len(candidates):
            return None
        limit = f"max_features = {self.max_features}" if full else f"budget = {self.budget:g}"
        if not full and self.budget is None:
            limit = "no candidate left"
        reached = f"{100 * rows / size if size else 100:.4g} % of the positive region"
        if not set(core) <= set(state.chosen):
            inside = f"{len(set(core) & set(state.chosen))} of {counted(len(core), 'feature')}"
            return f"core not complete, {inside}: {limit}, {reached}"
        return f"{limit}: {reached}"

    def _choose(self, state: ReductState, sizes: Sizes) -> Step[ReductState]:
        assert state.whole is not None
        candidates = self._candidates(state)
        cost = self.cost if self.use_cost else None
        size = state.whole.size
        significance = significances(sizes.rows, size, cost, state.chosen, candidates)
        best, *others = self._in_order(candidates, significance)
        feature = int(candidates[best])
        chosen = (*state.chosen, feature)
        second = others[0] if others else None
        details = self._details(
            chosen,
            int(sizes.rows[best]),
            runner_up=None if second is None else int(candidates[second]),
            runner_up_significance=None if second is None else float(significance[second]),
        )
        reason = "core, largest significance" if feature in state.whole.core else None
        choice = Choice(
            state.n_steps,
            feature,
            float(significance[best]),
            reason or "largest significance",
            details,
        )
        state = replace(
            state,
            chosen=chosen,
            n_steps=state.n_steps + 1,
            rows=int(sizes.rows[best]),
            is_whole=bool(sizes.is_whole[best]),
        )
        return self._go_on(state, (choice,))

    def _in_order(self, candidates: IntArray, significance: FloatArray) -> IntArray:
        """Positions of the best and the second best candidate: by significance, cost, index."""
        # Values further below the second best than this cannot have its key.
        second = np.partition(significance, -2)[-2] if len(significance) > 1 else significance[0]
        near = np.flatnonzero(significance >= second - 1e-8 * abs(second))
        loss = -decision_key(significance[near])
        cost = np.zeros(len(near))
        if self.use_cost and self.cost is not None:
            cost = decision_key(self.cost[candidates[near]])
        found: IntArray = near[np.lexsort((candidates[near], cost, loss))][:2]
        return found

    def _ask_what_is_needed(
        self, state: ReductState, decided: tuple[Choice, ...]
    ) -> Step[ReductState]:
        if state.n_tested == 0:
            return Step(state, decided=decided, stop=state.finished)
        request = Request("needed", {"features": state.chosen})
        return Step(state, decided=decided, request=request)

    def _drop(self, state: ReductState, needed: tuple[int, ...]) -> Step[ReductState]:
        """Drop the last feature not tested yet that the region doesn't need."""
        place = state.n_tested - 1
        while place >= 0 and state.chosen[place] in needed:
            place -= 1
        if place < 0:
            return Step(state, stop=state.finished)
        feature = state.chosen[place]
        chosen = (*state.chosen[:place], *state.chosen[place + 1 :])
        details = self._details(chosen, state.rows, stop=state.finished)
        choice = Choice(state.n_steps, feature, math.nan, DROPPED, details)
        state = replace(state, chosen=chosen, n_steps=state.n_steps + 1, n_tested=place)
        return self._ask_what_is_needed(state, (choice,))


def significances(
    rows: IntArray,
    size: int,
    cost: FloatArray | None,
    chosen: Sequence[int],
    candidates: IntArray,
) -> FloatArray:
    """SIG of every candidate: its normalised positive region less its normalised cost.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_candidates,)
        Rows in the positive region of the chosen features and each candidate.
    size
        Rows in that of all features.
    cost : ndarray of float64, shape (n_features,), or None
        None: without the second term.
    chosen
        Features.
    candidates : ndarray of int64, shape (n_candidates,)
        Features that may come next; minima run over them.

    Returns
    -------
    ndarray of float64, shape (n_candidates,)
        Values below 1e-12 are 0; so is a term whose denominator is 0.

    Examples
    --------
    The example of paper E, features a1 to a5, of which a5 is the core:

    >>> cost = np.array([10.0, 14.0, 8.0, 16.0, 4.0])
    >>> rows = np.array([3, 4, 1, 0])
    >>> significances(rows, 4, cost, [4], np.arange(4)).round(12).tolist()
    [0.7, 0.85, 0.25, -0.2]
    """
    least = int(rows.min())
    found = (rows - least) / (size - least) if size != least else np.zeros(len(rows))
    if cost is not None:
        own, everything = cost[candidates], math.fsum(cost)
        rest = everything - _sum(cost, [*chosen, int(candidates[own.argmin()])])
        if rest > _NEGLIGIBLE * everything:
            found = found - (own - own.min()) / rest
    return np.where(abs(found) < _NEGLIGIBLE, 0.0, found)


def _sum(cost: FloatArray, features: Sequence[int]) -> float:
    """Exact sum, rounded once: the same in any order."""
    return math.fsum(cost[f] for f in features)


def _key(value: float) -> float:
    """A number as decisions compare it."""
    return float(decision_key(np.array([value]))[0])
