"""Classifiers on all features, side by side: one table for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.jobs.summary import Point, best_point, datasets_of, metrics_of
from mlfs_dask.report import words


@dataclass(frozen=True)
class BaselineCell:
    """Mean and standard deviation of a classifier on a data set."""

    value: str
    spread: str
    is_best: bool


@dataclass(frozen=True)
class BaselineTable:
    """All classifiers by one measure.

    Attributes
    ----------
    metric, better
        Name and direction in words.
    datasets
        Names of the columns.
    rows
        Name of a classifier and its cells; None where it has no result.
    """

    metric: str
    better: str
    datasets: tuple[str, ...]
    rows: tuple[tuple[str, tuple[BaselineCell | None, ...]], ...]


def baseline_tables(run: Run, points: Sequence[Point]) -> list[BaselineTable]:
    """Tables of the classifiers on all features.

    Parameters
    ----------
    run
        A run.
    points
        All its points.

    Returns
    -------
    list of BaselineTable
        One for each measure; none if fewer than two classifiers were judged on all features, unless
        the job has no selectors, so that nothing else is to be shown.
    """
    found = {(p.dataset, p.classifier): p for p in points if p.selector == BASELINE}
    classifiers = list(dict.fromkeys(p.classifier for p in points if p.selector == BASELINE))
    if not classifiers or (len(classifiers) < 2 and run.job["select"]):
        return []
    datasets = [name for name in datasets_of(run) if any(key[0] == name for key in found)]
    tables = []
    for metric in metrics_of(run):
        cells = {
            name: _column([found.get((name, classifier)) for classifier in classifiers], metric)
            for name in datasets
        }
        tables.append(
            BaselineTable(
                metric=words.metric_words(metric),
                better=words.better_words(metric),
                datasets=tuple(datasets),
                rows=tuple(
                    (classifier, tuple(cells[name][i] for name in datasets))
                    for i, classifier in enumerate(classifiers)
                ),
            )
        )
    return tables


def _column(points: Sequence[Point | None], metric: str) -> list[BaselineCell | None]:
    best = best_point([point for point in points if point is not None], metric)
    top = None if best is None else best.means[metric].value
    return [None if point is None else _cell(point, metric, top) for point in points]


def _cell(point: Point, metric: str, top: float | None) -> BaselineCell:
    mean = point.means[metric]
    return BaselineCell(
        value=words.number(mean.value),
        spread="" if mean.spread is None else f"± {mean.spread:.4f}",
        is_best=mean.value is not None and mean.value == top,
    )
