"""Files that a job names: found when it is read, kept in the run folder, known by their content.

A run copies them when it starts, so it can be taken up when the originals are gone or changed. What
counts for the job's digest is their sha256, not where they lie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import msgspec

from mlfs_dask.errors import MachineError, RunFolderError
from mlfs_dask.jobs.problems import Problems, shown
from mlfs_dask.jobs.rundir import write_bytes
from mlfs_dask.jobs.spec import STORE_COSTS, InputFile, Job
from mlfs_dask.storage.atomic import machine_faults
from mlfs_dask.storage.places import Place, place

COSTS: Final = "data.costs"
GROUPS: Final = "evaluate.split.column"
FILES: Final = (COSTS, GROUPS)
"""Keys that may name files."""
_KEPT_AS: Final = {COSTS: "costs.csv", GROUPS: "groups.csv"}
_EXPECTED: Final = {
    COSTS: "a table, 'store' or the path of a CSV file",
    GROUPS: "the path of a file with the group of each row",
}
CREDENTIALS: Final = (
    "an address with a user name, a password or a signature in it is not allowed, since job files "
    "and runs are kept and shown; give them by the environment"
)
_RESTORE: Final = "Restore the file, or start the job again with --force."


def find_files(
    clean: dict[str, Any], folder: Path, problems: Problems, said: Collection[str] = ()
) -> dict[str, InputFile]:
    """Find the files that a job names.

    Parameters
    ----------
    clean
        The job as plain values.
    folder
        Of the job file; relative paths start there.
    problems
        Takes files that are not there, and those that a job from elsewhere has no business with.
    said
        Keys that the user gave himself, beside the job file: such a file may lie anywhere. One that
        the job file names must lie in its folder, or a run, which keeps a copy, would carry off any
        file that its user may read.

    Returns
    -------
    dict
        Key that names a file -> the file.
    """
    costs = clean.get("data", {}).get("costs")
    split = (clean.get("evaluate") or {}).get("split", {})
    named = {COSTS: None if costs == STORE_COSTS else costs, GROUPS: split.get("column")}
    files = {}
    for key, name in named.items():
        if not isinstance(name, str):
            continue
        path = (folder / name).absolute()
        if has_credentials(name):
            problems.add(key, CREDENTIALS)
            continue
        if key not in said and not _lies_in(path, folder):
            problems.add(
                key,
                f"{shown(name)} lies outside {folder.absolute()}, the folder of the job file; put "
                f"it there, or give it yourself: --set {key}=PATH",
            )
            continue
        try:
            if path.exists() and not path.is_file():
                raise ValueError("not a file")
            files[key] = InputFile(path=str(path), sha256=_sha256(path.read_bytes()))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problems.wrong_value(key, name, f"{_EXPECTED[key]}; {path}: {reason}")
    return files


def has_credentials(address: str) -> bool:
    """Whether an address holds a user name, a password or a signature.

    Parameters
    ----------
    address
        A path or a URL.

    Examples
    --------
    >>> has_credentials("s3://me:secret@host/x"), has_credentials("s3://host/x?key=secret")
    (True, True)
    >>> has_credentials("s3://host/x"), has_credentials("some/path?")
    (False, False)
    """
    _, mark, rest = address.partition("://")
    return bool(mark) and bool({"@", "?", "#"} & set(rest))


def _lies_in(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, zero bytes
        return False


def keep_files(job: Job, folder: Place) -> Job:
    """Copy the files that a job names into its run folder, unless they are there already.

    Parameters
    ----------
    job
        Resolved job.
    folder
        Where the run keeps such files; made if need be.

    Returns
    -------
    Job
        The same job, which has the files there.

    Raises
    ------
    RunFolderError
        A file is gone or was changed since the job was read, or the run's copy was changed.
    MachineError
        The disk is full or refuses.
    """
    kept = kept_files(job, folder)
    for key, file in job.files.items():
        target = place(kept.files[key].path)
        if not target.is_file():
            content = check_file(file).read_bytes()
            with machine_faults("make the run folder", folder):
                folder.mkdir(parents=True, exist_ok=True)
            write_bytes(target, content)
        check_file(kept.files[key])
    return kept


def kept_files(job: Job, folder: Place) -> Job:
    """The job with its files where its run keeps them, wherever the run lies now.

    Parameters
    ----------
    job
        As read, or as it stands in the run folder.
    folder
        Where the run keeps such files.
    """
    kept = {
        key: InputFile(path=str((folder / _KEPT_AS[key]).absolute()), sha256=file.sha256)
        for key, file in job.files.items()
    }
    return msgspec.structs.replace(job, files=kept)


def check_file(file: InputFile) -> Place:
    """Place of a file, once it is sure to have the content it had when the job was read.

    Parameters
    ----------
    file
        Of a job.

    Raises
    ------
    RunFolderError
        It is gone or was changed.
    """
    path = place(file.path)
    try:
        same = _sha256(path.read_bytes()) == file.sha256
    except MachineError:
        raise
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror}", hint=_RESTORE, path=file.path) from error
    if not same:
        problem = f"{path} was changed since the job was read"
        raise RunFolderError(problem, hint=_RESTORE, path=file.path)
    return path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
