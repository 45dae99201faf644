"""How many values are missing, without the kernels that tell everything about columns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import IntArray
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.source import Source, TileItem, load_block


def count_missing(source: Source, executor: Executor | None = None) -> IntArray:
    """Missing values of each feature, one pass over the tiles.

    Parameters
    ----------
    source
        Rows.
    executor
        Where to run; default: :func:`~mlfs_dask.graphs.executor.get_executor`.

    Returns
    -------
    ndarray of int64, shape (n_features,)

    Examples
    --------
    >>> from mlfs_dask.graphs.source import as_source
    >>> count_missing(as_source(np.array([[0.0, np.nan], [1.0, 3.0]]))).tolist()
    [0, 1]
    """
    counts = np.zeros(source.n_features, dtype=np.int64)
    for part in (executor or get_executor()).map(_count_tile, source.items()):
        counts += part
    return counts


def _count_tile(item: TileItem) -> IntArray:
    block = load_block(item)
    if sp.issparse(block):
        absent = block.indices[np.isnan(block.data)]
        return np.bincount(absent, minlength=block.shape[1])
    counts: IntArray = np.count_nonzero(np.isnan(block), axis=0)
    return counts
