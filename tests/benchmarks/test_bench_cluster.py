"""Two workers against one on the same work: how much of a second worker arrives."""

from contextlib import ExitStack

import numpy as np
import pytest
import scipy.sparse as sp

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.side_by_side import SideBySide, faster
from mlfs_dask.graphs.executor import OnCluster
from mlfs_dask.graphs.neighbors import nearest_neighbors
from mlfs_dask.graphs.source import as_source

DATA = "tmc2007-500-fixed"
PEER = "one worker"
BOUND = faster(1.7)


def _same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def clusters():
    """Clients of a cluster of two workers with one thread each, and of one with one."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        yield [
            stack.enter_context(
                Client(
                    stack.enter_context(
                        LocalCluster(
                            n_workers=n, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                        )
                    ),
                    set_as_default=False,
                )
            )
            for n in (2, 1)
        ]


@pytest.mark.cluster
def test_block_pairs_of_spec(side_by_side: SideBySide, clusters) -> None:
    dataset = peers.stored(DATA, full=side_by_side.full, dense=True)

    def scores(client):
        with client.as_current():
            return mlfs.get_selector("spec", similarity="rbf-features").fit(dataset).scores_

    two, one = clusters
    side_by_side.compare(
        f"spec RBF on features by block pairs, {DATA}, two workers",
        ours=lambda: scores(two),
        peers={PEER: lambda: scores(one)},
        bounds={PEER: BOUND},
        agree={PEER: np.testing.assert_array_equal},
        repeats=3,
    )


@pytest.mark.cluster
@pytest.mark.parametrize("times", [1, 3])
def test_neighbours(side_by_side: SideBySide, clusters, times) -> None:
    """All pairs of rows; the work of a second worker grows by the square of the copies."""
    X, _ = peers.in_memory(peers.stored(DATA, full=side_by_side.full))
    source = as_source(sp.vstack([X] * times, format="csr"))

    def found(client):
        return nearest_neighbors(source, None, 10, executor=OnCluster(client))

    two, one = clusters
    side_by_side.compare(
        f"exact neighbours, k = 10, {source.n_samples:,} rows of {DATA}, two workers",
        ours=lambda: found(two),
        peers={PEER: lambda: found(one)},
        bounds={PEER: BOUND},
        agree={PEER: _same},
        repeats=3,
    )


@pytest.mark.cluster
@pytest.mark.slow
def test_one_selection_of_a_job(side_by_side: SideBySide, clusters, tmp_path) -> None:
    """A job with nothing but one long selection is spread over both workers."""
    from mlfs_dask.jobs.coordinator import Order, run_job
    from mlfs_dask.jobs.jobfile import parse_job

    dataset = peers.stored(DATA, full=side_by_side.full, dense=True)
    text = (
        f'schema = 1\nname = "one"\n[data]\nstore = "{dataset.path}"\n'
        '[[select]]\nmethod = "spec"\nsimilarity = "rbf-features"\n'
    )
    job = parse_job(text.encode(), "one.toml")
    count = iter(range(1000))

    def results(client):
        runs = tmp_path / str(next(count))
        folder = run_job(Order(job=job, text=text.encode(), runs=runs, client=client)).folder
        return np.frombuffer(folder.results.read_bytes(), np.uint8)

    two, one = clusters
    side_by_side.compare(
        f"a job of one selection by block pairs, {DATA}, two workers",
        ours=lambda: results(two),
        peers={PEER: lambda: results(one)},
        bounds={PEER: BOUND},
        agree={PEER: np.testing.assert_array_equal},
        repeats=3,
    )
