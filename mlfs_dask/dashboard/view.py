"""Everything that a run's page shows, read from its folder as far as it has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from mlfs_dask.dashboard.chosen import Chosen, Selections
from mlfs_dask.dashboard.measured import Measured
from mlfs_dask.dashboard.pace import seconds_between
from mlfs_dask.dashboard.stages import Fold, Stage, folds_of, stages_of
from mlfs_dask.dashboard.track import Failed, Incident, Planned, Session, Track
from mlfs_dask.errors import MlfsError, RunFolderError
from mlfs_dask.jobs.manifest import saved_job
from mlfs_dask.jobs.results import Run, read_unit
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.summary import Point, curve_points
from mlfs_dask.jobs.units import Unit, units_of
from mlfs_dask.report.curves import CurvesOf, curve_groups
from mlfs_dask.storage.places import Place

GROUPS_SHOWN: Final = 6
INCIDENTS_SHOWN: Final = 30
FAILURES_SHOWN: Final = 20
SESSIONS_SHOWN: Final = 10


class RunView(Struct, frozen=True, kw_only=True):
    """A run at one moment.

    Attributes
    ----------
    run, name
        Its key and the name of its job.
    state, message
        As ``state.json`` says, and why it ended, where that is known.
    owner
        ``host`` and ``pid`` of the process that writes it; None if none does.
    done, total, failed
        Units.
    seconds_left, seconds_taken
        By its pace; and the time of all its sessions.
    created, updated
        In ISO 8601.
    datasets
        Name, n_samples, n_features and n_labels of each.
    stages, folds, more_folds
        Where its units stand; how many folds are left out.
    chosen, more_chosen
        Features, of as many selectors; how many more selectors have begun.
    points
        Means over the folds judged so far.
    incidents, n_incidents, failures, n_failures
        The newest first, and how many there are.
    sessions, n_sessions
        Calls that worked on it, the newest first.
    plan
        What the plan of its last session gave it.
    """

    run: str
    name: str
    state: str
    message: str | None
    owner: dict[str, Any] | None
    done: int
    total: int
    failed: int
    seconds_left: float | None
    seconds_taken: float
    created: str
    updated: str
    datasets: tuple[dict[str, Any], ...]
    stages: tuple[Stage, ...]
    folds: tuple[Fold, ...]
    more_folds: int
    chosen: tuple[Chosen, ...]
    more_chosen: int
    points: tuple[Point, ...]
    incidents: tuple[Incident, ...]
    n_incidents: int
    failures: tuple[Failed, ...]
    n_failures: int
    sessions: tuple[Session, ...]
    n_sessions: int
    plan: Planned

    @property
    def is_at_work(self) -> bool:
        """Whether it runs or waits."""
        return self.state in ("running", "queued")


@dataclass(frozen=True)
class Drawn:
    """A run and its charts; ``more_curves`` counts what is not drawn."""

    view: RunView
    curves: list[CurvesOf]
    more_curves: int


class RunReader:
    """Reads one run again and again; what it read before is not read twice.

    Parameters
    ----------
    key
        Of the run.
    folder
        The run.
    """

    def __init__(self, key: str, folder: RunFolder) -> None:
        self._key = key
        self._folder = folder
        self._run = Run(folder)
        self._track = Track(folder)
        self._measured = Measured(folder)
        self._selections = Selections()
        self._last: tuple[object, Drawn] | None = None

    def is_of(self, folder: RunFolder) -> bool:
        """Whether a folder still holds the run that this one reads, not a later one of its id.

        Parameters
        ----------
        folder
            Of the same key.
        """
        created = read_manifest(folder.manifest)["created"]
        return bool(folder.path == self._folder.path and created == self._run.manifest["created"])

    def read(self) -> Drawn:
        """The run as it is now.

        Raises
        ------
        MlfsError
            A file of it is damaged, or not its own.
        """
        self._refuse_links()
        self._track.read()
        state, owner = self._folder.read_state(), self._folder.owner()
        same = (self._track.events, state, owner)
        if self._last is None or self._last[0] != same or self._measured.is_due:
            self._last = same, self._draw(state, owner)
        return self._last[1]

    def _refuse_links(self) -> None:
        """A run writes its files itself: a link in their place was put there by somebody."""
        folder = self._folder
        files = (folder.manifest, folder.state, folder.journal, folder.resolved, folder.datasets)
        folders = (folder.path, folder.units, folder.inputs)
        for path in (*folders, *files, folder.evaluation):
            _refuse_link(path)

    def _draw(self, state: dict[str, Any], owner: dict[str, Any] | None) -> Drawn:
        if state["state"] in ("done", "partial") and self._folder.evaluation.is_file():
            points = curve_points(Run(self._folder))
            self._measured = Measured(self._folder)
        else:
            points = self._measured.points(self._run, self._units, self._track)
        curves, more_curves = curve_groups(self._run, points) if points else ([], 0)
        left_out = more_curves + len(curves[GROUPS_SHOWN:])
        return Drawn(self._view(state, owner, points), curves[:GROUPS_SHOWN], left_out)

    @cached_property
    def _units(self) -> dict[str, Unit]:
        """All units by id; none where the job was damaged, which is no reason to hide the rest."""
        datasets = [dataset["name"] for dataset in self._run.manifest["datasets"]]
        try:
            return {unit.id: unit for unit in units_of(saved_job(self._folder), datasets)}
        except MlfsError:
            return {}

    def _view(
        self, state: dict[str, Any], owner: dict[str, Any] | None, points: Sequence[Point]
    ) -> RunView:
        track, units = self._track, list(self._units.values())
        folds, more_folds = folds_of(units, track)
        chosen, more_chosen = self._selections.so_far(units, track, self._names, self._result)
        incidents = sorted(track.incidents.values(), key=lambda each: each.time, reverse=True)
        failures = list(track.failed.values())[::-1]
        sessions = track.sessions[::-1]
        done, total = state["progress"]["done"], state["progress"]["total"]
        running = state["state"] == "running"
        return RunView(
            run=self._key,
            name=self._run.job["name"],
            state=state["state"],
            message=str(state["message"]) if state.get("message") else None,
            owner=owner and {key: owner.get(key) for key in ("host", "pid", "since")},
            done=max(done, len(track.done)) if running else done,
            total=total,
            failed=len(failures),
            seconds_left=track.left(max(done, len(track.done)), total) if running else None,
            seconds_taken=_seconds_taken(
                sessions, str(state.get("updated", "")) if running else ""
            ),
            created=self._run.manifest["created"],
            updated=str(state.get("updated", "")),
            datasets=tuple(_sizes(each) for each in self._run.manifest["datasets"]),
            stages=tuple(stages_of(units, track)),
            folds=tuple(folds),
            more_folds=more_folds,
            chosen=tuple(chosen),
            more_chosen=more_chosen,
            points=tuple(points),
            incidents=tuple(incidents[:INCIDENTS_SHOWN]),
            n_incidents=len(incidents),
            failures=tuple(failures[:FAILURES_SHOWN]),
            n_failures=len(failures),
            sessions=tuple(sessions[:SESSIONS_SHOWN]),
            n_sessions=len(sessions),
            plan=sessions[0].plan if sessions else Planned(),
        )

    def _names(self, dataset: str) -> Sequence[str]:
        names: list[str] = self._run.datasets[dataset]["features"]
        return names

    def _result(self, unit: str) -> dict[str, Any]:
        """Result of a select unit."""
        _refuse_link(self._folder.unit_file(unit))
        return read_unit(self._folder, unit)


def _seconds_taken(sessions: Sequence[Session], updated: str) -> float:
    """Time of all sessions, the newest first; one that runs is told of by its state too."""
    taken = sum(seconds_between(each.started, each.last) for each in sessions)
    if sessions and updated:
        taken += seconds_between(sessions[0].last, updated)
    return taken


def _sizes(dataset: dict[str, Any]) -> dict[str, Any]:
    return {key: dataset[key] for key in ("name", "n_samples", "n_features", "n_labels")}


def _refuse_link(path: Place) -> None:
    if path.is_symlink():
        raise RunFolderError(f"{path.name} is a link to elsewhere: a run writes its files itself")
