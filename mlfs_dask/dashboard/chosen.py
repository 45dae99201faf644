"""Features chosen so far: of each selector the selection that says most, with names and reasons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from mlfs_dask.dashboard.track import InHand, Track
from mlfs_dask.jobs.units import Unit

FEATURES_SHOWN: Final = 12
SELECTORS_SHOWN: Final = 12


class Feature(Struct, frozen=True, kw_only=True):
    """A feature that was chosen, or what else was decided.

    Attributes
    ----------
    rank
        Position among the decisions or in the ranking, from 1.
    name
        Of the feature; empty for a decision about none.
    score
        By which it was chosen; None without one.
    reason
        In words; may be empty.
    """

    rank: int
    name: str
    score: float | None
    reason: str


class Chosen(Struct, frozen=True, kw_only=True):
    """What one selector has chosen from one data set.

    Attributes
    ----------
    dataset, selector
        Names.
    repeat, fold
        Whose rows it saw; both None: all.
    is_done
        Whether the selection is finished.
    n_decided
        Decisions so far; of a finished one, features it keeps or ranks.
    n_problems
        Problems with a selection each, of which the first is shown; None for one selection.
    features
        Of a finished selection the first; of one in hand the latest, newest first.
    worker, time
        Who decided last, and when.
    """

    dataset: str
    selector: str
    repeat: int | None
    fold: int | None
    is_done: bool
    n_decided: int
    n_problems: int | None
    features: tuple[Feature, ...]
    worker: str
    time: str


class Selections:
    """Selections of one run; of those that are finished only what is shown is kept."""

    def __init__(self) -> None:
        self._finished: dict[str, Chosen] = {}

    def so_far(
        self,
        units: Iterable[Unit],
        track: Track,
        names: Callable[[str], Sequence[str]],
        result: Callable[[str], dict[str, Any]],
    ) -> tuple[list[Chosen], int]:
        """The selection of each selector that says most: on all rows, else the one in hand.

        Parameters
        ----------
        units
            All units of the run.
        track
            What became of them.
        names
            Name of a data set -> names of its features.
        result
            Id of a finished select unit -> its result.

        Returns
        -------
        chosen
            The first `SELECTORS_SHOWN`, those in hand before the others.
        left_out : int
            How many more have begun.
        """
        best: dict[tuple[str, str], Unit] = {}
        for unit in units:
            if unit.kind != "select" or not (unit.id in track.done or unit.id in track.in_hand):
                continue
            key = (unit.dataset, unit.selector)
            known = best.get(key)
            if known is None or _says(unit, track) > _says(known, track):
                best[key] = unit
        picked = sorted(best.values(), key=lambda unit: unit.id not in track.in_hand)
        shown = []
        for unit in picked[:SELECTORS_SHOWN]:
            if unit.id in track.in_hand:
                shown.append(_in_hand(unit, track.in_hand[unit.id], names(unit.dataset)))
                continue
            if unit.id not in self._finished:
                found = _done(unit, track, names(unit.dataset), result(unit.id))
                self._finished[unit.id] = found
            shown.append(self._finished[unit.id])
        return shown, len(picked[SELECTORS_SHOWN:])


def _says(unit: Unit, track: Track) -> tuple[bool, bool, str]:
    """How much a selection tells: all rows before folds, in hand before done, the later."""
    now = track.in_hand.get(unit.id) or track.done[unit.id]
    return unit.fold is None, unit.id in track.in_hand, now.time


def _in_hand(unit: Unit, now: InHand, names: Sequence[str]) -> Chosen:
    latest = list(now.last)[-FEATURES_SHOWN:]
    first = now.decided - len(latest) + 1
    features = [_feature(number, record, names) for number, record in enumerate(latest, first)]
    return Chosen(
        dataset=unit.dataset,
        selector=unit.selector,
        repeat=unit.repeat,
        fold=unit.fold,
        is_done=False,
        n_decided=now.decided,
        n_problems=None,
        features=tuple(reversed(features)),
        worker=now.worker,
        time=now.time,
    )


def _done(unit: Unit, track: Track, names: Sequence[str], result: dict[str, Any]) -> Chosen:
    problems = result.get("problems")
    order, scores, support = (
        result[key] if problems is None else next(iter(result[key]), [])
        for key in ("order", "scores", "support")
    )
    kept = set(support)
    path = [record for record in result.get("path") or [] if _is_kept(record, kept)]
    if problems is None and len({record.get("reason") for record in path}) > 1:
        features = [_feature(n, record, names) for n, record in enumerate(path[:FEATURES_SHOWN], 1)]
    else:
        reason = str(path[0].get("reason") or "") if path else ""
        first = [feature for feature in order if feature in kept][:FEATURES_SHOWN]
        features = [
            Feature(rank=n, name=_name(f, names), score=_number(scores[f]), reason=reason)
            for n, f in enumerate(first, 1)
        ]
    return Chosen(
        dataset=unit.dataset,
        selector=unit.selector,
        repeat=unit.repeat,
        fold=unit.fold,
        is_done=True,
        n_decided=len(support),
        n_problems=None if problems is None else len(problems),
        features=tuple(features),
        worker=track.done[unit.id].worker,
        time=track.done[unit.id].time,
    )


def _is_kept(record: dict[str, Any], kept: set[int]) -> bool:
    """Whether a decision speaks of what was chosen in the end.

    Streams write down all arrivals, genetic searches generations, which name no feature.
    """
    feature = record.get("feature")
    return isinstance(feature, int) and feature in kept


def _feature(number: int, record: dict[str, Any], names: Sequence[str]) -> Feature:
    return Feature(
        rank=number,
        name=_name(record.get("feature"), names),
        score=_number(record.get("score")),
        reason=str(record.get("reason") or ""),
    )


def _number(score: Any) -> float | None:
    return score if isinstance(score, (int, float)) and math.isfinite(score) else None


def _name(feature: Any, names: Sequence[str]) -> str:
    return names[feature] if isinstance(feature, int) and 0 <= feature < len(names) else ""
