"""Block conjugate gradients: one symmetric system, several right-hand sides at once.

The sides share one Krylov space, so all of them together need a few times fewer steps than one by
one, and each step is one product with the matrix. Residuals are kept as an orthonormal basis times
a small factor (Dubrulle's variant), which stays sound where sides depend on each other or some have
converged before the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mlfs_dask._typing import FloatArray
from mlfs_dask.errors import InputError
from mlfs_dask.kernels.blas import single_blas_thread

TOLERANCE = 1e-12
"""Residual that ends a round, as a share of the right-hand side."""

Product: TypeAlias = Callable[[FloatArray], FloatArray]

# What refinement aims at: residuals computed anew are no better than rounding allows.
_REFINED = 1e-15
_MOST_STEPS = 5000


def solve(multiply: Product, right: FloatArray, name: str) -> tuple[FloatArray, int]:
    """Solve ``A Z = R`` for a symmetric, positive definite A.

    Parameters
    ----------
    multiply
        P -> A P for a matrix of as many columns as R.
    right : ndarray of float64, shape (n, n_sides)
        R, of full column rank.
    name
        Of the method, for the message.

    Returns
    -------
    Z : ndarray of float64, shape (n, n_sides)
    n_steps : int
        Products with A.

    Raises
    ------
    InputError
        No convergence.

    Notes
    -----
    The residual that is carried along drifts from the true one by rounding. A second round solves
    for what the first one has left, as iterative refinement does.

    Examples
    --------
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> Z, _ = solve(lambda P: A @ P, np.array([[1.0], [2.0]]), "example")
    >>> Z.round(12).tolist()
    [[0.090909090909], [0.636363636364]]
    """
    with single_blas_thread():
        size = np.linalg.norm(right, axis=0)
        first, n_steps = _round(multiply, right, TOLERANCE * size, name)
        left = right - multiply(first)
        again, n_more = _round(multiply, left, _REFINED * size, name)
    return first + again, n_steps + 1 + n_more


def _round(
    multiply: Product, right: FloatArray, enough: FloatArray, name: str
) -> tuple[FloatArray, int]:
    """Solve until the residual of every side that is carried along is small enough."""
    out = np.zeros(right.shape)
    basis, factor = np.linalg.qr(right)
    directions = basis
    for n_steps in range(_MOST_STEPS):
        if np.all(np.linalg.norm(factor, axis=0) <= enough):
            return out, n_steps
        image = multiply(directions)
        inverse = _inverse(directions.T @ image)
        out += directions @ (inverse @ factor)
        basis, change = np.linalg.qr(basis - image @ inverse)
        factor = change @ factor
        directions = basis + directions @ change.T
    share = float(np.max(np.linalg.norm(factor, axis=0) / np.maximum(enough, 1e-300)))
    raise InputError(
        f"{name}: {_MOST_STEPS} steps of conjugate gradients left a residual of {share:.1g} times "
        "what is allowed",
        hint='Use normalize = "minmax", or a smaller mu.',
    )


def _inverse(matrix: FloatArray) -> FloatArray:
    """Inverse of a symmetric matrix, without directions that depend on the others."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > 1e-14 * values[-1]
    inverse: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return inverse
