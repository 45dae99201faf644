"""Products of centred columns with themselves.

CSR columns stay CSR: what centring would fill in is added as a product of means. Only columns
without a single zero, which are stored in full anyway, are taken as dense ones, less a centre, so
that values far from zero keep their digits. Columns of dense rows are all taken so::

    tile ──┬── light    CSR
           └── full     dense, less a centre
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.pairs import padded_rows
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.blas import single_blas_thread

# Widths are padded to a multiple: a product with one column alone would be another routine of the
# BLAS library.
_EDGE = 8


@dataclass(frozen=True, eq=False)
class CentredColumns:
    """Columns with a centre each.

    Attributes
    ----------
    columns : Columns
    centre : ndarray of float64, shape (n_columns,)
    light : ndarray of int64
        Columns of CSR rows with zeros among their values.
    full : ndarray of int64
        All others.
    tile : int
        Rows of a whole tile.
    """

    columns: Columns
    centre: FloatArray
    light: IntArray
    full: IntArray
    tile: int

    def light_part(self, block: Block) -> Any:
        """The light columns of CSR rows, as they are: a CSR matrix."""
        shape = (block.shape[0], self.columns.n_columns)
        whole = sp.csr_matrix(tuple(self.columns.sparse(block)), shape=shape)
        return whole if len(self.full) == 0 else whole[:, self.light]

    def full_parts(self, block: Block) -> Iterator[tuple[IntArray, FloatArray]]:
        """Runs of 256 full columns less their centres, padded with zeros."""
        n = block.shape[0]
        for lo in range(0, len(self.full), COLUMN_BLOCK):
            which = self.full[lo : lo + COLUMN_BLOCK]
            width = min(-(-len(which) // _EDGE) * _EDGE, COLUMN_BLOCK)
            out = np.zeros((padded_rows(n, self.tile), width))
            out[:n, : len(which)] = self.columns.dense(block, which) - self.centre[which]
            yield which, out


def centred_columns(
    source: Source, columns: Columns, summary: ColumnSummary, centre: FloatArray
) -> CentredColumns:
    """Choose how each column is multiplied.

    Parameters
    ----------
    source, columns, summary
        Rows, the columns made of them, and what is known of their features.
    centre : ndarray of float64, shape (n_columns,)
        Taken off the full columns at once, and off the light ones where a product asks for it.
    """
    plain = np.isnan(columns.code)
    without_zero = plain & ((summary.low > 0) | (summary.high < 0))[columns.feature]
    full = np.ones(columns.n_columns, dtype=bool) if not source.is_sparse else without_zero
    return CentredColumns(columns, centre, np.flatnonzero(~full), np.flatnonzero(full), source.tile)


def gram_product(
    source: Source, centred: CentredColumns, executor: Executor
) -> Callable[[FloatArray], FloatArray]:
    """Make ``P -> X_c' X_c P`` of columns centred at their means, one pass over the tiles each.

    Parameters
    ----------
    source, centred
        Rows and the columns made of them; the centres are the means.
    executor
        Where to run.

    Returns
    -------
    callable
        P and the product are ndarrays of float64, shape (n_columns, n_vectors).
    """
    shared = executor.share(centred)

    def multiply(vectors: FloatArray) -> FloatArray:
        out = np.zeros(vectors.shape)
        tasks = tile_tasks(source)
        for part in executor.map(_gram_tile, tasks, shared, executor.share(vectors)):
            out += part
        return out

    return multiply


def _gram_tile(task: TileTask, centred: CentredColumns, vectors: FloatArray) -> FloatArray:
    [block] = task.load()
    n, width = block.shape[0], vectors.shape[1]
    light, mean = centred.light, centred.centre[centred.light]
    out = np.zeros(vectors.shape)
    images = np.zeros((padded_rows(n, centred.tile), -(-width // _EDGE) * _EDGE))
    parts = list(centred.full_parts(block)) if len(centred.full) <= COLUMN_BLOCK else None
    with single_blas_thread():
        if len(light):
            X = centred.light_part(block)
            images[:n, :width] = X @ vectors[light] - mean @ vectors[light]
        for which, full in parts or centred.full_parts(block):
            images += full @ _padded(vectors[which], full.shape[1])
        if len(light):
            inner = images[:n, :width]
            out[light] = X.T @ inner - np.outer(mean, inner.sum(axis=0))
        for which, full in parts or centred.full_parts(block):
            out[which] = (full.T @ images)[: len(which), :width]
    return out


def _padded(matrix: Any, n_rows: int) -> FloatArray:
    """The matrix with zeros below and to the right."""
    out = np.zeros((n_rows, -(-matrix.shape[1] // _EDGE) * _EDGE))
    out[: matrix.shape[0], : matrix.shape[1]] = matrix
    return out
