"""A table whose arrays are in memory, as formats without rows to stream give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray
from mlfs_dask.storage.records import BATCH_BYTES, RowBatch, TableHeader


class LoadedTable:
    """Arrays as a table.

    Parameters
    ----------
    header
        Names, kinds, sources.
    X : ndarray or csr_matrix, shape (n, d)
        Any real dtype; NaN is missing. CSR in canonical format.
    Y : ndarray of uint8, shape (n, q)
    split : ndarray of uint8, shape (n,)
    """

    def __init__(self, header: TableHeader, X: Any, Y: ByteArray, split: ByteArray) -> None:
        self.header = header
        self._X, self._Y, self._split = X, Y, split

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in order, as float64.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        n = len(self._Y)
        entries = self._X.nnz * 12 if sp.issparse(self._X) else self._X.size * 8
        step = max(1, max_bytes * n // max(1, int(entries) + self._Y.size))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            X = self._X[rows].astype(np.float64)
            if sp.issparse(X):
                X.eliminate_zeros()
            yield RowBatch(X, self._Y[rows], self._split[rows])
