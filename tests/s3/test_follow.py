"""A run that follows a store in a bucket."""

import threading
import time

import numpy as np
import pytest

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rundir import all_runs
from mlfs_dask.storage.append import append, close
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.places import place
from mlfs_dask.testing.tables import ArrayTable

JOB = """
schema = 1
name = "grow"
[data]
store = "{store}"
[[select]]
method = "nrs-stream"
follow = true
"""


@pytest.mark.slow
def test_blocks_in_a_bucket_are_picked_up(bucket, tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 4)), (rng.random((30, 2)) < 0.4).astype(np.uint8)
    names = ("a", "b", "c", "d")
    store = place(f"{bucket}/grow.zarr")
    ingest(ArrayTable(X[:, :2], Y, feature_names=names[:2]), store, tile=16, name="grow")

    def later():
        end = time.monotonic() + 120
        while time.monotonic() < end:
            found = all_runs(tmp_path)
            if found and found[0].read_state().get("waiting"):
                break
            time.sleep(0.05)
        append(store, ArrayTable(X[:, 2:], Y, feature_names=names[2:]))
        close(store)

    thread = threading.Thread(target=later, daemon=True)
    thread.start()
    text = JOB.format(store=store)
    job = parse_job(text.encode(), "grow.toml", ("run.workers=0",))
    finished = run_job(Order(job=job, text=text.encode(), runs=tmp_path))
    thread.join()
    run = open_run(finished.folder.path)
    assert [step["feature"] for step in run.selection("nrs-stream")["path"]] == [0, 1, 2, 3]
    assert [event["block"] for event in run.events if event["event"] == "block"] == [1]
    assert tuple(run.datasets["grow"]["features"]) == names
