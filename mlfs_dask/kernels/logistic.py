"""Logistic regression of one label by maximum likelihood with a small ridge.

The minimum of ::

    sum over rows of log(1 + exp(-s_i eta_i))  +  ridge * |beta|²,      eta_i = beta_0 + beta . z_i

with s_i = 1 for rows with the label and -1 for others is found by Newton's method: one pass over
blocks of rows per step, sums added in block order. The ridge keeps coefficients finite where a
label can be told from the inputs without error; elsewhere it is too small to be seen.

References
----------
S. le Cessie, J. C. van Houwelingen: Ridge estimators in logistic regression. Applied Statistics 41
(1992) 191-201.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
from scipy.special import expit

from mlfs_dask._typing import ByteArray, FloatArray
from mlfs_dask.kernels._jit import jit
from mlfs_dask.kernels.blas import single_blas_thread

RIDGE: Final = 1e-8
MOST_STEPS: Final = 500
# Newton's decrement (twice what the next step can gain) at which the step after it is the last.
# Steps converge quadratically: what is left after it is far below what float64 tells apart.
_SMALL: Final = 1e-20
_SMALL_SHARE: Final = 1e-17
_HALVINGS: Final = 60

Blocks: TypeAlias = Callable[[], Iterable[FloatArray]]


class Fitted(NamedTuple):
    """A fit.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_inputs + 1,)
        Intercept, then the coefficients.
    n_steps : int
    converged : bool
    """

    weights: FloatArray
    n_steps: int
    converged: bool


def fit_logistic(
    blocks: Blocks, target: ByteArray, ridge: float = RIDGE, most_steps: int = MOST_STEPS
) -> Fitted:
    """Fit one label.

    Parameters
    ----------
    blocks
        Gives the rows anew at each call, in blocks of shape (n_rows, n_inputs + 1) of float64,
        C-contiguous: a column of ones, then the inputs, each of mean 0 and deviation 1 over all
        rows (or 0 throughout).
    target : ndarray of uint8, shape (n_rows,)
        0 and 1; both must occur.
    ridge
        Weight of the squared coefficients; the intercept is free.
    most_steps
        After as many steps the last iterate is kept.

    Notes
    -----
    O(n_rows n_inputs²) per step; products of matrices run on one BLAS thread, so that bits do not
    depend on the number of threads.

    Examples
    --------
    One input, the label in 3 of 4 rows where it is 1 and in 1 of 4 where it is -1: the slope is
    log 3, the intercept 0.

    >>> rows = np.column_stack([np.ones(8), np.repeat([1.0, -1.0], 4)])
    >>> fitted = fit_logistic(lambda: [rows], np.array([1, 1, 1, 0, 1, 0, 0, 0], dtype=np.uint8))
    >>> np.allclose(fitted.weights, [0.0, np.log(3.0)]), fitted.converged
    (True, True)
    """
    sign = np.where(target > 0, 1.0, -1.0)
    with single_blas_thread():
        weights = _start(blocks, sign)
        here = _terms(blocks, sign, weights, ridge)
        for step in range(1, most_steps + 1):
            direction = _solve(here.curvature, -here.slope)
            decrement = -float(here.slope @ direction)
            if decrement <= _SMALL + _SMALL_SHARE * here.value:
                return Fitted(weights + direction, step, True)
            found = _descend(blocks, sign, weights, direction, here, ridge)
            if found is None:
                return Fitted(weights, step, True)
            weights, here = found
    return Fitted(weights, most_steps, False)


class _Terms(NamedTuple):
    """The objective at a point, its gradient and its Hessian."""

    value: float
    slope: FloatArray
    curvature: FloatArray


def _start(blocks: Blocks, sign: FloatArray) -> FloatArray:
    """No slopes, the odds of the label as the intercept."""
    width = next(iter(blocks())).shape[1]
    weights = np.zeros(width)
    positive = float(np.count_nonzero(sign > 0))
    weights[0] = np.log(positive) - np.log(len(sign) - positive)
    return weights


def _terms(blocks: Blocks, sign: FloatArray, weights: FloatArray, ridge: float) -> _Terms:
    width = len(weights)
    value, slope, curvature = 0.0, np.zeros(width), np.zeros((width, width))
    begin = 0
    for block in blocks():
        signs = sign[begin : begin + len(block)]
        begin += len(block)
        margin = signs * (block @ weights)
        # Of the wrong side: small probabilities keep their digits.
        wrong = expit(-margin)
        value += float(np.logaddexp(0.0, -margin).sum())
        slope -= (signs * wrong) @ block
        scaled = block * np.sqrt(wrong * expit(margin))[:, None]
        curvature += scaled.T @ scaled
    penalized = weights.copy()
    penalized[0] = 0.0
    curvature[np.arange(1, width), np.arange(1, width)] += 2.0 * ridge
    return _Terms(
        value + ridge * float(penalized @ penalized), slope + 2.0 * ridge * penalized, curvature
    )


def _solve(curvature: FloatArray, slope: FloatArray) -> FloatArray:
    """Newton's direction; directions without curvature but for rounding are held back."""
    try:
        factor = scipy.linalg.cho_factor(curvature, lower=True, check_finite=False)
        return np.asarray(scipy.linalg.cho_solve(factor, slope, check_finite=False))
    except scipy.linalg.LinAlgError:
        bend, axes = scipy.linalg.eigh(curvature, check_finite=False)
        floor = np.finfo(np.float64).eps * len(bend) * bend[-1]
        return np.asarray(axes @ ((axes.T @ slope) / np.maximum(bend, floor)))


def _descend(
    blocks: Blocks,
    sign: FloatArray,
    weights: FloatArray,
    direction: FloatArray,
    here: _Terms,
    ridge: float,
) -> tuple[FloatArray, _Terms] | None:
    """Go the whole step, or the largest half of it that leads down; None: all is rounding."""
    gain = float(here.slope @ direction)
    rounding = 64.0 * np.finfo(np.float64).eps * here.value
    share = 1.0
    for _ in range(_HALVINGS):
        there = weights + share * direction
        terms = _terms(blocks, sign, there, ridge)
        if terms.value <= here.value + 1e-4 * share * gain + rounding:
            return there, terms
        share /= 2.0
    return None


def compress(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fewer inputs that say the same: coordinates of rows in the space that they span.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_inputs)
        Standardised.

    Returns
    -------
    coordinates : ndarray of float64, shape (n_rows, rank)
    basis : ndarray of float64, shape (n_inputs, rank)
        Orthonormal; ``coordinates @ basis.T`` is ``rows``. Slopes g of the coordinates are slopes
        ``basis @ g`` of the inputs, of the same length: the ridge does not notice.

    Notes
    -----
    Pivoted QR of the transpose, O(n_rows² n_inputs): with more inputs than rows it makes Newton's
    steps cost n_rows³ instead of n_inputs³ at most.

    Examples
    --------
    >>> coordinates, basis = compress(np.array([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.0]]))
    >>> coordinates.shape, np.allclose(coordinates @ basis.T, [[1, 2, 0], [-1, -2, 0]])
    ((2, 1), True)
    """
    with single_blas_thread():
        basis, triangle, order = scipy.linalg.qr(
            rows.T, mode="economic", pivoting=True, check_finite=False
        )
    sizes = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(sizes > np.finfo(np.float64).eps * max(rows.shape) * sizes[0]))
    coordinates = np.empty((len(rows), rank))
    coordinates[order] = triangle[:rank].T
    return coordinates, basis[:, :rank]


@jit
def linear_scores(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Linear predictors of several labels, each a sum in the order of the inputs.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_inputs)
        Standardised.
    weights : ndarray of float64, shape (n_inputs + 1, n_labels)
        Intercepts, then coefficients, one column per label.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_labels)
        The same bits for a row whatever rows stand beside it, which a matrix product would not
        give.
    """
    out = np.empty((len(rows), weights.shape[1]), dtype=np.float64)
    for i in range(len(rows)):
        total = out[i]
        total[:] = weights[0]
        for j in range(rows.shape[1]):
            value, slope = rows[i, j], weights[j + 1]
            for label in range(len(total)):
                total[label] += value * slope[label]
    return out
