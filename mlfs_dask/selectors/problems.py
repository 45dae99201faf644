"""Selectors that split the labels into two-class problems and rank the features for each."""

from __future__ import annotations

import copy
import itertools
from abc import abstractmethod
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Problem
from mlfs_dask.checks import check_choice
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.ranking import rank_order
from mlfs_dask.selectors.base import BaseSelector, labels_of
from mlfs_dask.selectors.engine import finite_or_none

Problems: TypeAlias = tuple[Problem, ...]
Order: TypeAlias = Literal["auto", 1, 2]


def problems_of_order(order: Order, n_labels: int) -> Problems:
    """The problems that labels are split into.

    Parameters
    ----------
    order
        1: each label against the rest. 2: each label against each other one, on the rows that have
        exactly one of the two. ``"auto"`` is 1 here; a job takes what its classifiers need.
    n_labels
        Number of labels.

    Raises
    ------
    InputError
        No pair of labels to tell apart.

    Examples
    --------
    >>> problems_of_order(1, 3)
    ((0,), (1,), (2,))
    >>> problems_of_order(2, 3)
    ((0, 1), (0, 2), (1, 2))
    """
    if order == 2 and n_labels < 2:
        raise InputError(
            "order = 2 tells labels from each other: expected at least two labels, Y has 1",
            hint="Use order = 1.",
        )
    return tuple(itertools.combinations(range(n_labels), 2 if order == 2 else 1))


class ProblemSelector(BaseSelector):
    """Base of the selectors that rank the features for each problem.

    A subclass has the parameter ``order`` besides those of `BaseSelector`, and scores all problems
    in `_score`.

    Attributes
    ----------
    problems_ : tuple of tuple of int
        Label indices: ``(l,)`` for label l against the rest, ``(a, b)`` for a against b.
    scores_ : ndarray of float64, shape (n_problems, n_features)
    order_, ranking_ : ndarray of int64, shape (n_problems, n_features)
    support_ : ndarray of bool, shape (n_problems, n_features)
    """

    order: Any
    problems_: Problems
    _problem: int | None = None

    @abstractmethod
    def _score(
        self, source: Source, summary: ColumnSummary, problems: Problems, executor: Executor
    ) -> tuple[FloatArray, BoolArray]:
        """Scores and which features are constant on a problem's rows, (n_problems, n_features)."""

    def _check_order(self) -> None:
        check_choice("order", self.order, ("auto", 1, 2))

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        self.problems_ = problems_of_order(self.order, labels_of(source).shape[1])
        self.scores_, constant = self._score(source, summary, self.problems_, executor)
        orders = [
            rank_order(scores, higher_is_better=self.higher_is_better_, constant=fixed)
            for scores, fixed in zip(self.scores_, constant, strict=True)
        ]
        self.order_ = np.stack(orders)
        self.path_ = []
        self.stop_ = "all features ranked"

    def _get_support_mask(self) -> BoolArray:
        support = super()._get_support_mask()
        chosen = support if self._problem is None else support[[self._problem]]
        kept: BoolArray = np.any(chosen, axis=0)
        return kept

    def transform(self, X: Any) -> Any:
        """Keep the columns that some problem selected, in their original order.

        Parameters
        ----------
        X : ndarray, DataFrame, scipy sparse, dask array, Dataset or Source
            Shape (n_samples, n_features).

        Returns
        -------
        array of the same kind, shape (n_samples, n_selected)
            See :meth:`transform_problem` for the columns of one problem.
        """
        return super().transform(X)

    def transform_problem(self, X: Any, i: int) -> Any:
        """Keep the columns that one problem selected, in their original order.

        Parameters
        ----------
        X : ndarray, DataFrame, scipy sparse, dask array, Dataset or Source
            Shape (n_samples, n_features).
        i
            Position of the problem in ``problems_``.

        Returns
        -------
        array of the same kind, shape (n_samples, n_selected)

        Raises
        ------
        InputError
            No such problem.
        """
        one = self._of_problem(i)
        return one.transform(X)

    def _of_problem(self, i: int) -> Self:
        n_problems = len(super()._get_support_mask())
        if not 0 <= i < n_problems:
            raise InputError(f"i = {i}: expected a problem from 0 to {n_problems - 1}")
        one = copy.copy(self)
        one._problem = i
        return one

    def selection_record(self) -> dict[str, Any]:
        """What the run's record of this selection holds; numbers that aren't finite are None.

        Returns
        -------
        dict
            As other selectors', but ``problems`` is the list of label indices of each problem,
            ``order``, ``scores`` and ``support`` are lists with one list per problem, and ``cost``
            is the mean over the problems.
        """
        support = super()._get_support_mask()
        costs = self.feature_cost_
        return {
            "problems": [list(problem) for problem in self.problems_],
            "order": self.order_.tolist(),
            "scores": [[finite_or_none(s) for s in row] for row in self.scores_.tolist()],
            "higher_is_better": self.higher_is_better_,
            "support": [np.flatnonzero(kept).tolist() for kept in support],
            "cost": None if costs is None else float(np.mean([costs[k].sum() for k in support])),
            "path": self.path_,
            "stop": self.stop_,
        }
