"""Measures so far: what finished units say, before the run puts its results together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from mlfs_dask.dashboard.track import Track
from mlfs_dask.jobs.evaluation import COLUMNS, evaluation_table
from mlfs_dask.jobs.results import Run, read_unit
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.summary import Point, curve_points
from mlfs_dask.jobs.units import Unit

_SHARE_OF_TIME: Final = 0.1
_Row: TypeAlias = tuple[Any, ...]
_PLACE: Final = COLUMNS[:5]
_VALUES: Final = COLUMNS[5:]


class Measured:
    """Points of the curves of a run, as far as it has come.

    Parameters
    ----------
    folder
        The run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._rows: list[_Row] = []
        self._taken: set[str] = set()
        self._points: list[Point] = []
        self._next = -math.inf
        self._is_late = False

    def points(self, run: Run, units: dict[str, Unit], track: Track) -> list[Point]:
        """Means over the folds that are judged by now.

        Where they take long to make, they are made seldom: a tenth of the time at most.

        Parameters
        ----------
        run
            The same run; its evaluation is replaced by what there is so far.
        units
            All units of the run, by id.
        track
            What became of them.
        """
        started = time.monotonic()
        self._is_late = started < self._next
        if self._is_late:
            return self._points
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
        ended = time.monotonic()
        self._next = ended + (ended - started) / _SHARE_OF_TIME
        return self._points

    @property
    def is_due(self) -> bool:
        """Whether points were left for later, and it is later now."""
        return self._is_late and time.monotonic() >= self._next


def _rows(unit: Unit, result: dict[str, Any]) -> Iterator[_Row]:
    place = tuple(getattr(unit, name) for name in _PLACE)
    for measurement in result["measurements"]:
        yield (*place, *(measurement[name] for name in _VALUES))
