"""At how many features a ranking is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlfs_dask.errors import InputError
from mlfs_dask.kernels.shares import count_of_share
from mlfs_dask.wording import counted

_SHOWN = 12


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
        Shares of the features, each in (0, 1]; see `mlfs_dask.kernels.shares.count_of_share`.
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
        (high, f"above the {counted(n_features, 'feature')} of the data"),
    ):
        if values:
            shown = ", ".join(map(str, values[:_SHOWN]))
            more = f", ... ({len(values)} in all)" if len(values) > _SHOWN else ""
            raise InputError(
                f"features.counts has values {problem}: {shown}{more}",
                hint=f"Counts go from 1 to {n_features}; fractions go by share.",
                counts=values,
            )


def _merged(counts: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(int(count) for count in counts))
