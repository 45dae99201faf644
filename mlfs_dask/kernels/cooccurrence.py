"""Rows of a tile as bins and labels, and counts of rows that share a bin, a label and a marker.

A *column* is a bin of a feature, without the base bins; a *marker* is one of the columns or labels.
For one marker the rows of every column are counted, all of them and those with each label. Two
forms hold a tile, and give the same counts:

- packed: a bit per row and column; one operation looks at as many rows as a register has bits;
- listed: the columns of each row; work is that of the marker's rows alone, for sparse data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.lanes import count_ones


class PackedRows(NamedTuple):
    """Rows as bits; bit ``i % 64`` of word ``i // 64`` is row i.

    Attributes
    ----------
    columns : ndarray of uint64, shape (n_columns, n_words)
    labels : ndarray of uint64, shape (n_labels, n_words)
    """

    columns: NDArray[np.uint64]
    labels: NDArray[np.uint64]


class ListedRows(NamedTuple):
    """Rows as lists.

    Attributes
    ----------
    start, column : ndarray of int32, shapes (n_rows + 1,) and (n_ones,)
        Columns of row i are ``column[start[i]:start[i + 1]]``.
    label_start, label : ndarray of int32
        Labels of each row, alike.
    marker_start, marked : ndarray of int32
        Rows of each marker, alike: of the columns, then of the labels.
    """

    start: NDArray[np.int32]
    column: NDArray[np.int32]
    label_start: NDArray[np.int32]
    label: NDArray[np.int32]
    marker_start: NDArray[np.int32]
    marked: NDArray[np.int32]


@jit
def count_packed(rows: PackedRows, marker: int, counts: NDArray[np.int32]) -> None:
    """Add the marker's rows by column and label.

    Parameters
    ----------
    rows
        A tile.
    marker
        A column, or ``n_columns`` + a label.
    counts : ndarray of int32, shape (n_columns, n_labels + 1), changed
        Gains, for each column, its rows among the marker's, then those of them with each label.
    """
    columns, labels = rows.columns, rows.labels
    n_columns, n_words = columns.shape
    mark = columns[marker] if marker < n_columns else labels[marker - n_columns]
    common = np.empty(n_words, dtype=np.uint64)
    for c in range(n_columns):
        total = np.uint64(0)
        for w in range(n_words):
            common[w] = columns[c, w] & mark[w]
            total += count_ones(common[w])
        if total == 0:
            continue
        counts[c, 0] += np.int32(total)
        for k in range(len(labels)):
            shared = np.uint64(0)
            for w in range(n_words):
                shared += count_ones(common[w] & labels[k, w])
            counts[c, 1 + k] += np.int32(shared)


@jit
def count_listed(rows: ListedRows, marker: int, counts: NDArray[np.int32]) -> None:
    """As :func:`count_packed`, row by row.

    Parameters
    ----------
    rows, marker, counts
        As there.
    """
    start, column = rows.start, rows.column
    label_start, label = rows.label_start, rows.label
    for e in range(rows.marker_start[marker], rows.marker_start[marker + 1]):
        i = rows.marked[e]
        for p in range(start[i], start[i + 1]):
            own = counts[column[p]]
            own[0] += 1
            for j in range(label_start[i], label_start[i + 1]):
                own[1 + label[j]] += 1
