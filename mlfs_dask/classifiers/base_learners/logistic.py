"""Logistic regression by maximum likelihood, with a ridge so small that it only settles ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.classifiers.base_learners.encoding import Encoding, encode
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.classifiers.base_learners.quiet import quiet
from mlfs_dask.classifiers.checks import check_positive, check_whole
from mlfs_dask.graphs.inputs import Block

Solver: TypeAlias = Literal["newton-cholesky", "newton-cg", "lbfgs"]

# Newton's method may hold the curvature of that many coefficients: of rows that are mostly zeros
# only a few, since conjugate gradients use the zeros.
EXACT_COEFFICIENTS, EXACT_SPARSE = 4096, 512
_FEW_CELLS = 0.1
# Largest slope of the mean loss: the optimizer's goal, and what counts as having reached it.
_GOAL, _REACHED = 1e-12, 1e-8


class LogisticModel(LearnedModel):
    """Coefficients on encoded columns.

    Parameters
    ----------
    encoding
        Of the columns.
    fitted
        Fitted by scikit-learn.
    dense
        Whether rows are made dense.
    """

    def __init__(self, encoding: Encoding, fitted: LogisticRegression, *, dense: bool) -> None:
        self._encoding = encoding
        self._dense = dense
        self.coef = np.asarray(fitted.coef_, dtype=np.float64)
        self.intercept = np.asarray(fitted.intercept_, dtype=np.float64)

    def proba(self, X: Block) -> FloatArray:
        """Probabilities; see the base class."""
        return _probabilities(_rows(self._encoding, X, dense=self._dense), self)


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
        check_whole("max_iter", self.max_iter, 1)

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> LogisticModel:
        """Fit; see the base class. Nothing is drawn."""
        n_outputs = int(y.max()) + 1 if y.max() > 1 else 1
        solver = _solver(X, X.shape[1] * n_outputs)
        model = self._fit(X, kind, y, solver)
        if model.notes and solver == "newton-cholesky":
            # It gave up on curvature that is next to singular.
            model = self._fit(X, kind, y, "newton-cg")
        return model

    def _fit(self, X: Block, kind: ByteArray, y: IntArray, solver: Solver) -> LogisticModel:
        dense = solver != "newton-cg"
        given = _in_form(X, dense=dense)
        encoding = encode(given, kind, "standard")
        rows = _rows(encoding, given, dense=dense)
        regression = LogisticRegression(
            C=1 / (2 * self.ridge), solver=solver, tol=_GOAL, max_iter=self.max_iter
        )
        with quiet():
            regression.fit(rows, y)
        model = LogisticModel(encoding, regression, dense=dense)
        if _slope(model, rows, y, self.ridge) > _REACHED:
            model.notes = (f"logistic: the likelihood still rose after {self.max_iter} steps",)
        return model


def _solver(X: Block, n_coefficients: int) -> Solver:
    if n_coefficients <= EXACT_SPARSE:
        return "newton-cholesky"
    cells = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
    if cells < _FEW_CELLS * X.shape[0] * X.shape[1]:
        return "newton-cg"
    return "newton-cholesky" if n_coefficients <= EXACT_COEFFICIENTS else "lbfgs"


def _in_form(X: Block, *, dense: bool) -> Block:
    """Rows of either kind as one kind, so that results don't depend on how they came."""
    if dense:
        return X.toarray() if sp.issparse(X) else X
    return sp.csr_matrix(X)


def _rows(encoding: Encoding, X: Block, *, dense: bool) -> Block:
    return encoding.dense(X) if dense else encoding.sparse(X)


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
