"""wrapper-Relief: Relief for each two-class problem (paper A: Yan & Li 2016)."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Impute, Normalize
from mlfs_dask.checks import check_choice, check_count
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.problem_scatter import pair_constants
from mlfs_dask.graphs.relief import label_weights, pair_weights
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import NOMINAL, ColumnSummary, summarize_columns
from mlfs_dask.selectors.base import labels_of
from mlfs_dask.selectors.problems import Order, Problems, ProblemSelector


class ReliefWrapper(ProblemSelector):
    """Rank features by Relief for each label, or each pair of labels, on its own.

    A feature is good if it differs between near rows of different classes and not between near rows
    of the same class. For each of the m rows of a problem, its k nearest rows of the same class
    (hits) and of the other class (misses) count, the row itself left out:

        W_r = 1/m sum over i of (mean over misses |x_ir - x_jr| - mean over hits |x_ir - x_jr|)

    Larger is better. Neighbours are exact, by Euclidean distance, then by index.

    Parameters
    ----------
    n_neighbors : int
        k >= 1, hits and misses of each row; all, where a class has fewer. 1 is Relief, more is
        ReliefF.
    order : {"auto", 1, 2}
        1: label l against the rest, on all rows. 2: label a against label b, on the rows with
        exactly one of the two. ``"auto"`` is 1, in a job what its classifiers need.
    normalize : {"minmax", "none"}
        Scaling of the features by their range over the rows of the problem, for distances and
        differences.
    impute : {"none", "mean"}
        ``"none"``: a missing value is as far away as the other side allows, a missing nominal one
        differs from everything. ``"mean"`` replaces missing values by mean or mode first.
    n_features_to_select : int or float, optional
        Number or share of features that each problem keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    problems_ : tuple of tuple of int
        Label indices of each problem.
    scores_ : ndarray of float64, shape (n_problems, n_features)
        W; weights below 1e-12 are 0, as are all where one of the two classes is empty.
    order_, ranking_ : ndarray of int64, shape (n_problems, n_features)
    support_ : ndarray of bool, shape (n_problems, n_features)
    road_ : str
        ``"popcount"`` for 0/1 data, ``"meetings"`` for 0/1 rows of many features, ``"postings"``
        for other sparse rows, else ``"dense"``.
    pair_share_ : float
        Pairs of rows looked at one by one, as a share of all n²: in sparse rows of many features
        those that share one, else all; more where problems or their sums take several passes.

    Notes
    -----
    O(n² d) for the distances, which all labels share; each row adds 2 k d per label. Pairs of
    labels share them too where the features are 0/1 or nominal; else each pair has ranges, and
    distances, of its own, together about n² d times the sum of squared shares of rows. Rows are
    compared block by block; no more than blocks of distances are in memory.

    Weights equal fast-select's on 0/1 features, on a single feature, and where all rows are
    neighbours. Elsewhere it takes Manhattan distances, and features of at most ten values for
    nominal. So does skrebate, which besides orders equally near rows as its sort happens to (on 0/1
    features the only difference: the third digit), counts a row among its own hits where its class
    has no more than k rows, leaves missing values out, and in data of both kinds weighs nominal
    features by d over their number and counts differences beyond a standard deviation 1. With just
    these switched, plain ReliefF gives their numbers, skrebate's to 1e-9.

    References
    ----------
    Paper A: Yan & Li 2016; I. Kononenko: Estimating attributes: analysis and extensions of RELIEF.
    ECML 1994; D. Kong et al.: Multi-label ReliefF and F-statistic feature selections for image
    annotation. CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> X = np.array([[1.0, 0.2], [0.9, 0.9], [0.0, 0.2], [0.1, 1.2]])
    >>> ReliefWrapper().fit(X, Y).scores_.round(3).tolist()
    [[0.8, -0.7]]
    """

    _missing_is_native = True

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        order: Order = "auto",
        normalize: Normalize = "minmax",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.order = order
        self.normalize = normalize
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        self._check_order()
        check_count("n_neighbors", self.n_neighbors)
        check_choice("normalize", self.normalize, ("minmax", "none"))

    def _score(
        self, source: Source, summary: ColumnSummary, problems: Problems, executor: Executor
    ) -> tuple[FloatArray, BoolArray]:
        self.higher_is_better_ = True
        Y, given = labels_of(source), (self.n_neighbors, self.normalize, executor)
        if len(problems[0]) == 1:
            found = label_weights(source, summary, *given)
            self.road_, self.pair_share_ = found.road, found.pair_share
            return found.weights, np.broadcast_to(summary.constant, found.weights.shape)
        if self._share_distances(source, summary):
            found = pair_weights(source, summary, *given)
            self.road_, self.pair_share_ = found.road, found.pair_share
            return found.weights, pair_constants(source, Y, executor)
        weights = np.zeros((len(problems), source.n_features))
        constant = np.ones(weights.shape, dtype=bool)
        self.road_, looks = "dense", 0.0
        for p, (a, b) in enumerate(problems):
            rows = np.flatnonzero(Y[:, a] != Y[:, b])
            if len(rows) == 0:
                continue
            # Its tiles are those of all rows, so sums are the same as if the others were passed by.
            part = source.take(rows).with_labels(np.ascontiguousarray(Y[rows][:, [a]]))
            about = summarize_columns(part, executor)
            found = label_weights(part, about, *given)
            weights[p], constant[p], self.road_ = found.weights[0], about.constant, found.road
            looks += found.pair_share * len(rows) ** 2
        self.pair_share_ = looks / source.n_samples**2
        return weights, constant

    def _share_distances(self, source: Source, summary: ColumnSummary) -> bool:
        """Whether the rows of every problem are compared alike: no range matters."""
        if summary.n_missing.any():
            return False
        free = (source.feature_kind == NOMINAL) | summary.binary
        return self.normalize == "none" or bool(free.all())
