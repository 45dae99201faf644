"""At how many features a ranking is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from mlfs_dask.errors import InputError


def count_of_share(share: float, n_features: int) -> int:
    """Number of features that a share stands for: rounded half up, at least 1.

    The share counts as it is written in decimals: 0.35 of 90 features is 31.5 and so 32, although
    ``0.35 * 90`` is 31.499999999999996 in binary.

    Parameters
    ----------
    share
        Above 0, at most 1.
    n_features
        At least 1.

    Raises
    ------
    InputError
        A share outside (0, 1].

    Examples
    --------
    >>> count_of_share(0.05, 72), count_of_share(0.35, 90), count_of_share(0.001, 72)
    (4, 32, 1)
    """
    if not 0 < share <= 1:  # also refuses NaN
        raise InputError(
            f"the share {share} of the features is outside (0, 1]",
            hint="Write 0.1 for 10 percent of the features, or give counts.",
            share=share,
        )
    exact = Decimal(repr(float(share))) * n_features
    return max(1, int(exact.to_integral_value(rounding=ROUND_HALF_UP)))


def feature_counts(
    n_features: int,
    *,
    fractions: Sequence[float] | None = None,
    counts: Sequence[int] | None = None,
) -> list[int]:
    """Feature counts of ``features = { fractions = [..] }`` or ``{ counts = [..] }``.

    Parameters
    ----------
    n_features
        Number of features of the data set.
    fractions
        Shares of the features, each in (0, 1], see :func:`count_of_share`.
    counts
        Numbers of features, each from 1 to ``n_features``.

    Returns
    -------
    list of int
        In the order given; of equal counts only the first is kept.

    Raises
    ------
    InputError
        Both or neither given, an empty list, an impossible share or count.

    Examples
    --------
    >>> feature_counts(10, fractions=[0.05, 0.1, 0.5, 1.0])
    [1, 5, 10]
    >>> feature_counts(72, counts=[5, 20, 5])
    [5, 20]
    """
    if (fractions is None) == (counts is None):
        raise InputError(
            "features needs either fractions or counts",
            hint="For example features = { fractions = [0.1, 0.5, 1.0] }.",
        )
    if counts is not None:
        _refuse_empty("counts", counts)
        _check_counts(counts, n_features)
        return _merged(counts)
    shares = [] if fractions is None else fractions
    _refuse_empty("fractions", shares)
    return _merged(count_of_share(share, n_features) for share in shares)


def _refuse_empty(key: str, values: Sequence[float]) -> None:
    if len(values) == 0:
        raise InputError(f"features.{key} is empty", hint="Give at least one point.")


def _check_counts(counts: Sequence[int], n_features: int) -> None:
    broken = [count for count in counts if not float(count).is_integer()]
    low = [count for count in counts if count < 1]
    high = [count for count in counts if count > n_features]
    for values, problem in (
        (broken, "not whole"),
        (low, "below 1"),
        (high, f"above the {n_features} features of the data"),
    ):
        if values:
            raise InputError(
                f"features.counts has values {problem}: {', '.join(map(str, values))}",
                hint=f"Counts go from 1 to {n_features}; fractions go by share.",
                counts=values,
            )


def _merged(counts: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(int(count) for count in counts))
