"""Nominal values as codes 0, 1, ... that branches of a tree are numbered by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.wording import counted


class Coding:
    """Values of nominal features and their codes.

    Parameters
    ----------
    n_values : ndarray of int64, shape (n_features,)
        Values of a nominal feature; 0 for a numeric one.
    values : mapping of int to ndarray of float64
        Ascending values of nominal features whose codes they are not themselves; the code is the
        position.
    """

    def __init__(self, n_values: IntArray, values: dict[int, FloatArray]) -> None:
        self.n_values = n_values
        self._values = values
        own = n_values > 0
        own[list(values)] = False
        self._own = np.flatnonzero(own)

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
        n_values, values = np.zeros(X.shape[1], dtype=np.int64), {}
        n_values[nominal[binary]] = 2
        for j in nominal[~binary].tolist():
            values[j] = np.unique(X[~np.isnan(X[:, j]), j])
            n_values[j] = len(values[j])
        return cls(n_values, values)

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
            raise InputError(
                f"n_values: expected {counted(X.shape[1], 'whole number')}, 0 for a numeric feature"
            )
        coding = cls(sizes.astype(np.int64), {})
        unknown = coding.coded(X) == np.where(sizes > 0, sizes, np.nan)
        if unknown.any():
            i, j = np.argwhere(unknown)[0]
            raise InputError(
                f"row {i}, feature {j}: {X[i, j]:g} is not one of the codes 0 to {sizes[j] - 1}"
            )
        return coding

    def coded(self, X: FloatArray, *, training: bool = False) -> FloatArray:
        """Rows with codes; a value without a code becomes their number.

        Parameters
        ----------
        X : ndarray of float64, shape (n_samples, n_features)
        training
            Whether these are the rows that the codes are from: all values have one.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_features)
            X itself if it needs no change.
        """
        out = X if training else self._without_strange(X)
        if self._values and out is X:
            out = X.copy()
        for j, values in self._values.items():
            known = ~np.isnan(X[:, j])
            place = np.searchsorted(values, X[known, j])
            found = values[np.minimum(place, len(values) - 1)] == X[known, j]
            out[known, j] = np.where(found, place, len(values))
        return out

    def _without_strange(self, X: FloatArray) -> FloatArray:
        """Values that should be codes and are not become the number of codes."""
        own, sizes = X[:, self._own], self.n_values[self._own]
        code = (own >= 0) & (own < sizes) & (own == np.floor(own)) | np.isnan(own)
        if code.all():
            return X
        out: FloatArray = X.copy()
        out[:, self._own] = np.where(code, own, sizes)
        return out
