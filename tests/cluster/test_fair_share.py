"""Several jobs on one cluster: short ones first, priorities, a limit on tasks."""

from pathlib import Path

import pytest

import mlfs_dask
from clusters import Cluster, environment, events, state, submit, wait_until
from mlfs_dask.jobs.on_cluster import OnClient, Share
from mlfs_dask.jobs.rundir import find_run
from mlfs_dask.jobs.steps import Steps
from mlfs_dask.jobs.units import Unit
from mlfs_dask.jobs.work import Task
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = pytest.mark.cluster

TOYS = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\nlabel = "toy"\ndelay = DELAY')


@pytest.fixture
def cluster(tmp_path, toys):
    make_tiny_store(tmp_path / "stores")
    made = Cluster(tmp_path, environment())
    wait_until(made.file.exists)
    yield made
    made.stop()


def job(tmp_path, name, *, delay, repeats=1, run=""):
    """Selections by the toy take 8 times the delay; there are 3 a repeat, and one on all rows."""
    text = TOYS.replace("DELAY", str(delay)).replace("repeats = 2", f"repeats = {repeats}")
    path = tmp_path / f"{name}.toml"
    path.write_text(text.replace('"tiny"', f'"{name}"', 1) + f"\n[run]\n{run}\n")
    return path


def submitted(cluster, path, tmp_path):
    return find_run(submit(cluster, path, tmp_path)["run"], tmp_path / "runs")


# --- without processes ------------------------------------------------------------------------


class Future:
    def __init__(self, key):
        self.key, self.callback = key, None

    def add_done_callback(self, callback):
        self.callback = callback

    def cancel(self):
        self.callback = None

    def release(self):
        self.callback = None


class Scheduler:
    """A client that keeps what it is given."""

    def __init__(self, n_threads=4):
        self.priorities, self.futures, self.n_threads = [], [], n_threads
        self.status = "running"

    def scheduler_info(self, n_workers):
        return {"workers": {"w": {"nthreads": self.n_threads}}}

    def submit(self, function, task, *, key, pure, priority):
        self.priorities.append(priority)
        self.futures.append(Future(key))
        return self.futures[-1]


class Nobody:
    """A coordinator that only listens."""

    def __init__(self):
        self.incidents = []

    def steps(self, steps: Steps) -> None:
        raise AssertionError(steps)

    def incident(self, message):
        self.incidents.append(message)

    def should_stop(self):
        return False

    def renewed(self, task):
        return task


def backend(scheduler, share=None):
    made = OnClient(None, Nobody(), "s", Path("run"), share)
    made._client = scheduler
    return made


def task(name, n_units=1):
    units = tuple(Unit(kind="select", dataset="d", selector=f"s{i}") for i in range(n_units))
    return Task(name=name, session="s", job=None, addresses={}, units=units)


def test_a_run_may_have_so_many_tasks_and_no_more():
    for share, most in ((None, 8), (Share(most=3), 3), (Share(most=100), 8)):
        tasks = backend(Scheduler(), share)
        count = 0
        while tasks.has_room:
            tasks.submit(task(str(count)), 0.0, 100)
            count += 1
        assert count == most


def test_young_runs_go_before_old_ones_and_priorities_before_all():
    given = {}
    for took in (0.0, 1e9):
        for priority in (-1, 0, 1):
            scheduler = Scheduler()
            tasks = backend(scheduler, Share(priority=priority))
            tasks._took = took
            tasks.submit(task("t"), 0.0, 100)
            (given[priority, took],) = scheduler.priorities
    order = [(-1, 1e9), (-1, 0.0), (0, 1e9), (0, 0.0), (1, 1e9), (1, 0.0)]
    assert sorted(given, key=given.__getitem__) == order
    assert len(set(given.values())) == 6


def test_a_task_that_takes_its_workers_along_is_tried_alone_and_fails_alone():
    from distributed import KilledWorker

    scheduler = Scheduler()
    tasks = backend(scheduler)
    tasks.submit(task("t", n_units=2), 0.0, 100)
    (future,) = scheduler.futures

    def given_up():
        raise KilledWorker("t", "w", 3)

    future.result = given_up
    future.callback(future)
    assert list(tasks.collect()) == []
    assert tasks.n_in_flight == 2
    assert "and 1 more unit in hand was lost" in tasks._listener.incidents[0]
    for number in (1, 2):
        collecting = tasks.collect()
        for _ in range(2):
            tasks._on_event(
                (
                    0.0,
                    {"action": "remove-worker", "worker": "w", "processing-tasks": Keys(scheduler)},
                )
            )
        (outcome,) = collecting
        assert not tasks.has_room or tasks.n_in_flight == 2 - number
        assert outcome.payload is None
        assert outcome.failure.error == "WorkerDiedError"
        assert "memory" in outcome.failure.hint
    assert tasks.n_in_flight == 0


class Keys:
    """The tasks of the worker that is lost: always the last one submitted."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def __iter__(self):
        yield self.scheduler.futures[-1].key


def test_only_the_coordinator_submits_from_within_a_task():
    """One level of nesting: what it submits submits nothing."""
    package = Path(mlfs_dask.__file__).parent
    using = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(word in path.read_text() for word in ("worker_client(", "get_client(", "secede("))
    }
    assert using == {"cli/coordinate.py"}


# --- with processes ---------------------------------------------------------------------------


def ended(folder):
    return state(folder) == "done"


@pytest.mark.slow
def test_three_jobs_on_one_worker_with_one_thread_all_end(cluster, tmp_path):
    """More coordinators than threads: none waits for a slot that another one holds."""
    cluster.add_worker()
    folders = [
        submitted(cluster, job(tmp_path, name, delay=0.02), tmp_path) for name in ("a", "b", "c")
    ]
    for folder in folders:
        wait_until(lambda folder=folder: ended(folder))


@pytest.mark.slow
def test_a_job_of_higher_priority_overtakes(cluster, tmp_path):
    cluster.add_worker()
    low = submitted(cluster, job(tmp_path, "low", delay=0.2, repeats=16), tmp_path)
    wait_until(lambda: len(events(low, "unit")) > 0)
    high = submitted(
        cluster, job(tmp_path, "high", delay=0.2, repeats=2, run="priority = 1"), tmp_path
    )
    wait_until(lambda: ended(high))
    assert not ended(low)
