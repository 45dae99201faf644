"""Do the methods select the same features? Jaccard indices of the subsets of pairs of selectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mlfs_dask._typing import FloatArray
from mlfs_dask.jobs.agreement import chose_itself, n_ranked, selections_by_problem

METHODS_COMPARED: Final = 24

_Record: TypeAlias = dict[str, Any]
_Members: TypeAlias = NDArray[np.float32]


class Alike(Struct, frozen=True, kw_only=True):
    """Agreement of all pairs of selectors on one data set.

    Attributes
    ----------
    selectors
        Labels, m of them.
    k
        How many of the best features are compared; None: the subsets that selectors chose
        themselves, a ranking counting with as many of its best.
    jaccard
        m x m, symmetric, the means over the selections; None where a pair has nothing to compare.
    selections
        How many selections on the same rows a mean is over, at most.
    """

    selectors: tuple[str, ...]
    k: int | None
    jaccard: tuple[tuple[float | None, ...], ...]
    selections: int


def methods_alike(
    records: Mapping[str, Sequence[_Record]], n_features: int, counts: Sequence[int]
) -> list[Alike]:
    """Agreement of the selectors at some numbers of features, and of subsets of their own.

    Two selectors are compared where both selected on the same rows: in every fold, or on all rows
    if there are no folds. One that selects for each problem is compared problem by problem with one
    of the same problems, and in every problem with one that selects for all labels; the mean
    counts.

    Parameters
    ----------
    records
        Selector -> its selections on one data set, as ``results.json`` holds them.
    n_features
        Number of features of the data set.
    counts
        Numbers of features.

    Returns
    -------
    list of Alike
        By count, at last that of own subsets; without those where no pair can be compared. Of more
        than 24 selectors the first are compared.
    """
    kept = dict(list(records.items())[:METHODS_COMPARED])
    folds = {name: _folds(of_one) for name, of_one in kept.items()}
    found = [_alike(folds, n_features, k) for k in (*counts, None)]
    return [one for one in found if one.selections > 0]


def _folds(records: Sequence[_Record]) -> dict[tuple[Any, Any], _Record]:
    """Selections by the rows they saw; those on all rows only if there are no others."""
    by_rows = {(record["repeat"], record["fold"]): record for record in records}
    inner = {rows: record for rows, record in by_rows.items() if rows[1] is not None}
    return inner or by_rows


def _alike(
    folds: Mapping[str, Mapping[tuple[Any, Any], _Record]], n_features: int, k: int | None
) -> Alike:
    names = list(folds)
    sums = np.zeros((len(names), len(names)))
    times = np.zeros(sums.shape, dtype=np.int64)
    for rows in dict.fromkeys(rows for of_one in folds.values() for rows in of_one):
        there = [(i, folds[name][rows]) for i, name in enumerate(names) if rows in folds[name]]
        members = [(i, record, _Tops(record, n_features)) for i, record in there]
        for place, (i, first, tops) in enumerate(members):
            for j, second, others in members[place + 1 :]:
                index = _of_pair(first, tops, second, others, k)
                if index is not None:
                    sums[[i, j], [j, i]] += index
                    times[[i, j], [j, i]] += 1
    means: FloatArray = np.divide(sums, times, out=np.full(sums.shape, np.nan), where=times > 0)
    return Alike(
        selectors=tuple(names),
        k=k,
        jaccard=tuple(tuple(None if np.isnan(v) else v for v in row) for row in means.tolist()),
        selections=int(times.max(initial=0)),
    )


class _Tops:
    """Which features a selection has among its best, by problem."""

    def __init__(self, record: _Record, n_features: int) -> None:
        self._parts = selections_by_problem(record)
        self.chose_itself = all(chose_itself(part) for part in self._parts) and bool(self._parts)
        self.limit = min((n_ranked(part) for part in self._parts), default=0)
        self.n_problems = len(self._parts)
        self.place = np.full((self.n_problems, n_features), n_features, dtype=np.int64)
        for place, part in zip(self.place, self._parts, strict=True):
            place[part["order"]] = np.arange(len(part["order"]))

    def best(self, k: int) -> _Members:
        """Membership of the k best, shape (n_problems, n_features)."""
        return (self.place < k).astype(np.float32)

    def own(self) -> _Members:
        """Membership of the subsets that the selector chose."""
        members: _Members = np.zeros(self.place.shape, dtype=np.float32)
        for row, part in zip(members, self._parts, strict=True):
            row[part["support"]] = 1.0
        return members


def _of_pair(
    first: _Record, tops: _Tops, second: _Record, others: _Tops, k: int | None
) -> float | None:
    """Mean Jaccard index of two selections on the same rows; None if they can't be compared."""
    both = first["problems"] is not None and second["problems"] is not None
    if both and first["problems"] != second["problems"]:
        return None
    if tops.place.size == 0 or others.place.size == 0:
        return None
    if k is not None:
        if k > min(tops.limit, others.limit):
            return None
        return _jaccard(tops.best(k), others.best(k))
    if tops.chose_itself and others.chose_itself:
        return _jaccard(tops.own(), others.own())
    if not (tops.chose_itself or others.chose_itself):
        return None
    chooser, ranking = (tops, others) if tops.chose_itself else (others, tops)
    chosen = chooser.own()
    sizes = chosen.sum(axis=1, keepdims=True)
    return _jaccard(chosen, (ranking.place < sizes).astype(np.float32))


def _jaccard(first: _Members, second: _Members) -> float:
    common = (first * second).sum(axis=1)
    union = np.maximum(first, second).sum(axis=1)
    return float(np.mean(np.divide(common, union, out=np.ones_like(common), where=union > 0)))
