"""The run folder: what lies where, written whole or not at all.

::

    RUNS/<run-id>/
      job.toml  resolved.json  manifest.json      what was asked, on which data, with which versions
      datasets.json                               names of features and labels, planted truth
      inputs/                                     copies of the files that the job names
      journal.jsonl                               what happened; the truth
      units/<unit-id>.json                        result of each finished unit
      results.json  evaluation.csv  timings.json  put together at the end
      tests.json                                  tests of significance, if the job has [compare]
      report.html  log.txt  state.json  lock
      cancel                                      there while somebody wants the run to stop
      owners/<number>.json                        who wrote the run, the last one and the one before
      handed/                                     what is too large to travel with a task
      reserve                                     room for last words, should the disk be full

On object storage ``journal/`` and ``log/`` hold what is appended, as objects 00000001, 00000002,
... that are written once, and there is no lock: see `mlfs_dask.jobs.lease`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from mlfs_dask.errors import NotFoundError, RunFolderError
from mlfs_dask.jobs import lease
from mlfs_dask.storage.atomic import (
    PatientFile,
    machine_faults,
    new_file,
    partial_path,
    patiently,
    remove,
    write_whole,
)
from mlfs_dask.storage.places import ObjectPlace, Place, each_at_once, place

FORMAT: Final = 1
_NAME_SHOWN: Final = 100
_RESERVED: Final = 64 * 2**10
CHANGED: Final = "The file was changed. Restore it from a copy, or run the job with --force."
State: TypeAlias = Literal[
    "queued", "running", "done", "partial", "failed", "cancelled", "interrupted"
]


class _Progress(msgspec.Struct):
    done: int
    total: int


class _State(msgspec.Struct):
    """What ``state.json`` must hold."""

    state: State
    progress: _Progress
    outputs: dict[str, str] = {}


class RunFolder:
    """Paths of one run, and reading and writing its small files.

    Parameters
    ----------
    path
        The folder, or an address; need not exist yet.
    """

    def __init__(self, path: Place) -> None:
        self.path = path
        self.job = path / "job.toml"
        self.resolved = path / "resolved.json"
        self.manifest = path / "manifest.json"
        self.datasets = path / "datasets.json"
        self.inputs = path / "inputs"
        grown = isinstance(path, ObjectPlace)
        self.journal = path / ("journal" if grown else "journal.jsonl")
        self.units = path / "units"
        self.results = path / "results.json"
        self.evaluation = path / "evaluation.csv"
        self.tests = path / "tests.json"
        self.timings = path / "timings.json"
        self.report = path / "report.html"
        self.log = path / ("log" if grown else "log.txt")
        self.state = path / "state.json"
        self.lock = path / "lock"
        self.cancel = path / "cancel"
        self.reserve = path / "reserve"

    @property
    def id(self) -> str:
        """Id of the run."""
        return self.path.name

    @property
    def exists(self) -> bool:
        """Whether a run was started here; the manifest is written last."""
        if isinstance(self.manifest, ObjectPlace):
            return self.manifest.is_file()
        return os.path.isfile(self.manifest)  # false too where it may not be looked at

    def owner(self) -> dict[str, Any] | None:
        """Which process writes the run: ``host``, ``pid``, ``since``; None if none does."""
        return lease.holder(self.path, self.lock)

    def unit_file(self, unit_id: str) -> Place:
        """Where the result of a unit lies.

        Parameters
        ----------
        unit_id
            Id of the unit.
        """
        return self.units / f"{unit_id}.json"

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Keep some room on the disk while the block runs; `last_words` gives it back.

        Object storage is not full in this sense: there is nothing to keep.

        Raises
        ------
        MachineError
            The disk is full or refuses.
        """
        if isinstance(self.reserve, Path):
            with machine_faults("make room", self.reserve):
                write_whole(self.reserve, bytes(_RESERVED))
        try:
            yield
        finally:
            self.last_words()

    def last_words(self) -> None:
        """Give back the room that was kept, for what must be written yet."""
        if isinstance(self.reserve, Path):
            remove(self.reserve)

    def write_unit(self, unit_id: str, payload: bytes) -> Place:
        """Put the result of a unit in place, whole; the journal syncs it.

        Parameters
        ----------
        unit_id
            Id of the unit.
        payload
            JSON.

        Raises
        ------
        MachineError
            The disk is full or refuses.
        """
        target = self.unit_file(unit_id)
        if isinstance(target, ObjectPlace):
            target.write_bytes(payload)
            return target
        with machine_faults("write the result", target):
            partial = partial_path(target)
            try:
                write_whole(partial, payload)
                patiently(lambda: partial.replace(target))
            except BaseException:
                remove(partial)
                raise
        return target

    def write_state(self, state: State, *, done: int, total: int, **facts: Any) -> None:
        """Say how far the run is.

        Parameters
        ----------
        state
            State.
        done, total
            Finished units and all units.
        **facts
            Anything else worth knowing, plain values.
        """
        document = {
            "format": FORMAT,
            "run": self.id,
            "state": state,
            "progress": {"done": done, "total": total},
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            **facts,
        }
        write_json(self.state, document)

    def read_state(self) -> dict[str, Any]:
        """State of the run; a run that says it is running but whose writer is gone is interrupted.

        Raises
        ------
        RunFolderError
            The file is damaged.
        """
        unsaid = {"run": self.id, "state": "interrupted", "progress": {"done": 0, "total": 0}}
        if isinstance(self.state, Path) and not self.state.is_file():
            return unsaid
        try:
            document: dict[str, Any] = read_json(self.state)
        except NotFoundError:
            return unsaid
        try:
            msgspec.convert(document, _State)
        except msgspec.ValidationError as error:
            raise RunFolderError(f"{self.state}: {error}", hint=CHANGED) from error
        if document["state"] == "running" and self.owner() is None:
            document["state"] = "interrupted"
            # Its writer died between two writes of this file: the units say how far it came.
            document["progress"]["done"] = sum(1 for _ in self.units.glob("*.json"))
        return document


def write_bytes(path: Place, data: bytes) -> None:
    """Write a file beside its name, sync it, rename it.

    Parameters
    ----------
    path
        Target.
    data
        Its content.

    Raises
    ------
    MachineError
        The disk is full or refuses.
    """
    write_parts(path, [data])


def write_parts(path: Place, parts: Iterable[bytes]) -> None:
    """Write a file like `write_bytes`, from parts that need not fit in memory together.

    Parameters
    ----------
    path
        Target.
    parts
        Its content, in order.

    Raises
    ------
    MachineError
        The disk is full or refuses.
    """
    with (
        machine_faults("write", path),
        new_file(path) as partial,
        io.BufferedWriter(PatientFile(partial, "wb")) as file,
    ):
        file.writelines(parts)


def write_json(path: Place, document: Any) -> None:
    """Write a document as indented JSON, whole or not at all.

    Parameters
    ----------
    path
        Target.
    document
        Plain values, no NaN.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(path, text.encode() + b"\n")


def read_json(path: Place) -> Any:
    """Read one of the run's JSON files.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    NotFoundError
        It is missing.
    RunFolderError
        It is not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise NotFoundError(
            f"{path} is missing",
            hint="The run has not come that far, or this is no run folder: see `mlfs list`.",
            path=str(path),
        ) from None
    except ValueError as error:
        raise RunFolderError(
            f"{path}: not JSON: {error}",
            hint=CHANGED,
            path=str(path),
        ) from error


def file_sha256(path: Place) -> str:
    """sha256 of a file, in hexadecimal.

    Parameters
    ----------
    path
        The file.
    """
    if isinstance(path, ObjectPlace):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def runs_folder() -> Place:
    """Folder of all runs, or an address: ``$MLFS_RUNS``, else ``./runs``."""
    return place(os.environ.get("MLFS_RUNS") or "runs")


def find_run(name: str | Place, runs: Place | None = None) -> RunFolder:
    """The run a user means: a path, an address, an id, or a unique beginning of one.

    Parameters
    ----------
    name
        As typed.
    runs
        Folder of all runs; default `runs_folder`.

    Raises
    ------
    NotFoundError
        None, or several.
    """
    direct = RunFolder(place(name))
    if direct.exists:
        return direct
    runs = runs or runs_folder()
    known = all_runs(runs)
    exact = [run for run in known if run.id == str(name)]
    found = exact or [run for run in known if str(name) and run.id.startswith(str(name))]
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} runs begin with" if found else "no run is named"
    names = ", ".join(run.id for run in (found or known)[:8])
    raise NotFoundError(
        f"{problem} {str(name)[:_NAME_SHOWN]!r} in {runs}",
        hint=f"There are: {names}." if names else "There is no run yet: `mlfs run JOB` starts one.",
        name=str(name),
        candidates=[run.id for run in found],
    )


def all_runs(runs: Place | None = None) -> list[RunFolder]:
    """All runs in a folder, by id; hidden names are on their way out.

    Parameters
    ----------
    runs
        Folder of all runs; default `runs_folder`.
    """
    runs = runs or runs_folder()
    folders = run_folders(runs)
    there = each_at_once(lambda run: run.exists, folders, runs)
    return [run for run, exists in zip(folders, there, strict=True) if exists]


def run_folders(runs: Place) -> list[RunFolder]:
    """What lies in a folder of runs and is not hidden, by id, without a look into it.

    Parameters
    ----------
    runs
        Folder of all runs.
    """
    folders: list[Place] = sorted(runs.iterdir()) if runs.is_dir() else []
    return [RunFolder(folder) for folder in folders if folder.name[:1] != "."]
