"""A quick selection first: its best features are the candidates of a slower selector.

Both see the same training rows. What the second one finds is told in the store's numbering: its
order, then what the first one left out, in the first one's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate import protocol
from mlfs_dask.graphs.source import Source
from mlfs_dask.selectors.engine import NO_FEATURE, Choice, Recorder, recording

# Keys of a path's steps that hold features: one, or a list of them.
_OF_FEATURES: Final = ("feature", "features")


class _Unrecorded:
    """Stands before the recorder of the selection proper."""

    earlier: Sequence[Choice] = ()

    def decided(self, choices: Sequence[Choice], seconds: float) -> None:
        """Leave unsaid what a prefilter decides; taken up again, it decides the same."""


class StoreNumbering:
    """Stands between a selector among candidates and a recorder that knows the store's numbers.

    Parameters
    ----------
    recorder
        Of the selection.
    kept : ndarray of int64
        The candidates, ascending; the selector calls them 0, 1, ...
    """

    def __init__(self, recorder: Recorder, kept: IntArray) -> None:
        self._recorder = recorder
        self._kept: list[int] = kept.tolist()

    @property
    def earlier(self) -> Sequence[Choice]:
        """Decisions made before the interruption, in the selector's numbering."""
        position = {feature: number for number, feature in enumerate(self._kept)}
        return [_renumbered(choice, position.__getitem__) for choice in self._recorder.earlier]

    def decided(self, choices: Sequence[Choice], seconds: float) -> None:
        """Note the decisions of a step; see `mlfs_dask.selectors.engine.Recorder`."""
        named = [_renumbered(choice, self._kept.__getitem__) for choice in choices]
        self._recorder.decided(named, seconds)


def _renumbered(choice: Choice, number: Callable[[int], int]) -> Choice:
    details = _in_numbers(choice.details, number)
    own = choice.feature if choice.feature == NO_FEATURE else number(choice.feature)
    return replace(choice, feature=own, details=details)


def prefilter(selector: Any, train: Source) -> IntArray:
    """Rank the features with a prefilter.

    Parameters
    ----------
    selector
        A selector as the registry gives it, not fitted.
    train
        Training rows with their labels.

    Returns
    -------
    ndarray of int64, shape (n_features,)
        Features, best first.

    Raises
    ------
    InputError
        The selector ranks for each problem by itself.
    """
    with recording(_Unrecorded()):
        record = protocol.select(selector, train)
    if record["problems"] is not None:
        raise InputError(
            f"{type(selector).__name__} ranks features for each of its problems; a prefilter needs "
            "one ranking",
            hint="Take another method for prefilter.",
        )
    return np.array(record["order"], dtype=np.int64)


def in_store_numbering(record: dict[str, Any], ranking: IntArray, n_kept: int) -> dict[str, Any]:
    """The record of a selection among a prefilter's best features, as one among all features.

    Parameters
    ----------
    record
        Of the selector, whose feature f is the f-th of the kept ones by index.
    ranking : ndarray of int64, shape (n_features,)
        From `prefilter`.
    n_kept
        How many of it were kept.

    Returns
    -------
    dict
        Order, scores, support and path in the store's numbering; scores of features that were not
        kept are None.

    Examples
    --------
    >>> import numpy as np
    >>> record = {"problems": None, "order": [1, 0], "scores": [0.5, 0.7], "support": [1]}
    >>> record["path"] = [{"step": 0, "feature": 1, "score": 0.7, "reason": "best"}]
    >>> whole = in_store_numbering(record, np.array([3, 0, 2, 1]), 2)
    >>> whole["order"], whole["scores"], whole["support"], whole["path"][0]["feature"]
    ([3, 0, 2, 1], [0.5, None, None, 0.7], [3], 3)
    """
    kept: list[int] = np.sort(ranking[:n_kept]).tolist()
    rest: list[int] = ranking[n_kept:].tolist()

    def order(found: list[int]) -> list[int]:
        return [kept[feature] for feature in found] + rest

    def scores(found: list[float | None]) -> list[float | None]:
        whole: list[float | None] = [None] * len(ranking)
        for feature, score in zip(kept, found, strict=True):
            whole[feature] = score
        return whole

    def support(found: list[int]) -> list[int]:
        return [kept[feature] for feature in found]

    renumbered = {
        key: [convert(part) for part in record[key]]
        if record["problems"] is not None
        else convert(record[key])
        for key, convert in (("order", order), ("scores", scores), ("support", support))
    }
    path = [_in_numbers(step, kept.__getitem__) for step in record["path"]]
    return {**record, **renumbered, "path": path}


def _in_numbers(values: Mapping[str, Any], number: Callable[[int], int]) -> dict[str, Any]:
    """A step or its details, its features in another numbering."""
    renumbered: dict[str, Any] = {}
    for key in _OF_FEATURES:
        found = values.get(key)
        if isinstance(found, list):
            renumbered[key] = [number(feature) for feature in found]
        elif found is not None:
            renumbered[key] = number(found)
    return {**values, **renumbered}
