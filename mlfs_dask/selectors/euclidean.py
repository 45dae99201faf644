"""The unsquared reading of MLLAP's criterion, one request per choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels.greedy import first_at_most, key_cell_top
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.wording import counted


@dataclass
class EuclideanState:
    """Where the loop stands.

    Attributes
    ----------
    chosen : list of int
    left : ndarray of int64
        Candidates, ascending.
    b : ndarray of float64, shape (n_features,)
        Spread of every feature.
    bottom : float
        Sum of b over the chosen features.
    """

    chosen: list[int]
    left: IntArray
    b: FloatArray
    bottom: float = 0.0


@dataclass(frozen=True)
class EuclideanEngine:
    """Chooses the feature with the smallest φ(F + f), numerators by unsquared distances.

    Attributes
    ----------
    constant : ndarray of bool, shape (n_features,)
        Never chosen.
    limit : int
        Number of features to choose.
    """

    constant: BoolArray
    limit: int

    def begin(self) -> Step[EuclideanState]:
        """Ask for the sums of all features."""
        state = EuclideanState([], np.flatnonzero(~self.constant), np.zeros(0))
        return Step(state, request=Request("scatter"))

    def replay(self, decided: Sequence[Choice]) -> Step[EuclideanState]:
        """Ask for the sums of all features, with these chosen already.

        Parameters
        ----------
        decided
            In order.
        """
        step = self.begin()
        step.state.chosen.extend(choice.feature for choice in decided)
        return Step(step.state, decided=tuple(decided), request=step.request)

    def advance(
        self, state: EuclideanState, reply: FloatArray | tuple[FloatArray, FloatArray]
    ) -> Step[EuclideanState]:
        """Choose one feature.

        Parameters
        ----------
        state
            From the last step.
        reply
            First a and b of all features, then the numerators of the candidates.
        """
        if isinstance(reply, tuple):
            a, b = reply
            state = _with_spreads(state, b)
            if state.chosen or len(state.left) == 0:
                return self._ask(state, ())
            values = a[state.left] / b[state.left]
        else:
            values = reply / (state.bottom + state.b[state.left])
        index = first_at_most(values, key_cell_top(float(values.min())))
        feature = int(state.left[index])
        reason = "smallest criterion" if state.chosen else "smallest Laplacian score"
        choice = Choice(len(state.chosen), feature, float(values[index]), reason)
        after = EuclideanState(
            chosen=[*state.chosen, feature],
            left=np.delete(state.left, index),
            b=state.b,
            bottom=state.bottom + float(state.b[feature]),
        )
        return self._ask(after, (choice,))

    def _ask(self, state: EuclideanState, decided: tuple[Choice, ...]) -> Step[EuclideanState]:
        """The end, or the numerators of what is left."""
        if len(state.left) == 0:
            return Step(state, decided=decided, stop="no candidate left")
        if len(state.chosen) >= self.limit:
            return Step(state, decided=decided, stop=f"{counted(self.limit, 'feature')} chosen")
        arguments = {"chosen": np.array(state.chosen), "candidates": state.left}
        return Step(state, decided=decided, request=Request("euclidean", arguments))


def _with_spreads(state: EuclideanState, b: FloatArray) -> EuclideanState:
    """The state once b is known; what was chosen before adds up in the order of choice."""
    bottom = 0.0
    for feature in state.chosen:
        bottom += float(b[feature])
    left = np.setdiff1d(state.left[b[state.left] > 0], state.chosen, assume_unique=True)
    return EuclideanState(state.chosen, left, b, bottom)
