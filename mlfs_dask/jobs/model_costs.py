"""Rough time and memory of the classifiers that are made of models, from sizes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from mlfs_dask.jobs.row_shape import MIB, Params, Shape

_MODEL_SECONDS: Final = 1e-3  # a model of nothing
# One core, seconds per row and feature (trees, Bayes), per row and squared feature (logistic).
_TREE: Final = 5e-7
_OF_BITS: Final = 0.2  # of that, where values are two
_SLOWER_FROM: Final = 600.0  # classes: each split counts all of them
_C45: Final = 2.5e-7
_SORTED: Final = 12.0  # a stored value of sparse rows costs so many cells
_BAYES: Final = 1.8e-8
_CLASS_OF_A_CELL: Final = 2e-9
_LOGISTIC: Final = 5e-10
# Where the curvature is not made whole: steps; of a row and coefficient, dense or stored.
_STEPS_SECONDS, _DENSE_BY_STEPS, _STORED_BY_STEPS = 0.5, 2e-7, 2e-6
# Neighbours: a search among the training rows of a model; per pair of rows; per pair and feature,
# or stored value of sparse rows.
_SEARCH_SECONDS: Final = 5e-3
_LOOK: Final = 1e-9
_FEATURE_OF_A_LOOK: Final = 6e-11
_ENTRY_OF_A_LOOK: Final = 1e-10
# Support vector machines: a model of nothing; per pair of rows; per pair of rows and feature, or
# stored value of sparse rows.
_MACHINE_SECONDS: Final = 2e-3
_PAIR_OF_ROWS: Final = 1.1e-8
_VALUE_OF_A_PAIR: Final = 1.6e-10
_ENTRY_OF_A_PAIR: Final = 2e-9
# Copies of its rows as float64 that a learner holds at a time, the one it is given among them.
_DENSE_COPIES: Final = {
    "logistic": 3.0,
    "tree": 2.5,
    "c45": 4.5,
    "knn": 2.0,
    "svm-rbf": 2.0,
    "naive-bayes": 3.5,
}
_TAKE_SPARSE: Final = ("tree", "knn", "svm-rbf")  # logistic where there are many coefficients
_SPARSE_COPIES: Final = 3.0
_CELL: Final = 12.0  # of sparse rows as float64
_EXACT, _EXACT_SPARSE, _FEW_CELLS = 4096, 512, 0.1
_KERNEL_CACHE: Final = 200.0 * MIB
_LABELS_OF_A_ROW: Final = 2.0  # as good a guess as any without a look at the labels


def n_models(method: str, params: dict[str, Any], n_labels: int) -> int:
    """Models of a classifier at one point of a curve; 0: it is not made of models.

    Parameters
    ----------
    method
        Registered name.
    params
        Of the classifier.
    n_labels
        Of the data set.

    Examples
    --------
    >>> n_models("clr", {}, 14), n_models("rakel", {"labelset_size": 3, "n_models": None}, 14)
    (105, 28)
    """
    if method == "rakel":
        size = min(params["labelset_size"], n_labels)
        return min(params["n_models"] or 2 * n_labels, math.comb(n_labels, size))
    known = {"br": n_labels, "lp": 1, "clr": n_labels * (n_labels + 1) // 2}
    return known.get(method, 0)


def models_seconds(
    method: str, params: Params, s: Shape, test: int, widths: Sequence[int]
) -> float:
    """Rough time of all models at all points of a curve, on one core.

    Parameters
    ----------
    method, params
        As for `n_models`.
    s
        Training rows.
    test
        Test rows.
    widths
        Features at the points.
    """
    shapes = [(n_models(method, dict(params), s.q), s.n)]
    if method == "clr":  # a pair learns from the rows with one of its two labels
        label = min(0.5, _LABELS_OF_A_ROW / s.q)
        pairs = s.q * (s.q - 1) // 2
        shapes = [(pairs, int(2 * label * (1 - label) * s.n)), (s.q, s.n)]
    outputs = classes(method, params, s)
    return sum(
        number * _model_seconds(params["base"], replace(s, n=max(1, learned)), test, width, outputs)
        for number, learned in shapes
        for width in widths
    )


def _model_seconds(base: Any, s: Shape, test: int, width: int, n_classes: float) -> float:
    """Of a model that learns from all rows of a shape."""
    stored = min(1.0, s.per_row / s.d) if s.sparse else 1.0
    cells = s.n * width * stored
    if base == "logistic":
        return _MODEL_SECONDS + _logistic_seconds(s, width, n_classes, stored)
    if base == "knn":
        values = _FEATURE_OF_A_LOOK if stored >= 1 else _ENTRY_OF_A_LOOK * stored
        return _SEARCH_SECONDS + s.n * test * (_LOOK + values * width)
    if base == "svm-rbf":
        values = _VALUE_OF_A_PAIR if stored >= 1 else _ENTRY_OF_A_PAIR * stored
        return _MACHINE_SECONDS + s.n * (s.n + test) * (_PAIR_OF_ROWS + values * width)
    if base == "naive-bayes":
        asked = _CLASS_OF_A_CELL * n_classes * test * width
        return _MODEL_SECONDS + _BAYES * s.n * width + asked
    if base == "c45":
        return _MODEL_SECONDS + _C45 * min(s.n * width, _SORTED * cells)
    # Zeros of sparse rows are not sorted, but each node still looks at each feature.
    looks = min(1.0, 0.08 + 3.0 * stored) * (_OF_BITS if s.bits and not s.sparse else 1.0)
    return _MODEL_SECONDS + _TREE * s.n * width * looks * (1.0 + n_classes / _SLOWER_FROM)


def _logistic_seconds(s: Shape, width: int, n_classes: float, stored: float) -> float:
    """Newton's method with all curvature while coefficients are few, else gradients."""
    coefficients = width * (n_classes if n_classes > 2 else 1.0)
    few = stored < _FEW_CELLS
    if coefficients <= (_EXACT_SPARSE if few else _EXACT):
        return _LOGISTIC * coefficients**2 * (s.n + coefficients / 3)
    each = _STORED_BY_STEPS * stored if few else _DENSE_BY_STEPS
    return _STEPS_SECONDS + each * s.n * coefficients


def model_bytes(
    method: str, params: Params, s: Shape, test: int, width: int
) -> tuple[float, float]:
    """Rough bytes of one model while it is fitted and asked.

    Parameters
    ----------
    method, params
        Of the classifier.
    s
        Training rows.
    test
        Test rows.
    width
        Features at the largest point.

    Returns
    -------
    held, task : float
        By all models together: training rows in the stored form; by each besides.
    """
    share = min(1.0, width / s.d)
    kept = s.n * s.per_row * share * s.item_bytes
    base, n_classes = params["base"], classes(method, params, s)
    tile = min(s.tile, test)
    dense = 8.0 * width * (s.n * _DENSE_COPIES.get(base, 3.0) + 2 * tile)
    cells = s.n * s.per_row * share * _CELL
    task = dense
    if s.sparse and _stays_sparse(base, s, width):
        task = cells * _SPARSE_COPIES
    elif s.sparse:
        task = dense + cells
    answers = 8.0 * n_classes * 3 * test
    if base == "logistic":
        task += 8.0 * min(width, _EXACT) ** 2 + 8.0 * n_classes * (3.0 * s.n + 25.0 * width)
    elif base == "naive-bayes":
        task += 32.0 * n_classes * width
    elif base in ("tree", "c45"):
        task += 8.0 * 2 * s.n * (n_classes + 8)
    elif base == "svm-rbf":
        task += min(_KERNEL_CACHE, 4.0 * float(s.n) ** 2)
    return kept, task + answers


def _stays_sparse(base: Any, s: Shape, width: int) -> bool:
    if base == "logistic":
        return width > _EXACT_SPARSE and s.per_row < _FEW_CELLS * s.d
    return base in _TAKE_SPARSE


def classes(method: str, params: Params, s: Shape) -> float:
    """Classes that a model tells apart.

    Parameters
    ----------
    method, params
        Of the classifier.
    s
        Training rows.
    """
    if method == "lp":
        return float(s.u)
    if method == "rakel":
        return float(min(s.u, 2 ** min(20, params["labelset_size"])))
    return 2.0
