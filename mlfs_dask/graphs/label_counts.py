"""How many of a row's nearest neighbours carry each label, at every point of a curve.

::

    block of rows ──k + 1 nearest──> counts over the first k, and whether the next is as near
                                       └─ ties = "all": once more over all rows that near

With features of their own, each label looks at a list of its own; else all look at the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.neighbor_tasks import QueryBlock
from mlfs_dask.graphs.neighbors import NeighborSearch
from mlfs_dask.graphs.tied_counts import Tied, count_all_tied
from mlfs_dask.kernels.mlknn import count_dtype, count_labels, tabulate
from mlfs_dask.kernels.neighbors import Found

Ties: TypeAlias = Literal["all", "first"]
Lists: TypeAlias = "Found | Sequence[Found]"
"""Lists of neighbours of a block of rows: the same for all labels, or one per label."""


class Search(Protocol):
    """Lists of neighbours, block by block: a ``NeighborSearch`` or a ``SubspaceSearch``."""

    executor: Executor
    n_queries: int
    n_points: int
    pair_share: float

    def leave_one_out(self, k: int, finish: Any, *shared: Any) -> Any:
        """Lists of the training rows."""

    def of_queries(self, k: int, finish: Any, *shared: Any) -> Any:
        """Lists of other rows."""


class LabelCounts(NamedTuple):
    """Label counts among the neighbours of rows.

    Attributes
    ----------
    counts : ndarray of uint8, uint16 or uint32, shape (n_rows, n_points, n_labels)
    sizes : ndarray of int64, shape (n_rows, n_points)
        Numbers of neighbours: k, or more where all tied rows count.
    tied : ndarray of float64, shape (n_rows, n_points)
        1 where the (k+1)-th neighbour is as near as the k-th, else 0; of several lists the share.
    """

    counts: AnyArray
    sizes: IntArray
    tied: FloatArray


class Tables(NamedTuple):
    """How often rows with and without a label have each number of neighbours with it.

    Attributes
    ----------
    tables : ndarray of int64, shape (n_points, 2, k + 1, n_labels)
        See :func:`~mlfs_dask.kernels.mlknn.tabulate`.
    tied : ndarray of float64, shape (n_points,)
        Share of rows whose (k+1)-th neighbour is as near as the k-th.
    """

    tables: IntArray
    tied: FloatArray


def tables_of_training(search: Search, k: int, labels: ByteArray) -> Tables:
    """Tables of all training rows, each without itself among its neighbours.

    Parameters
    ----------
    search
        Among the training rows.
    k
        Neighbours that count, at most ``n_train - 1``.
    labels : ndarray of uint8, shape (n_train, n_labels)
    """
    n_train, n_labels = labels.shape
    shared = search.executor.share(labels)
    more = min(k + 1, n_train - 1)
    tables = np.zeros((search.n_points, 2, k + 1, n_labels), dtype=np.int64)
    tied = np.zeros(search.n_points)
    for _, (part, part_tied) in search.leave_one_out(more, tables_of, shared, k):
        tables += part
        tied += part_tied
    return Tables(tables, tied / n_train)


def counts_of_training(search: Search, k: int, labels: ByteArray) -> LabelCounts:
    """Label counts of every training row among the others.

    Parameters
    ----------
    search
        Among the training rows.
    k
        Neighbours that count, at most ``n_train - 1``.
    labels : ndarray of uint8, shape (n_train, n_labels)
    """
    n_train, n_labels = labels.shape
    found = _nothing_counted((n_train, search.n_points, n_labels), k)
    shared = search.executor.share(labels)
    more = min(k + 1, n_train - 1)
    for block, part in search.leave_one_out(more, counts_of, shared, k):
        _keep(found, block, part)
    return found


def counts_of_queries(search: Search, k: int, labels: ByteArray) -> LabelCounts:
    """Label counts of every query among the training rows.

    Parameters
    ----------
    search
        Of the queries among the training rows.
    k
        Neighbours that count, less than ``n_train``.
    labels : ndarray of uint8, shape (n_train, n_labels)
    """
    found = _nothing_counted((search.n_queries, search.n_points, labels.shape[1]), k)
    shared = search.executor.share(labels)
    for block, part in search.of_queries(min(k + 1, len(labels)), counts_of, shared, k):
        _keep(found, block, part)
    return found


def counts_with_all_tied(search: NeighborSearch, k: int, labels: ByteArray) -> LabelCounts:
    """Label counts of every query among its k nearest training rows and all as near as the k-th.

    Parameters
    ----------
    search, k, labels
        As in :func:`counts_of_queries`.
    """
    shape = (search.n_queries, search.n_points, labels.shape[1])
    found = _nothing_counted(shape, search.n_train)
    found.sizes[:] = k
    shared = search.executor.share(labels)
    unsettled = []
    for block, part in search.of_queries(min(k + 1, len(labels)), counts_of, shared, k):
        _keep(found, block, part)
        row, point = np.nonzero(part.tied)
        if len(row):
            unsettled.append(Tied(block, row, point, part.bounds[row, point]))
    results = search.over_queries(count_all_tied, unsettled, shared)
    for item, (counts, sizes) in zip(unsettled, results, strict=True):
        rows = item.block.first + item.row
        found.counts[rows, item.point] = counts
        found.sizes[rows, item.point] = sizes
    return found


class BlockCounts(NamedTuple):
    """What a task finds out about a block of rows.

    Attributes
    ----------
    counts : ndarray of uint8, uint16 or uint32, shape (n_rows, n_points, n_labels)
    tied : ndarray of float64, shape (n_rows, n_points)
        As in :class:`LabelCounts`.
    bounds : ndarray of float64, shape (n_rows, n_points)
        Squared distance of the k-th neighbour; of several lists the first.
    """

    counts: AnyArray
    tied: FloatArray
    bounds: FloatArray


def counts_of(found: Lists, block: QueryBlock, labels: ByteArray, k: int) -> BlockCounts:
    """Label counts over the first k neighbours, and ties at the k-th: a ``finish`` for searches.

    Parameters
    ----------
    found
        Lists of k + 1 neighbours, or of k if there are no more.
    block
        The rows.
    labels : ndarray of uint8, shape (n_train, n_labels)
    k
        Neighbours that count.
    """
    lists = [found] if isinstance(found, Found) else found
    n_rows, n_points, _ = lists[0].indices.shape
    counts: AnyArray = np.zeros((n_rows, n_points, labels.shape[1]), dtype=count_dtype(k))
    if isinstance(found, Found):
        _count(found, labels, k, counts)
    else:
        for label, each in enumerate(found):
            part: AnyArray = np.zeros((n_rows, n_points, 1), dtype=counts.dtype)
            _count(each, np.ascontiguousarray(labels[:, [label]]), k, part)
            counts[:, :, label] = part[:, :, 0]
    tied: FloatArray = np.mean([_tied(each, k) for each in lists], axis=0)
    bounds = lists[0].distances[:, :, k - 1] if k else np.zeros((n_rows, n_points))
    return BlockCounts(counts, tied, bounds.astype(np.float64))


def tables_of(
    found: Lists, block: QueryBlock, labels: ByteArray, k: int
) -> tuple[IntArray, FloatArray]:
    """Tables of a block of training rows, and how many are tied at the k-th neighbour.

    Parameters
    ----------
    found, block, labels, k
        As in :func:`counts_of`.

    Returns
    -------
    tables : ndarray of int64, shape (n_points, 2, k + 1, n_labels)
    tied : ndarray of float64, shape (n_points,)
    """
    counted = counts_of(found, block, labels, k)
    n_points = counted.counts.shape[1]
    tables = np.zeros((n_points, 2, k + 1, labels.shape[1]), dtype=np.int64)
    tabulate(counted.counts, labels[block.first : block.last], tables)
    return tables, counted.tied.sum(axis=0)


def _count(found: Found, labels: ByteArray, k: int, counts: AnyArray) -> None:
    count_labels(np.ascontiguousarray(found.indices[:, :, :k]), labels, counts)


def _tied(found: Found, k: int) -> BoolArray:
    n_rows, n_points, width = found.indices.shape
    if width <= k or k == 0:
        return np.zeros((n_rows, n_points), dtype=bool)
    tied: BoolArray = found.distances[:, :, k] == found.distances[:, :, k - 1]
    return tied


def _nothing_counted(shape: tuple[int, int, int], k: int) -> LabelCounts:
    sizes = np.full(shape[:2], k, dtype=np.int64)
    return LabelCounts(np.zeros(shape, dtype=count_dtype(k)), sizes, np.zeros(shape[:2]))


def _keep(found: LabelCounts, block: QueryBlock, part: BlockCounts) -> None:
    found.counts[block.first : block.last] = part.counts
    found.tied[block.first : block.last] = part.tied
