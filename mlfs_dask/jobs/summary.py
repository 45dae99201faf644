"""Means over folds, best points and planted truth: the numbers that tables and reports show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mlfs_dask.evaluate.protocol import higher_is_better
from mlfs_dask.jobs.results import Run
from mlfs_dask.jobs.spec import BASELINE


class Mean(Struct, frozen=True):
    """A measure over the folds.

    Attributes
    ----------
    value
        Unweighted mean over the folds where it is defined; None if there is none.
    spread
        Standard deviation over these folds (divisor m - 1); None for a single fold.
    folds
        How many there are.
    """

    value: float | None
    spread: float | None
    folds: int


class Point(Struct, frozen=True, kw_only=True):
    """A selector, judged by a classifier at one number of features.

    Attributes
    ----------
    dataset, selector, classifier
        Names.
    n_features, share
        Where on the curve.
    means
        By name of the measure.
    """

    dataset: str
    selector: str
    classifier: str
    n_features: float
    share: float
    means: dict[str, Mean]


class Planted(Struct, frozen=True, kw_only=True):
    """How much of a planted truth a selection on all rows found.

    Attributes
    ----------
    dataset, selector
        Names.
    relevant
        Number of relevant features r.
    found
        How many of them are among the first r.
    """

    dataset: str
    selector: str
    relevant: int
    found: int


def curve_points(run: Run) -> list[Point]:
    """All points of all curves, in the order of the job and by number of features.

    Parameters
    ----------
    run
        A run with an evaluation.
    """
    rows = run.evaluation
    metrics = metrics_of(run)
    points = []
    for dataset, selector, classifier in curves(run):
        chosen = rows[
            (rows["dataset"] == dataset)
            & (rows["selector"] == selector)
            & (rows["classifier"] == classifier)
        ]
        for n_features in np.unique(chosen["n_features"]):
            here = chosen[chosen["n_features"] == n_features]
            points.append(
                Point(
                    dataset=dataset,
                    selector=selector,
                    classifier=classifier,
                    n_features=float(n_features),
                    share=float(here["share"][0]),
                    means={m: _mean(here["value"][here["metric"] == m]) for m in metrics},
                )
            )
    return points


def curves(run: Run) -> Iterator[tuple[str, str, str]]:
    """Data set, selector and classifier of every curve, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    evaluate = run.job["evaluate"]
    if evaluate is None:
        return
    present = {tuple(row) for row in run.evaluation[["dataset", "selector", "classifier"]].tolist()}
    selectors = [select["label"] for select in run.job["select"]]
    for dataset in datasets_of(run):
        for classifier in evaluate["classifier"]:
            for selector in [*selectors, BASELINE]:
                if (dataset, selector, classifier["label"]) in present:
                    yield dataset, selector, classifier["label"]


def datasets_of(run: Run) -> list[str]:
    """Names of the data sets, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    return [dataset["name"] for dataset in run.manifest["datasets"]]


def metrics_of(run: Run) -> list[str]:
    """Names of the measures, in the order of the job.

    Parameters
    ----------
    run
        A run.
    """
    evaluate = run.job["evaluate"]
    return [] if evaluate is None else list(evaluate["metrics"])


def best_point(points: Sequence[Point], metric: str) -> Point | None:
    """The point with the best mean; of equal ones that with fewest features.

    Parameters
    ----------
    points
        Of one curve.
    metric
        Name of the measure.
    """
    sign = -1.0 if higher_is_better(metric) else 1.0
    scored = [
        (sign * value, point.n_features, point)
        for point in points
        if (value := point.means[metric].value) is not None
    ]
    return min(scored, key=lambda item: item[:2])[2] if scored else None


def planted_truth(run: Run) -> list[Planted]:
    """What selections on all rows found of planted truths.

    Parameters
    ----------
    run
        A run; data sets without a known truth are left out.
    """
    found = []
    for selection in run.selections:
        truth: dict[str, Any] | None = run.datasets[selection["dataset"]]["truth"]
        if selection["fold"] is not None or truth is None or selection["problems"] is not None:
            continue
        relevant = set(truth["relevant"])
        top = selection["order"][: len(relevant)]
        found.append(
            Planted(
                dataset=selection["dataset"],
                selector=selection["selector"],
                relevant=len(relevant),
                found=len(relevant & set(top)),
            )
        )
    return found


def _mean(values: NDArray[np.float64]) -> Mean:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return Mean(None, None, 0)
    spread = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return Mean(float(np.mean(known)), spread, len(known))
