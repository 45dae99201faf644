"""Measures so far: what finished units say, before the run puts its results together."""

from __future__ import annotations

from typing import Any

from mlfs_dask.dashboard.track import Track
from mlfs_dask.jobs.evaluation import evaluation_table
from mlfs_dask.jobs.results import Run, read_unit
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.summary import Point, curve_points
from mlfs_dask.jobs.units import Unit


class Measured:
    """Points of the curves of a run, as far as it has come.

    Parameters
    ----------
    folder
        The run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._taken: set[str] = set()
        self._points: list[Point] = []

    def points(self, run: Run, units: dict[str, Unit], track: Track) -> list[Point]:
        """Means over the folds that are judged by now.

        Parameters
        ----------
        run
            The same run; its evaluation is replaced by what there is so far.
        units
            All units of the run, by id.
        track
            What became of them.
        """
        fresh = [
            unit
            for unit in track.done.keys() - self._taken
            if unit in units and units[unit].kind == "judge"
        ]
        if not fresh:
            return self._points
        for unit in fresh:
            self._rows += _rows(units[unit], read_unit(self._folder, unit))
            self._taken.add(unit)
        run.evaluation = evaluation_table(self._rows)
        self._points = curve_points(run)
        return self._points


def _rows(unit: Unit, result: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("dataset", "selector", "classifier", "repeat", "fold")
    where = {name: getattr(unit, name) for name in names}
    return [{**where, **measurement} for measurement in result["measurements"]]
