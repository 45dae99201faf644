"""Time and memory of classifiers along a curve, from sizes alone.

Classifiers look at neighbours, at densities, or are made of models of a base learner (those stand
in `mlfs_dask.jobs.model_costs`). Numbers as in `mlfs_dask.jobs.selector_costs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mlfs_dask.jobs.model_costs import model_bytes, models_seconds, n_models
from mlfs_dask.jobs.row_shape import MIB, NS, Params, Shape, passes
from mlfs_dask.jobs.selector_costs import distances
from mlfs_dask.jobs.selector_memory import Room, search
from mlfs_dask.jobs.workload import Stage, Work

_NUMBERS_PER_DENSITY: Final = 11  # of a feature and label: densities and moments
_CURVATURE: Final = 0.6  # of a row and two inputs, in all steps of Newton's method
_COUNTS_OF_A_PAIR: Final = 1.6  # two rows' counts of a label are compared


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
        passed = len(widths) if params.get("pca") is not None else 1  # else one for all points
        ns = max(widths, default=1) * (25.0 + 0.3 * s.q) * passed
        return Work("densities", (reading, Stage("densities", (s.n + test) * ns * NS, s.tiles)))
    if n_models(method, dict(params), s.q) > 0:
        models = models_seconds(method, params, s, test, widths)
        n_tasks = n_models(method, dict(params), s.q) * len(widths)
        road = f"models of {params['base']}"
        return Work(road, (reading, Stage("models", models, n_tasks)))
    return Work(_neighbour_road(s), (reading, *_neighbours(method, params, s, test, widths)))


def _neighbour_road(s: Shape) -> str:
    return f"neighbours by {s.compared_by}"


def _neighbours(
    method: str, params: Params, s: Shape, test: int, widths: Sequence[int]
) -> tuple[Stage, ...]:
    """Distances among training rows, if they are asked for, and from test rows at every point."""
    points = len(widths)
    asking = test if method == "brknn" else s.n + test
    ns = distances(s) + 0.15 * points
    lists = 150.0 * params.get("n_neighbors", 10) * points
    tasks = max(8.0, asking / 1024)
    stages = (
        Stage("distances", asking * (s.n * ns + lists) * NS, tasks),
        Stage("measures", 50.0 * test * points * s.q * NS),
    )
    if method == "dmlknn":
        alike = _COUNTS_OF_A_PAIR * s.n * test * points * s.q * NS
        return (*stages, Stage("rows that are alike", alike, tasks))
    if method == "iblr":
        return (*stages, Stage("regressions", _regressions(params, s, widths) * NS, s.q))
    return stages


def _regressions(params: Params, s: Shape, widths: Sequence[int]) -> float:
    """Nanoseconds of one for each label and point, on what neighbours carry of all labels."""
    own = [width if params.get("plus") else 0 for width in widths]
    return sum(_CURVATURE * s.q * s.n * (s.q + 1.0 + width) ** 2 for width in own)


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
    results = 16.0 * test * s.q * len(widths)
    width = max(widths, default=1)
    if method == "mlnb":
        densities = 8.0 * _NUMBERS_PER_DENSITY * s.q * s.d
        rows = min(s.tile, s.n)
        dense = 3 * min(8.0 * MIB, 8.0 * rows * s.d)
        return Room(held=3 * densities + results, task=dense + 16.0 * rows * s.q)
    if n_models(method, dict(params), s.q) > 0:
        held, task = model_bytes(method, params, s, test, width)
        return Room(held + 40.0 * test * s.q, task)
    k = params.get("n_neighbors", 10)
    found = search(s, share, k, len(widths))
    kept = 3.0 * len(widths) * (s.n + test) * s.q + results
    if method == "iblr":
        inputs = s.q + 1 + (width if params.get("plus") else 0)
        kept += 2 * min(256 * MIB * share, 8.0 * s.n * inputs)
    return Room(found.held + kept, found.task, found.result)
