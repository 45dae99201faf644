"""φ3: the whole solution and the iterative one, by label sets and by rows."""

import numpy as np
import pytest
from scipy.linalg import eigh

from mlfs_dask.graphs import labelsets, spectrum
from mlfs_dask.selectors.spec import SPEC
from reference.spec import similarity_matrix, spec_scores


def make(n=90, q=8, seed=5):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < 0.25).astype(np.uint8)
    X = rng.normal(size=(n, 6))
    X[:, 1] = Y[:, 0] + 0.1 * X[:, 1]
    X[:, 2] = rng.random(n) < 0.2
    X[:, 3] += 1e6
    return X, Y


@pytest.mark.parametrize("empty_pair", [0, 1])
@pytest.mark.parametrize("similarity", ["jaccard", "rbf-labels", "class", "rbf-features"])
def test_large_problems_are_solved_as_small_ones(similarity, empty_pair, monkeypatch):
    X, Y = make()
    Y[:40, 5:] = 0  # a part of its own without the last labels
    Y[40:, :5] = 0
    selector = SPEC(similarity, phi=3, n_components=4, empty_pair=empty_pair, tile=20)
    whole = selector.fit(X, Y)
    expected, used = whole.scores_, whole.n_components_
    monkeypatch.setattr(spectrum, "WHOLE", 5)
    monkeypatch.setattr(labelsets, "SET_TILE", 16)
    found = selector.fit(X, Y)
    assert found.n_components_ == used
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-9)
    assert found.order_.tolist() == whole.order_.tolist()


@pytest.mark.parametrize("wanted", [1, 2, 3, 5])
def test_disconnected_graphs_use_all_their_parts(wanted):
    # Four parts, λ = 0 four times; the cluster is never cut.
    part = np.arange(48) % 4
    Y = np.zeros((48, 8), dtype=np.uint8)
    Y[np.arange(48), 2 * part] = 1
    Y[np.arange(48), 2 * part + 1] = np.arange(48) % 3 == 0
    X = np.random.default_rng(0).normal(size=(48, 5))
    X[:, 2] = part
    W = similarity_matrix(None, Y, "jaccard")
    fitted = SPEC(phi=3, n_components=wanted).fit(X, Y)
    # Four parts with the same two label sets: the eigenvalues come four at a time.
    assert fitted.n_components_ == (3 if wanted <= 3 else 7)
    np.testing.assert_allclose(
        fitted.scores_, spec_scores(X, W, 3, n_components=wanted), rtol=1e-10
    )


@pytest.mark.parametrize("n", [10, 200])
def test_one_label_set_and_none(n):
    X = np.random.default_rng(1).normal(size=(n, 3))
    for Y in (np.ones((n, 2)), np.zeros((n, 2))):
        fitted = SPEC(phi=3).fit(X, Y)
        assert fitted.n_components_ == 0
        assert fitted.scores_.tolist() == [0.0, 0.0, 0.0]
        assert fitted.order_.tolist() == [0, 1, 2]
        alone = SPEC(phi=3, empty_pair=0).fit(X, np.zeros((n, 2)))
        assert alone.n_components_ == n - 1
        deviations = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
        np.testing.assert_allclose(alone.scores_, 2 * deviations / (X**2).sum(axis=0), rtol=1e-12)


@pytest.mark.slow
def test_five_thousand_label_sets_converge():
    n, rng = 5000, np.random.default_rng(2)
    Y = (rng.random((n, 40)) < 0.2).astype(np.uint8)
    X = rng.normal(size=(n, 3))
    X[:, 0] = Y.sum(axis=1)
    assert len(np.unique(Y, axis=0)) > spectrum.WHOLE
    fitted = SPEC(phi=3, n_components=5).fit(X, Y)
    sets, codes, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    inter = sets.astype(float) @ sets.T
    union = sets.sum(axis=1)[:, None] + sets.sum(axis=1) - inter
    J = np.where(union > 0, inter / np.maximum(union, 1), 1.0)
    degree = J @ counts
    scale = np.sqrt(counts / degree)
    last = len(sets) - 1
    top, vectors = eigh(J * np.outer(scale, scale), subset_by_index=[last - 5, last])
    f = X - (degree[codes] @ X) / degree[codes].sum()
    sums = np.zeros((len(sets), 3))
    np.add.at(sums, codes.ravel(), f)
    alpha = vectors[:, ::-1][:, 1:6].T @ (np.sqrt(degree / counts)[:, None] * sums)
    scores = ((1.0 + top[::-1][1:6])[:, None] * alpha**2).sum(axis=0)
    scores /= (degree[codes, None] * X**2).sum(axis=0)
    assert fitted.n_components_ == 5
    np.testing.assert_allclose(fitted.scores_, scores, rtol=1e-8)
