"""Gaussian naive Bayes over the tiles: moments of rows, and candidates judged on rows left out.

::

    tile ──┬── moments of its rows ──> merged in tile order ──> densities of the training rows
           └── densities, candidate sets of inputs ──> errors and ranking losses of its rows

Inputs are columns of X, or their principal components. Rows are made dense a few at a time, so that
dense and CSR rows give the same bits and no task holds more than its tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.columns import many_valued
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import Source, TileItem
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.naive_bayes import (
    Densities,
    Losses,
    Moments,
    add_deviations,
    add_losses,
    first_of_classes,
    merge_moments,
    no_moments,
    probabilities,
)
from mlfs_dask.kernels.principal import project

_DENSE_BYTES = 8 * 2**20


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a row shows to the classifier.

    Attributes
    ----------
    features : ndarray of int64
        Columns of X, in order.
    centre : ndarray of float64, shape (n_features,), or None
        Means that are taken off them before they are projected.
    axes : ndarray of float64, shape (n_features, n_components), or None
        What they are projected on; None: they are the inputs themselves.
    """

    features: IntArray
    centre: FloatArray | None = None
    axes: FloatArray | None = None

    @property
    def width(self) -> int:
        """Number of inputs."""
        return len(self.features) if self.axes is None else self.axes.shape[1]

    def of(self, block: Block) -> Iterator[tuple[slice, FloatArray]]:
        """Inputs of a few rows at a time, with which rows they are.

        Parameters
        ----------
        block : ndarray or CSR matrix
            Rows of X.
        """
        step = max(1, _DENSE_BYTES // (8 * max(1, block.shape[1])))
        for lo in range(0, block.shape[0], step):
            part = block[lo : lo + step]
            dense = part.toarray() if sp.issparse(part) else part
            values = np.ascontiguousarray(dense[:, self.features], dtype=np.float64)
            if self.axes is not None and self.centre is not None:
                values = project(values - self.centre, self.axes)
            yield slice(lo, lo + len(values)), values


@dataclass(frozen=True, eq=False)
class JudgeTask:
    """Rows of one tile and the densities of the rows they are judged by.

    Attributes
    ----------
    rows : TileTask
    densities : Densities or Dask future
    """

    rows: TileTask
    densities: Any

    @property
    def dependency(self) -> list[Any]:
        """What has to be there first, for executors."""
        return [self.densities, *(self.rows.dependency or [])]

    def attached(self, found: list[Any]) -> JudgeTask:
        """The same task with everything in memory."""
        densities, *tiles = found
        rows = self.rows.attached(tiles) if tiles else self.rows
        return replace(self, rows=rows, densities=densities)

    def detached(self) -> JudgeTask:
        """The same task without its dependencies, to be sent beside it."""
        return replace(self, rows=self.rows.detached(), densities=None)


def refuse_categories(source: Source, summary: ColumnSummary, method: str) -> None:
    """Refuse nominal features of more than two values, which have no normal density.

    Parameters
    ----------
    source, summary
        Rows and what is known of their features.
    method
        Name shown to the user.

    Raises
    ------
    InputError
        Names the first such feature.
    """
    many = np.flatnonzero(many_valued(source, summary))
    if len(many):
        j = int(many[0])
        name = f" ({source.feature_names[j]})" if source.feature_names else ""
        raise InputError(
            f"{method} takes numbers and two-valued features: feature {j}{name} is nominal with "
            "more than two values",
            hint="Encode each of its values as a 0/1 column.",
            feature=j,
        )


def judging_tasks(source: Source, items: Sequence[TileItem]) -> list[TileTask]:
    """One task for each tile of labelled rows, by references from `resident_items`.

    Parameters
    ----------
    source
        Rows with labels.
    items
        References to its tiles.
    """
    tasks = tile_tasks(source, source.Y)
    return [replace(task, tiles=(item,)) for task, item in zip(tasks, items, strict=True)]


def moments_of(tasks: Sequence[TileTask], inputs: Any, n_labels: int, executor: Executor) -> Any:
    """Moments of labelled rows.

    Parameters
    ----------
    tasks
        From `judging_tasks`.
    inputs
        `Inputs`, perhaps shared.
    n_labels
        Columns of Y.
    executor
        Where to run.

    Returns
    -------
    Moments or None
        None of no rows.
    """
    found: Moments | None = None
    for part in executor.map(_moments_of_tile, tasks, inputs, n_labels):
        found = part if found is None else merge_moments(found, part)
    return found


def losses_of(
    tasks: Sequence[JudgeTask], inputs: Any, masks: BoolArray, executor: Executor
) -> Iterator[Losses]:
    """What candidate sets of inputs get wrong, task by task.

    Parameters
    ----------
    tasks
        Rows to judge and by what.
    inputs
        `Inputs`, perhaps shared.
    masks : ndarray of bool, shape (n_inputs, n_candidates)
    executor
        Where to run.
    """
    yield from executor.map(_losses_of_tile, tasks, inputs, masks)


def probabilities_of(
    source: Source, inputs: Inputs, densities: Densities, counts: IntArray, executor: Executor
) -> FloatArray:
    """Probabilities of the labels of rows.

    Parameters
    ----------
    source
        Rows.
    inputs, densities
        What they show, and what training rows taught of it.
    counts : ndarray of int64, shape (n_points,)
        Numbers of leading inputs, ascending.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (n_points, n_rows, n_labels)
    """
    shared = executor.share(inputs), executor.share(densities)
    parts = list(executor.map(_probabilities_of_tile, tile_tasks(source), *shared, counts))
    return np.concatenate(parts, axis=1)


def _moments_of_tile(task: TileTask, inputs: Inputs, n_labels: int) -> Moments:
    [block] = task.load()
    [[Y]] = task.rows
    count, first, sums = no_moments(n_labels, inputs.width)
    for rows, X in inputs.of(block):
        first_of_classes(X, Y[rows], count, first)
    squares = np.zeros(first.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        # About the first value, so that equal values have exactly that mean.
        _deviate(inputs, block, Y, first, sums, squares)
        per_row = 1.0 / np.maximum(count, 1)[..., None]
        mean = first + sums * per_row
        sums[:], squares[:] = 0.0, 0.0
        _deviate(inputs, block, Y, mean, sums, squares)
        squares -= sums * sums * per_row
    return Moments(count, mean, np.maximum(squares, 0.0))


def _deviate(
    inputs: Inputs,
    block: Block,
    Y: ByteArray,
    centre: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
) -> None:
    for rows, X in inputs.of(block):
        add_deviations(X, Y[rows], centre, sums, squares)


def _losses_of_tile(task: JudgeTask, inputs: Inputs, masks: BoolArray) -> Losses:
    [block] = task.rows.load()
    [[Y]] = task.rows.rows
    n_candidates = masks.shape[1]
    losses = Losses(np.zeros(n_candidates, dtype=np.int64), np.zeros(n_candidates))
    for rows, X in inputs.of(block):
        add_losses(X, Y[rows], task.densities, masks, losses)
    return losses


def _probabilities_of_tile(
    task: TileTask, inputs: Inputs, densities: Densities, counts: IntArray
) -> FloatArray:
    [block] = task.load()
    shape = (len(counts), block.shape[0], len(densities.bias))
    out = np.empty(shape)
    for rows, X in inputs.of(block):
        out[:, rows] = probabilities(X, densities, counts)
    return out
