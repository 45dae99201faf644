"""MDDM: dependence between features and labels, as a ranking (Zhang & Zhou 2010; paper B).

Columns of X and Y are centred, G = X_c' Y_c. The projections P of greatest dependence maximise
tr(P' G G' P) under a constraint of orthogonality, and a feature scores by its part in them,

    score_j = sum over t of λ_t P_jt²

    proj   P'P = I                            score_j = sum over labels of G_jl²
    spc    P' (μ X_c'X_c + (1 - μ) I) P = I   score_j = sum over labels of (B^(-1) G)_jl²

with B = μ X_c'X_c + (1 - μ) I. Neither G G' nor B is ever made: B^(-1) G is a solution of equations
by conjugate gradients, whose products with B are two products with X.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mlfs_dask._typing import FloatArray, Impute, Normalize
from mlfs_dask.checks import check_choice, is_number
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.columns import Columns, make_columns
from mlfs_dask.graphs.crossproducts import centred_columns, gram_product
from mlfs_dask.graphs.deviations import column_scatter, divisors
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.label_sums import label_sums
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.kernels.conjugate import Product, solve
from mlfs_dask.kernels.label_sums import uneven
from mlfs_dask.selectors.base import BaseSelector, labels_of


class MDDM(BaseSelector):
    """Rank features by their part in the projections that depend most on the labels.

    With G = X_c'Y_c, the products of centred features and labels, projections P maximize the trace
    of P' G G' P, the dependence on the labels. A feature scores its share of them:

        score_j = sum over t of λ_t P_jt²        of all eigenvalues λ_t and eigenvectors P_t

        proj    P'P = I                          it equals  sum over labels l of G_jl²
        spc     P' B P = I                       it equals  sum over labels l of (B^(-1) G)_jl²
                B = μ X_c'X_c + (1 - μ) I

    Larger is better.

    Parameters
    ----------
    constraint : {"spc", "proj"}
        What makes projections orthogonal: ``"proj"`` their directions, P'P = I; ``"spc"`` (MDDMspc)
        the projected features as well, P' (μ X_c'X_c + (1 - μ) I) P = I.
    mu : float
        μ of ``"spc"``, at least 0 and below 1.
    ranking : {"score", "eigorder"}
        ``"score"``: by ``scores_``. ``"eigorder"`` is historical: the permutation that sorts the
        eigenvalues, as scripts of other authors' comparisons took it for a ranking. It says nothing
        about features and ranks at random.
    normalize : {"minmax", "none"}
        Scaling of the features before they are centred.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default all.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        0 for constant features. With ``"eigorder"`` the eigenvalue at the feature's position.
    n_solver_steps_ : int
        Products with B; 0 for ``"proj"``.

    Notes
    -----
    No eigenproblem is solved but for ``"eigorder"``. A nominal feature of more than two values
    counts as a group of 0/1 columns whose scores are summed. Cost: O(nnz q) for ``"proj"`` (n d q
    if X is dense), the same for each of some ten to some hundred steps of ``"spc"``; memory
    O(d q), nothing is d x d or n x n.

    References
    ----------
    Zhang & Zhou, ACM TKDD 4(3), 2010; as selectors in paper B: Hu et al. 2018.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    >>> X = np.array([[3.0, 1.0, 2.0], [4.0, 0.0, 1.0], [0.0, 1.0, 3.0], [1.0, 0.0, 0.0]])
    >>> MDDM("proj").fit(X, Y).order_
    array([1, 0, 2])
    """

    def __init__(
        self,
        constraint: Literal["spc", "proj"] = "spc",
        *,
        mu: float = 0.5,
        ranking: Literal["score", "eigorder"] = "score",
        normalize: Normalize = "minmax",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.constraint = constraint
        self.mu = mu
        self.ranking = ranking
        self.normalize = normalize
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("constraint", self.constraint, ("spc", "proj"))
        check_choice("ranking", self.ranking, ("score", "eigorder"))
        check_choice("normalize", self.normalize, ("minmax", "none"))
        mu: Any = self.mu
        if not is_number(mu) or not 0.0 <= float(mu) < 1.0:
            raise InputError(f"mu = {mu!r}: expected a number of at least 0 and below 1")

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        columns = make_columns(source, summary, executor)
        divisor = divisors(columns, self.normalize)
        Y, n = labels_of(source), source.n_samples
        # X_c'Y_c = X'Y - (sums of X) (shares of the labels): no mean is needed, and no digit lost.
        sums = label_sums(source, columns, summary, Y, executor)
        with np.errstate(over="ignore"):
            G = uneven(sums, Y.sum(axis=0, dtype=np.int64), n).T / n / divisor[:, None]
        self.n_solver_steps_ = 0
        if self.constraint == "proj":
            _check_size(G, np.ones(len(G)), columns)
            Z = G
        else:
            mean, scatter = column_scatter(source, columns, np.ones(n), executor)
            with np.errstate(over="ignore"):
                diagonal = self.mu * (scatter / divisor / divisor) + (1.0 - self.mu)
            _check_size(G, diagonal, columns)
            centred = centred_columns(source, columns, summary, mean)
            gram = gram_product(source, centred, executor)
            G = _independent(G)
            Z = self._solve(gram, divisor, diagonal, G)
        self._rank(columns.by_feature(np.einsum("jt,jt->j", Z, Z)), G, Z, summary)

    def _solve(
        self, gram: Product, divisor: FloatArray, diagonal: FloatArray, G: FloatArray
    ) -> FloatArray:
        """B^(-1) G for normalized columns."""
        if G.shape[1] == 0:
            return G
        # Scaled by B's diagonal where features differ in scale; of min-max scaled ones it would
        # raise the rare ones and take more steps.
        by = np.ones(len(G)) if self.normalize == "minmax" else np.sqrt(diagonal)
        inner = (by * divisor)[:, None]
        loose = ((1.0 - self.mu) / by / by)[:, None]

        def multiply(P: FloatArray) -> FloatArray:
            return self.mu * (gram(P / inner) / inner) + loose * P

        name = f"mddm with mu = {self.mu}"
        Z, self.n_solver_steps_ = solve(multiply, G / by[:, None], name)
        return Z / by[:, None]

    def _rank(
        self, scores: FloatArray, G: FloatArray, Z: FloatArray, summary: ColumnSummary
    ) -> None:
        kept = np.where(summary.constant, 0.0, scores)
        if self.ranking == "eigorder":
            with single_blas_thread():
                projected = G.T @ Z
            kept = _eigenvalues(projected, len(scores))
        self._keep_ranking(kept, summary.constant, higher_is_better=True)


def _check_size(G: FloatArray, diagonal: FloatArray, columns: Columns) -> None:
    fits = np.isfinite(diagonal) & np.isfinite(np.einsum("jl,jl->j", G, G))
    if not fits.all():
        j = int(columns.feature[np.flatnonzero(~fits)[0]])
        raise InputError(
            f"mddm: squares of feature {j} are too large for float64",
            hint='Use normalize = "minmax".',
            feature=j,
        )


def _independent(G: FloatArray) -> FloatArray:
    """Columns with the same squared row norms, as many as the rank of G."""
    with single_blas_thread():
        U, sizes, _ = np.linalg.svd(G, full_matrices=False)
    noise = np.finfo(np.float64).eps * max(G.shape)
    kept = sizes > noise * max(float(sizes.max(initial=0.0)), 1e-300)
    return np.ascontiguousarray(U[:, kept] * sizes[kept])


def _eigenvalues(projected: FloatArray, n_features: int) -> FloatArray:
    """Eigenvalues in the order of a symmetric solver, ascending; the rest is 0."""
    with single_blas_thread():
        found = np.linalg.eigvalsh((projected + projected.T) / 2.0)
    found = found[found > 1e-12 * max(float(found.max(initial=0.0)), 1e-300)][-n_features:]
    return np.concatenate([np.zeros(n_features - len(found)), found])
