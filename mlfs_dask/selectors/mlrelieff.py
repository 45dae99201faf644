"""ReliefF for whole multi-label data (Kong et al. 2012; Reyes et al. 2015)."""

from __future__ import annotations

from typing import Literal

from mlfs_dask._typing import Impute, Normalize
from mlfs_dask.checks import check_choice, check_count
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.relief import joined_weights, set_weights
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.selectors.base import BaseSelector


class MLReliefF(BaseSelector):
    """Rank features by ReliefF over all pairs of labels, or over label sets.

    ``labels = "pairs"``: for each row i and each ordered pair of a label a that it has and a label
    b that it lacks, H are the k nearest other rows with a and without b, M the k nearest rows with
    b and without a:

        W_r    = mean over i of sum over (a, b) of w (m_r(M) - m_r(H))
        m_r(S) = mean over j in S of |x_ir - x_jr|
        w      = n_b / sum of n_b' over the labels b' that row i lacks

    where n_b rows have label b. A pair without M is passed over, a pair without H has no hit term,
    and the mean runs over the rows that had a pair. Larger is better.

    ``labels = "sets"``: ReliefF with the distinct label sets as classes; the k nearest misses of
    each other class c weigh P(c) / (1 - P(class of i)).

    Parameters
    ----------
    n_neighbors : int
        k >= 1; all, where there are fewer.
    labels : {"pairs", "sets"}
        What tells hits from misses.
    normalize : {"minmax", "none"}
        Scaling of the features, for distances and differences.
    impute : {"none", "mean"}
        ``"none"``: a missing value is as far away as the other side allows, a missing nominal one
        differs from everything. ``"mean"`` replaces missing values by mean or mode first.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        W; weights below 1e-12 are 0.
    road_ : str
        ``"popcount"`` for 0/1 data, ``"meetings"`` for 0/1 rows of many features, ``"postings"``
        for other sparse rows, else ``"dense"``.
    pair_share_ : float
        Pairs of rows looked at one by one, as a share of all n²: in sparse rows of many features
        those that share one, else all; 0/1 rows that are far from others are looked at twice.

    Notes
    -----
    One pass over the pairs of rows, O(n² d), serves all lists of neighbours. Each row looks through
    its distances once per list, 64 rows at a time, passing over rows that lack label b: |Y_i|
    (q - |Y_i|) pairs of lists; label sets together hold each row once.

    References
    ----------
    D. Kong et al.: Multi-label ReliefF and F-statistic feature selections for image annotation.
    CVPR 2012; O. Reyes, C. Morell, S. Ventura: Scalable extensions of the ReliefF algorithm for
    weighting and selecting features on the multi-label learning context. Neurocomputing 161 (2015).

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> X = np.array([[1.0, 0.2], [0.9, 0.9], [0.0, 0.2], [0.1, 1.2]])
    >>> MLReliefF(n_neighbors=1).fit(X, Y).scores_.round(3).tolist()
    [0.8, -0.7]
    """

    _missing_is_native = True

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        labels: Literal["pairs", "sets"] = "pairs",
        normalize: Normalize = "minmax",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.labels = labels
        self.normalize = normalize
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        check_count("n_neighbors", self.n_neighbors)
        check_choice("labels", self.labels, ("pairs", "sets"))
        check_choice("normalize", self.normalize, ("minmax", "none"))

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        weigh = joined_weights if self.labels == "pairs" else set_weights
        found = weigh(source, summary, self.n_neighbors, self.normalize, executor)
        self.road_, self.pair_share_ = found.road, found.pair_share
        self._keep_ranking(found.weights[0], summary.constant, higher_is_better=True)
