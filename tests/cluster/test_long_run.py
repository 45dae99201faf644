"""A cluster that does one job after the other for a long time, and what it keeps of them: nothing.

Ten minutes among the slow tests; ``MLFS_LONG_RUN_SECONDS=7200`` makes them two hours, and 60 are
enough to see that the test works. What the run looked like is printed (``pytest -s``).

Dask keeps the last 1,000 events, transitions and seconds of profiles of each process, in deques of
bounded length that fill up within the first twenty minutes. Here they hold 100, so that memory
which grows later is nobody's deque.
"""

import os
import subprocess
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest
from long_runs import Record, Sampler, at_rest, keep_for_ever
from served import Served

import mlfs_dask as mlfs
from clusters import DEADLINE, MLFS, environment, n_decided, wait_until
from mlfs_dask.cli.coordinate import see_through
from mlfs_dask.errors import RunInterruptedError
from mlfs_dask.jobs import on_cluster
from mlfs_dask.jobs.cancel import request_cancel
from mlfs_dask.jobs.clusters.record import ClusterFolder
from mlfs_dask.jobs.clusters.start import ClusterOrder, start_cluster
from mlfs_dask.jobs.clusters.stop import stop_cluster
from mlfs_dask.jobs.coordinator import Order, prepare_run, resume_run, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.removal import remove_runs
from mlfs_dask.jobs.submit import submit
from mlfs_dask.resources import declaration
from mlfs_dask.storage.synth import Planted, synthesize
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

SECONDS = float(os.environ.get("MLFS_LONG_RUN_SECONDS", "600"))
SAMPLE_SECONDS = 2.0
LEAST_ROUNDS = 6
SELECTED = """
schema = 1
name = "selected"
seed = 0
[data]
store = "quickstart"
costs = { distribution = "uniform", low = 0, high = 100 }
missing = { rate = 0.05 }
[[select]]
method = "METHOD"
[evaluate]
split = { kind = "kfold", folds = 2 }
features = { selected = true }
metrics = ["average_precision"]
[[evaluate.classifier]]
method = "mlknn"
"""
COST = SELECTED.replace("METHOD", "nrs-cost")
STREAM = SELECTED.replace("METHOD", 'nrs-stream"\nimpute = "mean').replace("0.05", "0.01")
ONLINE = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.1')


class LongRun:
    """A cluster, a supervised coordinator beside it, and jobs of all kinds, each of them new."""

    def __init__(self, folder, home, client, monkeypatch):
        self.runs, self.watched, self.scratch = folder / "runs", folder / "watched", home.scratch
        self.client, self.monkeypatch = client, monkeypatch
        self.pages = Served(urlsplit(home.read().dashboard).port)
        self.processes = {}
        self.jobs = 0
        self.kinds = [
            self.quickstart,
            self.stream,
            self.cost,
            self.submitted,
            self.cancelled_and_resumed,
            self.spread,
            self.supervised,
            self.polled,
            self.fitted,
        ]

    def files(self):
        """What lies where runs and clusters put their files."""
        there = {"runs": self.runs, "watched runs": self.watched, "scratch files": self.scratch}
        return {name: sum(1 for _ in folder.rglob("*")) for name, folder in there.items()}

    def order(self, text, *overrides, runs=None, seed=None):
        """A job that no run has yet."""
        self.jobs += 1
        chosen = (f"seed={self.jobs}", *overrides)
        job = parse_job(text.encode(), "job.toml", chosen)
        return Order(job=job, text=text.encode(), runs=runs or self.runs, client=self.client)

    def done(self, folder):
        wait_until(lambda: folder.read_state()["state"] == "done" and folder.owner() is None)
        remove_runs([folder.path], folder.path.parent)

    def quickstart(self):
        text = declaration("jobs/quickstart.toml").read_text()
        self.done(run_job(self.order(text, "evaluate.split.folds=2")).folder)

    def stream(self):
        self.done(run_job(self.order(STREAM)).folder)

    def cost(self):
        self.done(run_job(self.order(COST)).folder)

    def submitted(self):
        order = self.order(TINY_JOB)
        submit(order, see_through)
        folder = prepare_run(order)
        wait_until(folder.report.exists)
        self.done(folder)

    def cancelled_and_resumed(self):
        order = self.order(ONLINE)
        folder = prepare_run(order)
        watcher = threading.Thread(target=self.cancel, args=[folder])
        watcher.start()
        with pytest.raises(RunInterruptedError):
            run_job(order)
        watcher.join()
        self.done(resume_run(folder, client=self.client).folder)

    def cancel(self, folder):
        wait_until(lambda: n_decided(folder) > 0)
        request_cancel(folder)

    def spread(self):
        with self.monkeypatch.context() as patch:
            patch.setattr(on_cluster, "is_worth_it", lambda *_: True)
            self.done(run_job(self.order(TINY_JOB, "evaluate.split.folds=2")).folder)

    def supervised(self):
        folder = prepare_run(self.order(TINY_JOB, runs=self.watched))
        wait_until(folder.report.exists)
        self.done(folder)

    def polled(self):
        """While somebody looks at all its pages, as a browser does."""
        ended = threading.Event()
        seen = []

        def poll():
            while not ended.wait(0.2):
                found = self.pages.get("/mlfs/api/runs").json["runs"]
                pages = ["/mlfs", *(f"/mlfs/runs/{row['run']}" for row in found)]
                seen.extend(self.pages.get(page).status for page in pages)

        poller = threading.Thread(target=poll)
        poller.start()
        try:
            self.done(run_job(self.order(ONLINE, "evaluate.split.repeats=1")).folder)
        finally:
            ended.set()
            poller.join()
        assert 200 in seen

    def fitted(self):
        self.jobs += 1
        rng = np.random.default_rng(self.jobs)
        X, Y = rng.random((300, 20)), rng.integers(0, 2, (300, 3))
        with self.client.as_current():
            for name in ("spec", "nrs-cost", "mlrelieff", "mutual-info"):
                mlfs.get_selector(name, tile=64).fit(X, Y)


@contextmanager
def long_runs(folder, monkeypatch):
    from distributed import Client

    monkeypatch.setenv("DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH", "100")
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "1h")  # machines stand still
    make_tiny_store(folder / "stores")
    synthesize(folder / "stores" / "quickstart.zarr", Planted(n_samples=300))
    (folder / "runs").mkdir()
    (folder / "watched").mkdir()
    home = ClusterFolder(folder / "cluster")
    order = ClusterOrder(workers=2, memory_bytes=2**30, tls=False, runs=folder / "runs")
    record = start_cluster(home, order)
    words = ["coordinator", "--watch", "--scheduler", record.address, "--runs", folder / "watched"]
    with (folder / "coordinator.log").open("wb") as log:
        coordinator = subprocess.Popen([*MLFS, *map(str, words)], env=environment(), stderr=log)
    try:
        with Client(record.address, set_as_default=False, timeout=DEADLINE) as client:
            made = LongRun(folder, home, client, monkeypatch)
            workers = client.run(os.getpid).values()
            made.processes = {
                "scheduler": record.pids["scheduler"],
                "nannies": record.pids["workers"],
                **{f"worker {number}": pid for number, pid in enumerate(workers)},
                "coordinator": coordinator.pid,
                "this process": os.getpid(),
            }
            yield made
    finally:
        coordinator.kill()
        coordinator.wait()
        stop_cluster(home)


def do(running, seconds, kinds=None, after_each=lambda: None):
    """Rounds of all kinds until time is up, at least six."""
    seen = Record()
    ends = time.monotonic() + seconds
    with Sampler(seen, running.processes, SAMPLE_SECONDS) as sampler:
        while len(seen.rests) < LEAST_ROUNDS or time.monotonic() < ends:
            for kind in kinds or running.kinds:
                kind()
                after_each()
                sampler.jobs = running.jobs
                sampler.check()
            counts = at_rest(running.client) | sampler.open_things() | running.files()
            seen.rests.append((running.jobs, counts))
    return seen


def show(seen):
    half = seen.second_half()
    print(f"\n{seen.rests[-1][0]} jobs; MB per job in the second half, at most {seen.bound():.3f}:")
    for name, steep in seen.slopes().items():
        first, last = half[0][1][name], half[-1][1][name]
        print(f"  {name:14}{steep:+.4f}  ({first:.1f} to {last:.1f} MB)")
    print("at rest, after the first rounds and at the end:")
    for name, count in seen.warm().items():
        print(f"  {name:32}{count:6}{seen.rests[-1][1][name]:6}")


@pytest.mark.slow
@pytest.mark.cluster
def test_nothing_grows(tmp_path, toys, monkeypatch):
    with long_runs(tmp_path, monkeypatch) as running:
        seen = do(running, SECONDS)
    show(seen)
    assert seen.growing() == {}


@pytest.mark.slow
@pytest.mark.cluster
def test_a_planted_leak_is_found(tmp_path, toys, monkeypatch):
    """Memory and a file on a worker, a key of the scheduler, a thread and a folder here."""
    kept, end = [], threading.Event()

    with long_runs(tmp_path, monkeypatch) as running:

        def leak():
            worker = list(running.client.scheduler_info()["workers"])[:1]
            running.client.run(keep_for_ever, str(tmp_path / "coordinator.log"), workers=worker)
            kept.append(running.client.submit(str, running.jobs))
            threading.Thread(target=end.wait).start()
            (running.runs / f"left-{running.jobs}").mkdir()

        try:
            seen = do(running, 60, [running.fitted] * 3, leak)
        finally:
            end.set()
    show(seen)
    planted = {"worker 0", "worker 0: descriptors", "scheduler: keys", "this process: threads"}
    assert planted | {"runs"} <= set(seen.growing())
    assert not {"scheduler", "nannies", "worker 1", "coordinator"} & set(seen.growing())
