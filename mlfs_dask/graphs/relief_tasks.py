"""What runs in a task of :mod:`mlfs_dask.graphs.relief`: a block of rows against all of them.

::

    rows of a block ──some at a time──> distances to all training rows       (n_some x n)
                                          └──> nearest of every class ──> weighted rows to compare
                                                                            └──> sums per feature

Distances, or bounds of them, come by the same roads as in :mod:`mlfs_dask.graphs.search_tasks`.
What a task holds is bounded by ``TASK_BYTES``, whatever n is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.distance_rows import GROUP, fill_bounds, fill_distances
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.neighbor_tasks import (
    Plan,
    QueryBlock,
    Rows,
    frozen,
    scaled,
    sealed,
    sparse_cells,
    sparse_rule,
    wide_enough,
)
from mlfs_dask.graphs.source import TileItem, load_block
from mlfs_dask.kernels.bounds import Doubt
from mlfs_dask.kernels.cell_gaps import (
    Ones,
    add_gaps_of_ones,
    add_sparse_gaps,
    cells_of,
    make_scratch,
    ones_of,
)
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.gaps import Kinds, add_dense_gaps
from mlfs_dask.kernels.hitmiss import ONE, SETS, Question, ask
from mlfs_dask.kernels.lanes import LANES
from mlfs_dask.kernels.members import Members
from mlfs_dask.kernels.postings import Cells, post, rows_in_order
from mlfs_dask.kernels.terms import Terms, find_terms, make_room

TASK_BYTES = 64 * 2**20
"""What a task may hold besides the prepared rows and its sums."""
_BYTES_PER_LIST = 64

# An array of rows; by their stored cells: Cells, or Ones for 0/1 rows.
Store: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Weighing:
    """What every task needs to know besides how rows are compared.

    Attributes
    ----------
    members : Members
    labels : ndarray of uint8, shape (n_samples, n_labels)
    codes : ndarray of int64, shape (n_samples,)
        Label set of each row, where label sets are compared.
    columns : ndarray of int64, shape (n_kept,)
        Compared features by their place in the order of summation, sorted by kind.
    kinds : Kinds
    cuts : Cuts
        Of the columns.
    items : list of TileItem
    offsets : ndarray of int64, shape (n_tiles + 1,)
    by_cells : bool
        Rows are compared by their stored cells.
    store : ndarray, Cells, Ones or None
        All training rows, row after row; None: taken from the tiles when needed.
    """

    members: Members
    labels: ByteArray
    codes: IntArray
    columns: IntArray
    kinds: Kinds
    cuts: Cuts
    items: list[TileItem]
    offsets: IntArray
    by_cells: bool
    store: Store | None


def stored_rows(block: Block, plan: Plan, weighing: Weighing) -> Store:
    """Rows one after the other, as they are compared: values or stored cells.

    Parameters
    ----------
    block : ndarray or csr_matrix, shape (n_rows, n_features)
    plan, weighing
        How rows are compared.
    """
    if weighing.by_cells:
        csr, rule = sp.csr_matrix(block), sealed(sparse_rule(plan))
        rows = rows_in_order(post(csr.data, csr.indices, csr.indptr, rule))
        return ones_of(rows) if plan.rule.packed else cells_of(rows, rule)
    if plan.rule.packed:
        chosen = plan.rule.order[weighing.columns]
        values = block[:, chosen].toarray() if sp.issparse(block) else np.take(block, chosen, 1)
        return values.astype(np.uint8)
    return np.ascontiguousarray(scaled(block, plan.rule, plan.n_features)[weighing.columns].T)


def prepare_store(item: TileItem, plan: Plan, weighing: Weighing) -> Store:
    """Load a tile and make :func:`stored_rows` of it."""
    return stored_rows(load_block(item), plan, weighing)


def weigh_block(
    block: QueryBlock, plan: Plan, train: Rows, weighing: Weighing, question: Question
) -> tuple[FloatArray, int]:
    """Sums over the rows of a block.

    Parameters
    ----------
    block
        Which rows.
    plan, train
        How rows are compared; training rows prepared for distances.
    weighing
        Which rows are in which class, and how they are compared.
    question
        Whose neighbours are looked for, and what they count.

    Returns
    -------
    sums : ndarray of float64, shape (n_sums, 2, n_kept)
        Heads and tails of the exact sums.
    looks : int
        Pairs of rows that were looked at one by one.

    Raises
    ------
    InputError
        Distances overflow.
    """
    weighing = replace(
        weighing,
        members=sealed(weighing.members),
        kinds=sealed(weighing.kinds),
        cuts=sealed(weighing.cuts),
    )
    question = sealed(question)
    sums = np.zeros((question.last - question.first, 2, len(weighing.columns)))
    loaded = load_block(weighing.items[block.tile])
    rows = loaded[block.begin : block.begin + block.last - block.first]
    step, looks = _rows_at_once(plan, weighing, question), 0
    for begin in range(0, rows.shape[0], step):
        some = rows[begin : begin + step]
        own = block.first + np.arange(begin, begin + some.shape[0])
        for dtype, largest in _precisions(plan):
            asked = question, dtype, largest
            terms, unsure, looked = _terms(some, own, plan, train, weighing, asked)
            looks += looked
            _add(terms, some, plan, weighing, sums)
            some, own = some[unsure], own[unsure]
            if len(own) == 0:
                break
        if len(own):
            raise InputError(
                "squared distances overflow float64",
                hint='Scale the features: normalize = "minmax", or units of ordinary size.',
            )
    return sums, looks


def _precisions(plan: Plan) -> list[tuple[type, Any]]:
    """Types of distances, the fastest first, each with a value that may stand for larger ones."""
    if plan.layout is None:
        return [(np.float64, np.inf)]
    if plan.rare is not None:
        wide = wide_enough(plan)
        return [(wide, wide(np.iinfo(wide).max))]
    types: list[type] = [np.uint8, np.uint16, np.uint32]
    found = []
    for dtype in types:
        largest = np.iinfo(dtype).max
        found.append((dtype, dtype(largest)))
        if largest > len(plan.rule.order):
            break
    return found


def _rows_at_once(plan: Plan, weighing: Weighing, question: Question) -> int:
    """Rows whose distances and neighbours fit `TASK_BYTES`."""
    lists, terms = lists_per_row(weighing, question)
    n = weighing.members.n_rows
    item = 2 if plan.layout is not None else 8
    per_row = n * item + lists * _BYTES_PER_LIST + terms * 16
    if weighing.store is None:
        per_row += min(n, terms) * 8 * len(weighing.columns)
    fitting = TASK_BYTES // per_row
    return max(1, fitting - fitting % GROUP if fitting > GROUP else fitting)


def lists_per_row(weighing: Weighing, question: Question) -> tuple[int, int]:
    """Most lists, and most neighbours in them, that one row asks for."""
    if question.kind == SETS:
        lists = len(question.size)
    elif question.kind == ONE:
        lists = 2 * (question.last - question.first)
    else:
        carried = weighing.labels.sum(axis=1, dtype=np.int64)
        lists = 2 * int((carried * (weighing.labels.shape[1] - carried)).max(initial=0))
    return lists, lists * question.k


def _terms(
    some: Block,
    own: IntArray,
    plan: Plan,
    train: Rows,
    weighing: Weighing,
    asked: tuple[Question, type, Any],
) -> tuple[Terms, AnyArray, int]:
    question, dtype, largest = asked
    n = weighing.members.n_rows
    totals: AnyArray = np.empty((len(own), LANES * max(1, -(-n // LANES))), dtype=dtype)
    doubt = None
    if plan.sparse and weighing.store is not None:
        doubt, looks = _bounded(totals, some, plan, train, weighing.store)
    else:
        looks = fill_distances(totals, some, plan, train)
    codes = weighing.codes[own] if len(weighing.codes) else weighing.codes
    lists = ask(question, weighing.labels[own], codes, n)
    unsure = np.zeros(len(own), dtype=bool)
    n_pools = 0 if question.kind == SETS else len(weighing.members.start) - 1
    room = make_room(question.k, n, dtype, n_pools)
    members = weighing.members
    terms = find_terms(totals, members, lists, own, largest, room, unsure, doubt)
    return terms, unsure, looks


def _bounded(
    totals: FloatArray, some: Block, plan: Plan, train: Rows, store: Cells
) -> tuple[Doubt, int]:
    """Lower bounds of distances, and what settles those that cannot decide."""
    rule = sealed(sparse_rule(plan))
    queries = sparse_cells(sp.csr_matrix(some), rule)
    cells = sealed(store)
    slack, looks = fill_bounds(totals, queries, cells, plan, train)
    known = np.zeros(totals.shape[1], dtype=np.bool_)
    return Doubt(slack, queries, cells, rule, known), looks


def _add(terms: Terms, some: Block, plan: Plan, weighing: Weighing, sums: FloatArray) -> None:
    queries = stored_rows(some, plan, weighing)
    rows = weighing.store
    if rows is None:
        needed, places = np.unique(terms.row, return_inverse=True)
        rows = _gathered(needed, plan, weighing)
        terms = terms._replace(row=places.ravel().astype(np.int64))
    cuts = weighing.cuts
    if not weighing.by_cells:
        add_dense_gaps(terms, frozen(queries), frozen(rows), weighing.kinds, cuts, sums)
        return
    queries, rows = sealed(queries), sealed(rows)
    scratch = make_scratch(len(weighing.columns))
    if plan.rule.packed:
        add_gaps_of_ones(terms, queries, rows, cuts, sums, scratch)
    else:
        add_sparse_gaps(terms, queries, rows, sealed(sparse_rule(plan)), cuts, sums, scratch)


def _gathered(needed: IntArray, plan: Plan, weighing: Weighing) -> Store:
    """Rows taken from their tiles, ascending."""
    bounds = np.searchsorted(needed, weighing.offsets)
    parts = [
        stored_rows(load_block(item)[needed[lo:hi] - offset], plan, weighing)
        for item, offset, lo, hi in zip(
            weighing.items, weighing.offsets, bounds[:-1], bounds[1:], strict=False
        )
        if lo < hi
    ]
    if not parts:
        none = load_block(weighing.items[0])[:0]
        return stored_rows(none, plan, weighing)
    return joined(parts)


def joined(parts: list[Store]) -> Store:
    """Prepared rows one after the other.

    Parameters
    ----------
    parts : list of ndarray, of Cells or of Ones
    """
    kind = type(parts[0])
    if kind not in (Cells, Ones):
        return np.concatenate(parts)
    ends = np.cumsum([0, *(part.start[-1] for part in parts)])
    starts = [part.start[1:] + end for part, end in zip(parts, ends, strict=False)]
    arrays = (np.concatenate(same) for same in zip(*(part[1:] for part in parts), strict=True))
    return kind(np.concatenate([[0], *starts]).astype(np.int64), *arrays)
