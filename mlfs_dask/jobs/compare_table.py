"""From the rows of ``evaluation.csv`` to tables of methods: which cell is which mean.

A cell belongs to a data set, a selector and a classifier. It is the mean over the folds at one
point of the curve; where every fold has a single point (a subset of its own size, the baseline),
that one is taken. A cell is missing if a fold of the data set has no row at this point, or if the
measure is undefined in all folds. Values are rounded to 12 significant digits, so that means that
are equal but for rounding errors are ties.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import FloatArray
from mlfs_dask.jobs.compare_spec import PointAt
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.kernels.shares import count_of_share

_DIGITS: Final = 12

At: TypeAlias = PointAt | Literal["best", "selected"] | None
Fold: TypeAlias = tuple[int, int]
"""Repeat and fold."""
Key: TypeAlias = tuple[str, str, str]
"""Data set, selector, classifier."""
_Points: TypeAlias = list[tuple[float, float, float]]  # features, their share, value
_Curve: TypeAlias = dict[Fold, _Points]


@dataclass(frozen=True, eq=False)
class Table:
    """A table to be tested.

    Attributes
    ----------
    methods, rows
        Names of the columns and of the rows.
    absent
        Methods asked for that no row has a result of.
    values : ndarray of float64, shape (n_rows, n_methods)
        NaN where a cell is missing.
    """

    methods: tuple[str, ...]
    rows: tuple[str, ...]
    absent: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, and what is the same in all of them.

    Attributes
    ----------
    of
        ``"selectors"`` under one classifier, or ``"classifiers"`` on one selector.
    held
        Label of that classifier or selector.
    """

    of: Literal["selectors", "classifiers"]
    held: str

    def cell(self, dataset: str, method: str) -> Key:
        """The cell of a method on a data set."""
        if self.of == "selectors":
            return dataset, method, self.held
        return dataset, self.held, method


class Values:
    """The values of one measure, by data set, selector, classifier and fold.

    Parameters
    ----------
    evaluation
        Rows of ``evaluation.csv``, as `mlfs_dask.jobs.results.Run.evaluation` has them.
    metric
        Name of the measure.
    higher_is_better
        Its direction, for the best points.
    """

    def __init__(
        self, evaluation: NDArray[np.void], metric: str, *, higher_is_better: bool
    ) -> None:
        self._higher = higher_is_better
        self._curves: dict[Key, _Curve] = {}
        self._folds: dict[str, set[Fold]] = {}
        names = ["dataset", "selector", "classifier", "repeat", "fold"]
        names += ["n_features", "share", "value"]
        chosen = evaluation[evaluation["metric"] == metric]
        for dataset, selector, classifier, repeat, fold, *point in chosen[names].tolist():
            curve = self._curves.setdefault((dataset, selector, classifier), {})
            curve.setdefault((repeat, fold), []).append(tuple(point))
            self._folds.setdefault(dataset, set()).add((repeat, fold))
        for curve in self._curves.values():
            for points in curve.values():
                points.sort(key=lambda point: point[0])

    def over_datasets(
        self, datasets: Sequence[str], methods: Sequence[str], columns: Columns, at: At
    ) -> Table:
        """One row per data set: means over the folds.

        Parameters
        ----------
        datasets, methods
            Rows and columns.
        columns
            What the columns are.
        at
            Point of the curves; None: they have one only.
        """
        cells = [[columns.cell(dataset, method) for method in methods] for dataset in datasets]
        values = [[_mean(self._at(cell, at).values()) for cell in row] for row in cells]
        return self._table(methods, datasets, cells, values)

    def over_folds(self, dataset: str, methods: Sequence[str], columns: Columns, at: At) -> Table:
        """One row per fold of a data set.

        Parameters
        ----------
        dataset, methods
            The data set, the columns.
        columns
            What the columns are.
        at
            Point of the curves; None: they have one only.
        """
        folds = sorted(self._folds.get(dataset, ()))
        cells = [columns.cell(dataset, method) for method in methods]
        found = [self._at(cell, at) for cell in cells]
        values = [[_rounded(one.get(fold, math.nan)) for one in found] for fold in folds]
        repeated = len({repeat for repeat, _ in folds}) > 1
        rows = [f"repeat {r}, fold {f}" if repeated else f"fold {f}" for r, f in folds]
        return self._table(methods, rows, [cells] * len(rows), values)

    def _table(
        self,
        methods: Sequence[str],
        rows: Sequence[str],
        cells: Sequence[Sequence[Key]],
        values: Sequence[Sequence[float]],
    ) -> Table:
        """Without the columns that no row has a result of."""
        there = [
            any(row[column] in self._curves for row in cells) for column in range(len(methods))
        ]
        array = np.array(values, dtype=np.float64).reshape(len(rows), len(methods))
        return Table(
            methods=tuple(m for m, is_there in zip(methods, there, strict=True) if is_there),
            rows=tuple(rows),
            absent=tuple(m for m, is_there in zip(methods, there, strict=True) if not is_there),
            values=array[:, np.array(there, dtype=bool)],
        )

    def _at(self, cell: Key, at: At) -> Mapping[Fold, float]:
        """Value of every fold at a point; none if some fold has no row there."""
        curve = self._curves.get(cell, {})
        if set(curve) != self._folds.get(cell[0], set()):
            return {}
        single = all(len(points) == 1 for points in curve.values())
        if single and (cell[1] == BASELINE or not isinstance(at, PointAt)):
            return {fold: points[0][2] for fold, points in curve.items()}
        if isinstance(at, PointAt):
            found = {fold: _value_at(points, at) for fold, points in curve.items()}
            known = {fold: value for fold, value in found.items() if value is not None}
            return known if len(known) == len(found) else {}
        return self._best(curve) if at == "best" else {}

    def _best(self, curve: _Curve) -> Mapping[Fold, float]:
        """Values at the point with the best mean over the folds; of equal ones fewest features."""
        lengths = {len(points) for points in curve.values()}
        if len(lengths) != 1:
            return {}
        candidates = [
            {fold: points[i][2] for fold, points in curve.items()} for i in range(lengths.pop())
        ]
        sign = -1.0 if self._higher else 1.0
        scored = [(sign * _mean(each.values()), i) for i, each in enumerate(candidates)]
        defined = [pair for pair in scored if not math.isnan(pair[0])]
        return candidates[min(defined)[1]] if defined else {}


def has_point(evaluation: NDArray[np.void], at: PointAt) -> bool:
    """Whether some row stands at a point.

    Parameters
    ----------
    evaluation
        Rows of ``evaluation.csv``.
    at
        The point.
    """
    sizes = np.unique(evaluation[["n_features", "share"]]).tolist()
    return any(_is_at(n_features, share, at) for n_features, share in sizes)


def has_several_points(evaluation: NDArray[np.void]) -> bool:
    """Whether some curve has more than one point in a fold.

    Parameters
    ----------
    evaluation
        Rows of ``evaluation.csv``.
    """
    names = ["dataset", "selector", "classifier", "repeat", "fold", "metric"]
    _, counts = np.unique(evaluation[names], return_counts=True)
    return bool((counts > 1).any())


def _value_at(points: _Points, at: PointAt) -> float | None:
    return next((value for n, share, value in points if _is_at(n, share, at)), None)


def _is_at(n_features: float, share: float, at: PointAt) -> bool:
    if at.fraction is None:
        return n_features == at.count
    if share == 0:  # an empty subset
        return False
    # What a share stands for depends on the number of all features, which the row tells.
    return n_features == count_of_share(at.fraction, max(1, round(n_features / share)))


def _mean(values: Iterable[float]) -> float:
    """Mean of the values that are defined, the same in any order; NaN if there is none."""
    defined = [value for value in values if not math.isnan(value)]
    return _rounded(math.fsum(defined) / len(defined)) if defined else math.nan


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
