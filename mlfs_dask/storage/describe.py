"""What is in a store: sizes, labels, missing values, constants, duplicates; one pass over the rows.

A row is a duplicate if an earlier row has the same feature values and labels. A test row is shared
by the split if some training row is the same: such rows make test scores too good.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.storage.digest import canonical_rows
from mlfs_dask.storage.records import NOMINAL, SPLIT_NONE, SPLIT_TEST, SPLIT_TRAIN
from mlfs_dask.storage.store import Dataset


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a store, as ``mlfs data show --json`` prints them.

    Attributes
    ----------
    name, path, digest
        Identity of the store.
    n_samples, n_features, n_labels
        Size.
    label_cardinality
        Mean number of labels of a sample.
    label_density
        Label cardinality over the number of labels.
    label_sets
        Number of distinct label sets.
    samples_without_label, labels_never_positive
        Counts.
    label_frequencies
        Label -> number of samples that have it.
    kinds
        ``"numeric"`` and ``"nominal"`` -> number of features.
    missing
        Number of missing values.
    missing_by_feature
        Feature -> number of missing values, where there are any.
    constant_features
        Number of features with at most one distinct value, missing ones left out.
    nonzero_fraction
        Share of the values that are neither 0 nor missing.
    duplicate_rows
        Samples with the feature values and the labels of an earlier sample.
    split
        ``"none"``, ``"train"``, ``"test"`` -> number of samples.
    rows_shared_by_split
        Test samples with the feature values and the labels of some training sample.
    blocks
        Number of features of each block that was appended.
    closed
        Whether no further block will come.
    dtype, is_sparse, tile, bytes_on_disk
        How it is stored.
    cost
        Least, mean and largest test cost and their sum, or None.
    source, notes
        Files it was made of, and what was noted on reading them.
    truth
        What was planted in synthetic data, or None.
    """

    name: str
    path: str
    digest: str
    n_samples: int
    n_features: int
    n_labels: int
    label_cardinality: float
    label_density: float
    label_sets: int
    samples_without_label: int
    labels_never_positive: int
    label_frequencies: dict[str, int]
    kinds: dict[str, int]
    missing: int
    missing_by_feature: dict[str, int]
    constant_features: int
    nonzero_fraction: float
    duplicate_rows: int
    split: dict[str, int]
    rows_shared_by_split: int
    blocks: list[int]
    closed: bool
    dtype: str
    is_sparse: bool
    tile: int
    bytes_on_disk: int
    cost: dict[str, float] | None
    source: list[dict[str, str]]
    notes: list[str]
    truth: dict[str, Any] | None


@dataclass
class _Columns:
    """Running facts about the columns of X."""

    n_features: int
    missing: IntArray = field(init=False)
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)
    n_nonzero: int = 0

    def __post_init__(self) -> None:
        self.missing = np.zeros(self.n_features, dtype=np.int64)
        self.low = np.full(self.n_features, np.inf)
        self.high = np.full(self.n_features, -np.inf)

    def update(self, X: AnyArray | csr_matrix) -> None:
        if issparse(X):
            self._update_sparse(X)
            return
        absent = np.isnan(X)
        self.missing += np.count_nonzero(absent, axis=0)
        self.n_nonzero += int(np.count_nonzero(X) - np.count_nonzero(absent))
        values = X.astype(np.float64, copy=False)
        self.low = np.fmin(self.low, np.fmin.reduce(values, axis=0))
        self.high = np.fmax(self.high, np.fmax.reduce(values, axis=0))

    def _update_sparse(self, X: csr_matrix) -> None:
        """Entries by column; a column with fewer entries than rows also holds a 0."""
        absent = np.isnan(X.data)
        self.missing += np.bincount(X.indices[absent], minlength=self.n_features)
        self.n_nonzero += int(np.count_nonzero(X.data) - np.count_nonzero(absent))
        present = X.indices[~absent]
        values = X.data[~absent].astype(np.float64)
        np.minimum.at(self.low, present, values)
        np.maximum.at(self.high, present, values)
        has_zero = np.bincount(X.indices, minlength=self.n_features) < X.shape[0]
        self.low[has_zero] = np.minimum(self.low[has_zero], 0.0)
        self.high[has_zero] = np.maximum(self.high[has_zero], 0.0)

    @property
    def n_constant(self) -> int:
        return int(np.count_nonzero(self.low >= self.high))


def describe(dataset: Dataset) -> Description:
    """Count what is in a store.

    Parameters
    ----------
    dataset
        Opened store.

    Returns
    -------
    Description

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlfs_dask.storage.ingest import ingest
    >>> from mlfs_dask.testing.tables import ArrayTable
    >>> table = ArrayTable([[1.0, 0.0], [1.0, 0.0]], [[1], [1]], split=[1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     facts = describe(ingest(table, Path(folder) / "tiny.zarr"))
    >>> facts.duplicate_rows, facts.rows_shared_by_split, facts.constant_features
    (1, 1, 2)
    """
    columns = _Columns(dataset.n_features)
    keys = []
    for batch in dataset.batches():
        columns.update(batch.X)
        keys.append(_row_keys(batch.X, batch.Y))
    row_keys = np.concatenate(keys)
    return Description(
        **_identity(dataset),
        **_label_facts(dataset),
        **_feature_facts(dataset, columns),
        duplicate_rows=int(len(row_keys) - len(np.unique(row_keys))),
        rows_shared_by_split=_shared_rows(row_keys, dataset.split),
    )


def _identity(dataset: Dataset) -> dict[str, Any]:
    parts = np.bincount(dataset.split, minlength=3)
    names = {"none": SPLIT_NONE, "train": SPLIT_TRAIN, "test": SPLIT_TEST}
    return {
        "name": dataset.name,
        "path": dataset.path,
        "digest": dataset.digest,
        "n_samples": dataset.n_samples,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "split": {name: int(parts[code]) for name, code in names.items()},
        "blocks": list(dataset.block_sizes),
        "closed": dataset.is_closed,
        "dtype": dataset.x_dtype.name,
        "is_sparse": dataset.is_sparse,
        "tile": dataset.tile,
        "bytes_on_disk": dataset.bytes_on_disk,
        "source": dataset.attributes["source"],
        "notes": dataset.attributes["notes"],
        "truth": dataset.truth,
    }


def _label_facts(dataset: Dataset) -> dict[str, Any]:
    Y = dataset.Y
    frequencies = np.count_nonzero(Y, axis=0)
    cardinality = float(frequencies.sum() / dataset.n_samples)
    return {
        "label_cardinality": cardinality,
        "label_density": cardinality / dataset.n_labels,
        "label_sets": dataset.attributes["label_sets"],
        "samples_without_label": int(np.count_nonzero(~Y.any(axis=1))),
        "labels_never_positive": int(np.count_nonzero(frequencies == 0)),
        "label_frequencies": dict(zip(dataset.label_names, frequencies.tolist(), strict=True)),
    }


def _feature_facts(dataset: Dataset, columns: _Columns) -> dict[str, Any]:
    n_nominal = int(np.count_nonzero(dataset.feature_kind == NOMINAL))
    costs = dataset.feature_cost
    return {
        "kinds": {"numeric": dataset.n_features - n_nominal, "nominal": n_nominal},
        "missing": int(columns.missing.sum()),
        "missing_by_feature": {
            dataset.feature_names[f]: int(columns.missing[f])
            for f in np.flatnonzero(columns.missing)
        },
        "constant_features": columns.n_constant,
        "nonzero_fraction": columns.n_nonzero / (dataset.n_samples * dataset.n_features),
        "cost": None
        if costs is None
        else {
            "min": float(costs.min()),
            "mean": float(costs.mean()),
            "max": float(costs.max()),
            "sum": float(costs.sum()),
        },
    }


def _row_keys(X: AnyArray | csr_matrix, Y: ByteArray) -> NDArray[np.bytes_]:
    """128-bit hash of values and labels of each row, shape (r,) of 16 raw bytes."""
    keys = []
    labels = iter(np.packbits(Y, axis=1))
    for counts, indices, values in canonical_rows(X):
        ends = np.cumsum(counts).tolist()
        start = 0
        for end in ends:
            row = hashlib.blake2b(indices[start:end].tobytes(), digest_size=16)
            row.update(values[start:end].tobytes())
            row.update(next(labels).tobytes())
            keys.append(row.digest())
            start = end
    return np.frombuffer(b"".join(keys), dtype="V16")


def _shared_rows(row_keys: NDArray[np.bytes_], split: AnyArray) -> int:
    train = np.unique(row_keys[split == SPLIT_TRAIN])
    return int(np.count_nonzero(np.isin(row_keys[split == SPLIT_TEST], train)))
