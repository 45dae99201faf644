"""The bins of a source's features, found in passes over its tiles; X is never sorted.

The value that a column is cut at is found by its digits: pass after pass, each column counts the
next eight bits of its values in the order of their keys, among those that begin as the value
sought does. At most eight passes whatever n is, with 2 KiB per column; columns of two values, and
those whose middle value is zero (text), are settled before::

    sample   ──> dense and many rows: one pass ─┐   graphs/middles.py
    extremes ──> two values: cut at the lower ──┤
    signs    ──> middle value zero: cut at 0  ──┼──> Bins
    digits   ──> the middle value of the rest ──┘

All counts are integers: the bins are the same whatever the tiles.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.graphs.columns import make_columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.middles import find_middles
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.task_sizes import MANY_TILES
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.digits import (
    SIGN,
    Digits,
    csr_digits,
    csr_sides,
    dense_digits,
    dense_sides,
    middle_rank,
    values_of_keys,
)
from mlfs_dask.kernels.discretize import Bins, make_bins

# Columns whose digits are counted at a time: their counts take 1 MiB.
_RUN = 512


def find_bins(source: Source, summary: ColumnSummary, executor: Executor) -> Bins:
    """Two bins of equal frequency for each numeric feature, the categories of nominal ones.

    Parameters
    ----------
    source, summary
        Rows without missing values, and what is known of their features.
    executor
        Where to run.

    Returns
    -------
    Bins
        Bin 1 of a numeric feature holds the rows above the value of rank round(n / 2); a feature
        of two values keeps them, a constant one is all in bin 0.

    Examples
    --------
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> from mlfs_dask.graphs.source import as_source
    >>> from mlfs_dask.graphs.statistics import summarize_columns
    >>> rows = as_source(np.array([[4.0, 7], [1, 9], [3, 9], [2, 9]]))
    >>> find_bins(rows, summarize_columns(rows), InProcess(1)).cut.tolist()
    [2.0, 7.0]
    """
    columns = make_columns(source, summary, executor)
    coded = ~np.isnan(columns.code)
    cut = summary.low.copy()
    cut[columns.feature[coded]] = np.nan
    unsettled = ~(summary.constant | summary.binary | np.isnan(cut))
    if unsettled.any():
        _cut_in_the_middle(source, summary, unsettled, cut, executor)
    return make_bins(cut, columns.feature[coded], columns.code[coded])


def _cut_in_the_middle(
    source: Source,
    summary: ColumnSummary,
    unsettled: BoolArray,
    cut: FloatArray,
    executor: Executor,
) -> None:
    """Set ``cut`` of the unsettled features."""
    if source.n_tiles >= MANY_TILES and not source.is_sparse:
        unsettled = _cut_by_sample(source, summary, unsettled, cut, executor)
        if not unsettled.any():
            return
    below, zero, two_valued = _sides(source, summary, executor)
    rank = middle_rank(source.n_samples)
    middle_is_zero = (below < rank) & (rank <= below + zero)
    cut[unsettled & ~two_valued & middle_is_zero] = 0.0
    rest = np.flatnonzero(unsettled & ~two_valued & ~middle_is_zero)
    for lo in range(0, len(rest), _RUN):
        which = rest[lo : lo + _RUN]
        cut[which] = _values_of_rank(source, which, rank, zero[which], executor)


def _cut_by_sample(
    source: Source,
    summary: ColumnSummary,
    unsettled: BoolArray,
    cut: FloatArray,
    executor: Executor,
) -> BoolArray:
    """Set ``cut`` of the features whose middle a sample leads to; the unsettled ones left."""
    which, rank = np.flatnonzero(unsettled), middle_rank(source.n_samples)
    extremes = (summary.low[which], summary.high[which])
    middles = find_middles(source, which, rank, extremes, executor)
    settled = middles.found & ~middles.two_valued
    cut[which[settled]] = middles.value[settled]
    left = unsettled.copy()
    left[which[settled | middles.two_valued]] = False
    return left


def _sides(
    source: Source, summary: ColumnSummary, executor: Executor
) -> tuple[IntArray, IntArray, BoolArray]:
    """Negative values and zeros of each column, and whether it has two values only."""
    d = source.n_features
    below, other = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    two_valued = np.ones(d, dtype=bool)
    extremes = executor.share((summary.low, summary.high))
    for part in executor.map(_sides_of_tile, tile_tasks(source), extremes):
        below += part[0]
        other += part[1]
        two_valued &= part[2]
    if not source.is_sparse:
        return below, other, two_valued
    zero = source.n_samples - below - other
    # An omitted zero between the extremes is a third value.
    two_valued &= (zero == 0) | (summary.low == 0) | (summary.high == 0)
    return below, zero, two_valued


def _sides_of_tile(
    task: TileTask, extremes: tuple[FloatArray, FloatArray]
) -> tuple[IntArray, IntArray, BoolArray]:
    [block] = task.load()
    d = block.shape[1]
    below, other = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    two_valued = np.ones(d, dtype=bool)
    if sp.issparse(block):
        csr_sides(block.data, block.indices, *extremes, below, other, two_valued)
    else:
        dense_sides(block, *extremes, below, other, two_valued)
    return below, other, two_valued


def _values_of_rank(
    source: Source, which: IntArray, rank: int, zero: IntArray, executor: Executor
) -> FloatArray:
    """The value of a rank in each of some columns, which is not zero."""
    prefix = np.zeros(len(which), dtype=np.uint64)
    left = np.full(len(which), rank, dtype=np.int64)
    known = 0
    for shift in range(56, -8, -8):
        counts = np.zeros((len(which), 256), dtype=np.int64)
        occupied = 0
        digits = Digits(prefix, np.uint64(known), np.uint64(shift))
        for part, bits in executor.map(_digits_of_tile, tile_tasks(source), which, digits):
            counts += part
            occupied |= bits
        if source.is_sparse:
            same = prefix == np.uint64(SIGN & known)
            counts[same, (SIGN >> shift) & 255] += zero[same]
        upto = np.cumsum(counts, axis=1)
        digit = (upto < left[:, None]).sum(axis=1)
        left -= np.where(digit > 0, upto[np.arange(len(which)), digit - 1], 0)
        prefix |= digit.astype(np.uint64) << np.uint64(shift)
        known |= 255 << shift
        if occupied & ~known == 0:
            break
    # Bits that no value has: 0, which is 1 in the key of a negative value.
    negative = prefix < np.uint64(SIGN)
    prefix[negative] |= np.uint64(~known & (2**64 - 1))
    return values_of_keys(prefix)


def _digits_of_tile(task: TileTask, which: IntArray, digits: Digits) -> tuple[IntArray, int]:
    [block] = task.load()
    counts = np.zeros((len(which), 256), dtype=np.int64)
    if not sp.issparse(block):
        return counts, int(dense_digits(block, which, digits, counts))
    place = np.full(block.shape[1], -1, dtype=np.int64)
    place[which] = np.arange(len(which))
    # Zeros, stored or not, are counted from their number.
    return counts, int(csr_digits(block.data, block.indices, place, digits, counts))
