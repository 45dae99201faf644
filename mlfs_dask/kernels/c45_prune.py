"""Pruning a C4.5 tree: by training errors, then by estimated errors, with subtree raising.

A node's error on new rows is estimated as the upper end of a confidence interval for a binomial
share (Quinlan 1993, chapter 4). From the leaves up, each node stays, becomes a leaf, or is replaced
by its largest branch, whichever promises fewest errors, with a bias towards less tree.
"""

from __future__ import annotations

import math

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.c45_tree import (
    TINY,
    Items,
    Loads,
    Nodes,
    Table,
    copy_load,
    copy_node,
    greatest,
    hand_down,
    make_loads,
    shares_of,
)

_TRAINING_MARGIN = 1e-3
_MARGIN = 0.1


@jit
def extra_errors(n: float, errors: float, confidence: float, z: float) -> float:
    """What the estimate adds to the errors counted in a leaf.

    Parameters
    ----------
    n, errors
        Weight of the rows and of those that are not of the most frequent class.
    confidence, z
        Probability of more errors, ``0 < confidence <= 0.5``, and the quantile of the standard
        normal distribution at ``1 - confidence``.

    Notes
    -----
    Exact for no error (``n (1 - confidence^(1/n))``), linear between 0 and 1, the normal
    approximation with continuity correction from 1 on, at most ``n - errors``.
    """
    if errors >= 1:
        return _normal_errors(n, errors, z)
    none = n * (1 - math.pow(confidence, 1 / n))
    return none if errors == 0 else none + errors * (_normal_errors(n, 1.0, z) - none)


@jit
def _normal_errors(n: float, errors: float, z: float) -> float:
    if errors + 0.5 >= n:
        return max(n - errors, 0.0)
    share = (errors + 0.5) / n
    deviation = math.sqrt(share / n - share * share / n + z * z / (4 * n * n))
    upper = (share + z * z / (2 * n) + z * deviation) / (1 + z * z / n)
    return upper * n - errors


@jit
def _last_of_most(weights: FloatArray) -> int:
    """Position of the largest weight, of (nearly) equal ones the last."""
    most, place = 0.0, 0
    for k in range(len(weights)):
        if most - weights[k] < TINY:
            most, place = weights[k], k
    return place


@jit
def _wrong(loads: Loads, node: int) -> float:
    """Training errors of a node as a leaf."""
    return float(loads.total[node]) - greatest(loads.counts[node])


@jit
def _estimate(loads: Loads, node: int, confidence: float, z: float) -> float:
    """Errors to expect of a node as a leaf."""
    if loads.total[node] < TINY:
        return 0.0
    wrong = _wrong(loads, node)
    return wrong + extra_errors(loads.total[node], wrong, confidence, z)


@jit
def _ends(nodes: Nodes) -> IntArray:
    """Number after the last descendant of each node."""
    n = len(nodes.feature)
    end = np.arange(1, n + 1)
    for node in range(n - 1, -1, -1):
        first = nodes.first_child[node]
        for child in range(first, first + nodes.n_children[node]):
            end[node] = max(end[node], end[child])
    return end


@jit
def _make_leaf(nodes: Nodes, alive: BoolArray, node: int, end: int) -> None:
    alive[nodes.first_child[node] : end] = False
    nodes.feature[node], nodes.threshold[node] = -1, np.nan
    nodes.first_child[node] = nodes.n_children[node] = 0


@jit
def collapse(nodes: Nodes, loads: Loads, alive: BoolArray) -> None:
    """Make leaves of nodes whose subtree makes no fewer errors on the training rows.

    Parameters
    ----------
    nodes
        The tree, changed in place.
    loads
        Its training rows.
    alive : ndarray of bool, shape (n_nodes,)
        Nodes that belong to the tree; those cut off become False.
    """
    n = len(nodes.feature)
    end = _ends(nodes)
    errors = np.zeros(n)
    for node in range(n - 1, -1, -1):
        first = nodes.first_child[node]
        for child in range(first, first + nodes.n_children[node]):
            errors[node] += errors[child]
        if nodes.feature[node] < 0:
            errors[node] = _wrong(loads, node)
    for node in range(n):
        inner = alive[node] and nodes.feature[node] >= 0
        if inner and errors[node] >= _wrong(loads, node) - _TRAINING_MARGIN:
            _make_leaf(nodes, alive, node, end[node])


@jit
def prune(
    table: Table,
    nodes: Nodes,
    loads: Loads,
    items: Items,
    alive: BoolArray,
    confidence: float,
    z: float,
    raising: bool,
) -> None:
    """Error-based pruning.

    Nodes are visited from the highest number down, children before parents. A node replaced by its
    largest branch gives that branch all its rows, so what is below it is visited once more.

    Parameters
    ----------
    table
        Training rows.
    nodes, loads
        The tree, changed in place.
    items
        Pool of the loads. Visited nodes need theirs no longer, so all beyond the segment of the
        node at hand is free to be written over.
    alive : ndarray of bool, shape (n_nodes,)
        Nodes that belong to the tree; those cut off become False.
    confidence, z
        As in :func:`extra_errors`.
    raising
        Whether a node may be replaced by its largest branch.
    """
    end, due = _ends(nodes), alive.copy()
    trial = make_loads(*loads.counts.shape)
    errors = np.zeros(len(nodes.feature))
    node = len(nodes.feature) - 1
    while node >= 0:
        if not due[node]:
            node -= 1
            continue
        as_leaf = errors[node] = _estimate(loads, node, confidence, z)
        due[node] = False
        first, last = nodes.first_child[node], nodes.first_child[node] + nodes.n_children[node]
        if first == last:
            continue
        branch = first + _last_of_most(loads.total[first:last])
        as_tree, as_branch = 0.0, np.inf
        for child in range(first, last):
            as_tree += errors[child]
        if raising:
            copy_load(loads, node, trial, branch)
            items, as_branch = _try_branch(table, nodes, trial, items, branch, confidence, z)
        if as_leaf < min(as_tree, as_branch) + _MARGIN + TINY:
            _make_leaf(nodes, alive, node, end[node])
        elif as_branch < as_tree + _MARGIN + TINY:
            alive[first : end[node]] = False
            _replace(nodes, loads, trial, alive, due, node, branch)
            node = end[node] - 1
        else:
            errors[node] = as_tree


@jit
def _try_branch(
    table: Table,
    nodes: Nodes,
    trial: Loads,
    items: Items,
    branch: int,
    confidence: float,
    z: float,
) -> tuple[Items, float]:
    """Errors to expect of a branch that is given other rows, already in its ``trial`` load.

    The loads of its descendants go to ``trial``, their segments lie behind that of the branch.
    """
    errors, at = 0.0, trial.stop[branch]
    waiting = [branch]
    while len(waiting) > 0:
        node = waiting.pop()
        if nodes.feature[node] < 0:
            errors += _estimate(trial, node, confidence, z)
            continue
        shares = shares_of(table, nodes, trial, items, node)
        items, at = hand_down(table, nodes, trial, items, node, shares, at)
        for k in range(nodes.n_children[node]):
            waiting.append(nodes.first_child[node] + k)
    return items, errors


@jit
def _replace(
    nodes: Nodes,
    loads: Loads,
    trial: Loads,
    alive: BoolArray,
    due: BoolArray,
    node: int,
    branch: int,
) -> None:
    """Let a node be its branch: what is below lives, with its trial loads, and is due again."""
    copy_node(nodes, branch, nodes, node)
    due[node] = True
    waiting = [node]
    while len(waiting) > 0:
        parent = waiting.pop()
        for k in range(nodes.n_children[parent]):
            child = nodes.first_child[parent] + k
            alive[child] = due[child] = True
            copy_load(trial, child, loads, child)
            waiting.append(child)


def living(nodes: Nodes, loads: Loads, alive: BoolArray) -> tuple[Nodes, FloatArray, FloatArray]:
    """The tree without the nodes cut off.

    Parameters
    ----------
    nodes, loads
        The tree.
    alive : ndarray of bool, shape (n_nodes,)
        From :func:`prune`.

    Returns
    -------
    tuple
        Its nodes, their weight, and their weight by class.
    """
    n_children, number = nodes.n_children[alive], np.cumsum(alive) - 1
    first_child = np.where(n_children > 0, number[nodes.first_child[alive]], 0)
    slim = Nodes(nodes.feature[alive], nodes.threshold[alive], first_child, n_children)
    return slim, loads.total[alive], loads.counts[alive]
