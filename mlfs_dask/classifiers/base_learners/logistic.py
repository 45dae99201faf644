"""Logistic regression by maximum likelihood, with a ridge so small that it only settles ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.checks import check_count, check_positive
from mlfs_dask.classifiers.base_learners.encoding import Encoding, encode
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.classifiers.base_learners.quiet import quiet
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.kernels.logistic import compress, fit_logistic
from mlfs_dask.wording import counted

# Newton's method may hold the curvature of that many coefficients: of rows that are mostly zeros
# only a few, since conjugate gradients use the zeros.
EXACT_COEFFICIENTS, EXACT_SPARSE = 4096, 512
_FEW_CELLS = 0.1
# Largest slope of the mean loss: the goal of scikit-learn's optimizers, and what counts as reached.
_GOAL, _REACHED = 1e-12, 1e-8


class LogisticModel(LearnedModel):
    """Coefficients on encoded columns.

    Parameters
    ----------
    encoding
        Of the columns.
    coef : ndarray of float64, shape (n_outputs, n_encoded)
    intercept : ndarray of float64, shape (n_outputs,)
        One output for two classes, else one per class.
    dense
        Whether rows are made dense.
    """

    def __init__(
        self, encoding: Encoding, coef: FloatArray, intercept: FloatArray, *, dense: bool
    ) -> None:
        self._encoding = encoding
        self._dense = dense
        self.coef, self.intercept = coef, intercept

    def proba(self, X: Block) -> FloatArray:
        """Probabilities; see the base class."""
        rows = self._encoding.dense(X) if self._dense else self._encoding.sparse(X)
        return _probabilities(rows, self)


@dataclass(frozen=True)
class Logistic(BaseLearner):
    """Logistic regression; more than two classes by one softmax.

    Minimises the negative log-likelihood plus ``ridge`` times the sum of the squared coefficients
    of standardised columns, the intercept free (WEKA's Logistic). Nominal features of more than two
    values become a column per value. On data that are not separable the ridge is without effect; on
    separable data it alone keeps coefficients finite, and probabilities are next to 0 and 1.

    Parameters
    ----------
    ridge
        Above 0.
    max_iter
        Steps of the optimizer, after which coefficients are taken as they are.

    Notes
    -----
    Newton's method. Up to 4096 coefficients (512 where at least nine tenths of the cells are 0) its
    steps are solved for exactly, O(n c²) for c coefficients; with more, rows of mostly zeros take
    conjugate gradients, O(nnz) per product, and others L-BFGS. All look for the same optimum, which
    the ridge makes unique; a model that did not get there says so in a note.

    References
    ----------
    S. le Cessie, J. C. van Houwelingen: Ridge estimators in logistic regression. Applied Statistics
    41 (1992) 191-201.
    """

    name: ClassVar[str] = "logistic"
    takes_sparse: ClassVar[bool] = True

    ridge: float = 1e-8
    max_iter: int = 500

    def check(self) -> None:
        """Refuse a ridge of 0 and fits without a step."""
        check_positive("ridge", self.ridge)
        check_count("max_iter", self.max_iter)

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> LogisticModel:
        """Fit; see the base class. Nothing is drawn."""
        n_outputs = int(y.max()) + 1 if y.max() > 1 else 1
        n_coefficients = X.shape[1] * n_outputs
        few = _few_cells(X)
        if n_coefficients > (EXACT_SPARSE if few else EXACT_COEFFICIENTS):
            return self._by_scikit_learn(X, kind, y, "newton-cg" if few else "lbfgs")
        if n_outputs == 1:
            return self._by_newton(X, kind, y)
        model = self._by_scikit_learn(X, kind, y, "newton-cholesky")
        # That solver gives up where curvature is next to singular.
        return self._by_scikit_learn(X, kind, y, "newton-cg") if model.notes else model

    def _by_newton(self, X: Block, kind: ByteArray, y: IntArray) -> LogisticModel:
        """Two classes, with the kernel of IBLR."""
        given = _in_form(X, dense=True)
        encoding = encode(given, kind, "standard")
        rows, basis = encoding.dense(given), None
        if rows.shape[1] > len(rows):
            rows, basis = compress(rows)
        blocks = [np.hstack([np.ones((len(rows), 1)), rows])]
        fitted = fit_logistic(lambda: blocks, y.astype(np.uint8), self.ridge, self.max_iter)
        slopes = fitted.weights[1:] if basis is None else basis @ fitted.weights[1:]
        model = LogisticModel(encoding, slopes[None], fitted.weights[:1], dense=True)
        model.notes = () if fitted.converged else self._early()
        return model

    def _by_scikit_learn(
        self, X: Block, kind: ByteArray, y: IntArray, solver: str
    ) -> LogisticModel:
        dense = solver != "newton-cg"
        given = _in_form(X, dense=dense)
        encoding = encode(given, kind, "standard")
        rows = encoding.dense(given) if dense else encoding.sparse(given)
        regression = LogisticRegression(
            C=1 / (2 * self.ridge), solver=solver, tol=_GOAL, max_iter=self.max_iter
        )
        with quiet():
            regression.fit(rows, y)
        model = LogisticModel(encoding, regression.coef_, regression.intercept_, dense=dense)
        if _slope(model, rows, y, self.ridge) > _REACHED:
            model.notes = self._early()
        return model

    def _early(self) -> tuple[str]:
        return (f"logistic: the likelihood still rose after {counted(self.max_iter, 'step')}",)


def _few_cells(X: Block) -> bool:
    cells = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    return bool(cells < _FEW_CELLS * X.shape[0] * X.shape[1])


def _in_form(X: Block, *, dense: bool) -> Block:
    """Rows of either kind as one kind, so that results don't depend on how they came."""
    if dense:
        return X.toarray() if sp.issparse(X) else X
    return sp.csr_matrix(X)


def _probabilities(rows: Block, model: LogisticModel) -> FloatArray:
    scores = rows @ model.coef.T + model.intercept
    if scores.shape[1] == 1:
        return np.hstack([expit(-scores), expit(scores)])
    proba: FloatArray = softmax(scores, axis=1)
    return proba


def _slope(model: LogisticModel, rows: Block, y: IntArray, ridge: float) -> float:
    """Largest derivative of the mean loss by a coefficient."""
    proba = _probabilities(rows, model)
    apart = proba - (np.arange(proba.shape[1]) == y[:, None])
    wrong: AnyArray = apart[:, 1:] if len(model.coef) == 1 else apart
    slopes = (rows.T @ wrong + 2 * ridge * model.coef.T) / len(y)
    return float(max(np.abs(slopes).max(), np.abs(wrong.mean(axis=0)).max()))
