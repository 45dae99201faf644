"""``mlfs logs``: what a run said, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import runs_option

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place


@click.command()
@click.argument("name", metavar="RUN")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ends.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    help="Only so many of the last lines to begin with.",
)
@runs_option
@json_option
def logs(name: str, follow: bool, lines: int | None, runs: Place, as_json: bool) -> None:
    """Print the log of a run.

    RUN is an id, a unique beginning of one, or a path. With --follow new lines are shown as they
    come, until no process works on the run any more; Ctrl-C ends the showing, not the run.

    \b
    Example:
      mlfs logs quickstart
      mlfs logs quickstart -f -n 20
    """
    from mlfs_dask.jobs.logfile import read_log
    from mlfs_dask.jobs.rundir import find_run
    from mlfs_dask.storage.segments import has_grown

    folder = find_run(name, runs)
    if as_json:
        text = b"".join(read_log(folder, lines=lines, follow=follow)).decode(errors="replace")
        print_json({"run": folder.id, "log": str(folder.log), "lines": text.splitlines()})
        return
    last = b"\n"
    try:
        for piece in read_log(folder, lines=lines, follow=follow):
            click.echo(piece, nl=False)
            last = piece
    except KeyboardInterrupt:  # the reader has seen enough
        pass
    if not last.endswith(b"\n"):
        click.echo()
    if not has_grown(folder.log):
        click.echo(f"{folder.id} has no log yet", err=True)
