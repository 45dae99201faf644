"""A warm cluster of two workers against one process on the same work."""

import numpy as np
import pytest

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.side_by_side import SideBySide, at_most
from mlfs_dask.graphs.executor import InProcess, OnCluster
from mlfs_dask.graphs.neighbors import nearest_neighbors
from mlfs_dask.graphs.source import as_source

BOUND = at_most(1.3, plus_seconds=0.3)
PEER = "one process"


def _same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.cluster
def test_block_pairs_of_spec(side_by_side: SideBySide, cluster) -> None:
    dataset = peers.stored("yeast", full=side_by_side.full, dense=True)

    def scores():
        selector = mlfs.get_selector("spec", similarity="rbf-features")
        return selector.fit(dataset).scores_

    def on_cluster():
        with cluster.as_current():
            return scores()

    side_by_side.compare(
        "spec RBF on features by block pairs, yeast, two workers",
        ours=on_cluster,
        peers={PEER: scores},
        bounds={PEER: BOUND},
        agree={PEER: np.testing.assert_array_equal},
    )


@pytest.mark.cluster
def test_neighbours(side_by_side: SideBySide, cluster) -> None:
    source = as_source(peers.stored("tmc2007-500-fixed", full=side_by_side.full))

    def found(executor):
        return nearest_neighbors(source, None, 10, executor=executor)

    side_by_side.compare(
        "exact neighbours, k = 10, tmc2007-500-fixed, two workers",
        ours=lambda: found(OnCluster(cluster)),
        peers={PEER: lambda: found(InProcess())},
        bounds={PEER: BOUND},
        agree={PEER: _same},
        repeats=3,
    )
