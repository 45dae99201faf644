"""What classifiers share that split the labels into problems and fit a model for each.

A method says which problems there are (`models`) and how answers become scores and labels
(`_tally`). Models are independent of each other: they are tasks of the executor, those of all
points of a curve at once, and their answers are added in the order of the problems.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mlfs_dask._typing import Conventions, Impute, IntArray, ProblemOrders
from mlfs_dask.checks import check_choice, check_seed
from mlfs_dask.classifiers.base import Outcome, fill_values, labels_of
from mlfs_dask.classifiers.base_learners import make_learner
from mlfs_dask.classifiers.base_learners.learner import BaseLearner
from mlfs_dask.classifiers.model_rows import UsedFeatures
from mlfs_dask.classifiers.model_tasks import (
    Asked,
    ModelTask,
    Notes,
    ask_model,
    fit_and_ask,
    fit_model,
)
from mlfs_dask.classifiers.predicted import Predicted, PredictingClassifier
from mlfs_dask.classifiers.problems import Problem
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.distance_checks import checked_order
from mlfs_dask.graphs.executor import get_executor
from mlfs_dask.graphs.source import Source

WHOLE_METHOD = 2**32 - 1
"""Number of the stream of what is drawn before there are models."""


class Tally(Protocol):
    """Adds up what models say of some rows."""

    def add(self, problem: Problem, answer: Any) -> None:
        """Count the answer of a problem's model; None: it never saw a row."""

    def result(self) -> Predicted:
        """Scores and labels."""


class TransformationClassifier(PredictingClassifier):
    """A classifier made of models of single targets; each point of a curve fits all of them anew.

    Attributes
    ----------
    models_ : list of FittedModel
        One for each problem.
    each_has_features : bool
        Whether each model may have features of its own.
    """

    each_has_features: ClassVar[bool] = False
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

    def problem_outcomes(
        self, train: Source, test: Source, orders: ProblemOrders, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`outcomes`, each model (of several labels: each label) with its own features.

        Parameters
        ----------
        train, test
            Training rows with labels; rows to predict.
        orders
            Features of each problem, best first: of ``(l,)`` for each label l; for ``clr`` of
            ``(a, b)`` for each pair a < b besides.
        counts
            Numbers of leading features; a problem with fewer takes all of them.

        Yields
        ------
        Outcome
            In the order of ``counts``.

        Raises
        ------
        InputError
            Orders for other problems, or that do not fit.
        """
        if self.each_has_features:
            yield from self._outcomes(train, test, orders, counts)
        else:
            yield from super().problem_outcomes(train, test, orders, counts)

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
        asked = self._ask_models(problems, train, test, orders, counts)
        heard = Notes()
        for number, count in enumerate(counts, start=1):
            each = heard.answers(islice(asked, len(problems)))
            predicted = self._combine(each, test.n_samples, n_labels)
            notes += heard.told() if number == len(counts) else []
            yield Outcome(int(count), *predicted, tuple(notes))
            notes = []

    def _ask_models(
        self,
        problems: Sequence[Problem],
        train: Source,
        test: Source,
        orders: IntArray | ProblemOrders,
        counts: Sequence[int],
    ) -> Iterator[Asked]:
        """Fit all models at each point and ask them: point by point, the problems in order."""
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
            ModelTask(problem, used.places(own[:count]), stream)
            for count in counts
            for problem, own, stream in zip(problems, features, streams, strict=True)
        ]
        rows = executor.share(used.training_rows(train, executor))
        asked = executor.share(used.other_rows(test, executor))
        yield from executor.map(fit_and_ask, tasks, rows, asked, used.learner)

    def _combine(self, answers: Iterable[Any], n_rows: int, n_labels: int) -> Predicted:
        """Scores and labels of rows from what all models say of them, in the order of `models`."""
        tally = self._tally(n_rows, n_labels)
        for problem, answer in zip(self.models(n_labels), answers, strict=True):
            tally.add(problem, answer)
        return tally.result()

    def _of_problems(
        self, orders: Any, problems: Sequence[Problem], n_features: int
    ) -> list[IntArray]:
        """Features of the model of each problem, checked."""
        raise InputError(
            f"feature_subsets: {type(self).__name__} takes one list of features: its models are of "
            "several labels",
            hint="Select features for all labels at once, or use br or clr.",
        )

    def _learner(self) -> BaseLearner:
        return make_learner(self.base, self.base_params, self.conventions)

    def _streams(self, n_models: int) -> list[np.random.SeedSequence]:
        return [model_stream(self.random_state, number) for number in range(n_models)]

    def _predicted(self, X: Any) -> Predicted:
        query = self._query_source(X)
        query = query if self._fill is None else query.filled(self._fill)
        executor = get_executor()
        items = executor.share(self._used.other_rows(query, executor))
        answers = executor.map(ask_model, executor.share(self.models_), items)
        return self._combine(answers, query.n_samples, self.n_labels_)

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
