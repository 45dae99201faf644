"""Executors keep the order of the items and bound what is in flight."""

import asyncio
import threading
import time
from dataclasses import dataclass

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker

from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import InProcess, OnCluster, get_executor
from mlfs_dask.graphs.source import as_source, load_block


def _slow_first(item, offset):
    time.sleep(0.02 if item == 0 else 0.0)
    return item + offset


def _column_sums(item):
    return load_block(item).sum(axis=0)


def test_results_come_in_the_order_of_the_items():
    assert list(InProcess(4).map(_slow_first, list(range(20)), 5)) == list(range(5, 25))


def test_no_more_than_a_window_is_in_flight():
    started, lock = [0], threading.Lock()

    def count(item):
        with lock:
            started[0] += 1
        return item

    results = InProcess(2).map(count, list(range(100)))
    next(results)
    time.sleep(0.05)
    assert started[0] <= 5
    assert list(results) == list(range(1, 100))


def test_an_error_reaches_the_caller_and_stops_the_rest():
    ran = []

    def fail(item):
        ran.append(item)
        if item == 1:
            raise InputError("bad tile")
        return item

    with pytest.raises(InputError, match="bad tile"):
        list(InProcess(2).map(fail, list(range(50))))
    assert len(ran) < 50


def test_without_a_client_kernels_run_here():
    assert isinstance(get_executor(), InProcess)
    with pytest.raises(InputError, match="n_threads"):
        InProcess(0)


@pytest.mark.cluster
def test_a_current_client_is_used_and_gives_the_same():
    X = np.arange(60.0).reshape(20, 3)
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ):
        executor = get_executor()
        assert isinstance(executor, OnCluster)
        assert list(executor.map(_slow_first, [0, 1, 2], 5)) == [5, 6, 7]
        for given_X in (X, da.from_array(X, chunks=(7, 2))):
            source = as_source(given_X, tile=6)
            got = np.array(list(executor.map(_column_sums, source.items())))
            np.testing.assert_array_equal(got, np.add.reduceat(X, [0, 6, 12, 18]))
        assert list(executor.map(pow, [2, 3], executor.share(2))) == [4, 9]
    assert isinstance(get_executor(), InProcess)


@pytest.mark.cluster
def test_tasks_that_share_a_value_go_to_the_workers_in_turn():
    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        executor = OnCluster(client)
        client.get_task_stream()  # from now on what workers do is noted
        assert list(executor.map(_slow_first, range(20), executor.share(5))) == list(range(5, 25))
        done = [task for task in client.get_task_stream() if task["key"].startswith("slow_first")]
    assert sorted(int(task["key"].rpartition("-")[2]) for task in done) == list(range(20))
    assert len({task["worker"] for task in done}) == 2


class Kept(list):
    """Changed in place by the tasks that come to it."""


@dataclass(frozen=True)
class Visit:
    dependency: object = None
    kept: Kept | None = None

    def attached(self, kept):
        return Visit(kept=kept)

    def detached(self):
        return Visit()


def _worker():
    return get_worker().address


def _begin(item):
    time.sleep(0.05 * (item % 3))  # so that some workers are idle when others have begun
    return Kept([_worker()])


def _visit(visit, _):
    time.sleep(0.05)
    visit.kept.append(_worker())
    return list(visit.kept)


@pytest.mark.cluster
def test_what_is_kept_is_visited_where_it_is():
    """Else a worker finds what it fetched before others changed it."""
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        executor = OnCluster(client)
        shared = executor.share("needed by all")  # soon at hand everywhere
        for n_items in (1, 4, 9):
            kept = executor.keep(_begin, range(n_items))
            for visits in range(1, 4):
                seen = list(executor.map(_visit, [Visit(each) for each in kept], shared))
                assert [len(each) for each in seen] == [1 + visits] * n_items
                assert all(len(set(each)) == 1 for each in seen)
            assert len({each[0] for each in seen}) == min(n_items, 3)


@pytest.mark.cluster
def test_workers_that_the_user_chose_do_it_all():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        executor = OnCluster(client)
        shared = executor.share("needed by all")
        for chosen in client.scheduler_info()["workers"]:
            with dask.annotate(workers=[chosen]):
                kept = executor.keep(_begin, range(4))
                seen = list(executor.map(_visit, [Visit(each) for each in kept], shared))
            assert seen == [[chosen, chosen]] * 4


@pytest.mark.cluster
def test_an_asynchronous_client_is_refused():
    async def executor(address):
        async with Client(address, asynchronous=True):
            return get_executor()

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(InputError, match="is asynchronous"),
    ):
        asyncio.run(executor(cluster.scheduler_address))


def _first_of(item, shared):
    return item + shared[1][0]


@pytest.mark.cluster
def test_what_is_shared_outlives_its_worker():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        executor = OnCluster(client)
        shared = executor.share(("some", np.array([5]), {"more": [1, 2]}))
        assert list(executor.map(_first_of, [1], shared)) == [6]
        for holder in client.who_has(shared)[shared.key]:
            cluster.sync(cluster.scheduler.remove_worker, holder, stimulus_id="lost", close=False)
        assert list(executor.map(_first_of, range(4), shared)) == [5, 6, 7, 8]
