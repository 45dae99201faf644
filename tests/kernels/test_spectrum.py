import numpy as np
import pytest

from mlfs_dask.errors import InputError
from mlfs_dask.kernels import spectrum
from mlfs_dask.kernels.spectrum import dense_leading, explained, iterative_leading, part_vectors


def graph(sizes, seed):
    """Parts of random similarities, with copies of one another where sizes repeat."""
    blocks = {}
    n = sum(sizes)
    W, parts, start = np.zeros((n, n)), np.empty(n, dtype=np.int64), 0
    for part, size in enumerate(sizes):
        if size not in blocks:
            A = np.random.default_rng([seed, size]).random((size, 20)) ** 8 + 0.01
            blocks[size] = A @ A.T
        W[start : start + size, start : start + size] = blocks[size]
        parts[start : start + size] = part
        start += size
    degree = W.sum(axis=1)
    return W / np.sqrt(np.outer(degree, degree)), parts, degree


@pytest.mark.parametrize(
    "sizes", [[70], [40, 32], [30, 30, 30, 30], [1, 1, 70], [9] * 12, [60, 60, 60]]
)
@pytest.mark.parametrize("wanted", [1, 2, 3, 5])
def test_lanczos_finds_what_the_whole_solution_has(sizes, wanted):
    # Equal parts have every eigenvalue several times.
    N, parts, degree = graph(sizes, 5)
    whole = dense_leading(N, wanted)
    zero = part_vectors(parts, degree)
    np.testing.assert_allclose(N @ zero, zero, atol=1e-13)
    np.testing.assert_allclose(zero.T @ zero, np.eye(zero.shape[1]), atol=1e-13)
    found = iterative_leading(lambda x: N @ x, zero, wanted)
    np.testing.assert_allclose(found.values, whole.values, atol=1e-9)
    # Eigenvectors of a multiple eigenvalue are free; the space they span isn't.
    np.testing.assert_allclose(
        found.vectors @ found.vectors.T, whole.vectors @ whole.vectors.T, atol=1e-7
    )


def test_eigenvectors_solve_the_generalised_problem():
    # With f = D^(-1/2) ξ, L f = λ D f.
    N, _, degree = graph([9, 9], 2)
    W = N * np.sqrt(np.outer(degree, degree))
    leading = dense_leading(N, 6)
    F = leading.vectors / np.sqrt(degree)[:, None]
    L = np.diag(degree) - W
    np.testing.assert_allclose(L @ F, degree[:, None] * F * leading.values, atol=1e-8)


def test_a_cluster_is_kept_whole():
    N, _, _ = graph([7, 7, 7], 1)
    assert len(dense_leading(N, 1).values) == 3
    assert len(dense_leading(N, 4).values) == 6


def test_too_large_a_share_of_the_eigenvectors_is_refused():
    N, parts, degree = graph([20], 3)
    with pytest.raises(InputError, match="19 of 20 eigenvectors"):
        iterative_leading(lambda x: N @ x, part_vectors(parts, degree), 19)
    with pytest.raises(InputError, match="300 of 1000 eigenvectors"):
        iterative_leading(lambda x: x, np.eye(1000)[:, :1], 300)


def test_nothing_is_searched_for_where_every_node_is_a_part():
    found = iterative_leading(lambda x: x, np.eye(6), 2)
    assert found.values.tolist() == [0.0] * 6


def test_a_search_that_fails_says_what_to_do(monkeypatch):
    N, parts, degree = graph([80], 3)

    def fails(*args, **kwargs):
        raise spectrum.ArpackError(-9999)

    monkeypatch.setattr(spectrum, "eigsh", fails)
    with pytest.raises(InputError, match="n_components"):
        iterative_leading(lambda x: N @ x, part_vectors(parts, degree), 4)


def test_coordinates_at_rounding_level_count_nothing():
    leading = spectrum.Leading(np.array([0.0, 0.5]), np.zeros((4, 2)))
    b = np.array([[1e-14, 1.0], [0.5, 1e-15]])
    np.testing.assert_allclose(explained(leading, b, np.ones(2)), [1.5 * 0.25, 2.0])
