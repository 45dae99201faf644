"""``mlfs list``: all runs at a glance."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.cli.output import json_option, print_json, print_table
from mlfs_dask.cli.runs import runs_option
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.jobs.rundir import RunFolder
    from mlfs_dask.storage.places import Place

# What needs a look comes first.
_STATES: Final = (
    "running",
    "queued",
    "damaged",
    "failed",
    "interrupted",
    "cancelled",
    "partial",
    "done",
)
_KEYS: Final[dict[str, tuple[Callable[[dict[str, Any]], Any], bool]]] = {
    "time": (lambda facts: facts["created"], True),
    "state": (lambda facts: _STATES.index(facts["state"]), False),
    "size": (lambda facts: facts["bytes"], True),
    "name": (lambda facts: facts["run"], False),
}
"""What to sort by -> the key, and whether large ones come first."""


@click.command(name="list")
@click.option(
    "--sort",
    type=click.Choice(list(_KEYS)),
    default="time",
    show_default=True,
    help="time: newest first; size: largest first; state: running first, done last.",
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="Only these.")
@runs_option
@json_option
def list_runs(
    sort: str, reverse: bool, states: tuple[str, ...], runs: Place, as_json: bool
) -> None:
    """List the runs, newest first.

    \b
    Example:
      mlfs list
      mlfs list --sort size --state done
    """
    from mlfs_dask.jobs.removal import clear_leftovers
    from mlfs_dask.jobs.rundir import run_folders
    from mlfs_dask.storage.places import each_at_once

    clear_leftovers(runs)
    looked_at = each_at_once(_run_facts, run_folders(runs), runs)
    everything = [facts for facts in looked_at if facts is not None]
    found = [facts for facts in everything if not states or facts["state"] in states]
    key, large_first = _KEYS[sort]
    found.sort(key=_KEYS["time"][0], reverse=True)
    found.sort(key=key, reverse=large_first != reverse)
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
    elif everything:
        click.echo(
            f"None of the {counted(len(everything), 'run')} in {runs} is {' or '.join(states)}."
        )
    else:
        click.echo(f"There is no run in {runs}; `mlfs run JOB` starts one.")


def _run_facts(folder: RunFolder) -> dict[str, Any] | None:
    """What is shown of a run; None if there is none, or it was removed while it was looked at."""
    from mlfs_dask.errors import MlfsError
    from mlfs_dask.jobs.shapes import read_manifest
    from mlfs_dask.jobs.sizes import show_bytes

    try:
        manifest, state = read_manifest(folder.manifest), folder.read_state()
        _check_journal(folder)
    except (MlfsError, OSError) as error:  # one damaged run must not hide the others
        if not folder.exists:
            return None
        manifest = {"created": "", "datasets": []}
        message = error.message if isinstance(error, MlfsError) else str(error)
        state = {"state": "damaged", "progress": {"done": 0, "total": 0}, "message": message}
    size = _size(folder.path)
    if size == 0 or not _is_there(folder):
        return None
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


def _check_journal(folder: RunFolder) -> None:
    """Read the journal once; where it is many objects, only those read it who need it."""
    from mlfs_dask.jobs.journal import iter_journal

    if isinstance(folder.path, Path):
        for _ in iter_journal(folder.journal):
            pass


def _is_there(folder: RunFolder) -> bool:
    """Whether a run still is; one on object storage was a moment ago, as its size says."""
    return not isinstance(folder.path, Path) or folder.exists


def _size(folder: Place) -> int:
    """Bytes of all files; what goes away meanwhile counts nothing."""
    from mlfs_dask.storage.places import ObjectPlace

    if isinstance(folder, ObjectPlace):
        return folder.bytes_below()
    size = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            try:
                size += os.lstat(os.path.join(parent, file)).st_size
            except FileNotFoundError:
                continue
    return size
