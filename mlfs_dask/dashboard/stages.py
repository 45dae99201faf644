"""Stages and folds of a run: which of their units are done, in hand, without a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from mlfs_dask.dashboard.track import Track
from mlfs_dask.jobs.units import Unit

FOLDS_SHOWN: Final = 60
_Place: TypeAlias = tuple[str, int | None, int | None]


class Stage(Struct, frozen=True, kw_only=True):
    """Units of one kind.

    Attributes
    ----------
    name
        What they do.
    done, total, failed, in_hand
        How many of them.
    seconds
        Work in those that are done.
    """

    name: str
    done: int
    total: int
    failed: int
    in_hand: int
    seconds: float


class Fold(Struct, frozen=True, kw_only=True):
    """Units on the training rows of one fold.

    Attributes
    ----------
    dataset
        Name of the data set.
    repeat, fold
        0-based; both None for the selections on all rows.
    done, total, failed, in_hand
        How many units.
    """

    dataset: str
    repeat: int | None
    fold: int | None
    done: int
    total: int
    failed: int
    in_hand: int


def stages_of(units: Sequence[Unit], track: Track) -> list[Stage]:
    """Stages that the job has, in order.

    Parameters
    ----------
    units
        All units of the run.
    track
        What became of them.
    """
    kinds: tuple[tuple[str, Callable[[Unit], bool]], ...] = (
        ("selecting in folds", lambda unit: unit.kind == "select" and unit.fold is not None),
        ("judging", lambda unit: unit.kind == "judge"),
        ("selecting on all rows", lambda unit: unit.kind == "select" and unit.fold is None),
    )
    found = []
    for name, belongs in kinds:
        ids = [unit.id for unit in units if belongs(unit)]
        if ids:
            done = [track.done[unit] for unit in ids if unit in track.done]
            found.append(
                Stage(
                    name=name,
                    done=len(done),
                    total=len(ids),
                    failed=sum(unit in track.failed for unit in ids),
                    in_hand=sum(unit in track.in_hand for unit in ids),
                    seconds=sum(unit.seconds for unit in done),
                )
            )
    return found


def folds_of(units: Sequence[Unit], track: Track) -> tuple[list[Fold], int]:
    """Folds of a run, those of one data set together, its selections on all rows last.

    Parameters
    ----------
    units
        All units of the run.
    track
        What became of them.

    Returns
    -------
    folds
        At most `FOLDS_SHOWN`: of many, those that are not finished come first.
    left_out : int
        How many more there are.
    """
    places: dict[_Place, list[str]] = {}
    for unit in units:
        places.setdefault((unit.dataset, unit.repeat, unit.fold), []).append(unit.id)
    folds = [_fold(place, ids, track) for place, ids in places.items()]
    if len(folds) > FOLDS_SHOWN:
        folds.sort(key=lambda fold: (fold.in_hand == 0, fold.done == fold.total))
    return folds[:FOLDS_SHOWN], len(folds[FOLDS_SHOWN:])


def _fold(place: _Place, ids: Sequence[str], track: Track) -> Fold:
    dataset, repeat, fold = place
    return Fold(
        dataset=dataset,
        repeat=repeat,
        fold=fold,
        done=sum(unit in track.done for unit in ids),
        total=len(ids),
        failed=sum(unit in track.failed for unit in ids),
        in_hand=sum(unit in track.in_hand for unit in ids),
    )
