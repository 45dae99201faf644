"""One greedy choice of MLLAP, and the range of values that share a decision key.

Rounding to 9 digits is monotone: the candidates whose key equals the best one's are those up to the
top of the best one's rounding cell. Finding that top once replaces rounding every candidate.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.kernels._jit import jit

_NEGLIGIBLE = 1e-12


def key_cell_top(value: float) -> float:
    """The largest float whose decision key equals that of ``value``.

    Parameters
    ----------
    value
        A finite number.

    Examples
    --------
    >>> key_cell_top(0.0)
    0.0
    >>> top = key_cell_top(1.0)
    >>> float(f"{top:.8e}"), float(f"{np.nextafter(top, 2.0):.8e}")
    (1.0, 1.00000001)
    """
    key = float(f"{value:.8e}")
    if key == 0.0:
        return 0.0
    exponent = Decimal(f"{key:.8e}").adjusted()
    step = Decimal(5).scaleb(exponent - 9)
    top = _last_with_key(float(Decimal(f"{key:.8e}") + step), key)
    if top is None:
        # A negative power of ten: the cell is ten times finer on the side of zero.
        top = _last_with_key(float(Decimal(f"{key:.8e}") + step / 10), key)
    return value if top is None else top


def _last_with_key(guess: float, key: float) -> float | None:
    """The last float at or next to ``guess`` that has the key, if it is there."""
    for candidate in (math.nextafter(guess, math.inf), guess, math.nextafter(guess, -math.inf)):
        if float(f"{candidate:.8e}") == key:
            return candidate
    return None


@jit
def trace_ratio_increments(
    a: FloatArray, b: FloatArray, ratio: float, spread: float, out: FloatArray
) -> None:
    """Increase of sum(a) / sum(b) by each candidate (paper B, eq. (9)).

    Parameters
    ----------
    a, b : ndarray of float64, shape (n_candidates,)
        Numerators and denominators of the candidates.
    ratio, spread
        The criterion and the sum of b of the features chosen so far.
    out : ndarray of float64, shape (n_candidates,), changed
        ``(a - ratio b) / (spread + b)``, 0 where the numerator is rounding noise.
    """
    for f in range(len(a)):
        gain = a[f] - ratio * b[f]
        noise = abs(gain) < _NEGLIGIBLE * a[f]
        out[f] = 0.0 if noise else gain / (spread + b[f])


@jit
def first_at_most(values: FloatArray, limit: float) -> int:
    """Position of the first value that is at most ``limit``, -1 if there is none.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values,)
    limit
        Compared as it is.
    """
    for f in range(len(values)):
        if values[f] <= limit:
            return f
    return -1


@jit
def euclidean_sums(
    W: FloatArray,
    base: FloatArray,
    left: FloatArray,
    right: FloatArray,
    owner: IntArray,
    out: FloatArray,
) -> None:
    """Add ``W_ij sqrt(base_ij + gap²)`` over pairs of rows to each candidate feature.

    Parameters
    ----------
    W, base : ndarray of float64, shape (>= n_left, >= n_right)
        Similarities, and squared distances over the features chosen so far.
    left, right : ndarray of float64, shape (n_left, n_columns) and (n_right, n_columns)
        Scaled columns of the candidates.
    owner : ndarray of int64, shape (n_columns,)
        Candidate each column belongs to.
    out : ndarray of float64, shape (n_candidates,), changed
    """
    squares = np.empty(len(out), dtype=np.float64)
    for i in range(len(left)):
        for j in range(len(right)):
            squares[:] = base[i, j]
            for c in range(len(owner)):
                gap = left[i, c] - right[j, c]
                squares[owner[c]] += gap * gap
            for f in range(len(out)):
                out[f] += W[i, j] * np.sqrt(squares[f])
