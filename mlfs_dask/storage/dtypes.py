"""The smallest dtype that holds all values of X exactly, and casts that refuse to change values.

The four dtypes of a store form a chain: whatever fits in one fits in all later ones, so the dtype
of a whole table is the largest of the dtypes of its batches.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray
from mlfs_dask.errors import InputError

STORE_DTYPES: Final = ("uint8", "int16", "float32", "float64")
"""Dtypes of X in a store, smallest first."""


def smallest_dtype(values: FloatArray) -> np.dtype:
    """Smallest dtype of a store with ``float64(as_dtype(v)) == v`` for all values.

    Parameters
    ----------
    values : ndarray of float64, any shape
        NaN (missing) needs a float dtype.

    Returns
    -------
    dtype
        uint8, int16, float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> smallest_dtype(np.array([0.0, 1.0, -3.0])).name
    'int16'
    >>> smallest_dtype(np.array([0.1])).name
    'float64'
    """
    if values.size == 0:
        return np.dtype(np.uint8)
    low, high = values.min(), values.max()  # NaN if any value is NaN
    if low >= -32768 and high <= 32767:
        as_int = values.astype(np.int16)
        if np.array_equal(as_int, values):
            return np.dtype(np.uint8 if low >= 0 and high <= 255 else np.int16)
    with np.errstate(over="ignore"):
        as_single = values.astype(np.float32)
    if np.array_equal(as_single, values, equal_nan=True):
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def largest_dtype(first: np.dtype, second: np.dtype) -> np.dtype:
    """Later one of two dtypes in the chain uint8, int16, float32, float64.

    Parameters
    ----------
    first, second
        Dtypes of a store.
    """
    return max(first, second, key=lambda dtype: STORE_DTYPES.index(dtype.name))


def parse_dtype(name: str | None) -> np.dtype | None:
    """Dtype asked for by name; None for the smallest that holds all values.

    Parameters
    ----------
    name
        One of `STORE_DTYPES`, ``"auto"`` or None.

    Raises
    ------
    InputError
        Another dtype.
    """
    if name is None or name == "auto":
        return None
    if str(name) not in STORE_DTYPES:
        raise InputError(
            f"dtype {name!r} is not a dtype of a store",
            hint=f"Choose one of {', '.join(STORE_DTYPES)}, or auto.",
            dtype=str(name),
        )
    return np.dtype(name)


def cast_values(values: FloatArray, dtype: np.dtype) -> AnyArray:
    """Values in a dtype that the user chose: float32 may round, integers may not.

    Parameters
    ----------
    values : ndarray of float64, any shape
    dtype
        Dtype of a store.

    Returns
    -------
    ndarray of `dtype`, same shape

    Raises
    ------
    InputError
        A value that an integer dtype does not hold, or one beyond float32.
    """
    if dtype == np.float64:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        cast = values.astype(dtype)
        wrong = cast != values if dtype.kind in "iu" else np.isinf(cast)
    if wrong.any():
        raise InputError(
            f"dtype {dtype.name} cannot hold the value {float(values[wrong].flat[0])!r}",
            hint="Leave --dtype out: the smallest dtype that holds all values is found by itself.",
            dtype=dtype.name,
        )
    return cast
