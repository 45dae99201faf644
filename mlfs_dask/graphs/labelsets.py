"""The collapsed road: a graph on rows, seen through its distinct label sets.

With codes c(i), f'Sf = a'Ja, where J holds the similarities of u label sets and a the sums of f
per label set. One pass over the tiles makes a; J is made in tiles of 2,048 x 2,048 and multiplied
by blocks of 256 columns::

    tiles of rows ──> a (u x columns)      J_IJ (2048 x 2048) @ a_J (2048 x 256) ──> a_I'(J_IJ a_J)
                      g'Dg, 1'Dg, f'Df     each unordered pair I <= J once

Products have shapes fixed by the data alone, padded with zeros, and are added in the order of the
pairs: the bits don't depend on workers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.groups import column_runs, group_sums
from mlfs_dask.graphs.laplacian import LaplacianTerms, terms_of
from mlfs_dask.graphs.products import PRODUCT_SPEED, sparse_columns
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK, SET_TILE, blocks_of_task
from mlfs_dask.graphs.tiles import tile_pairs
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.kernels.labelsets import LabelSets
from mlfs_dask.kernels.similarity import (
    CLASS,
    LabelBits,
    SimilarityRule,
    label_bits,
    similarity_degrees,
    similarity_tile,
)
from mlfs_dask.kernels.spectral import (
    Operand,
    column_dots,
    sparse_form_work,
    sparse_forms,
)
from mlfs_dask.kernels.spectrum import NOISE

_EDGE = 256  # of the blocks on the diagonal of symmetric products


class SetDegrees(NamedTuple):
    """Degrees of the rows of each label set.

    Attributes
    ----------
    full : ndarray of float64, shape (n_sets,)
        Sum of the similarities to all rows, the row itself included.
    loops : ndarray of float64, shape (n_sets,)
        Similarity of a row to itself where J doesn't have it: 1 for rows without labels if two
        different such rows have similarity 0, else 0.
    """

    full: FloatArray
    loops: FloatArray


def set_degrees(sets: LabelSets, rule: SimilarityRule, executor: Executor) -> SetDegrees:
    """Degrees of the rows of each label set, label sets added in order.

    Parameters
    ----------
    sets
        Label sets.
    rule
        How they are compared.
    executor
        Where to run.
    """
    loops = np.zeros(sets.n_sets)
    if sets.empty >= 0 and rule.empty == 0.0:
        loops[sets.empty] = 1.0
    common = (executor.share(label_bits(sets)), sets.counts, rule)
    parts = list(executor.map(_degrees_of, set_bounds(sets.n_sets, 512), *common))
    return SetDegrees(np.concatenate(parts) + loops, loops)


def _degrees_of(
    bounds: tuple[int, int], bits: LabelBits, counts: IntArray, rule: SimilarityRule
) -> FloatArray:
    return similarity_degrees(bits.part(slice(*bounds)), bits, counts, rule)


def set_bounds(n_sets: int, size: int | None = None) -> list[tuple[int, int]]:
    """Ranges of ``size`` label sets, by default `SET_TILE`.

    Examples
    --------
    >>> set_bounds(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return even_spans(n_sets, size or SET_TILE)


def sets_of_rows(sets: LabelSets) -> Any:
    """Label set of each row as a CSR matrix of ones, shape (n_samples, n_sets)."""
    n = len(sets.codes)
    return sp.csr_matrix((np.ones(n), sets.codes, np.arange(n + 1)), shape=(n, sets.n_sets))


def collapsed_terms(
    source: Source,
    columns: Columns,
    sets: LabelSets,
    degrees: SetDegrees,
    rule: SimilarityRule,
    executor: Executor,
) -> LaplacianTerms:
    """Quadratic forms of all columns by label sets.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    sets, degrees, rule
        Label sets, their degrees and how they are compared.
    executor
        Where to run.
    """
    volume = float(np.sum(degrees.full * sets.counts))
    parts = []
    for start, stop in column_runs(source, columns, sets.n_sets):
        weights = (degrees.full[sets.codes], degrees.loops[sets.codes])
        sums, moments, loops = group_sums(
            source, columns, (start, stop), sets_of_rows(sets), weights, executor
        )
        form = quadratic_forms(sums, sets, rule, stop - start, executor)
        parts.append(terms_of(moments.gg - loops.gg - form, moments, volume))
    return LaplacianTerms.concatenate(parts)


def centred_set_forms(
    source: Source, columns: Columns, sets: LabelSets, terms: LaplacianTerms, executor: Executor
) -> FloatArray:
    """``sum over label sets of (sum of g - mean)² / m`` of every column.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    sets
        Label sets of m rows each.
    terms
        Means and scatters of the columns.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (n_columns,)
        Terms at the level of rounding noise count 0.
    """
    out = np.empty(columns.n_columns)
    weight = np.zeros(source.n_samples)
    for start, stop in column_runs(source, columns, sets.n_sets):
        sums, _, _ = group_sums(
            source, columns, (start, stop), sets_of_rows(sets), (weight, weight), executor
        )
        for lo in range(start, stop, COLUMN_BLOCK):
            hi = min(lo + COLUMN_BLOCK, stop)
            a = _padded(sums, (0, sets.n_sets), lo - start, hi - start, sets.n_sets)[:, : hi - lo]
            a = a - sets.counts[:, None] * terms.mean[lo:hi]
            a[a * a <= NOISE * terms.scatter[lo:hi] * sets.counts[:, None]] = 0.0
            out[lo:hi] = column_dots(a, a / sets.counts[:, None])
    return out


def quadratic_forms(
    sums: Any, sets: LabelSets, rule: SimilarityRule, width: int, executor: Executor
) -> FloatArray:
    """``a'Ja`` of every column, pairs of label-set tiles added in order.

    Parameters
    ----------
    sums : ndarray or CSC matrix, shape (n_sets, width)
        a of every column.
    sets, rule
        Label sets and how they are compared.
    width
        Number of columns.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (width,)
    """
    n_tiles = len(set_bounds(sets.n_sets))
    pairs = tile_pairs(n_tiles)
    if rule.form == CLASS:
        pairs = [(t, t) for t in range(n_tiles)]
    step = COLUMN_BLOCK * blocks_of_task(-(-width // COLUMN_BLOCK))
    tasks = [(i, j, lo, hi) for lo, hi in even_spans(width, step) for i, j in pairs]
    out = np.zeros(width)
    common = (executor.share(sums), executor.share(label_bits(sets)), rule)
    for task, part in zip(tasks, executor.map(_form_of_pair, tasks, *common), strict=True):
        out[task[2] : task[3]] += part
    return out


def _form_of_pair(
    task: tuple[int, int, int, int], sums: Any, bits: LabelBits, rule: SimilarityRule
) -> FloatArray:
    i, j, start, stop = task
    bounds = set_bounds(len(bits.sizes))
    left, right = bounds[i], bounds[j]
    if rule.form == CLASS:
        return _own_forms(sums, bits.share, left, start, stop)
    size = min(SET_TILE, -(-len(bits.sizes) // 64) * 64)
    W = np.zeros((size, size))
    similarity_tile(bits.part(slice(*left)), bits.part(slice(*right)), rule, W)
    out = np.empty(stop - start)
    with single_blas_thread():
        for lo in range(start, stop, COLUMN_BLOCK):
            hi = min(lo + COLUMN_BLOCK, stop)
            out[lo - start : hi - start] = _forms_of_block(sums, W, (left, right), lo, hi)
    return out if i == j else 2.0 * out


def _forms_of_block(
    sums: Any, W: FloatArray, rows: tuple[tuple[int, int], tuple[int, int]], start: int, stop: int
) -> FloatArray:
    left, right = rows
    if sp.issparse(sums):
        columns = sparse_columns(sums[:, start:stop])
        mine, theirs = Operand(columns, *left), Operand(columns, *right)
        if sparse_form_work(mine, theirs) * PRODUCT_SPEED < W.size * COLUMN_BLOCK:
            return sparse_forms(mine, theirs, W)
    a = _padded(sums, left, start, stop, len(W))
    if left == right:
        return _symmetric_forms(a, W)[: stop - start]
    return column_dots(a, W @ _padded(sums, right, start, stop, len(W)))[: stop - start]


def _symmetric_forms(a: FloatArray, W: FloatArray) -> FloatArray:
    """``a'Wa`` of every column; what is right of the diagonal blocks counts twice."""
    out = np.zeros(a.shape[1])
    for lo in range(0, len(W), _EDGE):
        own = a[lo : lo + _EDGE]
        hi = lo + len(own)
        out += column_dots(own, W[lo:hi, lo:hi] @ own)
        if hi < len(W):
            out += 2.0 * column_dots(own, W[lo:hi, hi:] @ a[hi:])
    return out


def _own_forms(
    sums: Any, share: FloatArray, rows: tuple[int, int], start: int, stop: int
) -> FloatArray:
    """Sets that are similar to themselves alone: the sum of a² / m."""
    out = np.empty(stop - start)
    for lo in range(start, stop, COLUMN_BLOCK):
        hi = min(lo + COLUMN_BLOCK, stop)
        a = _padded(sums, rows, lo, hi, rows[1] - rows[0])
        out[lo - start : hi - start] = column_dots(a, share[slice(*rows), None] * a)[: hi - lo]
    return out


def _padded(sums: Any, rows: tuple[int, int], start: int, stop: int, size: int) -> FloatArray:
    cut = sums[:, start:stop]
    cut = cut.toarray()[slice(*rows)] if sp.issparse(cut) else cut[slice(*rows)]
    out = np.zeros((size, COLUMN_BLOCK))
    out[: len(cut), : stop - start] = cut
    return out
