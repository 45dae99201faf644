"""Calibrated label ranking: labels in pairs, and each against a line between present and absent."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from mlfs_dask._typing import ByteArray, Conventions, FloatArray, Impute, IntArray
from mlfs_dask.checks import check_choice
from mlfs_dask.classifiers.base import checked_features
from mlfs_dask.classifiers.base_learners import BaseName
from mlfs_dask.classifiers.predicted import Predicted
from mlfs_dask.classifiers.problems import Duel, Problem, Relevance
from mlfs_dask.classifiers.transformation import TransformationClassifier
from mlfs_dask.errors import InputError

Votes: TypeAlias = Literal["hard", "soft"]


class CalibratedLabelRanking(TransformationClassifier):
    """Calibrated label ranking: a model for each pair of labels, one for each label, and votes.

    The model of the pair a < b learns from the rows with exactly one of the two; that of label l
    from all rows, l against the rest: a duel with a virtual label, the line between present and
    absent.

    - ``votes = "hard"``: each model has one vote. It goes to a if p(a) >= 0.5, else to b; to l if
      p(l) >= 0.5, else to the virtual label.
    - ``votes = "soft"``: it is divided: v_l = sum over m of p(l beats m) + p_l, virtual = sum over
      l of (1 - p_l).

    Score of label l is v_l / q; present if v_l >= virtual (sums of parts of votes are equal if they
    differ by no more than 1e-12 of all votes). A pair that no training row tells apart has no vote,
    one that all rows decide alike has a constant one.

    Parameters
    ----------
    base : str or scikit-learn classifier
        What learns: ``"c45"``, ``"knn"``, ``"logistic"``, ``"naive-bayes"``, ``"svm-rbf"``,
        ``"tree"``; in Python any estimator, cloned for each model. ``br`` lists their
        parameters.
    base_params
        Parameters of a named learner.
    votes
        ``"hard"`` or ``"soft"``. For the latter ``svm-rbf`` should have probabilities:
        ``base_params = { scores = "platt" }``.
    conventions
        Whose habits to follow; see Notes.
    impute
        ``"mean"``: missing values are replaced by the training mean (nominal: the mode) first.
        ``"none"``: c45, knn and tree take them as they are, the others refuse them.
    random_state : int or SeedSequence
        Model i draws from the stream with the spawn key i below it.

    Attributes
    ----------
    models_ : list of FittedModel
        Pairs (0, 1), (0, 2), ..., then labels.
    n_features_in_, feature_names_in_, n_labels_, classes_
        As in scikit-learn.

    Raises
    ------
    InputError
        Parameters out of range, labels other than 0 and 1, shapes that do not fit, infinities,
        missing values that the base learner has no rule for.

    References
    ----------
    J. Fürnkranz, E. Hüllermeier, E. Loza Mencía, K. Brinker: Multilabel classification via
    calibrated label ranking. Machine Learning 73 (2008) 133-153. Paper A: Yan & Li 2016, section 5.

    Notes
    -----
    q (q + 1) / 2 models, each its own task; the pairs learn from at most (q - 1) times the number
    of relevant labels rows in all. A process holds the training rows once, with the features in use
    and as stored, and for each of its threads one copy as float64. A base learner scales by the
    rows of its own pair.

    Conventions:

    - ``default``, ``mulan``, ``sklearn``: a probability of exactly 0.5 is a vote for the first
      label of a pair, and for "present"; as many votes as the virtual label has are "present".
      (Mulan lets every pair after the first one without rows go without a vote, and softens only
      the votes of the virtual label; that isn't followed.)
    - ``zhang``: the same, but the base learner ``knn`` compares the values as given, not min-max
      scaled.

    Rows without labels teach the models of single labels only. How measures treat them, and where
    coverage begins to count, is decided by the conventions of the evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> CalibratedLabelRanking().fit(X, Y).predict_proba([[0.05], [1.05]])
    array([[1., 0.],
           [0., 1.]])
    """

    takes_pairs = True
    each_has_features = True

    def __init__(
        self,
        base: BaseName | Any = "svm-rbf",
        base_params: dict[str, Any] | None = None,
        votes: Votes = "hard",
        conventions: Conventions = "default",
        impute: Impute = "none",
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.base_params = base_params
        self.votes = votes
        self.conventions = conventions
        self.impute = impute
        self.random_state = random_state

    def models(self, n_labels: int) -> list[Problem]:
        """Pairs of labels, then each label against the rest.

        Parameters
        ----------
        n_labels
            Number of labels.

        Examples
        --------
        >>> [problem.labels for problem in CalibratedLabelRanking().models(3)]
        [(0, 1), (0, 2), (1, 2), (0,), (1,), (2,)]
        """
        pairs = itertools.combinations(range(n_labels), 2)
        return [*map(Duel, pairs), *(Relevance((label,)) for label in range(n_labels))]

    def decide(self, proba: FloatArray) -> ByteArray:
        """Labels from scores: each vote that no label got is the virtual label's.

        Parameters
        ----------
        proba : ndarray of float64, shape (n_samples, n_labels)
            From ``predict_proba`` of this classifier, which is fitted.

        Returns
        -------
        ndarray of uint8, shape (n_samples, n_labels)
        """
        votes = proba * proba.shape[1]
        if self.votes == "hard":
            votes = np.rint(votes)
        cast = sum(len(model.classes) > 0 for model in self.models_)
        return _present(votes, cast - votes.sum(axis=1, keepdims=True), cast)

    def _of_problems(
        self, orders: Any, problems: Sequence[Problem], n_features: int
    ) -> list[IntArray]:
        wanted = [problem.labels for problem in problems]
        if not isinstance(orders, Mapping) or set(orders) != set(wanted):
            given = orders if isinstance(orders, Mapping) else {}
            missing = next((labels for labels in wanted if labels not in given), None)
            said = "some that are none" if missing is None else f"none for {missing}"
            raise InputError(
                f"feature_subsets: given are {said}; expected one list for each pair of "
                "labels, (a, b) with a < b, and for each label, (l,)",
                hint="Pairs come from a selector with order = 2, labels from order = 1.",
            )
        return [
            checked_features(orders[labels], f"problem {labels}", n_features) for labels in wanted
        ]

    def _remarks(self, problems: Any, n_labels: int) -> list[str]:
        return [*super()._remarks(problems, n_labels), f"votes: {self.votes}"]

    def _tally(self, n_rows: int, n_labels: int) -> _Ballot:
        return _Ballot(n_rows, n_labels, hard=self.votes == "hard")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("votes", self.votes, ("hard", "soft"))


class _Ballot:
    """Votes of pairs and calibrations."""

    def __init__(self, n_rows: int, n_labels: int, *, hard: bool) -> None:
        self._votes = np.zeros((n_rows, n_labels))
        self._virtual = np.zeros((n_rows, 1))
        self._hard, self._cast = hard, 0

    def add(self, problem: Problem, answer: Any) -> None:
        if answer is None:
            return
        won = (answer >= 0.5).astype(np.float64) if self._hard else answer
        first, *second = problem.labels
        self._votes[:, first] += won
        loser = self._votes[:, second[0]] if second else self._virtual[:, 0]
        loser += 1.0 - won
        self._cast += 1

    def result(self) -> Predicted:
        labels = _present(self._votes, self._virtual, self._cast)
        return Predicted(self._votes / self._votes.shape[1], labels)


def _present(votes: FloatArray, virtual: FloatArray, cast: int) -> ByteArray:
    """Labels with no fewer votes than the virtual label; sums of parts are rounded."""
    labels: ByteArray = np.greater_equal(votes, virtual - 1e-12 * cast).astype(np.uint8)
    return labels
