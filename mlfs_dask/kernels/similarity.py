"""Similarities of label sets from packed words.

Two label sets a, b differ in h labels and have s = |a| + |b| labels together. Everything needed is
a function of (s, h)::

    jaccard    (s - h) / (s + h)    intersection over union; both empty: ``empty_pair``
    rbf        exp(-h / (2 δ²))     a table over h
    matching   1 - h / q            a table over h
    class      1 / n_c if h = 0     n_c rows carry the label set c

Values are one rounded operation on small integers: the same bits wherever they are computed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.labelsets import LabelSets
from mlfs_dask.kernels.lanes import count_ones

JACCARD, TABLE, CLASS = 0, 1, 2

LabelKind: TypeAlias = Literal["jaccard", "rbf-labels", "class", "matching"]


class SimilarityRule(NamedTuple):
    """How label sets are compared.

    Attributes
    ----------
    form : int
        ``JACCARD``, ``TABLE`` or ``CLASS``.
    table : ndarray of float64, shape (n_labels + 1,)
        Similarity by the number of labels that differ.
    empty : float
        Similarity of two different rows without labels.
    """

    form: int
    table: FloatArray
    empty: float


class LabelBits(NamedTuple):
    """Label sets to compare, of distinct sets or of rows.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_words, n_items)
    sizes : ndarray of int64, shape (n_items,)
    share : ndarray of float64, shape (n_items,)
        1 / (number of rows with the item's label set).
    """

    words: NDArray[np.uint64]
    sizes: IntArray
    share: FloatArray

    def part(self, select: slice | IntArray) -> LabelBits:
        """Some of the items."""
        words = np.ascontiguousarray(self.words[:, select])
        return LabelBits(words, self.sizes[select], self.share[select])


def similarity_rule(
    kind: LabelKind, n_labels: int, *, bandwidth: float = 1.0, empty_pair: int = 1
) -> SimilarityRule:
    """The rule of a similarity by its name.

    Parameters
    ----------
    kind
        ``"jaccard"``, ``"rbf-labels"``, ``"class"`` or ``"matching"``.
    n_labels
        Number of labels q.
    bandwidth
        δ of ``"rbf-labels"``.
    empty_pair
        Jaccard similarity of two rows without labels, 1 or 0.

    Examples
    --------
    >>> similarity_rule("matching", 2).table.tolist()
    [1.0, 0.5, 0.0]
    """
    differ = np.arange(n_labels + 1, dtype=np.float64)
    if kind == "jaccard":
        return SimilarityRule(JACCARD, np.zeros(1), float(empty_pair))
    if kind == "class":
        return SimilarityRule(CLASS, np.zeros(1), 1.0)
    if kind == "matching":
        return SimilarityRule(TABLE, (n_labels - differ) / max(n_labels, 1), 1.0)
    return SimilarityRule(TABLE, np.exp(-differ / (2.0 * bandwidth * bandwidth)), 1.0)


def label_bits(sets: LabelSets) -> LabelBits:
    """The distinct label sets, ready to be compared."""
    return LabelBits(sets.words, sets.sizes, 1.0 / sets.counts)


@jit
def similarity_row(
    left: LabelBits, i: int, right: LabelBits, rule: SimilarityRule, differ: IntArray
) -> FloatArray:
    """Similarities of item ``i`` to all items on the right.

    Parameters
    ----------
    left, right
        Label sets.
    i
        Item on the left.
    rule
        How they are compared.
    differ : ndarray of int64, shape (n_right,), changed
        Room for the counts.

    Returns
    -------
    ndarray of float64, shape (n_right,)
    """
    n = len(right.sizes)
    differ[:] = 0
    for w in range(len(left.words)):
        own = left.words[w, i]
        others = right.words[w]
        for j in range(n):
            differ[j] += np.int64(count_ones(others[j] ^ own))
    row = np.empty(n, dtype=np.float64)
    if rule.form == JACCARD:
        size = left.sizes[i]
        for j in range(n):
            both = size + right.sizes[j]
            union = both + differ[j]
            row[j] = (both - differ[j]) / union if union > 0 else rule.empty
    elif rule.form == TABLE:
        for j in range(n):
            row[j] = rule.table[differ[j]]
    else:
        for j in range(n):
            row[j] = right.share[j] if differ[j] == 0 else 0.0
    return row


@jit
def similarity_tile(
    left: LabelBits, right: LabelBits, rule: SimilarityRule, out: FloatArray
) -> None:
    """Fill ``out[:n_left, :n_right]`` with similarities.

    Parameters
    ----------
    left, right
        Label sets.
    rule
        How they are compared.
    out : ndarray of float64, shape (>= n_left, >= n_right), changed
        The rest is left as it is.
    """
    n = len(right.sizes)
    differ = np.empty(n, dtype=np.int64)
    for i in range(len(left.sizes)):
        out[i, :n] = similarity_row(left, i, right, rule, differ)


@jit
def similarity_degrees(
    left: LabelBits, right: LabelBits, counts: IntArray, rule: SimilarityRule
) -> FloatArray:
    """Sum of each left item's similarities to all rows, label sets on the right in order.

    Parameters
    ----------
    left, right
        Label sets.
    counts : ndarray of int64, shape (n_right,)
        Rows of each label set on the right.
    rule
        How they are compared.

    Returns
    -------
    ndarray of float64, shape (n_left,)
    """
    degrees = np.empty(len(left.sizes), dtype=np.float64)
    differ = np.empty(len(right.sizes), dtype=np.int64)
    for i in range(len(left.sizes)):
        row = similarity_row(left, i, right, rule, differ)
        total = 0.0
        for j in range(len(row)):
            total += row[j] * counts[j]
        degrees[i] = total
    return degrees
