"""Coded rows of all attributes apart into X and Y."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.storage.readers.arff_cells import DenseRows, SparseRows
from mlfs_dask.storage.records import Rows


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns of a table are labels, which are left out; the rest are features.

    Parameters
    ----------
    n_columns
        Columns in all.
    labels, dropped : ndarray of int64
        Ascending.
    """

    n_columns: int
    labels: IntArray
    dropped: IntArray
    features: IntArray = field(init=False)

    def __post_init__(self) -> None:
        taken = np.concatenate([self.labels, self.dropped])
        rest = np.setdiff1d(np.arange(self.n_columns), taken)
        object.__setattr__(self, "features", rest)


def row_parts(rows: DenseRows | SparseRows, max_rows: int) -> Iterator[DenseRows | SparseRows]:
    """Sparse rows in parts of bounded height: a row without entries takes 3 bytes of text only.

    Parameters
    ----------
    rows
        Dense rows stay in one piece, their text is no smaller than their cells by much.
    max_rows
        Bound on the rows of a part.
    """
    if isinstance(rows, DenseRows) or rows.n_rows <= max_rows:
        yield rows
        return
    for start in range(0, rows.n_rows, max_rows):
        n_rows = min(max_rows, rows.n_rows - start)
        first, last = np.searchsorted(rows.row, [start, start + n_rows])
        part = slice(first, last)
        yield SparseRows(n_rows, rows.row[part] - start, rows.column[part], rows.value[part])


def split_rows(
    rows: DenseRows | SparseRows,
    roles: ColumnRoles,
    target: IntArray,
    default: FloatArray,
    *,
    as_csr: bool,
) -> tuple[Rows, ByteArray]:
    """X and Y of a block.

    Parameters
    ----------
    rows
        Cells in the order of the file's attributes.
    roles
        Of the table's columns.
    target : ndarray of int64, shape (n_columns,)
        Table column of each attribute of the file.
    default : ndarray of float64, shape (n_columns,)
        What an omitted cell means, by table column.
    as_csr
        Give X as CSR rows, which only sparse rows can.
    """
    if isinstance(rows, DenseRows):
        cells = rows.cells
        if not np.array_equal(target, np.arange(len(target))):
            cells = cells[:, np.argsort(target)]
        X: Rows = np.ascontiguousarray(cells[:, roles.features])
        X = sp.csr_matrix(X) if as_csr else X
        return X, cells[:, roles.labels].astype(np.uint8)
    column = target[rows.column]
    Y = np.tile(default[roles.labels].astype(np.uint8), (rows.n_rows, 1))
    position = _positions(roles.labels, roles.n_columns)[column]
    here = position >= 0
    Y[rows.row[here], position[here]] = rows.value[here]
    X = _features(rows, roles, column, default)
    return (X if as_csr else X.toarray()), Y


def _features(
    rows: SparseRows, roles: ColumnRoles, column: IntArray, default: FloatArray
) -> sp.csr_matrix:
    position = _positions(roles.features, roles.n_columns)[column]
    here = position >= 0
    row, place, value = rows.row[here], position[here], rows.value[here]
    filled = np.flatnonzero(default[roles.features])
    if len(filled):
        row, place, value = _with_defaults(
            rows.n_rows, (row, place, value), filled, default[roles.features][filled]
        )
    kept = value != 0
    row, place, value = row[kept], place[kept], value[kept]
    step = np.diff(row)
    if not np.all((step > 0) | ((step == 0) & (np.diff(place) > 0))):
        order = np.lexsort((place, row))
        row, place, value = row[order], place[order], value[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows.n_rows))])
    shape = (rows.n_rows, len(roles.features))
    return sp.csr_matrix((value, place.astype(np.int32), indptr.astype(np.int32)), shape=shape)


def _with_defaults(
    n_rows: int,
    entries: tuple[IntArray, IntArray, FloatArray],
    filled: IntArray,
    values: FloatArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Add an entry for each omitted cell of the features whose default is not 0."""
    row, place, value = entries
    omitted = np.ones((n_rows, len(filled)), dtype=bool)
    which = np.searchsorted(filled, place).clip(max=len(filled) - 1)
    stated = filled[which] == place
    omitted[row[stated], which[stated]] = False
    more_rows, more = np.nonzero(omitted)
    return (
        np.concatenate([row, more_rows]),
        np.concatenate([place, filled[more]]),
        np.concatenate([value, values[more]]),
    )


def _positions(chosen: IntArray, n_columns: int) -> IntArray:
    """Position of each column among the chosen ones, -1 if it is none."""
    position = np.full(n_columns, -1, dtype=np.int64)
    position[chosen] = np.arange(len(chosen))
    return position
