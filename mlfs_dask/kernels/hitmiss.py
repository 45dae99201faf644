"""Which neighbours Relief compares a row with, and what each of them counts.

A row's nearest neighbours of its own class are hits and count against a feature that differs, those
of another class are misses and count for it::

    W_r += w (mean over misses of |x_ir - x_jr| - mean over hits of |x_ir - x_jr|)

One class against the rest, label a against label b, or label sets against each other: each kind
asks for other lists, but sizes of classes are known before any distance is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, IntArray
from mlfs_dask.kernels._jit import inline, jit
from mlfs_dask.kernels.terms import Lists

ONE, PAIRS, JOINED, SETS = 0, 1, 2, 3
"""Label l against the rest, a sum each; label a against b, a sum per pair; all pairs into one sum;
label sets against each other, one sum."""


class Question(NamedTuple):
    """What is asked of each row.

    Attributes
    ----------
    kind : int
        ``ONE``, ``PAIRS``, ``JOINED`` or ``SETS``.
    k : int
        Hits, and misses per class.
    first, last : int
        Sums ``first:last`` of all are made: labels, or pairs (a, b), a < b, in lexicographic order.
    size : ndarray of int64
        Rows with each label, shape (n_labels,), or of each label set, shape (n_sets,).
    apart : ndarray of int64, shape (n_labels, n_labels)
        Rows with label a and without label b; of one cell where it isn't needed.
    """

    kind: int
    k: int
    first: int
    last: int
    size: IntArray
    apart: IntArray


@inline
def pair_number(a: int, b: int, n_labels: int) -> int:
    """Position of the pair (a, b), a < b, among all pairs in lexicographic order."""
    return a * n_labels - a * (a + 1) // 2 + (b - a - 1)


@jit
def ask(question: Question, labels: ByteArray, codes: IntArray, n_rows: int) -> Lists:
    """Lists of neighbours that some rows need.

    Parameters
    ----------
    question
        What is asked.
    labels : ndarray of uint8, shape (n_queries, n_labels)
        Labels of the rows; for ``SETS`` not looked at.
    codes : ndarray of int64, shape (n_queries,)
        Label set of each row; looked at for ``SETS`` alone.
    n_rows
        Training rows.
    """
    if question.kind == ONE:
        return _ask_labels(question, labels, n_rows)
    if question.kind == SETS:
        return _ask_sets(question, codes, n_rows)
    if question.kind == JOINED:
        return _ask_joined(question, labels)
    return _ask_pairs(question, labels)


@inline
def _empty(n_targets: int, n_lists: int) -> Lists:
    return Lists(
        np.zeros(n_targets + 1, dtype=np.int64),
        np.empty(n_targets, dtype=np.int64),
        np.empty(n_targets, dtype=np.int64),
        np.empty(n_lists, dtype=np.int64),
        np.empty(n_lists, dtype=np.int64),
        np.empty(n_lists, dtype=np.int64),
        np.empty(n_lists, dtype=np.float64),
    )


@inline
def _put(lists: Lists, e: int, inside: int, barred: int, size: int, weight: float, k: int) -> int:
    """Ask for one list whose neighbours share a weight; an empty list is none."""
    if size == 0:
        return e
    lists.inside[e], lists.barred[e], lists.size[e] = inside, barred, size
    lists.weight[e] = weight / min(k, size)
    return e + 1


@jit
def _ask_labels(question: Question, labels: ByteArray, n_rows: int) -> Lists:
    n_queries, q = labels.shape
    width = question.last - question.first
    lists = _empty(n_queries * width, 2 * n_queries * width)
    t = e = 0
    for i in range(n_queries):
        for label in range(question.first, question.last):
            has = question.size[label]
            lacks = n_rows - has
            lists.query[t], lists.sum[t] = i, label - question.first
            if has > 0 and lacks > 0:
                own = labels[i, label] == 1
                hit = -1.0 if own else 1.0
                e = _put(lists, e, label, q, has - own, hit, question.k)
                e = _put(lists, e, q, label, lacks - (not own), -hit, question.k)
            t += 1
            lists.start[t] = e
    return _cut(lists, t, e)


@inline
def _put_pair(lists: Lists, e: int, question: Question, a: int, b: int, weight: float) -> int:
    """Ask for the hits and misses of a row with label a and without b, if there is a miss."""
    misses = question.apart[b, a]
    if misses > 0:
        e = _put(lists, e, b, a, misses, weight, question.k)
        e = _put(lists, e, a, b, question.apart[a, b] - 1, -weight, question.k)
    return e


@jit
def _count_asked(labels: ByteArray) -> int:
    """Ordered pairs of a label that a row has and one that it lacks, over all rows."""
    total = 0
    for i in range(len(labels)):
        carried = 0
        for a in range(labels.shape[1]):
            carried += labels[i, a]
        total += carried * (labels.shape[1] - carried)
    return total


@jit
def _ask_pairs(question: Question, labels: ByteArray) -> Lists:
    n_queries, q = labels.shape
    n_pairs = _count_asked(labels)
    lists = _empty(n_pairs, 2 * n_pairs)
    t = e = 0
    for i in range(n_queries):
        for a in range(q):
            for b in range(q):
                number = pair_number(min(a, b), max(a, b), q)
                one = labels[i, a] > labels[i, b]
                if not one or not question.first <= number < question.last:
                    continue
                e = _put_pair(lists, e, question, a, b, 1.0)
                lists.query[t], lists.sum[t] = i, number - question.first
                t += 1
                lists.start[t] = e
    return _cut(lists, t, e)


@jit
def _ask_joined(question: Question, labels: ByteArray) -> Lists:
    n_queries, q = labels.shape
    lists = _empty(n_queries, 2 * _count_asked(labels))
    e = 0
    for i in range(n_queries):
        # Counts are whole numbers: their sum is exact.
        among = 0
        for b in range(q):
            if not labels[i, b]:
                among += question.size[b]
        for a in range(q):
            for b in range(q):
                if labels[i, a] > labels[i, b]:
                    e = _put_pair(lists, e, question, a, b, question.size[b] / max(among, 1))
        lists.query[i], lists.sum[i] = i, 0
        lists.start[i + 1] = e
    return _cut(lists, n_queries, e)


@jit
def _ask_sets(question: Question, codes: IntArray, n_rows: int) -> Lists:
    n_sets = len(question.size)
    lists = _empty(len(codes), len(codes) * n_sets)
    e = 0
    for i in range(len(codes)):
        own = codes[i]
        rest = n_rows - question.size[own]
        lists.query[i], lists.sum[i] = i, 0
        if rest > 0:
            e = _put(lists, e, own, 0, question.size[own] - 1, -1.0, question.k)
            for c in range(n_sets):
                if c != own:
                    size = question.size[c]
                    # P(c) / (1 - P(own)) = n_c / (n - n_own)
                    e = _put(lists, e, c, 0, size, size / rest, question.k)
        lists.start[i + 1] = e
    return _cut(lists, len(codes), e)


@inline
def _cut(lists: Lists, t: int, e: int) -> Lists:
    return Lists(
        lists.start[: t + 1],
        lists.query[:t],
        lists.sum[:t],
        lists.inside[:e],
        lists.barred[:e],
        lists.size[:e],
        lists.weight[:e],
    )


def rows_apart(Y: ByteArray) -> IntArray:
    """Rows with label a and without label b, shape (n_labels, n_labels).

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> rows_apart(np.array([[1, 0], [1, 1], [0, 1], [1, 0]], dtype=np.uint8)).tolist()
    [[0, 2], [1, 0]]
    """
    carried = sp.csr_matrix(Y, dtype=np.int64)
    both: IntArray = (carried.T @ carried).toarray()
    return np.diag(both)[:, None] - both


def rows_with_a_pair(Y: ByteArray, apart: IntArray) -> int:
    """Rows that have a label a and lack a label b that some row has without a.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_rows, n_labels)
    apart : ndarray of int64, shape (n_labels, n_labels)
        From :func:`rows_apart`.
    """
    # Where b occurs without a: asked of a row, with a in it and b not.
    possible = (apart.T > 0).astype(np.int64)
    found = (sp.csr_matrix(Y, dtype=np.int64) @ possible > 0) & (Y == 0)
    return int(np.count_nonzero(found.any(axis=1)))


def count_of_pairs(n_labels: int) -> int:
    """Number of pairs of labels."""
    return n_labels * (n_labels - 1) // 2
