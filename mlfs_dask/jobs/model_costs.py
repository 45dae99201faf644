"""Rough time of the classifiers that are made of models, from sizes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

_MODEL_SECONDS: Final = 1e-3  # a model of nothing
# One core, seconds per row and feature (trees, Bayes), per row and squared feature (logistic), per
# pair of rows and feature (machines, neighbours).
_TREE: Final = 5e-7
_BAYES: Final = 2.5e-8
_LOGISTIC: Final = 5e-10
_PAIRS: Final = {"svm-rbf": 2.5e-10, "knn": 1.2e-10}
_SETS_SLOWER: Final = {"logistic": 30.0, "knn": 1.0}  # many classes against two; others:
_OTHERS_SLOWER: Final = 2.0


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


def model_seconds(
    method: str, params: dict[str, Any], rows: tuple[int, int], widths: Sequence[int]
) -> float:
    """Rough time of one model at all points of a curve, on one core.

    Parameters
    ----------
    method, params
        As for `n_models`.
    rows
        Training and test rows.
    widths
        Features at the points.
    """
    train, test = rows
    if method == "clr":  # a pair learns from the rows with one of the two labels
        train //= 2
    base = params["base"]
    slower = _SETS_SLOWER.get(base, _OTHERS_SLOWER) if method in ("lp", "rakel") else 1.0
    if base == "logistic":
        work = _LOGISTIC * train * sum(width**2 for width in widths)
    elif base in _PAIRS:
        work = _PAIRS[base] * train * (train + test) * sum(widths)
    else:
        work = (_BAYES if base == "naive-bayes" else _TREE) * train * sum(widths)
    return len(widths) * _MODEL_SECONDS + slower * work
