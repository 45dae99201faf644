"""Iterative stratification: rows of the rarest label first, each where it is wanted most.

Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label data" (2011), algorithm 1,
with one change: a fold that has as many rows as it is to have takes no more. What a fold wants of
a label, ``positives * size / n - assigned``, is kept as an integer times n, so ties are exact and
the same everywhere.
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import inline, jit

_NOWHERE = -1


@jit
def distribute(
    row_start: IntArray,
    row_labels: AnyArray,
    label_start: IntArray,
    label_rows: AnyArray,
    sizes: IntArray,
    draws: FloatArray,
) -> AnyArray:
    """Fold of every row that has a label.

    Parameters
    ----------
    row_start : ndarray of int64, shape (n_samples + 1,)
    row_labels : ndarray of int32
        Labels of row i: ``row_labels[row_start[i]:row_start[i + 1]]``.
    label_start : ndarray of int64, shape (n_labels + 1,)
    label_rows : ndarray of int32
        Rows with label l, in the order in which they are dealt out:
        ``label_rows[label_start[l]:label_start[l + 1]]``.
    sizes : ndarray of int64, shape (n_folds,)
        Rows that each fold is to have, together n_samples.
    draws : ndarray of float64, shape (n_samples,)
        In [0, 1); row i's number breaks the ties among its folds.

    Returns
    -------
    ndarray of int32, shape (n_samples,)
        -1 for rows without labels. No fold has more rows than its size.
    """
    n_samples, n_labels, n_folds = len(row_start) - 1, len(label_start) - 1, len(sizes)
    fold_of = np.full(n_samples, _NOWHERE, dtype=np.int32)
    room = sizes.copy()
    left = np.diff(label_start)
    positives = left.copy()
    assigned = np.zeros((n_labels, n_folds), dtype=np.int32)
    best = np.empty(n_folds, dtype=np.int64)
    while True:
        label = _rarest(left)
        if label == _NOWHERE:
            return fold_of
        for at in range(label_start[label], label_start[label + 1]):
            row = label_rows[at]
            if fold_of[row] != _NOWHERE:
                continue
            fold = _keenest(assigned[label], positives[label], sizes, room, draws[row], best)
            fold_of[row] = fold
            room[fold] -= 1
            for cell in range(row_start[row], row_start[row + 1]):
                left[row_labels[cell]] -= 1
                assigned[row_labels[cell], fold] += 1


@inline
def _rarest(left: IntArray) -> int:
    """Label with the fewest rows still to be dealt out, but at least one; -1 if there is none."""
    found = _NOWHERE
    for label in range(len(left)):
        if left[label] > 0 and (found == _NOWHERE or left[label] < left[found]):
            found = label
    return found


@inline
def _keenest(
    assigned: AnyArray,
    positives: int,
    sizes: IntArray,
    room: IntArray,
    draw: float,
    best: IntArray,
) -> int:
    """Fold with room that wants the label most; then the one with most room; then by draw."""
    n_samples = sizes.sum()
    n_best = 0
    for fold in range(len(sizes)):
        if room[fold] == 0:
            continue
        wants = positives * sizes[fold] - n_samples * assigned[fold]
        if n_best > 0:
            first = best[0]
            most = positives * sizes[first] - n_samples * assigned[first]
            if wants < most or (wants == most and room[fold] < room[first]):
                continue
            if wants > most or room[fold] > room[first]:
                n_best = 0
        best[n_best] = fold
        n_best += 1
    chosen: int = best[int(draw * n_best)]
    return chosen
