"""Means over folds, best points, how many features are enough: the numbers that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.evaluate.protocol import higher_is_better
from mlfs_dask.evaluate.stability import one_standard_error, standard_error
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE

_Key: TypeAlias = tuple[str, str, str]


class Mean(Struct, frozen=True):
    """A measure over the folds.

    Attributes
    ----------
    value
        Unweighted mean over the folds (of all repeats) where it is defined; None if there is none.
    spread
        Standard deviation over these folds (divisor m - 1); None for a single fold.
    folds
        How many there are.
    standard_error
        Of the mean, as if folds were independent; None for a single fold.
    """

    value: float | None
    spread: float | None
    folds: int
    standard_error: float | None


class Point(Struct, frozen=True, kw_only=True):
    """A selector, judged by a classifier at one number of features.

    Attributes
    ----------
    dataset, selector, classifier
        Names.
    n_features, share
        Where on the curve; means over the folds if these differ, as for subsets of their own size.
    cost_share
        Cost of these features as a share of the cost of all, mean over the folds; None without
        costs.
    means
        By name of the measure.
    """

    dataset: str
    selector: str
    classifier: str
    n_features: float
    share: float
    cost_share: float | None
    means: dict[str, Mean]


class Enough(Struct, frozen=True, kw_only=True):
    """How many features a selector needs, by the one-standard-error rule.

    Attributes
    ----------
    metric
        Name of the measure.
    best
        The point with the best mean.
    enough
        The point with the fewest features whose mean is within one standard error of the best.
    standard_error
        Of the best mean, over the folds of all repeats; None for a single fold, where the best
        point is the answer.
    """

    metric: str
    best: Point
    enough: Point
    standard_error: float | None


class Planted(Struct, frozen=True, kw_only=True):
    """How much of a planted truth a selection on all rows found.

    Attributes
    ----------
    dataset, selector
        Names.
    relevant
        Number of relevant features r.
    found
        How many of them are among the first r.
    """

    dataset: str
    selector: str
    relevant: int
    found: int


def curve_points(run: Run) -> list[Point]:
    """All points of all curves, in the order of the job and by number of features.

    Points of the folds belong together by number of features. Where folds have subsets of their own
    sizes, they belong together by position along the curve.

    Parameters
    ----------
    run
        A run with an evaluation.
    """
    rows = run.evaluation
    metrics = metrics_of(run)
    where = _rows_of_curves(rows)
    return [
        point
        for key in _ordered(run, where)
        for point in _points_of(rows[where[key]], key, metrics)
    ]


def curves(run: Run) -> Iterator[tuple[str, str, str]]:
    """Data set, selector and classifier of every curve, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    yield from _ordered(run, _rows_of_curves(run.evaluation))


def group_curves(points: Sequence[Point]) -> dict[tuple[str, str], dict[str, list[Point]]]:
    """Curves that may be compared: data set and classifier -> selector -> its points.

    Parameters
    ----------
    points
        Of `curve_points`.
    """
    groups: dict[tuple[str, str], dict[str, list[Point]]] = {}
    for point in points:
        curve = groups.setdefault((point.dataset, point.classifier), {})
        curve.setdefault(point.selector, []).append(point)
    return groups


def datasets_of(run: Run) -> list[str]:
    """Names of the data sets, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    return [dataset["name"] for dataset in run.manifest["datasets"]]


def metrics_of(run: Run) -> list[str]:
    """Names of the measures, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    evaluate = run.job["evaluate"]
    return [] if evaluate is None else list(evaluate["metrics"])


def best_point(points: Sequence[Point], metric: str) -> Point | None:
    """The point with the best mean; of equal ones that with fewest features.

    Parameters
    ----------
    points
        Of one curve.
    metric
        Name of the measure.
    """
    sign = -1.0 if higher_is_better(metric) else 1.0
    scored = [
        (sign * value, point.n_features, point)
        for point in points
        if (value := point.means[metric].value) is not None
    ]
    return min(scored, key=lambda item: item[:2])[2] if scored else None


def enough_features(points: Sequence[Point], metric: str) -> Enough | None:
    """How many features of one curve are enough; see `one_standard_error`.

    Parameters
    ----------
    points
        Of one curve.
    metric
        Name of the measure.

    Returns
    -------
    Enough
        None if the measure is defined nowhere on the curve.
    """
    means = [point.means[metric] for point in points]
    found = one_standard_error(
        [point.n_features for point in points],
        _floats([mean.value for mean in means]),
        _floats([mean.standard_error for mean in means]),
        higher_is_better=higher_is_better(metric),
    )
    if found is None:
        return None
    best, enough = found
    return Enough(
        metric=metric,
        best=points[best],
        enough=points[enough],
        standard_error=means[best].standard_error,
    )


def planted_truth(run: Run) -> list[Planted]:
    """What selections on all rows found of planted truths.

    Parameters
    ----------
    run
        A run; data sets without a known truth are left out.
    """
    found = []
    for selection in run.compact_selections:
        truth: dict[str, Any] | None = run.datasets[selection["dataset"]]["truth"]
        if selection["fold"] is not None or truth is None or selection["problems"] is not None:
            continue
        relevant = set(truth["relevant"])
        top = selection["order"][: len(relevant)]
        found.append(
            Planted(
                dataset=selection["dataset"],
                selector=selection["selector"],
                relevant=len(relevant),
                found=len(relevant & set(top)),
            )
        )
    return found


def _ordered(run: Run, present: dict[_Key, IntArray]) -> Iterator[_Key]:
    evaluate = run.job["evaluate"]
    if evaluate is None:
        return
    selectors = [select["label"] for select in run.job["select"]]
    for dataset in datasets_of(run):
        for classifier in evaluate["classifier"]:
            for selector in [*selectors, BASELINE]:
                if (dataset, selector, classifier["label"]) in present:
                    yield dataset, selector, classifier["label"]


def _rows_of_curves(rows: NDArray[np.void]) -> dict[_Key, IntArray]:
    """Rows of ``evaluation.csv`` by data set, selector and classifier."""
    found: dict[_Key, IntArray] = {}
    if len(rows) == 0:
        return found
    # Rows of one curve stand together, so only the starts of such stretches are looked at.
    columns = [rows[name] for name in ("dataset", "selector", "classifier")]
    changes = np.ones(len(rows), dtype=bool)
    changes[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    starts = np.flatnonzero(changes)
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        dataset, selector, classifier = (str(column[start]) for column in columns)
        name = (dataset, selector, classifier)
        stretch = np.arange(start, end)
        found[name] = np.concatenate([found[name], stretch]) if name in found else stretch
    return found


def _points_of(rows: NDArray[np.void], key: _Key, metrics: Sequence[str]) -> Iterator[Point]:
    dataset, selector, classifier = key
    position = _positions(rows)
    for here in (rows[position == number] for number in np.unique(position)):
        yield Point(
            dataset=dataset,
            selector=selector,
            classifier=classifier,
            n_features=_common(here["n_features"]),
            share=_common(here["share"]),
            cost_share=None if np.isnan(cost := _common(here["cost_share"])) else cost,
            means={m: _mean(here["value"][here["metric"] == m]) for m in metrics},
        )


def _positions(rows: NDArray[np.void]) -> IntArray:
    """Position along the curve of every row."""
    number = rows["repeat"] * (rows["fold"].max() + 1) + rows["fold"]
    folds = np.unique(number, return_inverse=True)[1].reshape(-1)
    sizes, size = np.unique(rows["n_features"], return_inverse=True)
    taken = np.zeros((folds.max() + 1, len(sizes)), dtype=bool)
    taken[folds, size] = True
    if len(np.unique(taken.sum(axis=1))) > 1:
        return np.asarray(size, dtype=np.int64)
    rank: IntArray = np.cumsum(taken, axis=1) - 1
    return rank[folds, size]


def _common(values: FloatArray) -> float:
    """The mean; equal values are not summed, so that they stay what they are."""
    return float(values[0] if np.all(values == values[0]) else np.mean(values))


def _floats(values: Sequence[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def _mean(values: FloatArray) -> Mean:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return Mean(None, None, 0, None)
    spread = float(np.std(known, ddof=1)) if len(known) > 1 else None
    error = standard_error(known) if len(known) > 1 else None
    return Mean(float(np.mean(known)), spread, len(known), error)
