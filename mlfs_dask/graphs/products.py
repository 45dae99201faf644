"""Products of similarities with the columns of two tiles, dense or sparse as the data ask for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK
from mlfs_dask.kernels.spectral import (
    Operand,
    SparseColumns,
    column_dots,
    sparse_form_work,
    sparse_forms,
)

PRODUCT_SPEED = 16
"""Products of a matrix product in the time of one that has to fetch its numbers one by one."""

# Shifted columns of the right tile that are kept from strip to strip.
_KEPT_BYTES = 32 * 2**20


class TileProducts:
    """``g_I' W g_J`` of all columns, one strip of W after the other.

    Products of dense columns are matrix products of fixed shape, padded with zeros. CSR columns
    with few entries are multiplied entry by entry where that is less work.

    Parameters
    ----------
    columns
        The columns.
    left, right : ndarray or CSR matrix
        Rows of the two tiles.
    """

    def __init__(self, columns: Columns, left: Block, right: Block) -> None:
        self._columns, self._left, self._right = columns, left, right
        self._kept: dict[int, FloatArray] = {}
        self._sparse: list[tuple[SparseColumns, SparseColumns]] = []
        if sp.issparse(left):
            a = list(_sparse_blocks(columns, left))
            b = a if right is left else list(_sparse_blocks(columns, right))
            self._sparse = list(zip(a, b, strict=True))

    def add(self, W: FloatArray, begin: int, end: int, out: FloatArray) -> None:
        """Add the part of rows ``begin:end`` of the left tile.

        Parameters
        ----------
        W : ndarray of float64, shape (>= end - begin, >= n_right)
            Their similarities, 0 beyond.
        begin, end
            Rows of the left tile.
        out : ndarray of float64, shape (n_columns,), changed
        """
        n_right = self._right.shape[0]
        for number, (start, stop) in enumerate(even_spans(self._columns.n_columns, COLUMN_BLOCK)):
            if self._sparse:
                a, b = self._sparse[number]
                mine, theirs = Operand(a, begin, end), Operand(b, 0, n_right)
                if sparse_form_work(mine, theirs) * PRODUCT_SPEED < W.size * COLUMN_BLOCK:
                    out[start:stop] += sparse_forms(mine, theirs, W)
                    continue
            own = _shifted(self._columns, self._left[begin:end], start, stop, len(W))
            product = W @ self._other(start, stop, W.shape[1])
            out[start:stop] += column_dots(own, product)[: stop - start]

    def _other(self, start: int, stop: int, n_rows: int) -> FloatArray:
        found = self._kept.get(start)
        if found is None:
            found = _shifted(self._columns, self._right, start, stop, n_rows)
            if (len(self._kept) + 1) * found.nbytes <= _KEPT_BYTES:
                self._kept[start] = found
        return found


def sparse_columns(matrix: sp.csc_matrix) -> SparseColumns:
    """A CSC matrix in the types that kernels are compiled for.

    Parameters
    ----------
    matrix : CSC matrix of float64
        Rows ascending in each column.
    """
    return SparseColumns(
        matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    )


def _sparse_blocks(columns: Columns, block: Block) -> Iterator[SparseColumns]:
    shape = (block.shape[0], columns.n_columns)
    whole = sp.csr_matrix(tuple(columns.sparse(block)), shape=shape).tocsc()
    for start, stop in even_spans(columns.n_columns, COLUMN_BLOCK):
        yield sparse_columns(whole[:, start:stop])


def _shifted(columns: Columns, block: Block, start: int, stop: int, n_rows: int) -> FloatArray:
    out = np.zeros((n_rows, COLUMN_BLOCK))
    which = np.arange(start, stop)
    out[: block.shape[0], : stop - start] = columns.dense(block, which) - columns.shift[start:stop]
    return out
