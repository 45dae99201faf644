"""Answers to the requests of an engine of a stream: columns of features, dependencies on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mlfs_dask.graphs.arrivals import Arrivals, Column
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.selectors.engine import Request
from mlfs_dask.selectors.online_engine import Measured, key, significance


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
            return self._measure(asked)
        if request.kind == "pairs":
            column = self._column(asked["feature"])
            return [self._dependency.of([self._column(g), column]) for g in asked["members"]]
        if request.kind == "without":
            return self._dependency.of([self._column(g) for g in asked["members"]])
        *before, last = asked["members"]
        self._let_be(tuple(before))
        return self._dependency.joined([self._column(last)])[0]

    def _measure(self, asked: Mapping[str, Any]) -> list[Measured | None]:
        """Dependencies of arrivals, as far as they can decide anything."""
        features, members = asked["features"], asked["members"]
        self._let_be(members)
        columns = {feature: self._column(feature) for feature in features}
        self.columns = {f: c for f, c in self.columns.items() if f in columns or f in members}
        varying = {f: column for f, column in columns.items() if not column.constant}
        measured = self._by_relevance if "least" in asked else self._by_significance
        found = measured(varying, asked)
        return [found.get(f) for f in features]

    def _by_significance(
        self, columns: dict[int, Column], asked: Mapping[str, Any]
    ) -> dict[int, Measured]:
        """γ(S + {f}), and γ({f}) unless the set loses by f."""
        joined = dict(zip(columns, self._dependency.joined(list(columns.values())), strict=True))
        if not asked["members"]:
            return {f: Measured(value, value) for f, value in joined.items()}
        held = asked["dependency"]
        return {
            f: Measured(
                self._dependency.alone(columns[f]) if significance(value, held) >= 0 else math.nan,
                value,
            )
            for f, value in joined.items()
        }

    def _by_relevance(
        self, columns: dict[int, Column], asked: Mapping[str, Any]
    ) -> dict[int, Measured]:
        """γ({f}), and γ(S + {f}) unless f is less relevant than asked for."""
        alone = {f: self._dependency.alone(column) for f, column in columns.items()}
        enough = [f for f, value in alone.items() if key(value) >= key(asked["least"])]
        joined = self._dependency.joined([columns[f] for f in enough])
        found = {f: Measured(value, math.nan) for f, value in alone.items()}
        for f, value in zip(enough, joined, strict=True):
            found[f] = Measured(alone[f], value)
        return found

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
