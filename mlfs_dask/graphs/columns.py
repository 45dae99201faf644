"""Numeric columns that stand for the features: one each, or one per category.

A nominal feature of more than two values becomes a group of 0/1 columns, one per code that occurs;
its numerators and denominators are summed over the group. Everything else is a column
as it is stored, and then blocks are passed to kernels without a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, BoolArray, FloatArray, IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.source import Source, TileItem, load_block
from mlfs_dask.graphs.statistics import NOMINAL, ColumnSummary

# Squares of larger or smaller values leave the range of float64; a power of two moves them back
# without touching a digit.
_LARGE, _SMALL = 2.0**300, 2.0**-300


class CsrBlock(NamedTuple):
    """CSR rows in the types that kernels are compiled for."""

    data: FloatArray
    indices: IntArray
    indptr: IntArray


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a source.

    Attributes
    ----------
    n_features : int
    feature : ndarray of int64, shape (n_columns,)
        Feature each column belongs to, ascending.
    code : ndarray of float64, shape (n_columns,)
        Category of a 0/1 column; NaN for a feature's own values.
    shift : ndarray of float64, shape (n_columns,)
        First value of each column; 0 for CSR.
    scale : ndarray of float64, shape (n_columns,), or None
        Power of two that each column is multiplied by; None: all 1.
    span : ndarray of float64, shape (n_columns,)
        Range of the (scaled) column.
    """

    n_features: int
    feature: IntArray
    code: FloatArray
    shift: FloatArray
    scale: FloatArray | None
    span: FloatArray

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.feature)

    @property
    def as_stored(self) -> bool:
        """Whether column j is feature j as stored."""
        return self.scale is None and bool(np.isnan(self.code).all())

    def cut(self, block: Block, start: int, stop: int) -> tuple[AnyArray, int]:
        """Columns ``start:stop`` of dense rows: an array for kernels and where they begin in it.

        Parameters
        ----------
        block : ndarray, shape (n_rows, n_features)
        start, stop
            Range of columns.

        Returns
        -------
        ndarray of uint8, float32 or float64, C-contiguous, and int
        """
        if self.as_stored:
            if block.dtype in (np.uint8, np.float32, np.float64):
                return np.ascontiguousarray(block), start
            return np.ascontiguousarray(block[:, start:stop], dtype=np.float64), 0
        return self.dense(block, np.arange(start, stop)), 0

    def dense(self, block: Block, which: IntArray) -> FloatArray:
        """Some columns as a dense float64 array, shape (n_rows, len(which)).

        Parameters
        ----------
        block : ndarray or CSR matrix, shape (n_rows, n_features)
        which : ndarray of int64
            Columns.
        """
        features = self.feature[which]
        values = block[:, features]  # a copy, since features is an array
        if sp.issparse(values):
            values = values.toarray()
        out = np.ascontiguousarray(values, dtype=np.float64)
        code = self.code[which]
        coded = np.flatnonzero(~np.isnan(code))
        out[:, coded] = out[:, coded] == code[coded]
        if self.scale is not None:
            out *= self.scale[which]
        return out

    def sparse(self, block: Block) -> CsrBlock:
        """All columns of CSR rows.

        Parameters
        ----------
        block : CSR matrix, shape (n_rows, n_features)
        """
        if not self.as_stored:
            block = self._expand(block)
        return CsrBlock(
            block.data.astype(np.float64, copy=False),
            block.indices.astype(np.int64, copy=False),
            block.indptr.astype(np.int64, copy=False),
        )

    def _expand(self, block: Block) -> Block:
        coded = np.flatnonzero(~np.isnan(self.code))
        plain = np.flatnonzero(np.isnan(self.code))
        kept = block[:, self.feature[plain]].astype(np.float64)
        if self.scale is not None:
            kept = kept @ sp.diags_array(self.scale[plain])
        made = sp.csr_matrix(self.dense(block, coded))
        order = np.argsort(np.concatenate([plain, coded]))
        expanded = sp.csr_matrix(sp.hstack([kept, made], format="csr")[:, order])
        expanded.sort_indices()
        return expanded

    def by_feature(self, values: FloatArray) -> FloatArray:
        """Sum a quantity over each feature's columns, in order.

        Parameters
        ----------
        values : ndarray of float64, shape (n_columns,)

        Returns
        -------
        ndarray of float64, shape (n_features,)
        """
        if self.n_columns == self.n_features:
            return values
        out = np.zeros(self.n_features)
        np.add.at(out, self.feature, values)
        return out


def make_columns(source: Source, summary: ColumnSummary, executor: Executor) -> Columns:
    """Find the columns of a source without missing values.

    Parameters
    ----------
    source, summary
        Rows and what is known of their features.
    executor
        Where to run.
    """
    many = many_valued(source, summary)
    codes = _find_codes(source, np.flatnonzero(many), executor)
    sizes = np.ones(source.n_features, dtype=np.int64)
    sizes[many] = [len(each) for each in codes]
    feature = np.repeat(np.arange(source.n_features), sizes)
    coded = many[feature]
    code = np.full(len(feature), np.nan)
    code[coded] = np.concatenate([np.zeros(0), *codes])
    largest = np.where(coded, 1.0, np.maximum(abs(summary.low), abs(summary.high))[feature])
    extreme = (largest > _LARGE) | ((largest < _SMALL) & (largest > 0))
    # Below 2^-1023 the power that would bring a value near 1 is itself out of range.
    exponent = np.minimum(-np.frexp(largest)[1], 1023)
    scale = np.where(extreme, np.ldexp(1.0, exponent), 1.0)
    first = summary.first[feature]
    if source.is_sparse:
        shift = np.zeros(len(feature))
    else:
        shift = np.where(coded, first == code, first * scale)
    return Columns(
        n_features=source.n_features,
        feature=feature.astype(np.int64),
        code=code.astype(np.float64),
        shift=shift,
        scale=scale if extreme.any() else None,
        span=np.where(coded, 1.0, summary.high[feature] * scale - summary.low[feature] * scale),
    )


def many_valued(source: Source, summary: ColumnSummary) -> BoolArray:
    """Nominal features with codes other than 0 and 1.

    Parameters
    ----------
    source, summary
        Rows and what is known of their features.
    """
    nominal: BoolArray = source.feature_kind == NOMINAL
    return nominal & ~summary.binary & ~summary.constant


def _find_codes(source: Source, features: IntArray, executor: Executor) -> list[FloatArray]:
    found: list[FloatArray] = [np.zeros(0)] * len(features)
    if len(features):
        for part in executor.map(_tile_codes, source.items(), features):
            found = [np.union1d(held, codes) for held, codes in zip(found, part, strict=True)]
    return found


def _tile_codes(item: TileItem, features: IntArray) -> list[FloatArray]:
    block = load_block(item)
    columns = block[:, features].toarray() if sp.issparse(block) else block[:, features]
    return [np.unique(column).astype(np.float64) for column in columns.T]
