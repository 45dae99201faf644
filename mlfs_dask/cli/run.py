"""``mlfs run`` and ``mlfs plan``: do a job, or say what doing it would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.finish import finish
from mlfs_dask.cli.going_on import naming_the_way_on, resume_words
from mlfs_dask.cli.output import json_option, print_json, print_table
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.cli.where import cluster_client, cluster_options, flags_of
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.jobs.plan import Plan
    from mlfs_dask.jobs.scaling import Forecast
    from mlfs_dask.jobs.spec import Job
    from mlfs_dask.storage.places import Place

set_option = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a key of the job, for example --set seed=1 or --set select.0.phi=2.",
)
job_argument = click.argument("job", type=click.Path(path_type=Path), metavar="JOB")
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Worker processes; 0 runs in this process. The same as --set run.workers=N.",
)


@click.command()
@job_argument
@set_option
@workers_option
@cluster_options
@click.option("--force", is_flag=True, help="Start a new run even if this job has one.")
@runs_option
@json_option
def run(
    job: Path,
    overrides: tuple[str, ...],
    workers: int | None,
    where: dict[str, Any],
    force: bool,
    runs: Place,
    as_json: bool,
) -> None:
    """Run a job file, or take its run up where it was left.

    JOB is a job file, or the name of one that comes with the package. Its run lies in a folder of
    its own below --runs; a job that is finished is shown again without any work. On a cluster
    (--scheduler, --scheduler-file, --profile or $DASK_SCHEDULER_ADDRESS) its workers do the work,
    and this command waits for them.

    \b
    Example:
      mlfs run jobs/quickstart.toml
      mlfs run emotions-spectral --set evaluate.split.repeats=5 --workers 2
      mlfs run emotions-spectral --profile local
    """
    from mlfs_dask.cli.progress import make_progress
    from mlfs_dask.jobs.coordinator import Order, resume_command, run_job
    from mlfs_dask.jobs.jobfile import find_job

    path = find_job(job)
    checked = _read(path, overrides, workers)
    words = ["mlfs", "run", str(job), *(w for text in overrides for w in ("--set", text))]
    progress = make_progress()

    def command() -> str:
        if progress.run is not None:
            return resume_words(progress.run, runs, where=flags_of(where))
        return resume_command(*words, *flags_of(where), "--runs", str(runs))

    with (
        naming_the_way_on(lambda: progress.run or checked.name, command),
        cluster_client(where, workers=workers) as client,
    ):
        order = Order(
            job=checked,
            text=path.read_bytes(),
            file=str(path),
            runs=runs,
            force=force,
            progress=progress,
            client=client,
        )
        finished = run_job(order)
    finish(finished, as_json=as_json, again="--force runs it again")


def _read(path: Path, overrides: tuple[str, ...], workers: int | None) -> Job:
    from mlfs_dask.jobs.jobfile import read_job

    extra = () if workers is None else (f"run.workers={workers}",)
    return read_job(path, (*overrides, *extra))


@click.command()
@job_argument
@set_option
@workers_option
@click.option(
    "--scale",
    is_flag=True,
    help="Also say how each selection would scale: 10^6 and 10^8 samples on up to 1,024 workers.",
)
@runs_option
@json_option
def plan(
    job: Path,
    overrides: tuple[str, ...],
    workers: int | None,
    scale: bool,
    runs: Place,
    as_json: bool,
) -> None:
    """Say what a job would do: units, tasks, memory, expected time. Nothing is computed.

    Times are those of this machine after mlfs doctor --calibrate. A job that does not fit its
    memory_per_worker is refused, with the size that would do. Also lists the labels that some
    training fold shows with one value only.

    \b
    Example:
      mlfs plan jobs/quickstart.toml
      mlfs plan emotions-spectral --scale
    """
    from mlfs_dask.graphs.budget import NOTHING, use_memory
    from mlfs_dask.jobs.data import open_datasets, refuse_values
    from mlfs_dask.jobs.jobfile import find_job
    from mlfs_dask.jobs.plan import make_plan
    from mlfs_dask.jobs.scaling import forecasts_of

    path = find_job(job)
    checked = _read(path, overrides, workers)
    datasets = open_datasets(checked, str(path))
    with use_memory(NOTHING):
        refuse_values(checked, datasets, str(path))
    made = make_plan(checked, datasets, runs=runs)
    grown = forecasts_of(checked, datasets) if scale else None
    if as_json:
        print_json(_plan_document(made, grown))
    else:
        _print_plan(made)
        _print_scale(grown)


def _plan_document(made: Plan, grown: list[Forecast] | None) -> dict[str, Any]:
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(made)
    scale = {} if grown is None else {"scale": msgspec.to_builtins(grown)}
    return {**document, "warnings": made.warnings, **scale}


def _print_scale(grown: list[Forecast] | None) -> None:
    from mlfs_dask.jobs.sizes import show_seconds

    if grown is None:
        return
    click.echo()
    if not grown:
        click.echo("the job selects nothing: no selection to scale")
        return
    click.echo("rows like these, in tiles as large; efficiency: one core's time over that of all")
    print_table(
        [
            (
                f.dataset,
                f.selector,
                f"10^{len(str(f.n_samples)) - 1}",
                f.workers,
                show_seconds(f.seconds),
                f"{f.efficiency:.0%}",
                f.bottleneck,
            )
            for f in grown
        ],
        ("data", "selector", "samples", "workers", "time", "efficiency", "bottleneck"),
    )


def _print_plan(made: Plan) -> None:
    from mlfs_dask.jobs.sizes import show_bytes, show_seconds

    click.echo(f"{made.run}: {made.state or 'not started yet'}\n")
    print_table(
        [(d.name, d.n_samples, d.n_features, d.n_labels) for d in made.datasets],
        ("data", "samples", "features", "labels"),
    )
    processes = counted(made.workers, "worker process", "worker processes")
    where = processes if made.workers else "this process"
    limit = made.memory_limit_bytes
    facts = {
        **_facts_of_data(made),
        "units": f"{counted(made.n_selections, 'selection')}, {counted(made.n_curves, 'curve')}",
        "tasks": f"{made.n_tasks} in {where}",
        "memory": f"about {show_bytes(made.memory_bytes)} per process"
        + (f", limit {show_bytes(limit)}" if limit else "")
        + (f", most of it for: {made.largest}" if made.largest else ""),
        "time": f"about {show_seconds(made.seconds)}"
        + (", and the waiting" if made.waits else "")
        + f" ({made.rates})",
    }
    if made.guesses:
        facts["guess"] = "; ".join(made.guesses)
    if made.waits:
        waiting = (f"{', '.join(labels)} for blocks of {n}" for n, labels in made.waits.items())
        facts["waits"] = "; ".join(waiting) + ", until it is closed or they stop"
    if made.sweep:
        points = (f"{counted(n, 'point')} of {entry}" for entry, n in made.sweep.items())
        facts["sweep"] = ", ".join(points)
    click.echo()
    for name, value in facts.items():
        click.echo(f"{name:8}{value}")
    for warning in made.warnings:
        click.echo(f"\nwarning: {warning}")
    _print_constant(made)


def _facts_of_data(made: Plan) -> dict[str, str]:
    """What the job does to the data, and which files it reads besides."""
    facts = {}
    if made.missing_rate is not None:
        facts["missing"] = f"{made.missing_rate:.4g} of the cells, drawn by row"
    if made.costs is not None:
        facts["costs"] = made.costs
    for number, file in enumerate(made.files):
        facts["file" if number == 0 else "and"] = (
            f"{file.path} ({counted(file.bytes, 'byte')}, {file.key})"
        )
    return facts


def _print_constant(made: Plan) -> None:
    shown = made.constant_labels[:20]
    if not shown:
        return
    click.echo()
    print_table(
        [(p.dataset, p.label, p.repeat, p.fold, p.lacks) for p in shown],
        ("data", "label", "repeat", "fold", "lacks"),
    )
    if len(made.constant_labels) > len(shown):
        click.echo(f"... and {len(made.constant_labels) - len(shown)} more, see --json")
