"""Who may write a run: a lease with a number that grows with every owner.

On one machine the lock file decides, since the system lifts it when its holder dies. Across
machines there is no such help: a coordinator that was cut off may go on for a while beside the one
that took its place. So each owner takes the next number by creating ``owners/<number>.json``, which
only one can do, and looks before each commit whether a higher number is there; it has lost the run
then, and stops. Its journal file was replaced by the new owner's, so a line that it writes in
between goes nowhere.

On object storage there is no lock at all, and of two that create one number at the same time one
is refused. Nor is there a file to be replaced: there the journal itself tells a late writer that it
is not alone (see `mlfs_dask.jobs.lines`).
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any, Self

from mlfs_dask.errors import BucketError, LeaseLostError, MachineError, RunFolderError
from mlfs_dask.jobs import lock
from mlfs_dask.storage.atomic import create_file, machine_faults, new_file, write_whole
from mlfs_dask.storage.claims import BEAT_SECONDS, is_gone, this_process
from mlfs_dask.storage.places import ObjectPlace, Place, names_in

_LOG = logging.getLogger(__name__)


class Lease:
    """A number among the owners of a run.

    Parameters
    ----------
    owners
        The folder ``owners`` of the run.
    number
        Taken by this process.
    before
        The owner before, as its file tells; empty if there was none.
    """

    def __init__(self, owners: Place, number: int, before: dict[str, Any]) -> None:
        self._before = before
        self._number = number
        self._file = _owner_file(owners, number)
        self._next = _owner_file(owners, number + 1)
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._heart.start()
        return self

    @property
    def cut_off(self) -> bool:
        """Whether the owner before did not leave of itself, and may still be writing."""
        return bool(self._before) and not self._before.get("left")

    @property
    def broken_off(self) -> str:
        """In words that the owner before did not leave of itself; empty if it did."""
        if not self.cut_off:
            return ""
        before, me = self._before, _me()
        return (
            f"process {before.get('pid')} on {before.get('host')} broke off without a word; "
            f"process {me['pid']} on {me['host']} took the run over"
        )

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._heart.join()
        try:
            self.check()
            _write(self._file, {**_me(), "left": True})
        except (LeaseLostError, BucketError, OSError):
            return  # the run is another's, or gone: there is nothing to leave

    def check(self) -> None:
        """Make sure that the run is still this process's.

        Raises
        ------
        LeaseLostError
            Another one took it, or it was removed.
        """
        if not self._is_last():
            run = self._file.parent.parent
            other = _read(self._next) or _last_owner(self._file.parent)
            if not other:
                raise LeaseLostError(
                    f"the run folder {run} was removed or moved while this process wrote it",
                    hint="Put it back and resume the run, or start the job again.",
                    path=str(run),
                )
            raise LeaseLostError(
                f"process {other.get('pid')} on {other.get('host')} has taken over this run",
                hint=f"`mlfs status {shlex.quote(str(run))}` follows it.",
                owner=other,
            )

    def _is_last(self) -> bool:
        if isinstance(self._file, ObjectPlace):
            return _last(self._file.parent) == self._number
        return self._file.exists() and not self._next.exists()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            try:
                if isinstance(self._file, ObjectPlace):
                    self._file.write_bytes(self._file.read_bytes())
                else:
                    os.utime(self._file)
            except FileNotFoundError:
                return  # `check` says what became of it
            except (
                BucketError,
                OSError,
            ) as error:  # a sign of life that fails is no reason to give no more
                _LOG.debug("%s: %s", self._file, error)


@contextmanager
def own(run: Place, lock_file: Place, *, chain: str = "") -> Iterator[Lease]:
    """Own a run while the block runs.

    Parameters
    ----------
    run
        Its folder.
    lock_file
        Its lock.
    chain
        Name of a series of owners of which only one is meant to live: each takes the run from the
        one before, which its scheduler knows to be lost.

    Raises
    ------
    RunFolderError
        Another process has it; the message says which.
    """
    with ExitStack() as stack:
        succeeds = chain and _last_owner(run / "owners").get("chain") == chain
        if isinstance(lock_file, ObjectPlace):
            facts = {**this_process(), "token": secrets.token_hex(8), "chain": chain}
        else:
            locked = True
            try:
                stack.enter_context(lock.hold(lock_file))
            except RunFolderError:
                if not succeeds:
                    raise
                locked = False
            facts = {**_me(), "locked": locked, "chain": chain}
        yield stack.enter_context(_claim(run, facts, alone=not succeeds))


@contextmanager
def alone(run: Place, lock_file: Place) -> Iterator[None]:
    """Keep others from writing a run for a moment.

    Parameters
    ----------
    run
        Its folder.
    lock_file
        Its lock.

    Raises
    ------
    RunFolderError
        Another process has it.
    """
    if isinstance(lock_file, ObjectPlace):
        with own(run, lock_file):
            yield
        return
    with lock.hold(lock_file):
        yield


def next_number(run: Place) -> int:
    """Number that the next owner of a run will have.

    Parameters
    ----------
    run
        Its folder.
    """
    return _last(run / "owners") + 1


def is_awaited(run: Place) -> bool:
    """Whether a run's last owner was lost, and is of a chain that goes on where its cluster lives.

    Parameters
    ----------
    run
        Its folder.
    """
    last = _last_owner(run / "owners")
    return bool(last.get("chain")) and not last.get("left")


def holder(run: Place, lock_file: Place) -> dict[str, Any] | None:
    """Who owns a run: ``host``, ``pid``, ``since``; None if nobody does.

    Parameters
    ----------
    run
        Its folder.
    lock_file
        Its lock.
    """
    held = None if isinstance(lock_file, ObjectPlace) else lock.holder(lock_file)
    return held or _living_owner(run / "owners")


def refuse_owned(run: Place, lock_file: Place) -> None:
    """Raise if some process owns a run.

    Parameters
    ----------
    run
        Its folder.
    lock_file
        Its lock.

    Raises
    ------
    RunFolderError
        Says which process.
    """
    owner = holder(run, lock_file)
    if owner is not None:
        raise lock.held_by(run, owner)


def _refuse_living(run: Place, last: int) -> None:
    owner = _living(run / "owners", last)
    if owner is not None:
        raise lock.held_by(run, owner)


def _living_owner(owners: Place) -> dict[str, Any] | None:
    """The last owner, unless it left or died."""
    return _living(owners, _last(owners))


def _living(owners: Place, number: int) -> dict[str, Any] | None:
    """The owner of a number, unless it left or died."""
    owner = _read(_owner_file(owners, number)) if number else {}
    if not owner or owner.get("left"):
        return None
    if owner.get("locked") and owner.get("host") == socket.gethostname():
        return None  # the lock decides on one machine, and nobody holds it
    try:
        modified = _owner_file(owners, number).stat().st_mtime
    except FileNotFoundError:
        return None
    return None if is_gone(owner, modified) else owner


def _last_owner(owners: Place) -> dict[str, Any]:
    number = _last(owners)
    return _read(_owner_file(owners, number)) if number else {}


def _claim(run: Place, facts: dict[str, Any], *, alone: bool) -> Lease:
    owners = run / "owners"
    with machine_faults("own the run", owners):
        owners.mkdir(exist_ok=True)
    while True:
        last = _last(owners)
        if alone:
            _refuse_living(run, last)
        before = (_read(_owner_file(owners, last)) or {"pid": None}) if last else {}
        mine = _owner_file(owners, last + 1)
        with machine_faults("own the run", mine):
            try:
                create_file(mine, json.dumps(facts).encode())
            except FileExistsError:
                continue  # somebody was faster; the next number is after theirs
            for number in _numbers(owners):
                if number < last:  # the one before stays: it must see that it is not last
                    _owner_file(owners, number).unlink(missing_ok=True)
        return Lease(owners, last + 1, before)


def _last(owners: Place) -> int:
    return max(_numbers(owners), default=0)


def _numbers(owners: Place) -> list[int]:
    try:
        names = names_in(owners)
    except (FileNotFoundError, NotADirectoryError):  # no owner yet, or the run is being removed
        return []
    stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    return [int(stem) for stem in stems if stem.isdigit()]


def _owner_file(owners: Place, number: int) -> Place:
    return owners / f"{number:08d}.json"


def _read(file: Place) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (BucketError, MachineError):
        raise
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Place, owner: dict[str, Any]) -> None:
    with new_file(file) as partial:
        write_whole(partial, json.dumps(owner).encode())


def _me() -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": now}
