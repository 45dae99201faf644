"""Coordinators away from the terminal: as a task of a cluster, or as a supervised process."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.cli.going_on import resume_words
from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.cli.where import cluster_client, cluster_options, target_of

if TYPE_CHECKING:
    from mlfs_dask.jobs.rundir import RunFolder
    from mlfs_dask.storage.places import Place

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 5.0
_TO_DO: Final = ("queued", "interrupted")
_MOST_FRUITLESS: Final = 10


def see_through(run: str, chain: int, number: int) -> str:
    """See a run through on the cluster whose worker calls this; its slot is given back meanwhile.

    Parameters
    ----------
    run
        Path of the run folder.
    chain
        Number of the first owner of this chain: a later one is a coordinator that was started
        anew, which leaves alone what failed under the one before.
    number
        Number that the owner will have if this task is begun for the first time. A scheduler
        starts a task only so often, and this one is lost with every worker that happens to hold
        it; so one that is begun again hands over to a fresh one.

    Returns
    -------
    str
        State of the run.
    """
    from distributed import worker_client

    from mlfs_dask.jobs.lease import next_number
    from mlfs_dask.jobs.rundir import RunFolder
    from mlfs_dask.jobs.sessions import fruitless_starts
    from mlfs_dask.jobs.submit import hand_over
    from mlfs_dask.storage.places import place

    folder = RunFolder(place(run))
    state: str = folder.read_state()["state"]
    if state == "cancelled":  # while nobody was at work on it, so that nobody saw the request
        return state
    upcoming = next_number(folder.path)
    with worker_client() as client:
        if upcoming == number:
            return coordinate(
                folder, client, retry_failed=number == chain, chain=f"{folder.id}-{chain}"
            )
        if (starts := fruitless_starts(folder)) > _MOST_FRUITLESS:
            return _give_up(folder, starts)
        hand_over(folder, client, see_through, chain=chain)
    return "handed over"


def _give_up(folder: RunFolder, starts: int) -> str:
    message = f"{starts} coordinators in a row were lost before anything was finished or decided"
    _LOG.error("%s: %s", folder.id, message)
    folder.write_state("failed", **folder.read_state()["progress"], message=message)
    return "failed"


def coordinate(folder: RunFolder, client: Any, *, retry_failed: bool, chain: str = "") -> str:
    """See a run through and write its report; one that cannot even begin is marked as failed.

    Parameters
    ----------
    folder
        The run.
    client
        Connected to the cluster that does the units.
    retry_failed, chain
        As in `mlfs_dask.jobs.coordinator.resume_run`.

    Returns
    -------
    str
        State of the run.
    """
    from mlfs_dask.errors import ClusterError, LeaseLostError, MlfsError, RunInterruptedError
    from mlfs_dask.jobs.coordinator import resume_run
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.report import write_report

    command = resume_words(folder.id, folder.path.parent)
    try:
        finished = resume_run(
            folder, retry_failed=retry_failed, client=client, chain=chain, command=command
        )
    except (LeaseLostError, RunInterruptedError) as error:
        _LOG.warning("%s: %s", folder.id, error)
        left: str = folder.read_state()["state"]
        return left
    except ClusterError:
        raise  # the run may go on elsewhere, or later
    except MlfsError as error:
        return _failed(folder, error)
    except Exception as error:
        _failed(folder, error)
        raise
    if finished.fresh or not folder.report.is_file():
        write_report([Run(folder)], folder.report)
    return finished.state


def _failed(folder: RunFolder, error: Exception) -> str:
    """Leave word of what kept a run from going on, or it would seem to wait for ever."""
    _LOG.error("%s: %s", folder.id, error)
    if _is_to_do(folder):
        folder.write_state("failed", **folder.read_state()["progress"], message=str(error))
    state: str = folder.read_state()["state"]
    return state


@click.command()
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option(
    "--watch",
    is_flag=True,
    help="Take up every run that waits or was interrupted, now and later, until stopped.",
)
@cluster_options
@runs_option
@json_option
def coordinator(
    names: tuple[str, ...], watch: bool, where: dict[str, Any], runs: Place, as_json: bool
) -> None:
    """Coordinate runs from this process, through any loss of the cluster.

    The supervised form of `mlfs submit`: where the scheduler itself may be restarted, let systemd
    or another supervisor keep this command alive. It waits for the scheduler to come back, and goes
    on from the run folder. Runs that another process is at work on are waited for, and taken up if
    it is lost; those that ended are left as they are.

    \b
    Example:
      mlfs coordinator quickstart-0123456789 --scheduler tcp://127.0.0.1:8786
      mlfs coordinator --watch --profile local
    """
    from mlfs_dask.errors import ClusterError, InputError
    from mlfs_dask.jobs.rundir import find_run

    if target_of(where) is None:
        raise ClusterError(
            "nothing says on which cluster to run",
            hint="Give --scheduler, --scheduler-file or --profile; `mlfs resume` needs none.",
        )
    if watch == bool(names):
        raise InputError("give either runs to coordinate or --watch")
    folders = [find_run(name, runs) for name in names]
    for folder in folders:
        _say_state(folder)
    while True:
        left = [folder for folder in (_waiting(runs) if watch else folders) if _is_to_do(folder)]
        for folder in left:
            _coordinate_patiently(folder, where, go_on=watch)
        if not watch and not any(_may_need_us(folder) for folder in folders):
            break
        time.sleep(_LOOK_SECONDS)
    if as_json:
        ended = [{"run": folder.id, "state": folder.read_state()["state"]} for folder in folders]
        print_json({"runs": ended})


def _say_state(folder: RunFolder) -> None:
    """What is not taken up at once, and why; a damaged run is an error."""
    state = folder.read_state()["state"]
    if (owner := folder.owner()) is not None:
        at = f"process {owner.get('pid')} on {owner.get('host')}"
        click.echo(f"{folder.id}: {at} is at work on it; waiting", err=True)
    elif state not in _TO_DO:
        click.echo(f"{folder.id}: {state} already", err=True)


def _may_need_us(folder: RunFolder) -> bool:
    return _is_to_do(folder) or _is_owned(folder)


def _is_owned(folder: RunFolder) -> bool:
    from mlfs_dask.errors import MlfsError

    try:
        return folder.owner() is not None
    except MlfsError as error:
        _LOG.debug("%s", error)
        return False


def _waiting(runs: Place) -> list[RunFolder]:
    from mlfs_dask.jobs.rundir import all_runs

    return all_runs(runs)


def _is_to_do(folder: RunFolder) -> bool:
    from mlfs_dask.errors import MlfsError

    try:
        state = folder.read_state()["state"]
        return folder.exists and state in _TO_DO and folder.owner() is None
    except MlfsError as error:  # one damaged run must not hold up the others
        _LOG.debug("%s", error)
        return False


def _coordinate_patiently(folder: RunFolder, where: dict[str, Any], *, go_on: bool) -> None:
    """See one run through; with `go_on` what befalls it alone must not hold up the others."""
    from mlfs_dask.errors import ClusterError, MlfsError

    try:
        with cluster_client(where, workers=None) as client:
            state = coordinate(folder, client, retry_failed=False)
    except ClusterError as error:
        click.echo(f"{error}\nTrying again in {_AGAIN_SECONDS:g} s.", err=True)
        time.sleep(_AGAIN_SECONDS)
    except MlfsError as error:
        if not go_on:
            raise
        gone = "" if folder.exists else "; it was removed"
        click.echo(f"{folder.id}: {error}{gone}\nGoing on in {_AGAIN_SECONDS:g} s.", err=True)
        time.sleep(_AGAIN_SECONDS)
    else:
        click.echo(f"{folder.id}: {state}", err=True)
