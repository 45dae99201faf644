"""What all selectors have in common: input, attributes after `fit`, scikit-learn's face."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.checks import check_choice, check_count, check_seed
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.source import Source, as_source
from mlfs_dask.graphs.source import labels_of as labels_of  # here methods look for it
from mlfs_dask.graphs.statistics import (
    ColumnSummary,
    imputation_values,
    refuse_infinite,
    refuse_missing,
    summarize_columns,
)
from mlfs_dask.kernels.ranking import chosen_first, rank_order, ranks_of
from mlfs_dask.kernels.shares import count_of_share
from mlfs_dask.selectors.engine import Choice, Engine, Request, drive, finite_or_none
from mlfs_dask.wording import counted


class BaseSelector(SelectorMixin, BaseEstimator):
    """Base of the selectors.

    A subclass has the parameters ``impute``, ``n_features_to_select`` and ``tile``, and sets
    ``scores_``, ``order_``, ``path_`` and ``stop_`` in `_select`.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        By feature, as the paper defines them; greedy methods: the criterion when the feature was
        chosen, NaN if never.
    higher_is_better_ : bool
        Direction of the scores.
    order_ : ndarray of int64, shape (n_features,)
        Feature indices, best first, constants last.
    ranking_ : ndarray of int64, shape (n_features,)
        Rank of each feature, 1 = best.
    support_ : ndarray of bool, shape (n_features,)
        Features that `transform` keeps: ``ranking_ <= n_selected_``.
    n_selected_ : int
    path_ : list of dict
        The steps with their reasons.
    stop_ : str
        Why there are no further steps.
    feature_cost_ : ndarray of float64, shape (n_features,), or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the input had names
    """

    _missing_is_native: ClassVar[bool] = False
    impute: str
    n_features_to_select: Any
    tile: int
    higher_is_better_: bool
    scores_: FloatArray
    order_: IntArray
    path_: list[dict[str, Any]]
    stop_: str

    def fit(
        self, X: Any, Y: Any = None, *, feature_kind: Any = None, feature_cost: Any = None
    ) -> Self:
        """Score the features.

        Parameters
        ----------
        X : ndarray, DataFrame, scipy sparse, dask array, Dataset or Source
            Shape (n_samples, n_features); missing values are NaN.
        Y : array-like of 0/1, shape (n_samples, n_labels)
            Relevant labels; a Dataset brings its own.
        feature_kind : array-like of int, shape (n_features,), optional
            0 numeric, 1 nominal.
        feature_cost : array-like of float, shape (n_features,), optional
            Test costs, >= 0.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Parameters, shapes or values that don't fit.
        MissingValuesError
            Missing values with ``impute = "none"``.
        """
        check_seed(getattr(self, "random_state", None), optional=True)
        self._check_parameters()
        source = as_source(
            X, Y, feature_kind=feature_kind, feature_cost=feature_cost, tile=self.tile
        )
        self._remember_names(X, source)
        source = self._check_labels(source)
        keep = self._count_to_keep(source.n_features)
        executor = get_executor()
        source, summary = prepare(
            source, self.impute, type(self).__name__, executor, native=self._missing_is_native
        )
        self._select(source, summary, executor)
        self.n_selected_ = keep if self.n_features_to_select is not None else self._own_size()
        self.ranking_ = ranks_of(self.order_)
        self.support_ = self.ranking_ <= self.n_selected_
        self.feature_cost_ = source.feature_cost
        return self

    @abstractmethod
    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        """Set ``scores_``, ``order_``, ``path_``, ``stop_`` and ``higher_is_better_``."""

    def _keep_ranking(
        self, scores: FloatArray, constant: BoolArray, *, higher_is_better: bool
    ) -> None:
        """Scores of all features at once, and the order that follows from them."""
        self.higher_is_better_, self.scores_ = higher_is_better, scores
        self.order_ = rank_order(scores, higher_is_better=higher_is_better, constant=constant)
        self.path_ = []
        self.stop_ = "all features ranked"

    def _keep_choices(self, choices: Sequence[Choice], constant: BoolArray) -> None:
        """Scores, order and path of features chosen one by one; the others have no score."""
        chosen = np.array([choice.feature for choice in choices], dtype=np.int64)
        self.scores_ = np.full(len(constant), np.nan)
        self.scores_[chosen] = [choice.score for choice in choices]
        self.order_ = chosen_first(chosen, constant)
        self.path_ = [choice.record() for choice in choices]

    def _keep_driven(
        self, engine: Engine[Any], fulfil: Callable[[Request], Any], constant: BoolArray
    ) -> None:
        """Drive an engine to its end and keep its choices; ``stop_`` says what ended it."""
        choices: list[Choice] = []
        for step in drive(engine, fulfil):
            choices.extend(step.decided)
            self.stop_ = step.stop or ""
        self._keep_choices(choices, constant)

    def _own_size(self) -> int:
        """Features to keep where no number was asked for; a subset method's own number."""
        return self.n_features_in_

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse impossible parameters, before anything is read."""

    def _check_common(self) -> None:
        check_choice("impute", self.impute, ("none", "mean"))
        check_count("tile", self.tile)
        k = self.n_features_to_select
        is_share = isinstance(k, numbers.Real) and not isinstance(k, numbers.Integral)
        if is_share and not 0.0 < float(k) <= 1.0:
            raise InputError(
                f"n_features_to_select = {k}: expected None, a number of features, "
                "or a share above 0 and at most 1"
            )
        if not is_share and k is not None:
            check_count("n_features_to_select", k)

    def _count_to_keep(self, n_features: int) -> int:
        k = self.n_features_to_select
        if k is None:
            return n_features
        if not isinstance(k, numbers.Integral):
            return count_of_share(float(k), n_features)
        if int(k) > n_features:
            raise InputError(
                f"n_features_to_select = {k}: X has {counted(n_features, 'feature')}",
                hint="Give a smaller number, or a share such as 0.2.",
            )
        return int(k)

    def _check_labels(self, source: Source) -> Source:
        if source.Y is None:
            raise InputError(
                f"{type(self).__name__} requires Y to be passed: requires y to be passed, but the "
                "target y is None",
                hint="Call fit(X, Y) with a 0/1 matrix of shape (n_samples, n_labels).",
            )
        if source.Y.shape[1] == 0:
            raise InputError("Y has no labels; expected at least one column")
        return source

    def _remember_names(self, X: Any, source: Source) -> None:
        for count, noun in ((source.n_samples, "sample"), (source.n_features, "feature")):
            if count == 0:
                shape = (source.n_samples, source.n_features)
                raise InputError(
                    f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 is "
                    "required."
                )
        self._names_are_the_stores = not hasattr(X, "shape")
        if not self._names_are_the_stores:
            validate_data(self, X, skip_check_array=True)
            return
        self.n_features_in_ = source.n_features
        if source.feature_names is not None:
            self.feature_names_in_ = np.array(source.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self, "support_")
        return self.support_

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, in their original order.

        Parameters
        ----------
        X : ndarray, DataFrame, scipy sparse, dask array, Dataset or Source
            Shape (n_samples, n_features).

        Returns
        -------
        array of the same kind, shape (n_samples, n_selected)
            For a Dataset or Source an ndarray or CSR matrix; dask arrays stay lazy.
        """
        kept = np.flatnonzero(self._get_support_mask())
        if hasattr(X, "shape") and not hasattr(X, "to_delayed"):
            if not self._names_are_the_stores:
                return super().transform(X)
            self._check_width(X.shape[1])
            return self._transform(X)
        if isinstance(X, Source):
            self._check_width(X.n_features)
            return _stack([X.block(t)[:, kept] for t in range(X.n_tiles)])
        if hasattr(X, "to_delayed"):
            self._check_width(X.shape[1])
            return X[:, kept]
        if hasattr(X, "X"):
            self._check_width(X.X.shape[1])
            return X.X[:][:, kept]
        return super().transform(X)

    def _check_width(self, width: int) -> None:
        if width != self.n_features_in_:
            raise InputError(
                f"X has {width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def selection_record(self) -> dict[str, Any]:
        """What the run's record of this selection holds; numbers that aren't finite are None.

        Returns
        -------
        dict
            ``problems``, ``order``, ``scores``, ``higher_is_better``, ``support`` (indices,
            ascending), ``cost`` (of the support; None without costs), ``path``, ``stop``.
        """
        check_is_fitted(self, "support_")
        kept = np.flatnonzero(self.support_)
        cost = None if self.feature_cost_ is None else math.fsum(self.feature_cost_[kept])
        return {
            "problems": None,
            "order": self.order_.tolist(),
            "scores": [finite_or_none(score) for score in self.scores_.tolist()],
            "higher_is_better": self.higher_is_better_,
            "support": kept.tolist(),
            "cost": cost,
            "path": [{k: finite_or_none(v) for k, v in step.items()} for step in self.path_],
            "stop": self.stop_,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.sparse = True
        imputed = getattr(self, "impute", "none") == "mean"
        tags.input_tags.allow_nan = imputed or self._missing_is_native
        return tags


def prepare(
    source: Source, impute: str, method: str, executor: Executor, *, native: bool = False
) -> tuple[Source, ColumnSummary]:
    """Summarize the columns and settle missing values.

    Parameters
    ----------
    source
        Rows.
    impute
        ``"none"`` refuses missing values, ``"mean"`` replaces them.
    method
        Name shown to the user.
    executor
        Where to run.
    native
        The method has a rule for missing values: ``"none"`` leaves them.

    Raises
    ------
    MissingValuesError, InputError
        Missing or infinite values.
    """
    summary = summarize_columns(source, executor)
    refuse_infinite(summary, source)
    if summary.n_missing.any() and not (native and impute == "none"):
        if impute == "none":
            refuse_missing(summary, source, method)
        source = source.filled(imputation_values(source, executor))
        summary = summarize_columns(source, executor)
    return source, summary


def _stack(blocks: list[Any]) -> Any:
    if blocks and hasattr(blocks[0], "indptr"):
        import scipy.sparse as sp

        return sp.csr_matrix(sp.vstack(blocks, format="csr"))
    return np.concatenate(blocks)
