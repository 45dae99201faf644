"""One line for any scheduler: ``dask scheduler --preload mlfs_dask.dashboard.preload``.

``--runs FOLDER`` after it names folders of runs; see `mlfs_dask.dashboard.plugin` for what counts
without it.
"""

from __future__ import annotations

from typing import Any

import click

from mlfs_dask.dashboard.plugin import DashboardPlugin


@click.command()
@click.option("--runs", multiple=True, type=click.Path(file_okay=False), help="Folder of runs.")
def dask_setup(scheduler: Any, runs: tuple[str, ...]) -> None:
    """Add the plugin to a scheduler that starts.

    Parameters
    ----------
    scheduler : distributed.Scheduler
        The scheduler.
    runs
        Folders of runs.
    """
    scheduler.add_plugin(DashboardPlugin(runs), idempotent=True)
