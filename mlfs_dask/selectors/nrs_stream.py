"""nrs-stream: features of a stream by neighbourhoods and label correlation (paper D: Bao et al.).

Features arrive one after the other. Each is kept if the labels depend on the set more with it than
without it, or if it is relevant and no member makes it redundant. A label depends on a set S as far
as it is pure in gap neighbourhoods; labels are weighted by what they tell about each other::

    γ(S) = sum over labels k of W_k γ_k(S),     γ_k(S) = share of rows around which k is pure

Distances between all rows over S are kept, and each arrival adds its column to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from mlfs_dask._typing import ByteArray, Impute, Normalize
from mlfs_dask.checks import check_choice, check_count, is_number
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.arrivals import Scaling
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.kernels.gap_levels import GapRule
from mlfs_dask.kernels.label_weights import label_information, label_weights
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.selectors.online import Arrival, OnlineSelector, Stream
from mlfs_dask.selectors.online_engine import (
    Measured,
    OnlineEngine,
    OnlineState,
    key,
    mean_alone,
    restored,
    significance,
)

_MOST_PAIRS: Final = 64


@dataclass(frozen=True)
class StreamEngine(OnlineEngine):
    """Paper D's five rules for an arriving feature f and the members S.

    ====================  ======================================================================
    S is empty            f joins if γ({f}) > 0
    significance          γ(S + {f}) - γ(S) above 0: f joins; below 0: it doesn't
    relevance             γ({f}) below the threshold: f is discarded
    redundancy            for members g in order of arrival, γ({g, f}) - γ({g}) at most 0: f is
                          discarded if γ({f}) <= γ({g}), else it takes the place of g
    else                  f joins
    ====================  ======================================================================

    Attributes
    ----------
    relevance : float or None
        The threshold; None: mean of γ({g}) over the members.
    """

    relevance: float | None = None

    def advance(self, state: OnlineState, reply: Any) -> Step[OnlineState]:
        """Decide on as many arrivals as the reply allows.

        Parameters
        ----------
        state
            From the last step.
        reply
            To ``arrivals`` a sequence of `Measured` or None; to ``pairs`` a sequence of numbers; to
            ``set`` a number.
        """
        if not state.measured:
            return self._decide(replace(state, measured=tuple(reply)), ())
        if isinstance(reply, float):
            return self._replace(state, reply)
        return self._compare(state, reply)

    def _ask(self, state: OnlineState) -> dict[str, Any]:
        # A feature that lowers the dependency is discarded however relevant it is.
        return {**super()._ask(state), "dependency": state.dependency}

    def _decide(self, state: OnlineState, decided: tuple[Choice, ...]) -> Step[OnlineState]:
        """Go through what was measured until something else is needed."""
        while state.measured:
            known = state.measured[0]
            if known is None:
                choice, state = self._constant(state)
            elif not state.members:
                choice, state = self._first(state, known)
            elif gain := significance(known.joined, state.dependency):
                choice, state = self._by_significance(state, known, gain)
            else:
                threshold = self._threshold(state)
                if key(known.alone) >= key(threshold):
                    return Step(state, decided=decided, request=self._ask_pairs(state))
                reason = f"discarded: relevance {known.alone:.3g} below {threshold:.3g}"
                choice, state = self._discard(state, known, reason, 0.0, threshold=threshold)
            decided = (*decided, choice)
        return self._go_on(state, decided)

    def _threshold(self, state: OnlineState) -> float:
        return mean_alone(state) if self.relevance is None else self.relevance

    def _first(self, state: OnlineState, known: Measured) -> tuple[Choice, OnlineState]:
        if significance(known.alone, 0.0) > 0:
            reason = f"accepted: dependency {known.alone:.3g} by itself"
            return self._accept(state, known, reason, known.alone)
        return self._discard(state, known, "discarded: dependency 0 by itself", 0.0)

    def _ask_pairs(self, state: OnlineState) -> Request:
        """The feature with the members that come next, twice as many each time."""
        count = min(max(1, state.compared), _MOST_PAIRS)
        members = state.members[state.compared : state.compared + count]
        feature = self.arrivals[state.arrived]
        return Request("pairs", {"feature": feature, "members": members})

    def _compare(self, state: OnlineState, reply: Sequence[float]) -> Step[OnlineState]:
        known = state.measured[0]
        assert known is not None
        for g, pair in zip(state.members[state.compared :], reply, strict=False):
            if significance(pair, state.alone[g]) > 0:
                continue
            if key(known.alone) <= key(state.alone[g]):
                reason = f"discarded: redundant to {self._named(g)}"
                about = {"features": [g], "threshold": self._threshold(state)}
                choice, state = self._discard(state, known, reason, 0.0, **about)
                return self._decide(state, (choice,))
            at = replace(state, compared=state.members.index(g))
            members = (*(h for h in state.members if h != g), self.arrivals[state.arrived])
            return Step(at, request=Request("set", {"members": members}))
        state = replace(state, compared=state.compared + len(reply))
        if state.compared < len(state.members):
            return Step(state, request=self._ask_pairs(state))
        reason, threshold = "accepted: relevant and not redundant", self._threshold(state)
        choice, state = self._accept(state, known, reason, 0.0, threshold=threshold)
        return self._go_on(state, (choice,))

    def _replace(self, state: OnlineState, dependency: float) -> Step[OnlineState]:
        known = state.measured[0]
        assert known is not None
        g = state.members[state.compared]
        reason = f"replaces {self._named(g)}: dependency {known.alone:.3g} by itself, "
        reason += f"not {state.alone[g]:.3g}"
        with_it = known._replace(joined=dependency)
        about = {"features": [g], "threshold": self._threshold(state)}
        choice, state = self._accept(state, with_it, reason, 0.0, **about)
        return self._go_on(state, (choice,))


class NRSStream(OnlineSelector):
    """Select features of a stream by neighbourhood dependency, with weights of the labels.

        γ(S) = sum over labels k of W_k |POS_k(S)| / n

    where POS_k(S) are the rows whose neighbours on the features S all agree with them on label k.

    Parameters
    ----------
    relevance : float, optional
        Threshold δ of the dependency that a feature has by itself, above 0 and at most 1. It is
        asked of features that leave the dependency as it is; the default is the mean of the
        members.
    damping : float
        Constant c of the walk that weights the labels, at least 0 and below 1.
    gap_factor : float
        A neighbourhood ends at the first gap between distances that has so many mean gaps.
    strict : bool
        The gap must be wider than that; else as wide.
    dependency : {"hard", "consistency"}
        ``"hard"``: share of rows with a pure neighbourhood. ``"consistency"``: mean share of
        neighbours that have the row's own value.
    normalize : {"minmax", "none"}
        Scaling of the features.
    n_iter : int, optional
        Rounds of the walk; default: until it settles.
    restart : {"whole", "shared"}
        What the walk adds in each round, 1 - c or its part of every label. It makes a difference
        with ``n_iter`` only.
    arrival : {"store", "random"} or list of int
        Order in which features arrive.
    random_state : int or SeedSequence, optional
        Of a random order.
    group_size : int
        Features that arrive together. They are measured in one pass over the pairs of rows and
        decided on one by one: results are those of single arrivals.
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
        One step for each arrival: ``step``, ``feature``, ``score`` (its significance), ``reason``,
        ``kept``, ``dependency`` of the set after it, ``relevance`` (its dependency by itself,
        unless it lowered that of the set), ``threshold`` (δ, where it was asked for), ``features``
        (the member that it replaces or that makes it redundant).
    weights_ : ndarray of float64, shape (n_labels,)
        Of the labels; their sum is 1.
    relevance_ : float
        δ as given, or the mean of the members at the end.

    Notes
    -----
    O(n²) operations on vectors for each arrival, n² bytes (0/1 features; else 8 n²) for distances,
    which are kept on the workers as far as memory allows and made anew beyond.

    References
    ----------
    Paper D: Bao et al.; label weights by equations (7) to (9), gap neighbourhoods by definition 9,
    dependency of labels by definition 14. The gap is that of OFS-A3M (Zhou et al. 2019), which
    parts the range of distances in n - 2.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 0]])
    >>> X = np.array([[0.0, 1.0, 5.0], [0.1, 1.0, 5.0], [0.2, 0.0, 4.0]])
    >>> X = np.vstack([X, [[0.8, 1.0, 3.0], [0.9, 0.0, 2.0], [1.0, 0.0, 1.0]]])
    >>> fitted = NRSStream().fit(X, Y)
    >>> for step in fitted.path_:
    ...     print(step["reason"])
    accepted: dependency 0.5 by itself
    discarded: relevance 0 below 0.5
    accepted: significance +0.0833
    """

    measured_by = (
        "damping",
        "gap_factor",
        "strict",
        "dependency",
        "normalize",
        "n_iter",
        "restart",
    )

    def __init__(  # noqa: PLR0913  one parameter for each reading of the paper
        self,
        relevance: float | None = None,
        *,
        damping: float = 0.85,
        gap_factor: float = 1.5,
        strict: bool = False,
        dependency: Literal["hard", "consistency"] = "hard",
        normalize: Normalize = "minmax",
        n_iter: int | None = None,
        restart: Literal["whole", "shared"] = "whole",
        arrival: Arrival = "store",
        random_state: int | np.random.SeedSequence | None = None,
        group_size: int = 1,
        max_features: int | None = None,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.relevance = relevance
        self.damping = damping
        self.gap_factor = gap_factor
        self.strict = strict
        self.dependency = dependency
        self.normalize = normalize
        self.n_iter = n_iter
        self.restart = restart
        self.arrival = arrival
        self.random_state = random_state
        self.group_size = group_size
        self.max_features = max_features
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_online()
        check_choice("dependency", self.dependency, ("hard", "consistency"))
        check_choice("normalize", self.normalize, ("minmax", "none"))
        check_choice("restart", self.restart, ("whole", "shared"))
        check_gap(self.gap_factor, self.strict)
        if self.n_iter is not None:
            check_count("n_iter", self.n_iter)
        if not is_number(self.damping) or not 0 <= self.damping < 1:
            raise InputError(f"damping = {self.damping!r}: expected a number from 0 to below 1")
        given = self.relevance
        if given is not None and (not is_number(given) or not 0 < given <= 1):
            raise InputError(
                f"relevance = {given!r}: expected None or a number above 0 and at most 1"
            )

    def _scaling(self) -> Scaling:
        return self.normalize

    def _make_dependency(self, Y: ByteArray, executor: Executor) -> Dependency:
        n_samples, n_labels = Y.shape
        constant = 1.0 - float(self.damping)
        if self.restart == "shared":
            constant /= n_labels
        self.weights_ = label_weights(
            label_information(Y), float(self.damping), self.n_iter or 0, constant
        )
        rule = GapRule(float(self.gap_factor), bool(self.strict), n_samples)
        counting: Literal["hard", "soft"] = "hard" if self.dependency == "hard" else "soft"
        return Dependency(Y, rule, counting, self.weights_, executor)

    def _make_engine(
        self, arrivals: tuple[int, ...], names: tuple[str, ...] | None, earlier: tuple[Choice, ...]
    ) -> StreamEngine:
        given = None if self.relevance is None else float(self.relevance)
        return StreamEngine(
            arrivals, int(self.group_size), names, earlier, self._most_members(), relevance=given
        )

    def _conclude(self, stream: Stream) -> None:
        super()._conclude(stream)
        state = restored(stream.choices)
        self.relevance_ = mean_alone(state) if self.relevance is None else float(self.relevance)


def check_gap(factor: Any, strict: Any) -> None:
    """Refuse gaps that are no gaps.

    Parameters
    ----------
    factor, strict
        As given by the user.

    Raises
    ------
    InputError
    """
    if not is_number(factor) or not 0 < factor < np.inf:
        raise InputError(f"gap_factor = {factor!r}: expected a number above 0")
    if not isinstance(strict, bool | np.bool_):
        raise InputError(f"strict = {strict!r}: expected True or False")
