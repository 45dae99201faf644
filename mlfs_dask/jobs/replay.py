"""Resume is replay: what a journal and its folder say is finished."""

from __future__ import annotations

import hashlib
import logging

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.rundir import RunFolder

_LOG = logging.getLogger(__name__)


def finished_units(folder: RunFolder, journal: Journal) -> set[str]:
    """Ids of units whose result the journal knows and the folder has.

    A result that is missing or cut short (the power went before it was on the disk) is done again.

    Parameters
    ----------
    folder
        The run.
    journal
        Its journal.

    Raises
    ------
    RunFolderError
        A result was changed.
    """
    done = set()
    for event in journal.events:
        if event["event"] != "unit":
            continue
        file = folder.unit_file(event["unit"])
        data = file.read_bytes() if file.is_file() else b""
        if len(data) != event["bytes"]:
            _LOG.warning("%s is missing or cut short and will be done again", file.name)
            done.discard(event["unit"])
        elif hashlib.sha256(data).hexdigest() != event["sha256"]:
            raise RunFolderError(
                f"{file} was changed since it was written",
                hint="Delete this file to have the unit done again.",
                path=str(file),
            )
        else:
            done.add(event["unit"])
    return done
