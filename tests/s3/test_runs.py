"""Runs at s3://: the files of a run in a folder, whatever fails on the way."""

import os
import signal
import subprocess
import sys
import time

import pytest

from mlfs_dask.errors import MachineError, RunFolderError
from mlfs_dask.jobs.coordinator import Order, resume_run, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.progress import Silent
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.places import place
from mlfs_dask.testing.jobs import TINY_JOB, tiny_table

from .conftest import KEY, SECRET

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.03')
FILES = ("results.json", "evaluation.csv", "resolved.json", "datasets.json", "job.toml")


@pytest.fixture
def job(bucket, tmp_path, monkeypatch):
    """Path of a job whose store is on object storage."""
    ingest(tiny_table(), place(f"{bucket}/stores/tiny.zarr"), tile=16, name="tiny")
    monkeypatch.setenv("MLFS_STORES", f"{bucket}/stores")
    path = tmp_path / "tiny.toml"
    path.write_text(TINY_JOB)
    return path


def run(job, runs, *overrides, text=None, **order):
    text = text or job.read_text()
    parsed = parse_job(text.encode(), "tiny.toml", ("run.workers=0", *overrides))
    return run_job(Order(job=parsed, text=text.encode(), file="tiny.toml", runs=runs, **order))


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


def start(*words):
    return subprocess.Popen(
        [*MLFS, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def until(what, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def test_files_are_those_of_a_run_in_a_folder(job, bucket, tmp_path):
    here = run(job, tmp_path / "runs").folder
    there = run(job, place(f"{bucket}/runs")).folder
    assert there.id == here.id
    assert contents(there.path) == contents(here.path)
    assert (
        open_run(str(there.path)).evaluation.tobytes() == open_run(here.path).evaluation.tobytes()
    )
    assert not run(job, place(f"{bucket}/runs")).fresh
    assert there.owner() is None
    for file in there.path.rglob("*"):
        assert SECRET.encode() not in file.read_bytes()
        assert KEY.encode() not in file.read_bytes()


def test_one_request_in_twenty_fails_and_answers_are_slow(job, bucket, faulty, tmp_path):
    here = run(job, tmp_path / "runs").folder
    proxy = faulty(every=20, seconds=0.005)
    there = run(job, place(f"{bucket}/runs")).folder
    assert contents(there.path) == contents(here.path)
    units = [event["unit"] for event in open_run(there.path).events if event["event"] == "unit"]
    assert len(units) == len(set(units))
    assert proxy.failed > 5


def test_killed_and_resumed(toys, job, bucket, tmp_path, invoke):
    job.write_text(JOB)
    here = run(job, tmp_path / "runs").folder
    runs = place(f"{bucket}/runs")
    process = start("run", job, "--workers", "0", "--runs", runs)
    until(lambda: (found := all_runs(runs)) and list((found[0].path / "units").iterdir()))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (there,) = all_runs(runs)
    assert there.read_state()["state"] == "interrupted"
    assert "interrupted" in invoke("status", there.id, "--runs", runs).stdout
    invoke("resume", there.id, "--workers", "0", "--runs", runs)  # at once: its process is gone
    assert contents(there.path) == contents(here.path)
    events = open_run(there.path).events
    units = [event["unit"] for event in events if event["event"] == "unit"]
    assert len(units) == len(set(units)) == 6 * 5 + 2
    assert any("broke off without a word" in event.get("message", "") for event in events)


@pytest.mark.slow
def test_of_two_writers_one_is_told_and_commands_see_the_other(toys, job, bucket, invoke, document):
    job.write_text(JOB.replace("0.03", "0.5"))
    runs = place(f"{bucket}/runs")
    process = start("run", job, "--workers", "0", "--runs", runs)
    try:
        until(lambda: (found := all_runs(runs)) and found[0].owner())
        (there,) = all_runs(runs)
        with pytest.raises(RunFolderError, match=f"being written by process {process.pid}"):
            run(job, runs)
        assert "being written" in invoke("rm", there.id, "--runs", runs, code=2).stderr
        assert document("list", "--runs", runs)[0]["state"] == "running"
        assert document("status", there.id, "--runs", runs)["state"] == "running"
        assert document("cancel", there.id, "--runs", runs)["asked"]
        assert process.wait(120) == 1
    finally:
        process.kill()
        told = process.communicate()[1]
    assert "cancelled" in told
    assert "Traceback" not in told
    assert there.read_state()["state"] == "cancelled"
    assert "cancelled" in invoke("watch", there.id, "--runs", runs).stdout
    assert "units to do" in invoke("logs", there.id, "--runs", runs).stdout
    assert len(document("logs", there.id, "-n", "1", "--runs", runs)["lines"]) == 1


def test_commands(job, bucket, invoke, document, monkeypatch, tmp_path):
    runs = f"{bucket}/runs"
    monkeypatch.setenv("MLFS_RUNS", runs)
    assert document("plan", job)["run"].startswith("tiny-")
    done = document("run", job, "--workers", "0")
    assert done["folder"] == f"{runs}/{done['run']}"
    assert document("run", job, "--workers", "0")["already_finished"]
    assert document("resume", done["run"])["already_finished"]
    again = document("run", job, "--workers", "0", "--force")
    assert again["run"] == f"{done['run']}-2"
    assert len(document("list")) == 2
    assert document("status", f"{runs}/{done['run']}")["state"] == "done"
    assert document("report", done["run"])["report"] == f"{runs}/{done['run']}/report.html"
    invoke("report", done["run"], "-o", tmp_path / "report.html")
    compared = ("--metric", "hamming_loss", "--at", "best", "--over", "folds")
    assert document("compare", done["run"], *compared)
    words = ("--run", done["run"], "--selector", "SPEC", "--top", "2", "-o", tmp_path / "e.csv")
    assert len(document("data", "export", *words)["features"]) == 2
    assert document("rm", done["run"], again["run"])["removed"] == [done["run"], again["run"]]
    assert document("list") == []
    assert not place(runs).is_dir()


def test_an_interrupted_removal_is_finished_and_nothing_is_taken_from_it(job, bucket, document):
    runs = place(f"{bucket}/runs")
    folder = run(job, runs).folder
    (runs / f".removed-{folder.id}").touch()
    folder.manifest.unlink()  # and now the remover is killed
    assert all_runs(runs) == []
    again = run(job, runs)
    assert again.fresh
    starts = [event for event in open_run(again.folder.path).events if event["event"] == "start"]
    assert [start["done"] for start in starts] == [0]


@pytest.mark.slow
def test_a_server_that_goes_away_ends_the_run_and_it_goes_on_later(
    job, bucket, faulty, tmp_path, monkeypatch
):
    monkeypatch.setattr("mlfs_dask.storage.bucket._RETRIES", 1)
    monkeypatch.setattr("mlfs_dask.storage.bucket._SECONDS_BETWEEN", 0.0)
    here = run(job, tmp_path / "runs").folder
    proxy = faulty()
    runs = place(f"{bucket}/runs")

    class GoesAway(Silent):
        def unit(self, outcome):
            proxy.faults.status = 500

    with pytest.raises(MachineError, match="status 500"):
        run(job, runs, progress=GoesAway())
    proxy.faults.status = None
    (there,) = all_runs(runs)
    with pytest.raises(RunFolderError, match="being written by"):
        resume_run(there)  # it could not take its leave, and its process lives
    with monkeypatch.context() as gone:
        gone.setattr("mlfs_dask.storage.claims._started", lambda pid: 0.0)
        resume_run(there)
    assert contents(there.path) == contents(here.path)


def test_a_missing_bucket_is_told_at_once(job, bucket, invoke):
    begun = time.monotonic()
    told = invoke("run", job, "--workers", "0", "--runs", "s3://none-of-these/runs", code=2).stderr
    assert "there is no bucket 'none-of-these'" in told
    for command in ("list",), ("status", "x"), ("rm", "x"), ("logs", "x"), ("cancel", "x"):
        assert "no bucket" in invoke(*command, "--runs", "s3://none-of-these/r", code=2).stderr
    assert time.monotonic() > begun


def test_secrets_in_job_files_and_options_are_refused_and_not_repeated(job, bucket, invoke):
    address = f"s3://{KEY}:{SECRET}@bucket/tiny.zarr"
    told = invoke("run", job, "--set", f'data.store="{address}"', code=2).stderr
    assert "user name, a password" in told
    assert KEY not in told
    told = invoke("list", "--runs", address, code=2).output
    assert KEY not in told
