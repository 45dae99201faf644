"""Several runs side by side: what differs between them, and tables of what they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.summary import Point, best_point, group_curves
from mlfs_dask.report import words
from mlfs_dask.report.facts import has_costs, protocol

_TABLES_SHOWN: Final = 40
_ROWS_SHOWN: Final = 40
_VERSIONS: Final = ("mlfs-dask", "numpy", "scipy", "numba", "scikit-learn")
_Data: TypeAlias = tuple[str, str]  # name and digest
_Row: TypeAlias = tuple[str, str]  # classifier and selector


@dataclass(frozen=True)
class RunColumn:
    """A run that is compared."""

    number: int
    id: str
    state: str
    created: str
    datasets: tuple[str, ...]


@dataclass(frozen=True)
class CompareCell:
    """The best point of a selector in one run."""

    value: str
    where: str
    is_winner: bool


@dataclass(frozen=True)
class CompareRow:
    """A selector judged by a classifier; None for runs without it.

    ``..._differs``: the label stands for other parameters in some of these runs.
    """

    selector: str
    classifier: str
    selector_differs: bool
    classifier_differs: bool
    cells: tuple[CompareCell | None, ...]


@dataclass(frozen=True)
class CompareTable:
    """One measure on one data set, over the runs that have both.

    Attributes
    ----------
    dataset, digest
        Name, and the beginning of the digest that the runs share.
    metric, conventions, better
        The measure.
    runs
        Positions of the runs.
    rows
        Those of most runs first.
    left_out
        How many rows are not shown.
    """

    dataset: str
    digest: str
    metric: str
    conventions: str
    better: str
    runs: tuple[int, ...]
    rows: tuple[CompareRow, ...]
    left_out: int


@dataclass(frozen=True)
class Comparison:
    """Several runs side by side.

    Attributes
    ----------
    runs
        Columns.
    differences
        Facts that are not the same in all runs: name, value per run.
    same
        Names of those that are.
    tables
        What the runs share; the first few.
    left_out
        How many tables are not shown.
    """

    runs: tuple[RunColumn, ...]
    differences: tuple[tuple[str, tuple[str, ...]], ...]
    same: tuple[str, ...]
    tables: tuple[CompareTable, ...]
    left_out: int


def compare_runs(runs: Sequence[Run], points: Sequence[Sequence[Point]]) -> Comparison:
    """Put runs side by side.

    Parameters
    ----------
    runs
        At least two.
    points
        All points of each.
    """
    differences, same = _differences(runs)
    tables = _tables(runs, points)
    return Comparison(
        runs=tuple(
            RunColumn(
                number=number,
                id=run.id,
                state=run.state,
                created=run.manifest["created"][:16].replace("T", " "),
                datasets=tuple(data["name"] for data in run.manifest["datasets"]),
            )
            for number, run in enumerate(runs, start=1)
        ),
        differences=tuple(differences),
        same=tuple(same),
        tables=tuple(tables[:_TABLES_SHOWN]),
        left_out=len(tables[_TABLES_SHOWN:]),
    )


def _differences(
    runs: Sequence[Run],
) -> tuple[list[tuple[str, tuple[str, ...]]], list[str]]:
    """Facts that differ, with their values, and names of those that don't."""
    facts = [
        {
            "job": run.manifest["job_digest"][:10],
            **dict(protocol(run.job, has_costs=has_costs(run))),
            **{name: run.manifest["versions"].get(name, "") for name in _VERSIONS},
        }
        for run in runs
    ]
    names = list(dict.fromkeys(name for each in facts for name in each))
    rows = [(name, tuple(each.get(name, "") for each in facts)) for name in names]
    return (
        [row for row in rows if len(set(row[1])) > 1],
        [name for name, values in rows if len(set(values)) == 1],
    )


def _tables(runs: Sequence[Run], points: Sequence[Sequence[Point]]) -> list[CompareTable]:
    where: dict[tuple[_Data, str, str], list[int]] = {}
    for position, run in enumerate(runs):
        evaluate = run.job["evaluate"]
        for data in run.manifest["datasets"] if evaluate else []:
            for metric in evaluate["metrics"]:
                key = ((data["name"], data["digest"]), metric, evaluate["conventions"])
                where.setdefault(key, []).append(position)
    return [
        _table(runs, points, key, positions)
        for key, positions in where.items()
        if len(positions) > 1
    ]


def _table(
    runs: Sequence[Run],
    points: Sequence[Sequence[Point]],
    key: tuple[_Data, str, str],
    positions: Sequence[int],
) -> CompareTable:
    (name, digest), metric, conventions = key
    best: dict[_Row, dict[int, Point]] = {}
    for position in positions:
        for (dataset, classifier), curves in group_curves(points[position]).items():
            for selector, curve in curves.items():
                top = best_point(curve, metric) if dataset == name else None
                if top is not None:
                    best.setdefault((classifier, selector), {})[position] = top
    winner = best_point([top for row in best.values() for top in row.values()], metric)
    rows = sorted(best.items(), key=lambda item: -len(item[1]))  # stable: else as in the jobs
    return CompareTable(
        dataset=name,
        digest=digest[:10],
        metric=words.metric_words(metric),
        conventions=conventions,
        better=words.better_words(metric),
        runs=tuple(positions),
        rows=tuple(
            CompareRow(
                selector=words.selector_words(row[1]),
                classifier=row[0],
                selector_differs=_differs([runs[p].job["select"] for p in tops], row[1]),
                classifier_differs=_differs(
                    [runs[p].job["evaluate"]["classifier"] for p in tops], row[0]
                ),
                cells=tuple(_cell(tops.get(position), metric, winner) for position in positions),
            )
            for row, tops in rows[:_ROWS_SHOWN]
        ),
        left_out=len(rows[_ROWS_SHOWN:]),
    )


def _cell(point: Point | None, metric: str, winner: Point | None) -> CompareCell | None:
    if point is None:
        return None
    value = words.mean_words(point.means[metric])
    return CompareCell(value, words.features_words(point), point is winner)


def _differs(jobs: Sequence[Sequence[dict[str, Any]]], label: str) -> bool:
    """Whether a label stands for different methods or parameters in these jobs."""
    seen = [
        (method["method"], method["params"])
        for methods in jobs
        for method in methods
        if method["label"] == label
    ]
    return any(each != seen[0] for each in seen)
