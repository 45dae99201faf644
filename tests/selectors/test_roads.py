"""Bits of scores that do not depend on workers, chunks or where rows come from."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.selectors.baselines import ChiSquared, MutualInformation, Variance
from mlfs_dask.selectors.laplacian import LaplacianScore
from mlfs_dask.selectors.mddm import MDDM
from mlfs_dask.selectors.nrs_cost import NRSCost
from mlfs_dask.selectors.nrs_stream import NRSStream
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.executors import Shuffled

N, D, Q, TILE = 230, 300, 5, 32

SELECTORS = {
    "variance": Variance(tile=TILE),
    "chi2": ChiSquared(tile=TILE),
    "mutual-info": MutualInformation(tile=TILE),
    "mddm proj": MDDM("proj", tile=TILE),
    "mddm spc": MDDM(tile=TILE),
    "laplacian": LaplacianScore(tile=TILE),
    "laplacian median": LaplacianScore(t="median", tile=TILE),
    "laplacian supervised": LaplacianScore("supervised", tile=TILE),
    "nrs-cost": NRSCost(tile=TILE),
    "nrs-stream": NRSStream(tile=TILE),
}
NOMINAL = 7


def make_table(*, sparse):
    """Some columns are what is hard: far from zero, without a zero, without variance, nominal."""
    rng = np.random.default_rng(11)
    X = rng.random((N, D)) * (rng.random((N, D)) < (0.1 if sparse else 1.0))
    X[:, 3] = 1e6 + rng.random(N)
    X[:, 4] = 2.0
    X[:, 5] = (rng.random(N) < 0.5) * 3.5
    X[:, NOMINAL] = rng.integers(0, 4, N)
    Y = (rng.random((N, Q)) < 0.3).astype(np.uint8)
    X[:, 6] += Y[:, 0]
    return X, Y


def kinds(n_features=D):
    return (np.arange(n_features) == NOMINAL).astype(np.uint8)


def scores_with(executor, selector, monkeypatch, X, Y=None):
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: executor)
    fitted = selector.fit(X, Y, feature_kind=None if Y is None else kinds(X.shape[1]))
    return fitted.scores_.tobytes(), fitted.order_.tobytes()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", SELECTORS)
def test_bits_do_not_depend_on_workers_or_chunks(name, sparse, monkeypatch, tmp_path):
    X, Y = make_table(sparse=sparse)
    selector, rows = SELECTORS[name], sp.csr_matrix(X) if sparse else X
    expected = scores_with(InProcess(1), selector, monkeypatch, rows, Y)
    for executor in (InProcess(4), Shuffled(0)):
        assert scores_with(executor, selector, monkeypatch, rows, Y) == expected
    if not sparse:
        lazy = da.from_array(X, chunks=(50, 70))
        assert scores_with(InProcess(2), selector, monkeypatch, lazy, Y) == expected
    table = ArrayTable(rows, Y, categories={NOMINAL: ("a", "b", "c", "d")})
    ingest(table, tmp_path / "made.zarr", tile=TILE)
    dataset = open_dataset(tmp_path / "made.zarr")
    assert scores_with(Shuffled(2), selector, monkeypatch, dataset) == expected


@pytest.mark.parametrize("name", SELECTORS)
def test_roads_agree(name):
    """Dense, sparse, tiles of another size, a fold: to 1e-10, in the same order."""
    X, Y = make_table(sparse=True)
    expected = SELECTORS[name].fit(X, Y, feature_kind=kinds())
    scores, order = expected.scores_, expected.order_.tolist()
    for rows, tile in ((sp.csr_matrix(X), TILE), (X, 1000), (sp.csr_matrix(X), 17)):
        other = type(expected)(**{**expected.get_params(), "tile": tile})
        other.fit(rows, Y, feature_kind=kinds())
        np.testing.assert_allclose(other.scores_, scores, rtol=1e-10)
        assert other.order_.tolist() == order


@pytest.mark.parametrize("name", SELECTORS)
def test_a_fold_scores_as_its_rows_alone(name):
    from mlfs_dask.graphs.source import as_source

    X, Y = make_table(sparse=False)
    train = np.flatnonzero(np.arange(N) % 3 != 0)
    alone = SELECTORS[name].fit(X[train], Y[train], feature_kind=kinds())
    scores, order = alone.scores_, alone.order_.tolist()
    fold = as_source(X, Y, feature_kind=kinds(), tile=TILE).take(train)
    other = type(alone)(**alone.get_params()).fit(fold)
    np.testing.assert_allclose(other.scores_, scores, rtol=1e-10)
    assert other.order_.tolist() == order


@pytest.mark.parametrize("name", ["variance", "chi2", "mutual-info", "mddm spc", "laplacian"])
def test_wide_sparse_rows_are_never_made_dense(name, monkeypatch):
    """20,000 features: a dense tile would be a hundred times the stored cells."""
    X = sp.random(96, 20_000, density=0.002, random_state=1, format="csr")
    Y = (np.random.default_rng(2).random((96, 3)) < 0.4).astype(np.uint8)

    def refuse(self, *args, **kwargs):
        raise AssertionError(f"made dense: {self.shape}")

    monkeypatch.setattr(sp.csr_matrix, "toarray", refuse)
    monkeypatch.setattr(sp.csr_matrix, "todense", refuse)
    fitted = SELECTORS[name].fit(X, Y)
    assert sorted(fitted.order_.tolist()) == list(range(20_000))


@pytest.mark.cluster
def test_bits_on_a_cluster_of_two(monkeypatch, two_workers):
    from distributed import Client

    X, Y = make_table(sparse=False)
    X = X[:, :12]
    names = ["chi2", "mutual-info", "mddm spc", "laplacian"]
    expected = [scores_with(InProcess(1), SELECTORS[n], monkeypatch, X, Y) for n in names]
    monkeypatch.undo()
    with Client(two_workers):
        for lazy in (X, da.from_array(X, chunks=(70, 9))):
            found = []
            for name in names:
                fitted = SELECTORS[name].fit(lazy, Y, feature_kind=kinds(12))
                found.append((fitted.scores_.tobytes(), fitted.order_.tobytes()))
            assert found == expected
