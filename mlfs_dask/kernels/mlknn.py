"""ML-kNN's counting tables and posteriors.

Everything counted is an integer, so tables of row blocks add up to the same bits in any order; the
posterior of a label depends on its neighbours' count alone and is looked up.

References
----------
M.-L. Zhang, Z.-H. Zhou: ML-KNN: A lazy learning approach to multi-label learning. Pattern
Recognition 40 (2007) 2038-2048, equations 1-7.
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit


@jit
def count_labels(index: IntArray, labels: ByteArray, counts: AnyArray) -> None:
    """Count the labels among each row's neighbours.

    Parameters
    ----------
    index : ndarray of int64, shape (n_rows, n_points, k)
        Neighbours: rows of ``labels``.
    labels : ndarray of uint8, shape (n_train, n_labels)
        0 or 1.
    counts : ndarray of uint8 or uint16, shape (n_rows, n_points, n_labels)
        Zeros; filled.
    """
    for i in range(index.shape[0]):
        for p in range(index.shape[1]):
            out = counts[i, p]
            for r in range(index.shape[2]):
                row = labels[index[i, p, r]]
                for label in range(len(row)):
                    out[label] += row[label]


@jit
def count_within(
    totals: AnyArray, bounds: FloatArray, labels: ByteArray, counts: AnyArray, sizes: IntArray
) -> None:
    """Count the labels among all rows that are no farther away than a bound.

    Parameters
    ----------
    totals : ndarray, shape (n_rows, >= n_train)
        Squared distances to the training rows.
    bounds : ndarray of float64, shape (n_rows,)
        Squared distances up to which rows count.
    labels : ndarray of uint8, shape (n_train, n_labels)
        0 or 1.
    counts : ndarray of an unsigned type, shape (n_rows, n_labels)
        Zeros; filled.
    sizes : ndarray of int64, shape (n_rows,)
        Zeros; filled with the numbers of rows that count.
    """
    for i in range(len(bounds)):
        total, out, bound = totals[i], counts[i], bounds[i]
        for j in range(len(labels)):
            if total[j] <= bound:
                sizes[i] += 1
                row = labels[j]
                for label in range(len(row)):
                    out[label] += row[label]


@jit
def tabulate(counts: AnyArray, labels: ByteArray, tables: IntArray) -> None:
    """Count training rows by point, label, whether they have it, and how many neighbours do.

    Parameters
    ----------
    counts : ndarray of uint8 or uint16, shape (n_rows, n_points, n_labels)
        From :func:`count_labels`, a row not being its own neighbour.
    labels : ndarray of uint8, shape (n_rows, n_labels)
        Labels of the rows themselves.
    tables : ndarray of int64, shape (n_points, 2, k + 1, n_labels)
        Changed; ``tables[p, 1, j, l]`` is the paper's c[j], ``tables[p, 0, j, l]`` its c'[j].
    """
    for i in range(counts.shape[0]):
        for p in range(counts.shape[1]):
            for label in range(counts.shape[2]):
                tables[p, labels[i, label], counts[i, p, label], label] += 1


def count_dtype(k: int) -> type:
    """Smallest unsigned type that holds counts up to k."""
    return np.uint8 if k < 256 else np.uint16 if k < 65536 else np.uint32


def posteriors(table: IntArray, smoothing: float) -> FloatArray:
    """Probability of each label for each count among the neighbours.

    Parameters
    ----------
    table : ndarray of int64, shape (2, k + 1, n_labels)
        From :func:`tabulate`.
    smoothing
        s >= 0.

    Returns
    -------
    ndarray of float64, shape (k + 1, n_labels)
        P(H1) P(j|H1) / (P(H1) P(j|H1) + P(H0) P(j|H0)), the prior P(H1) where that is 0/0, which
        happens with s = 0 only.

    Examples
    --------
    One label, k = 1, two rows with the label and two without; a neighbour of each has it:

    >>> table = np.array([[[1], [1]], [[1], [1]]])
    >>> posteriors(table, 1.0).ravel().tolist()
    [0.5, 0.5]
    """
    without, with_label = table.astype(np.float64)
    levels = len(with_label)
    n_without, n_with = without.sum(axis=0), with_label.sum(axis=0)
    prior = (smoothing + n_with) / (2.0 * smoothing + (n_with + n_without))
    joint = prior * _ratio(smoothing + with_label, smoothing * levels + n_with)
    joint_without = (1.0 - prior) * _ratio(smoothing + without, smoothing * levels + n_without)
    evidence = joint + joint_without
    return np.where(evidence > 0.0, _ratio(joint, evidence), prior)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotients, 0 where the denominator is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0.0)
