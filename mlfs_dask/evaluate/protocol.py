"""The protocol: rank the features on training rows, judge the ranking on test rows.

::

    fold ──> train rows ──> selector ──> order ──┐
         │                                       ├─> classifier at each count ──> metrics
         ├─> train rows ─────────────────────────┤
         └─> test rows ──────────────────────────┘

Nothing here sees test rows before the classifier predicts them: selectors, scaling and imputation
get a source of training rows only.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlfs_dask._typing import (
    AnyArray,
    ByteArray,
    Conventions,
    FloatArray,
    IntArray,
    ProblemOrders,
)
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate import splits
from mlfs_dask.evaluate.grouped import groups
from mlfs_dask.evaluate.metrics import METRICS, score_all
from mlfs_dask.evaluate.stratified import iterative
from mlfs_dask.graphs.source import Source
from mlfs_dask.wording import counted


@dataclass(frozen=True)
class Measurement:
    """One measure of one classifier at one point of a ranking.

    Attributes
    ----------
    n_features
        How many of the best features the classifier got; with features per problem this and the
        next two are means over the problems.
    share
        The same as a share of all features.
    cost_share
        Their cost as a share of the cost of all; None without costs.
    metric
        Name of the measure.
    value
        NaN where undefined.
    n_scored
        Rows (or labels) in the mean.
    """

    n_features: int | float
    share: float
    cost_share: float | None
    metric: str
    value: float
    n_scored: int


@dataclass(frozen=True)
class Splitting:
    """How rows are parted into training and test rows.

    Attributes
    ----------
    kind
        ``"kfold"``, ``"iterative"``, ``"groups"`` or ``"holdout"``.
    folds, repeats, seed
        Of all kinds but ``holdout``.
    Y : ndarray of 0 and 1, shape (n_samples, n_labels), or None
        Labels of all rows, for ``iterative``.
    codes : ndarray of int64, shape (n_samples,), or None
        Group of each row, for ``groups``.
    """

    kind: str
    folds: int = 10
    repeats: int = 1
    seed: int = 0
    Y: ByteArray | None = field(default=None, repr=False, compare=False)
    codes: IntArray | None = field(default=None, repr=False, compare=False)

    def fold(self, number: tuple[int, int], n_samples: int, split: ByteArray | None) -> splits.Fold:
        """One fold; the others of its repeat are at hand afterwards.

        Parameters
        ----------
        number
            Repeat and fold, 0-based.
        n_samples
            Rows of the data set.
        split : ndarray of uint8, shape (n_samples,), or None
            The split that the data ship, for ``holdout``.

        Raises
        ------
        InputError
            Fewer rows or groups than folds; no split shipped, or one without training or test
            rows; labels or groups that are not given for each row.
        """
        if self.kind == "holdout":
            return splits.holdout(np.zeros(n_samples, np.uint8) if split is None else split)
        repeat, fold = number
        test = self._tests(n_samples, repeat)[fold]
        made = splits.folds_from_tests(n_samples, [test], repeat)[0]
        return replace(made, fold=fold)

    def numbers(self) -> Iterator[tuple[int, int]]:
        """Repeat and fold of every fold, in order."""
        if self.kind == "holdout":
            return iter([(0, 0)])
        return ((repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds))

    def _tests(self, n_samples: int, repeat: int) -> list[IntArray]:
        """Test rows of all folds of a repeat."""
        if self.kind == "kfold":
            return _kfold(n_samples, self.folds, self.seed, repeat)
        if self.kind not in ("iterative", "groups"):
            raise InputError(
                f"kind = {self.kind!r}: expected 'kfold', 'iterative', 'groups' or 'holdout'"
            )
        known = self.Y if self.kind == "iterative" else self.codes
        name = "labels" if self.kind == "iterative" else "groups"
        if known is None or len(known) != n_samples:
            count = "none" if known is None else len(known)
            raise InputError(
                f'kind = "{self.kind}" needs the {name} of all '
                f"{counted(n_samples, 'row')}; given: {count}"
            )
        return _informed(self.kind, _Content(known), self.folds, self.seed, repeat)


@lru_cache(maxsize=4)
def _kfold(n_samples: int, folds: int, seed: int, repeat: int) -> list[IntArray]:
    return splits.kfold(n_samples, folds, seed, repeat)


class _Content:
    """An array as a key: equal to another with the same values."""

    def __init__(self, array: AnyArray) -> None:
        self.array = np.ascontiguousarray(array)
        digest = hashlib.blake2b(self.array.data, digest_size=16)
        self._key = (self.array.shape, self.array.dtype.str, digest.digest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=4)
def _informed(kind: str, known: _Content, folds: int, seed: int, repeat: int) -> list[IntArray]:
    deal = iterative if kind == "iterative" else groups
    return deal(known.array, folds, seed, repeat)


def select(selector: Any, train: Source) -> dict[str, Any]:
    """Rank the features on training rows.

    Parameters
    ----------
    selector
        A selector as the registry gives it, not fitted.
    train
        Training rows with their labels.

    Returns
    -------
    dict
        The selection as ``results.json`` holds it (order, scores, support, path, ...), plain
        values.
    """
    selector.fit(train)
    record: dict[str, Any] = selector.selection_record()
    return record


def judge(
    classifier: Any,
    fold: tuple[Source, Source],
    ranking: tuple[IntArray | ProblemOrders, Sequence[int]],
    metrics: Sequence[str],
    conventions: Conventions = "default",
    note: Callable[[str], None] | None = None,
) -> list[Measurement]:
    """Measure a classifier at several points of a ranking.

    Parameters
    ----------
    classifier
        A classifier as the registry gives it, not fitted.
    fold
        Training and test rows with their labels.
    ranking
        Features best first, and at how many of them to measure; or those of each problem.
    metrics
        Names of measures.
    conventions
        Whose rules they follow.
    note
        Told what the classifier says should be known, such as the share of tied neighbours.

    Returns
    -------
    list of Measurement
        By point in the order given, then by measure.

    Raises
    ------
    InputError
        The classifier left a point out, or has no use for features per problem.
    """
    train, test = fold
    order, counts = ranking
    found: list[tuple[int, Measurement]] = []
    answered = []
    for count, proba, labels, notes in _outcomes(classifier, fold, order, list(counts)):
        if note is not None:
            for text in notes:
                note(text)
        scores = score_all(metrics, test.Y, proba, labels, conventions)
        extent = _extent(train, order, int(count))
        found += [
            (int(count), Measurement(*extent, name, score.value, score.n_scored))
            for name, score in scores.items()
        ]
        answered.append(int(count))
    if sorted(answered) != sorted(counts):
        raise InputError(
            f"{type(classifier).__name__}.curve answered for the counts {answered}, asked were "
            f"{list(counts)}"
        )
    found.sort(key=lambda pair: (counts.index(pair[0]), metrics.index(pair[1].metric)))
    return [measurement for _, measurement in found]


def nothing_to_judge(source: Source, metrics: Sequence[str]) -> list[Measurement]:
    """Measurements of a selector that selected no feature: undefined, over no row.

    Parameters
    ----------
    source
        Any rows of the data set.
    metrics
        Names of measures.
    """
    cost_share = _cost_share(source, np.zeros(0, dtype=np.int64))
    return [Measurement(0, 0.0, cost_share, name, math.nan, 0) for name in metrics]


def higher_is_better(metric: str) -> bool:
    """Direction of a measure.

    Parameters
    ----------
    metric
        Its name.
    """
    return METRICS[metric].higher_is_better


def _outcomes(
    classifier: Any,
    fold: tuple[Source, Source],
    order: IntArray | ProblemOrders,
    counts: list[int],
) -> Iterator[tuple[int, FloatArray, ByteArray, Sequence[str]]]:
    """Scores and labels at each point; of plug-ins with scores only, 1 from 0.5 on."""
    if isinstance(order, Mapping):
        if not hasattr(classifier, "problem_outcomes"):
            raise InputError(
                f"{type(classifier).__name__} takes one ranking of the features for all labels, "
                "the selector made one for each of its problems",
                hint="Judge this selector by another classifier.",
            )
        yield from classifier.problem_outcomes(*fold, order, counts)
        return
    if hasattr(classifier, "outcomes"):
        yield from classifier.outcomes(*fold, order, counts)
        return
    decide = getattr(classifier, "decide", None)
    for count, proba in classifier.curve(*fold, order, counts):
        labels = (proba >= 0.5).astype(np.uint8) if decide is None else decide(proba)
        yield count, proba, labels, ()


def _extent(
    source: Source, order: IntArray | ProblemOrders, count: int
) -> tuple[int | float, float, float | None]:
    """Number of features, share and share of cost at a point; means over problems."""
    if not isinstance(order, Mapping):
        return count, count / source.n_features, _cost_share(source, order[:count])
    chosen = [each[:count] for each in order.values()]
    mean = sum(map(len, chosen)) / len(chosen)
    costs = [_cost_share(source, features) for features in chosen]
    known = [cost for cost in costs if cost is not None]
    return (
        int(mean) if mean.is_integer() else mean,
        mean / source.n_features,
        math.fsum(known) / len(known) if known else None,
    )


def _cost_share(source: Source, features: IntArray) -> float | None:
    if source.feature_cost is None:
        return None
    total = float(source.feature_cost.sum())
    return float(source.feature_cost[features].sum()) / total if total > 0 else 0.0
