"""IBLR-ML: logistic regression on how many of the nearest rows carry each label."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from mlfs_dask._typing import (
    AnyArray,
    Conventions,
    FloatArray,
    Impute,
    IntArray,
    Normalize,
)
from mlfs_dask.checks import check_choice
from mlfs_dask.classifiers.curves import Answers, Searched, tied_share
from mlfs_dask.classifiers.neighbors import NeighborClassifier
from mlfs_dask.errors import DegenerateInputWarning
from mlfs_dask.graphs.columns import Columns, make_columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.label_counts import counts_of_queries, counts_of_training
from mlfs_dask.graphs.logistic import Inputs, Models, fit_labels, probabilities
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import imputation_values, summarize_columns
from mlfs_dask.graphs.tiles import local_items
from mlfs_dask.wording import counted

Nominal: TypeAlias = Literal["onehot", "codes"]


@dataclass(frozen=True, eq=False)
class _Added:
    """Features that are inputs of the regressions themselves.

    Attributes
    ----------
    columns : Columns
    which : ndarray of int64
        Columns of the features, in their order.
    ends : ndarray of int64, shape (n_points,)
        How many of them are inputs at each point.
    fill : ndarray of float64, shape (n_features,)
        What replaces missing values here.
    """

    columns: Columns
    which: IntArray
    ends: IntArray
    fill: FloatArray


@dataclass(frozen=True, eq=False)
class _Learned:
    """What the training rows teach.

    Attributes
    ----------
    models : list of Models
        By point.
    added : _Added or None
    tied : ndarray of float64, shape (n_points,)
        Share of training rows tied at the k-th neighbour.
    """

    models: list[Models]
    added: _Added | None
    tied: FloatArray


class IBLR(NeighborClassifier):
    """Instance-based learning and logistic regression combined (IBLR-ML, with ``plus`` IBLR-ML+).

    The labels of a row's nearest neighbours are inputs of one logistic regression per label, so
    each label learns how much every other label in the neighbourhood speaks for it or against it.
    Training rows are described by their neighbours without themselves.

    Parameters
    ----------
    n_neighbors
        k >= 1; with fewer training rows n - 1 are used, with a warning.
    plus
        The features are inputs besides (IBLR-ML+).
    nominal
        What nominal features of more than two values are among these inputs: ``"onehot"``, one 0/1
        input per value, or ``"codes"``, the numbers of the values. Distances compare them by
        equality either way.
    normalize
        Of distances. ``"minmax"``: numeric features scaled by their training range, test values not
        clipped, constant features 0. ``"none"``: as given. The default, None, is ``"none"`` with
        ``conventions = "zhang"``, else ``"minmax"``.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first. With
        ``"none"`` distances have their own rule for them; where ``plus`` makes features inputs,
        their missing values are replaced for the regressions only.
    threshold
        A label is predicted from this probability on.

    Attributes
    ----------
    n_neighbors_ : int
        k as used.
    normalize_ : str
        ``normalize`` as used.
    intercept_ : ndarray of float64, shape (n_labels,)
        Minus or plus infinity for a label that no or all training rows carry.
    alpha_ : ndarray of float64, shape (n_labels, n_labels)
        ``alpha_[l, j]``: what a neighbour with label j, against one without, counts for label l
        (eq. 11).
    beta_ : ndarray of float64, shape (n_labels, n_inputs), or None
        With ``plus`` the weights of the features (eq. 13), infinite where a feature is so small
        that float64 has no such weight per unit of it; with features per label a list.
    beta_features_ : ndarray of int64, shape (n_inputs,), or None
        Feature that each of them belongs to; with features per label a list.
    imputed_ : int
        Features with missing values in training rows that were replaced for the regressions.
    n_iter_ : ndarray of int64, shape (n_labels,)
        Newton steps of each regression.
    tied_share_ : float
        Share of training rows whose (k+1)-th neighbour is as near as the k-th. NaN if there is no
        further row.
    road_, pair_share_, feature_subsets_
        As for ML-kNN.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities.

    References
    ----------
    W. Cheng, E. Hüllermeier: Combining instance-based learning and logistic regression for
    multilabel classification. Machine Learning 76 (2009) 211-225, equations 6 and 11-13.

    Notes
    -----
    Maximum likelihood by Newton's method on inputs of mean 0 and deviation 1, with a ridge of 1e-8
    that keeps weights finite where a label can be told without error; there probabilities are
    decided by the ridge, decisions are not.

    Conventions:

    - ``default``: distances on min-max scaled features; of rows equally far away the first counts;
      a probability of exactly 0.5 is "present".
    - ``mulan``: the same. Mulan takes its search's own order of ties, and its optimizer stops a
      little earlier: probabilities of rows without ties agree to about 1e-5.
    - ``zhang``: distances on the values as given.
    - ``sklearn``: as ``default``.

    Rows without labels train like others. How measures treat rows without labels, and where
    coverage begins to count, is decided by the conventions of the evaluation.

    O(n² d) for the neighbours, O(n p²) per label and Newton step with p = q inputs, with ``plus``
    q + d; never more than blocks of the distances in memory.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((40, 2))
    >>> Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.5]).astype(int)
    >>> IBLR(n_neighbors=5).fit(X, Y).predict([[0.9, 0.1], [0.1, 0.9]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        plus: bool = False,
        nominal: Nominal = "onehot",
        normalize: Normalize | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        threshold: float = 0.5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.plus = plus
        self.nominal = nominal
        self.normalize = normalize
        self.conventions = conventions
        self.impute = impute
        self.threshold = threshold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("plus", self.plus, (False, True))
        check_choice("nominal", self.nominal, ("onehot", "codes"))

    def _learn(self, searched: Searched) -> _Learned:
        rows, executor = searched.rows, searched.search.executor
        counts, _, tied = counts_of_training(searched.search, rows.k, rows.labels)
        added = self._added(searched) if self.plus else None
        models = fit_labels(_inputs(rows.train, counts, added, executor), rows.labels, executor)
        for model in models:
            stopped = int(np.count_nonzero(~model.converged))
            if stopped:
                warnings.warn(
                    f"the regressions of {counted(stopped, 'label')} have not converged after "
                    f"{counted(int(model.n_steps.max()), 'Newton step')}; their last iterates are "
                    "kept",
                    DegenerateInputWarning,
                    stacklevel=4,
                )
        return _Learned(models, added, tied.mean(axis=0))

    def _answer(self, searched: Searched, learned: _Learned) -> Answers:
        rows, executor = searched.rows, searched.search.executor
        assert rows.query is not None
        counts, _, tied = counts_of_queries(searched.search, rows.k, rows.labels)
        inputs = _inputs(rows.query, counts, learned.added, executor)
        proba = probabilities(inputs, learned.models, executor)
        return Answers(proba, self.decide(proba), tied)

    def _added(self, searched: Searched) -> _Added:
        """Columns of the features of a curve; missing values and codes are settled here."""
        train, executor = searched.rows.train, searched.search.executor
        assert searched.order is not None
        fill = imputation_values(train, executor)
        filled = train.filled(fill)
        if self.nominal == "codes":
            filled = copy.copy(filled)
            filled.feature_kind = np.zeros_like(train.feature_kind)
        columns = make_columns(filled, summarize_columns(filled, executor), executor)
        starts = np.searchsorted(columns.feature, np.arange(train.n_features + 1))
        used = searched.order[: searched.points[-1]]
        runs = [np.arange(starts[f], starts[f + 1]) for f in used]
        widths = np.cumsum([0, *(len(run) for run in runs)])
        which = np.concatenate([np.zeros(0, dtype=np.int64), *runs])
        return _Added(columns, which, widths[searched.points], fill)

    def _tied_in_training(self, learned: _Learned) -> FloatArray:
        return learned.tied

    def _notes(self, searched: Searched, learned: _Learned) -> list[str]:
        rows = searched.rows
        missing = _missing([learned], rows.train, rows.query)
        if missing == 0:
            return []
        return [
            f"plus: missing values of {counted(missing, 'added feature')} were replaced by the "
            "training mean (nominal: the mode) for the logistic part only"
        ]

    def _show(self, learned: Sequence[_Learned]) -> None:
        k, n_labels = self.n_neighbors_, self.n_labels_
        own = self.feature_subsets_ is not None
        # Regression of each label: all are in one fit, or each is in the fit to its features.
        fits = [learned[label if own else 0] for label in range(n_labels)]
        self.intercept_ = np.zeros(n_labels)
        self.alpha_ = np.zeros((n_labels, n_labels))
        self.n_iter_ = np.zeros(n_labels, dtype=np.int64)
        beta = []
        for label, each in enumerate(fits):
            model = each.models[0]
            slopes = np.divide(
                model.weights[1:, label],
                model.deviation,
                out=np.zeros(len(model.deviation)),
                where=model.deviation > 0,
            )
            of_counts = slopes[len(slopes) - n_labels :]
            centre = slopes @ model.mean - of_counts.sum() * k / 2
            self.intercept_[label] = model.weights[0, label] - centre
            # A count c is (omega + k) / 2.
            self.alpha_[label] = of_counts / 2
            self.n_iter_[label] = model.n_steps[label]
            beta.append(_per_unit(slopes[: len(slopes) - n_labels], each.added))
        features = [_features(each.added) for each in learned]
        self.beta_: Any = None
        self.beta_features_: Any = None
        if self.plus:
            self.beta_ = beta if own else np.array(beta)
            self.beta_features_ = features if own else features[0]
        self.imputed_ = _missing(learned, self._train)
        self.tied_share_ = tied_share([each.tied[0] for each in learned], self._train.n_samples, k)


def _inputs(source: Source, counts: AnyArray, added: _Added | None, executor: Executor) -> Inputs:
    """Inputs of the regressions for some rows."""
    if added is None:
        none = np.zeros(0, dtype=np.int64)
        ends = np.zeros(counts.shape[1], dtype=np.int64)
        return Inputs(source.offsets, [], None, none, ends, counts)
    filled = source.filled(added.fill)
    items = local_items(filled, executor)
    return Inputs(source.offsets, items, added.columns, added.which, added.ends, counts)


def _missing(learned: Sequence[_Learned], *sources: Source | None) -> int:
    """Features among the inputs with missing values."""
    inputs = np.unique(np.concatenate([_features(each.added) for each in learned]))
    if len(inputs) == 0:
        return 0
    missing = np.zeros(len(inputs), dtype=bool)
    for source in sources:
        if source is not None and source.dtype.kind == "f":
            missing |= summarize_columns(source).n_missing[inputs] > 0
    return int(np.count_nonzero(missing))


def _features(added: _Added | None) -> IntArray:
    """Feature that each added input belongs to."""
    return np.zeros(0, dtype=np.int64) if added is None else added.columns.feature[added.which]


def _per_unit(slopes: FloatArray, added: _Added | None) -> FloatArray:
    """Weights of the features' own units."""
    if added is None or added.columns.scale is None:
        return slopes
    with np.errstate(over="ignore"):  # a slope per unit of 1e-310 may be beyond float64: infinite
        return slopes * added.columns.scale[added.which]
