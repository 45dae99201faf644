"""Counts of rows by bin, label and one more bin or label, asked for marker by marker.

Tiles are brought to bits or lists once and stay on the workers; a request walks over them and
returns one row of counts. Nothing of the size of features times features is ever held::

    tile of X ─> bins ─> PackedRows | ListedRows   kept on workers
                                   │ marker
                                   └──> counts (columns that occur) ──> sum over tiles

Counts are integers: the order of the tiles, workers and chunks do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.budget import room_of_all
from mlfs_dask.graphs.contingency import contingency, listed_bins
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.cooccurrence import ListedRows, PackedRows, count_listed, count_packed
from mlfs_dask.kernels.discretize import Bins, pack_bins, pack_columns

EncodedRows: TypeAlias = PackedRows | ListedRows

# What encoded tiles may take of each worker; tiles beyond it are encoded anew for each request.
_KEPT_BYTES = 512 * 2**20
# Markers are counted together as long as their counts stay below this.
_COUNTS_BYTES = 32 * 2**20
_LISTED_BYTES = 8  # of a stored cell: once by row, once by column
# Labels times encoded bytes that a task should have: less takes no longer than starting it.
_TASK_WORK = 128 * 2**20


@dataclass(frozen=True, eq=False)
class KeptTiles:
    """Tiles that were encoded before.

    Attributes
    ----------
    dependency : list, or None
        The encoded tiles or Dask futures of them; None once attached.
    tiles : list of PackedRows or ListedRows
    """

    dependency: list[Any] | None
    tiles: list[EncodedRows] = field(default_factory=list)

    def attached(self, tiles: list[EncodedRows]) -> KeptTiles:
        """The tiles in memory."""
        return replace(self, dependency=None, tiles=tiles)

    def detached(self) -> KeptTiles:
        """The reference without the tiles, which are sent beside it."""
        return replace(self, dependency=None)


class Cooccurrence:
    """Counts of rows by column and label, all rows or those of a marker.

    Columns are the bins of all features but for the base bins, in order.

    Parameters
    ----------
    source
        Rows with labels, none of them missing.
    bins, summary
        Bins of the features, and what is known of these.
    Y : ndarray of uint8, shape (n_samples, n_labels)
        Labels of the rows.
    executor
        Where to run.

    Attributes
    ----------
    start : ndarray of int64, shape (n_features + 1,)
        Columns of feature f are ``start[f]:start[f + 1]``.
    counts : ndarray of int64, shape (n_columns, n_labels + 1)
        Rows of each column, then those with each label.
    totals : ndarray of int64, shape (n_labels + 1,)
        All rows, then those with each label.
    """

    def __init__(
        self,
        source: Source,
        bins: Bins,
        summary: ColumnSummary,
        Y: ByteArray,
        executor: Executor,
    ) -> None:
        self._executor = executor
        self.start = bins.start - np.arange(bins.n_features + 1)
        table = contingency(source, bins, Y, executor)
        listed = np.ones(bins.n_bins, dtype=bool)
        listed[bins.base] = False
        self.counts = np.column_stack([table.bins, table.joint])[listed]
        self.totals = np.concatenate([[table.n_samples], table.groups]).astype(np.int64)
        self._bins = executor.share(bins)
        self._tasks: list[KeptTiles | TileTask] = self._encoded(source, summary, Y)

    def _encoded(
        self, source: Source, summary: ColumnSummary, Y: ByteArray
    ) -> list[KeptTiles | TileTask]:
        """Groups of tiles that are kept, then single ones that will be encoded anew."""
        tasks, n_workers = tile_tasks(source, Y), self._executor.n_workers
        upto = np.cumsum(_encoded_bytes(source, summary, sum(self.counts.shape)))
        limit = room_of_all(_KEPT_BYTES, self._executor)
        n_kept = int(np.searchsorted(upto, limit, side="right"))
        kept = self._executor.keep(_encode, [tasks[t] for t in range(n_kept)], self._bins)
        work = (upto[n_kept - 1] if n_kept else 0) * len(self.totals)
        n_groups = max(1, min(n_kept, n_workers, int(work // _TASK_WORK)))
        # As workers took them in turn, so that those of a group stand together.
        groups = [kept[first::n_groups] for first in range(n_groups)]
        found: list[KeptTiles | TileTask] = [KeptTiles(group) for group in groups if group]
        return found + [tasks[t] for t in range(n_kept, len(tasks))]

    def of_feature(self, feature: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Counts over the rows of each column of a feature, one column after the other.

        Parameters
        ----------
        feature
            Index.

        Yields
        ------
        counts : ndarray of int64, shape (n_columns, n_labels + 1)
            Rows shared with each column, then those of them with each label.
        totals : ndarray of int64, shape (n_labels + 1,)
            Rows that are looked at.
        """
        markers = np.arange(self.start[feature], self.start[feature + 1])
        for marker, counts in zip(markers, self._of_markers(markers), strict=True):
            yield counts, self.counts[marker]

    def of_labels(self) -> Iterator[IntArray]:
        """Counts over the rows of each label, one label after the other.

        Yields
        ------
        ndarray of int64, shape (n_columns, n_labels + 1)
        """
        n_columns, width = self.counts.shape
        yield from self._of_markers(n_columns + np.arange(width - 1))

    def _of_markers(self, markers: IntArray) -> Iterator[IntArray]:
        step = max(1, _COUNTS_BYTES // max(8 * self.counts.size, 1))
        common = (self._bins, self.counts.shape)
        for lo in range(0, len(markers), step):
            which = markers[lo : lo + step]
            totals = np.zeros((len(which), *self.counts.shape), dtype=np.int64)
            for part in self._executor.map(_count_rows, self._tasks, *common, which):
                for total, (present, counts) in zip(totals, part, strict=True):
                    total[present] += counts
            yield from totals


def _encoded_bytes(source: Source, summary: ColumnSummary, n_markers: int) -> FloatArray:
    """About what each tile will take."""
    rows = np.diff(source.offsets)
    if source.is_sparse:
        return rows * (_LISTED_BYTES * summary.n_cells / max(source.n_samples, 1))
    return rows * (n_markers / 8)


def _encode(task: TileTask, bins: Bins) -> EncodedRows:
    [block] = task.load()
    [[Y]] = task.rows
    if sp.issparse(block):
        return _list_rows(block, bins, Y)
    listed = np.ones(bins.n_bins, dtype=bool)
    listed[bins.base] = False
    columns, labels = pack_bins(block, bins)[:, listed], pack_columns(Y)
    return PackedRows(np.ascontiguousarray(columns.T), np.ascontiguousarray(labels.T))


def _list_rows(block: Block, bins: Bins, Y: ByteArray) -> ListedRows:
    found = listed_bins(block, bins)
    # Each base bin passed over moves the bins behind it one place to the front.
    column = found.indices - np.searchsorted(np.sort(bins.base), found.indices)
    shape = (found.shape[0], bins.n_bins - bins.n_features)
    columns = sp.csr_matrix((found.data, column, found.indptr), shape=shape)
    labels = sp.csr_matrix(Y)
    markers = sp.hstack([columns, labels], format="csc")
    lists = (columns.indptr, columns.indices, labels.indptr, labels.indices)
    return ListedRows(*map(_int32, (*lists, markers.indptr, markers.indices)))


def _int32(values: Any) -> NDArray[np.int32]:
    return np.ascontiguousarray(values, dtype=np.int32)


def _count_rows(
    task: KeptTiles | TileTask, bins: Bins, shape: tuple[int, int], markers: IntArray
) -> list[tuple[IntArray, NDArray[np.int32]]]:
    """For each marker the columns that occur in its rows, and their counts."""
    tiles = [_encode(task, bins)] if isinstance(task, TileTask) else task.tiles
    found = []
    for marker in markers.tolist():
        counts = np.zeros(shape, dtype=np.int32)
        for rows in tiles:
            if isinstance(rows, PackedRows):
                count_packed(rows, marker, counts)
            else:
                count_listed(rows, marker, counts)
        present = np.flatnonzero(counts[:, 0])
        found.append((present, counts[present]))
    return found
