"""Tables to take along: CSV inside the page, and links to the files of a run."""

from __future__ import annotations

import csv
import io
import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.summary import Point
from mlfs_dask.report.words import printable
from mlfs_dask.storage.places import Place

ROWS_INSIDE: Final = 4000
_FILES: Final = ("evaluation.csv", "results.json", "tests.json", "timings.json")
# Cells that spreadsheets would take for formulas.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Download:
    """A link: the name of the file and its address."""

    name: str
    address: str


def csv_link(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An address that holds a table as CSV, so that the page stays one file.

    Parameters
    ----------
    header
        Names of the columns.
    rows
        Cells; None is an empty one. Text that a spreadsheet would run gets an apostrophe before it.

    Examples
    --------
    >>> csv_link(["a", "b"], [[1, None], ["=x", 0.5]])
    'data:text/csv;charset=utf-8,a%2Cb%0A1%2C%0A%27%3Dx%2C0.5%0A'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return "data:text/csv;charset=utf-8," + quote(text.getvalue(), safe="")


def points_link(points: Sequence[Point]) -> str:
    """All points of all curves as CSV; empty if there are none, or more than 4,000 rows.

    Parameters
    ----------
    points
        Of a run.
    """
    rows = [
        (
            *(point.dataset, point.selector, point.classifier),
            *(point.n_features, point.share, point.cost_share),
            *(metric, mean.value, mean.spread, mean.folds),
        )
        for point in points
        for metric, mean in point.means.items()
    ]
    names = ("dataset", "selector", "classifier", "n_features", "share", "cost_share")
    header = (*names, "metric", "mean", "standard_deviation", "folds")
    return csv_link(header, rows) if 0 < len(rows) <= ROWS_INSIDE else ""


def files_of(run: Run, target: Place | None) -> list[Download]:
    """Links to the files of a run, seen from the report.

    Parameters
    ----------
    run
        A run.
    target
        Where the report will lie; None: in the folder of the run.
    """
    folder = RunFolder(run.path).path.absolute()
    there = folder if target is None else target.absolute().parent
    ways = {name: _way(folder / name, there) for name in _FILES if (folder / name).exists()}
    return [Download(name, quote(way)) for name, way in ways.items() if way is not None]


def _way(file: Place, there: Place) -> str | None:
    """Path from one place to another; None between a disk and a bucket, or two buckets."""
    if isinstance(file, Path) and isinstance(there, Path):
        return Path(os.path.relpath(file, there)).as_posix()
    if isinstance(file, Path) or isinstance(there, Path) or file.bucket != there.bucket:
        return None
    return posixpath.relpath(f"/{file.key}", f"/{there.key}")


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return f"'{printable(value)}" if value.startswith(_FORMULA) else printable(value)
