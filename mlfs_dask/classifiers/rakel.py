"""RAkEL: votes of label powersets of random subsets of the labels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mlfs_dask._typing import Conventions, Impute
from mlfs_dask.checks import check_count, check_threshold
from mlfs_dask.classifiers.base_learners import BaseName
from mlfs_dask.classifiers.predicted import Predicted
from mlfs_dask.classifiers.problems import Powerset, Problem
from mlfs_dask.classifiers.transformation import (
    WHOLE_METHOD,
    TransformationClassifier,
    model_stream,
)
from mlfs_dask.wording import are, counted


class RAkEL(TransformationClassifier):
    """Random k-labelsets: label powersets of m distinct subsets of k labels vote.

    v_l = (models that predict label l) / (models whose subset has it), 0 if none has; present if
    v_l >= ``threshold``. With no more than k labels it is the label powerset of all of them.

    Parameters
    ----------
    base : str or scikit-learn classifier
        What learns: ``"c45"``, ``"knn"``, ``"logistic"``, ``"naive-bayes"``, ``"svm-rbf"``,
        ``"tree"``; in Python any estimator, cloned for each model. ``br`` lists their
        parameters.
    base_params
        Parameters of a named learner.
    labelset_size
        k.
    n_models
        m, at most the number of subsets there are; default twice the number of labels.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
        ``"none"``: c45, knn and tree take them as they are, the others refuse them.
    threshold
        A label is predicted from this share of the votes on.
    random_state : int or SeedSequence
        Subsets are drawn from the stream with the spawn key 2^32 - 1 below it, without repetition;
        model i draws from that with the key i.

    Attributes
    ----------
    labelsets_ : tuple of tuple of int
        Labels of each model, ascending, in the order drawn.
    models_ : list of FittedModel
        One for each.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities,
        missing values that the base learner has no rule for.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas: Random k-labelsets for multilabel classification. IEEE
    TKDE 23 (2011) 1079-1089.

    Notes
    -----
    m models with up to 2^k classes, each its own task. A process holds the training rows once, with
    the features in use and as stored, and for each of its threads one copy as float64.

    Conventions:

    - ``default``, ``mulan``, ``sklearn``: half of the votes are "present"; of equally probable sets
      of a model the first has its vote. (Mulan's default model is a binary relevance of trees;
      here, as in the paper, it is a label powerset.)
    - ``zhang``: the same, but the base learner ``knn`` compares the values as given, not min-max
      scaled.

    The empty set is a class like others. How measures treat rows without labels, and where coverage
    begins to count, is decided by the conventions of the evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> Y = np.array([[1, 0, 0, 1]] * 2 + [[0, 1, 0, 1]] * 2 + [[0, 0, 1, 0]] * 2)
    >>> fitted = RAkEL(base="tree").fit(X, Y)
    >>> sorted(fitted.labelsets_)
    [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    >>> fitted.predict([[0.05], [2.05]])
    array([[1, 0, 0, 1],
           [0, 0, 1, 0]], dtype=uint8)
    """

    def __init__(
        self,
        base: BaseName | Any = "c45",
        base_params: dict[str, Any] | None = None,
        labelset_size: int = 3,
        n_models: int | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        threshold: float = 0.5,
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.base_params = base_params
        self.labelset_size = labelset_size
        self.n_models = n_models
        self.conventions = conventions
        self.impute = impute
        self.threshold = threshold
        self.random_state = random_state

    @property
    def labelsets_(self) -> tuple[tuple[int, ...], ...]:
        """Labels of each fitted model."""
        return tuple(model.problem.labels for model in self.models_)

    def models(self, n_labels: int) -> list[Problem]:
        """The subsets of labels, in the order drawn.

        Parameters
        ----------
        n_labels
            Number of labels.

        Examples
        --------
        >>> len(RAkEL().models(14)), len(RAkEL().models(4)), len(RAkEL().models(3))
        (28, 4, 1)
        """
        wanted = 2 * n_labels if self.n_models is None else self.n_models
        stream = model_stream(self.random_state, WHOLE_METHOD)
        subsets = draw_subsets(n_labels, self.labelset_size, wanted, stream)
        return [Powerset(subset) for subset in subsets]

    def _remarks(self, problems: Any, n_labels: int) -> list[str]:
        said = super()._remarks(problems, n_labels)
        if self.n_models is not None and self.n_models > len(problems):
            n = len(problems)
            said.append(f"n_models = {self.n_models}, but there {are(n)} {counted(n, 'subset')}")
        left = n_labels - len({label for problem in problems for label in problem.labels})
        if left:
            said.append(f"labels that no subset has, which are never predicted: {left}")
        return said

    def _tally(self, n_rows: int, n_labels: int) -> _Votes:
        return _Votes(n_rows, n_labels, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("labelset_size", self.labelset_size)
        if self.n_models is not None:
            check_count("n_models", self.n_models)
        check_threshold(self.threshold)


class _Votes:
    """Share of the models with a label that predict it."""

    def __init__(self, n_rows: int, n_labels: int, classifier: RAkEL) -> None:
        self._for = np.zeros((n_rows, n_labels), dtype=np.int64)
        self._asked = np.zeros(n_labels, dtype=np.int64)
        self._classifier = classifier

    def add(self, problem: Problem, answer: Any) -> None:
        labels = list(problem.labels)
        self._for[:, labels] += answer.labels
        self._asked[labels] += 1

    def result(self) -> Predicted:
        share = self._for / np.maximum(self._asked, 1)
        return Predicted(share, self._classifier.decide(share))


def draw_subsets(
    n_labels: int, size: int, wanted: int, stream: np.random.SeedSequence
) -> list[tuple[int, ...]]:
    """Distinct subsets of labels, drawn without repetition.

    Parameters
    ----------
    n_labels, size
        Of the labels, and of each subset; all labels at once if there are no more.
    wanted
        Number of subsets; all there are if those are fewer.
    stream
        Seed.

    Examples
    --------
    >>> draw_subsets(3, 3, 6, np.random.SeedSequence(0))
    [(0, 1, 2)]
    """
    if n_labels <= size:
        return [tuple(range(n_labels))]
    rng = np.random.default_rng(stream)
    there_are = math.comb(n_labels, size)
    if 2 * wanted >= there_are:
        every = list(itertools.combinations(range(n_labels), size))
        return [every[place] for place in rng.permutation(there_are)[:wanted]]
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < wanted:
        subset = np.sort(rng.choice(n_labels, size, replace=False))
        drawn.setdefault(tuple(subset.tolist()))
    return list(drawn)
