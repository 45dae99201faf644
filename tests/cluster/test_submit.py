"""Submitting a job to real processes and leaving; what kills any of them costs nothing but time."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

from clusters import (
    DEADLINE,
    MLFS,
    Cluster,
    check,
    environment,
    events,
    mlfs,
    n_decided,
    owner_pid,
    run_undisturbed,
    state,
    submit,
    the_run,
    wait_until,
)
from mlfs_dask.cli.coordinate import coordinate, see_through
from mlfs_dask.cli.watch import Seen
from mlfs_dask.jobs.cancel import request_cancel
from mlfs_dask.jobs.coordinator import Order, prepare_run
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.lease import next_number, own
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.submit import hand_over
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

pytestmark = pytest.mark.cluster

JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.03')
UNITS = 6 * 5 + 2
STEPS = 7 * 8


@pytest.fixture
def env():
    return environment(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="20")


@pytest.fixture
def job(tmp_path, toys):
    make_tiny_store(tmp_path / "stores")
    path = tmp_path / "tiny.toml"
    path.write_text(JOB)
    return path


@pytest.fixture
def undisturbed(job, tmp_path):
    return run_undisturbed(JOB, tmp_path)


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
    check(folder, undisturbed, UNITS)
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
        wait_until(lambda: owner_pid(folder) not in (None, *killed) and n_decided(folder) > 0)
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
    check(folder, undisturbed, UNITS)


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
            check(folder, undisturbed, UNITS)
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


def test_a_run_that_cannot_begin_does_not_wait_for_ever(job, tmp_path):
    """Its store was removed, or its folder damaged, before the coordinator came to it."""
    resolved = parse_job(JOB.encode(), "tiny.toml")
    lost, damaged, removed = (
        prepare_run(Order(job=resolved, text=JOB.encode(), runs=tmp_path / name))
        for name in ("lost", "damaged", "removed")
    )
    for folder in (lost, damaged, removed):
        folder.write_state("queued", done=0, total=0)
    damaged.resolved.write_text("{}")
    assert coordinate(damaged, None, retry_failed=True) == "failed"
    shutil.rmtree(removed.path)
    assert coordinate(removed, None, retry_failed=True) == "interrupted"
    assert not removed.path.exists()
    shutil.rmtree(tmp_path / "stores")
    assert coordinate(lost, None, retry_failed=True) == "failed"
    assert "there is no store" in lost.read_state()["message"]


def test_a_run_that_waits_says_how_many_units_it_has(job, tmp_path):
    class Taken:
        """A client whose cluster takes everything and does nothing."""

        def scheduler_info(self, n_workers):
            return {"workers": {}}

        def submit(self, *_, **__):
            return None

    runs = tmp_path / "runs"
    order = Order(job=parse_job(JOB.encode(), "tiny.toml"), text=JOB.encode(), runs=runs)
    folder = prepare_run(order)
    hand_over(folder, Taken(), see_through)
    assert folder.read_state()["progress"] == {"done": 0, "total": UNITS}


def test_a_run_that_another_writes_is_left_to_it(job, tmp_path):
    folder = prepare_run(
        Order(job=parse_job(JOB.encode(), "tiny.toml"), text=JOB.encode(), runs=tmp_path / "runs")
    )
    folder.write_state("queued", done=0, total=0)
    with own(folder.path, folder.lock):
        assert coordinate(folder, None, retry_failed=True) == "queued"


def test_a_coordinator_says_what_it_has_not_to_do(job, tmp_path, invoke):
    folder = prepare_run(
        Order(job=parse_job(JOB.encode(), "tiny.toml"), text=JOB.encode(), runs=tmp_path / "runs")
    )
    folder.write_state("cancelled", done=0, total=0)
    words = ("--scheduler", "tcp://127.0.0.1:9", "--runs", tmp_path / "runs")
    done = invoke("coordinator", "tiny", *words, "--json")
    assert ": cancelled already" in done.stderr
    assert json.loads(done.stdout) == {"runs": [{"run": folder.id, "state": "cancelled"}]}
    watched = invoke("watch", "tiny", "--runs", tmp_path / "runs", "--json")
    assert json.loads(watched.stdout)["state"] == "cancelled"
    assert f"{folder.id}: cancelled" in watched.stderr


def test_a_run_cancelled_while_it_waits_is_not_begun(job, tmp_path):
    folder = prepare_run(
        Order(job=parse_job(JOB.encode(), "tiny.toml"), text=JOB.encode(), runs=tmp_path / "runs")
    )
    folder.write_state("queued", done=0, total=UNITS)
    assert request_cancel(folder) is False
    assert see_through(str(folder.path), 1, 1) == "cancelled"
    assert not folder.journal.exists()


def test_watching_goes_on_while_a_lost_coordinator_may_be_replaced(job, tmp_path, monkeypatch):
    folder = prepare_run(
        Order(job=parse_job(JOB.encode(), "tiny.toml"), text=JOB.encode(), runs=tmp_path / "runs")
    )
    folder.write_state("running", done=3, total=UNITS)
    seen = Seen(folder)
    lost = {"host": socket.gethostname(), "locked": True}
    for facts, goes_on in (({}, False), ({"chain": "a", "left": 1}, False), ({"chain": "a"}, True)):
        (folder.path / "owners" / "00000007.json").write_text(json.dumps({**lost, **facts}))
        assert seen.look() is goes_on
        assert seen.state["state"] == "interrupted"
    monkeypatch.setattr("mlfs_dask.cli.watch._PATIENCE_SECONDS", 0.0)
    assert seen.look() is False


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
            patch.setattr(submitting, "_sees", lambda path: [].missing)
            with pytest.raises(ClusterError, match=r"cannot look for .*AttributeError.*missing"):
                submitting.submit(order, print)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(submitting, "_sees", lambda path: False)
            with pytest.raises(ClusterError, match="is not seen by 1 of 1 worker,"):
                submitting.submit(order, print)
    assert state(the_run(tmp_path)) == "interrupted"


GROWING = """
schema = 1
name = "grow"
[data]
store = "s.zarr"
[[select]]
method = "nrs-stream"
follow = true
"""


@pytest.mark.slow
def test_a_submitted_run_follows_a_store_and_outlives_its_coordinator(cluster, tmp_path, env):
    first, late = tmp_path / "first.csv", tmp_path / "late.csv"
    first.write_text("a,b,l\n" + "".join(f"{i},{i % 3},{int(i > 20)}\n" for i in range(40)))
    late.write_text("c,d\n" + "".join(f"{i * i % 7},{i % 5}\n" for i in range(40)))
    mlfs(env, "data", "ingest", first, tmp_path / "s.zarr", "--labels", "l")
    path = tmp_path / "grow.toml"
    path.write_text(GROWING.replace("s.zarr", str(tmp_path / "s.zarr")))
    for _ in range(2):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: folder.read_state().get("waiting"))
    os.kill(owner_pid(folder), signal.SIGKILL)
    mlfs(env, "data", "append", tmp_path / "s.zarr", late)
    wait_until(lambda: len(events(folder, "block")) == 1 and n_decided(folder) > 2)
    mlfs(env, "data", "append", tmp_path / "s.zarr", "--close")
    wait_until(lambda: state(folder) == "done")
    (selection,) = open_run(folder.path).selections
    assert [step["feature"] for step in selection["path"]] == [0, 1, 2, 3]
