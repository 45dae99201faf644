"""What a journal tells about a run besides its results: what failed, what is in hand, incidents."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from mlfs_dask.errors import MlfsError
from mlfs_dask.jobs.journal import iter_journal
from mlfs_dask.jobs.manifest import saved_job
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.shapes import read_manifest
from mlfs_dask.jobs.units import Unit, units_of


class FailedUnit(Struct, frozen=True, kw_only=True):
    """A unit without a result.

    Attributes
    ----------
    unit, what
        Its id, and what it is in words.
    error, message, hint
        Class of the exception and its words.
    traceback
        Where it came from; empty where the unit was not even tried.
    time
        When, in ISO 8601.
    """

    unit: str
    what: str
    error: str
    message: str
    hint: str | None
    traceback: str
    time: str


class Incident(Struct, frozen=True, kw_only=True):
    """Something that the user should know of: a warning, a lost worker, what broke the run off.

    Attributes
    ----------
    time
        When it was noted last.
    message
        In words.
    """

    time: str
    message: str


class InHand(Struct, frozen=True, kw_only=True):
    """A selection that was begun and is not finished.

    Attributes
    ----------
    unit, what
        Its id, and what it is in words.
    dataset
        Name of its data set; None where the job cannot be read any more.
    decided
        How many decisions are journaled.
    last
        The last of them.
    subset
        Features that are selected so far, in order of arrival; None where the selector does not
        decide feature by feature.
    worker, time
        Who made it, and when.
    """

    unit: str
    what: str
    dataset: str | None
    decided: int
    last: dict[str, Any]
    subset: tuple[int, ...] | None
    worker: str
    time: str


class History(Struct, frozen=True, kw_only=True):
    """What `read_history` found.

    Attributes
    ----------
    failures, incidents, in_hand
        In the order of the journal; each incident once.
    """

    failures: tuple[FailedUnit, ...]
    incidents: tuple[Incident, ...]
    in_hand: tuple[InHand, ...]


def read_history(folder: RunFolder) -> History:
    """Read the journal of a run, in memory that does not grow with its length.

    Parameters
    ----------
    folder
        The run; may be running.

    Raises
    ------
    RunFolderError
        The journal was changed.
    """
    failures: dict[str, FailedUnit] = {}
    incidents: dict[str, Incident] = {}
    steps: dict[str, dict[str, Any]] = {}
    subsets: dict[str, tuple[int, ...]] = {}
    for event, _ in iter_journal(folder.journal):
        kind, unit = event["event"], event.get("unit", "")
        if kind == "incident" or _is_a_break(event):
            incidents[event["message"]] = Incident(time=event["time"], message=event["message"])
        elif kind == "step":
            steps[unit] = event
            if event["first"] == 0:
                subsets.pop(unit, None)
            for record in event["decided"]:
                if "kept" in record:
                    subsets[unit] = subset_after(subsets.get(unit, ()), record)
        elif kind in ("unit", "failed"):
            steps.pop(unit, None)
            subsets.pop(unit, None)
            failures.pop(unit, None)
        if kind == "failed":
            failures[unit] = FailedUnit(**{key: event[key] for key in FailedUnit.__struct_fields__})
    return History(
        failures=tuple(failures.values()),
        incidents=tuple(incidents.values()),
        in_hand=_in_hand(folder, steps, subsets),
    )


def subset_after(members: tuple[int, ...], record: dict[str, Any]) -> tuple[int, ...]:
    """The features selected after one more decision of a selector of a stream.

    Parameters
    ----------
    members
        Selected before, in order of arrival.
    record
        The decision: an entry of ``path``.

    Examples
    --------
    >>> subset_after((4, 7), {"feature": 9, "kept": True, "features": [4]})
    (7, 9)
    """
    if not record["kept"]:
        return members
    gone = record.get("features", ())
    return (*(member for member in members if member not in gone), record["feature"])


def _is_a_break(event: dict[str, Any]) -> bool:
    """Whether a run ended there, and neither of itself nor because somebody wanted it to."""
    return event["event"] == "stop" and event.get("error") not in (None, "KeyboardInterrupt")


def _in_hand(
    folder: RunFolder, steps: dict[str, dict[str, Any]], subsets: dict[str, tuple[int, ...]]
) -> tuple[InHand, ...]:
    units = _units_by_id(folder) if steps else {}
    return tuple(
        InHand(
            unit=unit,
            what=str(units.get(unit, unit)),
            dataset=units[unit].dataset if unit in units else None,
            decided=event["first"] + len(event["decided"]),
            last=event["decided"][-1],
            subset=subsets.get(unit),
            worker=event["worker"],
            time=event["time"],
        )
        for unit, event in steps.items()
    )


def _units_by_id(folder: RunFolder) -> dict[str, Unit]:
    """All units of a run; none where its job was damaged, which is no reason to hide the rest."""
    datasets = [dataset["name"] for dataset in read_manifest(folder.manifest)["datasets"]]
    try:
        return {unit.id: unit for unit in units_of(saved_job(folder), datasets)}
    except MlfsError:
        return {}
