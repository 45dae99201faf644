"""A job submitted to workers: stores and run by address, no folder is shared."""

import json

import pytest

from clusters import (
    Cluster,
    check,
    environment,
    mlfs,
    owner_pid,
    run_undisturbed,
    state,
    wait_until,
)
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.places import place
from mlfs_dask.testing.jobs import TINY_JOB, tiny_table

JOB = TINY_JOB.replace('method = "mllap"', 'method = "toy-online"\ndelay = 0.1')


@pytest.mark.cluster
@pytest.mark.slow
def test_a_submitted_run_outlives_its_coordinator(toys, bucket, faulty, tmp_path, monkeypatch):
    ingest(tiny_table(), place(f"{bucket}/stores/tiny.zarr"), tile=16, name="tiny")
    monkeypatch.setenv("MLFS_STORES", f"{bucket}/stores")
    undisturbed = run_undisturbed(JOB, tmp_path)
    faulty(every=20)
    job, runs = tmp_path / "tiny.toml", place(f"{bucket}/runs")
    job.write_text(JOB)
    cluster = Cluster(tmp_path, environment())
    try:
        workers = {each.pid: each for each in (cluster.add_worker(), cluster.add_worker())}
        words = ("submit", job, "--scheduler-file", cluster.file, "--runs", runs, "--json")
        submitted = json.loads(mlfs(cluster.env, *words))
        assert submitted["folder"] == f"{runs}/{submitted['run']}"
        (folder,) = all_runs(runs)
        pid = wait_until(lambda: owner_pid(folder))
        wait_until(lambda: list(folder.units.iterdir()))
        cluster.kill(workers[pid])
        cluster.add_worker()
        check(folder, undisturbed, 6 * 5 + 2)
        assert state(folder) == "done"
        assert "done" in mlfs(cluster.env, "watch", folder.id, "--runs", runs)
    finally:
        cluster.stop()
