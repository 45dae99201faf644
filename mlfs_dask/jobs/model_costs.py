"""Rough time of the classifiers that are made of models, from sizes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

_MODEL_SECONDS: Final = 1e-3  # a model of nothing
# One core, seconds per row and feature (trees, Bayes), per row and squared feature (logistic), per
# pair of rows and feature (neighbours).
_TREE: Final = 5e-7
_BAYES: Final = 2.5e-8
_LOGISTIC: Final = 5e-10
_NEIGHBOURS: Final = 1.2e-10
# Support vector machines: a model of nothing; per pair of rows; per pair of rows and feature, or
# stored value of sparse rows.
_MACHINE_SECONDS: Final = 2e-3
_PAIR_OF_ROWS: Final = 1.1e-8
_VALUE_OF_A_PAIR: Final = 1.6e-10
_ENTRY_OF_A_PAIR: Final = 1e-9
_SETS_SLOWER: Final = {"logistic": 30.0, "knn": 1.0}  # many classes against two; others:
_OTHERS_SLOWER: Final = 2.0
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
    method: str,
    params: dict[str, Any],
    n_labels: int,
    rows: tuple[int, int],
    widths: Sequence[int],
    stored: float = 1.0,
) -> float:
    """Rough time of all models at all points of a curve, on one core.

    Parameters
    ----------
    method, params, n_labels
        As for `n_models`.
    rows
        Training and test rows.
    widths
        Features at the points.
    stored
        Share of the cells that are stored, 1 unless rows are sparse.
    """
    train, test = rows
    shapes = [(n_models(method, params, n_labels), train)]
    if method == "clr":  # a pair learns from the rows with one of its two labels
        label = min(0.5, _LABELS_OF_A_ROW / n_labels)
        pairs = n_labels * (n_labels - 1) // 2
        shapes = [(pairs, int(2 * label * (1 - label) * train)), (n_labels, train)]
    slower = 1.0
    if method in ("lp", "rakel"):
        slower = _SETS_SLOWER.get(params["base"], _OTHERS_SLOWER)
    return sum(
        number * (slower * _model_seconds(params["base"], learned, test, width, stored))
        for number, learned in shapes
        for width in widths
    )


def _model_seconds(base: Any, train: int, test: int, width: int, stored: float) -> float:
    if base == "logistic":
        return _MODEL_SECONDS + _LOGISTIC * train * width**2
    if base == "knn":
        return _MODEL_SECONDS + _NEIGHBOURS * train * (train + test) * width
    if base == "svm-rbf":
        values = _VALUE_OF_A_PAIR if stored >= 1 else _ENTRY_OF_A_PAIR * stored
        return _MACHINE_SECONDS + train * (train + test) * (_PAIR_OF_ROWS + values * width)
    return _MODEL_SECONDS + (_BAYES if base == "naive-bayes" else _TREE) * train * width
