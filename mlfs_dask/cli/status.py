"""``mlfs status``: one run, how far it is, what went wrong and how it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.cli.going_on import command_words, resume_words
from mlfs_dask.cli.output import json_option, print_json
from mlfs_dask.cli.runs import print_summary, runs_option, summary_document
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.jobs.history import History, InHand
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import RunFolder
    from mlfs_dask.storage.places import Place

_SHOWN: Final = 10


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--failed", is_flag=True, help="Show why units failed, with tracebacks, and no more.")
@runs_option
@json_option
def status(name: str, failed: bool, runs: Place, as_json: bool) -> None:
    """Say how far a run is, what is in hand, what failed, and show its results when it is finished.

    RUN is an id, a unique beginning of one, or a path.

    \b
    Example:
      mlfs status quickstart
      mlfs status quickstart --failed
    """
    from mlfs_dask.jobs.history import read_history
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.jobs.rundir import find_run

    folder = find_run(name, runs)
    state, history, run = folder.read_state(), read_history(folder), Run(folder)
    # Whatever is damaged is refused before anything is printed.
    results = summary_document(run) if folder.results.is_file() else None
    command = _way_on(folder, state)
    if as_json:
        found = {name: getattr(history, name) for name in history.__struct_fields__}
        print_json({**state, "results": results, **found, "go_on": command})
    elif failed:
        _print_tracebacks(folder, history)
    else:
        _print_state(folder, state, run)
        _print_history(folder, history, run)
        if results is not None:
            print_summary(run)
        if command:
            click.echo(f"\ngo on with: {command}" if results else f"go on with: {command}")


def _way_on(folder: RunFolder, state: dict[str, Any]) -> str | None:
    if state["state"] not in ("interrupted", "failed", "cancelled", "partial"):
        return None
    again = bool(state.get("failed"))
    return resume_words(folder.id, folder.path.parent, retry_failed=again)


def _print_state(folder: RunFolder, state: dict[str, Any], run: Run) -> None:
    from mlfs_dask.jobs.feeds import waiting_words

    progress, who = state["progress"], folder.owner()
    by = f" by process {who['pid']} on {who['host']}" if who is not None else ""
    click.echo(
        f"{folder.id}: {state['state']}{by}, {progress['done']} of "
        f"{counted(progress['total'], 'unit')}, "
        f"updated {state.get('updated', 'never')}\n"
    )
    if state["state"] == "running" and state.get("waiting"):
        stores = {data["name"]: data["path"] for data in run.manifest["datasets"]}
        paths = {name: path for name, path in stores.items() if name in state["waiting"]}
        click.echo(f"waiting for blocks of {waiting_words(paths)}\n")
    if state.get("message"):
        click.echo(f"{state['message']}\n")


def _print_history(folder: RunFolder, history: History, run: Run) -> None:
    for item in history.in_hand[:_SHOWN]:
        click.echo(f"in hand: {item.what}: {_decisions(item, run)}")
    for unit in history.failures[:_SHOWN]:
        click.echo(f"failed: {unit.what}: {unit.message}")
    for incident in history.incidents[:_SHOWN]:
        click.echo(f"incident at {incident.time}: {incident.message}")
    parts = (history.in_hand, history.failures, history.incidents)
    more = sum(max(0, len(part) - _SHOWN) for part in parts)
    if more:
        click.echo(f"... and {more} more, see --json")
    if history.failures:
        command = command_words("status", folder.id, folder.path.parent, "--failed")
        click.echo(f"`{command}` has the tracebacks")
    if any(parts):
        click.echo()


def _decisions(item: InHand, run: Run) -> str:
    feature = item.last.get("feature")
    names = run.datasets[item.dataset]["features"] if item.dataset is not None else ()
    last = f", last {names[feature]!r}" if isinstance(feature, int) and feature < len(names) else ""
    return f"{counted(item.decided, 'decision')}{last}, at {item.time}{_selected(item, names)}"


def _selected(item: InHand, names: Sequence[str]) -> str:
    """The subset so far: the features that came last, as far as they fit a few lines."""
    if item.subset is None:
        return ""
    shown = [names[f] if f < len(names) else f"feature {f}" for f in item.subset[-_SHOWN:]]
    more = f"... {', '.join(shown)}" if len(item.subset) > _SHOWN else ", ".join(shown)
    return f"\n  selected so far, {counted(len(item.subset), 'feature')}: {more}"


def _print_tracebacks(folder: RunFolder, history: History) -> None:
    if not history.failures:
        click.echo(f"{folder.id}: no unit failed")
    for unit in history.failures:
        click.echo(f"{unit.what}, at {unit.time}: {unit.error}: {unit.message}")
        if unit.hint:
            click.echo(f"  {unit.hint}")
        if unit.traceback:
            click.echo(unit.traceback)
