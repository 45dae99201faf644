"""Submitting a job to real processes and leaving; what kills any of them costs nothing but time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlfs_dask import registry
from mlfs_dask.jobs.cancel import request_cancel
from mlfs_dask.jobs.coordinator import Order, prepare_run, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.lease import next_number
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = pytest.mark.cluster

TESTS = Path(__file__).parents[1]
TOYS = [str(TESTS / "plugins"), str(TESTS)]
MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.03')
DEADLINE = 180
UNITS = 6 * 5 + 2
STEPS = 7 * 8


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder, env, port=0):
        self.file = folder / f"scheduler-{time.monotonic_ns()}.json"
        self.folder, self.env = folder, env
        self.workers = []
        self.scheduler = self.start(
            "scheduler",
            *("--host", "127.0.0.1", "--port", str(port), "--scheduler-file", str(self.file)),
            *("--dashboard-address", "127.0.0.1:0"),
        )

    def start(self, kind, *words):
        log = (self.folder / f"{kind}-{time.monotonic_ns()}.log").open("wb")
        command = [sys.executable, "-m", "dask", kind, *words]
        return subprocess.Popen(command, env=self.env, stdout=log, stderr=log)

    def add_worker(self):
        worker = self.start(
            "worker",
            *("--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny"),
            *("--memory-limit", "0", "--death-timeout", "60", "--no-dashboard"),
        )
        self.workers.append(worker)
        return worker

    def stop(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture
def toys(monkeypatch):
    """The plug-ins in tests/plugins."""
    for folder in TOYS:
        monkeypatch.syspath_prepend(folder)
    registry.names.cache_clear()
    yield
    registry.names.cache_clear()


@pytest.fixture
def env():
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*TOYS, os.environ.get("PYTHONPATH", "")]),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20",
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s",
    }


@pytest.fixture
def cluster(tmp_path, env):
    made = Cluster(tmp_path, env)
    wait_until(made.file.exists)
    yield made
    made.stop()


@pytest.fixture
def job(tmp_path, toys):
    make_tiny_store(tmp_path / "stores")
    path = tmp_path / "tiny.toml"
    path.write_text(JOB)
    return path


@pytest.fixture
def undisturbed(job, tmp_path):
    resolved = parse_job(JOB.encode(), "tiny.toml", ("run.workers=0",))
    folder = run_job(Order(job=resolved, text=JOB.encode(), runs=tmp_path / "other")).folder
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


def wait_until(what, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def mlfs(env, *words):
    done = subprocess.run(
        [*MLFS, *map(str, words)], env=env, capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def submit(cluster, job, tmp_path):
    words = ("submit", job, "--scheduler-file", cluster.file, "--runs", tmp_path / "runs", "--json")
    return json.loads(mlfs(cluster.env, *words))


def the_run(tmp_path):
    (folder,) = all_runs(tmp_path / "runs")
    return folder


def events(folder, kind):
    found = open_run(folder.path).events
    return [event for event in found if event["event"] == kind]


def state(folder):
    return folder.read_state()["state"]


def check(folder, undisturbed):
    wait_until(lambda: state(folder) == "done")
    assert folder.results.read_bytes() == undisturbed[0]
    assert folder.evaluation.read_bytes() == undisturbed[1]
    units = [event["unit"] for event in events(folder, "unit")]
    assert len(units) == len(set(units)) == UNITS
    steps = [(event["unit"], event["first"]) for event in events(folder, "step")]
    assert len(steps) == len(set(steps))
    wait_until(folder.report.exists)


def owner_pid(folder):
    owner = folder.owner()
    return None if owner is None else owner["pid"]


def n_steps(folder):
    return len(events(folder, "step")) if folder.journal.exists() else 0


def strip(line):
    """A row of evaluation.csv without what names the delay."""
    return line.replace(b" [delay=0.2]", b"").replace(b" [delay=0.03]", b"")


def test_submit_and_leave_on_one_worker_with_one_thread(cluster, job, undisturbed, tmp_path, env):
    cluster.add_worker()
    submitted = submit(cluster, job, tmp_path)
    assert submitted["state"] == "queued"
    folder = the_run(tmp_path)
    assert submitted["run"] == folder.id
    again = submit(cluster, job, tmp_path)  # the same task, or somebody is at it already
    assert again["run"] == folder.id
    watched = mlfs(env, "watch", folder.id, "--runs", tmp_path / "runs")
    assert watched.endswith(f"{folder.id}: done\n")
    check(folder, undisturbed)
    assert submit(cluster, job, tmp_path)["state"] == "done"
    assert len(events(folder, "start")) == 1
    assert folder.id in folder.log.read_text()


def test_the_coordinator_s_worker_is_killed(cluster, job, undisturbed, tmp_path):
    """Twice: each time another worker takes the run over, from its folder."""
    job.write_text(JOB.replace("delay = 0.03", "delay = 0.2"))
    for _ in range(2):
        cluster.add_worker()
    submit(cluster, job, tmp_path)
    folder = the_run(tmp_path)
    killed = []
    for _ in range(2):
        wait_until(lambda: owner_pid(folder) not in (None, *killed) and n_steps(folder) > 0)
        killed.append(owner_pid(folder))
        os.kill(killed[-1], signal.SIGKILL)
        cluster.add_worker()
    wait_until(lambda: state(folder) == "done")
    # Delays are parameters, so this is another job: the numbers are the same, the names are not.
    ours, theirs = (text.split(b"\n") for text in (folder.evaluation.read_bytes(), undisturbed[1]))
    assert [strip(line) for line in ours] == [strip(line) for line in theirs]
    units = [event["unit"] for event in events(folder, "unit")]
    assert len(units) == len(set(units)) == UNITS
    steps = [(event["unit"], event["first"]) for event in events(folder, "step")]
    assert len(steps) == len(set(steps)) == STEPS
    assert next_number(folder.path) == 5  # the submission, then three coordinators


@pytest.mark.slow
def test_the_scheduler_is_killed_and_the_run_goes_on_elsewhere(
    cluster, job, undisturbed, tmp_path, env
):
    cluster.add_worker()
    submit(cluster, job, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: folder.journal.exists() and len(events(folder, "step")) > 4)
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    wait_until(lambda: folder.owner() is None)
    assert state(folder) == "interrupted"
    assert not events(folder, "failed")
    mlfs(env, "resume", folder.id, "--runs", tmp_path / "runs", "--workers", "0")
    check(folder, undisturbed)


@pytest.mark.slow
def test_a_supervised_coordinator_outlives_the_scheduler(cluster, job, undisturbed, tmp_path, env):
    cluster.add_worker()
    port = json.loads(cluster.file.read_text())["address"].rpartition(":")[2]
    runs = tmp_path / "runs"
    resolved = parse_job(JOB.encode(), "tiny.toml")
    folder = prepare_run(Order(job=resolved, text=JOB.encode(), runs=runs))
    words = ["coordinator", folder.id, "--scheduler", f"tcp://127.0.0.1:{port}", "--runs", runs]
    supervised = subprocess.Popen(
        [*MLFS, *map(str, words)], env=env, stderr=(tmp_path / "coordinator.log").open("wb")
    )
    try:
        wait_until(lambda: folder.journal.exists() and len(events(folder, "step")) > 4)
        cluster.stop()
        wait_until(lambda: state(folder) == "interrupted")
        again = Cluster(tmp_path, env, port=port)
        again.add_worker()
        try:
            check(folder, undisturbed)
            assert supervised.wait(timeout=DEADLINE) == 0
        finally:
            again.stop()
    finally:
        supervised.kill()
        supervised.wait()
    assert not events(folder, "failed")


def test_cancel_from_another_process(cluster, job, tmp_path):
    job.write_text(JOB.replace("delay = 0.03", "delay = 2"))
    cluster.add_worker()
    submit(cluster, job, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: folder.journal.exists() and len(events(folder, "step")) > 0)
    assert request_cancel(folder) is True
    wait_until(lambda: state(folder) == "cancelled")
    assert len(events(folder, "step")) < STEPS


def test_workers_that_do_not_see_the_runs_are_named(cluster, job, tmp_path, env):
    from distributed import Client

    from mlfs_dask.errors import ClusterError
    from mlfs_dask.jobs import submit as submitting

    cluster.add_worker()
    with Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        order = Order(
            job=parse_job(JOB.encode(), "tiny.toml"),
            text=JOB.encode(),
            runs=tmp_path / "runs",
            client=client,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(submitting, "_sees", lambda path: False)
            with pytest.raises(ClusterError, match="1 of 1 workers do not see"):
                submitting.submit(order, print)
    assert state(the_run(tmp_path)) == "interrupted"
