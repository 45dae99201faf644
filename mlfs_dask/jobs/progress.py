"""How a run tells how far it is: callbacks that command line, notebooks and tests fill in."""

from __future__ import annotations

from typing import Protocol

from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.work import Outcome


class Progress(Protocol):
    """One method per event; called in the coordinator's process and thread."""

    def start(self, run: str, *, done: int, total: int, where: str) -> None:
        """Units begin to run.

        Parameters
        ----------
        run
            Id of the run.
        done, total
            Units finished before, and all units.
        where
            Place in words.
        """

    def step(self, steps: Steps) -> None:
        """A selector decided something.

        Parameters
        ----------
        steps
            What, and where it stands.
        """

    def unit(self, outcome: Outcome) -> None:
        """A unit is finished or has failed.

        Parameters
        ----------
        outcome
            What came of it.
        """

    def end(self, state: str) -> None:
        """No unit runs any more.

        Parameters
        ----------
        state
            State of the run.
        """


class Silent:
    """Tells nobody."""

    def start(self, run: str, *, done: int, total: int, where: str) -> None:
        """Say nothing."""

    def step(self, steps: Steps) -> None:
        """Say nothing."""

    def unit(self, outcome: Outcome) -> None:
        """Say nothing."""

    def end(self, state: str) -> None:
        """Say nothing."""
