"""Naive Bayes: normal densities for numbers, frequencies for categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.checks import check_positive
from mlfs_dask.classifiers.base_learners.encoding import many_valued
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.graphs.inputs import Block


class NaiveBayesModel(LearnedModel):
    """Densities and frequencies of each class.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
    y : ndarray of int64, shape (n_rows,)
        Class codes.
    kind : ndarray of uint8, shape (n_columns,)
    var_smoothing
        See the learner.
    """

    def __init__(self, X: FloatArray, y: IntArray, kind: ByteArray, var_smoothing: float) -> None:
        self._nominal = many_valued(X, np.flatnonzero(kind))
        varies = X.min(axis=0) < X.max(axis=0)
        varies[self._nominal] = False
        self._numeric = np.flatnonzero(varies)
        self._prior = np.log(np.bincount(y) / len(y))
        self._gaussian = self._categorical = None
        if len(self._numeric):
            gaussian = GaussianNB(var_smoothing=var_smoothing)
            self._gaussian = gaussian.fit(X[:, self._numeric], y)
        if len(self._nominal):
            self._codes = [np.unique(X[:, j]) for j in self._nominal]
            # One more category stands for the values that training rows do not have.
            sizes = np.array([len(codes) + 1 for codes in self._codes])
            categorical = CategoricalNB(min_categories=sizes)
            self._categorical = categorical.fit(self._coded(X), y)

    def proba(self, X: Block) -> FloatArray:
        """By Bayes' rule; see the base class."""
        with np.errstate(all="ignore"):  # what is no number in the end is refused
            return self._posterior(X.toarray() if sp.issparse(X) else X)

    def _posterior(self, rows: FloatArray) -> FloatArray:
        joint = np.tile(self._prior, (len(rows), 1))
        if self._gaussian is not None:
            found = self._gaussian.predict_joint_log_proba(rows[:, self._numeric])
            joint += found - self._prior
        if self._categorical is not None:
            joint += self._categorical.predict_joint_log_proba(self._coded(rows)) - self._prior
        posterior: FloatArray = softmax(joint, axis=1)
        return posterior

    def _coded(self, X: FloatArray) -> AnyArray:
        coded = np.empty((len(X), len(self._nominal)), dtype=np.int64)
        for place, (j, codes) in enumerate(zip(self._nominal, self._codes, strict=True)):
            near = np.searchsorted(codes, X[:, j]).clip(max=len(codes) - 1)
            coded[:, place] = np.where(codes[near] == X[:, j], near, len(codes))
        return coded


@dataclass(frozen=True)
class NaiveBayes(BaseLearner):
    """Features are taken as independent given the class.

    Numeric features have a normal density per class (mean, population variance), nominal ones of
    more than two values frequencies with 1 added to each count. Constant features say nothing.

    Parameters
    ----------
    var_smoothing
        Share of the largest variance of a feature that is added to all variances; above 0.

    Notes
    -----
    O(n d). Sparse rows are made dense, a copy of n d numbers.

    References
    ----------
    G. H. John, P. Langley: Estimating continuous distributions in Bayesian classifiers. UAI 1995.
    """

    name: ClassVar[str] = "naive-bayes"

    var_smoothing: float = 1e-9

    def check(self) -> None:
        """Refuse a share that isn't above 0."""
        check_positive("var_smoothing", self.var_smoothing)

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> NaiveBayesModel:
        """Count and average; see the base class. Nothing is drawn."""
        with np.errstate(all="ignore"):
            return NaiveBayesModel(X, y, kind, self.var_smoothing)
