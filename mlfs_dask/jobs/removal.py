"""Runs taken away: a run is there whole, or it is not there.

A run is renamed to a hidden name beside its own while its lock is held, and then no longer seen.
What an interrupted removal leaves under such a name is deleted by the next one.

On object storage nothing can be renamed: an object ``.removed-RUN`` beside the run says that it is
on its way out, the manifest goes first, so that the run is no longer seen, and the mark last.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mlfs_dask.errors import BucketError, MachineError, NotFoundError, RunFolderError
from mlfs_dask.jobs import lease, lock
from mlfs_dask.jobs.rundir import RunFolder, find_run, runs_folder
from mlfs_dask.storage.atomic import machine_faults, remove, sync_folder
from mlfs_dask.storage.places import ObjectPlace, Place, place

_LOG = logging.getLogger(__name__)
_REMOVED: Final = re.compile(r"\.removed-\d+-[0-9a-f]{8}")
_TRACES: Final = (
    "job.toml",
    "resolved.json",
    "manifest.json",
    "datasets.json",
    "journal.jsonl",
    "state.json",
    "units",
)
_ENOUGH_TRACES: Final = 3
_MARK: Final = ".removed-"


def remove_runs(
    names: Sequence[str | Place], runs: Place | None = None, *, force: bool = False
) -> list[RunFolder]:
    """Delete runs, damaged ones too; all names are checked before anything is deleted.

    Parameters
    ----------
    names
        As typed: ids, unique beginnings, or paths.
    runs
        Folder of all runs; default `runs_folder`.
    force
        Pass over names that no run has.

    Returns
    -------
    list of RunFolder
        The runs that were there, each once.

    Raises
    ------
    NotFoundError
        No run has such a name, or several have.
    RunFolderError
        A folder that is no run's, a symbolic link, or a run that a process writes.
    MachineError
        The system refuses.
    """
    runs = runs or runs_folder()
    clear_leftovers(runs)
    found = []
    for name in names:
        try:
            found.append(_resolve(name, runs))
        except NotFoundError as error:
            if not force or error.facts.get("candidates"):
                raise
            _LOG.info("%s", error.message)
    folders = list({str(folder.path.resolve()): folder for folder in found}.values())
    for folder in folders:
        lease.refuse_owned(folder.path, folder.lock)
    for folder in folders:
        _remove(folder)
    return folders


def clear_leftovers(runs: Place) -> int:
    """Delete what interrupted removals left behind, as far as the system lets us.

    Parameters
    ----------
    runs
        Folder of all runs.

    Returns
    -------
    int
        How many there were.
    """
    if isinstance(runs, ObjectPlace):
        return _clear_marked(runs)
    count = 0
    for entry in sorted(runs.iterdir()) if runs.is_dir() else ():
        if not _REMOVED.fullmatch(entry.name) or entry.is_symlink():
            continue
        try:
            _delete(entry)
        except OSError as error:  # hidden, it only takes room: no reason to fail
            _LOG.debug("cannot delete %s, left by an interrupted removal: %s", entry, error)
        else:
            count += 1
    return count


def _resolve(name: str | Place, runs: Place) -> RunFolder:
    """The run that is meant; unlike `find_run` also one that lost its manifest."""
    try:
        folder = find_run(name, runs)
    except NotFoundError:
        damaged = _damaged(name, runs)
        if damaged is None:
            raise
        folder = damaged
    if folder.path.name in ("", ".."):
        folder = RunFolder(folder.path.resolve())
    if folder.path.is_symlink():
        raise RunFolderError(
            f"{folder.path} is a symbolic link to {folder.path.resolve()}: it will not be followed",
            hint="Give the path of the run itself; a link is removed with rm.",
            path=str(folder.path),
        )
    if not _is_run(folder):
        raise RunFolderError(
            f"{folder.path} is not the folder of a run: nothing was removed",
            hint="`mlfs list` shows the runs.",
            path=str(folder.path),
        )
    return folder


def _damaged(name: str | Place, runs: Place) -> RunFolder | None:
    places = [place(name)]
    if len(Path(str(name)).parts) == 1 and Path(str(name)).name:
        places.append(runs / str(name))
    return next((RunFolder(path) for path in places if _is_dir(path) and str(name)), None)


def _is_dir(path: Place) -> bool:
    return path.is_dir() if isinstance(path, ObjectPlace) else os.path.isdir(path)


def _is_run(folder: RunFolder) -> bool:
    """Whether a run made this folder; other programs have files named manifest.json too."""
    try:
        manifest = json.loads(folder.manifest.read_bytes())
    except (BucketError, MachineError):
        raise
    except (OSError, ValueError):
        manifest = None
    if isinstance(manifest, dict) and {"run", "job_digest", "datasets"} <= manifest.keys():
        return True
    try:
        found = {path.name for path in folder.path.iterdir()}
    except FileNotFoundError:  # somebody else removes it just now
        return False
    return len(found.intersection((*_TRACES, folder.journal.name))) >= _ENOUGH_TRACES


def _remove(folder: RunFolder) -> None:
    if isinstance(folder.path, ObjectPlace):
        return _remove_objects(folder.path, folder)
    hidden = folder.path.with_name(f".removed-{os.getpid()}-{secrets.token_hex(4)}")
    with _claimed(folder), machine_faults("remove the run", folder.path):
        folder.path.rename(hidden)
        sync_folder(hidden.parent)
        with machine_faults("delete the files of the removed run", hidden):
            _delete(hidden)


def _remove_objects(path: ObjectPlace, folder: RunFolder) -> None:
    with lease.own(path, folder.lock):
        _mark_of(path).touch()
        folder.manifest.unlink()
    _finish(path)


def _clear_marked(runs: ObjectPlace) -> int:
    names = [each.name for each in runs.iterdir() if each.name.startswith(_MARK)]
    for name in names:
        _finish(runs / name.removeprefix(_MARK))
    return len(names)


def _finish(path: ObjectPlace) -> None:
    remove(path)
    _mark_of(path).unlink()


def _mark_of(path: ObjectPlace) -> ObjectPlace:
    return path.with_name(f"{_MARK}{path.name}")


@contextmanager
def _claimed(folder: RunFolder) -> Iterator[None]:
    """Hold the lock of a run; one that is no plain file was put there by no run and locks none."""
    assert isinstance(folder.lock, Path)
    if folder.lock.is_symlink() or (folder.lock.exists() and not folder.lock.is_file()):
        yield
        return
    with lock.hold(folder.lock):
        yield


def _delete(path: Path) -> None:
    while path.exists():
        try:
            shutil.rmtree(path)
        except FileNotFoundError:  # somebody else is deleting it too
            continue
