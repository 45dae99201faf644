"""Growing a C4.5 tree: nodes are split until no test is worth it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.c45_split import Work, best_split
from mlfs_dask.kernels.c45_tree import (
    TINY,
    Items,
    Loads,
    Nodes,
    Table,
    branch_of,
    copy_load,
    copy_node,
    greatest,
    hand_down,
    make_items,
    make_loads,
    make_nodes,
    shares_of,
)


@jit
def grow(
    table: Table,
    weights: FloatArray,
    order: NDArray[np.int32],
    weighed: BoolArray,
    min_objects: float,
    work: Work,
) -> tuple[Nodes, Loads, Items, int]:
    """Grow a tree on training rows.

    Rows are sorted once by each numeric feature; a node hands its sorted lists down to its
    children, so a level of the tree costs O(n d).

    Parameters
    ----------
    table
        Training rows, at least one.
    weights : ndarray of float64, shape (n_samples,)
        Positive.
    order : ndarray of int32, shape (n_numeric, n_samples)
        Rows by ascending value of each numeric feature, missing values last.
    weighed : ndarray of bool, shape (n_features,)
        Features whose gain counts in the average.
    min_objects
        Least weight of two branches.
    work
        Room for it.

    Returns
    -------
    tuple of Nodes, Loads, Items, int
        The tree before any pruning, with room for more nodes, and the number of its nodes.
    """
    nodes, loads, items = _root(table, weights)
    used, at = 1, len(weights)
    order = order.copy()
    # Sorted lists of the nodes that wait are stacked; those of the node at hand are on top.
    waiting = [(0, 0)]
    while len(waiting) > 0:
        node, bottom = waiting.pop()
        rows = items.rows[loads.start[node] : loads.stop[node]]
        lists = order[:, bottom : bottom + len(rows)].copy()
        for e in range(len(rows)):
            work.weight[rows[e]] = items.weights[loads.start[node] + e]
        best = -1
        if _divisible(loads, node, min_objects):
            total = loads.total[node]
            best = best_split(table, rows, lists, total, work, weighed, min_objects)
        if best < 0:
            continue
        first, used = used, used + max(2, table.n_values[best])
        nodes, loads = _with_room(nodes, loads, first, used)
        nodes.feature[node], nodes.threshold[node] = best, work.threshold[best]
        nodes.first_child[node], nodes.n_children[node] = first, used - first
        shares = shares_of(table, nodes, loads, items, node)
        items, at = hand_down(table, nodes, loads, items, node, shares, at)
        for row in rows:
            work.side[row] = branch_of(table.columns[best, row], work.threshold[best])
        place = _places(loads, first, used, bottom, min_objects)
        order = _sort_down(order, lists, work.side, shares > TINY, place)
        for k in range(used - first):
            if place[k] < place[k + 1]:
                waiting.append((first + k, place[k]))
    return nodes, loads, items, used


@jit
def _root(table: Table, weights: FloatArray) -> tuple[Nodes, Loads, Items]:
    n = len(weights)
    nodes, loads, items = make_nodes(64), make_loads(64, table.n_classes), make_items(8 * n)
    loads.stop[0] = n
    for row in range(n):
        items.rows[row], items.weights[row] = row, weights[row]
        loads.total[0] += weights[row]
        loads.counts[0, table.target[row]] += weights[row]
    return nodes, loads, items


@jit
def _divisible(loads: Loads, node: int, min_objects: float) -> bool:
    """Whether a node has two classes and rows for two branches."""
    total = loads.total[node]
    pure = abs(total - greatest(loads.counts[node])) < TINY
    return not (pure or 2 * min_objects - total > TINY)


@jit
def _with_room(nodes: Nodes, loads: Loads, used: int, wanted: int) -> tuple[Nodes, Loads]:
    """Arrays for at least ``wanted`` nodes, the first ``used`` kept."""
    if wanted <= len(nodes.feature):
        return nodes, loads
    size = max(wanted, 2 * len(nodes.feature))
    more_nodes, more_loads = make_nodes(size), make_loads(size, loads.counts.shape[1])
    for node in range(used):
        copy_node(nodes, node, more_nodes, node)
        copy_load(loads, node, more_loads, node)
    return more_nodes, more_loads


@jit
def _places(loads: Loads, first: int, last: int, bottom: int, min_objects: float) -> IntArray:
    """Where the sorted lists of each child begin, and the end; a leaf needs none."""
    place = np.empty(last - first + 1, dtype=np.int64)
    for child in range(first, last):
        place[child - first] = bottom
        if _divisible(loads, child, min_objects):
            bottom += loads.stop[child] - loads.start[child]
    place[-1] = bottom
    return place


@jit
def _sort_down(
    order: NDArray[np.int32],
    lists: NDArray[np.int32],
    side: IntArray,
    takes: BoolArray,
    place: IntArray,
) -> NDArray[np.int32]:
    """Write the sorted lists of the children over those of their parent.

    Parameters
    ----------
    order
        The stack; made wider if need be.
    lists
        A copy of the parent's.
    side : ndarray of int64, shape (n_samples,)
        Child of each row, -1 for all that take missing values.
    takes : ndarray of bool, shape (n_children,)
        Children that take them.
    place : ndarray of int64, shape (n_children + 1,)
        From :func:`_places`.
    """
    if place[-1] > order.shape[1]:
        wider = np.empty((len(order), max(place[-1], 2 * order.shape[1])), dtype=np.int32)
        for r in range(len(order)):
            for e in range(place[0]):
                wider[r, e] = order[r, e]
        order = wider
    waits = place[:-1] < place[1:]
    if not waits.any():
        return order
    for r in range(len(order)):
        end = place.copy()
        for row in lists[r]:
            k = side[row]
            if k >= 0:
                if waits[k]:
                    order[r, end[k]] = row
                    end[k] += 1
                continue
            for j in range(len(takes)):
                if takes[j] and waits[j]:
                    order[r, end[j]] = row
                    end[j] += 1
    return order
