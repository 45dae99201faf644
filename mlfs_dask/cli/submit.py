"""``mlfs submit``: hand a job to a cluster and leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.coordinate import see_through
from mlfs_dask.cli.going_on import command_words
from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.run import job_argument, set_option
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.cli.where import cluster_client, cluster_options

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place


@click.command()
@job_argument
@set_option
@cluster_options
@click.option("--force", is_flag=True, help="Start a new run even if this job has one.")
@runs_option
@json_option
def submit(
    job: Path,
    overrides: tuple[str, ...],
    where: dict[str, Any],
    force: bool,
    runs: Place,
    as_json: bool,
) -> None:
    """Hand a job to a Dask cluster; this command and its machine may go.

    The whole job is checked first. A coordinator on the cluster sees the run through;
    `mlfs status`, `watch`, `logs -f`, `cancel` and `report` work from any machine that sees the run
    folder.

    \b
    Example:
      mlfs submit jobs/quickstart.toml --scheduler tcp://127.0.0.1:8786
      mlfs submit emotions-spectral --profile local
    """
    from mlfs_dask.errors import ClusterError
    from mlfs_dask.jobs.coordinator import Order
    from mlfs_dask.jobs.jobfile import find_job, read_job
    from mlfs_dask.jobs.submit import submit as hand_in

    path = find_job(job)
    checked = read_job(path, overrides)
    with cluster_client(where, workers=None) as client:
        if client is None:
            raise ClusterError(
                "nothing says which cluster to submit to",
                hint="Give --scheduler, --scheduler-file or --profile; `mlfs cluster start` makes "
                "one on this machine, and `mlfs run` needs none.",
            )
        order = Order(
            job=checked,
            text=path.read_bytes(),
            file=str(path),
            runs=runs,
            force=force,
            client=client,
        )
        submitted = hand_in(order, see_through)
    if as_json:
        print_json({"run": submitted.run, "folder": submitted.folder, "state": submitted.state})
    else:
        click.echo(submitted.run)
        watching = command_words("watch", submitted.run, runs)
        click.echo(f"{submitted.state}; follow it with: {watching}", err=True)
