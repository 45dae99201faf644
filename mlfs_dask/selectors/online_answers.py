"""Answers to the requests of an engine of a stream: columns of features, dependencies on them.

What is asked next depends on the answer, mostly in the same way as the last few times: an arrival
joins, and the one after it is measured with it; or none joins, and the one after it is measured
with the same members. So what is likely to be asked next is measured in the same reading of the
distances, and a cluster is asked a few arrivals at once. A wrong guess costs time and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mlfs_dask.errors import InputError
from mlfs_dask.graphs.arrivals import Arrivals, Column
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.selectors.engine import Request
from mlfs_dask.selectors.online_engine import Measured, key, significance

_LIKELY = 0.6  # that a question will be asked, for it to be answered ahead
_MEMORY = 8  # arrivals that the guess is made from


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
        """Columns at hand: of the members, and of what arrived last or comes next."""
        self._alone: dict[int, float] = {}
        self._ahead: dict[tuple[tuple[int, ...], int], float] = {}
        self._asked_of: tuple[int, ...] | None = None
        self._joining = 0.5  # how likely an arrival joins

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
        self._learn(members)
        columns = {feature: self._column(feature) for feature in features}
        expected = {f for _, f in self._ahead}
        wanted = expected.union(features, members, self._members)
        self.columns = {f: column for f, column in self.columns.items() if f in wanted}
        self._alone = {f: value for f, value in self._alone.items() if f in wanted}
        varying = {f: column for f, column in columns.items() if not column.constant}
        measured = self._by_relevance if "least" in asked else self._by_significance
        found = measured(varying, asked)
        return [found.get(f) for f in features]

    def _by_significance(
        self, columns: dict[int, Column], asked: Mapping[str, Any]
    ) -> dict[int, Measured]:
        """γ(S + {f}), and γ({f}) unless the set loses by f."""
        joined = self._joined(columns, asked)
        if not asked["members"]:
            return {f: Measured(value, value) for f, value in joined.items()}
        held = asked["dependency"]
        return {
            f: Measured(
                self._by_itself(f) if significance(value, held) >= 0 else math.nan,
                value,
            )
            for f, value in joined.items()
        }

    def _by_relevance(
        self, columns: dict[int, Column], asked: Mapping[str, Any]
    ) -> dict[int, Measured]:
        """γ({f}), and γ(S + {f}) unless f is less relevant than asked for."""
        alone = {f: self._by_itself(f) for f in columns}
        enough = {f: c for f, c in columns.items() if key(alone[f]) >= key(asked["least"])}
        joined = self._joined(enough, asked) if enough else {}
        return {f: Measured(value, joined.get(f, math.nan)) for f, value in alone.items()}

    def _joined(self, columns: dict[int, Column], asked: Mapping[str, Any]) -> dict[int, float]:
        """γ(S + {f}) of each."""
        members: tuple[int, ...] = asked["members"]
        if len(columns) == 1:
            self._asked_of = members
        if not all((members, f) in self._ahead for f in columns):
            self._let_be(members)
            self._ahead = self._measured_with(columns, members, asked.get("least"))
        return {f: self._ahead[members, f] for f in columns}

    def _measured_with(
        self, columns: dict[int, Column], members: tuple[int, ...], least: float | None
    ) -> dict[tuple[tuple[int, ...], int], float]:
        """γ(S + {f}) of some features, and of those that likely come next, by S and f."""
        further = self._guess(next(iter(columns)), least) if len(columns) == 1 else {}
        joins = self._joining >= 0.5
        asked = [(members, f) for f in columns]
        spans = [(c, c + 1) for c in range(len(columns))]
        for f in further:
            before, last = asked[-1]
            asked.append(((*before, last) if joins else members, f))
            spans.append((0 if joins else spans[-1][1], spans[-1][1] + 1))
        every = [*columns.values(), *further.values()]
        return dict(zip(asked, self._dependency.joined(every, spans), strict=True))

    def _guess(self, feature: int, least: float | None) -> dict[int, Column]:
        """Features that are likely to be asked for after one, if others go on as they did."""
        found: dict[int, Column] = {}
        sure, likely = max(self._joining, 1.0 - self._joining), 1.0
        most = self._dependency.ahead
        if most == 0 or self._arrivals is None:
            return found
        for place in self._arrivals.following(feature - self._first, 2 * most):
            f = place + self._first
            likely *= sure
            if likely < _LIKELY or len(found) == most:
                break
            try:
                column = self._column(f)
            except InputError:
                break  # raised again if its turn comes
            if column.constant or (least is not None and key(self._by_itself(f)) < key(least)):
                likely /= sure  # it will not be asked for
            else:
                found[f] = column
        return found

    def _learn(self, members: tuple[int, ...]) -> None:
        """Note whether the feature that was measured last joined."""
        if self._asked_of is not None:
            joined = float(members != self._asked_of)
            self._joining += (joined - self._joining) / _MEMORY
            self._asked_of = None

    def _by_itself(self, feature: int) -> float:
        """γ({f})."""
        if feature not in self._alone:
            self._alone[feature] = self._dependency.alone(self._column(feature))
        return self._alone[feature]

    def _let_be(self, members: tuple[int, ...]) -> None:
        """Have the dependencies' set be these members."""
        if members == self._members:
            return
        held = len(self._members)
        if members[:held] == self._members:
            for g in members[held:]:
                self._dependency.add(self._column(g))
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
