"""What classifiers share that split the labels into problems and fit a model for each.

A method says which problems there are (`models`) and how answers become scores and labels
(`_tally`). Models are independent of each other: they are tasks of the executor, those of all
points of a curve at once, and their answers are added in the order of the problems.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from mlfs_dask._typing import ByteArray, Conventions, FloatArray, Impute, IntArray, ProblemOrders
from mlfs_dask.classifiers.base import BaseClassifier, Outcome, fill_values, labels_of
from mlfs_dask.classifiers.base_learners import make_learner
from mlfs_dask.classifiers.base_learners.learner import BaseLearner
from mlfs_dask.classifiers.checks import check_choice, check_seed
from mlfs_dask.classifiers.model_rows import UsedFeatures
from mlfs_dask.classifiers.model_tasks import (
    Asked,
    ModelTask,
    Notes,
    ask_model,
    fit_and_ask,
    fit_model,
)
from mlfs_dask.classifiers.problems import Problem
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.distance_checks import checked_order
from mlfs_dask.graphs.executor import get_executor
from mlfs_dask.graphs.source import Source

WHOLE_METHOD = 2**32 - 1
"""Number of the stream of what is drawn before there are models."""


class Answers(NamedTuple):
    """What a classifier says of some rows.

    Attributes
    ----------
    proba : ndarray of float64, shape (n_rows, n_labels)
    labels : ndarray of uint8, shape (n_rows, n_labels)
    """

    proba: FloatArray
    labels: ByteArray


class Tally(Protocol):
    """Adds up what models say of some rows."""

    def add(self, problem: Problem, answer: Any) -> None:
        """Count the answer of a problem's model; None: it never saw a row."""

    def result(self) -> Answers:
        """Scores and labels."""


class TransformationClassifier(BaseClassifier):
    """A classifier made of models of single targets.

    Attributes
    ----------
    models_ : list of FittedModel
        One for each problem.
    """

    base: Any
    base_params: dict[str, Any] | None
    conventions: Conventions
    impute: Impute
    random_state: Any

    @abstractmethod
    def models(self, n_labels: int) -> list[Problem]:
        """The problems that a model is fitted for, in the order in which answers are added.

        Parameters
        ----------
        n_labels
            Number of labels.
        """

    @abstractmethod
    def _tally(self, n_rows: int, n_labels: int) -> Tally:
        """Something that adds up the answers for some rows."""

    def _remarks(self, problems: Sequence[Problem], n_labels: int) -> list[str]:
        """What to know of a curve before it is computed."""
        return [f"base learner: {self._learner()}"]

    def fit(
        self, X: Any, Y: Any = None, *, feature_kind: Any = None, feature_subsets: Any = None
    ) -> Self:
        """Fit all models.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array, Dataset or Source, shape (n_samples, n_features)
            Numbers; NaN is missing.
        Y : array-like of 0/1, shape (n_samples, n_labels), optional
            Defaults to the labels of a Dataset or Source.
        feature_kind : array-like of int, shape (n_features,), optional
            0 numeric, 1 nominal; defaults to what a Dataset says, else numeric.
        feature_subsets : mapping of tuple of int to array of int, optional
            Features of the model of each problem, by the labels it is about; default all. Only for
            ``br`` and ``clr``: other models are of several labels.
        """
        self._check_parameters()
        source = self._training_source(X, Y, feature_kind)
        problems = self.models(self.n_labels_)
        features = [np.arange(source.n_features)] * len(problems)
        if feature_subsets is not None:
            features = self._of_problems(feature_subsets, problems, source.n_features)
        executor = get_executor()
        self._fill = fill_values(source, self.impute, executor)
        source = source if self._fill is None else source.filled(self._fill)
        self._used = UsedFeatures.of(features, self._learner(), type(self).__name__)
        streams = self._streams(len(problems))
        tasks = [
            ModelTask(problem, self._used.places(own), stream)
            for problem, own, stream in zip(problems, features, streams, strict=True)
        ]
        train = executor.share(self._used.training_rows(source, executor))
        self.models_ = list(executor.map(fit_model, tasks, train, self._used.learner))
        return self

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
        return self._answers(X).proba

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
        return self._answers(X).labels

    def curve(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Scores of test rows with the first c features of an order, for several c.

        Each point fits all models anew; it equals a separate fit to these features in this order,
        bit for bit. The estimator itself stays as it is.

        Parameters
        ----------
        train
            Training rows with labels.
        test
            Rows to predict; their labels are not looked at.
        order : ndarray of int64, shape (n_ordered,)
            Features, the most important first; the base learner gets them in this order.
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
            No labels, orders and counts that do not fit, missing or infinite values that the base
            learner cannot take.
        """
        for outcome in self.outcomes(train, test, order, counts):
            yield outcome.n_features, outcome.proba

    def outcomes(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`curve`, with the labels predicted and what to know of the curve.

        Parameters
        ----------
        train, test, order, counts
            As in :meth:`curve`.

        Yields
        ------
        Outcome
            In the order of ``counts``.
        """
        n_features = train.n_features
        order, _ = checked_order(order, np.sort(np.asarray(counts, dtype=np.int64)), n_features)
        yield from self._outcomes(train, test, order, counts)

    def ask_models(
        self,
        train: Source,
        test: Source,
        orders: IntArray | ProblemOrders,
        counts: Sequence[int],
        which: Sequence[int] | None = None,
    ) -> Iterator[Asked]:
        """Fit models at each point of a curve and ask them about test rows.

        What `combine` makes of all models' answers at a point is that point of the curve: a curve
        can be had in pieces, each with some of the models, wherever they run.

        Parameters
        ----------
        train
            Training rows with labels.
        test
            Rows to predict.
        orders
            Features best first; or those of each problem.
        counts
            Numbers of leading features; a problem with fewer takes all of them.
        which
            Positions of problems in `models`; default all.

        Yields
        ------
        Asked
            Point by point, the problems in order.
        """
        self._check_parameters()
        problems = self.models(labels_of(train).shape[1])
        features = (
            self._of_problems(orders, problems, train.n_features)
            if isinstance(orders, Mapping)
            else [np.asarray(orders, dtype=np.int64)] * len(problems)
        )
        most = max(counts, default=0)
        executor = get_executor()
        fill = fill_values(train, self.impute, executor)
        if fill is not None:
            train, test = train.filled(fill), test.filled(fill)
        used = UsedFeatures.of(
            [each[:most] for each in features], self._learner(), type(self).__name__
        )
        streams = self._streams(len(problems))
        tasks = [
            ModelTask(problems[place], used.places(features[place][:count]), streams[place])
            for count in counts
            for place in (range(len(problems)) if which is None else which)
        ]
        rows = executor.share(used.training_rows(train, executor))
        asked = executor.share(used.other_rows(test, executor))
        yield from executor.map(fit_and_ask, tasks, rows, asked, used.learner)

    def combine(self, answers: Iterable[Any], n_rows: int, n_labels: int) -> Answers:
        """Scores and labels of rows from what all models say of them.

        Parameters
        ----------
        answers
            Of each model, in the order of `models`.
        n_rows, n_labels
            Number of rows and of labels.
        """
        tally = self._tally(n_rows, n_labels)
        for problem, answer in zip(self.models(n_labels), answers, strict=True):
            tally.add(problem, answer)
        return tally.result()

    def _outcomes(
        self,
        train: Source,
        test: Source,
        orders: IntArray | ProblemOrders,
        counts: Sequence[int],
    ) -> Iterator[Outcome]:
        self._check_parameters()
        n_labels = labels_of(train).shape[1]
        problems = self.models(n_labels)
        notes = self._remarks(problems, n_labels)
        asked = self.ask_models(train, test, orders, counts)
        heard = Notes()
        for number, count in enumerate(counts, start=1):
            each = heard.answers(islice(asked, len(problems)))
            answers = self.combine(each, test.n_samples, n_labels)
            notes += heard.told() if number == len(counts) else []
            yield Outcome(int(count), *answers, tuple(notes))
            notes = []

    def _of_problems(
        self, orders: Any, problems: Sequence[Problem], n_features: int
    ) -> list[IntArray]:
        """Features of the model of each problem, checked."""
        raise InputError(
            f"{type(self).__name__} takes one list of features: its models are of several labels",
            hint="Select features for all labels at once, or use br or clr.",
        )

    def _learner(self) -> BaseLearner:
        return make_learner(self.base, self.base_params, self.conventions)

    def _streams(self, n_models: int) -> list[np.random.SeedSequence]:
        return [model_stream(self.random_state, number) for number in range(n_models)]

    def _answers(self, X: Any) -> Answers:
        query = self._query_source(X)
        query = query if self._fill is None else query.filled(self._fill)
        executor = get_executor()
        items = executor.share(self._used.other_rows(query, executor))
        answers = executor.map(ask_model, executor.share(self.models_), items)
        return self.combine(answers, query.n_samples, self.n_labels_)

    def _check_parameters(self) -> None:
        self._learner()
        check_choice("conventions", self.conventions, ("default", "mulan", "zhang", "sklearn"))
        check_choice("impute", self.impute, ("none", "mean"))
        check_seed(self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute == "mean" or self._learner().takes_missing
        return tags


def model_stream(random_state: Any, number: int) -> np.random.SeedSequence:
    """Stream of one of a classifier's models.

    Parameters
    ----------
    random_state : int or SeedSequence
        Of the classifier.
    number
        Of the model, from 0; `WHOLE_METHOD` for what is drawn before there are models.

    Examples
    --------
    >>> model_stream(7, 3).spawn_key
    (3,)
    """
    given = random_state
    root = given if isinstance(given, np.random.SeedSequence) else np.random.SeedSequence(given)
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))
