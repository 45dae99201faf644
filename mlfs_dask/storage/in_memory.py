"""Tables in memory that pass for readers of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray
from mlfs_dask.storage.records import BATCH_BYTES, RowBatch, SourceFile, TableHeader, row_bytes


class ArrayTable:
    """Arrays as a `TableReader`.

    Parameters
    ----------
    X : ndarray or sparse matrix, shape (n, d)
        Feature values; NaN means missing.
    Y : array_like, shape (n, q)
        Labels, 0 or 1.
    split : array_like, shape (n,), optional
        0 none, 1 train, 2 test; by default all 0.
    feature_names, label_names
        By default f0, f1, ... and l0, l1, ...
    categories
        Index of each nominal feature -> its values in code order; all others are numeric.
    feature_cost : array_like, shape (d,), optional
        Test costs.
    batch_rows
        Rows of a batch; by default as many as `batches` allows.

    Examples
    --------
    >>> table = ArrayTable([[0.5, 1.0]], [[1]])
    >>> table.header.feature_names
    ('f0', 'f1')
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        split: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        categories: dict[int, tuple[str, ...]] | None = None,
        feature_cost: Any = None,
        batch_rows: int | None = None,
    ) -> None:
        self._X: csr_matrix | FloatArray = (
            _canonical(X) if issparse(X) else np.asarray(X, dtype=np.float64)
        )
        self._Y: ByteArray = np.asarray(Y, dtype=np.uint8)
        n, d = self._X.shape
        self._split = np.zeros(n, np.uint8) if split is None else np.asarray(split, np.uint8)
        self._batch_rows = batch_rows
        kinds = np.zeros(d, dtype=np.uint8)
        kinds[list(categories or {})] = 1
        costs: AnyArray | None = None if feature_cost is None else np.asarray(feature_cost, float)
        self.header = TableHeader(
            name="table",
            feature_names=tuple(feature_names or (f"f{i}" for i in range(d))),
            label_names=tuple(label_names or (f"l{i}" for i in range(self._Y.shape[1]))),
            feature_kind=kinds,
            categories=dict(categories or {}),
            is_sparse=issparse(X),
            source=(SourceFile(name="table", sha256="0" * 64, format="memory"),),
            feature_cost=costs,
        )

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in order.

        Parameters
        ----------
        max_bytes
            Bound on the size of a batch, in bytes.
        """
        width = row_bytes(self.header.n_features, self.header.n_labels)
        step = self._batch_rows or max(1, max_bytes // width)
        for start in range(0, len(self._Y), step):
            rows = slice(start, start + step)
            yield RowBatch(self._X[rows], self._Y[rows], self._split[rows])


def _canonical(X: Any) -> csr_matrix:
    rows = csr_matrix(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
