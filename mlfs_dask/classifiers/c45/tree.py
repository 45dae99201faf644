"""A C4.5 tree: growing, pruning, asking."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.checks import check_count, is_number
from mlfs_dask.classifiers.c45.coding import Coding
from mlfs_dask.errors import InputError
from mlfs_dask.kernels.c45_grow import grow
from mlfs_dask.kernels.c45_prune import collapse, living, prune
from mlfs_dask.kernels.c45_split import make_work
from mlfs_dask.kernels.c45_tree import TINY, Nodes, Table, class_shares

_MANY_VALUES = 0.3


@dataclass(frozen=True)
class Rules:
    """How a tree is grown and pruned; see `C45Classifier`."""

    confidence: float = 0.25
    min_objects: int = 2
    prune: bool = True
    subtree_raising: bool = True

    def check(self) -> None:
        """Refuse impossible parameters.

        Raises
        ------
        InputError
            Naming the parameter, its value and what it may be.
        """
        if not is_number(self.confidence) or not 0 < self.confidence <= 0.5:
            raise InputError(
                f"confidence = {self.confidence!r}: expected a number above 0, at most 0.5"
            )
        check_count("min_objects", self.min_objects)
        for name, value in (("prune", self.prune), ("subtree_raising", self.subtree_raising)):
            if not isinstance(value, bool):
                raise InputError(f"{name} = {value!r}: expected true or false")


@dataclass(frozen=True, eq=False)
class C45Tree:
    """A grown and pruned tree.

    Attributes
    ----------
    nodes : Nodes
        Node 0 is the root.
    total : ndarray of float64, shape (n_nodes,)
        Weight of the training rows in each node.
    counts : ndarray of float64, shape (n_nodes, n_classes)
        The same by class.
    coding : Coding
        Of nominal values.
    """

    nodes: Nodes
    total: FloatArray
    counts: FloatArray
    coding: Coding

    @property
    def n_nodes(self) -> int:
        """Nodes, leaves included: WEKA's size of the tree."""
        return len(self.total)

    @property
    def n_leaves(self) -> int:
        """Leaves, those that no training row comes to included."""
        return int(np.count_nonzero(self.nodes.n_children == 0))

    def proba(self, X: FloatArray) -> FloatArray:
        """Class frequencies in the leaves that rows come to.

        Parameters
        ----------
        X : ndarray of float64, shape (n_samples, n_features)
            NaN is missing.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        rows = np.require(self.coding.coded(X), np.float64, ["C", "W"])
        return class_shares(self.nodes, self.total, self.counts, rows)


def learn_tree(
    X: FloatArray, y: IntArray, weights: FloatArray, coding: Coding, rules: Rules
) -> C45Tree:
    """Grow and prune a tree.

    Parameters
    ----------
    X : ndarray of float64, shape (n_samples, n_features)
        At least one row; NaN is missing.
    y : ndarray of int64, shape (n_samples,)
        Class codes 0, 1, ...
    weights : ndarray of float64, shape (n_samples,)
        Positive.
    coding
        Of nominal values.
    rules
        How.
    """
    # Kernels are compiled once more for arrays that are read-only or not contiguous.
    columns = np.require(coding.coded(X, training=True).T, np.float64, ["C", "W"])
    y, weights = np.require(y, np.int64, ["C", "W"]), np.require(weights, np.float64, ["C", "W"])
    table = Table(columns, coding.n_values, y, int(y.max()) + 1)
    order = np.argsort(columns[coding.n_values == 0], axis=1, kind="stable").astype(np.int32)
    # Features of many values gain by that alone: they don't count in the average, unless all are.
    weighed = coding.n_values < _MANY_VALUES * len(X) - TINY
    weighed |= not weighed.any()
    work, least = make_work(table), float(rules.min_objects)
    nodes, loads, items, n_nodes = grow(table, weights, order, weighed, least, work)
    alive = np.arange(len(loads.total)) < n_nodes
    collapse(nodes, loads, alive)
    if rules.prune:
        z = NormalDist().inv_cdf(1 - rules.confidence)
        confidence = float(rules.confidence)
        prune(table, nodes, loads, items, alive, confidence, z, rules.subtree_raising)
    return C45Tree(*living(nodes, loads, alive), coding)
