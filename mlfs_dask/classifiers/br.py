"""Binary relevance: one model per label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlfs_dask._typing import Conventions, Impute, IntArray
from mlfs_dask.checks import check_threshold
from mlfs_dask.classifiers.base import orders_by_label
from mlfs_dask.classifiers.base_learners import BaseName
from mlfs_dask.classifiers.predicted import Predicted
from mlfs_dask.classifiers.problems import Problem, Relevance
from mlfs_dask.classifiers.transformation import TransformationClassifier


class BinaryRelevance(TransformationClassifier):
    """Binary relevance: a model for each label, label against the rest on all rows.

    Score of label l is the probability that its model gives, p_l; present if p_l >= ``threshold``.
    A label that no or every training row carries is answered so, with score 0 or 1.

    Parameters
    ----------
    base : str or scikit-learn classifier
        What learns: ``"c45"``, ``"knn"``, ``"logistic"``, ``"naive-bayes"``, ``"svm-rbf"``,
        ``"tree"``; in Python any estimator, cloned for each model.
    base_params
        Parameters of a named learner, such as ``{ n_neighbors = 5 }``: c45: confidence,
        min_objects, prune, subtree_raising; knn: n_neighbors, normalize; logistic: ridge, max_iter;
        naive-bayes: var_smoothing; svm-rbf: C, gamma, scores; tree: criterion, max_depth,
        min_samples_split, min_samples_leaf, pruning.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
        ``"none"``: c45, knn and tree take them as they are, the others refuse them.
    threshold
        A label is predicted from this score on.
    random_state : int or SeedSequence
        Model l draws from the stream with the spawn key l below it.

    Attributes
    ----------
    models_ : list of FittedModel
        One per label.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities,
        missing values that the base learner has no rule for.

    References
    ----------
    G. Tsoumakas, I. Katakis: Multi-label classification: an overview. International Journal of Data
    Warehousing and Mining 3 (2007) 1-13. Paper C: Cheng & Hüllermeier 2009, section 5 (BR-LR).

    Notes
    -----
    q models, each its own task. A process holds the training rows once, with the features in use
    and as stored, and for each of its threads one copy as float64.

    Conventions:

    - ``default``, ``mulan``, ``sklearn``: a probability of exactly 0.5 is "present"; the base
      learner ``knn`` compares min-max scaled features; of rows equally far away the first count.
    - ``zhang``: the same, but ``knn`` compares the values as given.

    Rows without labels are learned from like others. How measures treat them, and where coverage
    begins to count, is decided by the conventions of the evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> BinaryRelevance(base="tree").fit(X, Y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    each_has_features = True

    def __init__(
        self,
        base: BaseName | Any = "logistic",
        base_params: dict[str, Any] | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        threshold: float = 0.5,
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.base_params = base_params
        self.conventions = conventions
        self.impute = impute
        self.threshold = threshold
        self.random_state = random_state

    def models(self, n_labels: int) -> list[Problem]:
        """Each label against the rest.

        Parameters
        ----------
        n_labels
            Number of labels.

        Examples
        --------
        >>> [problem.labels for problem in BinaryRelevance().models(2)]
        [(0,), (1,)]
        """
        return [Relevance((label,)) for label in range(n_labels)]

    def _of_problems(
        self, orders: Any, problems: Sequence[Problem], n_features: int
    ) -> list[IntArray]:
        return orders_by_label(orders, len(problems), n_features)

    def _tally(self, n_rows: int, n_labels: int) -> _Columns:
        return _Columns(np.zeros((n_rows, n_labels)), self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_threshold(self.threshold)


class _Columns:
    """The answer of a label's model is the label's column."""

    def __init__(self, proba: Any, classifier: BinaryRelevance) -> None:
        self._proba, self._classifier = proba, classifier

    def add(self, problem: Problem, answer: Any) -> None:
        self._proba[:, problem.labels[0]] = answer

    def result(self) -> Predicted:
        return Predicted(self._proba, self._classifier.decide(self._proba))
