"""How far methods select the same features, as a report shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlfs_dask.jobs.alike import METHODS_COMPARED, Alike, methods_alike
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.summary import Point
from mlfs_dask.report import words
from mlfs_dask.report.downloads import csv_link
from mlfs_dask.report.selected import selected_by_dataset
from mlfs_dask.wording import counted


@dataclass(frozen=True)
class AlikeTable:
    """A square table: heading, and per selector its name and a cell for each selector.

    A cell is None where two selectors have nothing to compare, else the index and its words.
    """

    heading: str
    rows: tuple[tuple[str, tuple[tuple[float, str] | None, ...]], ...]


@dataclass(frozen=True)
class AlikeOf:
    """Agreement of the methods on one data set.

    Attributes
    ----------
    dataset
        Its name.
    over
        What the means are over, in words.
    first, more
        The table that is shown at once, and those that are folded.
    left_out
        How many selectors are not compared.
    csv
        Address that holds all tables as CSV.
    """

    dataset: str
    over: str
    first: AlikeTable
    more: tuple[AlikeTable, ...]
    left_out: int
    csv: str


def alike_tables(run: Run, points: Sequence[Point]) -> list[AlikeOf]:
    """Agreement of the methods by data set; none where there are fewer than two selectors.

    Parameters
    ----------
    run
        A run.
    points
        All its points.
    """
    found = []
    for dataset, n_features, counts, records in selected_by_dataset(run, points):
        alike = methods_alike(records, n_features, counts)
        if alike:
            left_out = max(0, len(records) - METHODS_COMPARED)
            found.append(_alike_of(dataset, alike, left_out))
    return found


def _alike_of(dataset: str, alike: Sequence[Alike], left_out: int) -> AlikeOf:
    """Subsets of selectors' own are shown first, else the smallest number of features."""
    ordered = sorted(alike, key=lambda one: (one.k is not None, one.k))
    tables = [_table(one) for one in ordered]
    selections = max(one.selections for one in alike)
    return AlikeOf(
        dataset=dataset,
        over="one selection"
        if selections == 1
        else f"{counted(selections, 'selection')} on the same rows",
        first=tables[0],
        more=tuple(tables[1:]),
        left_out=left_out,
        csv=csv_link(
            ("dataset", "first", "second", "k", "jaccard"),
            [
                (dataset, first, second, "own" if one.k is None else one.k, one.jaccard[i][j])
                for one in ordered
                for i, first in enumerate(one.selectors)
                for j, second in enumerate(one.selectors)
                if i < j and one.jaccard[i][j] is not None
            ],
        ),
    )


def _table(one: Alike) -> AlikeTable:
    return AlikeTable(
        heading="their own subsets" if one.k is None else f"the {one.k:,} best",
        rows=tuple(
            (
                name,
                tuple(
                    None if value is None else (value, words.number(value, 2)) for value in values
                ),
            )
            for name, values in zip(one.selectors, one.jaccard, strict=True)
        ),
    )
