"""Write beside, then rename: a name without a dot in front is always whole.

A writer works under ``.NAME.partial-PID-TOKEN`` next to its target and renames at the end, so a
process killed at any moment leaves either the old target, or none, or the new one. What dead
processes left is removed by the next writer in the same folder.

On object storage an object is whole as soon as it is there, so it is written under its own name.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from mlfs_dask.errors import MachineError, MlfsError, NotFoundError, StoreError
from mlfs_dask.storage.places import ObjectPlace, Place

_PARTIAL = re.compile(r"\.(?P<name>.+)\.(?P<role>partial|replaced)-(?P<pid>\d+)-[0-9a-f]{8}")
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_PAUSES: Final = (0.01, 0.1, 0.5, 2.0)
_PASSING: Final = (errno.EIO, errno.EAGAIN, errno.EBUSY, errno.ESTALE, errno.ETIMEDOUT)
T = TypeVar("T")


def patiently(action: Callable[[], T]) -> T:
    """Do something to a disk; again, after a pause, where it refused for a reason that may pass.

    Disks that are reached by a network do that. A flush that is tried again may have lost what the
    first one failed to write, should the power go too: checksums in what is written show that.

    Parameters
    ----------
    action
        What to do; it has done nothing when it raises.

    Examples
    --------
    >>> patiently(lambda: "written")
    'written'
    """
    for pause in _PAUSES:
        try:
            return action()
        except OSError as error:
            if error.errno not in _PASSING:
                raise
        time.sleep(pause)
    return action()


class PatientFile(io.FileIO):
    """A file without a buffer whose writes are tried again; see `patiently`."""

    def write(self, data: Any, /) -> int:
        """Write some of the data and say how much."""
        return patiently(lambda: super(PatientFile, self).write(data))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, patiently; it is not synced.

    Parameters
    ----------
    path
        The file; replaced.
    data
        Its content.
    """
    with io.BufferedWriter(PatientFile(path, "wb")) as file:
        file.write(data)


def partial_path(target: Path, role: str = "partial") -> Path:
    """Fresh name beside a target, for work that is not finished.

    Parameters
    ----------
    target
        What the work will become.
    role
        ``"partial"`` for new work, ``"replaced"`` for an old target on its way out.
    """
    return target.with_name(f".{target.name}.{role}-{os.getpid()}-{secrets.token_hex(4)}")


def clean_leftovers(folder: Path) -> list[str]:
    """Remove what dead writers left in a folder; put back what they had moved away.

    Parameters
    ----------
    folder
        Where stores lie.

    Returns
    -------
    list of str
        Names of the targets whose leftovers were handled.
    """
    handled = []
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = _PARTIAL.fullmatch(entry.name)
        if match is None or _is_alive(int(match["pid"])):
            continue
        target = folder / match["name"]
        if match["role"] == "replaced" and not target.exists():
            entry.rename(target)
        else:
            remove(entry)
        handled.append(match["name"])
    return handled


def publish_folder(partial: Path, target: Path, *, overwrite: bool) -> None:
    """Give a finished folder its name, in one step where the system can.

    Parameters
    ----------
    partial
        Finished folder, synced.
    target
        Its final name.
    overwrite
        Replace an existing target.

    Raises
    ------
    StoreError
        The target exists and `overwrite` is false.
    """
    if not target.exists():
        try:
            partial.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        else:
            sync_folder(target.parent)
            return
    if not overwrite:
        raise StoreError(
            f"{target} exists already", hint="Give --force to replace it.", path=str(target)
        )
    if not _exchange(partial, target):
        old = partial_path(target, "replaced")
        target.rename(old)
        partial.rename(target)
        partial = old
    sync_folder(target.parent)
    remove(partial)


@contextmanager
def new_file(target: Place, *, overwrite: bool = True) -> Iterator[Path]:
    """Path to write to; renamed to the target when the block ends well, removed if not.

    Parameters
    ----------
    target
        Final name, or the address that the content is sent to.
    overwrite
        Replace an existing file.

    Raises
    ------
    StoreError
        The target exists and `overwrite` is false, or is a folder.
    """
    if target.is_dir() or (target.exists() and not overwrite):
        raise StoreError(
            f"{target} exists already",
            hint="Give --force to replace it, or another name." if target.is_file() else None,
            path=str(target),
        )
    if isinstance(target, ObjectPlace):
        with tempfile.TemporaryDirectory(prefix="mlfs-") as folder:
            yield Path(folder, "content")
            target.upload(Path(folder, "content"))
        return
    partial = partial_path(target)
    try:
        yield partial
        sync_file(partial)
        patiently(lambda: partial.replace(target))
        sync_folder(target.parent)
    except BaseException:
        remove(partial)
        raise


def create_file(target: Place, content: bytes) -> None:
    """Write a file that is not there yet; of several writers one succeeds.

    Parameters
    ----------
    target
        Its place.
    content
        Bytes that no other writer would write.

    Raises
    ------
    FileExistsError
        It is there.
    """
    if isinstance(target, ObjectPlace):
        target.create(content)
        return
    with PatientFile(target, "xb") as file:
        file.write(content)


@contextmanager
def machine_faults(doing: str, path: Place) -> Iterator[None]:
    """Turn the system's errors on writing into `MachineError` with what was being done.

    Parameters
    ----------
    doing
        For example ``"write the store"``.
    path
        Target, for the message.
    """
    try:
        yield
    except MlfsError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        hints = {
            errno.ENOSPC: "Free some disk space or write to another disk; nothing was left behind.",
            errno.EDQUOT: "The disk quota is used up; nothing was left behind.",
            errno.EACCES: "Choose a folder that you may write to.",
            errno.EPERM: "Choose a folder that you may write to.",
            errno.EROFS: "Choose a folder on a disk that can be written to.",
        }
        raise MachineError(
            f"cannot {doing} {path}: {reason}",
            hint=hints.get(error.errno or 0),
            path=str(path),
            errno=error.errno,
        ) from error


def make_parent(target: Place) -> None:
    """Make the folder that a target goes into; object storage has none.

    Parameters
    ----------
    target
        File or folder to be written.

    Raises
    ------
    NotFoundError
        Some part of the path is a file.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotFoundError(
            f"{target.parent} cannot be a folder: a part of this path is a file",
            hint="Give another place to write to.",
            path=str(target),
        ) from error


@contextmanager
def fetched(source: Place) -> Iterator[Path]:
    """Path of a file to be read: itself, or a copy of an object while the block runs.

    Parameters
    ----------
    source
        The file.
    """
    if isinstance(source, ObjectPlace):
        with tempfile.TemporaryDirectory(prefix="mlfs-") as folder:
            copy = Path(folder, source.name)
            copy.write_bytes(source.read_bytes())
            yield copy
        return
    yield source


def sync_tree(folder: Path) -> None:
    """Flush all files and folders below a folder to the disk.

    Parameters
    ----------
    folder
        Root of the tree.
    """
    for parent, _, files in os.walk(folder, topdown=False):
        for file in files:
            sync_file(Path(parent, file))
        sync_folder(Path(parent))


def sync_file(path: Path) -> None:
    """Flush one file to the disk.

    Parameters
    ----------
    path
        The file.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        patiently(lambda: os.fsync(handle))
    finally:
        os.close(handle)


sync_folder = sync_file
"""Flush the names in one folder to the disk."""


def remove(path: Place) -> None:
    """Remove a file or a tree if it is there.

    Parameters
    ----------
    path
        What to remove.
    """
    if isinstance(path, ObjectPlace):
        for each in (path, *path.rglob("*")):
            each.unlink()
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically; false where the system cannot (not Linux, some file systems)."""
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    code: int = renameat2(
        _AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE
    )
    return code == 0
