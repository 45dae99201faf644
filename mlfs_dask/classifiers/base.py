"""The face that all multi-label classifiers show: scikit-learn's, for a matrix of 0/1 labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mlfs_dask._typing import ByteArray, FloatArray, Impute, IntArray, ProblemOrders
from mlfs_dask.checks import check_choice
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source, as_source
from mlfs_dask.graphs.source import labels_of as labels_of  # here methods look for it
from mlfs_dask.graphs.statistics import imputation_values
from mlfs_dask.wording import counted


class Outcome(NamedTuple):
    """What a classifier says of test rows at one point of a curve.

    Attributes
    ----------
    n_features : int
        Number of leading features.
    proba : ndarray of float64, shape (n_test, n_labels)
    labels : ndarray of uint8, shape (n_test, n_labels)
        Predicted by the classifier's own rule.
    notes : tuple of str
        What to know of the whole curve; with its first point only.
    """

    n_features: int
    proba: FloatArray
    labels: ByteArray
    notes: tuple[str, ...] = ()


class BaseClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A multi-label classifier.

    X may be an array, a DataFrame, a SciPy sparse matrix, a dask array, a Dataset or a Source; Y
    is a matrix of 0 and 1, one column per label.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only when fitted to rows whose columns have names.
    n_labels_ : int
    classes_ : ndarray of uint8, shape (n_labels, 2)
        ``[0, 1]`` for each label. An array, not a list: scikit-learn's `cross_val_predict` asks
        for its shape where probabilities come as one matrix.
    """

    threshold: float
    takes_pairs: ClassVar[bool] = False
    """Whether `problem_outcomes` takes features for pairs of labels besides those for labels."""

    @abstractmethod
    def fit(self, X: Any, Y: Any = None, *, feature_kind: Any = None) -> Self:
        """Learn from training rows; see the class."""

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Score of each label, shape (n_samples, n_labels), float64 in [0, 1]."""

    @abstractmethod
    def curve(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Scores of test rows when trained on the first c features, for each c of ``counts``."""

    def outcomes(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`curve`, with the labels that go with the scores.

        Parameters
        ----------
        train, test, order, counts
            As in :meth:`curve`.

        Yields
        ------
        Outcome
            In the order of ``counts``.
        """
        for count, proba in self.curve(train, test, order, counts):
            yield Outcome(count, proba, self.decide(proba))

    def problem_outcomes(
        self, train: Source, test: Source, orders: ProblemOrders, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`outcomes`, each label by a classifier with features of its own.

        A per-problem selector ranks the features for each label, ``(l,)``, or for each pair of
        labels, ``(a, b)``. Here label l is what the classifier says of it when it is trained on the
        features of ``(l,)``, so this costs as many curves as there are labels; methods that can
        share work between labels, or that have models of pairs, override it.

        Parameters
        ----------
        train, test
            Training rows with labels; rows to predict.
        orders
            Features of each problem, best first.
        counts
            Numbers of leading features; a problem with fewer takes all of them.

        Yields
        ------
        Outcome
            In the order of ``counts``.

        Raises
        ------
        InputError
            Orders for other problems than the method has, or that do not fit.
        """
        n_labels = 0 if train.Y is None else train.Y.shape[1]
        shape = (len(counts), test.n_samples, n_labels)
        proba, labels, notes = np.empty(shape), np.empty(shape, dtype=np.uint8), {}
        for label, order in enumerate(orders_by_label(orders, n_labels, train.n_features)):
            sizes = [min(count, len(order)) for count in counts]
            for outcome in self.outcomes(train, test, order, sorted(set(sizes))):
                for place in np.flatnonzero(np.equal(sizes, outcome.n_features)):
                    proba[place, :, label] = outcome.proba[:, label]
                    labels[place, :, label] = outcome.labels[:, label]
                notes.update(dict.fromkeys(outcome.notes))
        for point, count in enumerate(counts):
            said = tuple(notes) if point == 0 else ()
            yield Outcome(int(count), proba[point], labels[point], said)

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
        return self.decide(self.predict_proba(X))

    def decide(self, proba: FloatArray) -> ByteArray:
        """Labels from scores: relevant from ``threshold`` on.

        Parameters
        ----------
        proba : ndarray of float64, shape (n_samples, n_labels)
            From ``predict_proba`` or ``curve``.

        Returns
        -------
        ndarray of uint8, shape (n_samples, n_labels)
        """
        return (proba >= self.threshold).astype(np.uint8)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _training_source(self, X: Any, Y: Any, feature_kind: Any) -> Source:
        """Rows and labels to learn from; notes what scikit-learn wants to know of them."""
        source = as_source(X, Y, feature_kind=feature_kind)
        if source.Y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                hint="Give the labels as a 0/1 matrix of shape (n_samples, n_labels).",
            )
        shape = f"(shape=({source.n_samples}, {source.n_features}))"
        if source.n_samples == 0:
            raise InputError(
                f"Found array with 0 sample(s) {shape} while a minimum of 1 is required."
            )
        if source.n_features == 0:
            raise InputError(
                f"Found array with 0 feature(s) {shape} while a minimum of 1 is required."
            )
        if source.Y.shape[1] == 0:
            raise InputError("Y has no label columns")
        self._note_features(X, source, reset=True)
        self.n_labels_ = source.Y.shape[1]
        self.classes_ = np.tile(np.array([0, 1], dtype=np.uint8), (self.n_labels_, 1))
        return source

    def _query_source(self, X: Any) -> Source:
        """Rows to predict."""
        check_is_fitted(self)
        source = as_source(X)
        if source.n_samples == 0:
            raise InputError(
                f"Found array with 0 sample(s) (shape=(0, {source.n_features})) while a minimum of "
                "1 is required."
            )
        self._note_features(X, source, reset=False)
        return source

    def _note_features(self, X: Any, source: Source, *, reset: bool) -> None:
        if reset:
            # Arrays, tables and sparse matrices have a shape, Datasets and Sources don't.
            self._names_are_the_stores = not hasattr(X, "shape")
        if not self._names_are_the_stores and hasattr(X, "shape"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = source.n_features
            if source.feature_names is not None:
                self.feature_names_in_ = np.array(source.feature_names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        if source.n_features != self.n_features_in_:
            raise InputError(
                f"X has {source.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )


def orders_by_label(
    orders: ProblemOrders | Sequence[Any], n_labels: int, n_features: int
) -> list[IntArray]:
    """Features of each label, checked.

    Parameters
    ----------
    orders : mapping or sequence of array-like of int
        By ``(label,)``, or one for each label in order.
    n_labels, n_features
        Of the training rows.

    Raises
    ------
    InputError
        Not one per label, or features that aren't there or are named twice.
    """
    by_label = orders
    if not isinstance(by_label, Mapping):
        if isinstance(by_label, (str, bytes)) or not np.iterable(by_label):
            raise InputError(
                f"feature_subsets = {orders!r}: expected a list of feature indices for each label"
            )
        by_label = {(label,): order for label, order in enumerate(by_label)}
    wanted = [(label,) for label in range(n_labels)]
    if set(by_label) != set(wanted):
        other = next((problem for problem in by_label if problem not in wanted), None)
        given = f"{len(by_label)}" if other is None else f"some for {other}"
        raise InputError(
            f"feature_subsets: given are {given}; expected one list for each of "
            f"{counted(n_labels, 'label')}",
            hint="Select with order = 1, each label against the rest.",
        )
    return [
        checked_features(by_label[problem], f"label {problem[0]}", n_features) for problem in wanted
    ]


def checked_features(order: Any, owner: str, n_features: int) -> IntArray:
    """Features of a problem, checked.

    Parameters
    ----------
    order : array-like of int
        Features.
    owner
        Whose they are, for the message.
    n_features
        Of the training rows.

    Raises
    ------
    InputError
        Features that aren't there or are named twice.
    """
    try:
        found = np.asarray(order)
    except ValueError:  # lists of different lengths
        found = np.zeros((0, 0))
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise InputError(f"feature_subsets of {owner}: expected a list of feature indices")
    outside = (found < 0) | (found >= n_features)
    if np.any(outside) or len(np.unique(found)) != len(found):
        raise InputError(
            f"feature_subsets of {owner}: expected each index once, from 0 to {n_features - 1}"
        )
    return found.astype(np.int64)


def fill_values(train: Source, impute: Impute, executor: Executor) -> FloatArray | None:
    """What replaces missing values, from training rows; None: they stay.

    Parameters
    ----------
    train
        Training rows.
    impute
        ``"none"`` or ``"mean"``.
    executor
        Where to run.

    Raises
    ------
    InputError
        Another value of ``impute``.
    """
    check_choice("impute", impute, ("none", "mean"))
    return imputation_values(train, executor) if impute == "mean" else None
