"""Logistic regressions of many labels: one unit per point of a curve and group of labels.

::

    tiles ──────> columns of features ──┐
                                        ├─> standardised rows ──Newton──> weights of each label
    neighbours ─> counts of labels ─────┘

A unit makes its rows tile by tile, keeps them if that takes at most ``KEPT_BYTES``, else makes them
anew for every step: memory does not grow with the number of rows. More inputs than rows are first
compressed to as many as rows have directions. A label's weights depend on nothing but these rows,
so grouping and workers do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.budget import room
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import TileItem, load_block
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.kernels.logistic import compress, fit_logistic, linear_scores

KEPT_BYTES = 256 * 2**20
"""Standardised rows of a unit are kept between steps if they take no more."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of the regressions: columns of features, then counts of labels among neighbours.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_blocks + 1,)
        Block b is the rows ``offsets[b]:offsets[b + 1]``.
    items : list of TileItem
        The blocks' features; empty: none are inputs.
    columns : Columns or None
        Numeric columns that stand for features.
    which : ndarray of int64
        Those that are inputs, in order.
    ends : ndarray of int64, shape (n_points,)
        How many of them are inputs at each point.
    counts : ndarray, shape (n_rows, n_points, n_counts)
    """

    offsets: IntArray
    items: list[TileItem]
    columns: Columns | None
    which: IntArray
    ends: IntArray
    counts: AnyArray

    @property
    def n_blocks(self) -> int:
        """Number of blocks of rows."""
        return len(self.offsets) - 1

    def width(self, point: int) -> int:
        """Number of inputs at a point."""
        return int(self.ends[point]) + int(self.counts.shape[2])

    def raw(self, b: int, point: int) -> FloatArray:
        """Rows of a block as they are, shape (n_rows, width)."""
        counts = self.counts[self.offsets[b] : self.offsets[b + 1], point]
        if self.columns is None:
            return counts.astype(np.float64)
        chosen = self.which[: self.ends[point]]
        return np.hstack([self.columns.dense(load_block(self.items[b]), chosen), counts])


class Models(NamedTuple):
    """Regressions of all labels at one point.

    Attributes
    ----------
    mean, deviation : ndarray of float64, shape (n_inputs,)
        Of the training rows; the deviation with n - 1, as WEKA has it.
    weights : ndarray of float64, shape (n_inputs + 1, n_labels)
        For standardised inputs. A label that all or no training rows carry has an intercept of
        plus or minus infinity and no slopes.
    n_steps : ndarray of int64, shape (n_labels,)
    converged : ndarray of bool, shape (n_labels,)
    """

    mean: FloatArray
    deviation: FloatArray
    weights: FloatArray
    n_steps: IntArray
    converged: BoolArray


def fit_labels(inputs: Inputs, labels: ByteArray, executor: Executor) -> list[Models]:
    """Fit all labels at every point.

    Parameters
    ----------
    inputs
        Of the training rows.
    labels : ndarray of uint8, shape (n_rows, n_labels)
    executor
        Where to run.

    Returns
    -------
    list of Models
        By point.
    """
    present = labels.sum(axis=0, dtype=np.int64)
    varying = np.flatnonzero((present > 0) & (present < len(labels)))
    n_points = len(inputs.ends)
    # A few units per worker: each makes its rows once, so more of them would only cost.
    n_groups = min(len(varying), max(1, -(-4 * executor.n_workers // n_points)))
    groups = np.array_split(varying, n_groups) if n_groups else []
    units = [_Unit(point, group) for point in range(n_points) for group in groups]
    models = [_without_slopes(inputs.width(p), present, len(labels)) for p in range(n_points)]
    shared = executor.share(inputs), executor.share(labels)
    for unit, part in zip(units, executor.map(_fit_unit, units, *shared), strict=True):
        held = models[unit.point]
        held.weights[:, unit.labels] = part.weights
        held.n_steps[unit.labels] = part.n_steps
        held.converged[unit.labels] = part.converged
        models[unit.point] = held._replace(mean=part.mean, deviation=part.deviation)
    return models


def probabilities(inputs: Inputs, models: Sequence[Models], executor: Executor) -> FloatArray:
    """Probability of each label, shape (n_rows, n_points, n_labels).

    Parameters
    ----------
    inputs
        Of the rows.
    models
        From :func:`fit_labels`.
    executor
        Where to run.
    """
    shared = executor.share(inputs), executor.share(list(models))
    parts = list(executor.map(_score_block, range(inputs.n_blocks), *shared))
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Unit:
    point: int
    labels: IntArray


def _without_slopes(width: int, present: IntArray, n_rows: int) -> Models:
    """What is known before any fit: labels that all or no rows carry."""
    weights = np.zeros((width + 1, len(present)))
    weights[0, present == 0] = -np.inf
    weights[0, present == n_rows] = np.inf
    n_steps = np.zeros(len(present), dtype=np.int64)
    converged = np.ones(len(present), dtype=bool)
    return Models(np.zeros(width), np.zeros(width), weights, n_steps, converged)


def _fit_unit(unit: _Unit, inputs: Inputs, labels: ByteArray) -> Models:
    mean, deviation = _moments(inputs, unit.point)

    def standardized() -> Iterator[FloatArray]:
        for b in range(inputs.n_blocks):
            yield _standardized(inputs.raw(b, unit.point), mean, deviation)

    n_rows, width, basis = len(labels), len(mean), None
    kept = None
    if width > n_rows:
        coordinates, basis = compress(np.concatenate(list(standardized())))
        kept = [_with_ones(coordinates)]
    elif 8 * n_rows * (width + 1) <= room(KEPT_BYTES):
        kept = [_with_ones(rows) for rows in standardized()]

    def blocks() -> Iterable[FloatArray]:
        return (_with_ones(rows) for rows in standardized()) if kept is None else kept

    found = [fit_logistic(blocks, labels[:, label]) for label in unit.labels]
    weights = [fitted.weights for fitted in found]
    if basis is not None:
        # One label at a time: a product with several would depend on how they are grouped.
        with single_blas_thread():
            weights = [np.concatenate([each[:1], basis @ each[1:]]) for each in weights]
    return Models(
        mean,
        deviation,
        np.stack(weights, axis=1),
        np.array([fitted.n_steps for fitted in found], dtype=np.int64),
        np.array([fitted.converged for fitted in found]),
    )


def _with_ones(rows: FloatArray) -> FloatArray:
    return np.hstack([np.ones((len(rows), 1)), rows])


def _moments(inputs: Inputs, point: int) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each input, sums in row order inside a block, blocks in order."""
    n, width = int(inputs.offsets[-1]), inputs.width(point)
    total, squares = np.zeros(width), np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    for b in range(inputs.n_blocks):
        rows = inputs.raw(b, point)
        total += rows.sum(axis=0)
        low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
    mean = total / n
    for b in range(inputs.n_blocks):
        squares += ((inputs.raw(b, point) - mean) ** 2).sum(axis=0)
    # The mean of equal values may be a rounding away from them.
    return mean, np.where(low < high, np.sqrt(squares / max(1, n - 1)), 0.0)


def _standardized(rows: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Rows less the mean in units of the deviation; inputs without any become 0."""
    return np.divide(rows - mean, deviation, out=np.zeros(rows.shape), where=deviation > 0)


def _score_block(b: int, inputs: Inputs, models: Sequence[Models]) -> FloatArray:
    scores = []
    for point, model in enumerate(models):
        rows = _standardized(inputs.raw(b, point), model.mean, model.deviation)
        scores.append(expit(linear_scores(rows, np.ascontiguousarray(model.weights))))
    return np.stack(scores, axis=1)
