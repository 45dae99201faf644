"""Label a against label b: scatters inside the two classes, from sums per label set.

A row belongs to the problem (a, b) if it carries exactly one of the two labels. Its class is then a
union of label sets, so what is known of each label set says it all: no pair of labels needs a pass
over the rows. Scatters are put together from terms that are not negative (dense columns), or as
differences that are marked where digits were lost (stored cells).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.spectral import SparseColumns

# Below this share of what was subtracted from, a difference has lost three digits or more.
_CANCELLED = 1e-3


class SetTables(NamedTuple):
    """What is known of some columns in each label set.

    Attributes
    ----------
    base, rest : ndarray of float64, shape (n_sets, n_columns)
        The mean is ``base + rest``; base is a value that occurs.
    inside : ndarray of float64, shape (n_sets, n_columns)
        Scatter about the mean.
    square : ndarray of float64, shape (n_sets, n_columns)
        Sum of squares.
    mass : ndarray of int64, shape (n_sets,)
        Rows.
    """

    base: FloatArray
    rest: FloatArray
    inside: FloatArray
    square: FloatArray
    mass: IntArray


class Carriers(NamedTuple):
    """Label sets by the labels they hold.

    Attributes
    ----------
    start : ndarray of int64, shape (n_labels + 1,)
        Label sets with label a are ``sets[start[a]:start[a + 1]]``.
    sets : ndarray of int64
    labels : ndarray of uint8, shape (n_sets, n_labels)
    """

    start: IntArray
    sets: IntArray
    labels: ByteArray


def carriers_of(labels: ByteArray) -> Carriers:
    """Which label sets hold which label.

    Parameters
    ----------
    labels : ndarray of uint8, shape (n_sets, n_labels)
        0 or 1.
    """
    which, sets = np.nonzero(labels.T)
    start = np.searchsorted(which, np.arange(labels.shape[1] + 1))
    return Carriers(start.astype(np.int64), sets.astype(np.int64), labels)


@jit
def _class_terms(
    tables: SetTables, carriers: Carriers, a: int, b: int, mean: FloatArray, sums: FloatArray
) -> tuple[int, int]:
    """Rows with a and without b: their number and first label set; adds to scatter and square.

    ``mean`` becomes the mean, less the base of that label set.
    """
    mean[:] = 0.0
    rows, lead = 0, -1
    for s in range(carriers.start[a], carriers.start[a + 1]):
        u = carriers.sets[s]
        if carriers.labels[u, b]:
            continue
        if lead < 0:
            lead = u
        rows += tables.mass[u]
        mass = np.float64(tables.mass[u])
        base, rest, square = tables.base[u], tables.rest[u], tables.square[u]
        first = tables.base[lead]
        for j in range(len(mean)):
            mean[j] += mass * ((base[j] - first[j]) + rest[j])
            sums[1, j] += square[j]
    for j in range(len(mean)):
        mean[j] /= max(rows, 1)
    for s in range(carriers.start[a], carriers.start[a + 1]):
        u = carriers.sets[s]
        if carriers.labels[u, b]:
            continue
        mass = np.float64(tables.mass[u])
        base, rest, inside = tables.base[u], tables.rest[u], tables.inside[u]
        first = tables.base[lead]
        for j in range(len(mean)):
            off = ((base[j] - first[j]) + rest[j]) - mean[j]
            sums[0, j] += inside[j] + mass * off * off
    return rows, lead


@jit
def dense_pairs(
    tables: SetTables,
    carriers: Carriers,
    within: FloatArray,
    square: FloatArray,
    scatter: FloatArray,
) -> None:
    """Scatters and squares of all pairs of labels.

    Parameters
    ----------
    tables, carriers
        Label sets.
    within, square, scatter : ndarray of float64, shape (n_pairs, n_columns), changed
        Scatter inside the two classes, sum of squares, scatter of both classes together; pairs
        (a, b), a < b, in lexicographic order.
    """
    q, width = carriers.labels.shape[1], within.shape[1]
    mean_a, mean_b = np.empty(width), np.empty(width)
    pair = 0
    for a in range(q):
        for b in range(a + 1, q):
            sums = np.zeros((2, width))
            n_a, lead_a = _class_terms(tables, carriers, a, b, mean_a, sums)
            n_b, lead_b = _class_terms(tables, carriers, b, a, mean_b, sums)
            between = 0.0
            if n_a and n_b:
                between = np.float64(n_a) * np.float64(n_b) / np.float64(n_a + n_b)
            for j in range(width):
                within[pair, j], square[pair, j] = sums[0, j], sums[1, j]
                scatter[pair, j] = sums[0, j]
                if between:
                    gap = tables.base[lead_a, j] - tables.base[lead_b, j]
                    gap += mean_a[j] - mean_b[j]
                    scatter[pair, j] += between * gap * gap
            pair += 1


@jit
def _spread(columns: SparseColumns, column: int, labels: ByteArray, held: FloatArray) -> None:
    """Add a column's sums per label set to ``held[a, b]`` for a in the set and b not in it."""
    held[:] = 0.0
    for p in range(columns.indptr[column], columns.indptr[column + 1]):
        carried = labels[columns.indices[p]]
        for a in range(len(carried)):
            if carried[a]:
                for b in range(len(carried)):
                    if not carried[b]:
                        held[a, b] += columns.data[p]


@inline
def _scatter_of(total: float, square: float, rows: int, binary: bool) -> float:
    """Scatter of one class from its sums; 0/1 values lose no digits."""
    if rows <= 1:
        return 0.0
    if binary:
        return total * (rows - total) / rows
    return max(square - total * total / rows, 0.0)


@jit
def sparse_pairs(
    sums: SparseColumns,
    squares: SparseColumns,
    labels: ByteArray,
    apart: IntArray,
    binary: BoolArray,
    out: tuple[FloatArray, FloatArray, FloatArray],
    cancelled: BoolArray,
) -> None:
    """As :func:`dense_pairs` from the sums of stored cells.

    Parameters
    ----------
    sums, squares : SparseColumns
        Sums of values and of squares, rows are label sets.
    labels : ndarray of uint8, shape (n_sets, n_labels)
    apart : ndarray of int64, shape (n_labels, n_labels)
        Rows with label a and without b.
    binary : ndarray of bool, shape (n_columns,)
        Values are 0 and 1.
    out : three ndarrays of float64, shape (n_pairs, n_columns), changed
        Within, square, scatter.
    cancelled : ndarray of bool, shape (n_columns,), changed
        Columns with a pair whose scatter lost digits.
    """
    within, square, scatter = out
    q = labels.shape[1]
    total, squared = np.empty((q, q)), np.empty((q, q))
    for j in range(len(binary)):
        _spread(sums, j, labels, total)
        _spread(squares, j, labels, squared)
        pair = 0
        for a in range(q):
            for b in range(a + 1, q):
                n_a, n_b = apart[a, b], apart[b, a]
                inner = _scatter_of(total[a, b], squared[a, b], n_a, binary[j])
                inner += _scatter_of(total[b, a], squared[b, a], n_b, binary[j])
                within[pair, j] = inner
                square[pair, j] = squared[a, b] + squared[b, a]
                scatter[pair, j] = inner
                if n_a and n_b:
                    gap = total[a, b] / n_a - total[b, a] / n_b
                    weight = np.float64(n_a) * np.float64(n_b) / np.float64(n_a + n_b)
                    scatter[pair, j] += weight * gap * gap
                subtracted = 0.0
                if n_a > 1:
                    subtracted += squared[a, b]
                if n_b > 1:
                    subtracted += squared[b, a]
                if not binary[j] and subtracted > 0 and inner <= _CANCELLED * subtracted:
                    cancelled[j] = True
                pair += 1


@jit
def pair_extremes(
    low: FloatArray, high: FloatArray, carriers: Carriers, constant: BoolArray
) -> None:
    """Whether each column has one value on the rows of each pair.

    Parameters
    ----------
    low, high : ndarray of float64, shape (n_sets, n_columns)
        Extremes in each label set.
    carriers
        Label sets.
    constant : ndarray of bool, shape (n_pairs, n_columns), changed
    """
    q, width = carriers.labels.shape[1], constant.shape[1]
    bottom, top = np.empty(width), np.empty(width)
    pair = 0
    for a in range(q):
        for b in range(a + 1, q):
            bottom[:], top[:] = np.inf, -np.inf
            for one in (a, b):
                other = a + b - one
                for s in range(carriers.start[one], carriers.start[one + 1]):
                    u = carriers.sets[s]
                    if carriers.labels[u, other]:
                        continue
                    least, most = low[u], high[u]
                    for j in range(width):
                        bottom[j] = min(bottom[j], least[j])
                        top[j] = max(top[j], most[j])
            for j in range(width):
                constant[pair, j] = not bottom[j] < top[j]
            pair += 1


@jit
def dense_group_extremes(
    X: AnyArray, groups: IntArray, start: int, low: FloatArray, high: FloatArray
) -> None:
    """Update the extremes of some columns in each group of rows.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Without missing values.
    groups : ndarray of int64, shape (n_rows,)
    start
        First column.
    low, high : ndarray of float64, shape (n_groups, n_columns), changed
        Start from +inf and -inf.
    """
    for i in range(len(X)):
        least, most = low[groups[i]], high[groups[i]]
        row = X[i, start : start + len(least)]
        for j in range(len(least)):
            v = np.float64(row[j])
            least[j] = min(least[j], v)
            most[j] = max(most[j], v)


@jit
def csr_group_extremes(
    cells: tuple[AnyArray, AnyArray, AnyArray],
    groups: IntArray,
    start: int,
    low: FloatArray,
    high: FloatArray,
    stored: IntArray,
) -> None:
    """As :func:`dense_group_extremes` for CSR rows.

    Parameters
    ----------
    cells : three ndarrays
        Values, columns and row pointers.
    groups, start, low, high
        As in :func:`dense_group_extremes`.
    stored : ndarray of int64, shape (n_groups, n_columns), changed
        Stored cells; the caller accounts for omitted ones, which are zeros.
    """
    data, indices, indptr = cells
    width = low.shape[1]
    for i in range(len(groups)):
        g = groups[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p] - start
            if 0 <= j < width:
                v = np.float64(data[p])
                stored[g, j] += 1
                low[g, j] = min(low[g, j], v)
                high[g, j] = max(high[g, j], v)
