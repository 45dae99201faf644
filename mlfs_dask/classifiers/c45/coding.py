"""Nominal values as codes 0, 1, ... that branches of a tree are numbered by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError

_ZERO_ONE = np.array([0.0, 1.0])


class Coding:
    """Values of nominal features and their codes.

    Parameters
    ----------
    n_features
        Number of features.
    values : mapping of int to ndarray of float64
        Ascending values of each nominal feature; the code is the position.
    """

    def __init__(self, n_features: int, values: dict[int, FloatArray]) -> None:
        self.n_values = np.zeros(n_features, dtype=np.int64)
        self.n_values[list(values)] = [len(each) for each in values.values()]
        self._other = {j: v for j, v in values.items() if not np.array_equal(v, np.arange(len(v)))}
        plain = [j for j in values if j not in self._other]
        self._plain: IntArray = np.array(plain, dtype=np.int64)

    @classmethod
    def of_rows(cls, X: FloatArray, kind: ByteArray) -> Self:
        """Codes of the values that occur; a feature of 0 and 1 keeps both.

        Parameters
        ----------
        X : ndarray of float64, shape (n_samples, n_features)
            Training rows; NaN is missing.
        kind : ndarray of uint8, shape (n_features,)
            1 nominal.
        """
        nominal = np.flatnonzero(kind)
        taken = X[:, nominal]
        binary = ((taken == 0) | (taken == 1) | np.isnan(taken)).all(axis=0)
        values = dict.fromkeys(nominal[binary].tolist(), _ZERO_ONE)
        for j in nominal[~binary].tolist():
            values[j] = np.unique(X[~np.isnan(X[:, j]), j])
        return cls(X.shape[1], values)

    @classmethod
    def declared(cls, X: FloatArray, n_values: Sequence[int] | IntArray) -> Self:
        """Codes 0, 1, ... as they are, whether they occur or not.

        Parameters
        ----------
        X : ndarray of float64, shape (n_samples, n_features)
            Training rows; NaN is missing.
        n_values : array-like of int, shape (n_features,)
            Values of a nominal feature; 0 for a numeric one.

        Raises
        ------
        InputError
            Numbers that do not fit, values that are no codes.
        """
        sizes = np.asarray(n_values)
        if sizes.shape != (X.shape[1],) or sizes.dtype.kind not in "iu" or (sizes < 0).any():
            raise InputError(f"n_values: expected {X.shape[1]} integers, 0 for a numeric feature")
        nominal = np.flatnonzero(sizes)
        coding = cls(X.shape[1], {j: np.arange(float(sizes[j])) for j in nominal.tolist()})
        unknown = coding.coded(X) == np.where(sizes > 0, sizes, np.nan)
        if unknown.any():
            i, j = np.argwhere(unknown)[0]
            raise InputError(
                f"row {i}, feature {j}: {X[i, j]:g} is not one of the codes 0 to {sizes[j] - 1}"
            )
        return coding

    def coded(self, X: FloatArray) -> FloatArray:
        """Rows with codes; a value without a code becomes their number.

        Parameters
        ----------
        X : ndarray of float64, shape (n_samples, n_features)
        """
        if not self.n_values.any():
            return X
        out: FloatArray = X.copy()
        sizes = self.n_values[self._plain]
        plain = X[:, self._plain]
        code = (plain >= 0) & (plain < sizes) & (plain == np.floor(plain))
        out[:, self._plain] = np.where(code | np.isnan(plain), plain, sizes)
        for j, values in self._other.items():
            known = ~np.isnan(X[:, j])
            place = np.searchsorted(values, X[known, j])
            found = values[np.minimum(place, len(values) - 1)] == X[known, j]
            out[known, j] = np.where(found, place, len(values))
        return out
