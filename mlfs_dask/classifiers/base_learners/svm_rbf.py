"""A support vector machine with the kernel exp(-γ ‖x - x'‖²)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp
import sklearn
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.checks import check_positive
from mlfs_dask.classifiers.base_learners.encoding import Encoding, encode
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.classifiers.base_learners.quiet import quiet
from mlfs_dask.graphs.inputs import Block


class SVMModel(LearnedModel):
    """Support vectors.

    Parameters
    ----------
    encoding
        Of the columns.
    machine : SVC or CalibratedClassifierCV
        Fitted by scikit-learn.
    dense
        Whether it was fitted to dense rows, which are moved to begin at 0; others have to come in
        the same form.
    """

    def __init__(self, encoding: Encoding, machine: Any, *, dense: bool) -> None:
        self._encoding = encoding
        self.machine = machine
        self._dense = dense

    def proba(self, X: Block) -> FloatArray:
        """Calibrated, or the logistic function of the decision values; see the base class."""
        rows = self._encoding.dense(X) if self._dense else self._encoding.sparse(X)
        with _unchecked():
            if isinstance(self.machine, CalibratedClassifierCV):
                return np.asarray(self.machine.predict_proba(rows))
            decision = self.machine.decision_function(rows)
        if decision.ndim == 1:
            return np.column_stack([expit(-decision), expit(decision)])
        found: FloatArray = softmax(decision, axis=1)
        return found


@dataclass(frozen=True)
class SVMRbf(BaseLearner):
    """Support vector machine with a Gaussian kernel, on columns scaled to a range of 1.

    Nominal features of more than two values become a column per value; more than two classes are
    told apart by pairs.

    Parameters
    ----------
    C
        Price of a row on the wrong side; above 0.
    gamma
        γ, above 0; default 1 / number of columns.
    scores
        ``"margin"``: the logistic function of the decision value f, 1/(1 + e^-f). A class is
        predicted from 1/2 on exactly where the machine says so, and rows rank by their distance
        from the boundary; it is no probability. ``"platt"``: 1/(1 + e^(A f + B)), with A and B
        fitted to decision values of rows that were left out, in 5 folds (fewer, if a class has
        fewer rows; a class of one row leaves ``"margin"``).

    Notes
    -----
    O(n² d) to O(n³ d), as LIBSVM; six machines with ``"platt"``. Ranges are those of the model's
    own training rows.

    References
    ----------
    C.-C. Chang, C.-J. Lin: LIBSVM: a library for support vector machines. ACM TIST 2 (2011) 27.
    J. C. Platt: Probabilistic outputs for support vector machines. Advances in Large Margin
    Classifiers (2000) 61-74.
    """

    name: ClassVar[str] = "svm-rbf"
    takes_sparse: ClassVar[bool] = True

    C: float = 1.0
    gamma: float | None = None
    scores: Literal["margin", "platt"] = "margin"

    def check(self) -> None:
        """Refuse what isn't above 0."""
        check_positive("C", self.C)
        if self.gamma is not None:
            check_positive("gamma", self.gamma)

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> SVMModel:
        """Fit; see the base class. Folds are drawn."""
        encoding = encode(X, kind, "range")
        gamma = 1 / encoding.n_encoded if self.gamma is None else self.gamma
        machine: Any = SVC(C=self.C, kernel="rbf", gamma=gamma, break_ties=True)
        folds = min(5, int(np.bincount(y).min()))
        if self.scores == "platt" and folds > 1:
            seed = int(stream.generate_state(1)[0])
            parting = StratifiedKFold(folds, shuffle=True, random_state=seed)
            machine = CalibratedClassifierCV(machine, method="sigmoid", cv=parting, ensemble=False)
        dense = not sp.issparse(X)
        rows = encoding.dense(X) if dense else encoding.sparse(X)
        with _unchecked(), quiet():
            return SVMModel(encoding, machine.fit(rows, y), dense=dense)


def _unchecked() -> AbstractContextManager[None]:
    """No checks of what was checked before: of small problems they are a third of the time."""
    checks = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    return cast("AbstractContextManager[None]", checks)
