"""Time and memory of classifiers along a curve, from sizes alone.

Classifiers look at neighbours, at densities, or are made of models of a base learner (those stand
in `mlfs_dask.jobs.model_costs`). Numbers as in `mlfs_dask.jobs.selector_costs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mlfs_dask.jobs.model_costs import models_seconds, n_models
from mlfs_dask.jobs.row_shape import MIB, NS, Params, Shape, passes
from mlfs_dask.jobs.selector_costs import distances
from mlfs_dask.jobs.selector_memory import Room, search
from mlfs_dask.jobs.workload import Stage, Work

_NUMBERS_PER_DENSITY: Final = 11  # of a feature and label: densities and moments


def curve(method: str, params: Params, s: Shape, test: int, widths: Sequence[int]) -> Work:
    """Training and predicting at all points of a curve.

    Parameters
    ----------
    method, params
        Of the classifier.
    s
        Training rows.
    test
        Test rows.
    widths
        Features at the points.
    """
    reading = passes(s, "reading", 2.0, first=True)
    if method == "mlnb":
        ns = 5.0 * s.d * s.q * len(widths)
        return Work("densities", (reading, Stage("densities", (s.n + test) * ns * NS, s.tiles)))
    if n_models(method, dict(params), s.q) > 0:
        stored = min(1.0, s.per_row / s.d) if s.sparse else 1.0
        shape = s.q, (s.n, test), widths, stored
        models = models_seconds(method, dict(params), *shape)
        n_tasks = n_models(method, dict(params), s.q) * len(widths)
        road = f"models of {params['base']}"
        return Work(road, (reading, Stage("models", models, n_tasks)))
    return Work(_neighbour_road(s), (reading, *_neighbours(s, test, len(widths))))


def _neighbour_road(s: Shape) -> str:
    return f"neighbours by {s.compared_by}"


def _neighbours(s: Shape, test: int, points: int) -> tuple[Stage, ...]:
    """Distances among training rows and from test rows, neighbours at every point."""
    pairs = float(s.n) * (s.n + test)
    ns = distances(s, {}) + 0.15 * points
    tasks = max(8.0, (s.n + test) / 1024)
    return (
        Stage("distances", pairs * ns * NS, tasks),
        Stage("measures", 150.0 * test * points * s.q * NS),
    )


def room(
    method: str, params: Params, s: Shape, test: int, widths: Sequence[int], share: float
) -> Room:
    """Bytes of the arrays.

    Parameters
    ----------
    method, params, s, test, widths
        As in `curve`.
    share
        Of what is kept with ample memory.
    """
    results = 40.0 * test * s.q * len(widths)
    width = max(widths, default=1)
    if method == "mlnb":
        densities = 8.0 * _NUMBERS_PER_DENSITY * s.q * s.d
        return Room(held=3 * densities + results, task=16.0 * min(s.tile, s.n) * s.q)
    if n_models(method, dict(params), s.q) > 0:
        rows = (s.n + test) * (24.0 * s.per_row if s.sparse else 8.0 * width)
        kernel = 8.0 * s.n * min(s.n, 4096) if params["base"] == "svm-rbf" else 0.0
        solver = min(256 * MIB * share, 8.0 * s.n * width)
        return Room(held=2 * rows + results, task=kernel + solver)
    k = params.get("n_neighbors", 10)
    found = search(s, share, k, len(widths))
    kept = 3.0 * len(widths) * (s.n + test) * s.q + results
    return Room(found.held + kept, found.task, found.result)
