"""The block-pair road: any similarity of rows, two tiles at a time.

Each unordered pair of tiles is one task, the diagonal ones among them::

        tile 0  tile 1  tile 2        W_IJ is made in strips of rows and multiplied by blocks
    0   (0,0)   (0,1)   (0,2)         of 256 columns: g_I'W_IJ g_J, once for I = J, twice for
    1           (1,1)   (1,2)         I < J. Its row and column sums are the degrees.
    2                   (2,2)

Nothing of size n x n exists; partial vectors are added in the order of the pairs.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.graphs.affinity import Affinity
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.laplacian import LaplacianTerms, terms_of
from mlfs_dask.graphs.products import TileProducts
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, pair_tasks, tile_tasks
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.kernels.spectral import (
    Centres,
    Moments,
    column_sums,
    csr_moments,
    dense_moments,
    pair_scatter,
    row_sums,
    zero_moments,
)

# At tiles of 4,096 rows 2 MiB of similarities, 1 MiB where they are fetched one by one: they stay
# near the core, whatever other workers of the machine compute.
STRIP, SPARSE_STRIP = 64, 32
_EDGE = 64


def padded_rows(n_rows: int, tile: int) -> int:
    """Rows that a tile's products are padded to: a multiple of 64, at most the tile.

    Examples
    --------
    >>> padded_rows(70, 4096), padded_rows(70, 80)
    (128, 80)
    """
    return min(-(-n_rows // _EDGE) * _EDGE, max(tile, n_rows))


def pair_terms(
    source: Source, columns: Columns, affinity: Affinity, executor: Executor
) -> tuple[LaplacianTerms, FloatArray]:
    """Quadratic forms of all columns by pairs of tiles, and the degrees of the rows.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    affinity
        Similarity of rows.
    executor
        Where to run.

    Returns
    -------
    terms : LaplacianTerms
    degrees : ndarray of float64, shape (n_samples,)
    """
    degrees, form = np.zeros(source.n_samples), np.zeros(columns.n_columns)
    tasks = pair_tasks(source, *affinity.arrays())
    bounds = source.offsets
    for (i, j), left, right, part in executor.map(
        _multiply_pair, tasks, affinity, columns, source.tile
    ):
        degrees[bounds[i] : bounds[i + 1]] += left
        if i != j:
            degrees[bounds[j] : bounds[j + 1]] += right
        form += part if i == j else 2.0 * part
    moments = zero_moments(columns.n_columns)
    for tile_moments in executor.map(_moments_of_tile, tile_tasks(source, degrees), columns):
        for held, new in zip(moments, tile_moments, strict=True):
            held += new
    return terms_of(moments.gg - form, moments, float(np.sum(degrees))), degrees


def row_pair_scatter(
    source: Source, columns: Columns, which: IntArray, affinity: Affinity, executor: Executor
) -> FloatArray:
    """``f'Lf`` of some columns as half the sum of ``W_ij (f_i - f_j)²`` over pairs of rows.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    which : ndarray of int64
        Columns.
    affinity
        Similarity of rows.
    executor
        Where to run.
    """
    out = np.zeros(len(which))
    tasks = pair_tasks(source, *affinity.arrays())
    for (i, j), part in executor.map(_scatter_pair, tasks, affinity, columns, which):
        out += 0.5 * part if i == j else part
    return out


def _multiply_pair(
    task: TileTask, affinity: Affinity, columns: Columns, tile: int
) -> tuple[tuple[int, ...], FloatArray, FloatArray, FloatArray]:
    a, b = task.load()
    same = task.number[0] == task.number[1]
    left = affinity.prepare(a, task.rows[0])
    right = left if same else affinity.prepare(b, task.rows[1])
    n_left, n_right = a.shape[0], b.shape[0]
    strip = min(SPARSE_STRIP if sp.issparse(a) else STRIP, padded_rows(n_left, tile))
    W = np.zeros((strip, padded_rows(n_right, tile)))
    out = np.zeros(columns.n_columns)
    left_sums, right_sums = np.empty(n_left), np.zeros(n_right)
    products = TileProducts(columns, a, b)
    with single_blas_thread():
        for lo in range(0, n_left, strip):
            hi = min(lo + strip, n_left)
            W[hi - lo :] = 0.0
            affinity.fill(left, lo, hi, right, W, diagonal=same)
            left_sums[lo:hi] = row_sums(W[: hi - lo], n_right)
            column_sums(W, hi - lo, right_sums)
            products.add(W, lo, hi, out)
    return task.number, left_sums, right_sums, out


def _scatter_pair(
    task: TileTask, affinity: Affinity, columns: Columns, which: IntArray
) -> tuple[tuple[int, ...], FloatArray]:
    a, b = task.load()
    same = task.number[0] == task.number[1]
    left = affinity.prepare(a, task.rows[0])
    right = left if same else affinity.prepare(b, task.rows[1])
    values = columns.dense(b, which)
    others = Centres(values, np.zeros(values.shape), np.ones(len(values)))
    out = np.zeros(len(which))
    n_left = a.shape[0]
    W = np.zeros((min(STRIP, n_left), b.shape[0]))
    for lo in range(0, n_left, STRIP):
        hi = min(lo + STRIP, n_left)
        affinity.fill(left, lo, hi, right, W, diagonal=same)
        own = columns.dense(a[lo:hi], which)
        out += pair_scatter(W, Centres(own, np.zeros(own.shape), np.ones(hi - lo)), others)
    return task.number, out


def _moments_of_tile(task: TileTask, columns: Columns) -> Moments:
    [block] = task.load()
    [[weight]] = task.rows
    moments = zero_moments(columns.n_columns)
    if hasattr(block, "indptr"):
        csr_moments(*columns.sparse(block), weight, moments)
    else:
        X, begin = columns.cut(block, 0, columns.n_columns)
        dense_moments(X, begin, weight, columns.shift, moments)
    return moments
