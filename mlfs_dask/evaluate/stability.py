"""How much of a selection is chance: agreement of the folds, and the one-standard-error rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import InputError


def mean_jaccard(subsets: Sequence[ArrayLike]) -> float:
    r"""Mean Jaccard index of all pairs of subsets.

    For a pair it is :math:`|A \cap B| / |A \cup B|`: 1 for equal subsets, 0 for disjoint ones.
    Two empty subsets are equal, so they count 1.

    Parameters
    ----------
    subsets
        m sets of feature indices, of any sizes.

    Returns
    -------
    float
        NaN for fewer than two subsets.

    Raises
    ------
    InputError
        A subset names a feature twice.

    Examples
    --------
    >>> mean_jaccard([[0, 1, 2], [1, 2, 3], [0, 1, 2]])
    0.6666666666666666
    """
    sizes, common = _overlaps(subsets)
    union = sizes[:, None] + sizes[None, :] - common
    return _mean_of_pairs(np.divide(common, union, out=np.ones_like(common), where=union > 0))


def mean_kuncheva(subsets: Sequence[ArrayLike], n_features: int) -> float:
    r"""Mean consistency index of all pairs of subsets of one size, corrected for chance.

    With r common features of k each, out of d, a pair has

    .. math:: \frac{r d - k^2}{k (d - k)},

    which is 1 for equal subsets, 0 on average for subsets drawn at random, and never below -1
    (Kuncheva 2007, "A stability index for feature selection").

    Parameters
    ----------
    subsets
        m sets of k feature indices each.
    n_features
        Number of features d there are to choose from.

    Returns
    -------
    float
        NaN for fewer than two subsets, and where it is undefined: k = 0 and k = d.

    Raises
    ------
    InputError
        The subsets differ in size, or name a feature twice or one outside 0 to d - 1.

    Examples
    --------
    >>> mean_kuncheva([[0, 1], [0, 1]], n_features=4), mean_kuncheva([[0, 1], [1, 2]], n_features=4)
    (1.0, 0.0)
    """
    _refuse_outside(subsets, n_features)
    sizes, common = _overlaps(subsets)
    if len(np.unique(sizes)) > 1:
        shown = ", ".join(f"{size:g}" for size in np.unique(sizes)[:8])
        raise InputError(
            f"the consistency index compares subsets of one size; got sizes {shown}",
            hint="The Jaccard index takes subsets of any sizes.",
        )
    k, d = float(sizes[0]) if len(sizes) else 0.0, float(n_features)
    if k in (0.0, d):
        return math.nan
    return _mean_of_pairs((common * d - k * k) / (k * (d - k)))


def selection_frequency(subsets: Sequence[ArrayLike], n_features: int) -> IntArray:
    """How many of the subsets have each feature.

    Parameters
    ----------
    subsets
        Sets of feature indices.
    n_features
        Number of features there are.

    Returns
    -------
    ndarray of int64, shape (n_features,)

    Raises
    ------
    InputError
        A subset names a feature twice or one outside 0 to n_features - 1.

    Examples
    --------
    >>> selection_frequency([[0, 1], [1, 2]], n_features=4).tolist()
    [1, 2, 1, 0]
    """
    _refuse_outside(subsets, n_features)
    _, members = _flat(subsets)
    return np.bincount(members, minlength=n_features).astype(np.int64)


def standard_error(values: ArrayLike) -> float:
    r"""Standard error of the mean, :math:`s / \sqrt{m}` with divisor m - 1 in s.

    Parameters
    ----------
    values : array_like of float, shape (m,)
        One value per fold; NaN (undefined) is left out.

    Returns
    -------
    float
        NaN for fewer than two values.

    Examples
    --------
    >>> standard_error([1.0, 3.0])
    1.0
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return math.nan
    return float(np.std(known, ddof=1) / math.sqrt(len(known)))


def one_standard_error(
    sizes: ArrayLike, means: ArrayLike, errors: ArrayLike, *, higher_is_better: bool
) -> tuple[int, int] | None:
    """The best point of a curve, and the smallest that is as good up to chance.

    The rule of Breiman, Friedman, Olshen and Stone (1984): take the smallest size whose mean is no
    more than one standard error, that of the best point, behind the best mean.

    Parameters
    ----------
    sizes : array_like of float, shape (p,)
        Number of features at each point.
    means : array_like of float, shape (p,)
        Mean of the measure there; NaN (undefined) is left out.
    errors : array_like of float, shape (p,)
        Standard error of that mean; NaN (a single fold) counts as 0.
    higher_is_better
        Direction of the measure.

    Returns
    -------
    best, enough : int
        Positions. Of equal means the smaller size is the best. None if no mean is defined.

    Examples
    --------
    >>> one_standard_error([5, 10, 20], [0.30, 0.22, 0.20], [0.03] * 3, higher_is_better=False)
    (2, 1)
    """
    size, mean, error = (np.asarray(v, dtype=np.float64) for v in (sizes, means, errors))
    loss: FloatArray = -mean if higher_is_better else mean
    known = np.flatnonzero(~np.isnan(loss))
    if len(known) == 0:
        return None
    best = int(known[np.lexsort((size[known], loss[known]))[0]])
    slack = 0.0 if np.isnan(error[best]) else error[best]
    good = known[loss[known] <= loss[best] + slack]
    return best, int(good[np.argmin(size[good])])


def _refuse_outside(subsets: Sequence[ArrayLike], n_features: int) -> None:
    _, members = _flat(subsets)
    outside = members[(members < 0) | (members >= n_features)]
    if len(outside):
        raise InputError(f"feature {outside[0]} is outside 0 to {n_features - 1}")


def _flat(subsets: Sequence[ArrayLike]) -> tuple[IntArray, IntArray]:
    """Number of the subset and feature of every membership."""
    arrays = [np.asarray(subset, dtype=np.int64).reshape(-1) for subset in subsets]
    for number, array in enumerate(arrays):
        if len(np.unique(array)) < len(array):
            raise InputError(f"subset {number} names a feature twice")
    owners = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    return owners, np.concatenate([*arrays, np.empty(0, np.int64)])


def _overlaps(subsets: Sequence[ArrayLike]) -> tuple[FloatArray, FloatArray]:
    """Sizes, shape (m,), and numbers of common features of all pairs, shape (m, m)."""
    owners, members = _flat(subsets)
    used, columns = np.unique(members, return_inverse=True)
    inside = np.zeros((len(subsets), len(used)))  # whole numbers: the product is exact
    inside[owners, columns] = 1.0
    return inside.sum(axis=1), inside @ inside.T


def _mean_of_pairs(index: Any) -> float:
    upper = index[np.triu_indices(len(index), k=1)]
    return float(np.mean(upper)) if len(upper) else math.nan
