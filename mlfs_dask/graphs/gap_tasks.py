"""What runs in a task of :mod:`mlfs_dask.graphs.dependency`: a block of rows against all of them.

::

    features of the set ──keep_block──> distances of a block, kept where they are
                                           │  + features that joined since
                                           ├──extend_block──> kept instead
                                           └──measure_block──> tallies of some candidates
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray
from mlfs_dask.graphs.neighbor_tasks import frozen, sealed
from mlfs_dask.kernels.bits import distances_packed
from mlfs_dask.kernels.exactsum import Cuts
from mlfs_dask.kernels.gap_counts import Points, Tally, make_counter
from mlfs_dask.kernels.gap_levels import GapRule, row_buffer
from mlfs_dask.kernels.gap_measure import (
    GROUP,
    Candidates,
    Distances,
    Features,
    Look,
    add_byte_to_block,
    add_to_block,
    measure_packed,
    measure_values,
)

# Features over the points: bytes of eight 0/1 features each, or columns of values.
Columns: TypeAlias = ByteArray | Features


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Who stands where, where neighbourhoods end and what is counted in them.

    Attributes
    ----------
    points : Points
    rule : GapRule
    what : int
        ``HARD``, ``SOFT`` or ``CLASSES``.
    places : Cuts
        Where shares are parted.
    """

    points: Points
    rule: GapRule
    what: int
    places: Cuts


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive points of one task, with the distances from them if these are kept.

    Attributes
    ----------
    first, last : int
        Points ``first:last``.
    dependency : ndarray, Dask future or None
        Kept distances; None once attached, or if there are none.
    totals : ndarray or None
        The distances, shape (last - first, n_points).
    """

    first: int
    last: int
    dependency: Any = None
    totals: AnyArray | None = None

    def attached(self, totals: AnyArray) -> Block:
        """The block with its distances in memory."""
        return replace(self, dependency=None, totals=totals)

    def detached(self) -> Block:
        """The block without its distances, which are sent beside it."""
        return replace(self, dependency=None)


def measure_block(
    block: Block,
    around: Surroundings,
    features: Columns | None,
    pending: Columns,
    candidates: ByteArray | Candidates,
    dtype: Any,
) -> Tally:
    """Tally the neighbourhoods of a block's rows for each candidate.

    Parameters
    ----------
    block
        Which rows.
    around
        What is looked at.
    features
        Of the set (of 0/1 features the whole bytes); needed if the block has no distances.
    pending
        Those that kept distances lack; none in bytes, where the candidates hold them.
    candidates
        Each by itself: bytes, or columns of values.
    dtype
        Of distances.

    Returns
    -------
    Tally
        Arrays for all candidates.
    """
    n_points, n_labels = len(around.points.size), len(around.places.head)
    made = np.empty((GROUP if block.totals is None else 0, n_points), dtype=dtype)
    kept = np.empty((0, n_points), dtype=dtype) if block.totals is None else block.totals
    look = Look(
        row_buffer(n_points, dtype, GROUP),
        around.rule,
        sealed(around.points),
        make_counter(around.what, sealed(around.places), _n_classes(around.points)),
    )
    distances, span = Distances(frozen(kept), made), (block.first, block.last)
    given: Any = features if block.totals is None else pending
    n = len(candidates.spans) if isinstance(candidates, Candidates) else len(candidates)
    tallies = Tally(np.zeros((n, n_labels), dtype=np.int64), np.zeros((n, 2, n_labels)))
    if isinstance(candidates, Candidates):
        own = Candidates(sealed(candidates.features), frozen(candidates.spans))
        measure_values(distances, sealed(given), own, span, look, tallies)
    else:
        measure_packed(distances, frozen(given), frozen(candidates), span, look, tallies)
    return tallies


def _n_classes(points: Points) -> int:
    return int(points.code.max(initial=-1)) + 1 if len(points.begin) else 0


def keep_block(block: Block, features: Columns, dtype: Any) -> AnyArray:
    """Distances from a block's rows over some features.

    Parameters
    ----------
    block
        Which rows.
    features
        Whole bytes, or columns.
    dtype
        Of the distances.

    Returns
    -------
    ndarray, shape (last - first, n_points)
    """
    rows = slice(block.first, block.last)
    if isinstance(features, Features):
        totals = np.zeros((block.last - block.first, features.values.shape[1]), dtype=dtype)
        add_to_block(sealed(features), block.first, totals)
        return totals
    totals = np.empty((block.last - block.first, features.shape[1]), dtype=dtype)
    queries = frozen(np.ascontiguousarray(features[:, rows].T))
    distances_packed(queries, frozen(features), 0, GROUP, totals)
    return totals


def extend_block(block: Block, pending: Columns) -> AnyArray:
    """Kept distances with those of some more features added, as a new array.

    Parameters
    ----------
    block
        With its distances.
    pending
        Whole bytes, or columns.

    Returns
    -------
    ndarray, shape (last - first, n_points)
    """
    assert block.totals is not None
    if isinstance(pending, Features):
        totals = np.array(block.totals)
        add_to_block(sealed(pending), block.first, totals)
        return totals
    before, totals = frozen(block.totals), np.empty_like(block.totals)
    for column in frozen(pending):
        add_byte_to_block(before, column, block.first, totals)
        before = frozen(totals)
    return totals
