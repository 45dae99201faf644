"""Resume is replay: what a journal and its folder say is finished, decided, failed."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.work import Failure

_LOG = logging.getLogger(__name__)


class Replay:
    """What a run knows when it is taken up, gathered event by event.

    Call it with each event of the journal, then `check` the files it speaks of.

    Attributes
    ----------
    run : str or None
        Id of the run that wrote the journal.
    done : set of str
        Ids of units with a result.
    decided : dict
        Id of a unit in hand -> records of the decisions its selector made so far.
    failed : dict
        Id of a unit -> why it failed, unless it was done later.
    blocks : dict
        Name of a data set that is followed -> digests of its store with each block taken up.
    """

    def __init__(self) -> None:
        self.run: str | None = None
        self.done: set[str] = set()
        self.decided: dict[str, list[dict[str, Any]]] = {}
        self.failed: dict[str, Failure] = {}
        self.blocks: dict[str, list[str]] = {}
        self._files: dict[str, tuple[int, str]] = {}

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in one event.

        Parameters
        ----------
        event
            In the journal's order.
        """
        kind, unit = event["event"], event.get("unit", "")
        if kind == "start":
            self.run = event["run"]
        elif kind == "step":
            self._step(unit, event)
        elif kind == "block":
            self.blocks.setdefault(event["dataset"], []).append(event["digest"])
        elif kind == "unit":
            self._files[unit] = (event["bytes"], event["sha256"])
            self.decided.pop(unit, None)
            self.failed.pop(unit, None)
        elif kind == "failed":
            self.decided.pop(unit, None)
            self.failed[unit] = Failure.from_event(event)

    def _step(self, unit: str, event: dict[str, Any]) -> None:
        known = self.decided.setdefault(unit, [])
        # A unit that was begun anew decides the same again; what is known is not counted twice.
        new = event["decided"][max(0, len(known) - event["first"]) :]
        if event["first"] <= len(known):
            known.extend(new)

    def check(self, folder: RunFolder) -> None:
        """Settle which units are done: those whose result lies in the folder, whole.

        A result that is missing or cut short (the power went before it was on the disk) is done
        again.

        Parameters
        ----------
        folder
            The run.

        Raises
        ------
        RunFolderError
            A result was changed, or the journal is another run's.
        """
        for unit, (size, digest) in self._files.items():
            file = folder.unit_file(unit)
            data = file.read_bytes() if file.is_file() else b""
            if len(data) != size:
                _LOG.warning("%s is missing or cut short and will be done again", file.name)
            elif hashlib.sha256(data).hexdigest() != digest:
                raise RunFolderError(
                    f"{file} was changed since it was written",
                    hint="Delete this file to have the unit done again.",
                    path=str(file),
                )
            else:
                self.done.add(unit)
