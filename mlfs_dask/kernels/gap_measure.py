"""Gap neighbourhoods of blocks of rows: distances of some features, then one more feature each.

The squared distances of a set of features from each row of a block to all points are kept, or they
are made, a few rows at a time, from the features' columns. Each candidate adds its part to a copy
of one row's distances, which is looked at while it is in cache::

    kept  |=========== n points ===========|  a row of the block
      + pending features + candidate ──> RowBuffer ──> neighbours ──> tally of the candidate

0/1 features are packed, eight to a byte: distances are whole numbers, and a candidate is the byte
of the features that fill none, with its own bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.bits import distances_packed
from mlfs_dask.kernels.distances import add_four_plain, add_nominal, add_plain
from mlfs_dask.kernels.gap_counts import Counter, Points, Tally, count_neighbors
from mlfs_dask.kernels.gap_levels import GapRule, RowBuffer, find_extremes, find_levels
from mlfs_dask.kernels.lanes import count_ones

GROUP = 8
"""Rows whose distances are made together where they aren't kept."""
_CHUNK = 512  # points whose columns and distances stay in cache
_FUSED = 4  # features that are added in one go


class Features(NamedTuple):
    """Columns of features over the points, in the order in which distances are summed.

    Attributes
    ----------
    values : ndarray of float64, shape (n_features, n_points)
        Scaled.
    coded : ndarray of bool, shape (n_features,)
        Compared by equality.
    """

    values: FloatArray
    coded: BoolArray


class Candidates(NamedTuple):
    """What is added to the features of a set, each time by itself.

    Attributes
    ----------
    features : Features
        Of all candidates.
    spans : ndarray of int64, shape (n_candidates, 2)
        Candidate c is the features ``spans[c, 0]:spans[c, 1]``.
    """

    features: Features
    spans: IntArray


class Distances(NamedTuple):
    """Squared distances from the rows of a block over some features.

    Attributes
    ----------
    kept : ndarray of float64 or an unsigned type, shape (n_rows, n_points)
        Without rows if they are to be made of the features that are given.
    made : ndarray of the same type, shape (GROUP, n_points)
        Room for those of a few rows.
    """

    kept: AnyArray
    made: AnyArray


class Look(NamedTuple):
    """How to look at a row's neighbourhood.

    Attributes
    ----------
    rows : RowBuffer
        Of the distances' type, for a few rows.
    rule : GapRule
    points : Points
    counter : Counter
    """

    rows: RowBuffer
    rule: GapRule
    points: Points
    counter: Counter


@jit
def add_features(
    queries: FloatArray, features: Features, begin: int, end: int, totals: FloatArray
) -> None:
    """Add the squared differences of some features, one after the other.

    Parameters
    ----------
    queries : ndarray of float64, shape (n_queries, n_features)
        Values of the rows.
    features
        Of the points.
    begin, end
        Which of them.
    totals : ndarray of float64, shape (n_queries, n_points), changed
    """
    n_points = features.values.shape[1]
    for start in range(0, n_points, _CHUNK):
        stop = min(start + _CHUNK, n_points)
        f = begin
        while f < end:
            if f + 4 <= end and not features.coded[f : f + 4].any():
                # Columns are cut one by one: only then are they known to be contiguous.
                four = (
                    features.values[f, start:stop],
                    features.values[f + 1, start:stop],
                    features.values[f + 2, start:stop],
                    features.values[f + 3, start:stop],
                )
                for i in range(len(queries)):
                    add_four_plain(totals[i, start:stop], four, queries[i], f)
                f += 4
                continue
            column = features.values[f, start:stop]
            for i in range(len(queries)):
                _add(totals[i, start:stop], column, features.coded[f], queries[i, f])
            f += 1


@jit
def add_to_block(features: Features, first: int, totals: FloatArray) -> None:
    """Add the squared differences of features to the distances of a block.

    Parameters
    ----------
    features
        To be added in order.
    first
        The block's rows are points ``first`` and those after it.
    totals : ndarray of float64, shape (n_rows, n_points), changed
    """
    n_features = len(features.values)
    for start in range(0, len(totals), GROUP):
        stop = min(start + GROUP, len(totals))
        queries = np.ascontiguousarray(features.values[:, first + start : first + stop].T)
        add_features(queries, features, 0, n_features, totals[start:stop])


@jit
def _add(total: FloatArray, column: FloatArray, coded: bool, own: float) -> None:
    if coded:
        add_nominal(total, column, own)
    else:
        add_plain(total, column, own)


@jit
def _add_bits_to_rows(
    before: AnyArray, column: ByteArray, first: int, count: int, rows: RowBuffer
) -> None:
    """As :func:`_add_to_rows` for the differing bits of one byte."""
    n_points = len(column)
    for i in range(count):
        own, at = column[first + i], i * len(rows.near)
        total = rows.total[at : at + n_points]
        for j in range(n_points):
            total[j] = before[i, j] + count_ones(np.uint8(column[j] ^ own))


@jit
def add_byte_to_block(before: AnyArray, column: ByteArray, first: int, totals: AnyArray) -> None:
    """Put the sums of a block's distances and of the differing bits of one byte into another block.

    Parameters
    ----------
    before : ndarray of an unsigned type, shape (n_rows, n_points)
    column : ndarray of uint8, shape (n_points,)
        Eight 0/1 features.
    first
        The block's rows are points ``first`` and those after it.
    totals : ndarray as ``before``, filled
        It may be the same.
    """
    for i in range(len(totals)):
        own, held, total = column[first + i], before[i], totals[i]
        for j in range(len(column)):
            total[j] = held[j] + count_ones(np.uint8(column[j] ^ own))


@jit
def _look_around(n_points: int, first: int, count: int, look: Look, tally: Tally) -> None:
    """Tally the neighbourhoods of the rows in the buffer."""
    find_extremes(look.rows, n_points, first, count, look.points.size)
    find_levels(look.rows, n_points, count, look.rule)
    count_neighbors(look.rows, n_points, first, count, look.points, look.counter, tally)


@jit
def _add_to_rows(
    before: FloatArray, features: Features, first: int, count: int, rows: RowBuffer
) -> None:
    """Put the sums of rows' distances and of features' squared differences into the buffer.

    Parameters
    ----------
    before : ndarray of float64, shape (count, n_points)
    features
        To be added in order.
    first, count
        The rows are points ``first`` and those after it.
    rows
        ``total`` is filled in.
    """
    values, n_points = features.values, features.values.shape[1]
    last = len(values) - 1
    fused = last < _FUSED and not features.coded.any()
    for i in range(count):
        own, at = first + i, i * len(rows.near)
        total = rows.total[at : at + n_points]
        if not fused:
            total[:] = before[i]
            for f in range(len(values)):
                _add(total, values[f], features.coded[f], values[f, own])
            continue
        # The same sums, each distance read and written once.
        c0, c1, c2, c3 = values[0], values[min(1, last)], values[min(2, last)], values[last]
        o0, o1, o2, o3 = c0[own], c1[own], c2[own], c3[own]
        if last == 0:
            for j in range(n_points):
                g0 = o0 - c0[j]
                total[j] = before[i, j] + g0 * g0
        elif last == 1:
            for j in range(n_points):
                g0, g1 = o0 - c0[j], o1 - c1[j]
                total[j] = (before[i, j] + g0 * g0) + g1 * g1
        elif last == 2:
            for j in range(n_points):
                g0, g1, g2 = o0 - c0[j], o1 - c1[j], o2 - c2[j]
                total[j] = ((before[i, j] + g0 * g0) + g1 * g1) + g2 * g2
        else:
            for j in range(n_points):
                g0, g1, g2, g3 = o0 - c0[j], o1 - c1[j], o2 - c2[j], o3 - c3[j]
                total[j] = (((before[i, j] + g0 * g0) + g1 * g1) + g2 * g2) + g3 * g3


@jit
def measure_packed(
    distances: Distances,
    columns: ByteArray,
    candidates: ByteArray,
    block: tuple[int, int],
    look: Look,
    tallies: Tally,
) -> None:
    """Tally the neighbourhoods of a block of rows for each candidate, 0/1 features.

    Parameters
    ----------
    distances
        Over the whole bytes of features.
    columns : ndarray of uint8, shape (n_bytes, n_points)
        These bytes; not read if the distances are kept.
    candidates : ndarray of uint8, shape (n_candidates, n_points)
        The byte that each candidate makes with the features that are in no whole byte.
    block
        Points ``block[0]:block[1]`` are looked around.
    look
        How.
    tallies
        One for each candidate along the first axis, changed.
    """
    n_points = candidates.shape[1]
    kept, made = distances
    step = min(GROUP, len(look.rows.level))
    for start in range(block[0], block[1], GROUP):
        stop = min(start + GROUP, block[1])
        if len(kept) == 0:
            queries = np.ascontiguousarray(columns[:, start:stop].T)
            distances_packed(queries, columns, 0, GROUP, made)
        for c in range(len(candidates)):
            tally = Tally(tallies.pure[c], tallies.shares[c])
            column = candidates[c]
            for first in range(start, stop, step):
                count = min(step, stop - first)
                if len(kept) == 0:
                    _add_bits_to_rows(made[first - start :], column, first, count, look.rows)
                else:
                    _add_bits_to_rows(kept[first - block[0] :], column, first, count, look.rows)
                _look_around(n_points, first, count, look, tally)


@jit
def measure_values(
    distances: Distances,
    features: Features,
    candidates: Candidates,
    block: tuple[int, int],
    look: Look,
    tallies: Tally,
) -> None:
    """As :func:`measure_packed` for any values.

    Parameters
    ----------
    distances
        Kept over the features before those given, or to be made over these.
    features
        Of the set: all, or those that kept distances lack.
    candidates
        Of one or more features each.
    block, look, tallies
        As there.
    """
    (own, own_coded), spans = candidates
    n_points = own.shape[1]
    kept, made = distances
    step = min(GROUP, len(look.rows.level))
    n_before = 0 if len(kept) == 0 else len(features.values)
    n_candidates = len(spans)
    width = n_before + (spans[:, 1] - spans[:, 0])
    values = np.empty((n_candidates, width.max(), n_points))
    coded = np.empty((n_candidates, width.max()), dtype=np.bool_)
    for c in range(n_candidates):
        begin, end = spans[c]
        values[c, :n_before] = features.values[:n_before]
        coded[c, :n_before] = features.coded[:n_before]
        values[c, n_before : width[c]] = own[begin:end]
        coded[c, n_before : width[c]] = own_coded[begin:end]
    for start in range(block[0], block[1], GROUP):
        stop = min(start + GROUP, block[1])
        if len(kept) == 0:
            made[:] = 0.0
            queries = np.ascontiguousarray(features.values[:, start:stop].T)
            add_features(queries, features, 0, len(features.values), made)
        for c in range(n_candidates):
            tally = Tally(tallies.pure[c], tallies.shares[c])
            added = Features(values[c, : width[c]], coded[c, : width[c]])
            for first in range(start, stop, step):
                count = min(step, stop - first)
                if len(kept) == 0:
                    _add_to_rows(made[first - start :], added, first, count, look.rows)
                else:
                    _add_to_rows(kept[first - block[0] :], added, first, count, look.rows)
                _look_around(n_points, first, count, look, tally)
