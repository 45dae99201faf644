"""SPEC: spectral feature selection with similarities of labels (paper A: Yan & Li 2016).

A feature is good if rows that are similar have similar values: with W the similarity matrix, D its
row sums, L = D - W, and f one column,

    φ1 = f'Lf / f'Df                       equation (4); smaller is better
    φ2 = f'Lf / sum of D_ii (f_i - u)²     without the trivial eigenvector; smaller is better
    φ3 = sum of (2 - λ_j) α_j²             over the leading eigenvectors; larger is better

Similarities: Jaccard of label sets (equation (8)), RBF on labels (7), RBF on features (6), same
label set (5).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Impute, Normalize
from mlfs_dask.checks import check_choice, check_count, is_number
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.affinity import Affinity, FeatureAffinity, LabelAffinity
from mlfs_dask.graphs.bandwidth import label_bandwidth, median_bandwidth
from mlfs_dask.graphs.columns import make_columns, many_valued
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.plan import RoadPlan, plan_road
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.spectral import spectral_terms
from mlfs_dask.graphs.spectrum import leading_sums
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.distances import DistanceRule, Known, distance_rule
from mlfs_dask.kernels.labelsets import LabelSets, find_label_sets
from mlfs_dask.kernels.similarity import similarity_rule
from mlfs_dask.selectors.base import BaseSelector, labels_of

_SIMILARITIES = ("jaccard", "rbf-labels", "rbf-features", "class")

# Their squares, and one over them, are in the range of float64.
_BANDWIDTHS: Final = (1e-150, 1e150)


class SPEC(BaseSelector):
    """Rank features by how smooth they are on a graph of similar rows.

    With similarities S, degrees D = diag(S 1), normalized Laplacian L = I - D^-1/2 S D^-1/2 with
    eigenpairs (λ_j, ξ_j), and f^ = D^1/2 f / ||D^1/2 f||,

        φ1 = f^' L f^                                  smaller is better
        φ2 = φ1 / (1 - (f^' ξ_1)²)                     smaller is better
        φ3 = sum over j > 1 of (2 - λ_j) (f^' ξ_j)²    larger is better

    Parameters
    ----------
    similarity : {"jaccard", "rbf-labels", "rbf-features", "class"}
        Similarity of rows: Jaccard of their label sets, RBF on label vectors, RBF on features, or
        equal label sets.
    phi : {1, 2, 3}
        Scoring function.
    n_components : int, optional
        Eigenvectors of φ3, default the number of labels.
    bandwidth : float or "median", optional
        δ of the RBF similarities. Default 1 on labels, ``"median"`` on features: δ² is half the
        median squared distance of 10,000 seeded pairs of rows.
    empty_pair : {1, 0}
        Jaccard similarity of two rows without labels.
    normalize : {"minmax", "none"}
        Scaling for the distances of ``"rbf-features"``. Scores use the values as given.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    road : {"auto", "collapsed", "pairs"}
        How the sums are made; all give the same scores.
    tile : int
        Rows per tile for input in memory.
    random_state : int or SeedSequence, optional
        Seed of the pairs of ``"median"``.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        φ of each feature; the worst value for constant ones.
    bandwidth_ : float or None
        δ used.
    n_components_ : int or None
        Eigenvectors used by φ3; a cluster of equal eigenvalues is never cut.
    n_label_sets_ : int
        Distinct label sets.
    road_ : str
    plan_ : RoadPlan

    Notes
    -----
    A nominal feature of more than two values counts as a group of 0/1 columns whose numerators and
    denominators are summed. Where f'Lf is tiny beside its parts it is computed again as a sum of
    non-negative terms.

    Cost: similarities of labels alone are those of their u distinct label sets, so features are
    summed per set: O(nnz + u² d) instead of O(n² d). ``"rbf-features"`` takes all pairs of rows, in
    tiles. φ3 adds an eigenproblem of u x u.

    References
    ----------
    Paper A: Yan & Li 2016, equations (4) to (8) and Algorithm 1; Zhao & Liu, ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 0]])
    >>> X = np.array([[1.0, 0.2], [1.0, 0.9], [0.0, 0.4], [0.0, 0.7]])
    >>> SPEC().fit(X, Y).scores_.round(6)
    array([0.090909, 0.159375])
    """

    def __init__(  # noqa: PLR0913  the method's parameters, all but one by keyword
        self,
        similarity: Literal["jaccard", "rbf-labels", "rbf-features", "class"] = "jaccard",
        *,
        phi: int = 1,
        n_components: int | None = None,
        bandwidth: float | Literal["median"] | None = None,
        empty_pair: int = 1,
        normalize: Normalize = "minmax",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        road: Literal["auto", "collapsed", "pairs"] = "auto",
        tile: int = 4096,
        random_state: Any = 0,
    ) -> None:
        self.similarity = similarity
        self.phi = phi
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.empty_pair = empty_pair
        self.normalize = normalize
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.road = road
        self.tile = tile
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("similarity", self.similarity, _SIMILARITIES)
        check_choice("phi", self.phi, (1, 2, 3))
        check_choice("empty_pair", self.empty_pair, (1, 0))
        check_choice("normalize", self.normalize, ("minmax", "none"))
        check_choice("road", self.road, ("auto", "collapsed", "pairs"))
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        if self.similarity == "rbf-features" and self.road == "collapsed":
            raise InputError(
                'road = "collapsed": similarity "rbf-features" depends on more than labels',
                hint='Use road = "pairs" or "auto".',
            )
        self._check_bandwidth()

    def _check_bandwidth(self) -> None:
        b: Any = self.bandwidth
        if b is None or (isinstance(b, str) and b == "median"):
            return
        least, most = _BANDWIDTHS
        if not is_number(b) or not least <= float(b) <= most:
            raise InputError(
                f'bandwidth = {b!r}: expected "median" or a number from {least} to {most}'
            )

    def plan(self, source: Source, *, n_cells: float | None = None) -> RoadPlan:
        """The road `fit` will take, from sizes and labels alone.

        Parameters
        ----------
        source
            Rows with labels.
        n_cells
            Stored values of X; default: all cells, a twentieth of them for CSR.
        """
        return self._plan(source, find_label_sets(labels_of(source)), n_cells)

    def _plan(self, source: Source, sets: LabelSets, n_cells: float | None) -> RoadPlan:
        by_features = self.similarity == "rbf-features"
        return plan_road(
            source,
            n_cells=n_cells,
            allowed=("pairs",) if by_features else ("collapsed", "pairs"),
            wanted=self.road,
            sets=sets,
            by_features=by_features,
        )

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        sets = find_label_sets(labels_of(source))
        self.plan_ = self._plan(source, sets, summary.n_cells)
        self.road_ = self.plan_.road
        columns = make_columns(source, summary, executor)
        affinity = self._affinity(source, summary, sets, executor)
        spectral = spectral_terms(source, columns, affinity, self.road_, executor)
        terms = spectral.terms
        dff, scatter = columns.by_feature(terms.dff), columns.by_feature(terms.scatter)
        self.n_components_ = None
        if self.phi == 3:
            wanted = self.n_components or labels_of(source).shape[1]
            sums, self.n_components_ = leading_sums(
                source, columns, affinity, spectral, wanted, executor
            )
            top, bottom = columns.by_feature(sums), dff
        else:
            top = columns.by_feature(terms.lff)
            bottom = dff if self.phi == 1 else scatter
        higher = self.phi == 3
        scores = _quotients(top, bottom, summary.constant, -np.inf if higher else np.inf)
        self._keep_ranking(scores, summary.constant, higher_is_better=higher)

    def _affinity(
        self, source: Source, summary: ColumnSummary, sets: LabelSets, executor: Executor
    ) -> Affinity:
        self.n_label_sets_ = sets.n_sets
        self.bandwidth_: float | None = None
        if self.similarity == "rbf-features":
            rule = _distances(source, summary, self.normalize)
            given = "median" if self.bandwidth is None else self.bandwidth
            self.bandwidth_ = (
                median_bandwidth(source, rule, self.random_state, executor)
                if given == "median"
                else float(given)
            )
            return FeatureAffinity(rule, 1.0 / (2.0 * self.bandwidth_**2))
        if self.similarity == "rbf-labels":
            given = 1.0 if self.bandwidth is None else self.bandwidth
            self.bandwidth_ = (
                label_bandwidth(labels_of(source), self.random_state)
                if given == "median"
                else float(given)
            )
        return LabelAffinity(
            sets,
            similarity_rule(
                self.similarity,
                sets.n_labels,
                bandwidth=self.bandwidth_ or 1.0,
                empty_pair=self.empty_pair,
            ),
        )


def _distances(source: Source, summary: ColumnSummary, normalize: Normalize) -> DistanceRule:
    known = Known(summary.low, summary.high, summary.n_missing > 0, summary.binary)
    d = source.n_features
    return distance_rule(
        np.arange(d),
        np.array([d]),
        known,
        known,
        nominal=many_valued(source, summary),
        normalize=normalize,
    )


def _quotients(
    top: FloatArray, bottom: FloatArray, constant: BoolArray, worst: float
) -> FloatArray:
    usable = ~constant & (bottom > 0)
    scores = np.full(len(top), worst)
    scores[usable] = top[usable] / bottom[usable]
    return scores
