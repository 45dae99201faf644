"""wrapper-SPEC: spectral selection for each two-class problem (paper A: Yan & Li 2016)."""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Impute
from mlfs_dask.checks import check_choice
from mlfs_dask.graphs.columns import make_columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.problem_scatter import label_terms, pair_constants, pair_terms
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.hitmiss import rows_apart
from mlfs_dask.selectors.base import labels_of
from mlfs_dask.selectors.problems import Order, Problems, ProblemSelector


class SPECWrapper(ProblemSelector):
    """Rank features by SPEC for each label, or each pair of labels, on its own.

    Rows of the same class are as similar as their class is small, S_ij = 1 / n_c, rows of different
    classes not at all. All degrees are 1 then, and SPEC needs no pair of rows:

        φ1 = 1 - [sum over classes of (sum of f)² / n_c] / sum of f²        smaller is better
        φ2 = scatter inside the classes / scatter of all rows               smaller is better

    Parameters
    ----------
    order : {"auto", 1, 2}
        1: label l against the rest, on all rows. 2: label a against label b, on the rows with
        exactly one of the two. ``"auto"`` is 1, in a job what its classifiers need.
    phi : {1, 2}
        Scoring function. Scores use the values as given, without scaling or centring.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that each problem keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    problems_ : tuple of tuple of int
        Label indices of each problem.
    scores_ : ndarray of float64, shape (n_problems, n_features)
        φ of each feature; the worst value for features that are constant on the problem's rows, and
        for all features where one of the two classes is empty.
    order_, ranking_ : ndarray of int64, shape (n_problems, n_features)
    support_ : ndarray of bool, shape (n_problems, n_features)

    Notes
    -----
    Order 1 takes O(nnz q): one pass that sums each feature per label. Order 2 takes one pass that
    sums per label set; a class of a pair is a union of label sets, so the q (q - 1) / 2 pairs cost
    no pass of their own. Where a difference of sums loses digits, the column is summed once more
    from terms that are not negative. A nominal feature of more than two values counts as a group of
    0/1 columns.

    References
    ----------
    Paper A: Yan & Li 2016, equations (4) and (5), figures 4 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> X = np.array([[1.0, 0.2], [1.0, 0.9], [0.0, 0.4], [0.0, 0.8]])
    >>> fitted = SPECWrapper(phi=2).fit(X, Y)
    >>> fitted.problems_, fitted.order_.tolist()
    (((0,), (1,)), [[0, 1], [1, 0]])
    >>> fitted.scores_.round(3).tolist()
    [[0.0, 0.992], [0.667, 0.427]]
    """

    def __init__(
        self,
        order: Order = "auto",
        *,
        phi: int = 1,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.order = order
        self.phi = phi
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        self._check_order()
        check_choice("phi", self.phi, (1, 2))

    def _score(
        self, source: Source, summary: ColumnSummary, problems: Problems, executor: Executor
    ) -> tuple[FloatArray, BoolArray]:
        self.higher_is_better_ = False
        Y = labels_of(source)
        columns = make_columns(source, summary, executor)
        if len(problems[0]) == 1:
            terms = label_terms(source, summary, columns, Y, executor)
            has = Y.sum(axis=0, dtype=np.int64)
            apart = np.stack([has, len(Y) - has], axis=1)
            constant = np.broadcast_to(summary.constant, (len(problems), source.n_features))
        else:
            terms = pair_terms(source, summary, columns, Y, executor)
            counts = rows_apart(Y)
            apart = np.array([[counts[a, b], counts[b, a]] for a, b in problems])
            constant = pair_constants(source, Y, executor)
        bottom = terms.square if self.phi == 1 else terms.scatter
        scores = np.full(constant.shape, np.inf)
        for p in np.flatnonzero(apart.all(axis=1)):
            above, below = columns.by_feature(terms.within[p]), columns.by_feature(bottom[p])
            usable = ~constant[p] & (below > 0)
            scores[p, usable] = above[usable] / below[usable]
        return scores, constant
