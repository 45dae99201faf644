"""mlnb: sets of features found by a genetic search with naive Bayes (Zhang, Peña & Robles 2009)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, Impute
from mlfs_dask.checks import check_count, check_smoothing, is_number
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.densities import Inputs, refuse_categories
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.folds import FoldJudge
from mlfs_dask.graphs.principal import Components, principal_components
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.ranking import chosen_first, rank_order
from mlfs_dask.selectors.base import BaseSelector
from mlfs_dask.selectors.engine import Request, drive
from mlfs_dask.selectors.genetic import GeneticEngine

_LEAST_INDIVIDUALS = 4


class MLNB(BaseSelector):
    """Find the set of features with which naive Bayes predicts the labels best, by genetic search.

    A set F is worth what multi-label Gaussian naive Bayes achieves with it in folds of consecutive
    rows, the smaller the better:

        fitness(F) = mean over folds of (Hamming loss + ranking loss) / 2

    A row x has label l with probability 1 / (1 + exp(-m)), where m is the log ratio of the priors
    (s + n_l) / (2 s + n) and of their complements, plus the sum over features of F, in index order,
    of log(N1(x) + 1e-20) - log(N0(x) + 1e-20), with the normal densities of the rows with l and of
    those without.

    Parameters
    ----------
    n_individuals : int
        Sets of a generation, at least 4.
    n_generations : int
        Generations after the first, whose sets are random.
    patience : int
        The search ends after so many generations in which the fitness fell by 1e-6 at most.
    mutation : float
        Probability that a feature of a mutating set changes sides.
    n_folds : int
        Folds; fewer where there are fewer rows.
    smoothing : float
        s of the priors, at least 0.
    pca : float, optional
        Search among principal components instead of features, as the original method does with 0.3:
        as many as this share of the features, rounded up. Features are then ranked by how much of
        their variance the chosen components hold. Default: search among the features.
    random_state : int or SeedSequence, optional
        Of the search.
    impute : {"none", "mean"}
        ``"none"`` refuses missing values, ``"mean"`` replaces them by mean or mode.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps; default: the set that was found.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        Fitness of the set for its features, NaN for the others. With ``pca`` the variance of each
        feature along the chosen components, higher is better.
    order_ : ndarray of int64, shape (n_features,)
        The set by index, the others by index, constants last; with ``pca`` by score.
    fitness_ : float
        Of the set; infinite if every set tried was empty.
    components_ : ndarray of bool, shape (n_components,), or None
        Principal components chosen, those of largest variance first; None without ``pca``.
    path_ : list of dict
        A step for each generation, the random one first: ``score`` (lowest fitness so far),
        ``n_features`` (of that set; with ``pca`` components), ``reason``, and the ``fitness`` of
        each of its sets (None: infinite, an empty set). ``feature`` is None.

    Notes
    -----
    The two best sets of a generation stay. The others descend from parents drawn by stochastic
    uniform sampling, in proportion to 1 / sqrt(rank): 80 % have two, each feature as one of them
    has it, by chance; the rest are copies of one with mutations. Features of one value take no
    part. If the search finds nothing but empty sets, all features are kept.

    A class of a label with one row, or with equal values, has a thousandth of the feature's
    standard deviation (1 if that is 0); a class without rows has density 0. Rows without labels
    stay out of the ranking loss. Nominal features of more than two values are refused. The folds
    are cut from training rows only, and so are components; the authors' program computes them from
    test rows too.

    Cost: one pass for the densities of all folds, and one for each generation: O(n d q) densities
    and O(n d q / 2) additions for each set not met before. Memory is that of a tile, and 7 d q
    numbers for each fold. With ``pca`` d² numbers and O(n d²) more, for at most 4,096 features.

    References
    ----------
    M.-L. Zhang, J. M. Peña, V. Robles: Feature selection for multi-label naive Bayes
    classification. Information Sciences 179 (2009) 3218-3229; compared with in paper B: Hu et al.
    2018, which takes the number of features from it.

    Examples
    --------
    Of six features the first two tell the labels:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 6))
    >>> Y = (X[:, :2] > 0).astype(int)
    >>> np.flatnonzero(MLNB().fit(X, Y).support_).tolist()
    [0, 1]
    """

    components_: BoolArray | None

    refuses_categories: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913  the method's parameters, all by keyword
        self,
        *,
        n_individuals: int = 20,
        n_generations: int = 100,
        patience: int = 50,
        mutation: float = 0.01,
        n_folds: int = 10,
        smoothing: float = 1.0,
        pca: float | None = None,
        random_state: int | np.random.SeedSequence = 0,
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.n_individuals = n_individuals
        self.n_generations = n_generations
        self.patience = patience
        self.mutation = mutation
        self.n_folds = n_folds
        self.smoothing = smoothing
        self.pca = pca
        self.random_state = random_state
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        for name in ("n_individuals", "n_generations", "patience", "n_folds"):
            check_count(name, getattr(self, name))
        if self.n_individuals < _LEAST_INDIVIDUALS:
            raise InputError(
                f"n_individuals = {self.n_individuals}: expected at least {_LEAST_INDIVIDUALS}"
            )
        if self.n_folds == 1:
            raise InputError("n_folds = 1: expected at least 2")
        if not is_number(self.mutation) or not 0 <= self.mutation <= 1:
            raise InputError(f"mutation = {self.mutation!r}: expected a probability from 0 to 1")
        check_smoothing(self.smoothing)
        if self.pca is not None and (not is_number(self.pca) or not 0 < self.pca <= 1):
            raise InputError(f"pca = {self.pca!r}: expected a share above 0 and at most 1")

    def _own_size(self) -> int:
        return self._n_in_set

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        refuse_categories(source, summary, type(self).__name__)
        varied = np.flatnonzero(~summary.constant)
        inputs, components = Inputs(varied), None
        if self.pca is not None and len(varied):
            components = principal_components(source, varied, float(self.pca), executor)
            inputs = Inputs(varied, components.mean, components.axes)
        chosen = self._search(source, inputs, executor)
        if components is None:
            self._keep_set(varied[chosen], summary.constant)
        else:
            self._keep_components(components, chosen, varied, summary.constant)

    def _search(self, source: Source, inputs: Inputs, executor: Executor) -> BoolArray:
        """The best set of inputs; all of them if none was found."""
        engine = GeneticEngine(
            n_inputs=inputs.width,
            n_individuals=int(self.n_individuals),
            n_generations=int(self.n_generations),
            patience=int(self.patience),
            mutation=float(self.mutation),
            seed=int(np.random.default_rng(self.random_state).integers(2**63)),
        )
        judge = FoldJudge(source, inputs, int(self.n_folds), float(self.smoothing), executor)

        def fulfil(request: Request) -> Any:
            return judge.fitness(request.arguments["population"])

        self.path_ = []
        for step in drive(engine, fulfil):
            self.path_ += [choice.record() for choice in step.decided]
            self.stop_ = step.stop or ""
            best, self.fitness_ = step.state.best, step.state.fitness
        return best if best.any() else np.ones(inputs.width, dtype=bool)

    def _keep_set(self, chosen: Any, constant: BoolArray) -> None:
        self.components_ = None
        self.higher_is_better_ = False
        self.scores_ = np.full(len(constant), np.nan)
        self.scores_[chosen] = self.fitness_
        self.order_ = chosen_first(chosen, constant)
        # Where no feature varies, nothing was searched and all are kept.
        self._n_in_set = len(chosen) or len(constant)

    def _keep_components(
        self, components: Components, chosen: BoolArray, varied: Any, constant: BoolArray
    ) -> None:
        self.components_ = chosen
        self.higher_is_better_ = True
        self.scores_ = np.zeros(len(constant))
        self.scores_[varied] = _explained(components, chosen)
        self.order_ = rank_order(self.scores_, higher_is_better=True, constant=constant)
        self._n_in_set = int(chosen.sum())


def _explained(components: Components, chosen: BoolArray) -> FloatArray:
    """Variance of each feature along the chosen components."""
    explained = np.zeros(len(components.mean))
    for t in np.flatnonzero(chosen):
        explained += components.variance[t] * components.axes[:, t] ** 2
    return explained
