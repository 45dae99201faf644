"""Who may write a run: a lease with a number that grows with every owner.

On one machine the lock file decides, since the system lifts it when its holder dies. Across
machines there is no such help: a coordinator that was cut off may go on for a while beside the one
that took its place. So each owner takes the next number by creating ``owners/<number>.json``, which
only one can do, and looks before each commit whether a higher number is there; it has lost the run
then, and stops. Its journal file was replaced by the new owner's, so a line that it writes in
between goes nowhere.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from mlfs_dask.errors import LeaseLostError, RunFolderError
from mlfs_dask.jobs import lock
from mlfs_dask.storage.atomic import PatientFile, machine_faults, new_file, write_whole

_LOG = logging.getLogger(__name__)
BEAT_SECONDS: Final = 5.0
STALE_SECONDS: Final = 30.0
"""An owner on another machine that gave no sign for so long is taken for dead."""


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

    def __init__(self, owners: Path, number: int, before: dict[str, Any]) -> None:
        self._before = before
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
        except (LeaseLostError, OSError):
            return  # the run is another's, or gone: there is nothing to leave

    def check(self) -> None:
        """Make sure that the run is still this process's.

        Raises
        ------
        LeaseLostError
            Another one took it, or it was removed.
        """
        if self._next.exists() or not self._file.exists():
            other = _read(self._next)
            raise LeaseLostError(
                f"process {other.get('pid')} on {other.get('host')} has taken over this run",
                hint=f"`mlfs status {self._file.parents[1].name}` follows it.",
                owner=other,
            )

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            try:
                os.utime(self._file)
            except FileNotFoundError:
                return  # `check` says what became of it
            except OSError as error:  # a sign of life that fails is no reason to give no more
                _LOG.debug("%s: %s", self._file, error)


@contextmanager
def own(run: Path, lock_file: Path, *, chain: str = "") -> Iterator[Lease]:
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
        locked = True
        try:
            stack.enter_context(lock.hold(lock_file))
        except RunFolderError:
            if not succeeds:
                raise
            locked = False
        if not succeeds:
            _refuse_living(run)
        facts = {"locked": locked, "chain": chain}
        yield stack.enter_context(_claim(run / "owners", facts))


def next_number(run: Path) -> int:
    """Number that the next owner of a run will have.

    Parameters
    ----------
    run
        Its folder.
    """
    return _last(run / "owners") + 1


def holder(run: Path, lock_file: Path) -> dict[str, Any] | None:
    """Who owns a run: ``host``, ``pid``, ``since``; None if nobody does.

    Parameters
    ----------
    run
        Its folder.
    lock_file
        Its lock.
    """
    return lock.holder(lock_file) or _living_owner(run / "owners")


def refuse_owned(run: Path, lock_file: Path) -> None:
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
        raise lock.held_by(run.name, owner)


def _refuse_living(run: Path) -> None:
    owner = _living_owner(run / "owners")
    if owner is not None:
        raise lock.held_by(run.name, owner)


def _living_owner(owners: Path) -> dict[str, Any] | None:
    """The last owner, unless it left or died."""
    number, owner = _last(owners), _last_owner(owners)
    if not owner or owner.get("left"):
        return None
    if owner.get("locked") and owner.get("host") == socket.gethostname():
        return None  # the lock decides on one machine, and nobody holds it
    try:
        silent = time.time() - _owner_file(owners, number).stat().st_mtime
    except FileNotFoundError:
        return None
    return owner if silent < STALE_SECONDS else None


def _last_owner(owners: Path) -> dict[str, Any]:
    number = _last(owners)
    return _read(_owner_file(owners, number)) if number else {}


def _claim(owners: Path, facts: dict[str, Any]) -> Lease:
    with machine_faults("own the run", owners):
        owners.mkdir(exist_ok=True)
    while True:
        last = _last(owners)
        before = (_read(_owner_file(owners, last)) or {"pid": None}) if last else {}
        mine = _owner_file(owners, last + 1)
        with machine_faults("own the run", mine):
            try:
                with PatientFile(mine, "xb") as file:
                    file.write(json.dumps({**_me(), **facts}).encode())
            except FileExistsError:
                continue  # somebody was faster; the next number is after theirs
            for number in range(1, last):  # the one before stays: it must see that it is not last
                _owner_file(owners, number).unlink(missing_ok=True)
        return Lease(owners, last + 1, before)


def _last(owners: Path) -> int:
    try:
        names = os.listdir(owners)
    except (FileNotFoundError, NotADirectoryError):  # no owner yet, or the run is being removed
        return 0
    stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    return max((int(stem) for stem in stems if stem.isdigit()), default=0)


def _owner_file(owners: Path, number: int) -> Path:
    return owners / f"{number:08d}.json"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, owner: dict[str, Any]) -> None:
    with new_file(file) as partial:
        write_whole(partial, json.dumps(owner).encode())


def _me() -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": now}
