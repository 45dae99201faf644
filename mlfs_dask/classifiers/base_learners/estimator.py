"""Any scikit-learn classifier as a base learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.classifiers.base_learners.learner import BaseLearner, LearnedModel
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block


class EstimatorModel(LearnedModel):
    """A fitted estimator.

    Parameters
    ----------
    fitted
        Fitted to class codes.
    """

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted

    def proba(self, X: Block) -> FloatArray:
        """Its probabilities, else the logistic function of its decision values, else 0 and 1."""
        if hasattr(self.fitted, "predict_proba"):
            return np.asarray(self.fitted.predict_proba(X), dtype=np.float64)
        if hasattr(self.fitted, "decision_function"):
            decision = np.asarray(self.fitted.decision_function(X), dtype=np.float64)
            if decision.ndim == 1:
                return np.column_stack([expit(-decision), expit(decision)])
            found: FloatArray = softmax(decision, axis=1)
            return found
        predicted = np.asarray(self.fitted.predict(X))
        indicators: FloatArray = np.equal.outer(predicted, self.fitted.classes_).astype(np.float64)
        return indicators


@dataclass(frozen=True)
class AnyEstimator(BaseLearner):
    """A scikit-learn classifier; each model is a clone of it.

    Seeds: each parameter ``random_state`` that is None gets one of the model's stream. Whether
    missing values and sparse rows may come is what the estimator's tags say. Nominal features come
    as their codes.

    Parameters
    ----------
    estimator
        Not fitted.
    """

    name: ClassVar[str] = "estimator"

    estimator: Any

    @classmethod
    def checked(cls, estimator: Any) -> AnyEstimator:
        """Wrap an estimator.

        Parameters
        ----------
        estimator
            Anything.

        Raises
        ------
        InputError
            It is no scikit-learn classifier.
        """
        made = hasattr(estimator, "get_params") and not isinstance(estimator, type)
        if not made or not is_classifier(estimator):
            raise InputError(
                f"base = {estimator!r}: expected the name of a base learner or a scikit-learn "
                "classifier"
            )
        return cls(estimator)

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the estimator says so."""
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether the estimator says so."""
        return bool(get_tags(self.estimator).input_tags.sparse)

    def check(self) -> None:
        """The estimator checks its parameters itself, when it is fitted."""

    def learn(
        self, X: Block, y: IntArray, kind: ByteArray, stream: np.random.SeedSequence
    ) -> EstimatorModel:
        """Fit a clone; see the base class."""
        model = clone(self.estimator)
        free = [k for k, v in sorted(model.get_params().items()) if _is_seed(k) and v is None]
        seeds = stream.generate_state(max(1, len(free)))
        model.set_params(**dict(zip(free, map(int, seeds), strict=False)))
        return EstimatorModel(model.fit(X, y))

    def __str__(self) -> str:
        return str(self.estimator)


def _is_seed(parameter: str) -> bool:
    return parameter.split("__")[-1] == "random_state"
