"""nrs-cost has the same bits on every road: forms of input, folds, executors, lost workers."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs import block_reach, regions
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import MissingCells, as_source
from mlfs_dask.selectors.nrs_cost import NRSCost
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.executors import Shuffled
from reference.nrs_cost import Table, radii, reduct
from reference.tables import mixed_table


def bits(fitted):
    return repr(fitted.selection_record()), fitted.scores_.tobytes()


def test_same_bits_on_every_road(monkeypatch, tmp_path):
    X, Y, costs = mixed_table()
    selector = NRSCost(2.0, prune=True, tile=32)
    expected = bits(selector.fit(X, Y, feature_cost=costs))
    for rows, tile in ((sp.csr_matrix(X), 32), (X, 1000), (da.from_array(X, chunks=(50, 7)), 17)):
        assert (
            bits(NRSCost(2.0, prune=True, tile=tile).fit(rows, Y, feature_cost=costs)) == expected
        )
    ingest(ArrayTable(sp.csr_matrix(X), Y, feature_cost=costs), tmp_path / "made.zarr", tile=32)
    assert bits(selector.fit(open_dataset(tmp_path / "made.zarr"))) == expected
    monkeypatch.setattr(regions, "_LEAST_ROWS", 20)
    for executor in (InProcess(1), InProcess(3), Shuffled(5)):
        monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda e=executor: e)
        assert bits(selector.fit(X, Y, feature_cost=costs)) == expected
    monkeypatch.setattr(regions, "PREPARED_BYTES", 0)
    monkeypatch.setattr(regions, "_LISTED_LOOKS", 0)
    monkeypatch.setattr(block_reach, "_FIRST_HELD", 1)
    found = selector.fit(X, Y, feature_cost=costs)
    assert bits(found) == expected
    assert found.road_ == "rows prepared for each step"


def test_a_fold_is_searched_as_its_rows_alone():
    X, Y, costs = mixed_table(n=90, d=40)
    train = np.flatnonzero(np.arange(90) % 3 != 0)
    alone = NRSCost(tile=16).fit(X[train], Y[train], feature_cost=costs)
    fold = as_source(X, Y, feature_cost=costs, tile=16).take(train)
    assert bits(NRSCost().fit(fold)) == bits(alone)


def test_injected_missing_cells_are_tolerated():
    X, Y, _ = mixed_table(n=60, d=12)
    source = as_source(np.nan_to_num(X), Y, tile=16).with_missing(MissingCells(3, 0.2))
    holes = np.concatenate([source.block(t) for t in range(source.n_tiles)])
    assert np.isnan(holes).sum() > 50
    twin = Table(holes, Y, radii(holes, 2.0))
    assert NRSCost().fit(source).order_[:3].tolist() == reduct(twin)[0][:3]


def test_missing_values_may_be_replaced_first():
    X, Y, _ = mixed_table(n=60, d=12)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    native, replaced = NRSCost().fit(X, Y), NRSCost(impute="mean").fit(X, Y)
    assert replaced.n_positive_ == len(Table(filled, Y, radii(filled, 2.0)).whole())
    assert replaced.n_positive_ > native.n_positive_


@pytest.mark.cluster
def test_same_bits_when_a_worker_is_killed(monkeypatch):
    """Blocks and prepared rows that went with a worker are made anew."""
    from distributed import Client, LocalCluster

    X, Y, costs = mixed_table()
    expected = bits(NRSCost(tile=32).fit(X, Y, feature_cost=costs))
    monkeypatch.setattr(regions, "_LEAST_ROWS", 40)
    monkeypatch.setattr(regions, "_LISTED_LOOKS", 0)
    asked, ask = [], regions.Regions.with_each
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):

        def kill_one(self, chosen, candidates):
            asked.append(len(chosen))
            if len(asked) == 3:
                holding = next(worker for worker, keys in client.has_what().items() if keys)
                os.kill(client.run(os.getpid)[holding], signal.SIGKILL)
            return ask(self, chosen, candidates)

        monkeypatch.setattr(regions.Regions, "with_each", kill_one)
        assert bits(NRSCost(tile=32).fit(X, Y, feature_cost=costs)) == expected
    assert len(asked) > 3
