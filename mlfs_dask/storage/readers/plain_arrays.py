"""Checks on arrays that come from ``.mat`` and ``.npz`` files, and pairs of such files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import AnyArray, ByteArray, IntArray
from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.records import (
    BATCH_BYTES,
    SPLIT_TEST,
    SPLIT_TRAIN,
    RowBatch,
    Rows,
    SourceFile,
    TableHeader,
    TableReader,
    empty_split,
    row_bytes,
)
from mlfs_dask.wording import counted


def row_steps(indptr: IntArray, n_labels: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Bounds of runs of CSR rows whose decoded size stays within a bound (one row at least).

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_rows + 1,)
        Row bounds.
    n_labels
        Width of Y.
    max_bytes
        The bound.
    """
    # A value of 8 bytes and an index of 4 for each entry, a bound of 8, labels and split per row.
    sizes = 12 * indptr + (n_labels + 9) * np.arange(len(indptr), dtype=np.int64)
    start, n_rows = 0, len(indptr) - 1
    while start < n_rows:
        fit = int(np.searchsorted(sizes, sizes[start] + max_bytes, side="right")) - 1
        stop = min(max(fit, start + 1), n_rows)
        yield start, stop
        start = stop


def dense_steps(n_rows: int, n_features: int, n_labels: int, max_bytes: int) -> range:
    """First rows of batches of dense rows within a bound (one row at least)."""
    return range(0, n_rows, max(1, max_bytes // row_bytes(n_features, n_labels)))


def check_real(path: Path, name: str, array: Any) -> None:
    """Refuse an array that is not made of real numbers.

    Parameters
    ----------
    path, name
        File and name of the array, for the message.
    array
        Anything with a dtype.
    """
    if array.dtype.kind not in "biuf":
        raise DataFileError.at(
            path,
            problem=f"{name} holds {_kind(array.dtype)}",
            expected="real numbers",
            hint="Convert it to a numeric matrix before saving.",
        )


def feature_rows(path: Path, name: str, X: Any, first_row: int) -> Rows:
    """Rows of X as float64 (CSR: canonical, without stored zeros); infinite values are refused.

    Parameters
    ----------
    path, name
        File and name of the array, for messages.
    X
        Array or CSR matrix of real numbers; NaN means missing.
    first_row
        0-based number of its first row in the array, for messages.
    """
    rows: Any
    if issparse(X):
        rows = csr_matrix(X, dtype=np.float64, copy=True)
        rows.sort_indices()
        rows.eliminate_zeros()
        infinite = np.isinf(rows.data)
        where = [
            np.searchsorted(rows.indptr, np.flatnonzero(infinite)[:1], side="right") - 1,
            rows.indices[infinite][:1],
        ]
    else:
        rows = np.asarray(X, dtype=np.float64)
        infinite = np.isinf(rows)
        where = list(np.nonzero(infinite)) if infinite.any() else []
    if infinite.any():
        row, column = int(where[0][0]), int(where[1][0])
        raise DataFileError.at(
            path,
            problem=f"{name} is infinite in row {first_row + row + 1}, column {column + 1}",
            expected="finite numbers, or NaN for a missing value",
        )
    result: Rows = rows
    return result


def label_rows(path: Path, name: str, Y: Any, first_row: int, zero: float = 0.0) -> ByteArray:
    """Rows of Y as 0/1.

    Parameters
    ----------
    path, name
        File and name of the array, for messages.
    Y : array_like of shape (n_rows, n_labels)
        Relevant labels are 1.
    first_row
        0-based number of its first row in the array.
    zero
        How a label that is not relevant is written: 0 or -1.
    """
    values: AnyArray = np.asarray(Y)
    relevant = values == 1
    bad = ~(relevant | (values == zero))
    if bad.any():
        row, column = (int(at[0]) for at in np.nonzero(bad))
        raise DataFileError.at(
            path,
            problem=f"{name} has the label {values[row, column]} in row {first_row + row + 1}, "
            f"label {column + 1}",
            expected=f"1 or {zero:g} in every cell",
            hint="Labels must be known: remove rows that lack some.",
        )
    marks: ByteArray = relevant.astype(np.uint8)
    return marks


def numbered(prefix: str, n: int, first: int) -> tuple[str, ...]:
    """Names for columns of a file that has none.

    Examples
    --------
    >>> numbered("f", 3, 1)
    ('f1', 'f2', 'f3')
    """
    return tuple(f"{prefix}{i}" for i in range(first, first + n))


class PairedTable:
    """A training and a test file as one table, training rows first, columns matched by name.

    Parameters
    ----------
    first, second
        Readers of the two files.
    path
        The test file, for messages.
    """

    def __init__(self, first: TableReader, second: TableReader, path: Path) -> None:
        self._parts = (first, second)
        head, other = first.header, second.header
        self._features = _matched(path, "feature", head.feature_names, other.feature_names)
        self._labels = _matched(path, "label", head.label_names, other.label_names)
        order = self._features.tolist()
        values = [other.categories.get(source) for source in order]
        if values != [head.categories.get(i) for i in range(len(order))]:
            raise DataFileError.at(
                path,
                problem="the nominal features differ from those of the training file",
                expected="the same nominal features with the same values",
            )
        test = replace(other.source[0], role="test")
        self.header = replace(head, source=(*head.source, test))

    def batches(self, max_bytes: int = BATCH_BYTES) -> Iterator[RowBatch]:
        """Rows of both files; each call reads them anew.

        Parameters
        ----------
        max_bytes
            Bound on the decoded size of a batch, in bytes.
        """
        first, second = self._parts
        for batch in first.batches(max_bytes):
            yield replace(batch, split=empty_split(batch.n_rows, SPLIT_TRAIN))
        for batch in second.batches(max_bytes):
            X: Any = batch.X[:, self._features]
            if self.header.is_sparse:
                X = csr_matrix(X)
                X.sort_indices()
            elif issparse(X):
                X = X.toarray()
            yield RowBatch(X, batch.Y[:, self._labels], empty_split(batch.n_rows, SPLIT_TEST))


def one_or_pair(
    opened: TableReader, path: Path, second: TableReader | None, test: Path | None
) -> TableReader:
    """The one table, or both as a pair if neither has a split of its own.

    Parameters
    ----------
    opened, path
        Table of the training file, or of the only one.
    second, test
        Table of the test file.
    """
    if second is None or test is None:
        return opened
    for table, file in ((opened, path), (second, test)):
        if next(iter(table.batches())).split.any():
            raise DataFileError.at(
                file,
                problem="has a split of its own",
                expected="a file without a split beside --test",
                hint="Leave --test out.",
            )
    return PairedTable(opened, second, test)


def _matched(path: Path, what: str, names: Sequence[str], others: Sequence[str]) -> IntArray:
    """Position in the second file of each name of the first."""
    position = {name: column for column, name in enumerate(others)}
    lone = [n for n in names if n not in position] or sorted(set(others) - set(names))
    if lone or len(names) != len(others):
        raise DataFileError.at(
            path,
            problem=f"{what} {lone[0]!r} is in one of the two files only "
            f"({len(names)} against {counted(len(others), what)})",
            expected=f"the same {what}s in the training and the test file",
        )
    return np.array([position[name] for name in names], dtype=np.int64)


def _kind(dtype: np.dtype) -> str:
    if dtype.kind == "O":
        return "Python or MATLAB objects"
    return {"c": "complex numbers", "U": "text", "S": "text", "V": "records"}.get(
        dtype.kind, f"values of type {dtype}"
    )


def source_file(path: Path, sha256: str, format: str) -> tuple[SourceFile, ...]:
    """The one source of a table."""
    return (SourceFile(name=path.name, sha256=sha256, format=format),)


def plain_header(
    name: str, features: Sequence[str], labels: Sequence[str], *, is_sparse: bool, **more: Any
) -> TableHeader:
    """Header of a table whose features are all numeric."""
    return TableHeader(
        name=name,
        feature_names=tuple(features),
        label_names=tuple(labels),
        feature_kind=np.zeros(len(features), dtype=np.uint8),
        is_sparse=is_sparse,
        **more,
    )
