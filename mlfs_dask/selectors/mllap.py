"""MLLAP: greedy selection by a trace ratio on the label space (paper B: Hu et al. 2018).

Rows are as similar as the labels they agree on, S'_ij = (q - |Y_i xor Y_j|) / q (equation (7)). A
set F of features scores

    φ(F) = sum over F of a_r / sum over F of b_r                    equation (8), smaller is better
    a_r = sum over pairs of (f_ir - f_jr)² S'_ij,   b_r = sum of D'_ii (f_ir - u_r)²

The first feature is the one of smallest a / b; then, round by round, the one that raises φ least
(equation (9)). Features are min-max scaled, since the greedy choice depends on scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Impute, IntArray, Normalize
from mlfs_dask.checks import check_choice
from mlfs_dask.graphs.affinity import LabelAffinity
from mlfs_dask.graphs.columns import make_columns
from mlfs_dask.graphs.euclidean import check_euclidean_cost, euclidean_numerators
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.plan import RoadPlan, plan_road
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spectral import spectral_terms
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.greedy import first_at_most, key_cell_top, trace_ratio_increments
from mlfs_dask.kernels.labelsets import LabelSets, find_label_sets
from mlfs_dask.kernels.similarity import similarity_rule
from mlfs_dask.selectors.base import BaseSelector, labels_of
from mlfs_dask.selectors.engine import Choice, Request, Step
from mlfs_dask.selectors.euclidean import EuclideanEngine

# Choices made between two looks at the outside.
_BATCH = 1024


@dataclass
class TraceRatioState:
    """Where a greedy loop stands.

    Attributes
    ----------
    chosen : list of int
    left : ndarray of int64
        Candidates, ascending.
    a, b : ndarray of float64
        Of the candidates.
    top, bottom : float
        Sums of a and b over the chosen features.
    """

    chosen: list[int]
    left: IntArray
    a: FloatArray
    b: FloatArray
    top: float
    bottom: float


@dataclass(frozen=True)
class TraceRatioEngine:
    """Chooses features one after the other by the increase of φ.

    Asks for a and b of all features once; after the reply it needs nothing more.

    Attributes
    ----------
    n_features : int
    constant : ndarray of bool, shape (n_features,)
        Never chosen; the caller appends them.
    """

    n_features: int
    constant: BoolArray

    def begin(self) -> Step[TraceRatioState]:
        """Ask for the sums of all features."""
        nothing = np.zeros(0)
        state = TraceRatioState([], np.flatnonzero(~self.constant), nothing, nothing, 0.0, 0.0)
        return Step(state, request=Request("scatter"))

    def replay(self, decided: Sequence[Choice]) -> Step[TraceRatioState]:
        """Ask for the sums of all features, with these chosen already.

        Parameters
        ----------
        decided
            In order.
        """
        step = self.begin()
        step.state.chosen.extend(choice.feature for choice in decided)
        step.state.left = np.setdiff1d(step.state.left, step.state.chosen, assume_unique=True)
        return Step(step.state, decided=tuple(decided), request=step.request)

    def advance(
        self, state: TraceRatioState, reply: tuple[FloatArray, FloatArray] | None
    ) -> Step[TraceRatioState]:
        """Choose up to 1,024 features.

        Parameters
        ----------
        state
            From the last step.
        reply
            a and b of all features, shape (n_features,) each; None in later steps.
        """
        if reply is not None:
            state = _with_sums(state, *reply)
        decided, state = _choose(state, _BATCH)
        stop = "no candidate left" if len(state.left) == 0 else None
        return Step(state, decided=decided, stop=stop)


def _with_sums(state: TraceRatioState, a: FloatArray, b: FloatArray) -> TraceRatioState:
    """The state once a and b are known; what was chosen before adds up in the order of choice."""
    top = bottom = 0.0
    for feature in state.chosen:
        top += float(a[feature])
        bottom += float(b[feature])
    left = state.left[b[state.left] > 0]
    return TraceRatioState(state.chosen, left, a[left], b[left], top, bottom)


def _choose(state: TraceRatioState, count: int) -> tuple[tuple[Choice, ...], TraceRatioState]:
    left, a, b = state.left, state.a.copy(), state.b.copy()
    chosen, top, bottom = list(state.chosen), state.top, state.bottom
    alive, values = np.ones(len(left), dtype=bool), np.empty(len(left))
    decided: list[Choice] = []
    for _ in range(min(count, len(left))):
        if chosen:
            trace_ratio_increments(a, b, top / bottom, bottom, values)
        else:
            values[:] = a / b
        index = first_at_most(values, key_cell_top(float(values.min())))
        feature = int(left[index])
        increment = float(values[index])
        top += float(a[index])
        bottom += float(b[index])
        alive[index] = False
        a[index] = np.inf  # never the smallest again
        reason = "smallest increase of the criterion" if chosen else "smallest Laplacian score"
        details = {"increase": increment} if chosen else {}
        decided.append(Choice(len(chosen), feature, top / bottom, reason, details))
        chosen.append(feature)
    rest = TraceRatioState(chosen, left[alive], a[alive], b[alive], top, bottom)
    return tuple(decided), rest


class MLLAP(BaseSelector):
    """Rank features greedily by the trace ratio of distances and spreads on the label space.

    A set F of features scores, smaller is better,

        φ(F) = sum over F of a_r / sum over F of b_r
        a_r = sum over pairs of rows of (f_ir - f_jr)² S_ij,   b_r = sum of D_ii (f_ir - u_r)²

    where S_ij is the share of the labels on which rows i and j agree, D_ii its sum over j, and u_r
    the mean of feature r weighted by D. The first feature has the smallest a / b; each other one
    raises φ least.

    Parameters
    ----------
    normalize : {"minmax", "none"}
        Scaling of the features.
    distance : {"squared", "euclidean"}
        Reading of equation (8): squared distances in the chosen subspace, or unsquared ones. The
        unsquared reading has no shortcut: n² d / 2 roots per choice by pairs of rows, for small
        data only.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all. The squared reading ranks
        all features anyway, the unsquared one stops there.
    road : {"auto", "lowrank", "collapsed", "pairs"}
        How the sums are made; all give the same scores.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        φ of the features chosen up to and with this one; NaN for features never chosen.
    path_ : list of dict
        ``step``, ``feature``, ``score`` (φ), ``increase`` and ``reason`` of each choice.
    road_ : str
    plan_ : RoadPlan

    Notes
    -----
    Cost: S is a sum of q + 2 products of labels, so that a and b take O(nnz q), with no pair of
    rows; then O(d) per choice, O(d²) in all. Constant features are never chosen; they come last.

    References
    ----------
    Paper B: Hu et al. 2018, equations (5) to (9).

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0]])
    >>> X = np.array([[3.0, 1.0], [2.0, 5.0], [4.0, 2.0], [3.5, 4.0], [0.0, 3.0]])
    >>> MLLAP().fit(X, Y).order_
    array([0, 1])
    """

    def __init__(
        self,
        normalize: Normalize = "minmax",
        *,
        distance: Literal["squared", "euclidean"] = "squared",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        road: Literal["auto", "lowrank", "collapsed", "pairs"] = "auto",
        tile: int = 4096,
    ) -> None:
        self.normalize = normalize
        self.distance = distance
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.road = road
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("normalize", self.normalize, ("minmax", "none"))
        check_choice("distance", self.distance, ("squared", "euclidean"))
        check_choice("road", self.road, ("auto", "lowrank", "collapsed", "pairs"))

    def plan(self, source: Source, *, n_cells: float | None = None) -> RoadPlan:
        """The road `fit` will take, from sizes and labels alone.

        Parameters
        ----------
        source
            Rows with labels.
        n_cells
            Stored values of X; default: all cells, a twentieth of them for CSR.
        """
        return self._plan(source, find_label_sets(labels_of(source)), n_cells)

    def _plan(self, source: Source, sets: LabelSets, n_cells: float | None) -> RoadPlan:
        return plan_road(
            source,
            n_cells=n_cells,
            allowed=("lowrank", "collapsed", "pairs"),
            wanted=self.road,
            sets=sets,
        )

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        self.higher_is_better_ = False
        Y = labels_of(source)
        sets = find_label_sets(Y)
        self.plan_ = self._plan(source, sets, summary.n_cells)
        self.road_ = self.plan_.road
        if self.distance == "euclidean":
            check_euclidean_cost(source.n_samples, source.n_features, self._limit(source))
        columns = make_columns(source, summary, executor)
        rule = similarity_rule("matching", Y.shape[1])
        affinity = LabelAffinity(sets, rule)
        spectral = spectral_terms(source, columns, affinity, self.road_, executor)
        span = np.where(summary.constant[columns.feature], 1.0, columns.span)
        scale = span if self.normalize == "minmax" else np.ones(columns.n_columns)
        a = columns.by_feature(2.0 * spectral.terms.lff / (scale * scale))
        b = columns.by_feature(spectral.terms.scatter / (scale * scale))

        def fulfil(request: Request) -> Any:
            if request.kind == "scatter":
                return a, b
            return euclidean_numerators(
                source, columns, scale, affinity, dict(request.arguments), executor
            )

        engine: TraceRatioEngine | EuclideanEngine
        if self.distance == "squared":
            engine = TraceRatioEngine(source.n_features, summary.constant)
        else:
            engine = EuclideanEngine(summary.constant, self._limit(source))
        self._keep_driven(engine, fulfil, summary.constant)

    def _limit(self, source: Source) -> int:
        return self._count_to_keep(source.n_features)
