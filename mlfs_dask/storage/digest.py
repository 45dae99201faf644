"""Digest of a table's values: the same for any chunks, tile, dtype, dense or sparse encoding.

Five streams are hashed apart, so rows may come in pieces of any size::

    Y        uint8, row by row                      n q bytes
    split    uint8                                  n bytes
    counts   int64, entries of each row             8 n bytes
    indices  uint32, columns of the entries         4 bytes each, ascending in a row
    values   float64, the entries                   8 bytes each

An entry is a value that is not 0 (-0.0 is 0); NaN, which means missing, is an entry and always has
the bits of ``0x7ff8000000000000``. All numbers are little-endian. The digest is the sha256 of
``b"mlfs-digest-1"``, the sha256 of the header and the five sha256 of the streams, all as raw bytes.
The header is JSON in ASCII without blanks and with sorted keys: feature and label names, kinds,
categories, costs (as hexadecimal floats). `storage/README.md` says the same in prose.

A block of features appended later has a digest of the same form without labels and split (no label
names, two streams of no bytes); its link in the chain is the sha256 of the digest before it and its
own, as raw bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.storage.records import TableHeader

_STEP_BYTES = 4 * 1024 * 1024


class StoreDigest:
    """Running digest of a table, fed with consecutive rows.

    Parameters
    ----------
    header
        Names, kinds, categories and costs.
    of_block
        The table is a block of features: labels and split don't count.

    Examples
    --------
    >>> import numpy as np
    >>> header = TableHeader(name="x", feature_names=("a", "b"), label_names=("l",),
    ...                      feature_kind=np.zeros(2, np.uint8))
    >>> digest = StoreDigest(header)
    >>> rows = np.array([[0.0, 1.0], [2.0, np.nan]])
    >>> digest.update(rows, np.array([[1], [0]], np.uint8), np.zeros(2, np.uint8))
    >>> len(digest.hexdigest())
    64
    """

    def __init__(self, header: TableHeader, *, of_block: bool = False) -> None:
        named = replace(header, label_names=()) if of_block else header
        self._header = hashlib.sha256(_header_bytes(named)).digest()
        self._of_block = of_block
        self._streams = [hashlib.sha256() for _ in range(5)]

    def update(self, X: AnyArray | csr_matrix, Y: ByteArray, split: ByteArray) -> None:
        """Add rows.

        Parameters
        ----------
        X : ndarray or csr_matrix of any dtype of a store, shape (r, d)
        Y : ndarray of uint8, shape (r, q)
        split : ndarray of uint8, shape (r,)
        """
        labels, parts, counts, indices, values = self._streams
        if not self._of_block:
            labels.update(np.ascontiguousarray(Y).data)
            parts.update(np.ascontiguousarray(split).data)
        for row_counts, columns, entries in canonical_rows(X):
            counts.update(row_counts.astype("<i8", copy=False).data)
            indices.update(columns.data)
            values.update(entries.data)

    def hexdigest(self) -> str:
        """Digest of the rows so far, 64 hexadecimal digits."""
        whole = hashlib.sha256(b"mlfs-digest-1" + self._header)
        for stream in self._streams:
            whole.update(stream.digest())
        return whole.hexdigest()


def chain_digest(before: str, block: str) -> str:
    """Digest of a store after one more block of features.

    Parameters
    ----------
    before
        Digest of the store until then.
    block
        Digest of the block by itself.

    Examples
    --------
    >>> chain_digest("00" * 32, "ff" * 32)[:8]
    'bba91ca8'
    """
    return hashlib.sha256(bytes.fromhex(before) + bytes.fromhex(block)).hexdigest()


def canonical_rows(
    X: AnyArray | csr_matrix,
) -> Iterator[tuple[IntArray, NDArray[np.uint32], FloatArray]]:
    """Rows in the one form that dense and sparse share, a few MiB at a time.

    Parameters
    ----------
    X : ndarray or csr_matrix, shape (r, d)

    Yields
    ------
    counts : ndarray of int64, shape (s,)
        Entries of each of the next s rows.
    indices : ndarray of uint32, shape (sum of counts,)
        Columns of the entries, ascending in each row.
    values : ndarray of float64, same shape
        The entries: not 0, NaN with canonical bits.
    """
    if issparse(X):
        yield _canonical_sparse(X)
        return
    step = max(1, _STEP_BYTES // (8 * max(1, X.shape[1])))
    for start in range(0, X.shape[0], step):
        rows = X[start : start + step]
        mask = rows != 0
        counts = np.count_nonzero(mask, axis=1).astype(np.int64)
        yield counts, np.nonzero(mask)[1].astype("<u4"), _canonical_values(rows[mask])


def _canonical_sparse(X: csr_matrix) -> tuple[IntArray, NDArray[np.uint32], FloatArray]:
    indptr = X.indptr.astype(np.int64, copy=False)
    keep = X.data != 0
    if keep.all():
        return np.diff(indptr), X.indices.astype("<u4"), _canonical_values(X.data)
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    counts = np.diff(kept_before[indptr])
    return counts, X.indices[keep].astype("<u4"), _canonical_values(X.data[keep])


def _canonical_values(entries: AnyArray) -> FloatArray:
    values = entries.astype("<f8")
    values[np.isnan(values)] = np.nan
    return values


def _header_bytes(header: TableHeader) -> bytes:
    costs = header.feature_cost
    fields = {
        "categories": {str(f): list(header.categories[f]) for f in sorted(header.categories)},
        "costs": None if costs is None else [float(cost).hex() for cost in costs],
        "features": list(header.feature_names),
        "kinds": header.feature_kind.tolist(),
        "labels": list(header.label_names),
    }
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode()
