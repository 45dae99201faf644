"""DML-kNN's counts: training rows whose neighbours carry the labels as the query's do.

The counting vector of a row says how many of its neighbours carry each label. Training rows are
like a query if no entry of their vectors differs by more than delta; among those, rows with the
query's own count of a label vote on it.

References
----------
Z. Younes, F. Abdallah, T. Denœux: Multi-label classification algorithm derived from k-nearest
neighbor rule with label dependencies. Proc. 16th European Signal Processing Conference (2008).
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


@jit
def count_alike(
    own: AnyArray, around: AnyArray, labels: ByteArray, delta: int, votes: IntArray
) -> None:
    """Count training rows that are like each query and have its count of a label.

    Parameters
    ----------
    own : ndarray of an unsigned type, shape (n_queries, n_labels)
        Counting vectors of the queries.
    around : ndarray of the same type, shape (n_train, n_labels)
        Counting vectors of the training rows, each without itself.
    labels : ndarray of uint8, shape (n_train, n_labels)
        0 or 1.
    delta
        Largest difference, at least 0.
    votes : ndarray of int64, shape (n_queries, 2, n_labels)
        Zeros; ``votes[i, 1, l]`` becomes the paper's V for label l, ``votes[i, 0, l]`` its V-bar.
    """
    n_labels = labels.shape[1]
    for i in range(len(own)):
        mine, out = own[i], votes[i]
        for j in range(len(around)):
            other = around[j]
            alike = True
            for label in range(n_labels):
                if abs(np.int64(mine[label]) - np.int64(other[label])) > delta:
                    alike = False
                    break
            if alike:
                for label in range(n_labels):
                    if mine[label] == other[label]:
                        out[labels[j, label], label] += 1


def scores(votes: IntArray, n_with: IntArray, n_rows: int, smoothing: float) -> FloatArray:
    """Probability of each label by the votes of rows alike.

    Parameters
    ----------
    votes : ndarray of int64, shape (..., 2, n_labels)
        From :func:`count_alike`.
    n_with : ndarray of int64, shape (n_labels,)
        Training rows that carry each label.
    n_rows
        Training rows.
    smoothing
        s >= 0.

    Returns
    -------
    ndarray of float64, shape (..., n_labels)
        p1 / (p1 + p0) with p1 = P(H1) (s + V) / (s q + n_l) and p0 likewise; p1 where both are 0.

    Notes
    -----
    Both terms are taken times (2 s + n) (s q + n_l) (s q + n - n_l): with s = 1 all factors are
    whole numbers, so equal evidence gives exactly 0.5.

    Examples
    --------
    Two labels, four rows; label 0 is carried by two rows and 2 of 3 votes are for it:

    >>> scores(np.array([[1, 0], [2, 0]]), np.array([2, 2]), 4, 1.0).tolist()
    [0.6, 0.5]
    """
    without, with_label = votes[..., 0, :].astype(np.float64), votes[..., 1, :].astype(np.float64)
    present = n_with.astype(np.float64)
    absent = n_rows - present
    spread = smoothing * len(n_with)
    carried, lacking = spread + present, spread + absent
    # A label that no row (or every row) carries leaves one term, of any size, without smoothing.
    above = (smoothing + present) * (smoothing + with_label) * np.where(lacking > 0, lacking, 1.0)
    below = (smoothing + absent) * (smoothing + without) * np.where(carried > 0, carried, 1.0)
    evidence = above + below
    return np.divide(above, evidence, out=np.zeros(above.shape), where=evidence > 0)
