"""Leading eigenvectors of a normalised similarity matrix, with multiple eigenvalues kept whole.

N = D^(-1/2) W D^(-1/2) has eigenvalues 1 - λ_j. A graph of several parts has λ = 0 several times,
and a solver that starts from one vector finds one of the copies, another one for each start. Small
problems are solved whole. Large ones are deflated by the parts' own eigenvectors, which are known
exactly, solved by Lanczos from a fixed start, and searched again for what the first search missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from mlfs_dask._typing import FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.kernels.blas import single_blas_thread
from mlfs_dask.wording import counted

SAME = 1e-9
"""Eigenvalues closer than this belong to one cluster."""

MOST_SEARCHED = 256
"""Largest number of eigenvectors of a large problem that are searched for."""

NOISE = 1e-26
"""Share of a squared norm below which a squared coordinate is rounding noise."""

_RESIDUAL = 1e-8
_START_SEED = 20160101


class Leading(NamedTuple):
    """Leading eigenpairs.

    Attributes
    ----------
    values : ndarray of float64, shape (n_kept,)
        Eigenvalues λ of the normalised Laplacian, ascending.
    vectors : ndarray of float64, shape (n, n_kept)
        Orthonormal.
    """

    values: FloatArray
    vectors: FloatArray


def dense_leading(N: FloatArray, wanted: int) -> Leading:
    """Leading eigenpairs of a symmetric matrix by solving it whole.

    Parameters
    ----------
    N : ndarray of float64, shape (n, n)
        D^(-1/2) W D^(-1/2).
    wanted
        Number of eigenpairs, extended to the end of the last one's cluster.
    """
    with single_blas_thread():
        top, vectors = eigh(N)
    values = 1.0 - top[::-1]
    kept = _whole_cluster(values, wanted)
    return Leading(values[:kept], np.ascontiguousarray(vectors[:, ::-1][:, :kept]))


def iterative_leading(
    multiply: Callable[[FloatArray], FloatArray], zero: FloatArray, wanted: int
) -> Leading:
    """Leading eigenpairs by deflated Lanczos.

    Parameters
    ----------
    multiply
        x -> N x, N positive semidefinite.
    zero : ndarray of float64, shape (n, n_parts)
        Orthonormal eigenvectors of λ = 0, one for each connected part.
    wanted
        Number of eigenpairs, those of λ = 0 included; extended to the end of the last one's
        cluster.

    Raises
    ------
    InputError
        The search doesn't converge, or too many eigenvectors would have to be searched for.
    """
    n = len(zero)
    found = Leading(np.zeros(zero.shape[1]), zero)
    target = wanted - zero.shape[1]
    while target > 0 or not _complete(multiply, found, wanted):
        # One more than wanted, so that the gap behind the last one can be seen.
        count = max(target + 1, 2)
        if found.vectors.shape[1] + count >= n or count > MOST_SEARCHED:
            raise _refusal(n, wanted)
        found = _merge(found, _search(multiply, found.vectors, count))
        target = wanted - found.vectors.shape[1]
    kept = _whole_cluster(found.values, wanted)
    return Leading(found.values[:kept], np.ascontiguousarray(found.vectors[:, :kept]))


def _complete(multiply: Callable[[FloatArray], FloatArray], found: Leading, wanted: int) -> bool:
    """Whether nothing that belongs among the wanted is left outside what was found."""
    if found.vectors.shape[1] == len(found.vectors):
        return True
    kept = _whole_cluster(found.values, wanted)
    outside = _search(multiply, found.vectors, 1)
    return bool(outside.values[0] >= found.values[kept - 1] + SAME)


def _search(multiply: Callable[[FloatArray], FloatArray], known: FloatArray, count: int) -> Leading:
    n = len(known)

    def deflated(x: FloatArray) -> FloatArray:
        x = np.ravel(x)
        x = x - known @ (known.T @ x)
        y = multiply(x)
        return y - known @ (known.T @ y)

    start = np.random.default_rng([_START_SEED, known.shape[1]]).standard_normal(n)
    operator = LinearOperator((n, n), matvec=deflated, dtype=np.float64)
    with single_blas_thread():
        try:
            top, vectors = eigsh(
                operator,
                k=count,
                which="LA",
                v0=start,
                tol=1e-12,
                maxiter=50 * n,
                ncv=min(n, max(2 * count + 20, 60)),
            )
        except ArpackError as error:
            raise InputError(
                f"phi = 3: the search for eigenvectors didn't converge ({error})",
                hint="Use another n_components, or phi = 1 or 2.",
            ) from error
        residual = max(
            float(np.linalg.norm(deflated(vectors[:, k]) - top[k] * vectors[:, k]))
            for k in range(count)
        )
    if residual > _RESIDUAL:
        raise InputError(
            f"phi = 3: eigenvectors are known to {residual:.1e} only",
            hint="Use another n_components, or phi = 1 or 2.",
        )
    order = np.argsort(-top, kind="stable")
    return Leading(1.0 - top[order], vectors[:, order])


def _merge(found: Leading, more: Leading) -> Leading:
    values = np.concatenate([found.values, more.values])
    vectors = np.hstack([found.vectors, more.vectors])
    order = np.argsort(values, kind="stable")
    return Leading(values[order], vectors[:, order])


def _whole_cluster(values: FloatArray, wanted: int) -> int:
    kept = min(wanted, len(values))
    while kept < len(values) and values[kept] - values[kept - 1] < SAME:
        kept += 1
    return kept


def _refusal(n: int, wanted: int) -> InputError:
    return InputError(
        f"phi = 3: {wanted} of {counted(n, 'eigenvector')} would have to be searched for",
        hint="Set n_components to a smaller number, or use phi = 1 or 2.",
        size=n,
    )


def part_vectors(parts: IntArray, weight: FloatArray) -> FloatArray:
    """Orthonormal eigenvectors of λ = 0 of a graph's connected parts.

    Parameters
    ----------
    parts : ndarray of int64, shape (n,)
        Part of each node, numbered from 0.
    weight : ndarray of float64, shape (n,)
        Mass times degree of each node.

    Returns
    -------
    ndarray of float64, shape (n, n_parts)
    """
    n_parts = int(parts.max(initial=-1)) + 1
    volume = np.bincount(parts, weights=weight, minlength=n_parts)
    out = np.zeros((len(parts), n_parts))
    out[np.arange(len(parts)), parts] = np.sqrt(weight / volume[parts])
    return out


def explained(leading: Leading, b: FloatArray, norm: FloatArray) -> FloatArray:
    """Sum of ``(2 - λ_j) α_j²`` for each column, α_j its coordinate along eigenvector j.

    Parameters
    ----------
    leading
        Eigenpairs.
    b : ndarray of float64, shape (n_kept, n_columns)
        Coordinates of the centred columns.
    norm : ndarray of float64, shape (n_columns,)
        Squared norm of the centred columns.

    Returns
    -------
    ndarray of float64, shape (n_columns,)
        Coordinates below 1e-13 of the norm are rounding noise, and count 0.
    """
    out = np.zeros(b.shape[1])
    for value, row in zip(leading.values.tolist(), b, strict=True):
        square = row * row
        out += np.where(square > NOISE * norm, (2.0 - value) * square, 0.0)
    return out
