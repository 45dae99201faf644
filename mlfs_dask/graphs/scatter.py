"""Second pass for columns whose quadratic form lost its digits in a difference.

Where f'Lf is tiny beside g'Dg (features that hardly vary along the graph's edges, or not at all:
disconnected graphs), g'Dg - g'Sg is rounding noise, and noise would decide the order. Here f'Lf is
put together from non-negative terms only, with the values shifted by one that occurs in the same
group. A feature that is constant on every connected part of the graph comes out as exactly 0::

    label sets   f'Lf = sum_u d_u w_u + 1/2 sum_uv m_u m_v J_uv (μ_u - μ_v)²
                 w_u: scatter inside set u, m_u rows, mean μ_u, degree d_u
    labels       f'Lf = 1/q sum over labels of n_l w_l + (n - n_l) w_notl   (simple matching)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.groups import groups_of_tile
from mlfs_dask.graphs.labelsets import SetDegrees, set_bounds
from mlfs_dask.graphs.rows import gather_rows
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.task_sizes import SUMS_BYTES
from mlfs_dask.graphs.tiles import TileTask, tile_pairs, tile_tasks
from mlfs_dask.kernels.labelsets import LabelSets
from mlfs_dask.kernels.similarity import (
    CLASS,
    LabelBits,
    SimilarityRule,
    label_bits,
    similarity_tile,
)
from mlfs_dask.kernels.spectral import Centres, dense_scatter_sums, pair_scatter


def set_scatter(
    source: Source,
    columns: Columns,
    which: IntArray,
    sets: LabelSets,
    degrees: SetDegrees,
    rule: SimilarityRule,
    executor: Executor,
) -> FloatArray:
    """``f'Lf`` of some columns by label sets, without subtraction of large numbers.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    which : ndarray of int64
        Columns.
    sets, degrees, rule
        Label sets, their degrees and how they are compared.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (len(which),)
    """
    parts = []
    for part in _runs(which, sets.n_sets):
        base = gather_rows(source, columns, sets.first, part, executor)
        n = len(sets.codes)
        member = sp.csr_matrix((np.ones(n), sets.codes, np.arange(n + 1)), shape=(n, sets.n_sets))
        rest, inside = _within(source, columns, part, member, base, sets.counts, executor)
        centres = Centres(base, rest, sets.counts.astype(np.float64))
        own = ((degrees.full - degrees.loops)[:, None] * inside).sum(axis=0)
        parts.append(own + _between(centres, sets, rule, executor))
    return np.concatenate(parts)


def label_scatter(
    source: Source, columns: Columns, which: IntArray, Y: ByteArray, executor: Executor
) -> FloatArray:
    """``f'Lf`` of some columns under simple matching, by labels.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    which : ndarray of int64
        Columns.
    Y : ndarray of uint8, shape (n_samples, n_labels)
    executor
        Where to run.
    """
    q = Y.shape[1]
    counts, first = sides_of_labels(Y)
    parts = []
    for part in _runs(which, 2 * q):
        base = gather_rows(source, columns, first, part, executor)
        _, inside = _within(source, columns, part, Y, base, counts, executor)
        parts.append((counts[:, None] * inside).sum(axis=0) / max(q, 1))
    return np.concatenate(parts)


def sides_of_labels(Y: ByteArray) -> tuple[IntArray, IntArray]:
    """Number and first one of the rows that have each label, then of those that lack it.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels)

    Returns
    -------
    counts, first : ndarray of int64, shape (2 * n_labels,)
        ``first`` is 0 where there is no such row.

    Examples
    --------
    >>> [each.tolist() for each in sides_of_labels(np.array([[0, 1], [1, 1]], dtype=np.uint8))]
    [[1, 2, 1, 0], [1, 0, 0, 0]]
    """
    having = Y.sum(axis=0, dtype=np.int64)
    counts = np.concatenate([having, len(Y) - having])
    first = np.concatenate([Y.argmax(axis=0), Y.argmin(axis=0)])
    return counts, np.where(counts > 0, first, 0).astype(np.int64)


def _runs(which: IntArray, n_groups: int) -> list[IntArray]:
    width = max(1, SUMS_BYTES // (32 * max(n_groups, 1)))
    return [which[lo : lo + width] for lo in range(0, len(which), width)]


def _within(
    source: Source,
    columns: Columns,
    which: IntArray,
    member: Any,
    base: FloatArray,
    counts: IntArray,
    executor: Executor,
) -> tuple[FloatArray, FloatArray]:
    """Mean of each group less its base, and scatter inside each group."""
    total, square = np.zeros(base.shape), np.zeros(base.shape)
    for present, a, b in executor.map(
        _scatter_tile, tile_tasks(source, member), columns, which, executor.share(base)
    ):
        total[present] += a
        square[present] += b
    rest = total / np.maximum(counts, 1)[:, None]
    return rest, np.maximum(square - total * rest, 0.0)


def _scatter_tile(
    task: TileTask, columns: Columns, which: IntArray, base: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    [block] = task.load()
    [[member]] = task.rows
    present, groups = groups_of_tile(member)
    total = np.zeros((len(present), len(which)))
    square = np.zeros((len(present), len(which)))
    dense_scatter_sums(columns.dense(block, which), groups, base[present], total, square)
    return present, total, square


def _between(
    centres: Centres, sets: LabelSets, rule: SimilarityRule, executor: Executor
) -> FloatArray:
    out = np.zeros(centres.base.shape[1])
    if rule.form == CLASS:
        return out
    pairs = tile_pairs(len(set_bounds(sets.n_sets)))
    common = (executor.share(centres), executor.share(label_bits(sets)), rule)
    for pair, part in zip(pairs, executor.map(_between_tiles, pairs, *common), strict=True):
        out += 0.5 * part if pair[0] == pair[1] else part
    return out


def _between_tiles(
    pair: tuple[int, int], centres: Centres, bits: LabelBits, rule: SimilarityRule
) -> FloatArray:
    bounds = set_bounds(len(bits.sizes))
    left, right = (slice(*bounds[t]) for t in pair)
    W = np.empty((left.stop - left.start, right.stop - right.start))
    similarity_tile(bits.part(left), bits.part(right), rule, W)
    return pair_scatter(W, _cut(centres, left), _cut(centres, right))


def _cut(centres: Centres, rows: slice) -> Centres:
    return Centres(centres.base[rows], centres.rest[rows], centres.mass[rows])
