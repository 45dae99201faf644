"""A plan that cannot fit names a size that would, and a run of that size fits."""

import os
import sys

import numpy as np
import pytest

from mlfs_dask.errors import PlanError
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from processes import run_command

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
JOB = """
schema = 1
name = "fits"
[data]
store = "{store}"
[[select]]
method = "{method}"
[run]
memory_per_worker = "{memory}"
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.random((4000, 1200)), (rng.random((4000, 6)) < 0.3).astype(np.uint8)


def write(tmp_path, store, method, memory):
    file = tmp_path / "fits.toml"
    file.write_text(JOB.format(store=store, method=method, memory=memory))
    return file


def plan(file, workers):
    job = parse_job(file.read_bytes(), str(file), (f"run.workers={workers}",))
    return make_plan(job, open_datasets(job), runs=file.parent / "runs")


def run(file, workers):
    folder = str(file.parent / "runs")
    command = [*MLFS, "run", str(file), "--workers", str(workers), "--runs", folder, "--force"]
    return run_command(command, env=dict(os.environ))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "workers"),
    [
        ("spec", 0),
        ("laplacian", 0),
        ("mlrelieff", 0),
        pytest.param("spec", 1, marks=pytest.mark.cluster),
        pytest.param("laplacian", 1, marks=pytest.mark.cluster),
    ],
)
def test_a_run_with_the_memory_that_is_named_fits(rows, tmp_path, method, workers):
    store = tmp_path / "wide.zarr"
    ingest(ArrayTable(*rows), store, name="wide")
    file = write(tmp_path, store, method, "320 MiB")
    with pytest.raises(PlanError) as caught:
        plan(file, workers)
    enough = caught.value.facts["enough"]
    file = write(tmp_path, store, method, f"{enough // 2**20} MiB")
    assert plan(file, workers).memory_bytes <= enough
    cost = run(file, workers)  # a worker beyond its limit would be ended, and with it the run
    if workers == 0:
        assert cost.peak_bytes <= enough
