"""A decision tree as flat arrays: its nodes, the rows that reach them, what it says of new rows.

Children have higher numbers than their parent, those of one split are neighbours, and what
descends from a node is one run of numbers. Rows with a missing value go down every branch with a
part of their weight, so a node keeps pairs (row, weight): one segment of a pool for each node, in
the order of the nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.kernels._jit import jit

TINY = 1e-6
"""Weights, gains and errors closer than this are equal."""


class Table(NamedTuple):
    """Training rows by columns.

    Attributes
    ----------
    columns : ndarray of float64, shape (n_features, n_samples)
        Numbers, or codes 0, 1, ... of nominal values; NaN is missing.
    n_values : ndarray of int64, shape (n_features,)
        Nominal values; 0 for a numeric feature.
    target : ndarray of int64, shape (n_samples,)
        Class of each row, ``0 <= target < n_classes``.
    n_classes : int
    """

    columns: FloatArray
    n_values: IntArray
    target: IntArray
    n_classes: int


class Nodes(NamedTuple):
    """Tests of a tree; one entry per node.

    Attributes
    ----------
    feature : ndarray of int64
        Feature tested, -1 in a leaf.
    threshold : ndarray of float64
        Values up to it go to the first child; NaN where branches are nominal values, and in leaves.
    first_child, n_children : ndarray of int64
        Children are ``first_child : first_child + n_children``.
    """

    feature: IntArray
    threshold: FloatArray
    first_child: IntArray
    n_children: IntArray


class Loads(NamedTuple):
    """Training rows in each node.

    Attributes
    ----------
    start, stop : ndarray of int64
        Segment of the pool.
    total : ndarray of float64
        Sum of the weights.
    counts : ndarray of float64, shape (n_nodes, n_classes)
        The same by class.
    """

    start: IntArray
    stop: IntArray
    total: FloatArray
    counts: FloatArray


class Items(NamedTuple):
    """Pool of pairs (row, weight)."""

    rows: NDArray[np.int32]
    weights: FloatArray


@jit
def make_nodes(n: int) -> Nodes:
    """Leaves without rows."""
    none, zero = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    return Nodes(none, np.full(n, np.nan), zero, zero.copy())


@jit
def make_loads(n: int, n_classes: int) -> Loads:
    """Loads of n nodes, all empty."""
    zero = np.zeros(n, dtype=np.int64)
    return Loads(zero, zero.copy(), np.zeros(n), np.zeros((n, n_classes)))


@jit
def make_items(n: int) -> Items:
    """Room for n pairs."""
    return Items(np.empty(n, dtype=np.int32), np.empty(n))


@jit
def copy_node(source: Nodes, i: int, target: Nodes, j: int) -> None:
    """Make node j of a tree what node i of another is."""
    target.feature[j], target.threshold[j] = source.feature[i], source.threshold[i]
    target.first_child[j], target.n_children[j] = source.first_child[i], source.n_children[i]


@jit
def copy_load(source: Loads, i: int, target: Loads, j: int) -> None:
    """Make load j of one set what load i of another is."""
    target.start[j], target.stop[j] = source.start[i], source.stop[i]
    target.total[j] = source.total[i]
    for c in range(source.counts.shape[1]):
        target.counts[j, c] = source.counts[i, c]


@jit
def greatest(values: FloatArray) -> float:
    """The greatest of some numbers of at least 0; 0 for none."""
    most = 0.0
    for value in values:
        most = max(most, value)
    return most


@jit
def branch_of(value: float, threshold: float) -> int:
    """Number of the child that a value goes to; -1 if it is missing."""
    if np.isnan(value):
        return -1
    if np.isnan(threshold):
        return int(value)
    return 0 if value <= threshold else 1


@jit
def shares_of(table: Table, nodes: Nodes, loads: Loads, items: Items, node: int) -> FloatArray:
    """Share of each child in the rows of a node whose value is known; equal if none is."""
    values, threshold = table.columns[nodes.feature[node]], nodes.threshold[node]
    shares, known = np.zeros(nodes.n_children[node]), 0.0
    for e in range(loads.start[node], loads.stop[node]):
        k = branch_of(values[items.rows[e]], threshold)
        if k >= 0:
            shares[k] += items.weights[e]
            known += items.weights[e]
    for k in range(len(shares)):
        shares[k] = 1.0 / len(shares) if known < TINY else shares[k] / known
    return shares


@jit
def hand_down(
    table: Table,
    nodes: Nodes,
    loads: Loads,
    items: Items,
    node: int,
    shares: FloatArray,
    at: int,
) -> tuple[Items, int]:
    """Give the rows of a node to its children.

    A row whose value is missing goes to every child whose share is above 1e-6, with that part of
    its weight.

    Parameters
    ----------
    table
        Training rows.
    nodes
        The tree; ``node`` has children.
    loads
        Those of the children are written.
    items
        Pool; what stands from ``at`` on is overwritten.
    node
        Parent.
    shares : ndarray of float64
        From :func:`shares_of`.
    at
        Where the segment of the first child begins.

    Returns
    -------
    tuple
        The pool, longer if need be, and the end of the last child's segment.
    """
    first, last = nodes.first_child[node], nodes.first_child[node] + nodes.n_children[node]
    values, threshold = table.columns[nodes.feature[node]], nodes.threshold[node]
    start, stop = loads.start[node], loads.stop[node]
    sizes, missing = np.zeros(len(shares), dtype=np.int64), 0
    for e in range(start, stop):
        k = branch_of(values[items.rows[e]], threshold)
        if k >= 0:
            sizes[k] += 1
        else:
            missing += 1
    begin = at
    for child in range(first, last):
        loads.start[child] = loads.stop[child] = at
        loads.total[child] = 0.0
        for c in range(table.n_classes):
            loads.counts[child, c] = 0.0
        at += sizes[child - first]
        if shares[child - first] > TINY:
            at += missing
    items = _with_room(items, begin, at)
    for e in range(start, stop):
        row, weight = items.rows[e], items.weights[e]
        k = branch_of(values[row], threshold)
        if k >= 0:
            _put(loads, items, first + k, row, weight, table.target[row])
        else:
            for j in range(len(shares)):
                if shares[j] > TINY:
                    _put(loads, items, first + j, row, weight * shares[j], table.target[row])
    return items, at


@jit
def _put(loads: Loads, items: Items, node: int, row: int, weight: float, target: int) -> None:
    place = loads.stop[node]
    items.rows[place], items.weights[place] = row, weight
    loads.stop[node] += 1
    loads.total[node] += weight
    loads.counts[node, target] += weight


@jit
def _with_room(items: Items, used: int, wanted: int) -> Items:
    """A pool of at least ``wanted`` pairs, the first ``used`` kept."""
    if wanted <= len(items.rows):
        return items
    wider = make_items(max(wanted, 2 * len(items.rows)))
    for e in range(used):
        wider.rows[e], wider.weights[e] = items.rows[e], items.weights[e]
    return wider


@jit
def class_shares(nodes: Nodes, total: FloatArray, counts: FloatArray, X: FloatArray) -> FloatArray:
    """Class frequencies in the leaves that rows come to.

    A row with a missing value goes to all children that hold training rows, in proportion to their
    weight. Where no training row went, the frequencies are those of the node that asks.

    Parameters
    ----------
    nodes
        The tree.
    total : ndarray of float64, shape (n_nodes,)
        Weight of the training rows in each node.
    counts : ndarray of float64, shape (n_nodes, n_classes)
        The same by class.
    X : ndarray of float64, shape (n_samples, n_features)
        As in training; a nominal code beyond those known leads nowhere.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)
        Rows sum to 1.
    """
    out = np.zeros((len(X), counts.shape[1]))
    waiting, part = np.empty(len(total), dtype=np.int64), np.empty(len(total))
    for i in range(len(X)):
        waiting[0], part[0], height = 0, 1.0, 1
        while height > 0:
            height -= 1
            node, weight = waiting[height], part[height]
            first, n = nodes.first_child[node], nodes.n_children[node]
            k = 0
            if n > 0:
                k = branch_of(X[i, nodes.feature[node]], nodes.threshold[node])
            if k >= n or (k >= 0 and total[first + k] < TINY):
                for c in range(out.shape[1]):
                    out[i, c] += weight * (counts[node, c] / total[node])
                continue
            if k >= 0:
                waiting[height], part[height] = first + k, weight
                height += 1
                continue
            below = 0.0
            for child in range(first, first + n):
                below += total[child] if total[child] >= TINY else 0.0
            for child in range(first, first + n):
                if total[child] >= TINY:
                    waiting[height], part[height] = child, weight * total[child] / below
                    height += 1
    return out
