"""Distinct label sets: which rows carry which, how often, as packed words.

Similarities of labels alone are equal for equal label sets, so n rows become u label sets:
28,596 rows of tmc2007 carry 1,341 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import AnyArray, ByteArray, IntArray


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The distinct rows of a label matrix.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_samples,)
        Label set of each row.
    counts : ndarray of int64, shape (n_sets,)
        Rows of each label set, at least 1.
    first : ndarray of int64, shape (n_sets,)
        First row of each label set.
    words : ndarray of uint64, shape (n_words, n_sets)
        Labels as bits; word w of neighbouring sets is contiguous.
    sizes : ndarray of int64, shape (n_sets,)
        Number of relevant labels.
    n_labels : int
    """

    codes: IntArray
    counts: IntArray
    first: IntArray
    words: NDArray[np.uint64]
    sizes: IntArray
    n_labels: int

    @property
    def n_sets(self) -> int:
        """Number of distinct label sets."""
        return len(self.counts)

    @property
    def empty(self) -> int:
        """Code of the label set without labels, -1 if no row has it."""
        found = np.flatnonzero(self.sizes == 0)
        return int(found[0]) if len(found) else -1


def find_label_sets(Y: ByteArray) -> LabelSets:
    """Distinct rows of a 0/1 matrix, in the lexicographic order of their bits.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels)
        0 and 1.

    Examples
    --------
    >>> sets = find_label_sets(np.array([[1, 0], [0, 0], [1, 0]], dtype=np.uint8))
    >>> sets.codes.tolist(), sets.counts.tolist(), sets.sizes.tolist()
    ([1, 0, 1], [1, 2], [0, 1])
    """
    n, q = Y.shape
    n_words = max(1, -(-q // 64))
    packed = np.zeros((n, 8 * n_words), dtype=np.uint8)
    packed[:, : -(-q // 8)] = np.packbits(Y, axis=1)
    keys: AnyArray
    if n_words == 1:
        keys = packed.view(">u8").ravel().astype(np.uint64)
    else:
        keys = packed.view(np.dtype((np.void, 8 * n_words))).ravel()
    _, first, codes, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    words = np.ascontiguousarray(packed[first].view(np.uint64).T)
    return LabelSets(
        codes=codes.ravel().astype(np.int64),
        counts=counts.astype(np.int64),
        first=first.astype(np.int64),
        words=words,
        sizes=Y[first].sum(axis=1, dtype=np.int64),
        n_labels=q,
    )
