"""What classifiers by nearest neighbours share: training rows, searches, curves, ties.

A method says what it learns from neighbours (`_learn`) and what it answers (`_answer`), both for
several points of a curve at once. A fit is a curve of one point; with features per label there is a
search for each label.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np

from mlfs_dask._typing import (
    AnyArray,
    BoolArray,
    Conventions,
    FloatArray,
    Impute,
    IntArray,
    Normalize,
    ProblemOrders,
)
from mlfs_dask.checks import check_choice, check_count, check_threshold
from mlfs_dask.classifiers.base import (
    Outcome,
    fill_values,
    labels_of,
    orders_by_label,
)
from mlfs_dask.classifiers.curves import (
    Answers,
    Curve,
    Rows,
    Searched,
    curve_by_label,
    outcomes_of,
)
from mlfs_dask.classifiers.predicted import Predicted, PredictingClassifier
from mlfs_dask.errors import DegenerateInputWarning
from mlfs_dask.graphs.executor import get_executor
from mlfs_dask.graphs.neighbors import NeighborSearch
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.wording import counted

A = TypeVar("A", bound=AnyArray)


class NeighborClassifier(PredictingClassifier):
    """A classifier by the k nearest training rows, exact, in the order (distance, index).

    One pass over the pairs of rows serves all points of a curve: distances grow feature by feature.
    """

    n_neighbors: int
    normalize: Normalize | None
    conventions: Conventions
    impute: Impute

    @abstractmethod
    def _learn(self, searched: Searched) -> Any:
        """What the neighbours of the training rows teach, at every point."""

    @abstractmethod
    def _answer(self, searched: Searched, learned: Any) -> Answers:
        """Scores and labels of the query rows, at every point."""

    @abstractmethod
    def _show(self, learned: Sequence[Any]) -> None:
        """Set the attributes of a fit: one thing learned, or one per label."""

    def _tied_in_training(self, learned: Any) -> FloatArray | None:
        """Share of training rows tied at the k-th neighbour, by point; None: nobody looked."""
        return None

    def _notes(self, searched: Searched, learned: Any) -> list[str]:
        """What to know of a curve besides ties."""
        return []

    def fit(
        self, X: Any, Y: Any = None, *, feature_kind: Any = None, feature_subsets: Any = None
    ) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array, Dataset or Source, shape (n_samples, n_features)
            Numbers; NaN is missing.
        Y : array-like of 0/1, shape (n_samples, n_labels), optional
            Defaults to the labels of a Dataset or Source.
        feature_kind : array-like of int, shape (n_features,), optional
            0 numeric, 1 nominal; defaults to what a Dataset says, else numeric.
        feature_subsets : sequence or mapping of arrays of int, optional
            Features of each label, by position or by ``(label,)``: label l is what this classifier
            says of it when it is trained on them alone. Distances are summed in the order given.
        """
        self._check_parameters()
        source = self._training_source(X, Y, feature_kind)
        self.feature_subsets_ = None
        if feature_subsets is not None:
            self.feature_subsets_ = orders_by_label(
                feature_subsets, self.n_labels_, source.n_features
            )
        executor = get_executor()
        self._fill = fill_values(source, self.impute, executor)
        self._train = source if self._fill is None else source.filled(self._fill)
        self._summary = summarize_columns(self._train, executor)
        self.n_neighbors_ = self._usable_neighbors(source.n_samples)
        self.normalize_ = self._normalization()
        searches = list(self._searches(None))
        self.road_ = ", ".join(sorted({road for each in searches for road in each.search.roads}))
        self._learned = [self._learn(each) for each in searches]
        self.pair_share_ = float(np.mean([each.search.pair_share for each in searches]))
        self._show(self._learned)
        return self

    def tied_rows(self, X: Any) -> BoolArray:
        """Whether the (k+1)-th neighbour of a row is as near as its k-th.

        Where it is, the choice of neighbours rests on the order of the training rows, and other
        software may choose others.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            As in ``fit``.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            With features per label: in those of any label.
        """
        tied: BoolArray = np.any([answers.tied[:, 0] > 0 for answers in self._answers(X)], axis=0)
        return tied

    def outcomes(
        self, train: Source, test: Source, order: IntArray, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`curve`, with the labels predicted and what to know of the whole curve.

        Parameters
        ----------
        train, test, order, counts
            As in :meth:`curve`.

        Yields
        ------
        Outcome
            In the order of ``counts``.
        """
        rows = self._rows(train, test)
        curve = self._curve(rows, order, counts)
        yield from outcomes_of(curve, rows.k, counts)

    def problem_outcomes(
        self, train: Source, test: Source, orders: ProblemOrders, counts: Sequence[int]
    ) -> Iterator[Outcome]:
        """As :meth:`outcomes`, each label by this classifier with features of its own.

        As many curves as there are labels.

        Parameters
        ----------
        train, test
            Training rows with labels; rows to predict.
        orders
            Features of ``(l,)`` for each label l, best first.
        counts
            Numbers of leading features; a label with fewer takes all of them.

        Yields
        ------
        Outcome
            In the order of ``counts``.

        Raises
        ------
        InputError
            Orders that are not one per label, or do not fit.
        """
        rows = self._rows(train, test)
        by_label = orders_by_label(orders, rows.labels.shape[1], train.n_features)
        curves = [
            self._curve(rows, order, [min(count, len(order)) for count in counts])
            for order in by_label
        ]
        yield from outcomes_of(curve_by_label(curves), rows.k, counts)

    def _rows(self, train: Source, test: Source) -> Rows:
        """Rows of a curve, their missing values filled if that is asked for."""
        self._check_parameters()
        fill = fill_values(train, self.impute, get_executor())
        if fill is not None:
            train, test = train.filled(fill), test.filled(fill)
        k, normalize = self._usable_neighbors(train.n_samples), self._normalization()
        return Rows(train, test, labels_of(train), k, normalize, None)

    def _curve(self, rows: Rows, order: IntArray, counts: Sequence[int]) -> Curve:
        points, places = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
        return self._learned_curve(self._searched(rows, order, points), places)

    def _learned_curve(self, searched: Searched, places: IntArray) -> Curve:
        learned = self._learn(searched)
        answers = self._answer(searched, learned)
        tied = {"test": answers.tied.mean(axis=0)[places]}
        of_training = self._tied_in_training(learned)
        if of_training is not None:
            tied = {"training": of_training[places], **tied}
        notes = self._notes(searched, learned)
        return Curve(answers.proba, answers.labels, places, tied, notes)

    def _searched(self, rows: Rows, order: IntArray, points: IntArray) -> Searched:
        order = np.asarray(order, dtype=np.int64)
        search = NeighborSearch(
            rows.train,
            rows.query,
            order=order,
            counts=points,
            normalize=rows.normalize,
            summary=rows.summary,
        )
        return Searched(rows, search, order, points)

    def _searches(self, query: Source | None) -> Iterator[Searched]:
        """Neighbours among the rows of the fit, in all features or in those of each label."""
        rows, subsets = self._fitted_rows(query), self.feature_subsets_
        for order in [np.arange(rows.train.n_features)] if subsets is None else subsets:
            yield self._searched(rows, order, np.array([len(order)]))

    def _fitted_rows(self, query: Source | None) -> Rows:
        train, k = self._train, self.n_neighbors_
        return Rows(train, query, labels_of(train), k, self.normalize_, self._summary)

    def _predicted(self, X: Any) -> Predicted:
        found = list(self._answers(X))
        return Predicted(
            _by_label([answers.proba[:, 0] for answers in found]),
            _by_label([answers.labels[:, 0] for answers in found]),
        )

    def _answers(self, X: Any) -> Iterator[Answers]:
        query = self._query_source(X)
        query = query if self._fill is None else query.filled(self._fill)
        for searched, learned in zip(self._searches(query), self._learned, strict=True):
            yield self._answer(searched, learned)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _normalization(self) -> Normalize:
        if self.normalize is not None:
            return self.normalize
        return "none" if self.conventions == "zhang" else "minmax"

    def _usable_neighbors(self, n_train: int) -> int:
        if self.n_neighbors < n_train:
            return self.n_neighbors
        warnings.warn(
            f"n_neighbors = {self.n_neighbors} with {counted(n_train, 'training row')}: each "
            f"row has only {counted(n_train - 1, 'other')}, so "
            f"{counted(n_train - 1, 'neighbour')} {'is' if n_train == 2 else 'are'} used",
            DegenerateInputWarning,
            stacklevel=3,
        )
        return n_train - 1

    def _check_parameters(self) -> None:
        check_count("n_neighbors", self.n_neighbors)
        check_threshold(self.threshold)
        check_choice("normalize", self.normalize, (None, "minmax", "none"))
        check_choice("conventions", self.conventions, ("default", "mulan", "zhang", "sklearn"))
        check_choice("impute", self.impute, ("none", "mean"))


def _by_label(parts: list[A]) -> A:
    """Column l of part l; the only part as it is."""
    if len(parts) == 1:
        return parts[0]
    columns = [part[:, label] for label, part in enumerate(parts)]
    return cast("A", np.stack(columns, axis=1))
