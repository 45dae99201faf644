"""Positive regions where neighbours are found by sums of differences, from scratch each time.

For small data: every question compares all pairs of rows on all features asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, ByteArray, IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.neighbor_tasks import frozen, sealed
from mlfs_dask.graphs.separation import Columns
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, local_tasks
from mlfs_dask.kernels.planes import label_words
from mlfs_dask.kernels.summed import SummedRows, SummedRule, leave_in_order, leave_with


class SummedRegions:
    """Sizes of positive regions, as :class:`mlfs_dask.graphs.regions.Regions` gives them.

    Parameters
    ----------
    source
        Rows.
    Y : ndarray of uint8, shape (n_samples, n_labels)
        Their labels.
    columns
        Radii, and which features have codes for values.
    executor
        Where to run.

    Attributes
    ----------
    looks : float
        Pairs are not counted: NaN.
    """

    prepared = False
    looks = float("nan")

    def __init__(self, source: Source, Y: ByteArray, columns: Columns, executor: Executor) -> None:
        self._executor = executor
        self._tasks = local_tasks(source, executor, Y)
        self._shared = executor.share(self._tasks)
        self._rule = SummedRule(columns.radius, columns.nominal)
        self._whole = np.zeros(0, dtype=bool)

    def whole(self, features: IntArray) -> tuple[int, IntArray]:
        """Size of the positive region of all features, and its core.

        Parameters
        ----------
        features : ndarray of int64
            All that may be chosen, ascending.
        """
        self._whole = self._inside(features)
        return int(self._whole.sum()), self.needed(features)

    def needed(self, features: IntArray) -> IntArray:
        """Features of a sequence without which its positive region would be another, ascending.

        Parameters
        ----------
        features : ndarray of int64
            The sequence.
        """
        region = self._inside(features)
        without = [self._inside(np.delete(features, place)) for place in range(len(features))]
        return np.sort(features[[bool(np.any(other != region)) for other in without]])

    def _inside(self, features: IntArray) -> BoolArray:
        return ~self._outside(leave_in_order, (features,), len(features) + 1)[:, -1]

    def in_order(self, order: tuple[int, ...]) -> tuple[IntArray, BoolArray]:
        """Sizes of the positive regions of the beginnings of a sequence.

        Parameters
        ----------
        order
            The sequence.

        Returns
        -------
        sizes : ndarray of int64, shape (len(order) + 1,)
        is_whole : ndarray of bool, shape (len(order) + 1,)
            Whether it is the region of all features.
        """
        sequence = np.array(order, dtype=np.int64)
        return self._compared(self._outside(leave_in_order, (sequence,), len(order) + 1))

    def with_each(
        self, chosen: tuple[int, ...], candidates: IntArray
    ) -> tuple[IntArray, BoolArray]:
        """As :meth:`in_order`, for a sequence with one more feature each time.

        Parameters
        ----------
        chosen
            The sequence.
        candidates : ndarray of int64
            What comes last.
        """
        sets = (np.array(chosen, dtype=np.int64), candidates)
        return self._compared(self._outside(leave_with, sets, len(candidates)))

    def _compared(self, outside: BoolArray) -> tuple[IntArray, BoolArray]:
        is_whole = np.all(outside != self._whole[:, None], axis=0)
        return (~outside).sum(axis=0, dtype=np.int64), is_whole

    def _outside(self, mark: Any, sets: tuple[IntArray, ...], width: int) -> BoolArray:
        common = (self._shared, self._rule, mark, sets, width)
        return np.concatenate(list(self._executor.map(_mark_tile, self._tasks, *common)))


def _mark_tile(
    task: TileTask,
    tasks: list[TileTask],
    rule: SummedRule,
    mark: Any,
    sets: tuple[IntArray, ...],
    width: int,
) -> BoolArray:
    own = _rows(task)
    outside = np.zeros((len(own.X), width), dtype=bool)
    for each in tasks:
        mark(own, _rows(each), sealed(rule), *map(frozen, sets), outside)
    return outside


def _rows(task: TileTask) -> SummedRows:
    [block] = task.load()
    [[Y]] = task.rows
    values = block.toarray() if sp.issparse(block) else block
    return SummedRows(
        frozen(np.ascontiguousarray(values, dtype=np.float64)), frozen(label_words(Y))
    )
