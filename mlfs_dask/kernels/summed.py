"""Neighbours by sums of differences: the reading of paper E that adds features up.

Rows are neighbours on a sequence of features if the sum of their differences is at most the sum of
the radii. Sums run in the order of the sequence; a difference is 0 where a value is missing, and 0
or 1 for features whose values are codes, which have no radius.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.separation import WordArray, violates


class SummedRows(NamedTuple):
    """Rows as they are compared.

    Attributes
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
        NaN is missing.
    labels : ndarray of uint64, shape (n_rows, n_label_words)
    """

    X: FloatArray
    labels: WordArray


class SummedRule(NamedTuple):
    """How differences are taken.

    Attributes
    ----------
    radius : ndarray of float64, shape (n_features,)
        0 for features whose values are codes.
    coded : ndarray of bool, shape (n_features,)
    """

    radius: FloatArray
    coded: BoolArray


@jit
def _difference(a: float, b: float, coded: bool) -> float:
    if np.isnan(a) or np.isnan(b):
        return 0.0
    if coded:
        return 0.0 if a == b else 1.0
    return abs(a - b)


@jit
def leave_in_order(
    own: SummedRows, other: SummedRows, rule: SummedRule, order: IntArray, outside: BoolArray
) -> None:
    """Mark rows that have a violator among some rows as neighbour on beginnings of a sequence.

    Parameters
    ----------
    own, other
        Rows that are marked, and those they are compared with.
    rule
        How differences are taken.
    order : ndarray of int64
        The sequence.
    outside : ndarray of bool, shape (n_own, len(order) + 1), changed
    """
    for i in range(len(own.X)):
        for j in range(len(other.X)):
            if not violates(own.labels, i, other.labels, j):
                continue
            outside[i, 0] = True
            total = bound = 0.0
            for t in range(len(order)):
                f = order[t]
                total += _difference(own.X[i, f], other.X[j, f], rule.coded[f])
                bound += rule.radius[f]
                if total <= bound:
                    outside[i, t + 1] = True


@jit
def leave_with(
    own: SummedRows,
    other: SummedRows,
    rule: SummedRule,
    chosen: IntArray,
    candidates: IntArray,
    outside: BoolArray,
) -> None:
    """Mark rows that have a violator among some rows as neighbour on a sequence and one candidate.

    Parameters
    ----------
    own, other, rule
        As for :func:`leave_in_order`.
    chosen, candidates : ndarray of int64
        The sequence; features that come last in turn.
    outside : ndarray of bool, shape (n_own, len(candidates)), changed
    """
    for i in range(len(own.X)):
        for j in range(len(other.X)):
            if not violates(own.labels, i, other.labels, j):
                continue
            total = bound = 0.0
            for t in range(len(chosen)):
                f = chosen[t]
                total += _difference(own.X[i, f], other.X[j, f], rule.coded[f])
                bound += rule.radius[f]
            for c in range(len(candidates)):
                f = candidates[c]
                more = _difference(own.X[i, f], other.X[j, f], rule.coded[f])
                if total + more <= bound + rule.radius[f]:
                    outside[i, c] = True
