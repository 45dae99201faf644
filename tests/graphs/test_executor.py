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
from distributed.client import FutureCancelledError

from mlfs_dask.errors import InputError, WorkersLostError
from mlfs_dask.graphs.executor import InProcess, OnCluster, get_executor
from mlfs_dask.graphs.losses import MOST_LOSSES
from mlfs_dask.graphs.source import as_source, load_block


@pytest.fixture
def cluster():
    """Three workers that take nothing from each other."""
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


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


def _worker():
    return get_worker().address


def _where(item, *_):
    return _worker()


@pytest.mark.cluster
def test_tasks_go_to_the_workers_in_turn_each_time(client):
    """So that a tile is read and decoded by one worker only, whatever is made of it."""
    asked = [(), (OnCluster(client).share("a value that all need"),), ()]
    seen = [list(OnCluster(client).map(_where, range(18), *shared)) for shared in asked]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0] == seen[0][:3] * 6
    assert len(set(seen[0])) == 3


@pytest.mark.cluster
def test_few_tasks_of_many_do_not_all_wish_for_the_same_workers(client):
    executors = [OnCluster(client) for _ in range(3)]
    seen = [list(executor.map(_where, range(2), executor.share("it"))) for executor in executors]
    assert {len(set(each)) for each in seen} == {2}
    assert len({each[0] for each in seen}) == 3


@pytest.mark.cluster
def test_a_task_alone_goes_where_what_it_needs_is(client):
    executor = OnCluster(client)
    for holder in client.scheduler_info()["workers"]:
        with dask.annotate(workers=[holder]):
            shared = executor.share("it")
        assert list(executor.map(_where, range(1), shared)) == [holder]


@pytest.mark.cluster
def test_a_worker_that_is_gone_is_not_waited_for(client):
    executor = OnCluster(client)
    gone, *left = client.scheduler_info()["workers"]
    client.retire_workers([gone])
    assert set(executor.map(_where, range(12))) == set(left)
    kept = [Visit(each) for each in executor.keep(_begin, range(4))]
    assert {each[0] for each in executor.map(_visit, kept, None)} <= set(left)


_ENOUGH = threading.Event()


def _at_work(item):
    return _ENOUGH.wait(60)


@pytest.mark.slow
@pytest.mark.cluster
def test_a_worker_that_is_busy_for_long_is_not_waited_for():
    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        executor = OnCluster(client)
        busy, free = client.scheduler_info()["workers"]
        long = client.submit(_at_work, 0, workers=[busy])
        assert set(executor.map(_where, range(20))) == {free}
        _ENOUGH.set()
        assert long.result()


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


def _begin(item):
    time.sleep(0.05 * (item % 3))  # so that some workers are idle when others have begun
    return Kept([_worker()])


def _visit(visit, _):
    time.sleep(0.05)
    visit.kept.append(_worker())
    return list(visit.kept)


@pytest.mark.cluster
def test_what_is_kept_is_visited_where_it_is(client):
    """Else a worker finds what it fetched before others changed it."""
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
def test_workers_that_the_user_chose_do_it_all(client):
    executor = OnCluster(client)
    shared = executor.share("needed by all")
    for chosen in client.scheduler_info()["workers"]:
        with dask.annotate(workers=[chosen]):
            assert list(executor.map(_where, range(6))) == [chosen] * 6
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


def _lose(cluster, workers):
    for each in workers:
        cluster.sync(cluster.scheduler.remove_worker, each, stimulus_id="lost", close=False)


@pytest.fixture(params=["small", "large"])
def size(request, monkeypatch):
    """What the scheduler keeps, and what is too large for that."""
    if request.param == "large":
        monkeypatch.setattr("mlfs_dask.graphs.executor._KEPT_BY_SCHEDULER", 0)


@pytest.mark.cluster
def test_what_is_shared_outlives_its_worker(cluster, client, size):
    executor = OnCluster(client)
    shared = executor.share(("some", np.array([5]), {"more": [1, 2]}))
    assert list(executor.map(_first_of, [1], shared)) == [6]
    _lose(cluster, client.who_has(shared)[shared.key])
    assert list(executor.map(_first_of, range(4), shared)) == [5, 6, 7, 8]
    assert list(executor.map(_first_of, range(4), shared)) == [5, 6, 7, 8]


@pytest.mark.cluster
def test_a_list_that_is_shared_outlives_a_worker(cluster, client):
    executor = OnCluster(client)
    shared = executor.share([(1,), (2,), (3,)])
    _lose(cluster, client.who_has(shared[1])[shared[1].key])
    assert list(executor.map(_total, range(4), shared)) == [6, 7, 8, 9]


@pytest.mark.cluster
def test_what_tasks_need_is_lost_while_others_are_fetched(cluster, client, monkeypatch):
    monkeypatch.setattr("mlfs_dask.graphs.executor._KEPT_BY_SCHEDULER", 0)
    executor = OnCluster(client)
    shared, seen = executor.share(("some", [5])), []
    for number, found in enumerate(executor.map(_first_of, range(60), shared)):
        seen.append(found)
        if number in (7, 31):
            workers = list(client.scheduler_info()["workers"])
            _lose(cluster, workers[:1])
    assert seen == list(range(5, 65))


@pytest.mark.cluster
def test_what_is_kept_is_made_again_of_what_was_shared(cluster, client, monkeypatch):
    monkeypatch.setattr("mlfs_dask.graphs.executor._KEPT_BY_SCHEDULER", 0)
    executor = OnCluster(client)
    shared = executor.share((1, 2))
    visits = [Visit(each) for each in executor.keep(_sum, range(3), shared)]
    expected = list(executor.map(_kept, visits))
    for _ in range(2):
        _lose(cluster, list(client.scheduler_info()["workers"])[:1])
        assert list(executor.map(_kept, visits)) == expected == [3, 4, 5]


@pytest.mark.cluster
def test_what_nobody_has_any_more_is_said_in_one_line(cluster, client):
    executor = OnCluster(client)
    of_the_user = client.scatter([5], hash=False)[0]
    assert list(executor.map(_kept, [Visit(of_the_user)])) == [5]
    _lose(cluster, client.who_has(of_the_user)[of_the_user.key])
    with pytest.raises(WorkersLostError, match="so was what it was made of"):
        list(executor.map(_kept, [Visit(of_the_user)]))


@pytest.mark.cluster
def test_losses_without_end_are_an_error(client, monkeypatch):
    executor, asked = OnCluster(client), []

    def lost(alive):
        asked.append(len(alive))
        raise FutureCancelledError(key="some", reason="lost dependencies")

    monkeypatch.setattr(executor, "_fetch", lost)
    with pytest.raises(WorkersLostError, match=f"{MOST_LOSSES + 1} times in a row"):
        list(executor.map(_where, range(4)))
    assert len(asked) == MOST_LOSSES + 1


@pytest.mark.cluster
def test_tasks_that_nobody_could_take_go_to_whoever_comes(cluster, client):
    """Dask has them wait for the worker that they were to go to, which is gone."""
    executor = OnCluster(client)
    kept = executor.keep(_begin, range(6))
    assert len({each[0] for each in client.gather(kept)}) == 3
    cluster.scale(0)
    while client.scheduler_info()["workers"]:
        time.sleep(0.01)
    cluster.scale(2)
    assert len({each.result(timeout=60)[0] for each in kept}) <= 2


def _total(item, shared):
    return item + sum(each[0] for each in shared)


def _sum(item, shared):
    return item + sum(shared)


def _kept(visit):
    return visit.kept
