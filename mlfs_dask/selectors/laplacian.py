"""Laplacian score: features that vary little between neighbours, much over all rows (paper B, 1).

With S the weights of a graph on the rows, D its row sums, L = D - S, and f one column,

    score = sum over i, j of (f_i - f_j)² S_ij / sum of D_ii (f_i - u)²      equations (5) and (6)
    u = sum of f_i D_ii / sum of D_ii                                        smaller is better

Weights: exp(-|x_i - x_j|² / t) along the edges of the graph of k nearest neighbours, or, with
labels, 1 / n_c for rows of the same label set, n_c of them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mlfs_dask._typing import FloatArray, Impute, Normalize
from mlfs_dask.checks import check_choice, check_count, is_number
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.affinity import LabelAffinity
from mlfs_dask.graphs.bandwidth import median_bandwidth
from mlfs_dask.graphs.columns import Columns, make_columns
from mlfs_dask.graphs.deviations import column_scatter
from mlfs_dask.graphs.edges import edge_degrees, edge_forms, nearest_edges
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spectral import spectral_terms
from mlfs_dask.graphs.statistics import ColumnSummary, summarize_columns
from mlfs_dask.kernels.distances import Known, distance_rule
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.kernels.similarity import similarity_rule
from mlfs_dask.selectors.base import BaseSelector, labels_of


class LaplacianScore(BaseSelector):
    """Rank features by how little they vary between neighbours, beside their whole variance.

        L_r = sum over i, j of S_ij (f_ir - f_jr)² / sum over i of D_ii (f_ir - u_r)²

    with similarities S of the rows, degrees D_ii = sum over j of S_ij, and u_r the mean of the
    feature weighted by them. Smaller is better.

    Parameters
    ----------
    weights : {"heat", "supervised"}
        ``"heat"``: the graph of nearest neighbours, S_ij = exp(-|x_i - x_j|² / t); labels are not
        looked at. ``"supervised"``: S_ij = 1 / n_c for rows of the same label set, which n_c rows
        carry.
    n_neighbors : int
        k of the graph: an edge if either row is among the other's k nearest by (distance, index);
        all other rows if there are fewer.
    t : float or "median"
        Squared bandwidth of the heat kernel; ``"median"``: the median squared distance of 10,000
        seeded pairs of rows.
    normalize : {"minmax", "none"}
        Scaling for the distances. Scores do not depend on the scale of a feature.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    tile : int
        Rows per tile for input in memory.
    random_state : int or SeedSequence, optional
        Seed of the pairs of ``"median"``.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        L; infinite for constant features and for those that vary on isolated rows only.
    t_ : float or None
        t used.
    n_edges_ : int or None
        Edges of the graph of neighbours.

    Notes
    -----
    The score is 2 f'Lf / f'Df of the centred column: twice what skfeature's ``lap_score`` gives for
    the same graph. A nominal feature of more than two values is compared by equality in distances
    and counts as a group of 0/1 columns whose numerators and denominators are summed. Cost:
    O(n² d) for the neighbours (d / 64 of it on 0/1 data), O(n k d) for the scores, O(n k) numbers
    in memory; ``"supervised"``: O(n d). No array of n x n exists.

    References
    ----------
    He, Cai & Niyogi, NIPS 2005; paper B: Hu et al. 2018, equations (5) and (6).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [0.1, 1.0], [0.2, 0.0], [1.0, 1.0], [1.1, 0.0], [1.2, 1.0]])
    >>> LaplacianScore(n_neighbors=2).fit(X).order_
    array([1, 0])
    """

    def __init__(
        self,
        weights: Literal["heat", "supervised"] = "heat",
        *,
        n_neighbors: int = 5,
        t: float | Literal["median"] = 1.0,
        normalize: Normalize = "minmax",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
        random_state: Any = 0,
    ) -> None:
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.t = t
        self.normalize = normalize
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("weights", self.weights, ("heat", "supervised"))
        check_choice("normalize", self.normalize, ("minmax", "none"))
        check_count("n_neighbors", self.n_neighbors)
        t: Any = self.t
        if isinstance(t, str) and t == "median":
            return
        if not is_number(t) or not 0 < float(t) < np.inf:
            raise InputError(f't = {t!r}: expected a positive number or "median"')

    def _check_labels(self, source: Source) -> Source:
        return super()._check_labels(source) if self.weights == "supervised" else source

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        columns = make_columns(source, summary, executor)
        if self.weights == "heat":
            top, bottom = self._on_neighbors(source, columns, summary, executor)
        else:
            top, bottom = self._on_label_sets(source, columns, executor)
        bottom = columns.by_feature(bottom)
        usable = ~summary.constant & (bottom > 0)
        scores = np.full(source.n_features, np.inf)
        scores[usable] = 2.0 * columns.by_feature(top)[usable] / bottom[usable]
        self._keep_ranking(scores, summary.constant, higher_is_better=False)

    def _on_neighbors(
        self, source: Source, columns: Columns, summary: ColumnSummary, executor: Executor
    ) -> tuple[FloatArray, FloatArray]:
        """``f'Lf`` and the weighted scatter on the graph of neighbours."""
        edges = nearest_edges(source, self.n_neighbors, self.normalize, summary, executor)
        self.n_edges_: int | None = len(edges.low)
        self.t_: float | None = self._squared_bandwidth(source, summary, executor)
        # The score does not depend on a common factor: the shortest edge gets weight 1, so that
        # rows far from each other throughout do not all underflow to isolated ones.
        shortest = float(edges.square.min(initial=np.inf))
        with np.errstate(over="ignore"):  # a quotient beyond float64 is a weight of 0
            weight = np.exp(-(edges.square - shortest) / self.t_)
        degrees = edge_degrees(edges, weight, source.n_samples)
        form = edge_forms(source, columns, edges, weight, executor)
        scatter = column_scatter(source, columns, degrees, executor).scatter
        joined = np.flatnonzero(degrees)
        if len(joined) < source.n_samples:
            # What varies on isolated rows only has no variance, whatever rounding leaves of it.
            still = summarize_columns(source.take(joined), executor).constant
            scatter = np.where(still[columns.feature], 0.0, scatter)
        return form, scatter

    def _squared_bandwidth(
        self, source: Source, summary: ColumnSummary, executor: Executor
    ) -> float:
        if self.t != "median":
            return float(self.t)
        if source.n_samples < 2:
            return 1.0
        known = Known(summary.low, summary.high, summary.n_missing > 0, summary.binary)
        d = source.n_features
        rule = distance_rule(
            np.arange(d),
            np.array([d]),
            known,
            known,
            nominal=source.feature_kind == 1,
            normalize=self.normalize,
        )
        return 2.0 * median_bandwidth(source, rule, self.random_state, executor) ** 2

    def _on_label_sets(
        self, source: Source, columns: Columns, executor: Executor
    ) -> tuple[FloatArray, FloatArray]:
        """``f'Lf`` and the scatter where rows are joined by equal label sets; D is 1."""
        self.t_ = self.n_edges_ = None
        sets = find_label_sets(labels_of(source))
        affinity = LabelAffinity(sets, similarity_rule("class", sets.n_labels))
        terms = spectral_terms(source, columns, affinity, "collapsed", executor).terms
        return terms.lff, terms.scatter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.weights == "supervised"
        return tags
