"""ofs-a3m: features of a stream by an adapted neighbourhood rough set (Zhou et al. 2019).

The single-label method whose gap neighbourhoods paper D took over; here on the distinct label sets
as classes. The dependency of a set is the mean share of a row's neighbours with the row's class. A
feature at least as dependent by itself as the members are on average

- joins if it raises the dependency of the set;
- joins if it leaves it as it is, and members that are then of no use leave, tried in random order;
- is discarded if it lowers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlfs_dask._typing import ByteArray, Impute
from mlfs_dask.graphs.arrivals import Scaling
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.kernels.gap_levels import GapRule
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.selectors.nrs_stream import check_gap
from mlfs_dask.selectors.online import Arrival, OnlineSelector
from mlfs_dask.selectors.online_engine import (
    OnlineEngine,
    OnlineState,
    key,
    mean_alone,
    significance,
)


@dataclass(frozen=True)
class A3MEngine(OnlineEngine):
    """Decides by the mean dependency of the members, then by that of the set.

    Attributes
    ----------
    seed : int
        Of the orders in which members are tried without.
    """

    seed: int = 0

    def advance(self, state: OnlineState, reply: Any) -> Step[OnlineState]:
        """Decide on as many arrivals as the reply allows.

        Parameters
        ----------
        state
            From the last step.
        reply
            To ``arrivals`` a sequence of `Measured` or None; to ``without`` a number.
        """
        if not state.measured:
            return self._decide(replace(state, measured=tuple(reply)), ())
        return self._tried(state, reply)

    def _ask(self, state: OnlineState) -> dict[str, Any]:
        # Features below the mean are discarded whatever the set gains.
        return {**super()._ask(state), "least": mean_alone(state)}

    def _decide(self, state: OnlineState, decided: tuple[Choice, ...]) -> Step[OnlineState]:
        """Go through what was measured until something else is needed."""
        while state.measured:
            known, mean = state.measured[0], mean_alone(state)
            if known is None:
                choice, state = self._constant(state)
            elif key(known.alone) < key(mean):
                reason = f"discarded: dependency {known.alone:.3g} by itself below the mean"
                reason += f" {mean:.3g}"
                choice, state = self._discard(state, known, reason, 0.0, threshold=mean)
            else:
                gain = significance(known.joined, state.dependency)
                if gain == 0:
                    return self._try_without(state, decided)
                choice, state = self._by_significance(state, known, gain)
            decided = (*decided, choice)
        return self._go_on(state, decided)

    def _try_without(self, state: OnlineState, decided: tuple[Choice, ...]) -> Step[OnlineState]:
        """Begin to try the set without each member, in an order of this arrival's own."""
        order = np.random.default_rng([self.seed, state.arrived]).permutation(len(state.members))
        visiting = tuple(state.members[i] for i in order.tolist())
        return self._next_try(replace(state, visiting=visiting, dropped=()), decided)

    def _next_try(self, state: OnlineState, decided: tuple[Choice, ...]) -> Step[OnlineState]:
        if state.visiting:
            gone = (*state.dropped, state.visiting[0])
            rest = tuple(g for g in state.members if g not in gone)
            request = Request("without", {"members": (*rest, self.arrivals[state.arrived])})
            return Step(state, decided=decided, request=request)
        known = state.measured[0]
        assert known is not None
        reason, dropped = "accepted: dependency as before", sorted(state.dropped)
        about = {}
        if dropped:
            reason += f"; drops {', '.join(self._named(g) for g in dropped)}"
            about["features"] = dropped
        choice, state = self._accept(state, known, reason, 0.0, **about)
        return self._go_on(state, (*decided, choice))

    def _tried(self, state: OnlineState, dependency: float) -> Step[OnlineState]:
        known = state.measured[0]
        assert known is not None
        tried, *visiting = state.visiting
        if significance(dependency, known.joined) == 0:
            known = known._replace(joined=dependency)
            state = replace(
                state,
                dropped=(*state.dropped, tried),
                measured=(known, *state.measured[1:]),
            )
        return self._next_try(replace(state, visiting=tuple(visiting)), ())


class OFSA3M(OnlineSelector):
    """Select features of a stream by adapted neighbourhood rough sets, on label sets as classes.

        γ(S) = mean over rows of (neighbours on S with the row's class / neighbours on S)

    Parameters
    ----------
    gap_factor : float
        A neighbourhood ends at the first gap between distances that has so many mean gaps.
    strict : bool
        The gap must be wider than that; else as wide.
    arrival : {"store", "random"} or list of int
        Order in which features arrive.
    random_state : int or SeedSequence, optional
        Of a random order, and of the orders in which members are tried without.
    group_size : int
        Features that arrive together: measured in one pass, decided on one by one.
    max_features : int, optional
        The stream ends once so many features are members.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default: those that the method keeps.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        Significance of the features that joined, when they did; NaN for the others.
    order_ : ndarray of int64, shape (n_features,)
        Members in order of arrival, then the others.
    path_ : list of dict
        One step for each arrival; see `NRSStream`. ``features`` are members that left.
    n_classes_ : int
        Distinct label sets.

    Notes
    -----
    Features are divided by their standard deviation (with n - 1). O(n²) operations and 8 n² bytes
    for each arrival; where the dependency stays as it was, n² operations more for each member and
    each feature of the set. Rows with equal values count as one among the n as long as they are
    many.

    References
    ----------
    Zhou, Hu, Li & Wu 2019, Online streaming feature selection using adapted neighborhood rough set.
    Where code and text differ (mean dependency of the members) the text is followed; a gap is wide
    against the range of distances parted in n - 2, which the paper's example is worked with.

    Examples
    --------
    The running example of the paper: f1, f2 and f4 are chosen.

    >>> import numpy as np
    >>> f1 = [3, 5, 8, 13, 6, 5, 9, 15]
    >>> f2 = [5.6, 6.9, 5.3, 12.3, 15.2, 2.6, 6.8, 8.4]
    >>> f3 = [-66, 95, -28, -35, 72, 42, -33, 15]
    >>> f4 = [3.05, 4.84, 5.89, 6.14, 6.55, 10.94, 23.85, 23.85]
    >>> fitted = OFSA3M().fit(np.array([f1, f2, f3, f4]).T, np.array([0, 1, 1, 1, 0, 1, 0, 0]))
    >>> fitted.support_.tolist()
    [True, True, False, True]
    """

    measured_by = ("gap_factor", "strict")

    def __init__(  # noqa: PLR0913  what selectors of streams have in common, and the gap
        self,
        gap_factor: float = 1.5,
        *,
        strict: bool = False,
        arrival: Arrival = "store",
        random_state: int | np.random.SeedSequence | None = None,
        group_size: int = 1,
        max_features: int | None = None,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.gap_factor = gap_factor
        self.strict = strict
        self.arrival = arrival
        self.random_state = random_state
        self.group_size = group_size
        self.max_features = max_features
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_online()
        check_gap(self.gap_factor, self.strict)

    def _scaling(self) -> Scaling:
        return "std"

    def _make_dependency(self, Y: ByteArray, executor: Executor) -> Dependency:
        sets = find_label_sets(Y)
        self.n_classes_ = sets.n_sets
        rule = GapRule(float(self.gap_factor), bool(self.strict), len(Y))
        return Dependency(sets.codes, rule, "classes", np.ones(1), executor)

    def _make_engine(
        self, arrivals: tuple[int, ...], names: tuple[str, ...] | None, earlier: tuple[Choice, ...]
    ) -> A3MEngine:
        seed = int(np.random.default_rng(self.random_state).integers(2**63))
        return A3MEngine(
            arrivals, int(self.group_size), names, earlier, self._most_members(), seed=seed
        )
