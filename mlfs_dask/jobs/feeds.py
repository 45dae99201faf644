"""Stores that grow while a run follows them: who waits for a block, what came, when it ends.

A selection with ``follow = true`` is done again and again: on the store as it was when the run
began, and on the store with each block of features that came since. Each time it is handed the
decisions it made before, so it only decides on what is new; the coordinator waits in between, and
no worker is held up::

    task ──> decisions on all features there are ──> the store is closed?  ──yes──> a finished unit
      ^                                                     │ no
      └────── a block came, or the store was closed ────────┘

Everything else on the data set comes after that, on the store with all blocks that were taken up.
"""

from __future__ import annotations

import json
import logging
import math
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.journal import Journal
from mlfs_dask.jobs.manifest import describe_dataset
from mlfs_dask.jobs.perform import Address
from mlfs_dask.jobs.replay import Replay
from mlfs_dask.jobs.rundir import RunFolder, read_json, write_json
from mlfs_dask.jobs.spec import Job
from mlfs_dask.jobs.units import Unit
from mlfs_dask.jobs.work import Outcome
from mlfs_dask.selectors.online_engine import NO_MORE
from mlfs_dask.storage.blocks import block_folders, is_closed
from mlfs_dask.storage.dataset import Dataset, open_dataset
from mlfs_dask.storage.places import place
from mlfs_dask.wording import counted

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 0.5


class Feed:
    """One store that grows.

    Parameters
    ----------
    dataset
        As it was when the run began.
    taken
        Digests of the store after each block that the run took up before.

    Attributes
    ----------
    dataset : Dataset
        With all blocks taken up.
    ended : bool
        Whether it is closed, and all of it is taken up.

    Raises
    ------
    RunFolderError
        The store does not have these blocks any more.
    """

    def __init__(self, dataset: Dataset, taken: Sequence[str] = ()) -> None:
        self.dataset = dataset
        self.ended = False
        self._begun = len(dataset.chain)
        whole = open_dataset(dataset.path)
        there = whole.chain[self._begun : self._begun + len(taken)]
        if tuple(taken) != there:
            raise RunFolderError(
                f"{dataset.path} has lost blocks of features that the run took up, or has others",
                hint="Restore the store to go on, or give --force to start a new run.",
                path=dataset.path,
            )
        if taken:
            self.dataset = open_dataset(dataset.path, taken[-1])

    @property
    def address(self) -> Address:
        """The store with all blocks taken up."""
        return Address(self.dataset.path, self.dataset.digest)

    def look(self) -> list[tuple[int, str, int]]:
        """Take up the blocks that came: number, digest of the store with it, features of each."""
        store = place(self.dataset.path)
        closed = is_closed(store)  # before the blocks are counted: none comes after it
        known = len(self.dataset.block_sizes)
        came = []
        if len(block_folders(store)) > known:
            self.dataset = open_dataset(self.dataset.path)
            sizes, chain = self.dataset.block_sizes, self.dataset.chain
            came = [(k, chain[k], sizes[k - 1]) for k in range(known + 1, len(chain))]
        self.ended = closed
        return came


def waiting_words(paths: Mapping[str, str]) -> str:
    """Data sets that are waited for, and the commands that help.

    Parameters
    ----------
    paths
        Name of each data set -> path of its store, which may have another name.

    Examples
    --------
    >>> waiting_words({"songs": "growing.zarr"})
    'songs (`mlfs data append growing.zarr FILE` adds one, `--close` for FILE ends it)'
    """
    return ", ".join(
        f"{name} (`mlfs data append {shlex.quote(path)} FILE` adds one, `--close` for FILE ends it)"
        for name, path in paths.items()
    )


def followed(
    job: Job, units: Iterable[Unit], datasets: Iterable[Dataset], replay: Replay
) -> dict[str, tuple[Feed, list[Unit]]]:
    """The stores that a job follows, and the units that do: selections on all rows.

    Parameters
    ----------
    job
        Resolved job.
    units
        All its units.
    datasets
        As they were when the run began.
    replay
        Which blocks the run took up before.

    Returns
    -------
    dict
        By name of the data set.
    """
    by_name = {dataset.name: dataset for dataset in datasets}
    found: dict[str, tuple[Feed, list[Unit]]] = {}
    for unit in units:
        name = unit.dataset
        if unit.kind == "select" and unit.fold is None and job.selects[unit.selector].follow:
            if name not in found:
                found[name] = (Feed(by_name[name], replay.blocks.get(name, ())), [])
            found[name][1].append(unit)
    return found


class Feeds:
    """All stores that a run follows, and the selections that wait for them.

    Parameters
    ----------
    folder
        The run.
    journal
        Of the run.
    followed
        Of `followed`.

    Attributes
    ----------
    units : list of Unit
        Those that follow.
    names : list of str
        Data sets that are followed.
    """

    def __init__(
        self, folder: RunFolder, journal: Journal, followed: dict[str, tuple[Feed, list[Unit]]]
    ) -> None:
        self._folder, self._journal = folder, journal
        self._feeds = {name: feed for name, (feed, _) in followed.items()}
        self.names = list(followed)
        self.units = [unit for _, units in followed.values() for unit in units]
        self._ids = {unit.id for unit in self.units}
        self._given: dict[str, tuple[Address, bool]] = {}
        self._waiting: dict[str, Unit] = {}
        self._told: list[str] = []
        self._looked = -math.inf
        self._keep_names()

    @property
    def waiting(self) -> list[str]:
        """Names of the data sets whose next block somebody waits for."""
        return sorted({unit.dataset for unit in self._waiting.values()})

    def give(self, unit: Unit) -> Address | None:
        """Where the data of a unit lie by now; None for a data set that nobody follows.

        Parameters
        ----------
        unit
            About to be handed out.
        """
        feed = self._feeds.get(unit.dataset)
        if feed is None:
            return None
        if unit.id in self._ids:
            self._given[unit.id] = (feed.address, feed.ended)
        return feed.address

    def has_to_wait(self, outcome: Outcome) -> bool:
        """Whether a selection has come to the end of a store that isn't closed, and waits.

        Parameters
        ----------
        outcome
            Of any unit.
        """
        unit = outcome.unit
        if unit.id not in self._ids or outcome.payload is None:
            return False
        stop = json.loads(outcome.payload)["result"]["stop"]
        waits: bool = stop == NO_MORE and not self._given[unit.id][1]
        if waits:
            self._waiting[unit.id] = unit
        return waits

    def begin_to_wait(self) -> bool:
        """Say what is waited for, once; whether it was said."""
        if self._told == self.waiting:
            return False
        self._told = self.waiting
        paths = {name: self._feeds[name].dataset.path for name in self.waiting}
        _LOG.info("%s: waiting for blocks of %s", self._folder.id, waiting_words(paths))
        return True

    def take(self, names: Iterable[str]) -> None:
        """Take up and journal the blocks that came; looks not too often.

        Parameters
        ----------
        names
            Data sets that somebody is about to read or waits for.
        """
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        came = False
        for name in names:
            for number, digest, size in self._feeds[name].look():
                came = True
                self._journal.append(
                    "block", dataset=name, block=number, digest=digest, features=size
                )
                features = counted(size, "feature")
                _LOG.info("%s: block %d of %s: %s", self._folder.id, number, name, features)
        if came:
            self._journal.sync()
            self._keep_names()

    def awake(self) -> list[Unit]:
        """Selections that need to wait no longer; they are forgotten here."""
        ready = []
        for unit in list(self._waiting.values()):
            feed = self._feeds[unit.dataset]
            if (feed.address, feed.ended) != self._given[unit.id]:
                ready.append(self._waiting.pop(unit.id))
                self._told = []
        return ready

    def _keep_names(self) -> None:
        """Keep the names of the features that came since the run began."""
        if self._feeds:
            described = read_json(self._folder.datasets)
            for name, feed in self._feeds.items():
                described[name] = describe_dataset(feed.dataset)
            write_json(self._folder.datasets, described)
