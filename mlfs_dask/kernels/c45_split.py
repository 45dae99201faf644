"""Which feature a C4.5 node tests: gain, gain ratio, the price of a threshold.

With n the weight of a node and m the weight of its rows whose value is known, in bits::

    gain(r)  = m/n (H(class) - H(class | branch))        - log2(thresholds) / n  if r is numeric
    ratio(r) = gain(r) / H(branch, "unknown" being one more branch)

H(class) and H(class | branch) are of the known rows. The ratio alone would favour lopsided
branches, so only features of at least average gain compete (Quinlan 1993, section 2.2); a
threshold has to pay for being chosen among many (Quinlan 1996, section 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.c45_tree import TINY, Table

_SAME_VALUE = 1e-5
"""Values this close are not told apart by a threshold."""
_NEARLY_AVERAGE = 1e-3
_MOST_PER_BRANCH = 25.0


class Work(NamedTuple):
    """What all nodes write over.

    Attributes
    ----------
    weight : ndarray of float64, shape (n_samples,)
        Of the rows in the node at hand.
    side : ndarray of int64, shape (n_samples,)
        Child they go to; -1 if that is not known.
    logs : ndarray of float64
        ``x log2 x`` of whole numbers.
    below, above : ndarray of float64, shape (n_classes,)
        Weight of the classes on either side of a threshold.
    branches : ndarray of float64, shape (most_values, n_classes)
        The same by nominal value.
    gain, ratio, threshold : ndarray of float64, shape (n_features,)
        What was found; a gain of -1: no split.
    """

    weight: FloatArray
    side: IntArray
    logs: FloatArray
    below: FloatArray
    above: FloatArray
    branches: FloatArray
    gain: FloatArray
    ratio: FloatArray
    threshold: FloatArray


def make_work(table: Table) -> Work:
    """Room for the nodes of a tree.

    Parameters
    ----------
    table
        Training rows.
    """
    d, n = table.columns.shape
    k = table.n_classes
    whole = np.arange(n + 1.0)
    return Work(
        weight=np.zeros(n),
        side=np.zeros(n, dtype=np.int64),
        logs=whole * np.log2(np.maximum(whole, 1)),
        below=np.empty(k),
        above=np.empty(k),
        branches=np.empty((table.n_values.max(), k)),
        gain=np.empty(d),
        ratio=np.empty(d),
        threshold=np.empty(d),
    )


@jit
def _plogp(x: float, logs: FloatArray) -> float:
    """``x log2 x``, 0 for what is next to nothing."""
    if x < TINY:
        return 0.0
    whole = int(x)
    if whole == x and whole < len(logs):
        return float(logs[whole])
    return x * math.log2(x)


@jit
def _gain(before: float, after: float, known: float, total: float) -> float:
    gained = known / total * (before - after)
    return 0.0 if abs(gained) < TINY else gained / known


@jit
def _ratio(gain: float, branches: float, known: float, total: float, logs: FloatArray) -> float:
    """Gain ratio; ``branches`` is the sum of ``x log2 x`` over the branches."""
    if known <= TINY:
        return 0.0
    spread = _plogp(total, logs) - branches - _plogp(total - known, logs)
    return 0.0 if abs(spread) < TINY else gain / (spread / total)


@jit
def best_split(
    table: Table,
    rows: NDArray[np.int32],
    order: NDArray[np.int32],
    total: float,
    work: Work,
    weighed: BoolArray,
    min_objects: float,
) -> int:
    """Feature that a node should test, -1 if none is worth it.

    Parameters
    ----------
    table
        Training rows.
    rows : ndarray of int32
        Those in the node; their weights are in ``work.weight``.
    order : ndarray of int32, shape (n_numeric, len(rows))
        The same by ascending value of each numeric feature, missing values last.
    total
        Sum of their weights.
    work
        ``work.threshold`` receives the threshold of a numeric feature: a training value.
    weighed : ndarray of bool, shape (n_features,)
        Features whose gain counts in the average.
    min_objects
        Least weight of two branches.
    """
    numeric = 0
    for r in range(len(table.n_values)):
        if table.n_values[r] == 0:
            _try_thresholds(table, r, order[numeric], total, work, min_objects)
            numeric += 1
        else:
            _try_values(table, r, rows, total, work, min_objects)
    best = _choose(work.gain, work.ratio, weighed)
    if best >= 0 and table.n_values[best] == 0:
        work.threshold[best] = _value_up_to(table.columns[best], work.threshold[best])
    return best


@jit
def _choose(gain: FloatArray, ratio: FloatArray, weighed: BoolArray) -> int:
    """The highest ratio among features of nearly average gain; of equal ones the first."""
    average, n = 0.0, 0
    for r in range(len(gain)):
        if gain[r] >= 0 and weighed[r]:
            average += gain[r]
            n += 1
    if n == 0:
        return -1
    average /= n
    best, highest = -1, 0.0
    for r in range(len(gain)):
        if gain[r] >= max(0.0, average - _NEARLY_AVERAGE) and ratio[r] - highest > TINY:
            best, highest = r, ratio[r]
    return best


@jit
def _value_up_to(values: FloatArray, limit: float) -> float:
    """The greatest value of the whole training set that is not above a limit."""
    found = -np.inf
    for value in values:
        if found < value <= limit:
            found = value
    return found


@jit
def _try_values(
    table: Table,
    r: int,
    rows: NDArray[np.int32],
    total: float,
    work: Work,
    min_objects: float,
) -> None:
    """One branch for each value of a nominal feature."""
    work.gain[r], work.ratio[r], work.threshold[r] = -1.0, 0.0, np.nan
    values, n_values, branches, classes = (
        table.columns[r],
        table.n_values[r],
        work.branches,
        work.below,
    )
    branches[:n_values] = 0.0
    classes[:] = 0.0
    for row in rows:
        if not np.isnan(values[row]):
            branches[int(values[row]), table.target[row]] += work.weight[row]
            classes[table.target[row]] += work.weight[row]
    filled, known, after, spread = 0, 0.0, 0.0, 0.0
    for v in range(n_values):
        weight = 0.0
        for c in range(table.n_classes):
            weight += branches[v, c]
            after -= _plogp(branches[v, c], work.logs)
        known += weight
        spread += _plogp(weight, work.logs)
        if min_objects - weight < TINY:
            filled += 1
    if filled < 2:
        return
    before = _plogp(known, work.logs)
    for c in range(table.n_classes):
        before -= _plogp(classes[c], work.logs)
    work.gain[r] = _gain(before, after + spread, known, total)
    work.ratio[r] = _ratio(work.gain[r], spread, known, total, work.logs)


@jit
def _try_thresholds(
    table: Table,
    r: int,
    order: NDArray[np.int32],
    total: float,
    work: Work,
    min_objects: float,
) -> None:
    """Two branches, values up to a threshold and beyond it: the threshold of the highest gain."""
    work.gain[r], work.ratio[r], work.threshold[r] = -1.0, 0.0, np.nan
    values = table.columns[r]
    n_known, known = _known_classes(values, order, table.target, work)
    least = 0.1 * known / table.n_classes
    least = min_objects if least - min_objects < TINY else min(least, _MOST_PER_BRANCH)
    if 2 * least - n_known > TINY:
        return
    gain, place, below, tried = _best_place(table, r, order[:n_known], known, total, work, least)
    if tried == 0:
        return
    gain -= math.log2(tried) / total
    if gain < TINY:
        return
    low, high = values[order[place]], values[order[place + 1]]
    middle = (low + high) / 2
    work.gain[r] = gain
    work.threshold[r] = low if middle == high else middle
    spread = _plogp(below, work.logs) + _plogp(known - below, work.logs)
    work.ratio[r] = _ratio(gain, spread, known, total, work.logs)


@jit
def _known_classes(
    values: FloatArray, order: NDArray[np.int32], target: IntArray, work: Work
) -> tuple[int, float]:
    """Number and weight of the rows with a value; their classes go to ``work.above``."""
    work.above[:] = 0.0
    n_known = len(order)
    while n_known > 0 and np.isnan(values[order[n_known - 1]]):
        n_known -= 1
    known = 0.0
    for row in order[:n_known]:
        work.above[target[row]] += work.weight[row]
        known += work.weight[row]
    return n_known, known


@jit
def _best_place(
    table: Table,
    r: int,
    order: NDArray[np.int32],
    known: float,
    total: float,
    work: Work,
    least: float,
) -> tuple[float, int, float, int]:
    """Highest gain, the place after which it parts the rows, the weight before, places tried.

    A later place has to gain 1e-6 more than the best before it.
    """
    values, target, logs = table.columns[r], table.target, work.logs
    below, above = work.below, work.above
    below[:] = 0.0
    inside = 0.0  # sum of x log2 x over classes and sides
    for c in range(table.n_classes):
        inside += _plogp(above[c], logs)
    before = _plogp(known, logs) - inside
    best, place, weight_there, tried, weight = 0.0, -1, 0.0, 0, 0.0
    for e in range(len(order) - 1):
        row = order[e]
        c, w = target[row], work.weight[row]
        inside -= _plogp(below[c], logs) + _plogp(above[c], logs)
        below[c] += w
        above[c] -= w
        inside += _plogp(below[c], logs) + _plogp(above[c], logs)
        weight += w
        if not values[row] + _SAME_VALUE < values[order[e + 1]]:
            continue
        if least - weight >= TINY or least - (known - weight) >= TINY:
            continue
        tried += 1
        after = _plogp(weight, logs) + _plogp(known - weight, logs) - inside
        gain = _gain(before, after, known, total)
        if gain - best > TINY:
            best, place, weight_there = gain, e, weight
    return best, place, weight_there, tried
