"""Numerators of MLLAP's unsquared criterion: sums of distances over pairs of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import PlanError
from mlfs_dask.graphs.affinity import Affinity
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.pairs import STRIP
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, pair_tasks
from mlfs_dask.kernels.affinity import add_distances
from mlfs_dask.kernels.greedy import euclidean_sums
from mlfs_dask.wording import counted

# Roots that one core takes in about half an hour.
_MOST_ROOTS = 1e12


def check_euclidean_cost(n_samples: int, n_features: int, n_choices: int) -> None:
    """Refuse what would take too long, before it begins.

    Parameters
    ----------
    n_samples, n_features, n_choices
        Size of the data and features to choose.

    Raises
    ------
    PlanError
        More than 1e12 roots: ``n_samples² / 2`` for each choice and candidate.
    """
    roots = 0.5 * n_samples**2 * n_features * n_choices
    if roots > _MOST_ROOTS:
        raise PlanError(
            f'distance = "euclidean" takes {roots:.1e} square roots for '
            f"{counted(n_samples, 'row')}, {counted(n_features, 'feature')} and "
            f"{counted(n_choices, 'choice')}; at most {_MOST_ROOTS:.0e} are allowed",
            hint='Set n_features_to_select to a smaller number, or distance = "squared".',
            operations=roots,
        )


def euclidean_numerators(
    source: Source,
    columns: Columns,
    scale: FloatArray,
    affinity: Affinity,
    asked: Mapping[str, IntArray],
    executor: Executor,
) -> FloatArray:
    """Sum of ``S_ij |x_i - x_j|`` over all ordered pairs, in the chosen features and a candidate.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    scale : ndarray of float64, shape (n_columns,)
        Columns are divided by it.
    affinity
        Similarity of rows.
    asked
        ``chosen`` and ``candidates``, feature indices.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (n_candidates,)
    """
    chosen = np.flatnonzero(np.isin(columns.feature, asked["chosen"]))
    place = np.full(columns.n_features, -1, dtype=np.int64)
    place[asked["candidates"]] = np.arange(len(asked["candidates"]))
    owner = place[columns.feature]
    open_columns = np.flatnonzero(owner >= 0)
    out = np.zeros(len(asked["candidates"]))
    tasks = pair_tasks(source, *affinity.arrays())
    common: tuple[Any, ...] = (affinity, columns, scale, chosen, open_columns, owner[open_columns])
    for (i, j), part in executor.map(_numerators_of_pair, tasks, *common, len(out)):
        out += part if i == j else 2.0 * part
    return out


def _numerators_of_pair(
    task: TileTask,
    affinity: Affinity,
    columns: Columns,
    scale: FloatArray,
    chosen: IntArray,
    open_columns: IntArray,
    owner: IntArray,
    n_candidates: int,
) -> tuple[tuple[int, ...], FloatArray]:
    a, b = task.load()
    same = task.number[0] == task.number[1]
    left = affinity.prepare(a, task.rows[0])
    right = left if same else affinity.prepare(b, task.rows[1])
    fixed = [columns.dense(x, chosen) / scale[chosen] for x in (a, b)]
    near, far = (np.ascontiguousarray(x.T) for x in fixed)
    others = columns.dense(b, open_columns) / scale[open_columns]
    how = np.zeros(len(chosen), dtype=np.uint8)
    out = np.zeros(n_candidates)
    for lo in range(0, a.shape[0], STRIP):
        hi = min(lo + STRIP, a.shape[0])
        W = np.empty((hi - lo, b.shape[0]))
        base = np.zeros(W.shape)
        affinity.fill(left, lo, hi, right, W, diagonal=same)
        add_distances(near, lo, hi, far, how, base)
        own = columns.dense(a[lo:hi], open_columns) / scale[open_columns]
        euclidean_sums(W, base, own, others, owner, out)
    return task.number, out
