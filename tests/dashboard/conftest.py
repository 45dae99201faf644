"""The tiny job, run once; a scheduler in this process that shows it."""

import shutil

import pytest
from served import serve

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory):
    """A folder with one finished run."""
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFS_STORES", str(folder / "stores"))
        make_tiny_store(folder / "stores")
        job = parse_job(TINY_JOB.encode(), "tiny.toml", ("run.workers=0",))
        run_job(Order(job=job, text=TINY_JOB.encode(), runs=folder / "runs"))
    return folder / "runs"


@pytest.fixture
def runs(tmp_path, tiny_runs):
    """A folder with a run of its own for each test."""
    return shutil.copytree(tiny_runs, tmp_path / "runs")


@pytest.fixture
def served(runs):
    """A scheduler that shows the runs."""
    with serve(runs) as pages:
        yield pages
