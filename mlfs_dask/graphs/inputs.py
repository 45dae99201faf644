"""What users hand in, checked and brought to the few forms that kernels know."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray
from mlfs_dask.errors import InputError
from mlfs_dask.wording import counted

# An ndarray or a scipy.sparse.csr_matrix; scipy ships no types that a union could be checked by.
Block: TypeAlias = Any


def as_labels(Y: Any, n_samples: int) -> ByteArray:
    """Check labels: a uint8 matrix of 0 and 1, shape (n_samples, n_labels).

    Parameters
    ----------
    Y : array-like, DataFrame, scipy sparse or dask array
        One column per label; a vector counts as one label.
    n_samples
        Rows of X.

    Raises
    ------
    InputError
        Wrong shape, ragged rows, or a value other than 0 and 1, with the row it is in.
    """
    if hasattr(Y, "compute"):
        Y = Y.compute()
    if sp.issparse(Y):
        Y = _dense_labels(Y)
    if np.ma.is_masked(Y):
        raise InputError("Y holds masked cells; expected 0 or 1")
    try:
        array = np.asarray(Y)
    except ValueError as error:
        raise InputError(f"Y cannot be read as a matrix of 0 and 1: {error}") from error
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype == object:
        raise InputError(
            f"Y has {counted(array.ndim, 'dimension')} and dtype {array.dtype}; expected a 0/1 "
            "matrix of shape (n_samples, n_labels)"
        )
    if len(array) != n_samples:
        raise InputError(f"X has {counted(n_samples, 'row')}, Y has {len(array)}")
    if array.dtype.kind not in "buif":
        raise InputError(f"Y has dtype {array.dtype}; expected numbers 0 and 1")
    wrong = array > 1 if array.dtype == np.uint8 else ~((array == 0) | (array == 1))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"Y holds {array[row, column].item()!r} in row {row}, label {column}; expected 0 or 1",
            hint="Encode each label as its own 0/1 column (sklearn.preprocessing."
            "MultiLabelBinarizer does).",
        )
    return np.ascontiguousarray(array, dtype=np.uint8)


def _dense_labels(Y: Any) -> Any:
    """Sparse labels as an array; of bytes if they are 0 and 1: there may be very many cells."""
    rows = sp.csr_matrix(Y, copy=True)
    rows.sum_duplicates()
    small = bool(np.isin(rows.data, (0, 1)).all())
    return (rows.astype(np.uint8) if small else rows).toarray()


def as_block(X: Any) -> Block:
    """Rows as a C-contiguous numeric array, or as CSR with sorted, unique indices.

    Parameters
    ----------
    X : array-like or scipy sparse matrix, shape (n_rows, n_features)
        Masked cells are missing.

    Raises
    ------
    InputError
        Not two-dimensional, or not real numbers.
    """
    if sp.issparse(X):
        csr = sp.csr_matrix(X)
        if csr.dtype.kind not in "buif":
            raise InputError(f"X has dtype {csr.dtype}; expected real numbers")
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        return csr.astype(np.uint8) if csr.dtype == bool else csr
    try:
        array = np.asarray(X)
        if array.dtype == object:
            array = array.astype(np.float64)
        if np.ma.is_masked(X):
            array = np.where(np.ma.getmaskarray(X), np.nan, array)
    except (TypeError, ValueError) as error:
        raise InputError(f"X cannot be read as a matrix of numbers: {error}") from error
    if array.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have shape "
            "(n_samples, n_features)",
            hint="Reshape your data using X.reshape(-1, 1) for one feature, X.reshape(1, -1) for "
            "one sample.",
        )
    return np.ascontiguousarray(array, dtype=_dtype_of_kernels(array.dtype))


def _dtype_of_kernels(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "c":
        raise InputError("Complex data not supported: X holds complex numbers")
    if dtype.kind not in "buif":
        raise InputError(f"X has dtype {dtype}; expected real numbers")
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype in (np.float16, np.longdouble):
        return np.dtype(np.float64)
    return dtype.newbyteorder("=")


def feature_vector(values: Any, name: str, n_features: int, dtype: Any) -> AnyArray:
    """One value for each feature, checked for its shape.

    Parameters
    ----------
    values : array-like, shape (n_features,)
    name
        Of the argument, for the message.
    n_features
        Columns of X.
    dtype
        Of the result.

    Raises
    ------
    InputError
        Another shape, or values that are no numbers.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} = {values!r}: expected one value for each feature") from None
    if array.shape != (n_features,):
        raise InputError(
            f"{name} has shape {array.shape}; expected one value for each of "
            f"{counted(n_features, 'feature')}"
        )
    try:
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError):
        raise InputError(f"{name} = {values!r}: expected real numbers") from None
    if array.dtype.kind not in "buif":
        raise InputError(f"{name} has dtype {array.dtype}; expected real numbers")
    if np.dtype(dtype).kind == "u" and np.any(array != np.floor(array)):
        raise InputError(f"{name} = {values!r}: expected whole numbers")
    return array.astype(dtype)


def fill_missing(block: Block, values: FloatArray) -> Block:
    """Rows with missing values replaced.

    Parameters
    ----------
    block : ndarray or csr_matrix, shape (n_rows, n_features)
        NaN is missing.
    values : ndarray of float64, shape (n_features,)
        What replaces them.
    """
    if sp.issparse(block):
        missing = np.isnan(block.data) if block.data.dtype.kind == "f" else None
        if missing is None or not missing.any():
            return block
        data = block.data.astype(np.float64)
        data[missing] = values[block.indices[missing]]
        return sp.csr_matrix((data, block.indices, block.indptr), shape=block.shape)
    if block.dtype.kind != "f":
        return block
    missing = np.isnan(block)
    return np.where(missing, values, block) if missing.any() else block
