"""Relief weights: how much more a feature differs from near misses than from near hits.

::

    training rows ──prepare──> for distances (columns, packed bits, postings)
                  └─prepare──> for differences (rows of values or of stored cells)
    block of rows ───────────> its nearest hits and misses, what they add to each feature's sum
    sums of blocks ──────────> W, the same bits whatever the blocks were

One pass over the pairs of rows serves all labels, or all pairs of labels, at once. Sums are exact
(:mod:`mlfs_dask.kernels.exactsum`), so blocks are as large as the number of workers asks for.

Equal rows stay apart: each has its own labels, itself to leave out and its place among ties, so
making them one would save distances alone. Of the data sets that have any, these take 1 % of the
time where 23 % of the rows are equal to others (delicious), 14 % where 6 % are (tmc2007-500).

Memory: rows are prepared once and shared while that takes at most ``PREPARED_BYTES`` each way, else
block by block inside the tasks; a task holds its sums (``SUMS_BYTES`` at most, more sums are made
in several passes) and ``TASK_BYTES`` besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray, Normalize
from mlfs_dask.graphs.budget import room
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.neighbors import PREPARED_BYTES, NeighborSearch
from mlfs_dask.graphs.relief_tasks import (
    Weighing,
    joined,
    prepare_store,
    weigh_block,
)
from mlfs_dask.graphs.source import Source, labels_of
from mlfs_dask.graphs.spans import even_spans
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.tiles import local_items
from mlfs_dask.kernels.distances import MISSING, NOMINAL, PLAIN, DistanceRule
from mlfs_dask.kernels.exactsum import cuts
from mlfs_dask.kernels.gaps import Kinds
from mlfs_dask.kernels.hitmiss import (
    JOINED,
    ONE,
    PAIRS,
    SETS,
    Question,
    count_of_pairs,
    rows_apart,
    rows_with_a_pair,
)
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.kernels.members import Members, label_members, set_members

SUMS_BYTES = 64 * 2**20
"""Sums per label or pair that a task makes in one pass."""
ZERO = 1e-12
"""Weights closer to 0 count as 0."""
_NONE = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ReliefWeights:
    """Weights of the features.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_sums, n_features)
        One row per label or per pair of labels, or a single one.
    road : str
        How distances were computed.
    pair_share : float
        Pairs of rows looked at one by one, as a share of all n²; more than 1 where sums take
        several passes.
    """

    weights: FloatArray
    road: str
    pair_share: float


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question, the rows it is about, and how many rows each sum is a mean over."""

    question: Question
    members: Members
    labels: ByteArray
    codes: IntArray
    rows: IntArray

    @property
    def most(self) -> int:
        """No row adds more than this times its largest difference."""
        if self.question.kind != JOINED:
            return 1
        return int(self.labels.sum(axis=1, dtype=np.int64).max(initial=1))


def label_weights(
    source: Source, summary: ColumnSummary, k: int, normalize: Normalize, executor: Executor
) -> ReliefWeights:
    """Relief of each label against the rest.

    Parameters
    ----------
    source, summary
        Rows with labels, and what is known of their features.
    k
        Hits and misses per row.
    normalize
        ``"minmax"`` or ``"none"``.
    executor
        Where to run.

    Returns
    -------
    ReliefWeights
        A row per label; zeros for a label that all rows have, or none.
    """
    Y = labels_of(source)
    n, q = Y.shape
    count = Y.sum(axis=0, dtype=np.int64)
    question = Question(ONE, _usable(k, n), 0, q, count, _NONE)
    asked = _Asked(question, label_members(Y), Y, _no_codes(), np.full(q, n))
    return _weigh(source, summary, asked, normalize, executor)


def pair_weights(
    source: Source, summary: ColumnSummary, k: int, normalize: Normalize, executor: Executor
) -> ReliefWeights:
    """Relief of label a against label b, on the rows that have exactly one of them, for all pairs.

    Parameters
    ----------
    source, summary, k, normalize, executor
        As in :func:`label_weights`. Features are scaled by their ranges over all rows.

    Returns
    -------
    ReliefWeights
        A row per pair (a, b), a < b, in lexicographic order; zeros where one of the two labels
        never occurs without the other.
    """
    Y = labels_of(source)
    n, q = Y.shape
    apart = rows_apart(Y)
    above = np.triu_indices(q, 1)
    question = Question(
        PAIRS, _usable(k, n), 0, count_of_pairs(q), Y.sum(axis=0, dtype=np.int64), apart
    )
    rows = (apart + apart.T)[above]
    asked = _Asked(question, label_members(Y), Y, _no_codes(), rows)
    return _weigh(source, summary, asked, normalize, executor)


def joined_weights(
    source: Source, summary: ColumnSummary, k: int, normalize: Normalize, executor: Executor
) -> ReliefWeights:
    """Relief of whole label vectors: all pairs (a in Y_i, b not in Y_i), weighted by n_b.

    Parameters
    ----------
    source, summary, k, normalize, executor
        As in :func:`label_weights`.

    Returns
    -------
    ReliefWeights
        One row, the mean over the rows that had a pair.
    """
    Y = labels_of(source)
    n = len(Y)
    apart = rows_apart(Y)
    question = Question(JOINED, _usable(k, n), 0, 1, Y.sum(axis=0, dtype=np.int64), apart)
    rows = np.array([rows_with_a_pair(Y, apart)])
    asked = _Asked(question, label_members(Y), Y, _no_codes(), rows)
    return _weigh(source, summary, asked, normalize, executor)


def set_weights(
    source: Source, summary: ColumnSummary, k: int, normalize: Normalize, executor: Executor
) -> ReliefWeights:
    """ReliefF with the distinct label sets as classes.

    Parameters
    ----------
    source, summary, k, normalize, executor
        As in :func:`label_weights`.

    Returns
    -------
    ReliefWeights
        One row; zeros if there is one label set only.
    """
    Y = labels_of(source)
    n = len(Y)
    sets = find_label_sets(Y)
    question = Question(SETS, _usable(k, n), 0, 1, sets.counts, _NONE)
    members = set_members(sets.codes, sets.n_sets)
    asked = _Asked(question, members, Y, sets.codes, np.array([n]))
    return _weigh(source, summary, asked, normalize, executor)


def _weigh(
    source: Source, summary: ColumnSummary, asked: _Asked, normalize: Normalize, executor: Executor
) -> ReliefWeights:
    search = NeighborSearch(source, normalize=normalize, executor=executor, summary=summary)
    rule = search.plan.rule
    weights, looks = np.zeros((len(asked.rows), source.n_features)), 0
    if len(rule.order) and asked.question.last:
        weighing = _weighing(source, summary, search, asked, executor)
        placed = rule.order[weighing.columns]
        shared = executor.share(weighing)
        for first, last in _passes(asked.question, len(placed)):
            question = asked.question._replace(first=first, last=last)
            total = np.zeros((last - first, 2, len(placed)))
            for _, (part, looked) in search.over_training(weigh_block, shared, question):
                total += part
                looks += looked
            rows = np.maximum(asked.rows[first:last], 1)[:, None]
            weights[first:last, placed] = (total[:, 0] + total[:, 1]) / rows
    weights[np.abs(weights) < ZERO] = 0.0
    return ReliefWeights(weights, search.road, looks / source.n_samples**2)


def _passes(question: Question, n_kept: int) -> list[tuple[int, int]]:
    step = max(1, SUMS_BYTES // (16 * n_kept))
    return even_spans(question.last, step)


def _weighing(
    source: Source,
    summary: ColumnSummary,
    search: NeighborSearch,
    asked: _Asked,
    executor: Executor,
) -> Weighing:
    plan = search.plan
    by_cells = plan.sparse or (plan.rule.packed and source.is_sparse)
    columns, kinds = _sorted_columns(plan.rule, by_cells=by_cells)
    gap = np.where(plan.rule.how == NOMINAL, 1.0, plan.rule.top - plan.rule.bottom)[columns]
    weighing = Weighing(
        members=asked.members,
        labels=asked.labels,
        codes=asked.codes,
        columns=columns,
        kinds=kinds,
        # Rounding may carry a difference a little beyond the range.
        cuts=cuts(1.0625 * asked.most * gap, source.n_samples),
        items=local_items(source, executor),
        offsets=source.offsets,
        by_cells=by_cells,
        store=None,
    )
    if by_cells:
        needed = (4 if plan.rule.packed else 24) * summary.n_cells + 8 * source.n_samples
    else:
        needed = source.n_samples * len(columns) * (1 if plan.rule.packed else 8)
    if needed > room(PREPARED_BYTES, executor):
        return weighing
    shared = executor.share(plan), executor.share(weighing)
    parts = executor.map(prepare_store, source.items(), *shared)
    return replace(weighing, store=joined(list(parts)))


def _sorted_columns(rule: DistanceRule, *, by_cells: bool) -> tuple[IntArray, Kinds]:
    """Columns in the order plain, by code, with missing values; cells stay where they are."""
    if by_cells:
        columns = np.arange(len(rule.order))
    else:
        rank = np.zeros(256, dtype=np.int64)
        rank[[PLAIN, NOMINAL, MISSING]] = [0, 1, 2]
        columns = np.argsort(rank[rule.how], kind="stable")
    return columns, Kinds(
        plain=int(np.count_nonzero(rule.how == PLAIN)),
        coded=int(np.count_nonzero(rule.how == NOMINAL)),
        bottom=rule.bottom[columns],
        top=rule.top[columns],
    )


def _usable(k: int, n: int) -> int:
    return max(1, min(k, n - 1))


def _no_codes() -> IntArray:
    return np.zeros(0, dtype=np.int64)
