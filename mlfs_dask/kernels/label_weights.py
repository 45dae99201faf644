"""Weights of labels by a walk over what they tell about each other (paper D, equations (7) to (9)).

I_kl is the mutual information of labels k and l, S_l the sum of a label's row. From 1/q on,

    W_k <- (1 - c) + c sum over l != k of W_l I_kl / S_l

until nothing changes; then all are divided by their sum. A label that shares nothing with another
one sends nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.information import log_table

_SETTLED = 1e-12
_ROUNDS = 1000
_NEGLIGIBLE = 1e-12


def label_information(Y: ByteArray) -> FloatArray:
    """Mutual information of each pair of labels, in bits; the diagonal is 0.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels)
        At least one row.

    Returns
    -------
    ndarray of float64, shape (n_labels, n_labels)
        Terms below 1e-12 count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> label_information(np.array([[0, 1], [1, 0]], dtype=np.uint8)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    member = sp.csr_matrix(Y, dtype=np.int64)
    return _information((member.T @ member).toarray(), log_table(len(Y)))


@jit
def _information(pairs: IntArray, table: FloatArray) -> FloatArray:
    n = len(table) - 1
    q = len(pairs)
    out = np.zeros((q, q))
    for k in range(q):
        a = pairs[k, k]
        for m in range(k):
            b, both = pairs[m, m], pairs[k, m]
            joint = table[both] + table[a - both] + table[b - both] + table[n - a - b + both]
            alone = table[a] + table[n - a] + (table[b] + table[n - b])
            value = (table[n] - alone + joint) / n
            out[k, m] = out[m, k] = 0.0 if value < _NEGLIGIBLE else value
    return out


@jit
def label_weights(
    information: FloatArray, damping: float, rounds: int, constant: float
) -> FloatArray:
    """Weights by the walk.

    Parameters
    ----------
    information : ndarray of float64, shape (n_labels, n_labels)
        From :func:`label_information`.
    damping
        The constant c, at least 0 and below 1.
    rounds
        Exactly so many; 0: until all weights together change by less than 1e-12, at most 1,000.
    constant
        Term that is added in each round: 1 - c, or its part of each label. It makes a difference
        only if the walk is cut short.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        Their sum is 1.

    Examples
    --------
    >>> import numpy as np
    >>> label_weights(np.zeros((2, 2)), 0.85, 0, 0.15).tolist()
    [0.5, 0.5]
    """
    q = len(information)
    sends = np.zeros((q, q))
    for m in range(q):
        total = 0.0
        for k in range(q):
            total += information[k, m]
        if total > 0:
            for k in range(q):
                sends[k, m] = information[k, m] / total
    weights = np.full(q, 1.0 / q)
    for _ in range(rounds if rounds > 0 else _ROUNDS):
        change, before = 0.0, weights.copy()
        for k in range(q):
            received = 0.0
            for m in range(q):
                received += before[m] * sends[k, m]
            weights[k] = constant + damping * received
            change += abs(weights[k] - before[k])
        if rounds == 0 and change < _SETTLED:
            break
    total = 0.0
    for k in range(q):
        total += weights[k]
    return weights / total
