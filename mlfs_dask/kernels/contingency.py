"""What a contingency table says: information in bits, from exact counts."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray

NOTHING = 1e-12
"""Information below this is rounding noise and counts 0."""


def label_information(
    joint: IntArray, bins: IntArray, labels: IntArray, n: int, start: IntArray
) -> FloatArray:
    """Mutual information of every feature's bins with every label, in bits.

    Parameters
    ----------
    joint : ndarray of int64, shape (n_bins, n_labels)
        Rows in the bin that have the label.
    bins : ndarray of int64, shape (n_bins,)
        Rows in the bin.
    labels : ndarray of int64, shape (n_labels,)
        Rows that have the label.
    n
        Number of rows.
    start : ndarray of int64, shape (n_features + 1,)
        Bins of feature r are ``start[r]:start[r + 1]``.

    Returns
    -------
    ndarray of float64, shape (n_features, n_labels)
        ``sum of p(b, y) log2 (p(b, y) / (p(b) p(y)))`` over bins b and y in {0, 1}; ``0 log 0`` is
        0, and what is below 1e-12 is 0.

    Examples
    --------
    >>> joint, bins, labels = np.array([[0], [2]]), np.array([2, 2]), np.array([2])
    >>> label_information(joint, bins, labels, 4, np.array([0, 2])).tolist()
    [[1.0]]
    """
    out = np.zeros((len(start) - 1, len(labels)))
    if len(out) == 0:
        return out
    for label, count in enumerate(labels.tolist()):
        inside = joint[:, label]
        terms = _terms(inside, bins, count, n) + _terms(bins - inside, bins, n - count, n)
        out[:, label] = np.add.reduceat(terms, start[:-1]) / n
    out[out < NOTHING] = 0.0
    return out


def _terms(joint: IntArray, bins: IntArray, group: int, n: int) -> FloatArray:
    """``c log2 (c n / (b g))`` of every bin, 0 where c is 0."""
    # Independent counts give the quotient of two equal integers: exactly 1, and exactly 0 bits.
    expected = np.maximum(bins * group, 1)
    quotient = np.where(joint > 0, joint * n, expected) / expected
    return joint.astype(np.float64) * np.log2(quotient)
