"""What was selected: features with scores and folds, steps with reasons, selections by problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from mlfs_dask.jobs.agreement import (
    chose_itself,
    chosen_in_folds,
    counts_to_compare,
    selections_by_problem,
)
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.jobs.summary import Point, datasets_of, enough_features, metrics_of
from mlfs_dask.report import words

FEATURES_SHOWN: Final = 25
SELECTIONS_SHOWN: Final = 120
_FEATURES_OF_MANY: Final = 10
_MANY: Final = 40
_PROBLEMS_SHOWN: Final = 40
_FEATURES_PER_PROBLEM: Final = 5
_ENTRY: Final = ("step", "feature", "score", "reason", "fitness")


@dataclass(frozen=True)
class Feature:
    """A selected feature; ``folds`` counts the folds that have it among as many."""

    rank: int
    name: str
    score: str
    folds: int | None
    is_relevant: bool


@dataclass(frozen=True)
class PathStep:
    """A step of a selector: what it took, by which score, why."""

    step: str
    name: str
    score: str
    reason: str
    details: str


@dataclass(frozen=True)
class Problem:
    """The selection of one problem: its labels and its first features."""

    labels: tuple[str, ...]
    features: tuple[str, ...]
    kept: int


@dataclass(frozen=True)
class SelectedOf:
    """What one selector took home from one data set.

    Attributes
    ----------
    dataset, selector
        Names.
    direction
        Of its scores, in words.
    top
        How many features count as chosen.
    why
        Why so many.
    is_own
        Whether they are a subset that the selector itself chose.
    n_folds, n_features
        Folds that selected, and features there are.
    features
        The chosen ones, best first, the first few.
    path
        Steps, where their reasons differ; the first few.
    n_steps
        How many steps there are.
    reason
        The reason of all steps, if it is one; empty if not.
    facts
        Cost, why it stopped.
    problems
        Of a selector with a selection per problem; the first few.
    n_problems
        How many problems there are; None for a selector with one selection for all labels.
    """

    dataset: str
    selector: str
    direction: str
    top: int
    why: str
    is_own: bool
    n_folds: int
    n_features: int
    features: tuple[Feature, ...]
    path: tuple[PathStep, ...]
    n_steps: int
    reason: str
    facts: tuple[str, ...]
    problems: tuple[Problem, ...]
    n_problems: int | None


def selected_features(run: Run, points: Sequence[Point]) -> tuple[list[SelectedOf], int]:
    """Selections on all rows, as far as they are shown.

    Parameters
    ----------
    run
        A run.
    points
        All its points.

    Returns
    -------
    selections
        The first `SELECTIONS_SHOWN`.
    left_out : int
        How many more there are.
    """
    pairs = [
        (final, folds)
        for folds_and_final in selections_by_selector(run).values()
        for final, folds in [final_and_folds(folds_and_final)]
        if final is not None
    ]
    rows = FEATURES_SHOWN if len(pairs) <= _MANY else _FEATURES_OF_MANY
    shown = [
        _selection(run, final, folds, points, rows) for final, folds in pairs[:SELECTIONS_SHOWN]
    ]
    return shown, len(pairs[SELECTIONS_SHOWN:])


def selections_by_selector(run: Run) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Selections by data set and selector, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    labels = [select["label"] for select in run.job["select"]]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {
        (dataset, label): [] for dataset in datasets_of(run) for label in labels
    }
    for selection in run.compact_selections:
        found.setdefault((selection["dataset"], selection["selector"]), []).append(selection)
    return found


class SelectedOn(NamedTuple):
    """What the selectors selected on one data set.

    Attributes
    ----------
    dataset : str
    n_features : int
    counts : list of int
        Numbers of features at which to compare.
    records : dict
        Selector -> its selections.
    """

    dataset: str
    n_features: int
    counts: list[int]
    records: dict[str, list[dict[str, Any]]]


def selected_by_dataset(run: Run, points: Sequence[Point]) -> Iterator[SelectedOn]:
    """Selections to be compared with each other, data set by data set.

    Parameters
    ----------
    run
        A run.
    points
        All its points.

    Yields
    ------
    SelectedOn
        In the order of the job.
    """
    every = selections_by_selector(run)
    for dataset in datasets_of(run):
        n_features = len(run.datasets[dataset]["features"])
        measured = [p for p in points if p.dataset == dataset and p.selector != BASELINE]
        records = {
            selector: of_one for (name, selector), of_one in every.items() if name == dataset
        }
        counts = counts_to_compare(measured, n_features)
        yield SelectedOn(dataset, n_features, counts, records)


def final_and_folds(
    records: Sequence[dict[str, Any]],
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The selection on all rows, and those of the folds.

    Parameters
    ----------
    records
        Selections of one selector on one data set.
    """
    final = next((record for record in records if record["fold"] is None), None)
    return final, [record for record in records if record["fold"] is not None]


def _selection(
    run: Run,
    final: dict[str, Any],
    folds: list[dict[str, Any]],
    points: Sequence[Point],
    rows: int,
) -> SelectedOf:
    names = run.datasets[final["dataset"]]["features"]
    per_problem = final["problems"] is not None
    if per_problem:
        top, why = 0, ""
    else:
        top, why = _top(run, final, points)
    path, reason = _path(final["path"] or [], names)
    return SelectedOf(
        dataset=final["dataset"],
        selector=final["selector"],
        direction=words.direction_words(final["higher_is_better"]),
        top=top,
        why=why,
        is_own=not per_problem and chose_itself(final),
        n_folds=len(folds),
        n_features=len(names),
        features=() if per_problem else _features(run, final, folds, top, rows),
        path=tuple(path[:rows]),
        n_steps=len(path),
        reason=reason,
        facts=tuple(_facts(final)),
        problems=_problems(run, final) if per_problem else (),
        n_problems=len(final["problems"]) if per_problem else None,
    )


def _features(
    run: Run, final: dict[str, Any], folds: list[dict[str, Any]], top: int, rows: int
) -> tuple[Feature, ...]:
    described = run.datasets[final["dataset"]]
    names, truth = described["features"], described["truth"]
    relevant = set() if truth is None else set(truth["relevant"])
    alike = [fold for fold in folds if fold["problems"] is None]
    if chose_itself(final):
        kept = set(final["support"])
        chosen = [feature for feature in final["order"] if feature in kept]
        in_folds = chosen_in_folds([{"order": f["support"]} for f in alike], len(names), len(names))
    else:
        chosen = final["order"][:top]
        in_folds = chosen_in_folds(alike, len(names), top)
    return tuple(
        Feature(
            rank=rank,
            name=names[feature],
            score=words.score_words(final["scores"][feature]),
            folds=int(in_folds[feature]) if alike else None,
            is_relevant=feature in relevant,
        )
        for rank, feature in enumerate(chosen[:rows], start=1)
    )


def _top(run: Run, final: dict[str, Any], points: Sequence[Point]) -> tuple[int, str]:
    """How many features to show as chosen, and why so many."""
    support = len(final["support"])
    if chose_itself(final):
        return support, "as many as the selector itself keeps"
    if support < len(final["order"]):
        return support, "as many as it was asked to keep"
    metrics = metrics_of(run)
    mine = [p for p in points if (p.dataset, p.selector) == (final["dataset"], final["selector"])]
    first = [p for p in mine if p.classifier == mine[0].classifier]
    below = [p for p in first if p.share < 1]
    for curve, words_below in ((first, ""), (below, " below all features")):
        answer = enough_features(curve, metrics[0]) if curve else None
        if answer is not None and (answer.enough.share < 1 or words_below or not below):
            measure = words.metric_words(metrics[0])
            why = f"enough{words_below} for {measure} with {answer.enough.classifier}"
            return max(1, round(answer.enough.n_features)), why
    return support, "it ranks all features"


def _path(entries: Sequence[dict[str, Any]], names: Sequence[str]) -> tuple[list[PathStep], str]:
    """Steps as shown, and the reason if all have the same: then the ranking says it all."""
    reasons = {str(entry.get("reason") or "") for entry in entries}
    if len(reasons) < 2:
        return [], "".join(reasons)
    steps = [
        PathStep(
            step=str(number if (step := entry.get("step")) is None else step + 1),
            name=_feature_name(entry.get("feature"), names),
            score=words.score_words(entry.get("score")),
            reason=str(entry.get("reason") or ""),
            details=words.plain_words({k: v for k, v in entry.items() if k not in _ENTRY}),
        )
        for number, entry in enumerate(entries, start=1)
    ]
    return steps, ""


def _feature_name(feature: Any, names: Sequence[str]) -> str:
    return names[feature] if isinstance(feature, int) and 0 <= feature < len(names) else ""


def _facts(final: dict[str, Any]) -> list[str]:
    facts = []
    if final.get("cost") is not None:
        facts.append(f"the features it keeps cost {final['cost']:.6g}")
    if final.get("stop"):
        facts.append(f"it stopped: {final['stop']}")
    return facts


def _problems(run: Run, final: dict[str, Any]) -> tuple[Problem, ...]:
    described = run.datasets[final["dataset"]]
    features, labels = described["features"], described["labels"]
    records = selections_by_problem(final)[:_PROBLEMS_SHOWN]
    return tuple(
        Problem(
            labels=tuple(labels[i] for i in problem),
            features=tuple(features[f] for f in record["order"][:_FEATURES_PER_PROBLEM]),
            kept=len(record["support"]),
        )
        for problem, record in zip(final["problems"], records, strict=False)
    )
