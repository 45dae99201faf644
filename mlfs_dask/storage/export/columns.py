"""Some columns of a store as a table of their own, for the writers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.storage.records import RowBatch, TableHeader
from mlfs_dask.storage.store import Dataset
from mlfs_dask.wording import are, counted


class Columns:
    """A store with some of its features only; names, kinds, values and costs follow.

    Rows are read in the batches of the store, so memory is bounded as it is there.

    Parameters
    ----------
    dataset
        Opened store.
    features : sequence of int
        Indices of the features to keep, in any order; the columns keep that of the store.

    Raises
    ------
    InputError
        No feature, one that the store does not have, or one named twice.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlfs_dask.storage.ingest import ingest
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = ArrayTable([[1.0, 2.0, 3.0]], [[1]])
    ...     columns = Columns(ingest(table, Path(folder) / "tiny.zarr"), [2, 0])
    ...     columns.feature_names, next(columns.batches()).X.tolist()
    (('f0', 'f2'), [[1, 3]])
    """

    def __init__(self, dataset: Dataset, features: Sequence[int] | IntArray) -> None:
        self._dataset = dataset
        self._kept = _checked(features, dataset)
        self.name = dataset.name
        self.n_samples = dataset.n_samples
        self.n_features = len(self._kept)
        self.n_labels = dataset.n_labels
        self.is_sparse = dataset.is_sparse
        self.x_dtype = dataset.x_dtype
        self.label_names = dataset.label_names
        self.feature_names = tuple(dataset.feature_names[f] for f in self._kept)
        self.feature_kind: ByteArray = dataset.feature_kind[self._kept]
        self.categories = {
            position: dataset.categories[feature]
            for position, feature in enumerate(self._kept.tolist())
            if feature in dataset.categories
        }

    @property
    def feature_cost(self) -> FloatArray | None:
        """Test costs of the kept features, or None."""
        costs = self._dataset.feature_cost
        return None if costs is None else costs[self._kept]

    @property
    def truth(self) -> dict[str, Any] | None:
        """What was planted in synthetic data, as the whole store has it."""
        return self._dataset.truth

    @property
    def Y(self) -> ByteArray:
        """Labels, shape (n_samples, n_labels)."""
        return self._dataset.Y

    @property
    def split(self) -> ByteArray:
        """Split as shipped, shape (n_samples,)."""
        return self._dataset.split

    @property
    def header(self) -> TableHeader:
        """Names, kinds, sources and costs of the kept features."""
        return replace(
            self._dataset.header,
            feature_names=self.feature_names,
            feature_kind=self.feature_kind,
            categories=self.categories,
            feature_cost=self.feature_cost,
        )

    def batches(self) -> Iterator[RowBatch]:
        """Rows in store order, X in the stored dtype, in the batches of the store."""
        for batch in self._dataset.batches():
            X: Any = batch.X[:, self._kept]
            yield RowBatch(X, batch.Y, batch.split)


Table: TypeAlias = Dataset | Columns
"""What the writers take: a whole store, or some of its columns."""


def row_bounds(table: Table) -> AnyArray:
    """Where the entries of each row of a sparse table begin.

    Parameters
    ----------
    table
        A sparse one.

    Returns
    -------
    ndarray of int64, shape (n_samples + 1,)
    """
    if isinstance(table, Dataset):
        assert table.X.indptr is not None
        return table.X.indptr
    counts = [np.diff(csr_matrix(batch.X).indptr) for batch in table.batches()]
    bounds = np.zeros(table.n_samples + 1, dtype=np.int64)
    np.cumsum(np.concatenate(counts), out=bounds[1:])
    return bounds


def _checked(features: Sequence[int] | IntArray, dataset: Dataset) -> IntArray:
    kept = np.unique(np.asarray(features, dtype=np.int64))
    if len(kept) == 0 or len(kept) != len(features):
        raise InputError(
            "no feature is to be kept" if len(kept) == 0 else "a feature is to be kept twice",
            hint="Give indices of features, each once.",
        )
    outside = kept[(kept < 0) | (kept >= dataset.n_features)]
    if len(outside):
        n = dataset.n_features
        raise InputError(
            f"{dataset.name!r} has no feature {outside[0]}: its "
            f"{counted(n, 'feature')} {are(n)} counted from 0"
        )
    return kept
