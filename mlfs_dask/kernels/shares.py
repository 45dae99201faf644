"""From a share of the features to a number of features."""

from __future__ import annotations

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
