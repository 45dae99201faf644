"""Information terms from integer counts.

With ``g(m) = m log2 m`` and a cell for each combination of values, an entropy is
``n H = g(n) - sum of g over the cells``, so that each information term is a sum of such sums::

    n I(f;l)     =  g(n) - G(f) - G(l) + G(f,l)
    n I(f;l|s)   =  G(s) - G(f,s) - G(l,s) + G(f,l,s)
    n I3(f;s;l)  =  g(n) - G(f) - G(s) - G(l) + G(f,s) + G(f,l) + G(s,l) - G(f,s,l)

Counts are exact. G adds cells in a fixed order, and one in which the two values of a 0/1 column
may be exchanged without changing a bit: a feature and its complement are tied to the last digit.

Features stand as *columns*, one for each bin but the base; what the columns of a feature leave over
is the base's.
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit

_NEGLIGIBLE = 1e-12


@jit
def log_table(n: int) -> FloatArray:
    """Values of m log2 m for m = 0 .. n, shape (n + 1,).

    Parameters
    ----------
    n
        Largest count that will be asked for.
    """
    table = np.zeros(n + 1)
    for m in range(2, n + 1):
        table[m] = m * np.log2(np.float64(m))
    return table


@jit
def add_cells(
    counts: IntArray,
    totals: IntArray,
    start: IntArray,
    table: FloatArray,
    first: int,
    out: FloatArray,
) -> None:
    """Add g over the cells of every feature, and of every feature with every label.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_columns, n_labels + 1)
        Rows of each column: all of them, then those with each label.
    totals : ndarray of int64, shape (n_labels + 1,)
        Rows that are looked at (all, or those of one bin of another feature), and those of them
        with each label.
    start : ndarray of int64, shape (n_features + 1,)
        Columns of feature f are ``start[f]:start[f + 1]``.
    table
        From :func:`log_table`.
    first
        Label to begin with.
    out : ndarray of float64, shape (n_features, n_labels + 1), changed
        G(f), then G(f,l) of each label from ``first`` on.
    """
    for f in range(len(start) - 1):
        base, cells = totals[0], 0.0
        for c in range(start[f], start[f + 1]):
            base -= counts[c, 0]
            cells += table[counts[c, 0]]
        out[f, 0] += table[base] + cells
        for k in range(1 + first, len(totals)):
            base_with, base_without = totals[k], totals[0] - totals[k]
            cells_with = cells_without = 0.0
            for c in range(start[f], start[f + 1]):
                having = counts[c, k]
                lacking = counts[c, 0] - having
                base_with -= having
                base_without -= lacking
                cells_with += table[having]
                cells_without += table[lacking]
            with_label = table[base_with] + cells_with
            out[f, k] += with_label + (table[base_without] + cells_without)


@inline
def _term(sums: float, n: float) -> float:
    """A term of n times its value; what is rounding noise is 0."""
    value = sums / n
    return 0.0 if abs(value) < _NEGLIGIBLE else value


@jit
def relevance_sums(cells: FloatArray, labels: FloatArray, table: FloatArray) -> FloatArray:
    """Sum of I(f;l) over the labels, for each feature.

    Parameters
    ----------
    cells : ndarray of float64, shape (n_features, n_labels + 1)
        G(f) and G(f,l).
    labels : ndarray of float64, shape (n_labels,)
        G(l).
    table
        g up to the number of rows.

    Returns
    -------
    ndarray of float64, shape (n_features,)
    """
    n, whole = np.float64(len(table) - 1), table[-1]
    sums = np.zeros(len(cells))
    for f in range(len(cells)):
        for k in range(len(labels)):
            sums[f] += _term(whole - cells[f, 0] - labels[k] + cells[f, 1 + k], n)
    return sums


@jit
def interaction_sums(
    joint: FloatArray,
    cells: FloatArray,
    own: FloatArray,
    labels: FloatArray,
    table: FloatArray,
    first: int,
) -> FloatArray:
    """Sum of I3(f;s;l) over labels, for each feature f and one s.

    Parameters
    ----------
    joint : ndarray of float64, shape (n_features, n_labels + 1)
        G(f,s) and G(f,s,l).
    cells
        G(f) and G(f,l).
    own : ndarray of float64, shape (n_labels + 1,)
        G(s) and G(s,l).
    labels, table
        As for :func:`relevance_sums`.
    first
        First label of the sum.

    Returns
    -------
    ndarray of float64, shape (n_features,)
    """
    n, whole = np.float64(len(table) - 1), table[-1]
    sums = np.zeros(len(cells))
    for f in range(len(cells)):
        for k in range(first, len(labels)):
            alone = whole - cells[f, 0] - own[0] - labels[k]
            pairs = joint[f, 0] + cells[f, 1 + k] + own[1 + k]
            sums[f] += _term(alone + pairs - joint[f, 1 + k], n)
    return sums


@jit
def conditional_sums(joint: FloatArray, own: FloatArray, n: int) -> FloatArray:
    """Sum of I(f;l|s) over the labels, for each feature f and one s.

    Parameters
    ----------
    joint, own
        As for :func:`interaction_sums`.
    n
        Number of rows.

    Returns
    -------
    ndarray of float64, shape (n_features,)
    """
    sums = np.zeros(len(joint))
    for f in range(len(joint)):
        for k in range(1, len(own)):
            sums[f] += _term(own[0] - joint[f, 0] - own[k] + joint[f, k], np.float64(n))
    return sums


@jit
def feature_information(
    joint: FloatArray, cells: FloatArray, own: FloatArray, table: FloatArray
) -> FloatArray:
    """I(f;s) for each feature f and one s.

    Parameters
    ----------
    joint, cells, own, table
        As for :func:`interaction_sums`.

    Returns
    -------
    ndarray of float64, shape (n_features,)
    """
    n, whole = np.float64(len(table) - 1), table[-1]
    sums = np.zeros(len(joint))
    for f in range(len(joint)):
        sums[f] = _term(whole - cells[f, 0] - own[0] + joint[f, 0], n)
    return sums
