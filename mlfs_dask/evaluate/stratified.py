"""Folds in which every label is about as frequent as in all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.evaluate.splits import check_folds, fold_generator
from mlfs_dask.graphs.inputs import as_labels


def iterative(Y: Any, folds: int, seed: int, repeat: int = 0) -> list[IntArray]:
    """Test rows of each fold by iterative stratification, with exact sizes.

    Sechidis et al. (2011), algorithm 1: again and again take the label with the fewest rows left,
    and give each of these rows to the fold that wants the label most (its share of the label's
    rows less those it has), then to the one with most room, then to one drawn. A fold that is full
    takes no more, so the sizes are those of :func:`~mlfs_dask.evaluate.splits.kfold`. Rows without
    labels fill what is left, in drawn order. Which label comes first among equally rare ones: the
    lower index.

    Parameters
    ----------
    Y : array-like of 0 and 1, shape (n_samples, n_labels)
        Labels of all rows.
    folds
        From 2 to n_samples.
    seed
        Not negative.
    repeat
        Counted from 0. ``default_rng(SeedSequence(seed, spawn_key=(0, repeat)))`` draws the order
        in which rows are dealt out, then one number per row that breaks ties.

    Returns
    -------
    list of ndarray of int64
        Ascending row numbers per fold; sizes differ by at most 1, larger folds first.

    Raises
    ------
    InputError
        Fewer than two folds, more folds than rows, a negative seed or repeat, labels other than 0
        and 1.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    >>> [rows.tolist() for rows in iterative(Y, 2, seed=0)]
    [[1, 2, 4], [0, 3]]
    """
    from mlfs_dask.kernels.stratify import distribute

    labels = as_labels(Y, Y.shape[0] if hasattr(Y, "shape") else len(Y))
    n_samples = len(labels)
    check_folds(n_samples, folds)
    generator = fold_generator(seed, repeat)
    order = generator.permutation(n_samples)
    draws = generator.random(n_samples)
    sizes = np.full(folds, n_samples // folds, dtype=np.int64)
    sizes[: n_samples % folds] += 1
    fold_of = distribute(*_by_row(labels), *_by_label(labels, order), sizes, draws)
    room = sizes - np.bincount(fold_of[fold_of >= 0], minlength=folds)
    unlabelled = order[fold_of[order] < 0]
    fold_of[unlabelled] = np.repeat(np.arange(folds), room)
    return np.split(np.argsort(fold_of, kind="stable"), np.cumsum(sizes)[:-1])


def _by_row(labels: Any) -> tuple[IntArray, Any]:
    rows, columns = np.nonzero(labels)
    return _bounds(rows, len(labels)), columns.astype(np.int32)


def _by_label(labels: Any, order: IntArray) -> tuple[IntArray, Any]:
    columns, positions = np.nonzero(labels[order].T)
    return _bounds(columns, labels.shape[1]), order[positions].astype(np.int32)


def _bounds(owners: IntArray, n_owners: int) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_owners))])
