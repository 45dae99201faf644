"""Where runs lie, the table of their results, and ``mlfs report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.summary import Mean, Point
    from mlfs_dask.storage.places import Place

_SHARES_SHOWN: Final = 6


def _default_runs() -> str:
    from mlfs_dask.jobs.rundir import runs_folder

    return str(runs_folder())


def _place(ctx: click.Context, param: click.Parameter, value: str) -> Place:
    from mlfs_dask.storage.places import place

    return place(value)


runs_option = click.option(
    "--runs",
    callback=_place,
    default=_default_runs,
    metavar="PATH",
    help="Folder or s3:// address of all runs; by default $MLFS_RUNS, else ./runs.",
)


@click.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; by default report.html in the folder of the (first) run.",
)
@runs_option
@json_option
def report(names: tuple[str, ...], output: Path | None, runs: Place, as_json: bool) -> None:
    """Write the report of one or several runs: one HTML file that needs nothing else.

    \b
    Example:
      mlfs report quickstart -o quickstart.html
    """
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import find_run
    from mlfs_dask.report import write_report
    from mlfs_dask.storage.atomic import make_parent

    folders = [find_run(name, runs) for name in names]
    target = output or folders[0].report
    make_parent(target)
    write_report([Run(folder) for folder in folders], target)
    if as_json:
        print_json({"report": str(target.absolute()), "runs": [folder.id for folder in folders]})
    else:
        click.echo(f"{target}")


def summary_document(run: Run) -> dict[str, Any]:
    """Results of a run as plain values, for ``--json``.

    Parameters
    ----------
    run
        A run with results.
    """
    import msgspec

    from mlfs_dask.jobs.summary import curve_points, planted_truth

    document: dict[str, Any] = msgspec.to_builtins(
        {
            "run": run.id,
            "state": run.state,
            "folder": str(run.path.absolute()),
            "report": str((run.path / "report.html").absolute()),
            "points": curve_points(run),
            "planted": planted_truth(run),
        }
    )
    return document


def print_summary(run: Run) -> None:
    """Print the table selector x share x measure, what was found of a planted truth, the report.

    Parameters
    ----------
    run
        A run with results.
    """
    from mlfs_dask.jobs.summary import curve_points, metrics_of, planted_truth

    points = curve_points(run)
    metrics = metrics_of(run)
    several = len({(p.dataset, p.classifier) for p in points}) > 1
    if points:
        rows = [_row(point, metrics, several=several) for point in _thinned(points)]
        data = ("data", "classifier") if several else ()
        print_table(rows, (*data, "selector", "features", "share", *metrics))
        click.echo("\nmean ± standard deviation over the folds")
    planted = planted_truth(run)
    if planted:
        click.echo()
        print_table(
            [(p.dataset, p.selector, f"{p.found} of {p.relevant}") for p in planted],
            ("data", "selector", f"relevant in the top {planted[0].relevant}"),
        )
    click.echo(f"\nresults: {run.path}\nreport:  {run.path / 'report.html'}")


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most a handful of points per curve, evenly spread, the last one among them."""
    curves: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        curves.setdefault((point.dataset, point.selector, point.classifier), []).append(point)
    kept = []
    for curve in curves.values():
        step = -(-len(curve) // _SHARES_SHOWN)
        kept += curve[::-1][::step][::-1]
    return kept


def _row(point: Point, metrics: Sequence[str], *, several: bool) -> tuple[object, ...]:
    where = (point.dataset, point.classifier) if several else ()
    share = f"{100 * point.share:.0f} %"
    cells = [_cell(point.means[metric]) for metric in metrics]
    return (*where, point.selector, f"{point.n_features:g}", share, *cells)


def _cell(mean: Mean) -> str:
    if mean.value is None:
        return "undefined"
    spread = "" if mean.spread is None else f" ± {mean.spread:.4f}"
    return f"{mean.value:.4f}{spread}"
