"""Sums behind the graph Laplacian's quadratic forms, strict and in row order.

For a column f, a shift c and g = f - c, all roads need ``g'Dg``, ``1'Dg`` and ``f'Df``; the
collapsed road needs the sums of g per label set besides. Every kernel adds to arrays that start
from 0.0, one row after the other, so a tile's partial is the same bits wherever it is made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit


class Moments(NamedTuple):
    """Sums per column, weighted by the degrees of the rows.

    Attributes
    ----------
    gg, g, ff : ndarray of float64, shape (n_columns,)
        ``g'Dg``, ``1'Dg``, ``f'Df``.
    """

    gg: FloatArray
    g: FloatArray
    ff: FloatArray


def zero_moments(n_columns: int) -> Moments:
    """Sums of no rows."""
    return Moments(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns))


@jit
def dense_moments(
    X: AnyArray, start: int, weight: FloatArray, shift: FloatArray, sums: Moments
) -> None:
    """Add the rows of a dense block.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    start
        First column; as many follow as there are shifts.
    weight : ndarray of float64, shape (n_rows,)
        Degree of each row.
    shift : ndarray of float64, shape (n_columns,)
    sums
        Changed.
    """
    width = len(shift)
    gg, total, ff = sums.gg, sums.g, sums.ff
    for i in range(len(X)):
        row = X[i, start : start + width]
        w = weight[i]
        for j in range(width):
            f = np.float64(row[j])
            g = f - shift[j]
            wg = w * g
            total[j] += wg
            gg[j] += wg * g
            ff[j] += w * f * f


@jit
def csr_moments(
    data: FloatArray, indices: IntArray, indptr: AnyArray, weight: FloatArray, sums: Moments
) -> None:
    """Add CSR rows, whose shift is 0.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR arrays of the columns that count.
    weight : ndarray of float64, shape (n_rows,)
        Degree of each row.
    sums
        Changed.
    """
    for i in range(len(indptr) - 1):
        w = weight[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            wf = w * data[p]
            sums.g[j] += wf
            sums.gg[j] += wf * data[p]
            sums.ff[j] += wf * data[p]


@jit
def dense_group_sums(
    X: AnyArray,
    start: int,
    groups: tuple[IntArray, IntArray],
    shift: FloatArray,
    sums: FloatArray,
) -> None:
    """Add each row's g to the sums of the groups it belongs to.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    start
        First column.
    groups : two ndarrays of int64
        Row pointers and group numbers, as in CSR.
    shift : ndarray of float64, shape (n_columns,)
    sums : ndarray of float64, shape (n_groups, n_columns), changed
    """
    width = len(shift)
    pointers, members = groups
    g = np.empty(width, dtype=np.float64)
    for i in range(len(X)):
        row = X[i, start : start + width]
        for j in range(width):
            g[j] = np.float64(row[j]) - shift[j]
        for p in range(pointers[i], pointers[i + 1]):
            total = sums[members[p]]
            for j in range(width):
                total[j] += g[j]


@jit
def column_dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Scalar products of equal columns, rows in order.

    Parameters
    ----------
    left, right : ndarray of float64, shape (n_rows, n_columns)

    Returns
    -------
    ndarray of float64, shape (n_columns,)
    """
    out = np.zeros(left.shape[1], dtype=np.float64)
    for i in range(len(left)):
        a, b = left[i], right[i]
        for j in range(len(out)):
            out[j] += a[j] * b[j]
    return out


@jit
def row_sums(W: FloatArray, n_columns: int) -> FloatArray:
    """Sum of each row over the first ``n_columns`` columns, in order.

    Parameters
    ----------
    W : ndarray of float64, shape (n_rows, >= n_columns)
    n_columns
        Columns that count.
    """
    out = np.zeros(len(W), dtype=np.float64)
    # Four rows at once: an addition need not wait for the one before it.
    whole = len(W) - len(W) % 4
    for i in range(0, whole, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(n_columns):
            a += W[i, j]
            b += W[i + 1, j]
            c += W[i + 2, j]
            d += W[i + 3, j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(whole, len(W)):
        for j in range(n_columns):
            out[i] += W[i, j]
    return out


@jit
def column_sums(W: FloatArray, n_rows: int, out: FloatArray) -> None:
    """Add the first ``n_rows`` rows to ``out``, in order.

    Parameters
    ----------
    W : ndarray of float64, shape (>= n_rows, >= len(out))
    n_rows
        Rows that count.
    out : ndarray of float64, shape (n_columns,), changed
    """
    for i in range(n_rows):
        for j in range(len(out)):
            out[j] += W[i, j]


class SparseColumns(NamedTuple):
    """Columns of a CSC matrix.

    Attributes
    ----------
    data : ndarray of float64, shape (nnz,)
    indices : ndarray of int64, shape (nnz,)
        Rows, ascending in each column.
    indptr : ndarray of int64, shape (n_columns + 1,)
    """

    data: FloatArray
    indices: IntArray
    indptr: IntArray


class Operand(NamedTuple):
    """A range of rows of sparse columns.

    Attributes
    ----------
    columns : SparseColumns
    begin, end : int
        Rows that count.
    """

    columns: SparseColumns
    begin: int
    end: int


@inline
def _span(operand: Operand, column: int) -> tuple[int, int]:
    """Positions of a column's entries in the range of rows."""
    first, last = operand.columns.indptr[column], operand.columns.indptr[column + 1]
    rows = operand.columns.indices[first:last]
    return (
        first + np.searchsorted(rows, operand.begin),
        first + np.searchsorted(rows, operand.end),
    )


@jit
def sparse_form_work(left: Operand, right: Operand) -> int:
    """Number of products that `sparse_forms` adds up.

    Parameters
    ----------
    left, right
        Equal columns of two ranges of rows.
    """
    total = 0
    for c in range(len(left.columns.indptr) - 1):
        a, b = _span(left, c)
        first, last = _span(right, c)
        total += (b - a) * (last - first)
    return total


@jit
def sparse_forms(left: Operand, right: Operand, W: FloatArray) -> FloatArray:
    """``a' W b`` of each column of the left and the right operand, rows in order.

    Parameters
    ----------
    left, right
        Equal columns of two ranges of rows.
    W : ndarray of float64, shape (>= n_left, >= n_right)

    Returns
    -------
    ndarray of float64, shape (n_columns,)
    """
    out = np.zeros(len(left.columns.indptr) - 1, dtype=np.float64)
    rows, values = right.columns.indices, right.columns.data
    for c in range(len(out)):
        first, last = _span(right, c)
        begin, end = _span(left, c)
        for p in range(begin, end):
            row = W[left.columns.indices[p] - left.begin]
            inner = 0.0
            for r in range(first, last):
                inner += row[rows[r] - right.begin] * values[r]
            out[c] += left.columns.data[p] * inner
    return out


class Centres(NamedTuple):
    """Means of groups of rows as a value that occurs plus a small rest.

    Attributes
    ----------
    base, rest : ndarray of float64, shape (n_groups, n_columns)
        The mean is ``base + rest``; differences are taken part by part, which keeps their digits
        however far the values are from zero.
    mass : ndarray of float64, shape (n_groups,)
        Rows of each group.
    """

    base: FloatArray
    rest: FloatArray
    mass: FloatArray


@jit
def pair_scatter(W: FloatArray, left: Centres, right: Centres) -> FloatArray:
    """Sum of ``W_ij m_i m_j (μ_i - μ_j)²`` over all pairs, for each column.

    A sum of non-negative terms: no digits are lost, and columns that are constant on each
    connected part of the graph give exactly 0.

    Parameters
    ----------
    W : ndarray of float64, shape (>= n_left, >= n_right)
        Similarities.
    left, right
        Groups of rows, or rows with mass 1 and no rest.

    Returns
    -------
    ndarray of float64, shape (n_columns,)
    """
    out = np.zeros(left.base.shape[1], dtype=np.float64)
    for i in range(len(left.mass)):
        base, rest = left.base[i], left.rest[i]
        for j in range(len(right.mass)):
            w = W[i, j] * left.mass[i] * right.mass[j]
            if w == 0.0:
                continue
            other_base, other_rest = right.base[j], right.rest[j]
            for f in range(len(out)):
                gap = (base[f] - other_base[f]) + (rest[f] - other_rest[f])
                out[f] += w * gap * gap
    return out


@jit
def dense_scatter_sums(
    X: FloatArray,
    groups: tuple[IntArray, IntArray],
    base: FloatArray,
    total: FloatArray,
    square: FloatArray,
) -> None:
    """Add values and squares, shifted by a base per group, to the groups of each row.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
    groups : two ndarrays of int64
        Row pointers and group numbers, as in CSR.
    base : ndarray of float64, shape (n_groups, n_columns)
        Shifts.
    total, square : ndarray of float64, shape (n_groups, n_columns), changed
    """
    pointers, members = groups
    for i in range(len(X)):
        row = X[i]
        for p in range(pointers[i], pointers[i + 1]):
            k = members[p]
            shift, sums, squares = base[k], total[k], square[k]
            for j in range(len(row)):
                g = row[j] - shift[j]
                sums[j] += g
                squares[j] += g * g
