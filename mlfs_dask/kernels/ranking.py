"""How scores become decisions: the 9-digit key, ties to the lower index, constants last.

Features that are mathematically tied get scores that differ in the last bits between two exact
roads. Every decision of a selector therefore compares values rounded to 9 significant digits;
equal keys go to the lower index.
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray

# Half a unit of the 9th digit is at most 5e-9 relative; two values within 1e-8 of each other may
# share a key, values further apart cannot.
_NEAR = 1e-8


def decision_key(values: FloatArray) -> FloatArray:
    """Round to 9 significant decimal digits, correctly.

    Parameters
    ----------
    values : ndarray of float64, any shape
        Scores; NaN and infinities pass through.

    Returns
    -------
    ndarray of float64, same shape
        ``float("%.8e" % v)`` of every value, with -0.0 turned into 0.0.

    Examples
    --------
    >>> import numpy as np
    >>> decision_key(np.array([0.1 + 0.2, 0.3])).tolist()
    [0.3, 0.3]
    """
    array = np.asarray(values, dtype=np.float64)
    flat = [float(f"{v:.8e}") for v in array.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(array.shape) + 0.0


def rank_order(scores: FloatArray, *, higher_is_better: bool, constant: BoolArray) -> IntArray:
    """Feature indices best first, by key, ties to the lower index, constants last.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_features,)
        One score per feature; NaN counts as worst.
    higher_is_better
        Direction of the score.
    constant : ndarray of bool, shape (n_features,)
        Features with one value over the training rows; placed last, in index order.

    Returns
    -------
    ndarray of int64, shape (n_features,)
        A permutation of ``0..n_features-1``.

    Examples
    --------
    >>> import numpy as np
    >>> s = np.array([0.0, 2.0, 1.0, 2.0])
    >>> rank_order(s, higher_is_better=True, constant=np.array([True, False, False, False]))
    array([1, 3, 2, 0])
    """
    losses = -scores if higher_is_better else scores
    losses = _keys_where_near(np.where(np.isnan(losses), np.inf, losses))
    index = np.arange(len(losses))
    order = np.lexsort((index, np.where(constant, 0.0, losses), constant))
    return order.astype(np.int64)


def _keys_where_near(values: FloatArray) -> FloatArray:
    """Values in the order of their keys, equal where these are: those with others near are rounded.

    Rounding takes much longer than sorting, and values with no other near keep their places.
    """
    distinct, place = np.unique(values, return_inverse=True)
    with np.errstate(invalid="ignore"):
        gaps, sizes = np.diff(distinct), np.abs(distinct)
    close = np.zeros(len(distinct) + 1, dtype=bool)
    close[1:-1] = gaps <= _NEAR * np.maximum(sizes[:-1], sizes[1:])
    near = np.flatnonzero((close[:-1] | close[1:]) & np.isfinite(distinct))
    distinct[near] = decision_key(distinct[near])
    return distinct[place.ravel()]


def chosen_first(chosen: IntArray, constant: BoolArray) -> IntArray:
    """Features in the order of choice, then the others by index, constants last.

    Parameters
    ----------
    chosen : ndarray of int64
        Features, each once.
    constant : ndarray of bool, shape (n_features,)

    Returns
    -------
    ndarray of int64, shape (n_features,)

    Examples
    --------
    >>> chosen_first(np.array([3, 1]), np.array([True, False, False, False])).tolist()
    [3, 1, 2, 0]
    """
    others = np.ones(len(constant), dtype=bool)
    others[chosen] = False
    tail = [np.flatnonzero(others & ~constant), np.flatnonzero(others & constant)]
    return np.concatenate([chosen, *tail])


def ranks_of(order: IntArray) -> IntArray:
    """Rank of each feature, 1 for the first.

    Parameters
    ----------
    order : ndarray of int64, shape (..., n_features)
        Permutations along the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> ranks_of(np.array([2, 0, 1])).tolist()
    [2, 3, 1]
    """
    ranks = np.empty_like(order)
    places = np.broadcast_to(np.arange(1, order.shape[-1] + 1), order.shape)
    np.put_along_axis(ranks, order, places, axis=-1)
    return ranks


def argbest(values: FloatArray, *, higher_is_better: bool) -> int:
    """Index of the best value by key, the lowest index among equal keys.

    Only values within 1e-8 relative of the best are rounded: others cannot share its key.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Candidates; NaN is never chosen.
    higher_is_better
        Direction.

    Returns
    -------
    int
        Position of the best, -1 if every value is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> argbest(np.array([1.0, 3.0, 3.0 + 1e-12]), higher_is_better=True)
    1
    """
    losses = -values if higher_is_better else values
    losses = np.where(np.isnan(losses), np.inf, losses)
    if len(losses) == 0:
        return -1
    best = losses.min()
    if np.isinf(best):
        hits = np.flatnonzero((losses == best) & ~np.isnan(values))
        return int(hits[0]) if len(hits) else -1
    near = np.flatnonzero(losses <= best + _NEAR * abs(best))
    keys = decision_key(losses[near])
    return int(near[np.flatnonzero(keys == keys.min())[0]])
