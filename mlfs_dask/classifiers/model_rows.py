"""Rows as the tasks of models get them, checked once for all models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.classifiers.base import labels_of
from mlfs_dask.classifiers.base_learners.learner import BaseLearner
from mlfs_dask.classifiers.model_tasks import TrainingRows
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source, TileItem
from mlfs_dask.graphs.statistics import refuse_infinite, refuse_missing, summarize_columns
from mlfs_dask.graphs.tiles import local_items


class UsedFeatures(NamedTuple):
    """The features that some model uses, and what the models are.

    Attributes
    ----------
    used : ndarray of int64
        Ascending, at least one.
    learner : BaseLearner
    method : str
        Name of the classifier, for messages.
    """

    used: IntArray
    learner: BaseLearner
    method: str

    @classmethod
    def of(cls, features: Sequence[IntArray], learner: BaseLearner, method: str) -> UsedFeatures:
        """Those of some models.

        Parameters
        ----------
        features
            Of each model.
        learner, method
            See the class.
        """
        used = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *features]))
        # Rows without a feature would not say how many they are.
        return cls(used if len(used) else np.zeros(1, dtype=np.int64), learner, method)

    def places(self, features: IntArray) -> IntArray:
        """Where features stand among those used.

        Parameters
        ----------
        features : ndarray of int64
            Features of the data set.
        """
        return np.searchsorted(self.used, features).astype(np.int64)

    def training_rows(self, source: Source, executor: Executor) -> TrainingRows:
        """Rows to learn from.

        Parameters
        ----------
        source
            With labels.
        executor
            Where to run.

        Raises
        ------
        InputError
            Missing or infinite values that the learner cannot take; no labels.
        """
        labels = labels_of(source)
        kept = self._checked(source, executor)
        return TrainingRows(local_items(kept, executor), labels, kept.feature_kind)

    def other_rows(self, source: Source, executor: Executor) -> list[TileItem]:
        """Rows to predict.

        Parameters
        ----------
        source, executor
            As for `training_rows`.
        """
        return local_items(self._checked(source, executor), executor)

    def _checked(self, source: Source, executor: Executor) -> Source:
        if source.dtype.kind == "f":
            summary = summarize_columns(source, executor)
            ours = np.isin(np.arange(source.n_features), self.used)
            if not self.learner.takes_missing:
                counted = np.where(ours, summary.n_missing, 0)
                refuse_missing(replace(summary, n_missing=counted), source, self._name)
            low, high = (np.where(ours, ends, 0.0) for ends in (summary.low, summary.high))
            refuse_infinite(replace(summary, low=low, high=high), source)
        return source if len(self.used) == source.n_features else source.keep_features(self.used)

    @property
    def _name(self) -> str:
        return f"{self.method} with base learner {self.learner.name}"
