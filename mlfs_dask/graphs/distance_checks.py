"""What distances need to know of rows, and orders of features, before anything is compared."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary, refuse_infinite, summarize_columns
from mlfs_dask.kernels.distances import Known
from mlfs_dask.wording import counted


def known_values(source: Source, executor: Executor, summary: ColumnSummary | None = None) -> Known:
    """What distances need to know of a source's columns.

    Parameters
    ----------
    source
        Rows.
    executor
        Where to run.
    summary
        Their summary, if it is known already.

    Raises
    ------
    InputError
        A feature holds an infinite value.
    """
    summary = summary or summarize_columns(source, executor)
    refuse_infinite(summary, source)
    return Known(summary.low, summary.high, summary.n_missing > 0, summary.binary)


def known_of_both(
    train: Source, query: Source | None, executor: Executor, summary: ColumnSummary | None
) -> tuple[Known, Known]:
    """`known_values` of training rows and of other rows, which have the same features.

    Parameters
    ----------
    train
        Training rows.
    query
        Other rows; None: the training rows.
    executor
        Where to run.
    summary
        Of the training rows, if it is known already.

    Raises
    ------
    InputError
        Another number of features, infinite values.
    """
    known = known_values(train, executor, summary)
    if query is None:
        return known, known
    if query.n_features != train.n_features:
        raise InputError(
            f"X has {counted(query.n_features, 'feature')}, but the training rows have "
            f"{train.n_features}"
        )
    return known, known_values(query, executor)


def checked_order(
    order: IntArray | None, counts: IntArray | None, n_features: int
) -> tuple[IntArray, IntArray]:
    """Features in an order, and how many of them count, checked.

    Parameters
    ----------
    order : ndarray of int64, shape (n_ordered,), or None
        None: all, by index.
    counts : ndarray of int64, shape (n_points,), or None
        None: all of the order.
    n_features
        Features of the rows.

    Raises
    ------
    InputError
        Features out of range or named twice, counts that decrease or do not fit.
    """
    order = np.arange(n_features) if order is None else np.asarray(order, dtype=np.int64)
    if order.ndim != 1 or np.any((order < 0) | (order >= n_features)):
        raise InputError(f"order must hold feature indices from 0 to {n_features - 1}")
    if len(np.unique(order)) != len(order):
        raise InputError("order names a feature twice")
    counts = np.array([len(order)]) if counts is None else np.asarray(counts, dtype=np.int64)
    if counts.ndim != 1 or len(counts) == 0:
        raise InputError("counts must be a non-empty list of numbers of features")
    if counts[0] < 0 or counts[-1] > len(order) or np.any(np.diff(counts) < 0):
        raise InputError(
            f"counts must not decrease and lie between 0 and {len(order)}, the features in order"
        )
    return order, counts
