"""Commands about a run that are printed to be copied, and how an interrupted one goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place


def command_words(command: str, run: str, runs: Place, *flags: str) -> str:
    """A command about a run, as a user would type it.

    Parameters
    ----------
    command
        Such as ``"status"``.
    run
        Its id.
    runs
        Folder of all runs.
    *flags
        Further words.

    Examples
    --------
    >>> from pathlib import Path
    >>> command_words("watch", "tiny-0123456789", Path("my runs"))
    "mlfs watch tiny-0123456789 --runs 'my runs'"
    """
    import shlex

    return shlex.join(("mlfs", command, run, *flags, "--runs", str(runs)))


def resume_words(
    run: str, runs: Place, *, retry_failed: bool = False, where: Sequence[str] = ()
) -> str:
    """The command that takes a run up, as a user would type it.

    Parameters
    ----------
    run
        Its id.
    runs
        Folder of all runs.
    retry_failed
        Whether failed units are to be tried again.
    where
        Flags that name a cluster.

    Examples
    --------
    >>> from pathlib import Path
    >>> resume_words("tiny-0123456789", Path("my runs"), retry_failed=True)
    "mlfs resume tiny-0123456789 --retry-failed --runs 'my runs'"
    """
    again = ("--retry-failed",) if retry_failed else ()
    return command_words("resume", run, runs, *again, *where)


@contextmanager
def naming_the_way_on(name: Callable[[], str], command: Callable[[], str]) -> Iterator[None]:
    """Add the command that goes on to whatever ends a run early through no fault of the user.

    Parameters
    ----------
    name
        Called for the id of the run, or the name of the job.
    command
        Called for the command.

    Raises
    ------
    RunInterruptedError
        Instead of KeyboardInterrupt.
    """
    from mlfs_dask.errors import MlfsError, RunInterruptedError
    from mlfs_dask.jobs.order import interrupted_error

    try:
        yield
    except KeyboardInterrupt:
        raise interrupted_error(name(), command()) from None
    except RunInterruptedError as error:
        error.hint = f"Go on with: {command()}"
        raise
    except MlfsError as error:
        if error.exit_code == 1:
            error.hint = " ".join(filter(None, (error.hint, f"Go on with: {command()}")))
        raise
