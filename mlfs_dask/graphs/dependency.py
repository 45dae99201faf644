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
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.arrivals import Column, pack, values_of
from mlfs_dask.graphs.executor import Executor, InProcess
from mlfs_dask.graphs.gap_tasks import Block, Columns, Surroundings, measure_block
from mlfs_dask.graphs.kept_distances import (
    BITS,
    KeptDistances,
    Span,
    add_tallies,
    at_hand,
    despite_losses,
    distance_blocks,
)
from mlfs_dask.kernels.exactsum import Cuts, cuts
from mlfs_dask.kernels.gap_counts import (
    CLASSES,
    HARD,
    SOFT,
    Counting,
    Points,
    Tally,
    point_words,
)
from mlfs_dask.kernels.gap_levels import GapRule
from mlfs_dask.kernels.gap_line import LABELS, line_stretches, tally_line, tally_line_classes
from mlfs_dask.kernels.gap_measure import Candidates
from mlfs_dask.kernels.points import first_rows, point_classes, point_counts, refine

_WHAT = {"hard": HARD, "soft": SOFT, "classes": CLASSES}
# Pairs that are looked at in this process, since starting tasks takes longer.
_SMALL = 2**19
_TASKS_TAKE = 16  # times as long on a cluster
# Kept distances cost about as much to look at as this many features take to compare, and twice as
# many bytes.
_LOOK_COST = 4
_ONE: Final[list[Span]] = [(0, 1)]


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

    @property
    def ahead(self) -> int:
        """How many features more than one may join at once in what is asked of `joined`."""
        if not self.members:
            return 0
        if self._point is None:
            return self._kept.ahead
        if self._is_small(self._n_points):
            return 0
        in_bits = all(column.is_bit for column in self.members)
        return BITS - 1 - (len(self.members) % BITS if in_bits else 0)

    def joined(self, columns: Sequence[Column], spans: Sequence[Span] | None = None) -> list[float]:
        """γ(S + {f}) of the set with each candidate.

        Parameters
        ----------
        columns
            Of the candidates.
        spans
            Candidate c is ``columns[spans[c][0]:spans[c][1]]``: a feature, or up to `ahead` more
            that join together. Default: each column by itself.

        Returns
        -------
        list of float
            One for each candidate.
        """
        if not self.members:
            return [self.alone(each) for each in columns]
        if spans is not None:
            tallies = self._at_points(columns, spans) or self._kept.measure(columns, spans)
            return [self._value(tally) for tally in tallies]
        found = {c: self._at_points([column], _ONE) for c, column in enumerate(columns)}
        left = [c for c, tallies in found.items() if not tallies]
        if left:
            every = [(c, c + 1) for c in range(len(left))]
            measured = self._kept.measure([columns[c] for c in left], every)
            found.update((c, [tally]) for c, tally in zip(left, measured, strict=True))
        return [self._value(found[c][0]) for c in range(len(columns))]

    def of(self, columns: Sequence[Column]) -> float:
        """γ of any features, in the order in which their distances are summed.

        Parameters
        ----------
        columns
            At least one.
        """
        around, rows = self._rows, None
        point, n_points = self._points_over(columns)
        if point is not None:
            around, rows = self._at(point, n_points), first_rows(point, n_points)
        [tally] = self._measure(columns[:-1], columns[-1:], _ONE, around, rows)
        return self._value(tally)

    def _points(self, point: IntArray, size: IntArray) -> Points:
        """Where rows stand, and the labels there."""
        n_labels, n_points = len(self._weights), len(size)
        nothing = np.zeros((0, n_labels), dtype=np.uint64)
        words = (nothing, nothing, nothing, nothing)
        having, none = np.zeros((0, n_labels), dtype=np.int32), np.zeros(0, dtype=np.int64)
        code, begin, of_class = none, none, none
        if self._what == CLASSES:
            code = self._labels.astype(np.int64)
            if n_points < self._n:
                code, begin, of_class = point_classes(code, point, n_points)
        elif self._what == HARD:
            words = point_words(self._labels, point, n_points)
        else:
            having = point_counts(self._labels, point, n_points)
        return Points(size, *words, having, code, begin, of_class)

    def _around(self, points: Points) -> Surroundings:
        return Surroundings(points, self._rule, self._what, self._places)

    def _refined(self, point: IntArray, n_points: int, column: Column) -> tuple[IntArray, int]:
        return refine(point, n_points, column.codes, len(column.levels))

    def _points_over(self, columns: Sequence[Column]) -> tuple[IntArray | None, int]:
        """Where rows stand by some features; None once that would be too many points."""
        point, n_points = np.zeros(self._n, dtype=np.int64), 1
        for column in columns:
            point, n_points = self._refined(point, n_points, column)
            if not self._few(n_points, columns):
                return None, n_points
        return point, n_points

    def _few(self, n_points: int, columns: Sequence[Column]) -> bool:
        """Whether comparing points is less work than looking at the distances of all rows."""
        in_bits = all(column.is_bit for column in columns)
        width = -(-len(columns) // BITS) if in_bits else len(columns)
        look = _LOOK_COST / 2 if in_bits else _LOOK_COST
        return n_points**2 * (width + look) <= self._n**2 * look

    def _is_small(self, n_points: int) -> bool:
        """Whether comparing points takes less time than tasks."""
        here = isinstance(self._executor, InProcess)
        return n_points**2 <= _SMALL * (1 if here else _TASKS_TAKE)

    def _at_points(self, columns: Sequence[Column], spans: Sequence[Span]) -> list[Tally]:
        """The set with each candidate, if rows stand at few points over all of them; else empty.

        Points that are told apart by the features of some candidates only are as good as one point.
        """
        if self._point is None:
            return []
        point, n_points = self._point, self._n_points
        for column in columns:
            point, n_points = self._refined(point, n_points, column)
        if not self._few(n_points, [*self.members, *columns]):
            return []
        at = self._at(point, n_points)
        return self._measure(self.members, columns, spans, at, first_rows(point, n_points))

    def _at(self, point: IntArray, n_points: int) -> Surroundings:
        return self._around(self._points(point, np.bincount(point, minlength=n_points)))

    def _measure(
        self,
        members: Sequence[Column],
        columns: Sequence[Column],
        spans: Sequence[Span],
        around: Surroundings,
        rows: IntArray | None,
    ) -> list[Tally]:
        """Distances made for this one question, between some rows or all."""
        n = len(around.points.size)
        features: Columns
        pending: Columns
        made: ByteArray | Candidates
        if all(column.is_bit for column in (*members, *columns)):
            whole = len(members) - len(members) % BITS
            rest = members[whole:]
            each = (columns[first:last] for first, last in spans)
            made = np.concatenate([pack([*rest, *added], self._n, rows) for added in each])
            features, pending = pack(members[:whole], self._n, rows), pack([], self._n, rows)
            dtype = np.dtype(np.min_scalar_type(len(members) + len(columns) + 1))
        else:
            own = values_of(columns, self._n, rows)
            made = Candidates(own, np.array(spans, dtype=np.int64))
            features, pending = values_of(members, self._n, rows), values_of([], self._n, rows)
            dtype = np.dtype(np.float64)
        executor = InProcess(1) if self._is_small(n) else self._executor
        blocks = [Block(*span) for span in distance_blocks(n, n * dtype.itemsize, executor)]

        def ask() -> list[Tally]:
            parts = (around, features, pending, made)
            common = [at_hand(executor, part, len(blocks)) for part in parts]
            return add_tallies(executor.map(measure_block, blocks, *common, dtype))

        return despite_losses(ask, lambda: None)

    def _on_line(self, column: Column) -> Tally:
        n_labels = len(self._weights)
        tally = Tally(np.zeros(n_labels, dtype=np.int64), np.zeros((2, n_labels)))
        codes, n_levels = column.codes.astype(np.int64), len(column.levels)
        size = np.bincount(codes, minlength=n_levels)
        stretches = line_stretches(column.levels, size, self._rule)
        two = self._what == HARD and n_levels == 2
        with_labels = self._on_two_levels(column) if two else None
        if self._what == CLASSES:
            order = np.lexsort((codes, self._labels))
            tally_line_classes(stretches, codes, self._labels, order, self._places, tally)
            return tally
        for start in range(0, n_labels, LABELS):
            cut = slice(start, start + LABELS)
            if with_labels is None:
                labels = np.ascontiguousarray(self._labels[:, cut], dtype=np.uint8)
                having = point_counts(labels, codes, n_levels)
            else:
                having = np.ascontiguousarray(with_labels[:, cut])
            places = Cuts(self._places.head[cut], self._places.tail[cut])
            part = Tally(tally.pure[cut], tally.shares[:, cut])
            tally_line(self._what, stretches, size, having, places, part)
        return tally

    def _on_two_levels(self, column: Column) -> NDArray[np.int32]:
        """As `point_counts`, 64 rows at a time."""
        labels = self._rows.points.some
        upper = np.zeros(8 * len(labels), dtype=np.uint8)
        packed = np.packbits(column.codes, bitorder="little")
        upper[: len(packed)] = packed
        above = labels & upper.view("<u8")[:, None]
        having = np.empty((2, labels.shape[1]), dtype=np.int32)
        having[1] = np.bitwise_count(above).sum(axis=0)
        having[0] = np.bitwise_count(labels).sum(axis=0) - having[1]
        return having

    def _value(self, tally: Tally) -> float:
        """The dependency, weighted over the labels in order."""
        counted = tally.pure if self._what == HARD else tally.shares[0] + tally.shares[1]
        total = 0.0
        for weight, count in zip(self._weights.tolist(), counted.tolist(), strict=True):
            total += weight * (count / self._n)
        return total
