"""Whichever worker is killed, and whenever: same bytes, nothing done twice."""

import random
import time

import pytest

from clusters import (
    LONG,
    SHORT,
    assert_told,
    check,
    events,
    mlfs,
    n_decided,
    n_units,
    owner_pid,
    state,
    submit,
    the_run,
    wait_for_progress,
    wait_until,
)
from mlfs_dask.jobs.lease import next_number

pytestmark = pytest.mark.cluster


def test_workers_killed_twice(cluster, job_of, tmp_path, env):
    """Of a scheduler with Dask's own patience, which is shorter."""
    path, undisturbed = job_of(SHORT.replace("delay = 0.05", "delay = 0.1"))
    for _ in range(2):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    for kill in range(2):
        wait_until(lambda least=3 * kill: n_decided(folder) > least)
        cluster.replace(cluster.workers[0])
    check(folder, undisturbed)
    assert_told(folder, env, "was lost" if "was lost" in lost(folder) else "broke off")


def holder(cluster, folder):
    """The worker that holds the coordinator, once there is one."""
    return wait_until(
        lambda: next((each for each in cluster.workers if each.pid == owner_pid(folder)), None)
    )


def lost(folder):
    return " ".join(event["message"] for event in events(folder, "incident"))


@pytest.mark.slow
def test_a_worker_killed_at_ten_random_moments(cluster, job_of, tmp_path, env):
    path, undisturbed = job_of(LONG.replace("delay = 0.3", "delay = 1.0"))
    for _ in range(3):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    moments = random.Random(7)
    for _ in range(10):
        wait_for_progress(folder)
        time.sleep(moments.uniform(0.0, 1.5))
        if state(folder) == "done":
            pytest.fail("the job is too short for ten kills")
        cluster.replace(moments.choice(cluster.workers))
    check(folder, undisturbed)
    assert_told(folder, env, "was lost")


@pytest.mark.slow
def test_every_worker_killed_once_in_turn(cluster, job_of, tmp_path, env):
    path, undisturbed = job_of(LONG)
    first = [cluster.add_worker() for _ in range(3)]
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    for number, worker in enumerate(first):
        wait_until(lambda least=4 * number: n_decided(folder) > least)
        cluster.replace(worker)
    check(folder, undisturbed)
    assert_told(folder, env, "broke off")  # one of them held the coordinator


@pytest.mark.slow
def test_all_workers_killed_at_once_and_none_for_a_while(cluster, job_of, tmp_path, env):
    path, undisturbed = job_of(LONG)
    for _ in range(2):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    wait_until(lambda: n_decided(folder) > 3)
    for worker in list(cluster.workers):
        cluster.kill(worker)
    time.sleep(3)
    cluster.add_worker()
    check(folder, undisturbed)
    assert_told(folder, env, "broke off")


@pytest.mark.slow
def test_a_job_of_200_units_survives_50_kills(cluster, job_of, tmp_path, env):
    """More than any task may lose by Dask's count; between kills something gets done."""
    text = LONG.replace("folds = 3, repeats = 2", "folds = 5, repeats = 8")
    path, undisturbed = job_of(text.replace("delay = 0.3", "delay = 0.1"))
    for _ in range(3):
        cluster.add_worker()
    submit(cluster, path, tmp_path)
    folder = the_run(tmp_path)
    moments, total = random.Random(11), 5 * 40 + 2
    for kill in range(50):
        wait_for_progress(folder)
        wait_until(lambda least=3 * kill: n_units(folder) >= least)
        time.sleep(moments.uniform(0, 0.5))
        any_of_them = moments.choice(cluster.workers)
        # Luck alone would once in some hundred runs spare the coordinator too often.
        cluster.replace(holder(cluster, folder) if kill % 4 == 0 else any_of_them)
    check(folder, undisturbed, total)
    assert next_number(folder.path) > 12
    assert_told(folder, env, "was lost")
    assert_told(folder, env, "broke off")


@pytest.mark.slow
def test_a_unit_that_kills_its_worker_fails_alone(cluster, job_of, tmp_path, env):
    """Others on the same workers are done; what kills is tried again when it is asked for."""
    poison = tmp_path / "poison"
    text = SHORT.replace("delay = 0.05", f"dies_with = '{poison}'\nfinal = false")
    path, undisturbed = job_of(text.replace('"kfold", folds = 3, repeats = 1', '"holdout"'))
    poison.touch()
    for _ in range(2):
        cluster.add_worker("--memory-limit", "0")  # their nannies start them again
    runs = ("--runs", tmp_path / "runs")
    said = mlfs(env, "run", path, "--scheduler-file", cluster.file, *runs, code=1)
    folder = the_run(tmp_path)
    assert state(folder) == "partial", said
    failed = events(folder, "failed")
    assert [event["error"] for event in failed] == ["WorkerDiedError", "NotRun"]
    assert all("toy" in event["what"] for event in failed)
    assert n_units(folder) == 2 + 2
    assert_told(folder, env, "with nothing beside it")
    poison.unlink()
    mlfs(env, "resume", folder.id, *runs, "--retry-failed", "--scheduler-file", cluster.file)
    check(folder, undisturbed)


@pytest.mark.slow
def test_a_worker_out_of_memory(cluster, job_of, tmp_path, env):
    food = tmp_path / "food"
    path, undisturbed = job_of(SHORT.replace("delay = 0.05", f"eats_with = '{food}'"))
    food.touch()
    for _ in range(2):
        cluster.add_worker("--memory-limit", "600MB")
    runs = ("--runs", tmp_path / "runs")
    mlfs(env, "run", path, "--scheduler-file", cluster.file, *runs)
    folder = the_run(tmp_path)
    check(folder, undisturbed)
    assert not food.exists()
    assert_told(folder, env, "of memory, above its limit")
