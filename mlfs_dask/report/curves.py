"""Charts of a run: measures over the share of the features and over the share of the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.jobs.summary import (
    Point,
    best_point,
    enough_features,
    group_curves,
    metrics_of,
)
from mlfs_dask.report import words
from mlfs_dask.report.chart import STYLES, Chart, Sample, Series, make_chart
from mlfs_dask.wording import counted

LINES_PER_CHART: Final = STYLES
CHARTS_PER_RUN: Final = 60
_GROUPS_OPEN: Final = 4
_NAME_IN_NOTES: Final = 40


@dataclass(frozen=True)
class Legend:
    """An entry of a legend."""

    name: str
    number: int
    is_baseline: bool


@dataclass(frozen=True)
class CurvesOf:
    """All charts of one classifier on one data set.

    Attributes
    ----------
    dataset, classifier
        Names.
    legend
        Of all its charts.
    charts
        Over the share of the features, one per measure.
    cost_charts
        Over the share of the cost, where there are costs.
    rule
        Which selectors are drawn if not all are; empty if all are.
    has_beyond
        Whether some points have more features than a prefilter left to their selector.
    is_open
        Whether it is unfolded at first.
    """

    dataset: str
    classifier: str
    legend: tuple[Legend, ...]
    charts: tuple[Chart, ...]
    cost_charts: tuple[Chart, ...]
    rule: str
    has_beyond: bool
    is_open: bool


def curve_groups(run: Run, points: Sequence[Point]) -> tuple[list[CurvesOf], int]:
    """Charts of every classifier on every data set.

    Parameters
    ----------
    run
        A run.
    points
        All its points.

    Returns
    -------
    groups
        Those that are drawn: at most `CHARTS_PER_RUN` charts.
    left_out : int
        How many groups are not drawn.
    """
    groups = group_curves(points)
    metrics = metrics_of(run)
    numbers = {select["label"]: number for number, select in enumerate(run.job["select"])}
    left = {
        select["label"]: int(select["prefilter"]["n"])
        for select in run.job["select"]
        if select.get("prefilter")
    }
    found: list[CurvesOf] = []
    n_charts = 0
    for (dataset, classifier), curves in groups.items():
        shown, rule = lines_to_draw(curves, metrics[0])
        styles = numbers if len(numbers) <= STYLES else {s: i for i, s in enumerate(shown)}
        lines = [_Curve(s, styles.get(s, 0) % STYLES, curves[s], left.get(s)) for s in shown]
        has_costs = any(p.cost_share is not None for line in lines for p in line.points)
        n_charts += len(metrics) * (2 if has_costs else 1)
        if n_charts > CHARTS_PER_RUN and found:
            break
        found.append(
            CurvesOf(
                dataset=dataset,
                classifier=classifier,
                legend=tuple(line.legend for line in lines),
                charts=tuple(_chart(lines, m, over_cost=False) for m in metrics),
                cost_charts=tuple(_chart(lines, m, over_cost=True) for m in metrics)
                if has_costs
                else (),
                rule=rule,
                has_beyond=any(line.is_beyond(p) for line in lines for p in line.points),
                is_open=len(found) < _GROUPS_OPEN,
            )
        )
    return found, len(groups) - len(found)


def lines_to_draw(curves: Mapping[str, Sequence[Point]], metric: str) -> tuple[list[str], str]:
    """Selectors to draw, in their order, and the rule by which they were picked.

    Parameters
    ----------
    curves
        Selector -> its points.
    metric
        The measure that decides which ones are best.
    """
    selectors = [selector for selector in curves if selector != BASELINE]
    baseline = [BASELINE] if BASELINE in curves else []
    if len(selectors) <= LINES_PER_CHART:
        return [*selectors, *baseline], ""
    tops = {s: best_point(curves[s], metric) for s in selectors}
    left = {s: top for s, top in tops.items() if top is not None}
    picked: set[str] = set()
    while left and len(picked) < LINES_PER_CHART:
        best = best_point(list(left.values()), metric)
        picked.add(next(s for s, top in left.items() if top is best))
        left = {s: top for s, top in left.items() if s not in picked}
    rule = (
        f"Drawn are the {len(picked)} of {counted(len(selectors), 'selector')} with the best mean "
        f"{words.metric_words(metric)}; all are in the tables or in evaluation.csv. Colours hold "
        "for these charts."
    )
    return [*(s for s in selectors if s in picked), *baseline], rule


@dataclass(frozen=True)
class _Curve:
    selector: str
    number: int
    points: Sequence[Point]
    candidates: int | None
    """How many features a prefilter left; None without one."""

    def is_beyond(self, point: Point) -> bool:
        return self.candidates is not None and point.n_features > self.candidates

    @property
    def legend(self) -> Legend:
        name = words.selector_words(self.selector)
        return Legend(name, self.number, self.selector == BASELINE)


def _chart(lines: Sequence[_Curve], metric: str, *, over_cost: bool) -> Chart:
    series = [
        Series(
            words.selector_words(line.selector),
            line.number,
            _samples(line, metric, over_cost=over_cost),
            is_baseline=line.selector == BASELINE,
        )
        for line in lines
    ]
    axis = "share of the cost" if over_cost else "share of the features"
    return make_chart(words.metric_words(metric), words.better_words(metric), series, axis)


def _samples(line: _Curve, metric: str, *, over_cost: bool) -> list[Sample]:
    answer = enough_features(line.points, metric)
    name = words.shortened(words.selector_words(line.selector), _NAME_IN_NOTES)
    samples = []
    for point in line.points:
        mean = point.means[metric]
        x = point.cost_share if over_cost else point.share
        if mean.value is None or x is None:
            continue
        where = words.features_words(point)
        if over_cost:
            where += f", {words.percent(x)} of the cost"
        is_enough = answer is not None and point is answer.enough
        note = f"{name}, {where}: {words.mean_words(mean)}"
        if beyond := line.is_beyond(point):
            note += f"; beyond the {words.count_words(line.candidates or 0)} of its prefilter"
        samples.append(Sample(x, mean.value, mean.spread, note, is_enough, beyond))
    return sorted(samples, key=lambda sample: sample.x)
