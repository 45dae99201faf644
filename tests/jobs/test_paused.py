"""Workers that are paused for good start anew, and only those."""

from types import SimpleNamespace

import pytest
from distributed import Client, LocalCluster
from distributed.core import Status

from mlfs_dask.jobs.paused import Patience, waits_in_vain
from mlfs_dask.jobs.worker_setup import WorkerSetup

MIB = 2**20


def worker(status, *, executing=(), long_running=()):
    state = SimpleNamespace(executing=set(executing), long_running=set(long_running))
    return SimpleNamespace(status=status, state=state)


def test_who_waits_in_vain():
    assert waits_in_vain(worker(Status.paused))
    assert not waits_in_vain(worker(Status.running))
    assert not waits_in_vain(worker(Status.paused, executing=["a task"]))
    assert not waits_in_vain(worker(Status.paused, long_running=["a coordinator"]))


def test_patience_begins_anew_with_every_task():
    now = [0.0]
    patience = Patience(20.0, clock=lambda: now[0])
    seen = []
    for now[0], waits in [(0, True), (19, True), (20, False), (30, True), (49, True), (50, True)]:
        seen.append(patience.is_over(waits=waits))
    assert seen == [False, False, False, False, False, True]


def keep_for_ever(size):
    import builtins

    builtins.kept = bytearray(b"1") * size
    return len(builtins.kept)


def workers_of(client):
    return client.scheduler_info(n_workers=-1)["workers"].values()


@pytest.mark.slow
@pytest.mark.cluster
def test_a_worker_without_memory_is_replaced_and_its_tasks_are_done():
    """What a task leaves behind stays: such a worker would be paused until somebody ends it."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit=700 * MIB, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(WorkerSetup())
        [memory] = [each["metrics"]["memory"] for each in workers_of(client)]
        size = 600 * MIB - memory
        [before] = client.run(lambda: __import__("os").getpid()).values()
        assert client.submit(keep_for_ever, size).result() == size
        assert client.submit(sum, [1, 2]).result(timeout=120) == 3
        [after] = client.run(lambda: __import__("os").getpid()).values()
        assert after != before
