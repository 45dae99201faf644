"""The tiny job, run in process."""

from pathlib import Path

import pytest

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


@pytest.fixture
def tiny_store(tmp_path: Path):
    return make_tiny_store(tmp_path / "stores")


@pytest.fixture
def run_tiny(tiny_store, tmp_path):
    """Run the tiny job (or a text) with overrides; returns what `run_job` returns."""

    def run(*overrides: str, text: str = TINY_JOB, **order):
        job = parse_job(text.encode(), "tiny.toml", ("run.workers=0", *overrides))
        order.setdefault("runs", tmp_path / "runs")
        return run_job(Order(job=job, text=text.encode(), file="tiny.toml", **order))

    return run
