"""What passes while rows come in: checks, digest, smallest dtype, distinct label sets, spools."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import AnyArray
from mlfs_dask.errors import InputError
from mlfs_dask.storage.digest import StoreDigest
from mlfs_dask.storage.dtypes import cast_values, largest_dtype, smallest_dtype
from mlfs_dask.storage.records import NOMINAL, RowBatch, TableHeader
from mlfs_dask.storage.spool import Spool
from mlfs_dask.wording import counted


class Intake:
    """Spooled rows of a table and what was learned about them.

    Parameters
    ----------
    folder
        Empty folder for the spools.
    header
        Header of the table.
    dtype
        Dtype of X that the user chose, or None for the smallest.
    of_block
        The table is a block of features, whose digest leaves labels and split out.

    Attributes
    ----------
    n_rows : int
        Rows taken.
    x_dtype : dtype
        Dtype that holds all values of X.
    label_sets : int
        Distinct rows of Y.
    values, columns, counts : Spool
        X: whole rows in `values` if dense, else CSR entries, their columns, entries per row.
    labels, split : Spool
        Y and the split.
    """

    def __init__(
        self,
        folder: Path,
        header: TableHeader,
        dtype: np.dtype | None,
        *,
        of_block: bool = False,
    ) -> None:
        self.header = header
        self.n_rows = 0
        self.x_dtype = dtype or np.dtype(np.uint8)
        self._chosen = dtype
        self._digest = StoreDigest(header, of_block=of_block)
        self._sets: set[bytes] = set()
        self._stack = ExitStack()
        width = 1 if header.is_sparse else header.n_features
        self.values = self._open(folder / "values", width)
        self.columns = self._open(folder / "columns")
        self.counts = self._open(folder / "counts")
        self.labels = self._open(folder / "labels", header.n_labels)
        self.split = self._open(folder / "split")

    def _open(self, path: Path, width: int = 1) -> Spool:
        return self._stack.enter_context(Spool(path, width))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @property
    def digest(self) -> str:
        """Digest of the rows taken."""
        return self._digest.hexdigest()

    @property
    def label_sets(self) -> int:
        """Number of distinct label sets."""
        return len(self._sets)

    def take(self, batch: RowBatch) -> None:
        """Check and spool a batch.

        Parameters
        ----------
        batch
            The next rows.

        Raises
        ------
        InputError
            Wrong shapes or values; names row and column.
        """
        check_batch(batch, self.header, self.n_rows)
        X = self._convert(batch.X)
        self._digest.update(X, batch.Y, batch.split)
        if issparse(X):
            self.values.append(X.data)
            self.columns.append(X.indices.astype(np.int32, copy=False))
            self.counts.append(np.diff(X.indptr).astype(np.int64))
        else:
            self.values.append(X)
        self.labels.append(batch.Y)
        self.split.append(batch.split)
        packed = np.packbits(batch.Y, axis=1)
        self._sets.update(map(bytes, np.unique(packed, axis=0)))
        self.n_rows += batch.n_rows

    def finish(self) -> None:
        """Check what only shows at the end.

        Raises
        ------
        InputError
            No row came.
        """
        if self.n_rows == 0:
            raise InputError(
                f"the table {self.header.name!r} has no rows",
                hint="A store needs at least one row of data.",
                name=self.header.name,
            )

    def _convert(self, X: Any) -> Any:
        """Rows in the dtype that goes to the spool: the user's, or the batch's smallest."""
        if issparse(X):
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
            entries = self._convert_values(X.data)
            X = csr_matrix((entries, X.indices, X.indptr), shape=X.shape)
            X.eliminate_zeros()  # a chosen float32 may round an entry to 0
            return X
        return self._convert_values(X)

    def _convert_values(self, values: AnyArray) -> AnyArray:
        values = values.astype(np.float64, copy=False)
        if self._chosen is not None:
            return cast_values(values, self._chosen)
        smallest = smallest_dtype(values)
        self.x_dtype = largest_dtype(self.x_dtype, smallest)
        return values.astype(smallest)


def check_header(header: TableHeader) -> None:
    """Refuse a header that no store can have.

    Parameters
    ----------
    header
        Header of a table.

    Raises
    ------
    InputError
        No feature or label, a name twice or not in Unicode, kinds, categories or costs that do not
        fit.
    """
    check_features(header)
    _check_names("label", header.label_names, header.name)


def check_features(header: TableHeader) -> None:
    """Refuse features that no store can have.

    Parameters
    ----------
    header
        Header of a table.

    Raises
    ------
    InputError
        As in `check_header`.
    """
    _check_names("feature", header.feature_names, header.name)
    d = header.n_features
    kinds = header.feature_kind
    if kinds.shape != (d,) or kinds.dtype != np.uint8 or kinds.max() > NOMINAL:
        raise InputError(
            f"feature_kind must be {counted(d, 'value')}, 0 (numeric) or 1 (nominal) of uint8"
        )
    stray = [f for f in header.categories if not 0 <= f < d or kinds[f] != NOMINAL]
    if stray:
        raise InputError(f"categories are given for feature {stray[0]}, which is not nominal")
    costs = header.feature_cost
    if costs is None:
        return
    if costs.shape != (d,) or not np.isfinite(costs).all() or (costs < 0).any():
        raise InputError(f"feature_cost must be {counted(d, 'finite value')}, none below 0")


def _check_names(what: str, names: tuple[str, ...], table: str) -> None:
    if not names:
        raise InputError(f"the table {table!r} has no {what}s")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"the {what} name {name!r} occurs twice",
                hint=f"Give every {what} its own name in the source file.",
                name=name,
            )
        seen.add(name)
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the {what} name {name!r} is not valid Unicode") from error


def check_batch(batch: RowBatch, header: TableHeader, first_row: int) -> None:
    """Refuse rows that no store can have.

    Parameters
    ----------
    batch
        The rows.
    header
        Header of their table.
    first_row
        Position of the first row in the table, for messages.

    Raises
    ------
    InputError
        Wrong shapes, a label that is not 0 or 1, an infinite value.
    """
    n = batch.n_rows
    shapes = (batch.X.shape, batch.Y.shape, batch.split.shape)
    if shapes != ((n, header.n_features), (n, header.n_labels), (n,)):
        raise InputError(
            f"rows from {first_row + 1} on have shapes {shapes}, expected X "
            f"({n}, {header.n_features}), Y ({n}, {header.n_labels}), split ({n},)"
        )
    if issparse(batch.X) != header.is_sparse:
        raise InputError("a table is either dense or sparse in all its batches")
    if batch.Y.dtype != np.uint8 or batch.Y.max() > 1:
        raise InputError("labels must be 0 or 1 in uint8", first_row=first_row)
    if batch.split.dtype != np.uint8 or batch.split.max() > 2:
        raise InputError("the split must be 0, 1 or 2 in uint8", first_row=first_row)
    _check_finite(batch.X, header, first_row)


def _check_finite(X: Any, header: TableHeader, first_row: int) -> None:
    infinite = np.isinf(X.data if issparse(X) else X)
    if not infinite.any():
        return
    if issparse(X):
        entry = int(np.argmax(infinite))
        row, column = int(np.searchsorted(X.indptr, entry, "right")) - 1, int(X.indices[entry])
    else:
        row, column = (int(at[0]) for at in np.nonzero(infinite))
    raise InputError(
        f"feature {header.feature_names[column]!r} is infinite in row {first_row + row + 1}",
        hint="Write ? (or leave the field empty in CSV) where a value is missing.",
        row=first_row + row,
        column=column,
    )
