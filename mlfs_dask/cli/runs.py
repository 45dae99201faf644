"""``mlfs list``, ``mlfs status`` and ``mlfs report``: look at runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.summary import Mean, Point

_SHARES_SHOWN: Final = 6


def _default_runs() -> Path:
    from mlfs_dask.jobs.rundir import runs_folder

    return runs_folder()


runs_option = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=_default_runs,
    help="Folder of all runs; by default $MLFS_RUNS, else ./runs.",
)


@click.command(name="list")
@runs_option
@json_option
def list_runs(runs: Path, as_json: bool) -> None:
    """List the runs, newest first.

    \b
    Example:
      mlfs list
    """
    from mlfs_dask.jobs.rundir import all_runs

    found = sorted((_run_facts(run) for run in all_runs(runs)), key=lambda f: f["created"])[::-1]
    if as_json:
        print_json(found)
    elif found:
        print_table(
            [
                (f["run"], f["state"], f"{f['done']}/{f['total']}", f["created"], f["size"])
                for f in found
            ],
            ("run", "state", "units", "created", "size"),
        )
    else:
        click.echo(f"There is no run in {runs}; `mlfs run JOB` starts one.")


def _run_facts(folder: Any) -> dict[str, Any]:
    from mlfs_dask.errors import MlfsError
    from mlfs_dask.jobs.shapes import read_manifest
    from mlfs_dask.jobs.sizes import show_bytes

    try:
        manifest, state = read_manifest(folder.manifest), folder.read_state()
    except MlfsError as error:  # one damaged run must not hide the others
        manifest = {"created": "", "datasets": []}
        state = {"state": "damaged", "progress": {"done": 0, "total": 0}, "message": error.message}
    size = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
    return {
        "run": folder.id,
        "state": state["state"],
        **state["progress"],
        "message": state.get("message"),
        "created": manifest["created"],
        "bytes": size,
        "size": show_bytes(size),
        "datasets": [dataset["name"] for dataset in manifest["datasets"]],
    }


@click.command()
@click.argument("name", metavar="RUN")
@runs_option
@json_option
def status(name: str, runs: Path, as_json: bool) -> None:
    """Say how far a run is, and show its results so far when it is finished.

    RUN is an id, a unique beginning of one, or a path.

    \b
    Example:
      mlfs status quickstart
    """
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import find_run

    folder = find_run(name, runs)
    state = folder.read_state()
    finished = folder.results.is_file()
    run = Run(folder)
    if finished:
        summary_document(run)  # whatever is damaged is refused before anything is printed
    if as_json:
        print_json({**state, "results": summary_document(run) if finished else None})
        return
    progress = state["progress"]
    click.echo(
        f"{folder.id}: {state['state']}, {progress['done']} of {progress['total']} units, "
        f"updated {state.get('updated', 'never')}\n"
    )
    if state.get("message"):
        click.echo(f"{state['message']}\n")
    if finished:
        print_summary(run)


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
def report(names: tuple[str, ...], output: Path | None, runs: Path, as_json: bool) -> None:
    """Write the report of one or several runs: one HTML file that needs nothing else.

    \b
    Example:
      mlfs report quickstart -o quickstart.html
    """
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import find_run
    from mlfs_dask.report import write_report

    folders = [find_run(name, runs) for name in names]
    target = output or folders[0].report
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
