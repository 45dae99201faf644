"""Principal components of the columns of a source."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.densities import Inputs
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source, TileItem, load_block
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.kernels.principal import add_products

_MOST_COLUMNS = 4096
_NEGLIGIBLE = 1e-12


class Components(NamedTuple):
    """Principal components, of largest variance first.

    Attributes
    ----------
    mean : ndarray of float64, shape (n_features,)
    axes : ndarray of float64, shape (n_features, n_components)
        Of length 1; the largest entry of each is positive.
    variance : ndarray of float64, shape (n_components,)
        Along the axes, with n - 1.
    """

    mean: FloatArray
    axes: FloatArray
    variance: FloatArray


def principal_components(
    source: Source, features: IntArray, share: float, executor: Executor
) -> Components:
    """Components of some columns, centred and not scaled.

    Components of less than 1e-12 of the largest variance are rounding noise and left out.

    Parameters
    ----------
    source
        Rows without missing values.
    features : ndarray of int64
        Columns.
    share
        As many components as this share of the columns, rounded up.
    executor
        Where to run.

    Raises
    ------
    InputError
        More than 4,096 columns: their products would not fit into a worker.

    Examples
    --------
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> from mlfs_dask.graphs.source import as_source
    >>> rows = as_source(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> found = principal_components(rows, np.arange(2), 0.5, InProcess(1))
    >>> found.axes.round(6).ravel().tolist(), found.variance.round(6).tolist()
    ([0.6, 0.8], [12.5])
    """
    d = len(features)
    if d > _MOST_COLUMNS:
        raise InputError(
            f"pca = {share}: principal components of {d} features; expected at most "
            f"{_MOST_COLUMNS}",
            hint="Leave pca out, or select fewer features first (in a job: prefilter).",
        )
    items, inputs = source.items(), Inputs(features)
    total = np.zeros(d)
    for part in executor.map(_sums_of_tile, items, inputs):
        total += part
    n = source.n_samples
    mean = total / n
    products = np.zeros((d, d))
    for part in executor.map(_products_of_tile, items, inputs, executor.share(mean)):
        products += part
    if not np.isfinite(products).all():
        raise InputError(
            f"pca = {share}: values are so large that their squares overflow",
            hint="Scale the features first, or leave pca out.",
        )
    with single_blas_thread():
        variance, axes = np.linalg.eigh(products / max(n - 1, 1))
    kept = math.ceil(round(share * d, 9))
    variance, axes = variance[::-1][:kept], axes[:, ::-1][:, :kept]
    real = variance > _NEGLIGIBLE * variance.max(initial=0.0)
    axes = axes[:, real]
    largest = np.argmax(np.abs(axes), axis=0)
    signs = np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    return Components(mean, np.ascontiguousarray(axes * signs), variance[real])


def _sums_of_tile(item: TileItem, inputs: Inputs) -> FloatArray:
    total = np.zeros(inputs.width)
    for _, X in inputs.of(load_block(item)):
        # Row by row: the sum doesn't depend on how many rows are dense at a time.
        for row in X:
            total += row
    return total


def _products_of_tile(item: TileItem, inputs: Inputs, mean: FloatArray) -> FloatArray:
    out = np.zeros((inputs.width, inputs.width))
    for _, X in inputs.of(load_block(item)):
        add_products(X - mean, out)
    return out
