import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.kernels import conjugate


def positive(rng, n, spread):
    """A symmetric matrix with eigenvalues from 1 to 10 ** spread."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return (Q * 10.0 ** rng.uniform(0, spread, n)) @ Q.T


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.integers(0, 5))
def test_solutions_equal_those_of_gauss(seed, n, sides, spread):
    rng = np.random.default_rng(seed)
    A, R = positive(rng, n, spread), rng.normal(size=(n, min(n, sides)))
    Z, n_steps = conjugate.solve(lambda P: A @ P, R, "test")
    expected = np.linalg.solve(A, R)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(Z, expected, atol=1e-15 * 10.0**spread * n * scale + 1e-13 * scale)
    # Once the sides span the space, one step more is enough, but for rounding.
    assert n_steps <= 2 * (n + 10)


def test_sides_of_very_different_sizes_converge_each():
    rng = np.random.default_rng(1)
    A, R = positive(rng, 80, 3), rng.normal(size=(80, 4)) * [1e8, 1.0, 1e-8, 1e-150]
    Z, _ = conjugate.solve(lambda P: A @ P, R, "test")
    error = np.linalg.norm(Z - np.linalg.solve(A, R), axis=0) / np.linalg.norm(Z, axis=0)
    assert error.max() < 1e-11


def test_several_sides_share_their_steps():
    rng = np.random.default_rng(2)
    A, R = positive(rng, 300, 4), rng.normal(size=(300, 30))
    _, together = conjugate.solve(lambda P: A @ P, R, "test")
    _, alone = conjugate.solve(lambda P: A @ P, R[:, :1], "test")
    assert together < alone / 3


def test_a_matrix_that_is_not_positive_ends_in_an_error(monkeypatch):
    monkeypatch.setattr(conjugate, "_MOST_STEPS", 20)
    A = positive(np.random.default_rng(3), 200, 12)
    with pytest.raises(InputError, match="mddm: 20 steps of conjugate gradients left a residual"):
        conjugate.solve(lambda P: A @ P, np.ones((200, 1)), "mddm")
