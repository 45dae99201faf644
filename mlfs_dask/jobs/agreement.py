"""Do the folds select the same features? Agreement of the selections of one selector."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from mlfs_dask._typing import IntArray
from mlfs_dask.evaluate.stability import mean_jaccard, mean_kuncheva, selection_frequency
from mlfs_dask.jobs.summary import Point
from mlfs_dask.kernels.shares import count_of_share

_WANTED: Final = 5
_SHARES: Final = (0.05, 0.1, 0.2, 0.5)


class AgreementAt(Struct, frozen=True, kw_only=True):
    """Agreement of the folds' k best features.

    Attributes
    ----------
    k
        How many of the best features are compared.
    jaccard, kuncheva
        Means over all pairs of folds; None where undefined.
    """

    k: int
    jaccard: float | None
    kuncheva: float | None


class OwnAgreement(Struct, frozen=True, kw_only=True):
    """Agreement of the subsets that a selector chose itself.

    Attributes
    ----------
    smallest, mean, largest
        Sizes of the subsets.
    jaccard
        Mean over all pairs of folds; None for a single fold.
    """

    smallest: int
    mean: float
    largest: int
    jaccard: float | None


class Agreement(Struct, frozen=True, kw_only=True):
    """Agreement of the selections of one selector on one data set.

    Attributes
    ----------
    folds
        Selections compared, of all repeats.
    n_features
        Number of features there are.
    problems
        How many problems have a selection of their own, over which all figures are means; None
        for a selector with one selection for all labels.
    at
        At a few numbers of features.
    own
        Of the subsets that the selector itself chose; None if it ranks all features.
    """

    folds: int
    n_features: int
    problems: int | None
    at: tuple[AgreementAt, ...]
    own: OwnAgreement | None


def agreement(
    folds: Sequence[dict[str, Any]], n_features: int, counts: Sequence[int]
) -> Agreement | None:
    """Agreement of the selections of the folds.

    Parameters
    ----------
    folds
        Selections of one selector on one data set, as ``results.json`` holds them.
    n_features
        Number of features of the data set.
    counts
        At how many features to compare; those beyond what the selector ranked are left out, since
        what follows there is no choice of its own.

    Returns
    -------
    Agreement
        None for fewer than two selections, for problems that differ from fold to fold, and for
        none.
    """
    if len(folds) < 2 or any(fold["problems"] != folds[0]["problems"] for fold in folds):
        return None
    # Problem -> fold -> record; a selection for all labels is one problem.
    problems = list(zip(*(selections_by_problem(fold) for fold in folds), strict=True))
    if not problems:
        return None
    limit = min(n_ranked(record) for problem in problems for record in problem)
    orders = [[record["order"] for record in problem] for problem in problems]
    return Agreement(
        folds=len(folds),
        n_features=n_features,
        problems=None if folds[0]["problems"] is None else len(problems),
        at=tuple(_at(orders, k, n_features) for k in counts if k <= limit),
        own=_own(problems),
    )


def chosen_in_folds(folds: Sequence[dict[str, Any]], n_features: int, k: int) -> IntArray:
    """In how many selections each feature is among the k best.

    Parameters
    ----------
    folds
        Selections for all labels, as ``results.json`` holds them.
    n_features
        Number of features of the data set.
    k
        How many of the best count.

    Returns
    -------
    ndarray of int64, shape (n_features,)
    """
    return selection_frequency([fold["order"][:k] for fold in folds], n_features)


def selections_by_problem(record: dict[str, Any]) -> list[dict[str, Any]]:
    """A selection taken apart into one per problem.

    Parameters
    ----------
    record
        As ``results.json`` holds it.

    Returns
    -------
    list of dict
        Records with ``problems`` None; just the record itself if it is for all labels.
    """
    if record["problems"] is None:
        return [record]
    return [
        {**record, "problems": None, "order": order, "scores": scores, "support": support}
        for order, scores, support in zip(
            record["order"], record["scores"], record["support"], strict=True
        )
    ]


def chose_itself(record: dict[str, Any]) -> bool:
    """Whether the selector decided how many features to keep.

    Parameters
    ----------
    record
        A selection for all labels, or for one problem.
    """
    asked_for = record.get("params", {}).get("n_features_to_select")
    return asked_for is None and len(record["support"]) < len(record["order"])


def n_ranked(record: dict[str, Any]) -> int:
    """How many features stand in an order that the selector chose.

    Features without a score, and those outside a subset that the selector chose, follow by index.

    Parameters
    ----------
    record
        A selection for all labels, or for one problem.
    """
    if chose_itself(record):
        return len(record["support"])
    scores = np.array(record["scores"], dtype=np.float64)  # NaN for None
    return int(np.count_nonzero(~np.isnan(scores))) or len(record["order"])


def counts_to_compare(points: Sequence[Point], n_features: int) -> list[int]:
    """At how many features to compare folds: a handful of those where classifiers were measured.

    Parameters
    ----------
    points
        Of one selector on one data set; none: 5, 10, 20 and 50 % of the features.
    n_features
        Number of features of the data set.
    """
    measured = {int(p.n_features) for p in points if p.n_features.is_integer()}
    counts = sorted(count for count in measured if 0 < count < n_features)
    if not counts:
        shares = (count_of_share(share, n_features) for share in _SHARES)
        counts = sorted({count for count in shares if count < n_features})
    if len(counts) <= _WANTED:
        return counts
    spread = np.linspace(0, len(counts) - 1, _WANTED).round().astype(int)
    return [counts[position] for position in spread]


def _at(orders: Sequence[Sequence[list[int]]], k: int, n_features: int) -> AgreementAt:
    tops = [[order[:k] for order in problem] for problem in orders]
    return AgreementAt(
        k=k,
        jaccard=_mean(mean_jaccard, tops),
        kuncheva=_mean(lambda subsets: mean_kuncheva(subsets, n_features), tops),
    )


def _own(problems: Sequence[Sequence[dict[str, Any]]]) -> OwnAgreement | None:
    if not any(chose_itself(record) for problem in problems for record in problem):
        return None
    supports = [[record["support"] for record in problem] for problem in problems]
    sizes = [len(support) for problem in supports for support in problem]
    return OwnAgreement(
        smallest=min(sizes),
        mean=sum(sizes) / len(sizes),
        largest=max(sizes),
        jaccard=_mean(mean_jaccard, supports),
    )


def _mean(index: Callable[[Any], float], problems: Sequence[Any]) -> float | None:
    value = sum(index(problem) for problem in problems) / len(problems)
    return None if math.isnan(value) else value
