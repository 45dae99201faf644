"""What ``mlfs run`` and ``mlfs resume`` do once a run has come to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mlfs_dask.cli.going_on import command_words, resume_words
from mlfs_dask.cli.output import error_document, print_json
from mlfs_dask.cli.runs import print_summary, summary_document
from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.errors import MlfsError
    from mlfs_dask.jobs.order import Finished


def finish(finished: Finished, *, as_json: bool, again: str) -> None:
    """Write the report, show the results, and fail where units failed.

    Parameters
    ----------
    finished
        What the run came to.
    as_json
        Print one JSON document instead of tables.
    again
        How a run that was finished before is run anew, in words.

    Raises
    ------
    MlfsError
        Units failed; `InputError` if the user can correct all of it.
    """
    _write_report(finished)
    error = _failure(finished)
    _show(finished, error, as_json=as_json, again=again)
    if error is None:
        return
    if not as_json:
        raise error
    click.echo(f"Error: {error}", err=True)  # the one JSON document has it already
    raise click.exceptions.Exit(error.exit_code)


def _write_report(finished: Finished) -> None:
    from mlfs_dask.jobs.results import Run
    from mlfs_dask.report import write_report

    folder = finished.folder
    if finished.fresh or not folder.report.is_file():
        write_report([Run(folder)], folder.report)


def _show(finished: Finished, error: MlfsError | None, *, as_json: bool, again: str) -> None:
    from mlfs_dask.jobs.results import Run

    done = Run(finished.folder)
    done.check()
    if as_json:
        extra: dict[str, Any] = {
            "already_finished": not finished.fresh,
            "failed": [str(unit) for unit, _ in finished.failures],
        }
        if error is not None:
            extra["error"] = error_document(error)
        print_json({**summary_document(done), **extra})
        return
    if not finished.fresh:
        click.echo(f"{done.id} was finished before; {again}.\n")
    print_summary(done)


def _failure(finished: Finished) -> MlfsError | None:
    """What to say of failed units; None if there is none."""
    from mlfs_dask.errors import InputError, MlfsError

    failures = [failure for _, failure in finished.failures]
    if not failures:
        return None
    folder = finished.folder
    root = [failure for failure in failures if failure.error != "NotRun"] or failures
    message = root[0].message
    first = next(unit for unit, failure in finished.failures if failure is root[0])
    kind = InputError if all(failure.exit_code == 2 for failure in failures) else MlfsError
    hint = f"{root[0].hint} " if root[0].hint else ""
    runs = folder.path.parent
    command = resume_words(folder.id, runs, retry_failed=True)
    story = command_words("status", folder.id, runs, "--failed")
    if finished.state == "failed":
        problem = f"{folder.id} failed, no unit has a result"
    else:
        problem = f"{counted(len(failures), 'unit')} of {folder.id} failed, the others are kept"
    return kind(
        f"{problem}; the first: {first}: {message}",
        hint=f"{hint}`{story}` has the whole story; try these units again with: {command}",
        failed=len(failures),
    )
