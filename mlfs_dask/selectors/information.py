"""Greedy selection by information shared with labels and with the features chosen so far.

The criterion of a feature f, given the chosen features S, is

    J(f | S) = merit of f by itself - redundancy of f with S

where redundancy is a sum over S (`pmu`) or its mean (`mdmr`). Each choice s asks for one number per
feature, what f and s have in common; it is added to the sum in the order of choice.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Impute, IntArray
from mlfs_dask.graphs.cooccurrence import Cooccurrence
from mlfs_dask.graphs.discretize import find_bins
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.information import Information
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.ranking import argbest
from mlfs_dask.selectors.base import BaseSelector, labels_of
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.wording import counted

_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class InformationState:
    """Where a loop stands.

    Attributes
    ----------
    chosen : tuple of int
    n_added : int
        How many of them the redundancy holds; fewer than all while a loop is taken up again.
    left : ndarray of int64
        Candidates, ascending.
    parts : mapping of str to ndarray of float64, shape (n_features,)
        What each feature has by itself; empty before it is known.
    redundancy : ndarray of float64, shape (n_features,)
        Sum over the chosen features, in the order of choice.
    """

    chosen: tuple[int, ...]
    n_added: int
    left: IntArray
    parts: Mapping[str, FloatArray]
    redundancy: FloatArray


@dataclass(frozen=True, eq=False)
class InformationEngine:
    """Chooses the feature of the largest J, one request per choice.

    Attributes
    ----------
    constant : ndarray of bool, shape (n_features,)
        Never chosen; the caller appends them.
    limit : int
        Number of features to choose.
    average : bool
        J takes the mean redundancy instead of the sum.
    """

    constant: BoolArray
    limit: int
    average: bool

    def begin(self) -> Step[InformationState]:
        """Ask what each feature has by itself."""
        left = np.flatnonzero(~self.constant)
        state = InformationState((), 0, left, {}, np.zeros(len(self.constant)))
        return Step(state, request=Request("features"))

    def replay(self, decided: Sequence[Choice]) -> Step[InformationState]:
        """Ask what each feature has by itself, with these chosen already.

        Their redundancies are asked for one after the other, as they were.

        Parameters
        ----------
        decided
            In order.
        """
        step = self.begin()
        chosen = tuple(choice.feature for choice in decided)
        left = np.setdiff1d(step.state.left, chosen, assume_unique=True)
        state = replace(step.state, chosen=chosen, left=left)
        return Step(state, decided=tuple(decided), request=step.request)

    def advance(
        self, state: InformationState, reply: Mapping[str, FloatArray] | FloatArray
    ) -> Step[InformationState]:
        """Choose one feature, unless redundancies of earlier ones are still to be added.

        Parameters
        ----------
        state
            From the last step.
        reply
            First, by name, the parts of each feature's own merit: ``relevance``, and what is taken
            off it. Then the redundancy of each feature with the one asked for. Arrays of shape
            (n_features,).
        """
        if isinstance(reply, Mapping):
            state = replace(state, parts=reply)
        else:
            added = state.redundancy + reply
            state = replace(state, redundancy=added, n_added=state.n_added + 1)
        finished = self._end(state)
        if finished is not None:
            return Step(state, stop=finished)
        if state.n_added < len(state.chosen):
            return Step(state, request=self._ask(state))
        choice = self._choose(state)
        state = replace(
            state,
            chosen=(*state.chosen, choice.feature),
            left=state.left[state.left != choice.feature],
        )
        finished = self._end(state)
        request = None if finished is not None else self._ask(state)
        return Step(state, decided=(choice,), request=request, stop=finished)

    def _end(self, state: InformationState) -> str | None:
        if len(state.left) == 0:
            return "no candidate left"
        return (
            f"{counted(self.limit, 'feature')} chosen" if len(state.chosen) >= self.limit else None
        )

    def _ask(self, state: InformationState) -> Request:
        return Request("redundancy", {"feature": state.chosen[state.n_added]})

    def _choose(self, state: InformationState) -> Choice:
        parts = {name: values[state.left] for name, values in state.parts.items()}
        parts["redundancy"] = state.redundancy[state.left]
        if self.average and state.chosen:
            parts["redundancy"] = parts["redundancy"] / len(state.chosen)
        criterion = parts["relevance"]
        for name, values in parts.items():
            if name != "relevance":
                criterion = criterion - values
        criterion = np.where(abs(criterion) < _NEGLIGIBLE, 0.0, criterion)
        at = argbest(criterion, higher_is_better=True)
        reason = "largest criterion" if state.chosen else "largest merit by itself"
        details = {name: float(values[at]) for name, values in parts.items()}
        feature = int(state.left[at])
        return Choice(len(state.chosen), feature, float(criterion[at]), reason, details)


class InformationSelector(BaseSelector):
    """What `pmu` and `mdmr` have in common.

    Parameters
    ----------
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features to choose.
    tile : int
        Rows per tile for input in memory.
    """

    _average: bool

    def __init__(
        self,
        *,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()

    @abstractmethod
    def _parts(self, information: Information) -> dict[str, FloatArray]:
        """What each feature has by itself: ``relevance``, and what is taken off it."""

    @abstractmethod
    def _redundancy(self, information: Information, feature: int) -> FloatArray:
        """What each feature has in common with a chosen one."""

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        self.higher_is_better_ = True
        Y = labels_of(source)
        bins = find_bins(source, summary, executor)
        information = Information(Cooccurrence(source, bins, summary, Y, executor), Y)

        def fulfil(request: Request) -> Any:
            if request.kind == "features":
                return self._parts(information)
            return self._redundancy(information, request.arguments["feature"])

        limit = self._count_to_keep(source.n_features)
        engine = InformationEngine(summary.constant, limit, self._average)
        self._keep_driven(engine, fulfil, summary.constant)
