"""The page: one HTML file that loads nothing and needs no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from mlfs_dask import __version__
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.rundir import write_bytes
from mlfs_dask.report.content import read_content


def render_report(runs: Sequence[Run]) -> str:
    """HTML of a report.

    Parameters
    ----------
    runs
        Runs with results, at least one.
    """
    environment = Environment(
        loader=PackageLoader("mlfs_dask.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html")
    return template.render(runs=[read_content(run) for run in runs], version=__version__)


def write_report(runs: Sequence[Run], target: Path) -> None:
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
    write_bytes(target, render_report(runs).encode())
