"""Columns that linear models and kernels can use: one-hot categories, one scale for all.

Everything is learned from a model's own training rows and applied to others as it is, without
clipping. Sparse rows stay sparse: columns are divided by their spread, and moved only where rows
are dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.inputs import Block

Scaling: TypeAlias = Literal["standard", "range", "none"]


@dataclass(frozen=True, eq=False)
class Encoding:
    """How columns of values become columns of numbers.

    Attributes
    ----------
    plain : ndarray of int64
        Columns taken as they are.
    column : ndarray of int64, shape (n_codes,)
        Column of each category, ascending.
    code : ndarray of float64, shape (n_codes,)
        Its value; a row with another value has 0.
    center, factor : ndarray of float64, shape (n_encoded,)
        Encoded values minus ``center``, times ``factor``; plain columns first. A constant column
        has the factor 0. ``center`` does not move sparse rows.
    """

    plain: IntArray
    column: IntArray
    code: FloatArray
    center: FloatArray
    factor: FloatArray

    @property
    def n_encoded(self) -> int:
        """Number of encoded columns."""
        return len(self.factor)

    def dense(self, X: Block) -> FloatArray:
        """Rows as centred and scaled columns; missing values stay NaN.

        Parameters
        ----------
        X : ndarray or CSR matrix, shape (n_rows, n_columns)
        """
        rows = X.toarray() if sp.issparse(X) else X
        encoded = np.ascontiguousarray(self._expanded(rows), dtype=np.float64)
        encoded = np.subtract(encoded, self.center)
        encoded *= self.factor
        return encoded

    def sparse(self, X: Block) -> sp.csr_matrix:
        """Rows as scaled columns that are not moved, CSR.

        Parameters
        ----------
        X : ndarray or CSR matrix, shape (n_rows, n_columns)
        """
        rows = sp.csr_matrix(X)
        if len(self.column):
            coded = sp.csr_matrix(self._coded(rows[:, self.column].toarray()))
            rows = sp.csr_matrix(sp.hstack([rows[:, self.plain], coded], format="csr"))
        scaled = rows.copy()
        scaled.data = scaled.data * self.factor[scaled.indices]
        scaled.eliminate_zeros()
        scaled.sort_indices()
        return scaled

    def _expanded(self, rows: FloatArray) -> FloatArray:
        if len(self.column) == 0:
            return rows
        return np.hstack([rows[:, self.plain], self._coded(rows[:, self.column])])

    def _coded(self, values: FloatArray) -> FloatArray:
        coded: FloatArray = np.equal(values, self.code).astype(np.float64)
        coded[np.isnan(values)] = np.nan
        return coded


def encode(X: Block, kind: ByteArray, scaling: Scaling) -> Encoding:
    """Learn an encoding from training rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of float64, shape (n_rows, n_columns)
        NaN is missing.
    kind : ndarray of uint8, shape (n_columns,)
        0 numeric, 1 nominal: one-hot, one column per code that occurs, if there are codes other
        than 0 and 1.
    scaling
        ``"standard"``: mean 0, standard deviation (n - 1) 1. ``"range"``: range 1. ``"none"``.
    """
    many = many_valued(X, np.flatnonzero(kind))
    codes = [_codes(X, j) for j in many]
    column = np.repeat(many, [len(each) for each in codes])
    encoding = Encoding(
        plain=np.setdiff1d(np.arange(X.shape[1]), many),
        column=column,
        code=np.concatenate([np.zeros(0), *codes]),
        center=np.zeros(X.shape[1] - len(many) + len(column)),
        factor=np.ones(X.shape[1] - len(many) + len(column)),
    )
    if scaling == "none":
        return encoding
    center, spread = _scales(encoding, X, scaling)
    # The inverse of a subnormal number is infinite: such a column counts as constant.
    seen = spread >= np.finfo(np.float64).tiny
    factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=seen)
    return Encoding(encoding.plain, encoding.column, encoding.code, center, factor)


def many_valued(X: Block, nominal: IntArray) -> IntArray:
    """Nominal columns with values other than 0 and 1.

    Parameters
    ----------
    X : ndarray or CSR matrix of float64, shape (n_rows, n_columns)
        NaN is missing.
    nominal : ndarray of int64
        Columns whose values are codes.
    """
    values = X.data if sp.issparse(X) else X[:, nominal]
    other = (values != 0) & (values != 1) & ~np.isnan(values)
    columns = X.indices[other] if sp.issparse(X) else nominal[other.any(axis=0)]
    return np.intersect1d(columns, nominal).astype(np.int64)


def _codes(X: Block, j: int) -> FloatArray:
    values: FloatArray = X[:, [j]].toarray()[:, 0] if sp.issparse(X) else X[:, j]
    codes: FloatArray = np.unique(values[~np.isnan(values)])
    return codes


def _scales(encoding: Encoding, X: Block, scaling: Scaling) -> tuple[FloatArray, FloatArray]:
    """What encoded columns are moved by, and their spread: 0 where they are constant."""
    if sp.issparse(X):
        rows = encoding.sparse(X)
        low, high = (getattr(rows, end)(axis=0).toarray()[0] for end in ("min", "max"))
        center, spread = _sparse_moments(rows)
    else:
        rows = encoding.dense(X)
        low, high = rows.min(axis=0), rows.max(axis=0)
        center, spread = rows.mean(axis=0), rows.std(axis=0, ddof=1) if len(rows) > 1 else high
    varies: BoolArray = high > low
    if scaling == "range":
        return low, np.where(varies, high - low, 0.0)
    return center, np.where(varies, spread, 0.0)


def _sparse_moments(rows: sp.csr_matrix) -> tuple[FloatArray, FloatArray]:
    n, d = rows.shape
    mean = np.bincount(rows.indices, weights=rows.data, minlength=d) / n
    apart = (rows.data - mean[rows.indices]) ** 2
    stored = np.bincount(rows.indices, minlength=d)
    squares = np.bincount(rows.indices, weights=apart, minlength=d) + (n - stored) * mean**2
    return mean, np.sqrt(squares / max(1, n - 1))
