"""Memory that depends on tiles, not on the square of the rows."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs import problem_scatter, scatter
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.selectors.mllap import MLLAP
from mlfs_dask.selectors.spec import SPEC
from mlfs_dask.selectors.spec_wrapper import SPECWrapper

MB = 2**20


def peak_of(selector, X, Y, monkeypatch):
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: InProcess(1))
    selector.fit(X[:64], Y[:64])  # compiled code and imports aren't counted
    tracemalloc.start()
    try:
        fitted = selector.fit(X, Y)
        return tracemalloc.get_traced_memory()[1], fitted
    finally:
        tracemalloc.stop()


def labels(rng, n):
    return (rng.random((n, 16)) < 0.5).astype(np.uint8)


@pytest.mark.parametrize(
    "selector",
    [
        SPEC(road="pairs", tile=512),
        SPEC("rbf-features", phi=2, tile=512),
        MLLAP(road="pairs", tile=512),
        SPEC(road="collapsed", tile=512),
    ],
    ids=["pairs", "rbf-features", "mllap", "collapsed"],
)
def test_no_matrix_of_all_pairs_of_rows(selector, monkeypatch):
    rng = np.random.default_rng(0)
    n = 6000
    X, Y = rng.random((n, 3)), labels(rng, n)
    assert len(np.unique(Y, axis=0)) > 5000
    peak, fitted = peak_of(selector, X, Y, monkeypatch)
    # Whole, the similarities would take 275 MB. J of the collapsed road comes in tiles of 32 MB.
    assert peak < (110 if fitted.road_ == "collapsed" else 30) * MB


@pytest.mark.parametrize("selector", [MLLAP(tile=256), SPECWrapper(tile=256)])
def test_rows_with_and_without_each_label_are_never_laid_out_whole(selector, monkeypatch):
    rng = np.random.default_rng(0)
    n, q = 12_000, 200
    # Far from zero and nearly constant: columns are summed once more from the rows of both sides.
    X = sp.csr_matrix(1e6 + rng.random((n, 2)) * 1e-3)
    Y = (rng.random((n, q)) < 0.02).astype(np.uint8)
    seen = []
    plain = scatter.sides_of_labels
    for module in (scatter, problem_scatter):
        monkeypatch.setattr(module, "sides_of_labels", lambda Y: seen.append(Y) or plain(Y))
    peak, _ = peak_of(selector, X, Y, monkeypatch)
    assert seen
    assert peak < 25 * MB  # the two sides of all rows would take 70 MB


@pytest.mark.slow
def test_thirty_thousand_rows_in_the_memory_of_a_few_tiles(monkeypatch):
    rng = np.random.default_rng(0)
    n = 30_000
    X, Y = rng.random((n, 2)), labels(rng, n)
    peak, _ = peak_of(SPEC("rbf-features", tile=1024), X, Y, monkeypatch)
    assert peak < 80 * MB  # 7,200 MB as a matrix


@pytest.mark.slow
def test_wide_sparse_data_in_bounded_memory(monkeypatch):
    # The shape of yahoo-science: 457 label sets of 37,187 features would be 136 MB of sums.
    rng = np.random.default_rng(0)
    n, d, k = 6428, 37_187, 150
    columns = (d * rng.random(n * k) ** 2).astype(np.int64)
    X = sp.csr_matrix((np.ones(n * k), columns, np.arange(n + 1) * k), shape=(n, d))
    X.sum_duplicates()
    sets = np.unique(labels(rng, 470), axis=0)
    Y = sets[rng.integers(0, len(sets), n)]
    for selector in (SPEC(), MLLAP(), SPEC(phi=3)):
        peak, _ = peak_of(selector, X, Y, monkeypatch)
        assert peak < 150 * MB
