"""φ3 of SPEC: what the leading eigenvectors of the graph explain of each column.

By label sets the eigenproblem has u rows: N_uv = J_uv sqrt(m_u m_v / (d_u d_v)), and an eigenvector
y gives every row of set u the entry y_u / sqrt(m_u). Columns are centred by their weighted mean
first, which takes the trivial eigenvector out exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.graphs.affinity import Affinity, LabelAffinity
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.labelsets import centred_set_forms, set_bounds
from mlfs_dask.graphs.pairs import STRIP, padded_rows
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.spectral import SpectralTerms
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK, WHOLE_PROBLEM
from mlfs_dask.graphs.tiles import TileTask, pair_tasks, tile_pairs, tile_tasks
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.kernels.similarity import (
    CLASS,
    LabelBits,
    SimilarityRule,
    label_bits,
    similarity_tile,
)
from mlfs_dask.kernels.spectrum import (
    Leading,
    dense_leading,
    explained,
    iterative_leading,
    part_vectors,
)

WHOLE = WHOLE_PROBLEM


@dataclass(frozen=True, eq=False)
class NodeGraph:
    """A weighted graph whose similarity matrix is made in tiles.

    Attributes
    ----------
    weight : ndarray of float64, shape (n_nodes,)
        Mass times degree.
    mass : ndarray of float64, shape (n_nodes,)
        Rows that a node stands for.
    bounds : ndarray of int64, shape (n_tiles + 1,)
        Nodes of each tile.
    tasks : sequence
        One per unordered pair of tiles, in the order of `tile_pairs`.
    make : callable
        Module-level function (task, *common) -> tile of similarities.
    common : tuple
        Further arguments of ``make``.
    """

    weight: FloatArray
    mass: FloatArray
    bounds: IntArray
    tasks: Any
    make: Any
    common: tuple[Any, ...]

    @property
    def scale(self) -> FloatArray:
        """Factor of rows and columns that turns similarities into N."""
        return np.asarray(self.mass / np.sqrt(self.weight), dtype=np.float64)

    def pairs(self) -> list[tuple[int, ...]]:
        """Pairs of tiles, as the tasks."""
        return tile_pairs(len(self.bounds) - 1)

    def span(self, t: int) -> slice:
        """Nodes of a tile."""
        return slice(int(self.bounds[t]), int(self.bounds[t + 1]))

    def whole(self, executor: Executor) -> FloatArray:
        """N as one matrix."""
        n, scale = len(self.mass), self.scale
        N = np.empty((n, n))
        tiles = executor.map(self.make, self.tasks, *self.common)
        for (i, j), W in zip(self.pairs(), tiles, strict=True):
            part = W * scale[self.span(i), None] * scale[self.span(j)]
            N[self.span(i), self.span(j)] = part
            N[self.span(j), self.span(i)] = part.T
        return N

    def multiply(self, x: FloatArray, executor: Executor) -> FloatArray:
        """N x, pairs added in order."""
        scale = self.scale
        inner = executor.share(scale * x)
        out = np.zeros(len(x))
        parts = executor.map(
            _multiply_tile, self.tasks, self.make, self.bounds, inner, *self.common
        )
        for (i, j), (left, right) in zip(self.pairs(), parts, strict=True):
            out[self.span(i)] += left
            if i != j:
                out[self.span(j)] += right
        return scale * out

    def parts(self, executor: Executor) -> IntArray:
        """Connected part of each node, numbered from 0."""
        n = len(self.mass)
        rows, columns, n_virtual = [], [], 0
        found = executor.map(_parts_of_tile, self.tasks, self.make, *self.common)
        for (i, j), (count, labels) in zip(self.pairs(), found, strict=True):
            left, right = np.arange(n)[self.span(i)], np.arange(n)[self.span(j)]
            rows.append(np.concatenate([left, right]))
            columns.append(labels + n + n_virtual)
            n_virtual += count
        size = n + n_virtual
        edges = (np.ones(sum(map(len, rows))), (np.concatenate(rows), np.concatenate(columns)))
        _, labels = connected_components(sp.coo_matrix(edges, shape=(size, size)), directed=False)
        return np.unique(labels[:n], return_inverse=True)[1].ravel().astype(np.int64)


def _multiply_tile(
    task: Any, make: Any, bounds: IntArray, x: FloatArray, *common: Any
) -> tuple[FloatArray, FloatArray]:
    i, j = getattr(task, "number", task)
    W = make(task, *common)
    with single_blas_thread():
        return W @ x[bounds[j] : bounds[j + 1]], W.T @ x[bounds[i] : bounds[i + 1]]


def _parts_of_tile(task: Any, make: Any, *common: Any) -> tuple[int, IntArray]:
    W = make(task, *common)
    linked = sp.csr_matrix(W > 0)
    both = sp.block_array([[None, linked], [linked.T, None]], format="csr")
    count, labels = connected_components(both, directed=False)
    return int(count), labels.astype(np.int64)


def _set_tile(pair: tuple[int, int], bits: LabelBits, rule: SimilarityRule) -> FloatArray:
    bounds = set_bounds(len(bits.sizes))
    left, right = (bits.part(slice(*bounds[t])) for t in pair)
    W = np.empty((len(left.sizes), len(right.sizes)))
    similarity_tile(left, right, rule, W)
    return W


def _row_tile(task: TileTask, affinity: Affinity) -> FloatArray:
    a, b = task.load()
    same = task.number[0] == task.number[1]
    left = affinity.prepare(a, task.rows[0])
    right = left if same else affinity.prepare(b, task.rows[1])
    W = np.empty((a.shape[0], b.shape[0]))
    for lo in range(0, len(W), STRIP):
        hi = min(lo + STRIP, len(W))
        affinity.fill(left, lo, hi, right, W[lo:hi], diagonal=same)
    return W


def leading_sums(
    source: Source,
    columns: Columns,
    affinity: Affinity,
    spectral: SpectralTerms,
    wanted: int,
    executor: Executor,
) -> tuple[FloatArray, int]:
    """Numerators of φ3, and how many eigenvectors they use.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    affinity
        Similarity of rows.
    spectral
        Degrees and quadratic forms.
    wanted
        Eigenvectors besides the trivial one.
    executor
        Where to run.

    Returns
    -------
    sums : ndarray of float64, shape (n_columns,)
        ``sum of (2 - λ_j) (ξ_j' D^(1/2) f)²``; over f'Df they are φ3.
    n_components : int
    """
    if isinstance(affinity, LabelAffinity) and affinity.rule.form == CLASS:
        # N is a projection: every label set is a part of its own, λ = 0 for all of them.
        sums = centred_set_forms(source, columns, affinity.sets, spectral.terms, executor)
        return 2.0 * sums, affinity.sets.n_sets - 1
    graph, node = _graph(source, affinity, spectral, executor)
    size, n_single = len(graph.mass), int((node < 0).sum())
    # Rows that are similar to themselves alone have λ = 0 and belong to the leading ones.
    kept = min(wanted + 1, size + n_single)
    inside = max(kept - n_single, min(1, size))
    if size == 0:
        leading = Leading(np.zeros(0), np.zeros((0, 0)))
    elif size <= WHOLE:
        leading = dense_leading(graph.whole(executor), inside)
    else:
        zero = part_vectors(graph.parts(executor), graph.weight)
        leading = iterative_leading(lambda x: graph.multiply(x, executor), zero, inside)
    factors = leading.vectors * (np.sqrt(graph.weight) / graph.mass)[:, None]
    n_kept = len(leading.values)
    inner, alone = np.zeros((n_kept, columns.n_columns)), np.zeros(columns.n_columns)
    common = (executor.share(factors), columns, spectral.terms.mean, source.tile)
    for part, single in executor.map(_project_tile, tile_tasks(source, node), *common):
        inner += part
        alone += single
    sums = explained(leading, inner, spectral.terms.scatter) + 2.0 * alone
    return sums, max(n_kept + n_single - 1, 0)


def _graph(
    source: Source, affinity: Affinity, spectral: SpectralTerms, executor: Executor
) -> tuple[NodeGraph, IntArray]:
    """The graph to solve, and the node of each row; -1 for rows similar to themselves alone."""
    if not isinstance(affinity, LabelAffinity):
        n = source.n_samples
        graph = NodeGraph(
            weight=spectral.degrees,
            mass=np.ones(n),
            bounds=source.offsets,
            tasks=pair_tasks(source, *affinity.arrays()),
            make=_row_tile,
            common=(affinity,),
        )
        return graph, np.arange(n)
    sets, rule = affinity.sets, affinity.rule
    kept = np.arange(sets.n_sets)
    if rule.empty == 0.0 and sets.empty >= 0:
        kept = np.delete(kept, sets.empty)
    node = np.full(sets.n_sets, -1, dtype=np.int64)
    node[kept] = np.arange(len(kept))
    mass = sets.counts[kept].astype(np.float64)
    edges = [lo for lo, _ in set_bounds(len(kept))] + [len(kept)]
    graph = NodeGraph(
        weight=mass * spectral.degrees[sets.first[kept]],
        mass=mass,
        bounds=np.array(edges, dtype=np.int64),
        tasks=tile_pairs(len(edges) - 1),
        make=_set_tile,
        common=(executor.share(label_bits(sets).part(kept)), rule),
    )
    return graph, node[sets.codes]


def _project_tile(
    task: TileTask, factors: FloatArray, columns: Columns, mean: FloatArray, tile: int
) -> tuple[FloatArray, FloatArray]:
    [block] = task.load()
    [[node]] = task.rows
    n, n_kept = len(node), factors.shape[1]
    picked = np.zeros((n_kept, padded_rows(n, tile)))
    picked[:, :n] = np.where(node[:, None] >= 0, factors[node], 0.0).T if n_kept else 0.0
    inner, alone = np.zeros((n_kept, columns.n_columns)), np.zeros(columns.n_columns)
    with single_blas_thread():
        for start, stop in even_spans(columns.n_columns, COLUMN_BLOCK):
            centred = np.zeros((picked.shape[1], COLUMN_BLOCK))
            values = columns.dense(block, np.arange(start, stop))
            values = (values - columns.shift[start:stop]) - mean[start:stop]
            centred[:n, : stop - start] = values
            inner[:, start:stop] = (picked @ centred)[:, : stop - start]
            alone[start:stop] = (values[node < 0] ** 2).sum(axis=0)
    return inner, alone
