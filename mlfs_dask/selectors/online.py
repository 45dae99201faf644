"""What selectors of a stream of features have in common: arrivals, blocks of features, results."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from mlfs_dask._typing import ByteArray, IntArray
from mlfs_dask.checks import check_choice, check_count
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.arrivals import Arrivals, Column, Scaling
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.source import Source, as_source
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.ranking import ranks_of
from mlfs_dask.selectors.base import BaseSelector, labels_of, prepare
from mlfs_dask.selectors.engine import Choice, Engine, drive
from mlfs_dask.selectors.online_answers import Answers
from mlfs_dask.selectors.online_engine import OnlineState, restored
from mlfs_dask.wording import counted

Arrival: TypeAlias = Literal["store", "random"] | list[int]
"""Order in which features arrive: the store's, a random one, or a list of features."""


@dataclass
class Stream:
    """What came so far.

    Attributes
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels)
    measured_by : dict of str to Any
        Parameters of the selector that say how features are measured.
    choices : list of Choice
        One for each arrival.
    arrived : list of int
        Features in order of arrival, as far as they were decided on.
    names : list of str or None
        Of all features.
    constant : list of bool
    cost : list of float or None
    executor : Executor or None
        Where `answers` computes.
    answers : Answers or None
        Made anew where it is missing, from the members' columns.
    columns : dict of int to Column
        Of the members, as long as `answers` is missing.
    """

    Y: ByteArray
    measured_by: dict[str, Any]
    choices: list[Choice] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    names: list[str] | None = field(default_factory=list)
    constant: list[bool] = field(default_factory=list)
    cost: list[float] | None = field(default_factory=list)
    executor: Executor | None = None
    answers: Answers | None = None
    columns: dict[int, Column] = field(default_factory=dict)

    def at_rest(self) -> Stream:
        """A copy without anything that computes; it stays as it is while this one goes on."""
        columns = self.columns if self.answers is None else self.answers.columns
        return replace(
            self,
            choices=list(self.choices),
            arrived=list(self.arrived),
            constant=list(self.constant),
            executor=None,
            answers=None,
            columns=dict(columns),
        )


class OnlineSelector(BaseSelector):
    """Base of the selectors of a stream of features.

    A subclass has the parameters ``arrival``, ``random_state``, ``group_size`` and ``max_features``
    besides those of `BaseSelector`. Jobs may have it follow a store that grows.

    Attributes
    ----------
    scores_ : ndarray of float64, shape (n_features,)
        Significance of the features that joined, when they did; NaN of the others.
    order_ : ndarray of int64, shape (n_features,)
        Members in order of arrival, then the others by index.
    path_ : list of dict
        One for each arrival: ``step``, ``feature``, ``score`` (its significance), ``reason``,
        ``kept`` (whether it joined), ``dependency`` of the set after it, ``relevance`` (its
        dependency by itself), ``features`` (members that it replaces or is redundant to).
    """

    arrival: Any
    random_state: Any
    group_size: int
    max_features: int | None
    follows_blocks: ClassVar[bool] = True
    measured_by: ClassVar[tuple[str, ...]] = ()
    """Parameters that say how features are measured: they stay as long as the stream goes on."""
    _stream: Stream | None = None

    @abstractmethod
    def _make_dependency(self, Y: ByteArray, executor: Executor) -> Dependency:
        """What features are measured by."""

    @abstractmethod
    def _make_engine(
        self, arrivals: tuple[int, ...], names: tuple[str, ...] | None, earlier: tuple[Choice, ...]
    ) -> Engine[OnlineState]:
        """What decides."""

    @abstractmethod
    def _scaling(self) -> Scaling:
        """How columns are scaled."""

    def _check_online(self) -> None:
        self._check_common()
        check_count("group_size", self.group_size)
        if self.max_features is not None:
            check_count("max_features", self.max_features)
        if isinstance(self.arrival, str):
            check_choice("arrival", self.arrival, ("store", "random"))
            return
        try:
            order = np.asarray(self.arrival)
        except ValueError:
            order = np.zeros(0)
        whole = order.ndim == 1 and order.dtype.kind in "iu"
        if not whole or len(np.unique(order)) != len(order) or (order < 0).any():
            raise InputError(
                f"arrival = {self.arrival!r}: expected 'store', 'random' or a list of features, "
                "each once",
                hint="Features are numbered from 0. Those that are not in the list don't arrive.",
            )

    def _select(self, source: Source, summary: ColumnSummary, executor: Executor) -> None:
        self._stream = None
        stream = self._new_stream(source)
        self._arrive(stream, source, summary, self._arrival_order(source.n_features), executor)
        self._stream = stream.at_rest()

    def _new_stream(self, source: Source) -> Stream:
        return Stream(labels_of(source), {name: getattr(self, name) for name in self.measured_by})

    def _most_members(self) -> int | None:
        return None if self.max_features is None else int(self.max_features)

    def _arrival_order(self, n_features: int) -> IntArray:
        if isinstance(self.arrival, str):
            if self.arrival == "random":
                return np.random.default_rng(self.random_state).permutation(n_features)
            return np.arange(n_features)
        order = np.asarray(self.arrival, dtype=np.int64)
        if len(order) and order.max() >= n_features:
            raise InputError(
                f"arrival names feature {order.max()}: X has {counted(n_features, 'feature')}, "
                "numbered from 0"
            )
        return order

    def _arrive(
        self,
        stream: Stream,
        source: Source,
        summary: ColumnSummary,
        order: IntArray,
        executor: Executor,
    ) -> None:
        """Have the features of a source arrive, after those that came before."""
        first = len(stream.constant)
        arrivals = Arrivals(source, summary, order.tolist(), self._scaling(), executor)
        if stream.answers is None or not _same_place(stream.executor, executor):
            rest = stream.at_rest()
            stream.answers = Answers(self._make_dependency(stream.Y, executor), rest.columns)
            stream.executor = executor
        stream.answers.take(arrivals, first)
        stream.constant += summary.constant.tolist()
        stream.arrived += (order + first).tolist()
        _extend(stream, source)
        engine = self._make_engine(
            tuple(stream.arrived),
            None if stream.names is None else tuple(stream.names),
            tuple(stream.choices),
        )
        stop = ""
        for step in drive(engine, stream.answers):
            stream.choices += step.decided
            stop = step.stop or ""
        # Those that came after the end were let pass, also if the stream goes on some day.
        del stream.arrived[len(stream.choices) :]
        self.stop_ = stop
        self._conclude(stream)

    def _conclude(self, stream: Stream) -> None:
        """Attributes from all decisions."""
        self.higher_is_better_ = True
        constant = np.array(stream.constant)
        members = np.array(restored(stream.choices).members, dtype=np.int64)
        self._n_members = len(members)
        others = np.ones(len(constant), dtype=bool)
        others[members] = False
        tail = [np.flatnonzero(others & ~constant), np.flatnonzero(others & constant)]
        self.order_ = np.concatenate([members, *tail])
        self.scores_ = np.full(len(constant), np.nan)
        for choice in stream.choices:
            if choice.details["kept"]:
                self.scores_[choice.feature] = choice.score
        self.path_ = [choice.record() for choice in stream.choices]

    def _own_size(self) -> int:
        return self._n_members

    def partial_fit(
        self, X: Any, Y: Any = None, *, feature_kind: Any = None, feature_cost: Any = None
    ) -> Self:
        """Have further features of the same rows arrive, in the order of the block.

        All blocks together give what one `fit` gives on the blocks side by side: a block's first
        feature is numbered after the last one of the block before. After `fit` it goes on where
        that ended; `fit` itself begins anew. After an error the stream is as it was before.

        Parameters may change between blocks: they hold for what arrives from then on. Those by
        which features are measured (``measured_by`` of the class) can't, as members were measured
        by what they were.

        Parameters
        ----------
        X : ndarray, DataFrame, scipy sparse, dask array, Dataset or Source
            Shape (n_samples, n_features of the block).
        Y : array-like of 0/1, shape (n_samples, n_labels)
            Labels; needed with the first block only, later they must be the same.
        feature_kind, feature_cost : array-like, shape (n_features of the block,), optional
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Parameters, rows or labels that don't fit; parameters that must stay and changed;
            features of names that came before; costs for some blocks only.
        MissingValuesError
            Missing values with ``impute = "none"``.
        """
        self._check_parameters()
        if not isinstance(self.arrival, str) or self.arrival != "store":
            raise InputError(
                f"arrival = {self.arrival!r}: partial_fit takes features in the order of the block",
                hint="Put the columns of the block in order, and leave arrival at 'store'.",
            )
        stream = self._stream
        if stream is not None:
            self._refuse_other_measures(stream)
        source = as_source(
            X, Y, feature_kind=feature_kind, feature_cost=feature_cost, tile=self.tile
        )
        if source.Y is None and stream is not None:
            if len(stream.Y) != source.n_samples:
                raise InputError(
                    f"X has {counted(source.n_samples, 'row')}, the blocks before have "
                    f"{len(stream.Y)}; expected the same rows in the same order",
                    hint="Call fit to begin anew.",
                )
            source = source.with_labels(stream.Y)
        source = self._check_labels(source)
        if stream is None:
            stream = self._new_stream(source)
        elif not np.array_equal(labels_of(source), stream.Y):  # another number of rows too
            raise InputError(
                "Y differs from the labels of the first block; expected the same rows in the same "
                "order",
                hint="Leave Y out after the first block, or call fit to begin anew.",
            )
        _check_block(stream, source)
        executor = get_executor()
        source, summary = prepare(source, self.impute, type(self).__name__, executor)
        order = np.arange(source.n_features)
        self._stream = None if self._stream is None else stream.at_rest()
        self._arrive(stream, source, summary, order, executor)
        self._stream = stream
        self._remember_stream(stream, X)
        return self

    def _refuse_other_measures(self, stream: Stream) -> None:
        for name, before in stream.measured_by.items():
            now = getattr(self, name)
            if now != before:
                raise InputError(
                    f"{name} = {now!r}: the features that came so far were measured with "
                    f"{name} = {before!r}",
                    hint="Set it back, or call fit to begin anew.",
                )

    def _remember_stream(self, stream: Stream, X: Any) -> None:
        """What `fit` sets besides, from all blocks."""
        self._names_are_the_stores = not hasattr(X, "shape")
        self.n_features_in_ = len(stream.constant)
        if stream.names is not None:
            self.feature_names_in_ = np.array(stream.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.feature_cost_ = None if stream.cost is None else np.array(stream.cost)
        wanted, n = self.n_features_to_select, self.n_features_in_
        whole = isinstance(wanted, numbers.Integral)
        keep = min(int(wanted), n) if whole else self._count_to_keep(n)
        self.n_selected_ = self._own_size() if wanted is None else keep
        self.ranking_ = ranks_of(self.order_)
        self.support_ = self.ranking_ <= self.n_selected_

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if state.get("_stream") is not None:
            state["_stream"] = state["_stream"].at_rest()
        return state


def _check_block(stream: Stream, source: Source) -> None:
    """Refuse names that came before, and costs of some features only."""
    came = set(stream.names or ()).intersection(source.feature_names or ())
    if came:
        raise InputError(
            f"a feature named {min(came)!r} came before",
            hint="Give each feature once, or another name.",
        )
    has_costs = source.feature_cost is not None
    if stream.constant and has_costs != (stream.cost is not None):
        now, before = ("costs", "none") if has_costs else ("no costs", "some")
        raise InputError(
            f"this block has {now} of its features (feature_cost), those before have {before}",
            hint="Give costs with all blocks, or with none.",
        )


def _extend(stream: Stream, source: Source) -> None:
    """Names and costs of one more block; none if one block has none."""
    names, costs = source.feature_names, source.feature_cost
    stream.names = None if stream.names is None or names is None else [*stream.names, *names]
    cost = None if costs is None else costs.tolist()
    stream.cost = None if stream.cost is None or cost is None else [*stream.cost, *cost]


def _same_place(one: Executor | None, other: Executor) -> bool:
    """Whether what one executor keeps is there for the other."""
    client = getattr(one, "_client", None)
    return type(one) is type(other) and client is getattr(other, "_client", None)
