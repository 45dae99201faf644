"""How well naive Bayes does on sets of inputs, by folds of consecutive rows.

::

    block 1 | block 2 | ... | block 10        moments of each block, once
    fold f: densities of all other blocks  ──> judged on block f

A set of inputs needs no densities of its own: inputs are independent given the class, so those of
all inputs are made once and the set's are added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray
from mlfs_dask.graphs.densities import (
    Inputs,
    JudgeTask,
    judging_tasks,
    losses_of,
    moments_of,
)
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.kept_distances import despite_losses
from mlfs_dask.graphs.source import Source, labels_of
from mlfs_dask.graphs.tiles import TileTask, resident_items
from mlfs_dask.kernels.naive_bayes import (
    Densities,
    Moments,
    make_densities,
    merge_moments,
    no_moments,
)


class FoldJudge:
    """Judges sets of inputs by the folds' mean of (Hamming loss + ranking loss) / 2.

    Rows without labels stay out of the ranking loss, rows with all labels count 0 in it; a fold of
    rows without labels has none.

    Parameters
    ----------
    source
        Rows with labels.
    inputs
        What rows show.
    n_folds
        Blocks of equally many consecutive rows, the last one takes the rest; with fewer rows each
        row is a block.
    smoothing
        Of the priors.
    executor
        Where to run.
    """

    def __init__(
        self, source: Source, inputs: Inputs, n_folds: int, smoothing: float, executor: Executor
    ) -> None:
        Y = labels_of(source)
        self._source, self._inputs = source, inputs
        self._smoothing, self._executor = smoothing, executor
        self._n_folds = min(n_folds, source.n_samples)
        self._n_labels = Y.shape[1]
        size = source.n_samples // self._n_folds
        self._bounds = [size * f for f in range(self._n_folds)] + [source.n_samples]
        labelled = np.cumsum(np.concatenate([[0], Y.any(axis=1)]))
        self._labelled = np.diff(labelled[self._bounds])
        self._known: dict[bytes, float] = {}
        despite_losses(self._prepare, lambda: None)

    def fitness(self, population: BoolArray) -> FloatArray:
        """Fitness of sets of inputs, lower is better; infinite for an empty one.

        Parameters
        ----------
        population : ndarray of bool, shape (n_sets, n_inputs)

        Returns
        -------
        ndarray of float64, shape (n_sets,)
        """
        keys = [bits.tobytes() for bits in np.packbits(population, axis=1)]
        new = {key: p for p, key in enumerate(keys) if key not in self._known}
        if new:
            masks = np.ascontiguousarray(population[list(new.values())].T)
            values = despite_losses(lambda: self._judge(masks), self._prepare)
            values[~masks.any(axis=0)] = np.inf
            self._known.update(zip(new, values.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def _prepare(self) -> None:
        """Have the densities of every fold where tasks find them."""
        executor, n_labels = self._executor, self._n_labels
        self._shared = executor.share(self._inputs)
        blocks = [list(self._tasks_of(f)) for f in range(self._n_folds)]
        moments = [moments_of(tasks, self._shared, n_labels, executor) for tasks in blocks]
        self._tasks: list[tuple[int, JudgeTask]] = []
        for fold, tasks in enumerate(blocks):
            densities: Any = executor.share(self._densities(moments, fold))
            self._tasks += [(fold, JudgeTask(task, densities)) for task in tasks]

    def _tasks_of(self, fold: int) -> Iterator[TileTask]:
        rows = np.arange(self._bounds[fold], self._bounds[fold + 1])
        part = self._source.take(rows)
        yield from judging_tasks(part, resident_items(part, self._executor))

    def _densities(self, moments: list[Moments], fold: int) -> Densities:
        nothing = no_moments(self._n_labels, self._inputs.width)
        others = [part for f, part in enumerate(moments) if f != fold]
        return make_densities(reduce(merge_moments, others, nothing), self._smoothing)

    def _judge(self, masks: BoolArray) -> FloatArray:
        n_sets = masks.shape[1]
        errors = np.zeros((self._n_folds, n_sets), dtype=np.int64)
        ranking = np.zeros((self._n_folds, n_sets))
        tasks = [task for _, task in self._tasks]
        found = losses_of(tasks, self._shared, masks, self._executor)
        for (fold, _), part in zip(self._tasks, found, strict=True):
            errors[fold] += part.errors
            ranking[fold] += part.ranking
        cells = np.diff(self._bounds)[:, None] * self._n_labels
        halves = errors / cells + ranking / np.maximum(self._labelled, 1)[:, None]
        total = np.zeros(n_sets)
        for half in halves:
            total += half / 2
        return total / self._n_folds
