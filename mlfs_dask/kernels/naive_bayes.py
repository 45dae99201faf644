"""Gaussian naive Bayes for many labels: moments of the classes, log ratios, and what they predict.

For label l, each class c (0: rows without l, 1: rows with it) has a normal density per input. An
input of value x speaks for the label by

    r(x) = log(density of class 1 at x + 1e-20) - log(density of class 0 at x + 1e-20)

and the margin of a row is the log ratio of the priors plus the r of its inputs, added one by one in
the order given; it becomes a probability by 1 / (1 + exp(-margin)). All loops are strict and in row
order, so sums do not depend on how rows are cut into chunks.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from mlfs_dask._typing import BoolArray, ByteArray, FloatArray, IntArray
from mlfs_dask.kernels._jit import jit, merged

FLOOR: Final = math.log(1e-20)
# exp(-40) is less than half a unit in the last place of anything it would be added to.
_FAR: Final = 40.0
_NARROW: Final = 1e-3


class Moments(NamedTuple):
    """Counts, means and scatter of both classes of every label.

    Attributes
    ----------
    n_rows : ndarray of int64, shape (2, n_labels)
        Rows without the label, rows with it.
    mean : ndarray of float64, shape (2, n_labels, n_inputs)
        0 for a class without rows.
    square : ndarray of float64, shape (2, n_labels, n_inputs)
        Sum of squared deviations from the mean; exactly 0 where all values are equal.
    """

    n_rows: IntArray
    mean: FloatArray
    square: FloatArray


class Densities(NamedTuple):
    """What training rows teach.

    Attributes
    ----------
    bias : ndarray of float64, shape (n_labels,)
        Log ratio of the priors.
    mean, sigma, level : ndarray of float64, shape (2, n_inputs, n_labels)
        Of both classes; ``level`` is the logarithm of the density at the mean, minus infinity for a
        class without rows.
    zero : ndarray of float64, shape (n_inputs, n_labels)
        r(0), which sparse rows ask for most of the time.
    """

    bias: FloatArray
    mean: FloatArray
    sigma: FloatArray
    level: FloatArray
    zero: FloatArray


class Losses(NamedTuple):
    """What went wrong on some rows, by candidate.

    Attributes
    ----------
    errors : ndarray of int64, shape (n_candidates,)
        Labels that were predicted wrongly.
    ranking : ndarray of float64, shape (n_candidates,)
        Sum over rows of the share of pairs (relevant a, irrelevant b) in which a is not above b.
    """

    errors: IntArray
    ranking: FloatArray


@jit
def first_of_classes(X: FloatArray, Y: ByteArray, count: IntArray, first: FloatArray) -> None:
    """Count the rows of each class and keep the first one of each.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_inputs)
    Y : ndarray of uint8, shape (n_rows, n_labels)
    count : ndarray of int64, shape (2, n_labels), changed
        Rows seen before.
    first : ndarray of float64, shape (2, n_labels, n_inputs), changed
    """
    for i in range(len(X)):
        for label in range(Y.shape[1]):
            c = Y[i, label]
            if count[c, label] == 0:
                first[c, label] = X[i]
            count[c, label] += 1


@jit
def add_deviations(
    X: FloatArray, Y: ByteArray, centre: FloatArray, sums: FloatArray, squares: FloatArray
) -> None:
    """Add deviations from a centre of each class, and their squares.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_inputs)
    Y : ndarray of uint8, shape (n_rows, n_labels)
    centre : ndarray of float64, shape (2, n_labels, n_inputs)
    sums, squares : ndarray of float64, shape (2, n_labels, n_inputs), changed
    """
    n_inputs = X.shape[1]
    for i in range(len(X)):
        for label in range(Y.shape[1]):
            c = Y[i, label]
            for j in range(n_inputs):
                deviation = X[i, j] - centre[c, label, j]
                sums[c, label, j] += deviation
                squares[c, label, j] += deviation * deviation


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Moments of the rows of two parts together.

    Parameters
    ----------
    a, b
        The parts, in order.

    Examples
    --------
    >>> one = Moments(np.array([[1]]), np.array([[[1.0]]]), np.array([[[0.0]]]))
    >>> three = Moments(np.array([[1]]), np.array([[[3.0]]]), np.array([[[0.0]]]))
    >>> merge_moments(one, three).square.tolist()
    [[[2.0]]]
    """
    count = a.n_rows + b.n_rows
    weight = (b.n_rows / np.maximum(count, 1))[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = b.mean - a.mean
        between = apart * apart * (a.n_rows[..., None] * weight)
        mean = a.mean + apart * weight
        square = a.square + b.square + np.where(a.n_rows[..., None] > 0, between, 0.0)
    return Moments(count, mean, square)


def _of_class(moments: Moments, c: int) -> Moments:
    """Moments of one class of the first label."""
    n_rows, mean, square = moments
    return Moments(n_rows[c : c + 1, :1], mean[c : c + 1, :1], square[c : c + 1, :1])


def no_moments(n_labels: int, n_inputs: int) -> Moments:
    """Moments of no rows.

    Parameters
    ----------
    n_labels, n_inputs
        Sizes.
    """
    shape = (2, n_labels, n_inputs)
    return Moments(np.zeros((2, n_labels), dtype=np.int64), np.zeros(shape), np.zeros(shape))


def make_densities(moments: Moments, smoothing: float) -> Densities:
    """Densities of the classes from their moments.

    A class of one row, or of equal values, gets a thousandth of the standard deviation of all rows,
    or 1 if that is 0. A class without rows has density 0 everywhere.

    Parameters
    ----------
    moments
        Of the training rows.
    smoothing
        s: the prior of a label is (s + rows with it) / (2 s + rows).
    """
    count = moments.n_rows
    rows = count[:, 0].sum()
    whole = merge_moments(*(_of_class(moments, c) for c in (0, 1)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        spread = np.sqrt(whole.square[0] / max(rows - 1, 1))
        narrow = _NARROW * spread
        narrow = np.where(narrow > 0, narrow, 1.0)
        sigma = np.sqrt(moments.square / np.maximum(count - 1, 1)[..., None])
        sigma = np.where(sigma == 0, narrow, sigma)
        level = -np.log(sigma) - 0.5 * math.log(2 * math.pi)
        level = np.where(count[..., None] > 0, level, -np.inf)
        bias = np.log(smoothing + count[1]) - np.log(smoothing + count[0])
        bias = np.where(np.isnan(bias), 0.0, bias)  # neither rows nor smoothing
    mean, sigma, level = (
        np.ascontiguousarray(x.transpose(0, 2, 1)) for x in (moments.mean, sigma, level)
    )
    densities = Densities(bias, mean, sigma, level, np.empty(mean.shape[1:]))
    _ratios_at_zero(densities)
    return densities


@merged
def _log_density(x: float, mean: float, sigma: float, level: float) -> float:
    """Logarithm of the density + 1e-20; of NaN that of 1e-20."""
    z = (x - mean) / sigma
    value = level - 0.5 * z * z
    if value > FLOOR + _FAR:
        return value
    if not value > FLOOR - _FAR:
        return FLOOR
    return max(value, FLOOR) + math.log1p(math.exp(-abs(value - FLOOR)))


@merged
def _ratios(x: float, densities: Densities, j: int, out: FloatArray) -> None:
    mean, sigma, level = densities.mean, densities.sigma, densities.level
    for label in range(len(out)):
        present = _log_density(x, mean[1, j, label], sigma[1, j, label], level[1, j, label])
        absent = _log_density(x, mean[0, j, label], sigma[0, j, label], level[0, j, label])
        out[label] = present - absent


@jit
def _ratios_at_zero(densities: Densities) -> None:
    for j in range(len(densities.zero)):
        _ratios(0.0, densities, j, densities.zero[j])


@merged
def _ranking_loss(truth: ByteArray, scores: FloatArray) -> float:
    """Share of reversed pairs; 0 for a row without labels, or with all."""
    n_labels = len(truth)
    relevant = 0
    reversed_pairs = 0
    for a in range(n_labels):
        if truth[a] != 0:
            relevant += 1
            for b in range(n_labels):
                if truth[b] == 0 and scores[a] <= scores[b]:
                    reversed_pairs += 1
    pairs = relevant * (n_labels - relevant)
    return reversed_pairs / pairs if pairs > 0 else 0.0


@jit
def _add_losses(
    X: FloatArray,
    Y: ByteArray,
    densities: Densities,
    masks: BoolArray,
    used: BoolArray,
    losses: Losses,
) -> None:
    n_candidates = masks.shape[1]
    n_labels = Y.shape[1]
    margins = np.empty((n_candidates, n_labels))
    ratios = np.empty(n_labels)
    for i in range(len(X)):
        for p in range(n_candidates):
            margins[p] = densities.bias
        for j in range(X.shape[1]):
            if not used[j]:
                continue
            if X[i, j] == 0.0:
                ratios[:] = densities.zero[j]
            else:
                _ratios(X[i, j], densities, j, ratios)
            for p in range(n_candidates):
                if masks[j, p]:
                    for label in range(n_labels):
                        margins[p, label] += ratios[label]
        for p in range(n_candidates):
            for label in range(n_labels):
                proba = 1.0 / (1.0 + math.exp(-margins[p, label]))
                margins[p, label] = proba
                losses.errors[p] += (proba >= 0.5) != (Y[i, label] != 0)
            losses.ranking[p] += _ranking_loss(Y[i], margins[p])


def add_losses(
    X: FloatArray, Y: ByteArray, densities: Densities, masks: BoolArray, losses: Losses
) -> None:
    """Judge candidate sets of inputs on some rows; margins add up in the order of the inputs.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_inputs)
    Y : ndarray of uint8, shape (n_rows, n_labels)
    densities
        Of other rows.
    masks : ndarray of bool, shape (n_inputs, n_candidates)
    losses
        Changed.
    """
    used: BoolArray = np.any(masks, axis=1)
    _add_losses(X, Y, densities, masks, used, losses)


@jit
def _margins(X: FloatArray, densities: Densities, counts: IntArray, out: FloatArray) -> None:
    n_labels = len(densities.bias)
    total = np.empty(n_labels)
    ratios = np.empty(n_labels)
    for i in range(len(X)):
        total[:] = densities.bias
        point = 0
        for j in range(X.shape[1] + 1):
            while point < len(counts) and counts[point] == j:
                out[point, i] = total
                point += 1
            if point == len(counts):
                break
            if X[i, j] == 0.0:
                ratios[:] = densities.zero[j]
            else:
                _ratios(X[i, j], densities, j, ratios)
            for label in range(n_labels):
                total[label] += ratios[label]


def probabilities(X: FloatArray, densities: Densities, counts: IntArray) -> FloatArray:
    """Probability of each label by the first inputs, for some numbers of these.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_inputs)
    densities
        Of training rows.
    counts : ndarray of int64, shape (n_points,)
        Numbers of leading inputs, ascending.

    Returns
    -------
    ndarray of float64, shape (n_points, n_rows, n_labels)
    """
    out = np.empty((len(counts), len(X), len(densities.bias)))
    _margins(X, densities, counts, out)
    with np.errstate(over="ignore"):
        proba: FloatArray = 1.0 / (1.0 + np.exp(-out))
    return proba
