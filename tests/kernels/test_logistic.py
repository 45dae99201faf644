"""Logistic regression with a small ridge against plain loops, its optimum, its bits."""

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from mlfs_dask.kernels.logistic import RIDGE, _solve, compress, fit_logistic, linear_scores
from reference import logistic


def standardized(X):
    means, deviations = logistic.standardize(X.tolist())
    return np.array([logistic.applied(row, means, deviations) for row in X.tolist()])


def with_ones(Z):
    return np.ascontiguousarray(np.column_stack([np.ones(len(Z)), Z]))


def slope(rows, target, weights):
    """Gradient of the objective, for what no closed form tells."""
    sign = np.where(target > 0, 1.0, -1.0)
    wrong = expit(-sign * (rows @ weights))
    return -(sign * wrong) @ rows + 2 * RIDGE * np.concatenate([[0.0], weights[1:]])


@st.composite
def problems(draw):
    """Inputs with collinear, duplicate and constant columns; labels from noise to separable."""
    n, p = draw(st.integers(4, 40)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(n, p)).round(draw(st.integers(0, 3)))
    if draw(st.booleans()):
        X[:, 0] = X[:, -1]
    if draw(st.booleans()):
        X = np.column_stack([X, X.sum(axis=1), np.full(n, 0.1)])
    noise = draw(st.sampled_from([0.0, 0.5, 3.0]))
    target = (X @ rng.normal(size=X.shape[1]) + noise * rng.normal(size=n) > 0).astype(np.uint8)
    target[:2] = [0, 1]
    return standardized(X), target


@given(problems())
def test_weights_are_those_of_plain_loops(case):
    Z, target = case
    rows = with_ones(Z)
    fitted = fit_logistic(lambda: [rows], target)
    assert fitted.converged
    expected = np.array(logistic.fit(Z.tolist(), target.tolist()))
    ours, theirs = (expit(rows @ w) for w in (fitted.weights, expected))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    assert np.abs(slope(rows, target, fitted.weights)).max() < 1e-11


def test_separable_labels_are_held_by_the_ridge():
    rng = np.random.default_rng(0)
    Z = standardized(rng.normal(size=(60, 80)))
    target = (rng.random(60) < 0.5).astype(np.uint8)
    rows = with_ones(Z)
    fitted = fit_logistic(lambda: [rows], target)
    assert fitted.converged
    assert fitted.n_steps < 60
    margin = np.where(target > 0, 1.0, -1.0) * (rows @ fitted.weights)
    assert margin.min() > 10
    np.testing.assert_allclose(slope(rows, target, fitted.weights), 0.0, atol=1e-15)


def test_blocks_make_no_difference_but_rounding():
    rng = np.random.default_rng(1)
    rows = with_ones(standardized(rng.normal(size=(50, 4))))
    target = (rng.random(50) < 0.4).astype(np.uint8)
    whole = fit_logistic(lambda: [rows], target).weights
    parts = fit_logistic(lambda: iter([rows[:7], rows[7:30], rows[30:]]), target).weights
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


def test_bits_depend_neither_on_threads_nor_on_where_rows_lie():
    rng = np.random.default_rng(2)
    rows = with_ones(standardized(rng.normal(size=(1500, 120))))
    target = (rng.random(1500) < 0.3).astype(np.uint8)
    expected = fit_logistic(lambda: [rows], target).weights.tobytes()
    for shift in (1, 3):
        room = np.empty(rows.size + 8)
        moved = room[shift : shift + rows.size].reshape(rows.shape)
        moved[:] = rows
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            assert fit_logistic(lambda here=moved: [here], target).weights.tobytes() == expected


def test_the_last_iterate_is_kept_when_steps_run_out():
    rows = with_ones(standardized(np.arange(12.0)[:, None]))
    target = (np.arange(12) % 3 == 0).astype(np.uint8)
    fitted = fit_logistic(lambda: [rows], target, most_steps=1)
    assert (fitted.n_steps, fitted.converged) == (1, False)
    more = fit_logistic(lambda: [rows], target)
    assert more.converged
    np.testing.assert_allclose(fitted.weights, more.weights, atol=0.1)


def test_a_larger_ridge_shrinks_the_slopes():
    rows = with_ones(standardized(np.arange(12.0)[:, None]))
    target = (np.arange(12) > 6).astype(np.uint8)
    slopes = [abs(fit_logistic(lambda: [rows], target, ridge).weights[1]) for ridge in (1e-8, 1.0)]
    assert slopes[1] < 0.2 * slopes[0]


@given(problems(), st.integers(0, 2))
def test_compressed_inputs_give_the_same_fit(case, constants):
    Z, target = case
    Z = np.column_stack([Z, Z[:, ::-1], np.zeros((len(Z), constants))])
    coordinates, basis = compress(Z)
    assert coordinates.shape[1] == np.linalg.matrix_rank(Z)
    np.testing.assert_allclose(coordinates @ basis.T, Z, atol=1e-12)
    fitted = fit_logistic(lambda: [with_ones(coordinates)], target)
    weights = np.concatenate([fitted.weights[:1], basis @ fitted.weights[1:]])
    assert np.abs(slope(with_ones(Z), target, weights)).max() < 1e-11


def test_nothing_compresses_to_nothing():
    coordinates, basis = compress(np.zeros((3, 4)))
    assert (coordinates.shape, basis.shape) == ((3, 0), (4, 0))
    target = np.array([1, 0, 0], dtype=np.uint8)
    weights = fit_logistic(lambda: [with_ones(coordinates)], target).weights
    np.testing.assert_allclose(weights, [np.log(0.5)])


def test_directions_without_curvature_are_held_back():
    """A curvature that rounding made indefinite still gives a step downhill."""
    curvature = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(curvature)
    right = np.array([1.0, 1.0])
    step = _solve(curvature, right)
    assert right @ step > 0
    np.testing.assert_allclose(curvature @ step, right, rtol=1e-9)


def test_a_score_has_the_same_bits_in_any_company():
    rng = np.random.default_rng(3)
    rows, weights = rng.normal(size=(37, 11)), rng.normal(size=(12, 5))
    together = linear_scores(rows, weights)
    np.testing.assert_allclose(together, weights[0] + rows @ weights[1:], rtol=1e-12)
    for i in range(37):
        np.testing.assert_array_equal(linear_scores(rows[i : i + 1], weights)[0], together[i])
    weights[0, 0] = -np.inf
    assert np.all(linear_scores(rows, weights)[:, 0] == -np.inf)
