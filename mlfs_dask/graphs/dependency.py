"""How far labels depend on a set of features: dependencies of gap neighbourhoods (paper D).

    γ_k(S) = share of rows around which label k is pure           ``"hard"``
           = mean share of a row's neighbours with its own value  ``"soft"``
    γ(S)   = sum over the labels of W_k γ_k(S)

Four roads, the same bits:

======== ============================================================================
line     a single numeric feature: one sort
points   rows with equal values stand at one point: few points, few pairs
kept     the set has distances that are kept; one column is added to them
anew     all rows, distances made for this one question
======== ============================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.graphs.arrivals import Column, pack, values_of
from mlfs_dask.graphs.executor import Executor, InProcess
from mlfs_dask.graphs.gap_tasks import Block, Columns, Surroundings, measure_block
from mlfs_dask.graphs.kept_distances import (
    KeptDistances,
    add_tallies,
    at_hand,
    despite_losses,
    row_blocks,
)
from mlfs_dask.kernels.exactsum import Cuts, cuts
from mlfs_dask.kernels.gap_counts import (
    CLASSES,
    HARD,
    SOFT,
    Counting,
    Points,
    Tally,
    point_counts,
    point_words,
)
from mlfs_dask.kernels.gap_levels import GapRule
from mlfs_dask.kernels.gap_line import LABELS, line_stretches, tally_line, tally_line_classes
from mlfs_dask.kernels.points import first_rows, refine

_WHAT = {"hard": HARD, "soft": SOFT, "classes": CLASSES}
# Pairs that are looked at in this process, since starting tasks takes longer.
_SMALL = 2**19
_TASKS_TAKE = 16  # times as long on a cluster
# Kept distances cost about as much to look at as this many features or bytes take to compare.
_LOOK_COST = 4


class Dependency:
    """Dependency of labels on sets of features, for a stream of features.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels), or of int64, shape (n_samples,)
        Labels of the rows; for ``"classes"`` the class of each.
    rule
        Where a neighbourhood ends.
    counting
        ``"hard"``, ``"soft"`` or ``"classes"`` (soft, of one decision with many values).
    weights : ndarray of float64, shape (n_labels,)
        Of the labels; one number for classes.
    executor
        Where distances are made and kept.

    Notes
    -----
    O(n²) operations on vectors for each candidate, whatever the number of features, as long as
    distances are kept.
    """

    def __init__(
        self,
        Y: AnyArray,
        rule: GapRule,
        counting: Counting,
        weights: FloatArray,
        executor: Executor,
    ) -> None:
        self._n = len(Y)
        self._rule, self._what, self._weights = rule, _WHAT[counting], weights
        self._executor = executor if self._n**2 > _SMALL else InProcess(1)
        self._places: Cuts = cuts(np.ones(len(weights)), self._n)
        self._labels = Y
        every_row = np.arange(self._n), np.ones(self._n, dtype=np.int64)
        self._rows = self._around(self._points(*every_row))
        self._kept = KeptDistances(self._rows, self._executor)
        self.members: list[Column] = []
        """Features of the set, in order of arrival."""
        self.start_with([])

    def start_with(self, members: Sequence[Column]) -> None:
        """Take another set of features.

        Parameters
        ----------
        members
            In order of arrival.
        """
        self.members = list(members)
        self._kept.start_with(members)
        self._point, self._n_points = self._points_over(members)

    def add(self, column: Column) -> None:
        """Let a feature join the set.

        Parameters
        ----------
        column
            The last to have arrived.
        """
        self.members.append(column)
        self._kept.append(column)
        if self._point is not None:
            self._point, self._n_points = self._refined(self._point, self._n_points, column)
            if not self._few(self._n_points, self.members):
                self._point = None

    def alone(self, column: Column) -> float:
        """γ({f}) of one feature.

        Parameters
        ----------
        column
            Its values.
        """
        if column.coded and not column.is_bit:
            return self.of([column])
        return self._value(self._on_line(column))

    def joined(self, candidates: Sequence[Column]) -> list[float]:
        """γ(S + {f}) of the set with each candidate.

        Parameters
        ----------
        candidates
            Each by itself.
        """
        if not self.members:
            return [self.alone(each) for each in candidates]
        found: dict[int, Tally] = {}
        for c, column in enumerate(candidates):
            if self._point is not None:
                point, n_points = self._refined(self._point, self._n_points, column)
                if self._few(n_points, [*self.members, column]):
                    found[c] = self._at_points([*self.members, column], point, n_points)
        left = [c for c in range(len(candidates)) if c not in found]
        if left:
            measured = self._kept.measure([candidates[c] for c in left])
            found.update(zip(left, measured, strict=True))
        return [self._value(found[c]) for c in range(len(candidates))]

    def of(self, columns: Sequence[Column]) -> float:
        """γ of any features, in the order in which their distances are summed.

        Parameters
        ----------
        columns
            At least one.
        """
        point, n_points = self._points_over(columns)
        if point is not None:
            return self._value(self._at_points(columns, point, n_points))
        return self._value(self._measure(columns, self._rows, None))

    def _points(self, point: IntArray, size: IntArray) -> Points:
        """Where rows stand, and the labels there."""
        n_labels, n_points = len(self._weights), len(size)
        nothing = np.zeros((0, n_labels), dtype=np.uint64)
        words = (nothing, nothing, nothing, nothing)
        having, code = np.zeros((0, n_labels), dtype=np.int32), np.zeros(0, dtype=np.int64)
        if self._what == CLASSES:
            code = self._labels.astype(np.int64)
        elif self._what == HARD:
            words = point_words(self._labels, point, n_points)
        else:
            having = point_counts(self._labels, point, n_points)
        return Points(size, *words, having, code)

    def _around(self, points: Points) -> Surroundings:
        return Surroundings(points, self._rule, self._what, self._places)

    def _refined(self, point: IntArray, n_points: int, column: Column) -> tuple[IntArray, int]:
        return refine(point, n_points, column.codes, len(column.levels))

    def _points_over(self, columns: Sequence[Column]) -> tuple[IntArray | None, int]:
        """Where rows stand by some features; None once that would be too many points."""
        point, n_points = np.zeros(self._n, dtype=np.int64), 1
        if self._what == CLASSES:
            return None, self._n
        for column in columns:
            point, n_points = self._refined(point, n_points, column)
            if not self._few(n_points, columns):
                return None, n_points
        return point, n_points

    def _few(self, n_points: int, columns: Sequence[Column]) -> bool:
        """Whether comparing points is less work than looking at the distances of all rows."""
        in_bits = all(column.is_bit for column in columns)
        width = -(-len(columns) // 8) if in_bits else len(columns)
        return n_points**2 * (width + _LOOK_COST) <= self._n**2 * _LOOK_COST

    def _at_points(self, columns: Sequence[Column], point: IntArray, n_points: int) -> Tally:
        points = self._points(point, np.bincount(point, minlength=n_points))
        return self._measure(columns, self._around(points), first_rows(point, n_points))

    def _measure(
        self, columns: Sequence[Column], around: Surroundings, rows: IntArray | None
    ) -> Tally:
        """Distances made for this one question, between some rows or all."""
        n = len(around.points.size)
        features: Columns
        pending: Columns
        last: Columns
        if all(column.is_bit for column in columns):
            packed = pack(columns, self._n, rows)
            features, last, pending = packed[:-1], packed[-1:], packed[:0]
            dtype = np.dtype(np.min_scalar_type(len(columns) + 1))
        else:
            features = values_of(columns[:-1], self._n, rows)
            last, pending = values_of(columns[-1:], self._n, rows), values_of([], self._n, rows)
            dtype = np.dtype(np.float64)
        here = isinstance(self._executor, InProcess)
        small = n**2 <= _SMALL * (1 if here else _TASKS_TAKE)
        executor = InProcess(1) if small else self._executor
        blocks = [Block(*span) for span in row_blocks(n, n * dtype.itemsize, executor.n_workers)]

        def ask() -> Tally:
            parts = (around, features, pending, last)
            common = [at_hand(executor, part, len(blocks)) for part in parts]
            [tally] = add_tallies(executor.map(measure_block, blocks, *common, dtype))
            return tally

        return despite_losses(ask, lambda: None)

    def _on_line(self, column: Column) -> Tally:
        n_labels = len(self._weights)
        tally = Tally(np.zeros(n_labels, dtype=np.int64), np.zeros((2, n_labels)))
        codes, n_levels = column.codes.astype(np.int64), len(column.levels)
        size = np.bincount(codes, minlength=n_levels)
        stretches = line_stretches(column.levels, size, self._rule)
        if self._what == CLASSES:
            order = np.lexsort((codes, self._labels))
            tally_line_classes(stretches, codes, self._labels, order, self._places, tally)
            return tally
        for start in range(0, n_labels, LABELS):
            cut = slice(start, start + LABELS)
            labels = np.ascontiguousarray(self._labels[:, cut], dtype=np.uint8)
            having = point_counts(labels, codes, n_levels)
            places = Cuts(self._places.head[cut], self._places.tail[cut])
            part = Tally(tally.pure[cut], tally.shares[:, cut])
            tally_line(self._what, stretches, size, having, places, part)
        return tally

    def _value(self, tally: Tally) -> float:
        """The dependency, weighted over the labels in order."""
        counted = tally.pure if self._what == HARD else tally.shares[0] + tally.shares[1]
        total = 0.0
        for weight, count in zip(self._weights.tolist(), counted.tolist(), strict=True):
            total += weight * (count / self._n)
        return total
