"""How far the selections of the folds agree, by data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlfs_dask.jobs.agreement import Agreement, AgreementAt, agreement
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.summary import Point
from mlfs_dask.report import words
from mlfs_dask.report.downloads import csv_link
from mlfs_dask.report.selected import final_and_folds, selected_by_dataset


@dataclass(frozen=True)
class StabilityRow:
    """Agreement of the folds of one selector; None where it has none at that number."""

    selector: str
    problems: int | None
    at: tuple[AgreementAt | None, ...]
    own_size: str
    own_jaccard: str


@dataclass(frozen=True)
class StabilityTable:
    """Agreement of the folds on one data set."""

    dataset: str
    folds: int
    counts: tuple[int, ...]
    rows: tuple[StabilityRow, ...]
    has_own: bool
    csv: str


def stability_tables(run: Run, points: Sequence[Point]) -> list[StabilityTable]:
    """Agreement of the folds' selections, by data set.

    Parameters
    ----------
    run
        A run.
    points
        All its points.
    """
    tables = []
    for dataset, n_features, counts, records in selected_by_dataset(run, points):
        found = {
            selector: agreed
            for selector, of_one in records.items()
            if (agreed := agreement(final_and_folds(of_one)[1], n_features, counts)) is not None
        }
        if found:
            tables.append(_stability(dataset, counts, found))
    return tables


def _stability(dataset: str, counts: Sequence[int], found: dict[str, Agreement]) -> StabilityTable:
    used = [k for k in counts if any(at.k == k for agreed in found.values() for at in agreed.at)]
    return StabilityTable(
        dataset=dataset,
        folds=max(agreed.folds for agreed in found.values()),
        counts=tuple(used),
        rows=tuple(_row(selector, agreed, used) for selector, agreed in found.items()),
        has_own=any(agreed.own is not None for agreed in found.values()),
        csv=_csv(dataset, found),
    )


def _csv(dataset: str, found: dict[str, Agreement]) -> str:
    rows: list[tuple[Any, ...]] = []
    for selector, agreed in found.items():
        rows += [(dataset, selector, at.k, at.jaccard, at.kuncheva) for at in agreed.at]
        if agreed.own is not None:
            rows.append((dataset, selector, "own", agreed.own.jaccard, None))
    return csv_link(("dataset", "selector", "k", "jaccard", "kuncheva"), rows)


def _row(selector: str, agreed: Agreement, counts: Sequence[int]) -> StabilityRow:
    by_count = {at.k: at for at in agreed.at}
    own = agreed.own
    size = "" if own is None else words.count_words(own.mean)
    if own is not None and own.smallest < own.largest:
        size += f" ({own.smallest:,} to {own.largest:,})"
    return StabilityRow(
        selector=selector,
        problems=agreed.problems,
        at=tuple(by_count.get(count) for count in counts),
        own_size=size,
        own_jaccard="" if own is None or own.jaccard is None else words.number(own.jaccard, 2),
    )
