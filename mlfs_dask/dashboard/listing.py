"""All runs of the folders that are served, read again only where something changed."""

from __future__ import annotations

import math
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mlfs_dask.dashboard.track import Track
from mlfs_dask.errors import MlfsError
from mlfs_dask.jobs.rundir import RunFolder, all_runs, run_folders
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.storage.places import ObjectPlace, Place, each_at_once

_PUBLISH_SECONDS: Final = 0.1
_LIST_SECONDS: Final = 5.0
_SETTLE_SECONDS: Final = 10.0
_ENDED_SECONDS: Final = 30.0  # between looks at runs that have ended, where a look is a request
_AT_WORK: Final = ("running", "queued")
STATES: Final = (
    *_AT_WORK,
    "damaged",
    "failed",
    "interrupted",
    "cancelled",
    "partial",
    "done",
)
"""What needs a look comes first."""
_Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class RunRow(Struct, frozen=True, kw_only=True):
    """A run in the list.

    Attributes
    ----------
    run
        Its key: its id, made unique where two folders hold runs of the same id.
    state
        One of `STATES`.
    done, total, failed
        Finished units, all units, units without a result.
    created, updated
        In ISO 8601; empty if not known.
    datasets
        Names.
    message
        Why it ended, where that is known.
    seconds_left
        None if it does not run, or nothing is known yet.
    incidents
        How many there are; None for a run that is not at work: its own page counts them.
    """

    run: str
    state: str
    done: int
    total: int
    failed: int
    created: str
    updated: str
    datasets: tuple[str, ...]
    message: str | None
    seconds_left: float | None = None
    incidents: int | None = None

    @property
    def is_at_work(self) -> bool:
        """Whether it runs or waits."""
        return self.state in _AT_WORK


class Listing(Struct, frozen=True, kw_only=True):
    """All runs at one moment.

    Attributes
    ----------
    rows
        Those at work first, then the newest.
    counts
        Number of runs by state, in the order of `STATES`.
    unread
        Runs that were not read yet.
    missing
        Folders that are not there, or may not be read.
    taken
        When, in seconds since 1970; 0: never.
    seconds
        How long it took to look.
    """

    rows: tuple[RunRow, ...] = ()
    counts: dict[str, int] = {}
    unread: int = 0
    missing: tuple[str, ...] = ()
    taken: float = 0.0
    seconds: float = 0.0


class _Known:
    """What was read of a run, and the files it was read from as they were then."""

    def __init__(self, folder: RunFolder, stamp: _Stamp, row: RunRow) -> None:
        self.folder = folder
        self.stamp = stamp
        self.row = row
        self.track: Track | None = None
        self.looked = time.monotonic()

    @property
    def may_be_left(self) -> bool:
        """Whether it has ended, and was looked at a short while ago over a network."""
        return (
            isinstance(self.folder.path, ObjectPlace)
            and not self.row.is_at_work
            and self.row.state != "interrupted"
            and time.monotonic() - self.looked < _ENDED_SECONDS
        )


class Runs:
    """The runs of some folders; `refresh` brings `listing` up to date.

    To be refreshed by one thread at a time; `listing` is replaced whole, so that any thread may
    read it.

    Parameters
    ----------
    folders
        Folders of runs. Nothing outside them is looked at; links to elsewhere are passed over.
    """

    def __init__(self, folders: Sequence[Place]) -> None:
        self.folders = tuple(folders)
        self.listing = Listing()
        self._known: dict[str, _Known] = {}
        self._shelves = [_Shelf(folder) for folder in self.folders]

    def find(self, key: str) -> RunFolder | None:
        """Folder of a run of the list; None if there is no such run.

        Parameters
        ----------
        key
            As asked for: it is looked up among the runs found, never made into a path.
        """
        known = self._known.get(key)
        return None if known is None else known.folder

    def row(self, key: str) -> RunRow | None:
        """A run of the list; None if there is no such run.

        Parameters
        ----------
        key
            As in `find`.
        """
        known = self._known.get(key)
        return None if known is None else known.row

    def refresh(self) -> None:
        """Look which runs there are, and read those that changed."""
        started = published = time.perf_counter()
        found = dict(self._found())
        known: dict[str, _Known] = {}
        looks = each_at_once(lambda item: self._look(*item), found.items(), self._farthest)
        for number, (key, fresh) in enumerate(zip(found, looks, strict=True)):
            if fresh is not None:
                known[key] = fresh
            now = time.perf_counter()
            if not self.listing.taken and now - published > _PUBLISH_SECONDS:
                published = now
                self._publish(dict(known), unread=len(found) - number - 1, seconds=now - started)
        self._publish(known, unread=0, seconds=time.perf_counter() - started)

    @property
    def _farthest(self) -> Place:
        """A folder that answers most slowly."""
        return next((each for each in self.folders if isinstance(each, ObjectPlace)), Path())

    def _found(self) -> Iterator[tuple[str, RunFolder]]:
        taken: set[str] = set()
        for number, shelf in enumerate(self._shelves):
            for folder in shelf.runs():
                key = folder.id if folder.id not in taken else f"{folder.id}~{number + 1}"
                taken.add(key)
                yield key, folder

    def _look(self, key: str, folder: RunFolder) -> _Known | None:
        """A run as it is now; None if it was removed meanwhile, or is none of ours."""
        known = self._known.get(key)
        if known is not None and known.may_be_left:
            return known
        try:
            stamp = _stamp(folder)
        except _NotOurs:
            return None
        except MlfsError:  # no answer: what was read before is shown meanwhile
            return known
        if stamp[0] is None:
            return None
        if known is not None and known.stamp == stamp and _is_settled(known):
            known.looked = time.monotonic()
            return known
        row = _read(key, folder)
        fresh = _Known(folder, stamp, row)
        if row.is_at_work:
            same = known is not None and known.stamp[0] == stamp[0]
            fresh.track = (known.track if known and same else None) or Track(folder)
            fresh.track.read()
            fresh.row = _with_pace(row, fresh.track)
        return fresh

    def _publish(self, known: dict[str, _Known], *, unread: int, seconds: float) -> None:
        self._known = known
        rows = sorted((k.row for k in known.values()), key=lambda row: row.run)
        rows.sort(key=lambda row: row.created, reverse=True)
        rows.sort(key=lambda row: not row.is_at_work)
        counts = Counter(row.state for row in rows)
        self.listing = Listing(
            rows=tuple(rows),
            counts={state: counts[state] for state in STATES if counts[state]},
            unread=unread,
            missing=tuple(str(shelf.path) for shelf in self._shelves if not shelf.is_readable),
            taken=0.0 if unread else time.time(),
            seconds=seconds,
        )


class _Shelf:
    """One folder of runs, listed anew where that may bring something new."""

    def __init__(self, path: Place) -> None:
        self.path = path
        self._listed = -math.inf
        self._changed: int | None = None
        self._runs: list[RunFolder] = []
        self._answers = True

    @property
    def is_readable(self) -> bool:
        """Whether it is there and may be read; a bucket: whether it answered."""
        return self._answers and (
            isinstance(self.path, ObjectPlace) or os.access(self.path, os.R_OK)
        )

    def runs(self) -> list[RunFolder]:
        """Runs in it, without those that are links to elsewhere."""
        try:
            changed = _changed(self.path)
            now = time.monotonic()
            # A folder that is new has no manifest yet, and gets it without a trace up here.
            settles = time.time() - changed / 1e9 < _SETTLE_SECONDS
            if changed != self._changed or settles or now - self._listed > _LIST_SECONDS:
                self._runs = [run for run in _listed(self.path) if _is_text(run.id)]
                self._changed, self._listed, self._answers = changed, now, True
        except MlfsError:  # a bucket does not answer: what was found before is shown meanwhile
            self._answers = False
        except OSError:  # it may not be read, or went away just now: the list says which is missing
            self._runs = []
        return self._runs


def _listed(runs: Place) -> list[RunFolder]:
    if isinstance(runs, ObjectPlace):
        return run_folders(runs)  # which of them are runs shows when each is looked at
    return [run for run in all_runs(runs) if not run.path.is_symlink()]


def _changed(folder: Place) -> int:
    """When a folder changed; a prefix does not tell, so it is listed every few seconds."""
    return 0 if isinstance(folder, ObjectPlace) else os.stat(folder).st_mtime_ns


class _NotOurs(Exception):
    """A file of the run is a link or a device: whatever it is, it was not written by a run."""


def _stamp(folder: RunFolder) -> _Stamp:
    """When the files that the list shows were written; a new manifest is a new run."""
    if isinstance(folder.path, ObjectPlace):
        there = folder.path.files()
        return tuple(
            (int(facts.st_mtime * 1e9), facts.st_size, 0) if facts is not None else None
            for facts in (there.get(folder.manifest.name), there.get(folder.state.name))
        )
    return tuple(_written(path) for path in (folder.manifest, folder.state))


def _written(path: Place) -> tuple[int, int, int] | None:
    try:
        facts = os.lstat(str(path))
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        raise _NotOurs
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _is_settled(known: _Known) -> bool:
    """Whether a run stays as it is while its files do."""
    if known.row.is_at_work:
        return False
    # It may be one whose writer died, and somebody takes it up: that shows in its owner first.
    return known.row.state != "interrupted" or known.folder.owner() is None


def _read(key: str, folder: RunFolder) -> RunRow:
    try:
        manifest, state = read_manifest(folder.manifest), folder.read_state()
    except (MlfsError, OSError) as error:  # one damaged run must not hide the others
        message = error.message if isinstance(error, MlfsError) else str(error)
        return _damaged(key, message)
    progress = state["progress"]
    return RunRow(
        run=key,
        state=state["state"],
        done=progress["done"],
        total=progress["total"],
        failed=_count(state.get("failed")),
        created=manifest["created"],
        updated=str(state.get("updated", "")),
        datasets=tuple(dataset["name"] for dataset in manifest["datasets"]),
        message=str(state["message"]) if state.get("message") else None,
    )


def _damaged(key: str, message: str) -> RunRow:
    return RunRow(
        run=key,
        state="damaged",
        done=0,
        total=0,
        failed=0,
        created="",
        updated="",
        datasets=(),
        message=message,
    )


def _with_pace(row: RunRow, track: Track) -> RunRow:
    return replace(
        row,
        failed=len(track.failed),
        incidents=len(track.incidents),
        seconds_left=track.left(row.done, row.total) if row.state == "running" else None,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a file name of another encoding: no address can hold it
        return False
    return True
