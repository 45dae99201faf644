"""nrs-cost: neighbourhood rough sets with test costs on incomplete data (paper E).

Rows x and y are neighbours on a feature a if |a(x) - a(y)| <= radius_a, or if one of the two values
is missing; on a set B if they are on every feature of B. With δ_B(x) the neighbours of x,

    POS_B  = rows x such that every row of δ_B(x) carries every label that x carries
    core   = features a of A with POS_{A-a} ≠ POS_A
    SIG(a, B) = (|POS_{B+a}| - min) / (|POS_A| - min) - (c(B+a) - min c) / (c(A) - min c)

with minima over the candidates a. From the core on, the feature of the largest SIG is added until
POS_B = POS_A.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mlfs_dask._typing import FloatArray, Impute, IntArray
from mlfs_dask.checks import check_choice, check_count, is_number
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.regions import Regions
from mlfs_dask.graphs.separation import find_columns
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.graphs.summed import SummedRegions
from mlfs_dask.selectors.base import BaseSelector, labels_of
from mlfs_dask.selectors.engine import Request, drive
from mlfs_dask.selectors.reduct import DROPPED, ReductEngine, Sizes, WholeRegion
from mlfs_dask.wording import counted


class NRSCost(BaseSelector):
    """Find a cheap subset of features that tells rows of different labels apart as well as all do.

    On a set B of features, rows are neighbours if on each of them their values differ by at most a
    radius or one is missing. A row is in the positive region POS_B if all its neighbours carry all
    its labels. The search starts from the core, the features without which POS of all features A
    would be smaller, and adds the feature of the largest significance

        SIG(a, B) = (|POS_{B+a}| - min) / (|POS_A| - min) - (c(B+a) - min c) / (c(A) - min c)

    (minima over the candidates, c the sum of costs) until POS_B = POS_A.

    Parameters
    ----------
    radius_divisor : float
        λ: the radius of a feature is the population standard deviation of its known values divided
        by λ. Paper E goes from 1 to 2.
    radius : float or array-like of float, shape (n_features,), optional
        Radius of all features, or of each, to be taken instead.
    use_cost : bool
        False: significance without the second term, and ties to the lower index.
    budget : float, optional
        Features that would make the subset cost more are no candidates.
    max_features : int, optional
        Largest number of features.
    min_dependency : float, optional
        Stop as soon as |POS_B| reaches this share of |POS_A|.
    prune : bool
        At the end, drop features that POS_B does not need, the last chosen first.
    aggregate : {"conjunctive", "sum"}
        ``"sum"``: neighbours on B if the sum of the differences is at most the sum of the radii (a
        difference counts 0 where a value is missing). For small data only: O(n² d²) for the core.
    impute : {"none", "mean"}
        ``"none"`` leaves missing values to the neighbourhood; ``"mean"`` replaces them first.
    n_features_to_select : int or float, optional
        Number or share of features that `transform` keeps, in the order of choice; default: the
        subset that was found.
    tile : int
        Rows per tile for input in memory.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        SIG of each feature when it was chosen; NaN for the core and for features never chosen.
    path_ : list of dict
        Per step ``feature``, ``score`` (SIG), ``reason``, and with the feature ``cost`` and
        ``positive`` (rows in the positive region) so far, ``runner_up`` and
        ``runner_up_significance``.
    stop_ : str
        Why no more features were added.
    core_ : ndarray of int64
        Features of the core, ascending; they enter in this order.
    n_positive_ : int
        |POS_A|. Rows without labels are in it.
    radius_ : ndarray of float64, shape (n_features,)
    road_ : str
        Whether rows were prepared once or anew for each step.
    pair_share_ : float
        Looks at pairs of rows during the whole search, as a share of the n² pairs that there are;
        NaN for ``"sum"``. It may depend on the number of workers, as nothing else does.

    Notes
    -----
    Nominal features of more than two values: neighbours have equal values, the radius is not used.
    Features of one value are never chosen; they come last. SIG below 1e-12 counts as 0; of
    features with equal SIG (to 9 digits) the cheaper one is taken, then the one of lower index. If
    the core alone exceeds ``budget`` or ``max_features``, its features enter by SIG as far as they
    may and the search ends with "core not complete".

    Cost: a pair of rows is looked at until one feature separates it (64 features at a time), a row
    until its violators, neighbours that lack one of its labels, stand against every candidate:
    O(n²) steps of a few bit operations for the whole search, O(n) for most choices, never d n². A
    feature further from 0 than its radius separates a row from all rows in which it is 0, so that
    in sparse data most pairs are not looked at; equal rows are looked at once. No array of n x n
    exists; memory is one to two bits per cell of 0/1 data (a number per cell of others), and a few
    violators per row.

    References
    ----------
    Paper E: Huang, Qian et al., cost-sensitive feature selection for incomplete neighbourhood
    multi-label data, definitions 2 to 11 and property 1.

    Examples
    --------
    Feature 1 tells the labels apart but is dear, features 0 and 2 do it together:

    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> X = np.array([[0.0, 1.0, 0.0], [0.5, 1.0, 1.0], [0.5, 0.0, 0.0], [1.0, 0.0, 1.0]])
    >>> cost = [1, 9, 2]
    >>> np.flatnonzero(NRSCost().fit(X, Y, feature_cost=cost).support_).tolist()
    [0, 2]
    >>> np.flatnonzero(NRSCost(use_cost=False).fit(X, Y, feature_cost=cost).support_).tolist()
    [1]
    """

    _missing_is_native = True
    asks_of_features = ("budget", "radius")
    """Parameters for which `check_features` has to be asked, unless they are None."""

    def __init__(  # noqa: PLR0913  the method's parameters, all but one by keyword
        self,
        radius_divisor: float = 2.0,
        *,
        radius: float | list[float] | None = None,
        use_cost: bool = True,
        budget: float | None = None,
        max_features: int | None = None,
        min_dependency: float | None = None,
        prune: bool = False,
        aggregate: Literal["conjunctive", "sum"] = "conjunctive",
        impute: Impute = "none",
        n_features_to_select: int | float | None = None,
        tile: int = 4096,
    ) -> None:
        self.radius_divisor = radius_divisor
        self.radius = radius
        self.use_cost = use_cost
        self.budget = budget
        self.max_features = max_features
        self.min_dependency = min_dependency
        self.prune = prune
        self.aggregate = aggregate
        self.impute = impute
        self.n_features_to_select = n_features_to_select
        self.tile = tile

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice("aggregate", self.aggregate, ("conjunctive", "sum"))
        for name in ("use_cost", "prune"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise InputError(f"{name} = {value!r}: expected true or false")
        if not is_number(self.radius_divisor) or not 0 < self.radius_divisor < np.inf:
            raise InputError(
                f"radius_divisor = {self.radius_divisor!r}: expected a positive number"
            )
        if self.budget is not None and (not is_number(self.budget) or not self.budget >= 0):
            raise InputError(f"budget = {self.budget!r}: expected a number, not negative")
        if self.max_features is not None:
            check_count("max_features", self.max_features)
        m = self.min_dependency
        if m is not None and (not is_number(m) or not 0 < m <= 1):
            raise InputError(f"min_dependency = {m!r}: expected a share above 0 and at most 1")
        self._check_radius()

    def _check_radius(self) -> None:
        if self.radius is None:
            return
        try:
            values = np.asarray(self.radius)
        except ValueError:
            values = np.array([np.nan])
        real = values.dtype.kind in "iuf" or is_number(self.radius)
        if values.ndim > 1 or not real or not np.all(values >= 0):
            raise InputError(
                f"radius = {self.radius!r}: expected a number, or one for each feature, "
                "not negative"
            )

    def check_features(self, n_features: int, *, has_costs: bool) -> None:
        """Check what the parameters ask of features; jobs do so before they start.

        Parameters
        ----------
        n_features
            Number of features.
        has_costs
            Whether they have costs.

        Raises
        ------
        InputError
            A budget without costs, or radii of another number of features.

        Examples
        --------
        >>> NRSCost(budget=5).check_features(3, has_costs=False)
        Traceback (most recent call last):
            ...
        mlfs_dask.errors.InputError: budget = 5: the features have no costs
          Pass feature_cost= to fit, or costs in [data] of a job.
        """
        if self.budget is not None and not has_costs:
            raise InputError(
                f"budget = {self.budget!r}: the features have no costs",
                hint="Pass feature_cost= to fit, or costs in [data] of a job.",
            )
        if self.radius is not None and np.shape(self.radius) not in ((), (n_features,)):
            n_radii = np.size(self.radius)
            raise InputError(
                f"radius has {counted(n_radii, 'value')}; X has {counted(n_features, 'feature')}"
            )

    def _radii(self, n_features: int) -> FloatArray | None:
        if self.radius is None:
            return None
        return np.broadcast_to(np.asarray(self.radius, dtype=np.float64), (n_features,)).copy()

    def _own_size(self) -> int:
        return self._n_in_subset

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        self.higher_is_better_ = True
        costs, d = source.feature_cost, source.n_features
        self.check_features(d, has_costs=costs is not None)
        if costs is not None and not np.all(np.isfinite(costs)):
            raise InputError("feature_cost holds values that are not finite")
        Y = labels_of(source)
        columns = find_columns(
            source, summary, executor, divisor=self.radius_divisor, radius=self._radii(d)
        )
        self.radius_ = columns.radius
        varied = np.flatnonzero(~summary.constant)
        regions: Regions | SummedRegions
        if self.aggregate == "sum":
            regions = SummedRegions(source, Y, columns, executor)
        else:
            cells_per_row = summary.n_cells / source.n_samples
            regions = Regions(source, Y, columns, cells_per_row, executor)
        self.road_ = "rows prepared once" if regions.prepared else "rows prepared for each step"
        engine = ReductEngine(
            constant=summary.constant,
            cost=costs,
            use_cost=bool(self.use_cost),
            budget=self.budget,
            max_features=self.max_features,
            min_dependency=self.min_dependency,
            prune=bool(self.prune),
        )
        self._follow(engine, regions, varied)
        self.pair_share_ = regions.looks / source.n_samples**2

    def _follow(
        self, engine: ReductEngine, regions: Regions | SummedRegions, varied: IntArray
    ) -> None:
        """Drive the engine to its end; keep the subset, its path and the order."""

        def fulfil(request: Request) -> Any:
            asked = request.arguments
            if request.kind == "whole":
                self.n_positive_, self.core_ = regions.whole(varied)
                return WholeRegion(self.n_positive_, tuple(self.core_.tolist()))
            if request.kind == "in_order":
                return Sizes(*regions.in_order(asked["order"]))
            if request.kind == "needed":
                return tuple(regions.needed(np.array(asked["features"])).tolist())
            return Sizes(*regions.with_each(asked["chosen"], asked["candidates"]))

        d = len(engine.constant)
        self.scores_, self.path_ = np.full(d, np.nan), []
        subset: list[int] = []
        for step in drive(engine, fulfil):
            for choice in step.decided:
                if choice.reason == DROPPED:
                    subset.remove(choice.feature)
                else:
                    subset.append(choice.feature)
                    self.scores_[choice.feature] = choice.score
                self.path_.append(choice.record())
            self.stop_ = step.stop or ""
        self._n_in_subset = len(subset)
        rest = np.ones(d, dtype=bool)
        rest[subset] = False
        tail = [np.flatnonzero(rest & ~engine.constant), np.flatnonzero(rest & engine.constant)]
        self.order_ = np.concatenate([np.array(subset, dtype=np.int64), *tail])
