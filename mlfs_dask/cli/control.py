"""``mlfs resume``, ``mlfs cancel`` and ``mlfs rm``: take runs up, stop them, take them away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.finish import finish
from mlfs_dask.cli.going_on import command_words, naming_the_way_on, resume_words
from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.cli.where import cluster_client, cluster_options, flags_of

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--retry-failed", is_flag=True, help="Try units that failed again.")
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Worker processes; 0 runs in this process. By default as the run was started.",
)
@cluster_options
@runs_option
@json_option
def resume(
    name: str,
    retry_failed: bool,
    workers: int | None,
    where: dict[str, Any],
    runs: Place,
    as_json: bool,
) -> None:
    """Take a run up where it was left, from its folder alone.

    RUN is an id, a unique beginning of one, or a path. Units that are finished are not run again;
    those that failed only with --retry-failed. A finished run is shown again without any work. It
    may go on elsewhere than it began: in this process, on workers, on a cluster.

    \b
    Example:
      mlfs resume quickstart
      mlfs resume quickstart --retry-failed --workers 2
      mlfs resume quickstart --profile local
    """
    from mlfs_dask.cli.progress import make_progress
    from mlfs_dask.jobs.coordinator import resume_run
    from mlfs_dask.jobs.rundir import find_run

    folder = find_run(name, runs)
    command = resume_words(
        folder.id, folder.path.parent, retry_failed=retry_failed, where=flags_of(where)
    )
    with (
        naming_the_way_on(lambda: folder.id, lambda: command),
        cluster_client(where, workers=workers) as client,
    ):
        finished = resume_run(
            folder,
            retry_failed=retry_failed,
            workers=workers,
            command=command,
            progress=make_progress(),
            client=client,
        )
    finish(finished, as_json=as_json, again="there is nothing left to do")


@click.command()
@click.argument("name", metavar="RUN")
@runs_option
@json_option
def cancel(name: str, runs: Place, as_json: bool) -> None:
    """Ask for a run to end after the step in hand; what is finished is kept.

    RUN is an id, a unique beginning of one, or a path. A run that no process works on is marked as
    cancelled. `mlfs resume` goes on with it all the same.

    \b
    Example:
      mlfs cancel quickstart
    """
    from mlfs_dask.jobs.cancel import request_cancel
    from mlfs_dask.jobs.rundir import find_run

    folder = find_run(name, runs)
    runs, who = folder.path.parent, folder.owner() or {}
    asked = request_cancel(folder)
    if as_json:
        print_json({"run": folder.id, "asked": asked, "holder": who if asked else None})
    elif asked:
        click.echo(
            f"{folder.id}: asked process {who.get('pid')} on {who.get('host')} to stop after the "
            f"step in hand; `{command_words('status', folder.id, runs)}` shows when it has"
        )
    else:
        click.echo(
            f"{folder.id}: marked as cancelled, no process was at work on it; go on with: "
            f"{resume_words(folder.id, runs)}"
        )


@click.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Pass over names that no run has.")
@runs_option
@json_option
def rm(names: tuple[str, ...], force: bool, runs: Place, as_json: bool) -> None:
    """Delete runs: results, report, journal and all. There is no way back.

    RUN is an id, a unique beginning of one, or a path. All names are looked up before anything is
    deleted, and a run that a process works on is never deleted.

    \b
    Example:
      mlfs rm quickstart
      mlfs rm emotions-0b1c emotions-77ab
    """
    from mlfs_dask.jobs.removal import remove_runs

    removed = [folder.id for folder in remove_runs(names, runs, force=force)]
    if as_json:
        print_json({"removed": removed})
        return
    for run in removed:
        click.echo(f"removed {run}")
