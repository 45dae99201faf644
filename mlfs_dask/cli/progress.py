"""Progress on stderr: a bar on a terminal, plain lines elsewhere.

How a run begins, what fails and how it ends is logged by the coordinator; here is the rest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from mlfs_dask.wording import counted

if TYPE_CHECKING:
    from mlfs_dask.jobs.progress import Progress
    from mlfs_dask.jobs.steps import Steps
    from mlfs_dask.jobs.work import Outcome

_LINE_SECONDS: Final = 5.0


def make_progress() -> UntilHungUp:
    """A bar where stderr is a terminal, else lines."""
    return UntilHungUp(Bar() if sys.stderr.isatty() else Lines())


class UntilHungUp:
    """Progress that falls silent once nobody reads it: a closed pipe is no reason to stop a run.

    Parameters
    ----------
    shown
        What is told until then.

    Attributes
    ----------
    run
        Id of the run, once it has begun.
    """

    def __init__(self, shown: Progress) -> None:
        self._shown: Progress | None = shown
        self.run: str | None = None

    def start(self, run: str, *, done: int, total: int, where: str) -> None:
        """Begin to count."""
        self.run = run
        self._tell(lambda shown: shown.start(run, done=done, total=total, where=where))

    def step(self, steps: Steps) -> None:
        """Show that a long unit moves."""
        self._tell(lambda shown: shown.step(steps))

    def unit(self, outcome: Outcome) -> None:
        """Count."""
        self._tell(lambda shown: shown.unit(outcome))

    def end(self, state: str) -> None:
        """Say nothing more."""
        self._tell(lambda shown: shown.end(state))

    def _tell(self, word: Callable[[Progress], None]) -> None:
        if self._shown is None:
            return
        try:
            word(self._shown)
        except OSError:
            self._shown = None


class Lines:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._done = self._total = 0
        self._last = time.monotonic()

    def start(self, run: str, *, done: int, total: int, where: str) -> None:
        """Begin to count."""
        self._done, self._total = done, total

    def step(self, steps: Steps) -> None:
        """Say now and then how far a selector is."""
        if time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            decided = steps.first + len(steps.decided)
            click.echo(
                f"{self._done} of {counted(self._total, 'unit')}; selecting: "
                f"{counted(decided, 'decision')} so far",
                err=True,
            )

    def unit(self, outcome: Outcome) -> None:
        """Count, and say so now and then."""
        if outcome.failure is not None:
            return
        self._done += 1
        if time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            click.echo(
                f"{self._done} of {counted(self._total, 'unit')}; last: {outcome.unit}", err=True
            )

    def end(self, state: str) -> None:
        """Say nothing more."""


class Bar:
    """A bar with the unit that ended last."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None

    def start(self, run: str, *, done: int, total: int, where: str) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            Elapsed(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task("", total=total, completed=done)

    def step(self, steps: Steps) -> None:
        """Show that a long unit moves."""
        decided = steps.first + len(steps.decided)
        self._progress.update(self._task, description=counted(decided, "decision"))

    def unit(self, outcome: Outcome) -> None:
        """Move on by one."""
        if outcome.failure is not None:
            return
        self._progress.update(self._task, advance=1, description=str(outcome.unit))

    def end(self, state: str) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
