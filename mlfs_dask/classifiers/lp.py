"""Label powerset: one model whose classes are the label sets of the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlfs_dask._typing import ByteArray, Conventions, FloatArray, Impute
from mlfs_dask.checks import check_choice
from mlfs_dask.classifiers.base_learners import BaseName
from mlfs_dask.classifiers.predicted import Predicted
from mlfs_dask.classifiers.problems import Powerset, Problem, SetScores
from mlfs_dask.classifiers.transformation import TransformationClassifier
from mlfs_dask.errors import InputError


class LabelPowerset(TransformationClassifier):
    """Label powerset: each distinct label set of the training rows is a class.

    A row gets the labels of its most probable class, so always a set that some training row has. Of
    equally probable classes it is the first in the lexicographic order of their bits (label 0
    first, 0 before 1).

    Parameters
    ----------
    base : str or scikit-learn classifier
        What learns: ``"c45"``, ``"knn"``, ``"logistic"``, ``"naive-bayes"``, ``"svm-rbf"``,
        ``"tree"``; in Python any estimator. ``br`` lists their parameters.
    base_params
        Parameters of a named learner.
    scores
        ``"votes"``: 1 for labels of the predicted set, 0 for others. ``"confidence"``: p for them,
        1 - p for others, with p the probability of the set. ``"marginal"``: sum of the
        probabilities of the sets with the label. The default, None, is ``"confidence"`` with
        ``conventions = "mulan"``, else ``"votes"``.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
        ``"none"``: c45, knn and tree take them as they are, the others refuse them.
    random_state : int or SeedSequence
        The model draws from the stream with the spawn key 0 below it.

    Attributes
    ----------
    models_ : list of FittedModel
        The one model; its ``classes`` are the label sets, shape (n_sets, n_labels).
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities,
        missing values that the base learner has no rule for.

    References
    ----------
    M. R. Boutell, J. Luo, X. Shen, C. M. Brown: Learning multi-label scene classification. Pattern
    Recognition 37 (2004) 1757-1771. Paper C: Cheng & Hüllermeier 2009, section 5 (LP).

    Notes
    -----
    One model with up to min(n, 2^q) classes, so one task.

    Conventions:

    - ``default``, ``sklearn``: scores are 0 and 1; of equally probable sets the first is predicted.
    - ``mulan``: scores are p and 1 - p. (Mulan draws among equally probable sets.)
    - ``zhang``: as ``default``, but the base learner ``knn`` compares the values as given, not
      min-max scaled.

    The empty set is a class like others. How measures treat rows without labels, and where coverage
    begins to count, is decided by the conventions of the evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> Y = np.array([[1, 0]] * 2 + [[0, 1]] * 2 + [[1, 1]] * 2)
    >>> LabelPowerset(base="tree").fit(X, Y).predict([[0.05], [2.05]])
    array([[1, 0],
           [1, 1]], dtype=uint8)
    """

    def __init__(
        self,
        base: BaseName | Any = "c45",
        base_params: dict[str, Any] | None = None,
        scores: SetScores | None = None,
        conventions: Conventions = "default",
        impute: Impute = "none",
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.base_params = base_params
        self.scores = scores
        self.conventions = conventions
        self.impute = impute
        self.random_state = random_state

    def models(self, n_labels: int) -> list[Problem]:
        """All labels at once.

        Parameters
        ----------
        n_labels
            Number of labels.
        """
        return [Powerset(tuple(range(n_labels)), self._scores())]

    def decide(self, proba: FloatArray) -> ByteArray:
        """Labels from scores of 0 and 1; `predict` and `outcomes` know them with any scores.

        Parameters
        ----------
        proba : ndarray of float64, shape (n_samples, n_labels)
            From ``predict_proba`` or ``curve``.

        Returns
        -------
        ndarray of uint8, shape (n_samples, n_labels)

        Raises
        ------
        InputError
            The scores are others.
        """
        if self._scores() != "votes":
            raise InputError(
                f"the most probable label set cannot be told from scores = {self._scores()!r}",
                hint="Use predict, or outcomes.",
            )
        return (proba >= 0.5).astype(np.uint8)

    def _scores(self) -> SetScores:
        if self.scores is not None:
            return self.scores
        return "confidence" if self.conventions == "mulan" else "votes"

    def _remarks(self, problems: Any, n_labels: int) -> list[str]:
        return [*super()._remarks(problems, n_labels), f"scores of label sets: {self._scores()}"]

    def _tally(self, n_rows: int, n_labels: int) -> _One:
        return _One()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("scores", self.scores, (None, "votes", "confidence", "marginal"))


class _One:
    """The only answer is the result."""

    def add(self, problem: Problem, answer: Any) -> None:
        self._answer = answer

    def result(self) -> Predicted:
        return Predicted(self._answer.scores.astype(np.float64), self._answer.labels)
