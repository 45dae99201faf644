"""Lower bounds of distances between sparse rows, and exact distances where a bound can't decide.

What a stored cell adds to the distance from a row that omits the feature is known beforehand. With
S_i the sum of that over row i, a distance is::

    S_i + S_j + what changes where both rows store a feature

so a query touches only the rows that it meets at one of its cells. Terms meet in another order than
in :mod:`mlfs_dask.kernels.distances`, so the last bits differ; less a margin for rounding the sum
is a lower bound. A row whose bound is not below the k-th distance so far cannot be a neighbour. The
few others are summed in full, term after term in the order of the features: the lists are those of
all pairs, to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit, merged
from mlfs_dask.kernels.distances import PLAIN
from mlfs_dask.kernels.lanes import LANES, first_lanes, lanes_at_most, lanes_below, lowest_bit
from mlfs_dask.kernels.neighbors import Found, insert
from mlfs_dask.kernels.postings import Cells, Postings, SparseRule, squared_gap

ROUNDING = 2.0**-48
"""Relative error of a sum, per term: more than 16 times what any order of summation can lose."""
_SLACK = 2.5  # margins that lie between a bound and the distance, with rounding
_HUGE = 1e300  # sums of cells beyond this could overflow
_TINY = 2.0**-1000  # more than squares lose that are too small to have all their digits


@jit
def sums_alone(postings: Postings, stops: IntArray) -> FloatArray:
    """Distance of each row from a row without stored cells, at each point.

    Parameters
    ----------
    postings
        Rows.
    stops : ndarray of int64, shape (n_points,)
        Features that count at each point.

    Returns
    -------
    ndarray of float64, shape (n_points, n_rows)
        Rounded in some order.
    """
    row, square = postings.row, postings.square
    sums = np.zeros((len(stops), postings.n_rows))
    done = 0
    for point in range(len(stops)):
        if point:
            sums[point] = sums[point - 1]
        total = sums[point]
        for e in range(postings.start[done], postings.start[stops[point]]):
            total[row[e]] += square[e]
        done = stops[point]
    return sums


@merged
def exact_distance(
    queries: Cells, i: int, rows: Cells, j: Any, rule: SparseRule, stop: Any
) -> float:
    """Squared distance of two rows over the first ``stop`` features, to the bits of all roads.

    Parameters
    ----------
    queries, rows
        From ``cells_of``.
    i, j
        Which rows.
    rule
        How features are compared.
    stop
        Position of the first feature that doesn't count.
    """
    p, p_end = queries.start[i], queries.start[i + 1]
    r, r_end = rows.start[j], rows.start[j + 1]
    total = 0.0
    while True:
        f = queries.place[p] if p < p_end else stop
        g = rows.place[r] if r < r_end else stop
        if min(f, g) >= stop:
            return total
        if f < g:
            total += queries.gap[p] * queries.gap[p]
            p += 1
        elif g < f:
            total += rows.gap[r] * rows.gap[r]
            r += 1
        else:
            total += squared_gap(
                queries.value[p], rows.value[r], rule.how[f], rule.bottom[f], rule.top[f]
            )
            p, r = p + 1, r + 1


@jit
def _meet(
    changes: FloatArray,
    queries: Cells,
    cells: tuple[int, int],
    postings: Postings,
    rule: SparseRule,
) -> None:
    """Add what changes where a query and training rows store the same feature."""
    start, row = postings.start, postings.row
    value, square = postings.value, postings.square
    for p in range(cells[0], cells[1]):
        f, own = queries.place[p], queries.value[p]
        how, bottom, top = rule.how[f], rule.bottom[f], rule.top[f]
        alone = queries.gap[p] * queries.gap[p]
        if how == PLAIN:
            omitted = (0.0 - rule.shift[f]) / rule.span[f]
            twice = 2.0 * (own - omitted)
            for e in range(start[f], start[f + 1]):
                # Unsigned: not looked at for being negative.
                changes[np.uint64(row[e])] -= twice * (value[e] - omitted)
        else:
            for e in range(start[f], start[f + 1]):
                both = squared_gap(own, value[e], how, bottom, top)
                changes[row[e]] += both - alone - square[e]


@inline
def _margin(queries: Cells, i: int, longest: int) -> float:
    """Share of S_i + S_j that rounding can be wrong by."""
    terms: float = queries.start[i + 1] - queries.start[i] + longest + 16
    return ROUNDING * terms


@jit
def _longest(rows: Cells) -> int:
    longest = 0
    for j in range(len(rows.start) - 1):
        longest = max(longest, rows.start[j + 1] - rows.start[j])
    return longest


@jit
def _set_bounds(
    total: FloatArray, changes: FloatArray, alone: FloatArray, own: float, margin: float
) -> None:
    for j in range(len(changes)):
        total[j] = changes[j] + (alone[j] + own) * (1.0 - margin) - _TINY


@inline
def _slack(margin: float, largest: float) -> float:
    """What a distance may exceed its bound by, where S_i + S_j is at most ``largest``."""
    return _SLACK * margin * largest + 2.0 * _TINY


class Doubt(NamedTuple):
    """How far distances may be from their bounds, and what is needed to sum them in full.

    Attributes
    ----------
    slack : ndarray of float64, shape (n_queries,)
        No distance exceeds its bound by more.
    queries, rows : Cells
        Queries and all training rows.
    rule : SparseRule
    known : ndarray of bool, shape (n_rows,)
        Rows whose bound has become the distance from the query at hand.
    """

    slack: FloatArray
    queries: Cells
    rows: Cells
    rule: SparseRule
    known: AnyArray


@jit
def sum_in_full(total: AnyArray, doubt: Doubt, query: int, j: int) -> None:
    """Put the distance of a query and row j in the place of its bound."""
    if not doubt.known[j]:
        stop = len(doubt.rule.how)
        total[j] = exact_distance(doubt.queries, query, doubt.rows, j, doubt.rule, stop)
        doubt.known[j] = True


class Strip(NamedTuple):
    """Consecutive training rows.

    Attributes
    ----------
    postings : Postings
    cells : Cells
        The same cells, row after row.
    base : int
        Index of the first row.
    """

    postings: Postings
    cells: Cells
    base: int


@jit
def search_bounded(
    queries: Cells,
    strip: Strip,
    rule: SparseRule,
    own: IntArray,
    found: Found,
    totals: FloatArray,
) -> tuple[int, int]:
    """Offer training rows to the lists of queries; those of ``search_sparse``, bit for bit.

    Parameters
    ----------
    queries
        From ``cells_of``.
    strip
        Training rows.
    rule
        How features are compared and where to look.
    own : ndarray of int64, shape (n_queries,)
        As in :func:`~mlfs_dask.kernels.neighbors.search_packed`.
    found
        Lists of float64, changed.
    totals : ndarray of float64, shape (2, >= n_rows + 64)
        From ``distance_buffer``.

    Returns
    -------
    met : int
        Pairs of rows that share a feature, or had to be summed, at each point.
    summed : int
        Distances that were summed in full.
    """
    n, stops = strip.postings.n_rows, rule.stops
    alone = sums_alone(strip.postings, stops)
    longest = _longest(strip.cells)
    changes, total = totals[0, :n], totals[1]
    held = np.empty(found.distances.shape[2])
    met = summed = 0
    for i in range(len(own)):
        changes[:] = 0.0
        lists = Found(found.distances[i], found.indices[i])
        cell, last = queries.start[i], queries.start[i + 1]
        mine, margin = 0.0, _margin(queries, i, longest)
        for point in range(len(stops)):
            first = cell
            while cell < last and queries.place[cell] < stops[point]:
                mine += queries.gap[cell] * queries.gap[cell]
                cell += 1
            largest = alone[point].max() if n else 0.0
            if mine + largest < _HUGE:
                _meet(changes, queries, (first, cell), strip.postings, rule)
                _set_bounds(total[:n], changes, alone[point], mine, margin)
                held[:] = lists.distances[point]
                _lower(held, total, n, own[i] - strip.base, _slack(margin, mine + largest))
                limit = held[-1]
                met += int(np.count_nonzero(changes))
            else:
                total[:n] = 0.0
                limit = np.inf
                met += n
            summed += _look(total, queries, i, strip, rule, own[i], lists, (point, limit))
    return met, summed


@jit
def _lower(held: FloatArray, total: FloatArray, n_rows: int, own: int, slack: float) -> None:
    """Put upper bounds among the k smallest distances; own row left out."""
    last = len(held) - 1
    for start in range(0, n_rows, LANES):
        mask = lanes_below(total, start, held[last]) & first_lanes(n_rows - start)
        while mask:
            j = start + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            value = total[j] + slack
            if j == own or not value < held[last]:
                continue
            place = last
            while place > 0 and value < held[place - 1]:
                held[place] = held[place - 1]
                place -= 1
            held[place] = value


@jit
def _look(
    total: FloatArray,
    queries: Cells,
    i: int,
    strip: Strip,
    rule: SparseRule,
    own: int,
    lists: Found,
    at: tuple[int, float],
) -> int:
    """Sum the distances of rows that may be near enough for one query at one point."""
    point, limit = at
    base, stop = strip.base, rule.stops[point]
    distance, index = lists.distances[point], lists.indices[point]
    last = len(distance) - 1
    summed = 0
    for start in range(0, strip.postings.n_rows, LANES):
        mask = lanes_at_most(total, start, limit)
        mask &= first_lanes(strip.postings.n_rows - start)
        while mask:
            j = start + np.int64(lowest_bit(mask))
            mask &= mask - np.uint64(1)
            if base + j == own or not total[j] < distance[last]:
                continue
            exact = exact_distance(queries, i, strip.cells, j, rule, stop)
            summed += 1
            if exact < distance[last]:
                insert(distance, index, exact, base + j)
    return summed


@jit
def bounds_of(
    queries: Cells, strip: Strip, rule: SparseRule, totals: FloatArray, slack: FloatArray
) -> int:
    """Lower bounds of the distances of queries to training rows over all features that count.

    Parameters
    ----------
    queries, strip, rule
        As in :func:`search_bounded`.
    totals : ndarray of float64, shape (n_queries, >= base + n_rows), changed
        Columns ``base:base + n_rows``.
    slack : ndarray of float64, shape (n_queries,), changed
        Raised to what a distance may exceed its bound by.

    Returns
    -------
    int
        Pairs of rows that share a feature, or had to be summed.
    """
    n, base = strip.postings.n_rows, strip.base
    met = 0
    if n == 0:
        return met
    everything = np.array([len(rule.how)])
    alone = sums_alone(strip.postings, everything)[0]
    longest, largest = _longest(strip.cells), alone.max()
    changes = np.empty(n)
    for i in range(len(slack)):
        total = totals[i, base : base + n]
        cells = queries.start[i], queries.start[i + 1]
        mine, margin = 0.0, _margin(queries, i, longest)
        for p in range(cells[0], cells[1]):
            mine += queries.gap[p] * queries.gap[p]
        if mine + largest < _HUGE:
            changes[:] = 0.0
            _meet(changes, queries, cells, strip.postings, rule)
            _set_bounds(total, changes, alone, mine, margin)
            slack[i] = max(slack[i], _slack(margin, mine + largest))
            met += int(np.count_nonzero(changes))
        else:
            met += n
            for j in range(n):
                total[j] = exact_distance(queries, i, strip.cells, j, rule, len(rule.how))
    return met
