"""What a reader of data files yields and a writer of stores takes; neither knows Zarr.

A table is a header, known before the rows, and batches of consecutive rows::

    reader = open_table(Path("emotions.arff"))
    reader.header.label_names
    for batch in reader.batches():
        batch.X, batch.Y, batch.split
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mlfs_dask._typing import ByteArray, FloatArray

__all__ = [
    "BATCH_BYTES",
    "NOMINAL",
    "NUMERIC",
    "SPLIT_NONE",
    "SPLIT_TEST",
    "SPLIT_TRAIN",
    "ReadOptions",
    "RowBatch",
    "Rows",
    "SourceFile",
    "TableHeader",
    "TableReader",
]

NUMERIC: Final = 0
"""Code of a numeric feature in ``feature_kind``."""
NOMINAL: Final = 1
"""Code of a nominal feature in ``feature_kind``."""

SPLIT_NONE: Final = 0
"""Code of a row that belongs to no part of a split."""
SPLIT_TRAIN: Final = 1
"""Code of a training row."""
SPLIT_TEST: Final = 2
"""Code of a test row."""

BATCH_BYTES: Final = 32 * 1024 * 1024
"""Default bound on the decoded size of one batch, in bytes."""

Rows: TypeAlias = FloatArray | csr_matrix
"""Rows of X: float64 array, or SciPy CSR of float64; NaN means missing in both."""

Role: TypeAlias = Literal["data", "test", "labels"]


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A file that a table was read from.

    Parameters
    ----------
    name
        Base name, without folders.
    sha256
        Digest of the file as it lies on the disk (packed, where it is packed), in hexadecimal.
    format
        For example ``"arff"``, ``"mulan-xml"``, ``"mat"``, ``"csv"``, ``"libsvm"``, ``"npz"``.
    role
        ``"data"``, ``"test"`` (second file of a pair) or ``"labels"`` (the XML).
    """

    name: str
    sha256: str
    format: str
    role: Role = "data"


@dataclass(frozen=True, kw_only=True)
class TableHeader:
    """Everything known about a table before its rows.

    Parameters
    ----------
    name
        Name for the store, the stem of the file unless told otherwise.
    feature_names, label_names
        Unique names, as the file has them; labels keep the order of the attributes.
    feature_kind : ndarray of uint8, shape (n_features,)
        0 numeric, 1 nominal.
    categories
        Index of each nominal feature -> its values in the order of the stored codes.
    is_sparse
        Batches carry CSR rows if true, float64 arrays if not.
    source
        Files read, the data file first.
    notes
        What the user should know about how the file was read, one sentence each.
    feature_cost : ndarray of float64, shape (n_features,), optional
        Test cost of each feature, >= 0.
    """

    name: str
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    feature_kind: ByteArray
    categories: dict[int, tuple[str, ...]] = field(default_factory=dict)
    is_sparse: bool = False
    source: tuple[SourceFile, ...] = ()
    notes: tuple[str, ...] = ()
    feature_cost: FloatArray | None = None

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.feature_names)

    @property
    def n_labels(self) -> int:
        """Number of labels q."""
        return len(self.label_names)


@dataclass(frozen=True)
class RowBatch:
    """Consecutive rows of a table.

    Parameters
    ----------
    X : ndarray of float64 or csr_matrix of float64, shape (n_rows, n_features)
        NaN means missing. CSR rows have sorted indices, no duplicate and no stored zero; a stored
        NaN is a missing value.
    Y : ndarray of uint8, shape (n_rows, n_labels)
        1 relevant, 0 not.
    split : ndarray of uint8, shape (n_rows,)
        0 none, 1 train, 2 test.
    """

    X: Rows
    Y: ByteArray
    split: ByteArray

    @property
    def n_rows(self) -> int:
        """Number of rows, at least 1."""
        return len(self.Y)


@runtime_checkable
class TableReader(Protocol):
    """A table in a file of some format."""

    @property
    def header(self) -> TableHeader:
        """Names, kinds and sources, known before the rows."""
        ...

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows in file order, in batches of bounded size; each call reads the file anew.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes; a batch has at least one row.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file, where the file alone does not say.

    Parameters
    ----------
    labels
        Label columns by name, or their number (the last n columns; the first n if negative).
    xml
        Mulan XML that names the labels.
    n_labels
        MEKA's ``-C``: n > 0 means the first n attributes, n < 0 the last.
    index_base
        First column index of a libsvm file, 0 or 1; by default 1 unless an index 0 occurs.
    n_features
        Width of a libsvm file, where it is larger than the largest index used.
    positive
        Value of a single-label class attribute that counts as label 1; by default the less
        frequent one.
    known_labels
        Labels of rows that are known already: columns of these names are labels, be it none, and
        nothing else tells. For text files (ARFF, CSV) without ``labels``.
    keep_identifiers
        Keep nominal attributes that look like row identifiers.
    name
        Name of the table instead of the file's stem.
    format
        Format of the file instead of the one its name tells: ``"arff"``, ``"mat"``, ``"csv"``,
        ``"libsvm"`` or ``"npz"``.
    """

    labels: tuple[str, ...] | int | None = None
    xml: Path | None = None
    n_labels: int | None = None
    index_base: int | None = None
    n_features: int | None = None
    positive: str | None = None
    known_labels: tuple[str, ...] | None = None
    keep_identifiers: bool = False
    name: str | None = None
    format: str | None = None


def empty_split(n_rows: int, code: int = SPLIT_NONE) -> NDArray[np.uint8]:
    """Split column of rows that all belong to one part.

    Parameters
    ----------
    n_rows
        Number of rows.
    code
        0 none, 1 train, 2 test.

    Returns
    -------
    ndarray of uint8, shape (n_rows,)
    """
    return np.full(n_rows, code, dtype=np.uint8)


def row_bytes(n_features: int, n_labels: int) -> int:
    """Decoded size of one dense row, in bytes: float64 features, uint8 labels and split.

    Parameters
    ----------
    n_features, n_labels
        Width of X and Y.
    """
    return 8 * n_features + n_labels + 1
