"""A store sent to object storage: built on this machine, put object by object, ``complete`` last.

A writer claims the store first, by the next number in ``.NAME.zarr.writers/`` beside it; what an
interrupted one left is known by its claim and replaced. An old store is taken away by deleting its
marker before anything else, so what lies there is whole or cannot be opened.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from mlfs_dask.errors import BucketError, InputError, MachineError, StoreError
from mlfs_dask.storage.atomic import remove
from mlfs_dask.storage.claims import BEAT_SECONDS, is_gone, this_process
from mlfs_dask.storage.layout import COMPLETE
from mlfs_dask.storage.places import ObjectPlace

_AT_A_TIME: Final = 8


def is_unfinished(dest: ObjectPlace) -> bool:
    """Whether what lies at an address was left by a writer of stores that was interrupted.

    Parameters
    ----------
    dest
        Address of a store.
    """
    return not (dest / COMPLETE).is_file() and _writers(dest).is_dir()


@contextmanager
def writing(dest: ObjectPlace) -> Iterator[Callable[[Path], None]]:
    """Be the one writer of a store while the block runs; gives the function that sends its files.

    Parameters
    ----------
    dest
        Address of the store, or of a block of one.

    Raises
    ------
    StoreError
        Another process writes it.
    """
    with claimed(dest) as claim:
        yield lambda folder: _send(folder, dest, claim)


@contextmanager
def claimed(dest: ObjectPlace) -> Iterator[_Claim]:
    """Be the one writer of what lies at an address while the block runs; gives the claim.

    Parameters
    ----------
    dest
        Address of the store.

    Raises
    ------
    StoreError
        Another process writes it.
    """
    mine, content = _claim(dest)
    claim = _Claim(mine, content)
    try:
        yield claim
        claim.give_up()
    except InputError:  # what a caller refused, before anything was sent
        claim.give_up()
        raise
    finally:
        claim.stop()


class _Claim:
    """A claim that gives signs of life until it is given up.

    Parameters
    ----------
    place
        The object.
    content
        What it holds.
    """

    def __init__(self, place: ObjectPlace, content: bytes) -> None:
        self.place = place
        self._content = content
        self._ended = threading.Event()
        self._beating = threading.Lock()  # so that no sign is given after it was given up
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def give_up(self) -> None:
        """Delete it, and those before it."""
        with self._beating:
            self._ended.set()
            for claim in self.place.parent.iterdir():
                if claim.stem.isdigit() and claim.name <= self.place.name:
                    claim.unlink()

    def stop(self) -> None:
        """Give no more signs."""
        self._ended.set()
        self._heart.join()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            # What is wrong is said by the sending itself.
            with self._beating, suppress(BucketError, MachineError):
                if not self._ended.is_set() and self.place.is_file():
                    self.place.write_bytes(self._content)


def _send(folder: Path, dest: ObjectPlace, claim: _Claim) -> None:
    """Put all files of a store, the marker last."""
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    files.remove(COMPLETE)
    (dest / COMPLETE).unlink()
    try:
        _upload(folder, dest, files)
        wanted = {dest / name for name in files}
        for old in dest.rglob("*"):
            if old not in wanted:
                old.unlink()
        _refuse_taken(dest, claim.place)
        (dest / COMPLETE).upload(folder / COMPLETE)
    except BaseException:
        # As far as the server lets us: without its marker nobody opens it, and who writes it
        # again clears it away.
        with suppress(BucketError, MachineError):
            if _last(claim.place.parent) == claim.place:
                remove(dest)
                claim.give_up()
        raise


def _upload(folder: Path, dest: ObjectPlace, files: list[str]) -> None:
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        puts = [pool.submit((dest / name).upload, folder / name) for name in files]
        try:
            for put in puts:
                put.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _claim(dest: ObjectPlace) -> tuple[ObjectPlace, bytes]:
    writers = _writers(dest)
    last = _last(writers)
    if last is not None:
        _refuse_living(dest, last)
    number = 1 if last is None else int(last.stem) + 1
    mine = writers / f"{number:08d}.json"
    content = json.dumps({**this_process(), "token": secrets.token_hex(8)}).encode()
    try:
        mine.create(content)
    except FileExistsError:
        _refuse_living(dest, mine)
        raise _being_written(dest, {}) from None
    return mine, content


def _refuse_living(dest: ObjectPlace, claim: ObjectPlace) -> None:
    try:
        writer: dict[str, Any] = json.loads(claim.read_bytes())
        modified = claim.stat().st_mtime
    except (FileNotFoundError, ValueError):
        return
    if not is_gone(writer, modified):
        raise _being_written(dest, writer)


def _refuse_taken(dest: ObjectPlace, mine: ObjectPlace) -> None:
    last = _last(mine.parent)
    if last != mine:
        raise _being_written(dest, {} if last is None else json.loads(last.read_bytes()))


def _being_written(dest: ObjectPlace, writer: dict[str, Any]) -> StoreError:
    who = f"process {writer['pid']} on {writer['host']}" if writer else "another process"
    return StoreError(
        f"{dest} is being written by {who}",
        hint="Wait for it, or give another name. One that was killed is forgotten within a minute.",
        path=str(dest),
        writer=writer,
    )


def _writers(dest: ObjectPlace) -> ObjectPlace:
    return dest.with_name(f".{dest.name}.writers")


def _last(writers: ObjectPlace) -> ObjectPlace | None:
    return max((each for each in writers.iterdir() if each.stem.isdigit()), default=None)
