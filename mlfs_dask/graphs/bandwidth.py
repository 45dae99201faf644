"""The bandwidth of an RBF similarity on features: half the median squared distance of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.affinity import pack_rows
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, TileTasks
from mlfs_dask.kernels.distances import NOMINAL, DistanceRule

N_PAIRS = 10_000
_GATHER_BYTES = 64 * 2**20
# Of typical distances whose squares, and one over them, are in the range of float64.
_SQUARES = (1e-300, 1e300)


def median_bandwidth(
    source: Source, rule: DistanceRule, random_state: Any, executor: Executor
) -> float:
    """δ with δ² = half the median squared distance of 10,000 seeded pairs of different rows.

    Parameters
    ----------
    source
        Rows, at least two.
    rule
        How rows are compared.
    random_state
        Seed, seed sequence or generator.
    executor
        Where to run.

    Returns
    -------
    float
        Where more than half of the pairs coincide, the mean takes the median's place; 1 if all do.

    Raises
    ------
    InputError
        Squared distances near the ends of the range of float64.
    """
    left, right = _draw_pairs(source.n_samples, random_state)
    return _half_median(_pair_distances(source, rule, left, right, executor))


def label_bandwidth(Y: ByteArray, random_state: Any) -> float:
    """As :func:`median_bandwidth` for label vectors.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels)
    random_state
        Seed, seed sequence or generator.
    """
    left, right = _draw_pairs(len(Y), random_state)
    return _half_median((Y[left] != Y[right]).sum(axis=1).astype(np.float64))


def _draw_pairs(n: int, random_state: Any) -> tuple[IntArray, IntArray]:
    rng = np.random.default_rng(random_state)
    left = rng.integers(0, n, N_PAIRS)
    return left, (left + rng.integers(1, max(n, 2), N_PAIRS)) % n


def _half_median(squared: FloatArray) -> float:
    with np.errstate(over="ignore"):
        typical = float(np.median(squared)) or float(np.mean(squared))
    if typical == 0:
        return 1.0
    low, high = _SQUARES
    if not low <= typical <= high:  # NaN too
        raise InputError(
            f"squared distances leave the range of float64: they are about {typical:.3g}",
            hint='Scale the features: normalize = "minmax", or units of ordinary size.',
        )
    return float(np.sqrt(typical / 2.0))


def _pair_distances(
    source: Source, rule: DistanceRule, left: IntArray, right: IntArray, executor: Executor
) -> FloatArray:
    rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    a, b = places.ravel()[: len(left)], places.ravel()[len(left) :]
    marked = np.zeros(source.n_samples, dtype=bool)
    marked[rows] = True
    tiles = np.unique(np.searchsorted(source.offsets, rows, side="right") - 1)
    tasks = TileTasks(source, [(int(t),) for t in tiles], marked)
    if rule.packed:
        packed = np.concatenate(list(executor.map(_pick_packed, tasks, rule)))
        differ: FloatArray = np.bitwise_count(packed[a] ^ packed[b]).sum(axis=1, dtype=np.float64)
        return differ
    out = np.zeros(len(left))
    width = max(1, _GATHER_BYTES // (8 * len(rows)))
    for start in range(0, len(rule.order), width):
        part = rule.part(start, start + width)
        values = np.concatenate(list(executor.map(_pick_scaled, tasks, part)), axis=1)
        for how, column in zip(part.how, values, strict=True):
            with np.errstate(over="ignore"):  # told by the median
                gap = column[a] - column[b]
                out += gap != 0 if how == NOMINAL else gap * gap
    return out


def _pick_packed(task: TileTask, rule: DistanceRule) -> ByteArray:
    """The marked rows as bits: one travels where a float64 would, and sums of 0 and 1 are exact."""
    [block] = task.load()
    [[marked]] = task.rows
    return pack_rows(block[np.flatnonzero(marked)], rule)


def _pick_scaled(task: TileTask, part: DistanceRule) -> FloatArray:
    [block] = task.load()
    [[marked]] = task.rows
    chosen: Block = block[np.flatnonzero(marked)][:, part.order]
    values = chosen.toarray() if hasattr(chosen, "toarray") else chosen
    scaled = (values.astype(np.float64) - part.shift) / part.span
    return np.ascontiguousarray(scaled.T)
