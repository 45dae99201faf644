"""The low-rank road: simple matching similarity by labels one at a time.

Two samples agree on label l if both have it or neither has, so with p_l the sum of g over the rows
that have l and t the sum over all rows::

    q g'Sg = sum over l of p_l² + (t - p_l)²         q D_ii = q n - n |y_i| - |Y| + 2 y_i·N

(N: rows per label). O(nnz) per relevant label of a row, no table of label sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import ByteArray, FloatArray
from mlfs_dask.graphs.columns import Columns
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.groups import column_runs, group_sums
from mlfs_dask.graphs.laplacian import LaplacianTerms, terms_of
from mlfs_dask.graphs.source import Source

_RUN = 4096  # rows whose labels are widened at a time


def matching_degrees(Y: ByteArray) -> FloatArray:
    """Sum of each row's simple matching similarities to all rows, itself included.

    Parameters
    ----------
    Y : ndarray of uint8, shape (n_samples, n_labels)

    Returns
    -------
    ndarray of float64, shape (n_samples,)

    Examples
    --------
    >>> matching_degrees(np.array([[1, 0], [1, 1]], dtype=np.uint8)).tolist()
    [1.5, 1.5]
    """
    n, q = Y.shape
    per_label = Y.sum(axis=0, dtype=np.int64)
    per_row = Y.sum(axis=1, dtype=np.int64)
    runs = [Y[lo : lo + _RUN].astype(np.int64) @ per_label for lo in range(0, n, _RUN)]
    shared = np.concatenate(runs) if runs else np.zeros(0, dtype=np.int64)
    agreements = q * n - n * per_row - per_label.sum() + 2 * shared
    degrees: FloatArray = agreements.astype(np.float64) / max(q, 1)
    return degrees


def lowrank_terms(
    source: Source, columns: Columns, Y: ByteArray, executor: Executor
) -> LaplacianTerms:
    """Quadratic forms of all columns under simple matching similarity.

    Parameters
    ----------
    source, columns
        Rows and the columns made of them.
    Y : ndarray of uint8, shape (n_samples, n_labels)
        Labels of the rows.
    executor
        Where to run.
    """
    n, q = Y.shape
    everyone = sp.csr_matrix(np.ones((n, 1)))
    member = sp.csr_matrix(sp.hstack([sp.csr_matrix(Y), everyone], format="csr"))
    degree = matching_degrees(Y)
    volume = float(np.sum(degree))
    parts = []
    for run in column_runs(source, columns, q + 1):
        weights = (degree, np.zeros(n))
        sums, moments, _ = group_sums(source, columns, run, member, weights, executor)
        form = np.zeros(run[1] - run[0])
        total = _row(sums, q)
        for label in range(q):
            inside = _row(sums, label)
            outside = total - inside
            form += inside * inside + outside * outside
        parts.append(terms_of(moments.gg - form / max(q, 1), moments, volume))
    return LaplacianTerms.concatenate(parts)


def _row(sums: Any, index: int) -> FloatArray:
    row = sums[[index]]
    return np.asarray(row.toarray() if sp.issparse(row) else row, dtype=np.float64).ravel()
