"""How a run that was interrupted goes on: the command that errors and `mlfs status` name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlfs_dask.storage.places import Place


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
    import shlex

    again = ("--retry-failed",) if retry_failed else ()
    return shlex.join(("mlfs", "resume", run, *again, *where, "--runs", str(runs)))


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
