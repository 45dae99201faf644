"""Weighted sums of the differences between rows, feature by feature.

Relief adds up ``w |x_ir - x_jr|`` over the neighbours j of a row i; how one feature differs follows
the rules of :mod:`mlfs_dask.kernels.distances`. The sum of one row runs over its neighbours in
index order, on every road; what rows add up to is kept by :mod:`mlfs_dask.kernels.exactsum`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.distances import NOMINAL
from mlfs_dask.kernels.exactsum import Cuts, add_exactly
from mlfs_dask.kernels.terms import Terms


class Kinds(NamedTuple):
    """Columns of dense rows, sorted by how they are compared.

    Attributes
    ----------
    plain, coded : int
        So many columns are compared by difference, then so many by equality; the rest by difference
        with missing values.
    bottom, top : ndarray of float64, shape (n_kept,)
        See ``DistanceRule``.
    """

    plain: int
    coded: int
    bottom: FloatArray
    top: FloatArray


@inline
def difference(a: float, b: float, how: int, bottom: float, top: float) -> float:
    """Difference of two values, not squared; see ``add_plain`` and its siblings.

    Parameters
    ----------
    a, b
        Scaled values.
    how, bottom, top
        See ``DistanceRule``.
    """
    if how == NOMINAL:
        return 0.0 if a == b else 1.0
    gap = abs(a - b)
    if np.isnan(gap):
        if np.isnan(a) and np.isnan(b):
            return top - bottom
        known = b if np.isnan(a) else a
        return max(top - known, known - bottom)
    return gap


@jit
def _add_row(total: FloatArray, own: AnyArray, row: AnyArray, weight: float, kinds: Kinds) -> None:
    for r in range(kinds.plain):
        total[r] += weight * abs(np.float64(own[r]) - np.float64(row[r]))
    for r in range(kinds.plain, kinds.plain + kinds.coded):
        total[r] += 0.0 if own[r] == row[r] else weight
    bottom, top = kinds.bottom, kinds.top
    for r in range(kinds.plain + kinds.coded, len(total)):
        a, b = own[r], row[r]
        known = b if np.isnan(a) else a
        far = max(top[r] - known, known - bottom[r])
        far = top[r] - bottom[r] if np.isnan(known) else far
        gap = abs(a - b)
        total[r] += weight * (far if np.isnan(gap) else gap)


@jit
def _add_four_rows(
    total: FloatArray,
    own: AnyArray,
    rows: tuple[AnyArray, AnyArray, AnyArray, AnyArray],
    weight: FloatArray,
    plain: int,
) -> None:
    """As :func:`_add_row` for the plain columns of four rows, one after the other."""
    a, b, c, d = rows
    w0, w1, w2, w3 = weight[0], weight[1], weight[2], weight[3]
    for r in range(plain):
        x = np.float64(own[r])
        g0, g1 = abs(x - np.float64(a[r])), abs(x - np.float64(b[r]))
        g2, g3 = abs(x - np.float64(c[r])), abs(x - np.float64(d[r]))
        total[r] = (((total[r] + w0 * g0) + w1 * g1) + w2 * g2) + w3 * g3


@jit
def add_dense_gaps(
    terms: Terms,
    queries: AnyArray,
    rows: AnyArray,
    kinds: Kinds,
    places: Cuts,
    sums: FloatArray,
) -> None:
    """Add the terms of some queries to the sums they belong to.

    Parameters
    ----------
    terms
        Which rows, and what each counts.
    queries : ndarray of float64 or uint8, shape (n_queries, n_kept)
    rows : ndarray of the same type, shape (n_rows, n_kept)
        Training rows that the terms name.
    kinds
        How the columns are compared.
    places
        Where the sums of single queries are parted.
    sums : ndarray of float64, shape (n_sums, 2, n_kept), changed
    """
    total = np.empty(queries.shape[1], dtype=np.float64)
    only_plain = kinds.plain == len(total)
    for t in range(len(terms.query)):
        own = queries[terms.query[t]]
        e, last = terms.start[t], terms.start[t + 1]
        if e == last:
            continue
        total[:] = 0.0
        while only_plain and e + 4 <= last:
            r = terms.row[e : e + 4]
            four = (rows[r[0]], rows[r[1]], rows[r[2]], rows[r[3]])
            _add_four_rows(total, own, four, terms.weight[e : e + 4], kinds.plain)
            e += 4
        while e < last:
            _add_row(total, own, rows[terms.row[e]], terms.weight[e], kinds)
            e += 1
        add_exactly(total, places, sums[terms.sum[t]])
