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

from mlfs_dask._typing import AnyArray, BoolArray, ByteArray, FloatArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.bits import distances_packed
from mlfs_dask.kernels.distances import add_four_plain, add_nominal, add_plain
from mlfs_dask.kernels.gap_counts import Counter, Points, Tally, count_neighbors
from mlfs_dask.kernels.gap_levels import GapRule, RowBuffer, find_extremes, last_level
from mlfs_dask.kernels.lanes import count_ones

GROUP = 8
"""Rows whose distances are made together where they aren't kept."""
_CHUNK = 512  # points whose columns and distances stay in cache


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
    row : RowBuffer
        Of the distances' type.
    rule : GapRule
    points : Points
    counter : Counter
    """

    row: RowBuffer
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
def _add(total: FloatArray, column: FloatArray, coded: bool, own: float) -> None:
    if coded:
        add_nominal(total, column, own)
    else:
        add_plain(total, column, own)


@jit
def add_bits(total: AnyArray, before: AnyArray, column: ByteArray, own: int) -> None:
    """Add the differing bits of one byte to distances.

    Parameters
    ----------
    total : ndarray of an unsigned type, shape (n_points,), changed
        Gets the sums.
    before : ndarray of the same type, shape (n_points,)
    column : ndarray of uint8, shape (n_points,)
    own
        The row's byte.
    """
    for j in range(len(total)):
        total[j] = before[j] + count_ones(np.uint8(column[j] ^ own))


@jit
def _look_around(n_points: int, own: int, look: Look, tally: Tally) -> None:
    row, points = look.row, look.points
    find_extremes(row, n_points, own, points.size[own] == 1)
    level = last_level(row, n_points, look.rule)
    count_neighbors(row, n_points, own, level, points, look.counter, tally)


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
    total = look.row.total[:n_points]
    for start in range(block[0], block[1], GROUP):
        group = min(GROUP, block[1] - start)
        if len(kept) == 0:
            queries = np.ascontiguousarray(columns[:, start : start + group].T)
            distances_packed(queries, columns, 0, group, made)
        for c in range(len(candidates)):
            tally = Tally(tallies.pure[c], tallies.shares[c])
            column = candidates[c]
            for i in range(group):
                own = start + i
                if len(kept) == 0:
                    add_bits(total, made[i], column, column[own])
                else:
                    add_bits(total, kept[own - block[0]], column, column[own])
                _look_around(n_points, own, look, tally)


@jit
def measure_values(
    distances: Distances,
    features: Features,
    candidates: Features,
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
        Each by itself.
    block, look, tallies
        As there.
    """
    n_points = candidates.values.shape[1]
    n_features = len(features.values)
    kept, made = distances
    total = look.row.total[:n_points]
    queries = np.empty((GROUP, n_features), dtype=np.float64)
    for start in range(block[0], block[1], GROUP):
        group = min(GROUP, block[1] - start)
        for i in range(group):
            queries[i, :] = features.values[:, start + i]
        if len(kept) == 0:
            made[:group] = 0.0
            add_features(queries[:group], features, 0, n_features, made)
        for c in range(len(candidates.values)):
            tally = Tally(tallies.pure[c], tallies.shares[c])
            column, coded = candidates.values[c], candidates.coded[c]
            for i in range(group):
                own = start + i
                if len(kept) == 0:
                    total[:] = made[i]
                else:
                    total[:] = kept[own - block[0]]
                    for f in range(n_features):
                        _add(total, features.values[f], features.coded[f], queries[i, f])
                _add(total, column, coded, column[own])
                _look_around(n_points, own, look, tally)
