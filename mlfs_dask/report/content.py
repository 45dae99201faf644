"""What a report says about one run, as plain records for the template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mlfs_dask.evaluate.protocol import higher_is_better
from mlfs_dask.jobs.options import options_of
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.sizes import show_seconds
from mlfs_dask.jobs.spec import BASELINE
from mlfs_dask.jobs.summary import (
    Mean,
    Planted,
    Point,
    best_point,
    curve_points,
    curves,
    datasets_of,
    metrics_of,
    planted_truth,
)
from mlfs_dask.report.chart import Chart, Sample, Series, make_chart

_FEATURES_SHOWN: Final = 25
_INCIDENTS: Final = ("incident", "failed", "stop")


@dataclass(frozen=True)
class Legend:
    """An entry of a legend."""

    name: str
    number: int
    is_baseline: bool


@dataclass(frozen=True)
class CurvesOf:
    """All charts of one classifier on one data set."""

    dataset: str
    classifier: str
    legend: tuple[Legend, ...]
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class BestCell:
    """The best point of one curve for one measure."""

    value: str
    where: str
    is_winner: bool


@dataclass(frozen=True)
class BestRow:
    """The best points of one selector."""

    selector: str
    cells: tuple[BestCell, ...]


@dataclass(frozen=True)
class BestOf:
    """The best points of all selectors, judged by one classifier on one data set."""

    dataset: str
    classifier: str
    metrics: tuple[tuple[str, str], ...]
    rows: tuple[BestRow, ...]


@dataclass(frozen=True)
class Feature:
    """A selected feature."""

    rank: int
    name: str
    score: str
    folds: int | None
    is_relevant: bool | None


@dataclass(frozen=True)
class SelectedOf:
    """What one selector took home from one data set."""

    dataset: str
    selector: str
    direction: str
    top: int
    reason: str
    n_folds: int
    n_features: int
    features: tuple[Feature, ...]


@dataclass(frozen=True)
class Timing:
    """Seconds of one kind of unit."""

    what: str
    units: int
    mean: str
    total: str


@dataclass(frozen=True)
class RunContent:
    """One run, ready to be shown."""

    id: str
    name: str
    state: str
    created: str
    datasets: list[dict[str, Any]]
    methods: list[tuple[str, str, str, str]]
    protocol: list[tuple[str, str]]
    curves: list[CurvesOf]
    best: list[BestOf]
    planted: list[Planted]
    selected: list[SelectedOf]
    timings: list[Timing]
    total_seconds: str
    notes: list[str]
    versions: dict[str, str]
    digest: str


def read_content(run: Run) -> RunContent:
    """Gather what a report shows of a run.

    Parameters
    ----------
    run
        A run with results.
    """
    points = curve_points(run)
    timings = run.timings
    return RunContent(
        id=run.id,
        name=run.job["name"],
        state=run.state,
        created=run.manifest["created"],
        datasets=run.manifest["datasets"],
        methods=_methods(run.job),
        protocol=_protocol(run.job),
        curves=_curves(run, points),
        best=_best(run, points),
        planted=planted_truth(run),
        selected=_selected(run, points),
        timings=_timings(timings),
        total_seconds=show_seconds(timings["unit_seconds"]),
        notes=_notes(run),
        versions=run.manifest["versions"],
        digest=run.manifest["job_digest"],
    )


def _methods(job: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Role, label, method and parameters of everything that ran."""
    evaluate = job["evaluate"] or {}
    return [
        (role, method["label"], method["method"], _params(kind, method))
        for role, kind, methods in (
            ("selector", "selectors", job["select"]),
            ("classifier", "classifiers", evaluate.get("classifier", [])),
        )
        for method in methods
    ]


def _params(kind: Any, method: dict[str, Any]) -> str:
    """Parameters; those at their defaults of None say nothing and are left out."""
    known = options_of(kind, method["method"])
    return ", ".join(
        f"{name} = {value}"
        for name, value in method["params"].items()
        if value is not None and name in known
    )


def _protocol(job: dict[str, Any]) -> list[tuple[str, str]]:
    evaluate = job["evaluate"]
    facts = [("seed", str(job["seed"])), ("missing values", _impute(job["data"]["impute"]))]
    if evaluate is None:
        return [*facts, ("evaluation", "none: selection on all rows only")]
    split = evaluate["split"]
    repeated = f", repeated {split['repeats']} times" if split["repeats"] > 1 else ""
    kfold = f"{split['folds']} folds{repeated}"
    return [
        (
            "split",
            kfold if split["kind"] == "kfold" else "the training and test rows of the data set",
        ),
        ("selection", "inside each training fold; final selection on all rows"),
        ("conventions of the measures", evaluate["conventions"]),
        *facts,
    ]


def _impute(impute: str) -> str:
    return {"none": "methods without a rule for them refuse", "mean": "training mean or mode"}[
        impute
    ]


def _curves(run: Run, points: Sequence[Point]) -> list[CurvesOf]:
    numbers = {select["label"]: i for i, select in enumerate(run.job["select"])}
    groups: dict[tuple[str, str], list[str]] = {}
    for dataset, selector, classifier in curves(run):
        groups.setdefault((dataset, classifier), []).append(selector)
    found = []
    for (dataset, classifier), selectors in groups.items():
        mine = [p for p in points if (p.dataset, p.classifier) == (dataset, classifier)]
        legend = tuple(Legend(_name(s), numbers.get(s, 0), s == BASELINE) for s in selectors)
        charts = []
        for metric in metrics_of(run):
            series = [
                Series(
                    _name(selector),
                    numbers.get(selector, 0),
                    _samples([p for p in mine if p.selector == selector], metric),
                    is_baseline=selector == BASELINE,
                )
                for selector in selectors
            ]
            charts.append(make_chart(_words(metric), _better(metric), series))
        found.append(CurvesOf(dataset, classifier, legend, tuple(charts)))
    return found


def _samples(points: Sequence[Point], metric: str) -> list[Sample]:
    return [
        Sample(
            point.share,
            mean.value,
            mean.spread,
            f"{_name(point.selector)}, {point.n_features:g} features ({_share(point)}): "
            f"{_value(mean)}",
        )
        for point in points
        if (mean := point.means[metric]).value is not None
    ]


def _best(run: Run, points: Sequence[Point]) -> list[BestOf]:
    metrics = metrics_of(run)
    groups: dict[tuple[str, str], list[str]] = {}
    for dataset, selector, classifier in curves(run):
        groups.setdefault((dataset, classifier), []).append(selector)
    found = []
    for (dataset, classifier), selectors in groups.items():
        mine = {s: _curve(points, dataset, s, classifier) for s in selectors}
        best = {s: {m: best_point(mine[s], m) for m in metrics} for s in selectors}
        tops = {m: [p for s in selectors if (p := best[s][m]) is not None] for m in metrics}
        winners = {m: best_point(tops[m], m) for m in metrics}
        rows = [
            BestRow(_name(s), tuple(_best_cell(best[s][m], m, winners[m]) for m in metrics))
            for s in selectors
        ]
        named = tuple((_words(metric), _better(metric)) for metric in metrics)
        found.append(BestOf(dataset, classifier, named, tuple(rows)))
    return found


def _best_cell(point: Point | None, metric: str, winner: Point | None) -> BestCell:
    if point is None:
        return BestCell("undefined", "", False)
    where = f"{point.n_features:g} features ({_share(point)})"
    return BestCell(_value(point.means[metric]), where, point is winner)


def _curve(points: Sequence[Point], dataset: str, selector: str, classifier: str) -> list[Point]:
    where = (dataset, selector, classifier)
    return [p for p in points if (p.dataset, p.selector, p.classifier) == where]


def _selected(run: Run, points: Sequence[Point]) -> list[SelectedOf]:
    found = []
    for dataset in datasets_of(run):
        for select in run.job["select"]:
            mine = [
                s
                for s in run.selections
                if (s["dataset"], s["selector"]) == (dataset, select["label"])
            ]
            final = next((s for s in mine if s["fold"] is None), None)
            if final is not None and final["problems"] is None:
                folds = [s for s in mine if s["fold"] is not None]
                found.append(_selection(run, final, folds, points))
    return found


def _selection(
    run: Run, final: dict[str, Any], folds: list[dict[str, Any]], points: Sequence[Point]
) -> SelectedOf:
    dataset, selector = final["dataset"], final["selector"]
    names = run.datasets[dataset]["features"]
    truth = run.datasets[dataset]["truth"]
    relevant = None if truth is None else set(truth["relevant"])
    top, reason = _top(run, points, dataset, selector, len(final["support"]))
    chosen = Counter(feature for fold in folds for feature in fold["order"][:top])
    features = tuple(
        Feature(
            rank=rank,
            name=names[feature],
            score=_score(final["scores"][feature]),
            folds=chosen[feature] if folds else None,
            is_relevant=None if relevant is None else feature in relevant,
        )
        for rank, feature in enumerate(final["order"][: min(top, _FEATURES_SHOWN)], start=1)
    )
    return SelectedOf(
        dataset=dataset,
        selector=selector,
        direction="higher is better" if final["higher_is_better"] else "lower is better",
        top=top,
        reason=reason,
        n_folds=len(folds),
        n_features=len(names),
        features=features,
    )


def _top(
    run: Run, points: Sequence[Point], dataset: str, selector: str, support: int
) -> tuple[int, str]:
    """How many features to show as chosen, and why so many."""
    metrics = metrics_of(run)
    mine = [p for p in points if (p.dataset, p.selector) == (dataset, selector)]
    if metrics and mine:
        first = [p for p in mine if p.classifier == mine[0].classifier]
        best = best_point([p for p in first if p.share < 1] or first, metrics[0])
        if best is not None:
            below = " below all features" if best.share < 1 else ""
            where = f"best mean {_words(metrics[0])} with {best.classifier}{below}"
            return int(best.n_features), where
    return support, "the selector's own choice"


def _timings(timings: dict[str, Any]) -> list[Timing]:
    groups: dict[str, list[float]] = {}
    for unit in timings["units"]:
        judged = "" if unit["classifier"] is None else f" judged by {unit['classifier']}"
        what = f"{unit['dataset']}: {_name(unit['selector'])}{judged}"
        groups.setdefault(what, []).append(unit["seconds"])
    return [
        Timing(what, len(each), show_seconds(sum(each) / len(each)), show_seconds(sum(each)))
        for what, each in groups.items()
    ]


def _notes(run: Run) -> list[str]:
    """Incidents of the journal and notes of the units, each once."""
    found = [
        event.get("message") or f"stopped by {event.get('signal', 'an error')} and taken up again"
        for event in run.events
        if event["event"] in _INCIDENTS
    ]
    for unit in run.timings["units"]:
        found += [f"{_name(unit['selector'])} on {unit['dataset']}: {n}" for n in unit["notes"]]
    return list(dict.fromkeys(found))


def _name(selector: str) -> str:
    return "all features" if selector == BASELINE else selector


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _better(metric: str) -> str:
    return "higher is better" if higher_is_better(metric) else "lower is better"


def _share(point: Point) -> str:
    return f"{100 * point.share:.3g} %"


def _value(mean: Mean) -> str:
    if mean.value is None:
        return "undefined"
    return f"{mean.value:.4f}" + ("" if mean.spread is None else f" ± {mean.spread:.4f}")


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.6g}"
