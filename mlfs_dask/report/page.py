"""The page: one HTML file that loads nothing and needs no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mlfs_dask import __version__
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.rundir import write_bytes
from mlfs_dask.jobs.summary import curve_points
from mlfs_dask.report import words
from mlfs_dask.report.chart import mark_outline
from mlfs_dask.report.compare import compare_runs
from mlfs_dask.report.content import read_content
from mlfs_dask.storage.places import Place
from mlfs_dask.wording import are, counted_by_thousands


def render_report(runs: Sequence[Run], target: Place | None = None) -> str:
    """HTML of a report; several runs are compared first.

    Parameters
    ----------
    runs
        Runs with results, at least one.
    target
        Where the report will lie, for links to files of the runs; None: in the folder of the first.
    """
    environment = make_environment("mlfs_dask.report")
    place = runs[0].path / "report.html" if target is None else target
    points = [curve_points(run) for run in runs]
    return environment.get_template("report.html").render(
        comparison=compare_runs(runs, points) if len(runs) > 1 else None,
        runs=[
            read_content(run, its, number, place)
            for number, (run, its) in enumerate(zip(runs, points, strict=True), start=1)
        ],
        version=__version__,
    )


def make_environment(*packages: str) -> Environment:
    """Templates that escape what they are given, and know how a report writes numbers and names.

    Parameters
    ----------
    *packages
        Whose templates; the first that has one of a name wins.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shortened"] = words.shortened
    environment.filters["number"] = words.number
    environment.globals.update(mark_outline=mark_outline, counted=counted_by_thousands, are=are)
    return environment


def write_report(runs: Sequence[Run], target: Place) -> None:
    """Write a report, whole or not at all.

    Parameters
    ----------
    runs
        Runs with results, at least one.
    target
        HTML file.

    Raises
    ------
    NotFoundError
        A run has no results yet.
    MachineError
        The disk is full or refuses.
    """
    write_bytes(target, render_report(runs, target).encode())


def _printable(value: Any) -> Any:
    """What the templates put out, without characters that no page may hold."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return words.printable(value)
    return value
