"""Tables of a run: best points, how many features are enough, and both in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mlfs_dask.evaluate.protocol import higher_is_better
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.jobs.summary import (
    Enough,
    Point,
    enough_features,
    group_curves,
    metrics_of,
)
from mlfs_dask.report import words

ROWS_SHOWN: Final = 20
ROWS_KEPT: Final = 200
_TABLES_WITH_ALL_ROWS: Final = 12
_TABLES_OPEN: Final = 6
_FINDINGS: Final = 6


@dataclass(frozen=True)
class BestRow:
    """Best point of one selector, and how many features are enough for it.

    Attributes
    ----------
    selector
        Its name.
    best, best_at, error
        The best mean with its spread, where it is, and its standard error.
    enough_at, enough
        The fewest features within one standard error of it, and the mean there.
    cost
        Their share of the cost; empty without costs.
    is_winner, is_baseline
        Whether its mean is the best of the table; whether it is the classifier on all features.
    """

    selector: str
    best: str
    best_at: str
    error: str
    enough_at: str
    enough: str
    cost: str
    is_winner: bool
    is_baseline: bool


@dataclass(frozen=True)
class BestTable:
    """All selectors by one measure of one classifier on one data set.

    Attributes
    ----------
    dataset, classifier, metric, better
        Names, and the direction in words.
    rows, more
        The baseline and the best ones, best first; those that are folded in.
    left_out
        How many are in ``evaluation.csv`` only.
    has_costs
        Whether any row has a share of the cost.
    is_open
        Whether it is unfolded at first.
    """

    dataset: str
    classifier: str
    metric: str
    better: str
    rows: tuple[BestRow, ...]
    more: tuple[BestRow, ...]
    left_out: int
    has_costs: bool
    is_open: bool


@dataclass(frozen=True)
class Finding:
    """The answer of one classifier on one data set by the first measure, for a sentence.

    `equals` are the selectors whose best is the same.
    """

    dataset: str
    classifier: str
    metric: str
    better: str
    selector: str
    equals: tuple[str, ...]
    best: str
    best_at: str
    enough_at: str
    enough: str
    baseline: str
    fewer: bool


def best_tables(run: Run, points: Sequence[Point]) -> list[BestTable]:
    """Tables of best points, by data set, classifier and measure.

    Parameters
    ----------
    run
        A run.
    points
        All its points.
    """
    groups = group_curves(points)
    metrics = metrics_of(run)
    n_tables = len(groups) * len(metrics)
    kept = ROWS_KEPT if n_tables <= _TABLES_WITH_ALL_ROWS else ROWS_SHOWN
    tables: list[BestTable] = []
    for (dataset, classifier), curves in groups.items():
        for metric in metrics:
            rows = _rows(curves, metric)
            baseline = _baseline_row(curves, metric)
            tables.append(
                BestTable(
                    dataset=dataset,
                    classifier=classifier,
                    metric=words.metric_words(metric),
                    better=words.better_words(metric),
                    rows=(*baseline, *rows[:ROWS_SHOWN]),
                    more=tuple(rows[ROWS_SHOWN:kept]),
                    left_out=max(0, len(rows) - kept),
                    has_costs=any(row.cost for row in rows),
                    is_open=len(tables) < _TABLES_OPEN,
                )
            )
    return tables


def findings(run: Run, points: Sequence[Point]) -> tuple[list[Finding], int]:
    """What came of it, by the first measure.

    Parameters
    ----------
    run
        A run.
    points
        All its points.

    Returns
    -------
    findings
        One per data set and classifier, the first few.
    left_out : int
        How many more there are.
    """
    groups = group_curves(points)
    metric = metrics_of(run)[0] if groups else ""
    found = []
    for (dataset, classifier), curves in groups.items():
        answers = _answers({s: c for s, c in curves.items() if s != BASELINE}, metric)
        if answers:
            found.append(_finding(answers, curves.get(BASELINE, []), dataset, classifier))
    return found[:_FINDINGS], len(found[_FINDINGS:])


def rule_in_words(points: Sequence[Point]) -> str:
    """What "enough" means, with the folds of these points.

    Parameters
    ----------
    points
        Of a run.
    """
    folds = max((mean.folds for point in points for mean in point.means.values()), default=0)
    if folds < 2:
        return (
            "There is a single fold, so there is no standard error, and the best point itself is "
            "shown as enough."
        )
    return (
        "Enough is the smallest number of features whose mean is within one standard error of the "
        "best mean of the same selector (the one-standard-error rule). The standard error is that "
        f"of the best mean: the standard deviation over its folds, up to {folds} here, divided by "
        "the square root of their number. Folds share training rows, and those of several repeats "
        "share all rows, so they are not independent, and the true error is rather larger."
    )


def _answers(curves: Mapping[str, Sequence[Point]], metric: str) -> list[Enough]:
    """Answers of all selectors where the measure is defined, best first."""
    answers = [
        answer
        for points in curves.values()
        if (answer := enough_features(points, metric)) is not None
    ]
    sign = -1.0 if higher_is_better(metric) else 1.0

    def place(answer: Enough) -> tuple[float, float]:
        value, n_features = _best_of(answer)
        return sign * value, n_features

    return sorted(answers, key=place)


def _best_of(answer: Enough) -> tuple[float, float]:
    value = answer.best.means[answer.metric].value
    assert value is not None
    return value, answer.best.n_features


def _equals_of_the_first(answers: Sequence[Enough]) -> list[Enough]:
    """The answer that is best, with all that have the same mean at the same number of features."""
    return [answer for answer in answers if _best_of(answer) == _best_of(answers[0])]


def _rows(curves: Mapping[str, Sequence[Point]], metric: str) -> list[BestRow]:
    selectors = {s: points for s, points in curves.items() if s != BASELINE}
    answers = _answers(selectors, metric)
    winners = _equals_of_the_first(answers)
    rows = [_row(answer, metric, is_winner=answer in winners) for answer in answers]
    known = {answer.best.selector for answer in answers}
    undefined = [s for s in selectors if s not in known]
    return [*rows, *(_undefined(selector) for selector in undefined)]


def _baseline_row(curves: Mapping[str, Sequence[Point]], metric: str) -> list[BestRow]:
    answer = enough_features(curves[BASELINE], metric) if BASELINE in curves else None
    return [] if answer is None else [_row(answer, metric, is_winner=False)]


def _row(answer: Enough, metric: str, *, is_winner: bool) -> BestRow:
    is_baseline = answer.best.selector == BASELINE
    error = answer.standard_error
    return BestRow(
        selector=words.selector_words(answer.best.selector),
        best=words.mean_words(answer.best.means[metric]),
        best_at=words.features_words(answer.best),
        error="" if error is None else words.number(error),
        enough_at="" if is_baseline else words.size_words(answer.enough),
        enough="" if is_baseline else words.mean_words(answer.enough.means[metric]),
        cost=words.percent(answer.enough.cost_share),
        is_winner=is_winner,
        is_baseline=is_baseline,
    )


def _undefined(selector: str) -> BestRow:
    name = words.selector_words(selector)
    return BestRow(name, "undefined", "", "", "", "", "", is_winner=False, is_baseline=False)


def _finding(
    answers: Sequence[Enough], baseline: Sequence[Point], dataset: str, classifier: str
) -> Finding:
    answer, *others = _equals_of_the_first(answers)
    metric = answer.metric
    return Finding(
        dataset=dataset,
        classifier=classifier,
        metric=words.metric_words(metric),
        better=words.better_words(metric),
        selector=answer.best.selector,
        equals=tuple(words.selector_words(other.best.selector) for other in others),
        best=words.mean_words(answer.best.means[metric]),
        best_at=words.features_words(answer.best),
        enough_at=words.features_words(answer.enough),
        enough=words.mean_words(answer.enough.means[metric]),
        baseline=words.mean_words(baseline[0].means[metric]) if baseline else "",
        fewer=answer.enough is not answer.best,
    )
