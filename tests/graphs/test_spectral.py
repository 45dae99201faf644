"""Bits that don't depend on workers or chunks, roads that agree, tasks that are counted."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs import executor as executors
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK
from mlfs_dask.selectors.mllap import MLLAP
from mlfs_dask.selectors.spec import SPEC
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.executors import Shuffled

N, D, Q, TILE = 230, 300, 5, 32


def make_table(*, sparse):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < (0.1 if sparse else 1.0))
    X[:, 3] = 1e6 + rng.normal(size=N)
    Y = (rng.random((N, Q)) < 0.3).astype(np.uint8)
    X[:, 5] = Y[:, 0]  # nearly smooth: goes through the second pass
    X[:, 6] = (Y.sum(axis=1) == 0) * 2.0
    return (sp.csr_matrix(X) if sparse else X), Y


SELECTORS = {
    "spec collapsed": SPEC(road="collapsed", tile=TILE),
    "spec pairs": SPEC(road="pairs", tile=TILE),
    "spec phi3": SPEC(phi=3, tile=TILE),
    "spec rbf-features": SPEC("rbf-features", phi=2, tile=TILE),
    "spec rbf-features phi3": SPEC("rbf-features", phi=3, tile=TILE),
    "mllap lowrank": MLLAP(road="lowrank", tile=TILE),
    "mllap collapsed": MLLAP(road="collapsed", tile=TILE),
    "mllap pairs": MLLAP(road="pairs", tile=TILE),
}


def scores_with(executor, selector, monkeypatch, X, Y=None):
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: executor)
    fitted = selector.fit(X, Y)
    return fitted.scores_.tobytes(), fitted.order_.tobytes()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", SELECTORS)
def test_bits_do_not_depend_on_workers_or_chunks(name, sparse, monkeypatch, tmp_path):
    X, Y = make_table(sparse=sparse)
    selector = SELECTORS[name]
    expected = scores_with(InProcess(1), selector, monkeypatch, X, Y)
    for executor in (InProcess(2), InProcess(4), Shuffled(0), Shuffled(1)):
        assert scores_with(executor, selector, monkeypatch, X, Y) == expected
    if not sparse:
        for chunks in ((50, 7), (N, D), (TILE, 100)):
            lazy = da.from_array(X, chunks=chunks)
            assert scores_with(InProcess(2), selector, monkeypatch, lazy, Y) == expected
    table = ArrayTable(X, Y)
    ingest(table, tmp_path / "made.zarr", tile=TILE)
    dataset = open_dataset(tmp_path / "made.zarr")
    assert scores_with(Shuffled(2), selector, monkeypatch, dataset) == expected


@pytest.mark.parametrize("road", ["collapsed", "pairs"])
def test_pairs_of_tiles_are_visited_once(road, monkeypatch):
    X, Y = make_table(sparse=False)
    executor = Shuffled()
    scores_with(executor, SPEC(road=road, tile=TILE), monkeypatch, X, Y)
    tiles = -(-N // TILE)
    counted = dict(executor.calls)
    if road == "pairs":
        assert counted["_multiply_pair"] == tiles * (tiles + 1) // 2
        assert counted["_scatter_pair"] == tiles * (tiles + 1) // 2
        assert [name for name, _ in executor.calls].count("_multiply_pair") == 1
    else:
        assert counted["_sum_tile"] == tiles
        assert counted["_form_of_pair"] == -(-X.shape[1] // COLUMN_BLOCK)


@pytest.mark.cluster
def test_bits_on_a_cluster_of_two(monkeypatch, two_workers):
    from distributed import Client

    X, Y = make_table(sparse=False)
    names = ["spec collapsed", "spec pairs", "mllap lowrank"]
    expected = [scores_with(InProcess(1), SELECTORS[n], monkeypatch, X, Y) for n in names]
    monkeypatch.undo()
    with Client(two_workers):
        assert isinstance(executors.get_executor(), executors.OnCluster)
        for lazy in (X, da.from_array(X, chunks=(70, 90))):
            found = []
            for name in names:
                fitted = SELECTORS[name].fit(lazy, Y)
                found.append((fitted.scores_.tobytes(), fitted.order_.tobytes()))
            assert found == expected
