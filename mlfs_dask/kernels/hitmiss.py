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

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
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
def _targets(n_targets: int) -> tuple[IntArray, IntArray]:
    """Where lists of targets start; query and sum of each."""
    start, targets = np.zeros(n_targets + 1, np.int64), np.empty((2, n_targets), np.int64)
    return start, targets


@inline
def _room(n_lists: int) -> tuple[IntArray, FloatArray]:
    """Room for lists: ``inside``, ``barred`` and ``size``, and the weight of each neighbour."""
    asked, share = np.empty((3, n_lists), np.int64), np.empty(n_lists, np.float64)
    return asked, share


@inline
def _lists(
    start: IntArray,
    targets: IntArray,
    asked: IntArray,
    share: FloatArray,
    used: tuple[int, int],
) -> Lists:
    """As many targets and lists as were used of the room."""
    t, e = used
    query, total = targets[0, :t], targets[1, :t]
    inside, barred, size = asked[0, :e], asked[1, :e], asked[2, :e]
    return Lists(start[: t + 1], query, total, inside, barred, size, share[:e])


@inline
def _put(
    asked: IntArray,
    share: FloatArray,
    e: int,
    class_: tuple[int, int],
    size: int,
    weight: float,
    k: int,
) -> int:
    """Ask for one list whose neighbours share a weight; an empty list is none."""
    if size == 0:
        return e
    asked[0, e], asked[1, e], asked[2, e] = class_[0], class_[1], size
    share[e] = weight / min(k, size)
    return e + 1


@jit
def _ask_labels(question: Question, labels: ByteArray, n_rows: int) -> Lists:
    n_queries, q = labels.shape
    width = question.last - question.first
    start, targets = _targets(n_queries * width)
    asked, share = _room(2 * n_queries * width)
    t = e = 0
    for i in range(n_queries):
        for label in range(question.first, question.last):
            has = question.size[label]
            lacks = n_rows - has
            targets[0, t], targets[1, t] = i, label - question.first
            if has > 0 and lacks > 0:
                own = labels[i, label] == 1
                hit = -1.0 if own else 1.0
                e = _put(asked, share, e, (label, q), has - own, hit, question.k)
                e = _put(asked, share, e, (q, label), lacks - (not own), -hit, question.k)
            t += 1
            start[t] = e
    return _lists(start, targets, asked, share, (t, e))


@inline
def _put_pair(
    asked: IntArray,
    share: FloatArray,
    e: int,
    pair: tuple[int, int],
    apart: IntArray,
    weight: float,
    k: int,
) -> int:
    """Ask for the hits and misses of a row with label a and without b, if there is a miss."""
    a, b = pair
    misses = apart[b, a]
    if misses > 0:
        e = _put(asked, share, e, (b, a), misses, weight, k)
        e = _put(asked, share, e, (a, b), apart[a, b] - 1, -weight, k)
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
    start, targets = _targets(n_pairs)
    asked, share = _room(2 * n_pairs)
    apart, k = question.apart, question.k
    t = e = 0
    for i in range(n_queries):
        for a in range(q):
            if not labels[i, a]:
                continue
            for b in range(q):
                number = pair_number(min(a, b), max(a, b), q)
                if labels[i, b] or not question.first <= number < question.last:
                    continue
                e = _put_pair(asked, share, e, (a, b), apart, 1.0, k)
                targets[0, t], targets[1, t] = i, number - question.first
                t += 1
                start[t] = e
    return _lists(start, targets, asked, share, (t, e))


@jit
def _ask_joined(question: Question, labels: ByteArray) -> Lists:
    n_queries, q = labels.shape
    start, targets = _targets(n_queries)
    asked, share = _room(2 * _count_asked(labels))
    # Taken out of the tuple once: a look-up inside the loops would count references.
    size, apart, k = question.size, question.apart, question.k
    e = 0
    for i in range(n_queries):
        # Counts are whole numbers: their sum is exact.
        among = 0
        for b in range(q):
            if not labels[i, b]:
                among += size[b]
        for a in range(q):
            if not labels[i, a]:
                continue
            for b in range(q):
                if not labels[i, b]:
                    weight = size[b] / max(among, 1)
                    e = _put_pair(asked, share, e, (a, b), apart, weight, k)
        targets[0, i], targets[1, i] = i, 0
        start[i + 1] = e
    return _lists(start, targets, asked, share, (n_queries, e))


@jit
def _ask_sets(question: Question, codes: IntArray, n_rows: int) -> Lists:
    n_sets = len(question.size)
    start, targets = _targets(len(codes))
    asked, share = _room(len(codes) * n_sets)
    counts, k = question.size, question.k
    e = 0
    for i in range(len(codes)):
        own = codes[i]
        rest = n_rows - counts[own]
        targets[0, i], targets[1, i] = i, 0
        if rest > 0:
            e = _put(asked, share, e, (own, 0), counts[own] - 1, -1.0, k)
            for c in range(n_sets):
                if c != own:
                    # P(c) / (1 - P(own)) = n_c / (n - n_own)
                    e = _put(asked, share, e, (c, 0), counts[c], counts[c] / rest, k)
        start[i + 1] = e
    return _lists(start, targets, asked, share, (len(codes), e))


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
