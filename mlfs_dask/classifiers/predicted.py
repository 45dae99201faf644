"""Classifiers that find labels together with scores: labels do not follow from scores alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.classifiers.base import BaseClassifier, Outcome
from mlfs_dask.graphs.source import Source


class Predicted(NamedTuple):
    """What a classifier says of some rows.

    Attributes
    ----------
    proba : ndarray of float64, shape (n_rows, n_labels)
    labels : ndarray of uint8, shape (n_rows, n_labels)
        By the classifier's own rule.
    """

    proba: FloatArray
    labels: ByteArray


class PredictingClassifier(BaseClassifier):
    """A classifier with scores and labels of rows from one place."""

    @abstractmethod
    def _predicted(self, X: Any) -> Predicted:
        """What the fitted classifier says of rows; refuses what does not fit."""

    @abstractmethod
    def outcomes(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """Scores and labels of test rows along a ranking; see the base class."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Score of each label.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_labels)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            ``fit`` has not been called.
        InputError
            Another number of features.
        """
        return self._predicted(X).proba

    def predict(self, X: Any) -> ByteArray:
        """Labels by the method's own rule.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        ndarray of uint8, shape (n_samples, n_labels)
        """
        return self._predicted(X).labels

    def curve(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Scores of test rows with the first c features of an order, for several c.

        Each point equals a separate fit to these features in this order, bit for bit. The estimator
        itself stays as it is.

        Parameters
        ----------
        train
            Training rows with labels.
        test
            Rows to predict; their labels are not looked at.
        order : ndarray of int64, shape (n_ordered,)
            Features, the most important first; distances are summed, and models learn from columns,
            in this order. For an unordered set give its features by index and its size as the only
            count.
        counts
            Numbers of leading features, 0 to n_ordered.

        Yields
        ------
        count : int
            In the order given.
        proba : ndarray of float64, shape (n_test, n_labels)

        Raises
        ------
        InputError
            No labels, orders and counts that do not fit, values that the method cannot take.
        """
        for outcome in self.outcomes(train, test, order, counts):
            yield outcome.n_features, outcome.proba
