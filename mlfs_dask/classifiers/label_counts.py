"""What tasks make of lists of neighbours: how many of them carry each label.

With features of their own, each label looks at a list of its own; else all look at the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.neighbor_tasks import QueryBlock
from mlfs_dask.kernels.mlknn import count_dtype, count_labels, tabulate
from mlfs_dask.kernels.neighbors import Found


class Search(Protocol):
    """Lists of neighbours, block by block: a ``NeighborSearch`` or a ``SubspaceSearch``."""

    executor: Executor
    n_queries: int
    n_points: int

    def leave_one_out(self, k: int, finish: Any, *shared: Any) -> Any:
        """Lists of the training rows."""

    def of_queries(self, k: int, finish: Any, *shared: Any) -> Any:
        """Lists of other rows."""


def empty_tables(n_points: int, k: int, n_labels: int) -> IntArray:
    """Tables of no rows, shape (n_points, 2, k + 1, n_labels)."""
    return np.zeros((n_points, 2, k + 1, n_labels), dtype=np.int64)


def tables_of(
    found: Found | Sequence[Found], block: QueryBlock, labels: ByteArray, k: int
) -> tuple[IntArray, IntArray]:
    """Tables of a block of training rows, and how many are tied at the k-th neighbour.

    Parameters
    ----------
    found
        Lists of k or k + 1 neighbours: the same for all labels, or one per label.
    block
        The rows.
    labels : ndarray of uint8, shape (n_train, n_labels)
    k
        Neighbours that count.

    Returns
    -------
    tables : ndarray of int64, shape (n_points, 2, k + 1, n_labels)
        See :func:`~mlfs_dask.kernels.mlknn.tabulate`.
    tied : ndarray of int64, shape (n_lists,)
    """
    lists = _per_list(found)
    tables = empty_tables(lists[0].indices.shape[1], k, labels.shape[1])
    nearest = [Found(each.distances, each.indices[:, :, :k]) for each in lists]
    counts = counts_of(nearest[0] if isinstance(found, Found) else nearest, block, labels)
    tabulate(counts, labels[block.first : block.last], tables)
    return tables, np.array([_tied(each, k) for each in lists])


def counts_of(found: Found | Sequence[Found], block: QueryBlock, labels: ByteArray) -> AnyArray:
    """How many neighbours carry each label, shape (n_rows, n_points, n_labels).

    Parameters
    ----------
    found
        Lists: the same for all labels, or one per label.
    block
        The rows.
    labels : ndarray of uint8, shape (n_train, n_labels)
    """
    n_rows, n_points, k = _per_list(found)[0].indices.shape
    shape = (n_rows, n_points, labels.shape[1])
    counts: AnyArray = np.zeros(shape, dtype=count_dtype(k))
    if isinstance(found, Found):
        count_labels(np.ascontiguousarray(found.indices), labels, counts)
        return counts
    for label, each in enumerate(found):
        column = np.ascontiguousarray(labels[:, [label]])
        part: AnyArray = np.zeros((n_rows, n_points, 1), dtype=counts.dtype)
        count_labels(np.ascontiguousarray(each.indices), column, part)
        counts[:, :, label] = part[:, :, 0]
    return counts


def counts_of_queries(search: Search, k: int, labels: ByteArray, shared: Any = None) -> AnyArray:
    """Label counts of all queries, shape (n_queries, n_points, n_labels).

    Parameters
    ----------
    search
        Of training rows and queries.
    k
        Neighbours.
    labels : ndarray of uint8, shape (n_train, n_labels)
    shared
        The same from ``executor.share``, if it was shared already.
    """
    shared = search.executor.share(labels) if shared is None else shared
    shape = (search.n_queries, search.n_points, labels.shape[1])
    counts: AnyArray = np.zeros(shape, dtype=count_dtype(k))
    for block, part in search.of_queries(k, counts_of, shared):
        counts[block.first : block.last] = part
    return counts


def _per_list(found: Found | Sequence[Found]) -> Sequence[Found]:
    return [found] if isinstance(found, Found) else found


def _tied(found: Found, k: int) -> int:
    if found.indices.shape[2] <= k or k == 0:
        return 0
    return int(np.sum(found.distances[:, -1, k] == found.distances[:, -1, k - 1]))
