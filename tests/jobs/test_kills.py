"""kill -9 of ``mlfs run`` and all its workers at random moments, then ``mlfs resume``."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.testing.jobs import TINY_JOB

JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.02').replace(
    "repeats = 2", "repeats = 3"
)
MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]


def start(*words, runs):
    return subprocess.Popen(
        [*MLFS, *words, "--runs", str(runs)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a group of its own: the kill takes its workers too
    )


def kill_group(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()


def finish(process):
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told.decode()


def killed_until_done(job, runs, workers, kills, rng):
    """Start a job and kill it over and over; returns how often it was hit before it was done."""
    words = ("run", str(job), "--workers", workers)
    for hits in range(kills):
        process = start(*words, runs=runs)
        try:
            process.wait(timeout=rng.uniform(0.5, 8.0 if workers != "0" else 4.0))
        except subprocess.TimeoutExpired:
            kill_group(process)
        else:
            finish(process)
            return hits
        found = all_runs(runs)
        # Killed before the run's folder was whole, there is nothing to resume.
        words = ("resume", found[0].id, "--workers", workers) if found else words
    finish(start(*words, runs=runs))
    return kills


def check(job, runs, workers, kills, undisturbed):
    rng, left, number = random.Random(int(workers)), kills, 0
    while left > 0:
        place = runs / f"{workers}-{number}"
        number += 1
        left -= max(1, killed_until_done(job, place, workers, left, rng))
        (folder,) = all_runs(place)
        assert folder.results.read_bytes() == undisturbed[0]
        assert folder.evaluation.read_bytes() == undisturbed[1]
        events = open_run(folder.path).events
        units = [event["unit"] for event in events if event["event"] == "unit"]
        assert len(units) == len(set(units)) == 9 * 5 + 2, "a finished unit was run again"
        steps = [(e["unit"], e["first"]) for e in events if e["event"] == "step"]
        assert len(steps) == len(set(steps)) == 10 * 8, "a decision was made again"


@pytest.fixture
def job(toys, tiny_store, tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(JOB)
    return path


@pytest.fixture
def undisturbed(job, run_tiny, tmp_path):
    folder = run_tiny(text=JOB, runs=tmp_path / "undisturbed").folder
    return folder.results.read_bytes(), folder.evaluation.read_bytes()


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.cluster)])
def test_a_run_killed_at_random_moments_ends_with_the_same_bytes(
    job, undisturbed, tmp_path, workers
):
    check(job, tmp_path / "runs", workers, 3, undisturbed)


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("workers", ["0", "2"])
def test_fifty_kills(job, undisturbed, tmp_path, workers):
    """Twenty-five in process, twenty-five with two workers."""
    began = time.monotonic()
    check(job, tmp_path / "runs", workers, 25, undisturbed)
    assert time.monotonic() > began
