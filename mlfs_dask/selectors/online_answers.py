"""Answers to the requests of an engine of a stream: columns of features, dependencies on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlfs_dask.graphs.arrivals import Arrivals, Column
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.selectors.engine import Request
from mlfs_dask.selectors.online_engine import Measured, key


class Answers:
    """Answers the requests of an engine of a stream.

    Parameters
    ----------
    dependency
        Of the labels on sets of features.
    columns
        Of features that can't be read again, by number.
    """

    def __init__(self, dependency: Dependency, columns: Mapping[int, Column] | None = None) -> None:
        self._dependency = dependency
        self._arrivals: Arrivals | None = None
        self._first = 0
        self._members: tuple[int, ...] = ()
        self.columns = dict(columns or {})
        """Columns at hand: of the members, and of what arrived last."""

    def take(self, arrivals: Arrivals, first: int) -> None:
        """Take a block of features.

        Parameters
        ----------
        arrivals
            Reads their columns.
        first
            Number of its first feature among all.
        """
        self._arrivals, self._first = arrivals, first

    def __call__(self, request: Request) -> Any:
        """The reply to a request; see `mlfs_dask.selectors.online_engine`."""
        asked = request.arguments
        if request.kind == "arrivals":
            return self._measure(asked["features"], asked["members"], asked.get("least"))
        if request.kind == "pairs":
            column = self._column(asked["feature"])
            return [self._dependency.of([self._column(g), column]) for g in asked["members"]]
        if request.kind == "without":
            return self._dependency.of([self._column(g) for g in asked["members"]])
        *before, last = asked["members"]
        self._let_be(tuple(before))
        return self._dependency.joined([self._column(last)])[0]

    def _measure(
        self, features: Sequence[int], members: tuple[int, ...], least: float | None
    ) -> list[Measured | None]:
        """Dependencies of arrivals; with the set only of those at least so relevant."""
        self._let_be(members)
        columns = {feature: self._column(feature) for feature in features}
        self.columns = {f: c for f, c in self.columns.items() if f in columns or f in members}
        alone = {f: self._dependency.alone(c) for f, c in columns.items() if not c.constant}
        asked = [f for f in alone if least is None or key(alone[f]) >= key(least)]
        joined = dict(zip(asked, self._joined(alone, columns, asked), strict=True))
        return [
            Measured(alone[f], joined.get(f, float("nan"))) if f in alone else None
            for f in features
        ]

    def _joined(
        self, alone: dict[int, float], columns: dict[int, Column], asked: list[int]
    ) -> list[float]:
        if not self._members:
            return [alone[f] for f in asked]
        return self._dependency.joined([columns[f] for f in asked]) if asked else []

    def _let_be(self, members: tuple[int, ...]) -> None:
        """Have the dependencies' set be these members."""
        if members == self._members:
            return
        if members[:-1] == self._members:
            self._dependency.add(self._column(members[-1]))
        else:
            unknown = [g for g in members if g not in self.columns]
            if unknown:
                assert self._arrivals is not None
                read = self._arrivals.columns([g - self._first for g in unknown])
                self.columns.update(zip(unknown, read, strict=True))
            self._dependency.start_with([self.columns[g] for g in members])
        self._members = members

    def _column(self, feature: int) -> Column:
        if feature not in self.columns:
            assert self._arrivals is not None
            self.columns[feature] = self._arrivals.column(feature - self._first)
        return self.columns[feature]
