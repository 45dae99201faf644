"""Peaks of real runs, each in a process of its own, against what their plans say."""

import os
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from processes import run_command

MLFS = [sys.executable, "-c", "from mlfs_dask.cli import main; main()"]
JOB = """
schema = 1
name = "peak"
[data]
store = "{store}"
[[select]]
method = "{method}"
{params}
"""


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Rows like text: many features, few of them in a row; and dense ones."""
    folder = tmp_path_factory.mktemp("stores")
    rng = np.random.default_rng(0)
    Y = (rng.random((6000, 12)) < 0.2).astype(np.uint8)
    text = sp.random(6000, 20_000, density=0.004, format="csr", rng=rng)
    wide = (rng.random((6000, 400)) * 100).round(3)
    for name, X in (("text", text), ("wide", wide)):
        ingest(ArrayTable(X, Y), folder / f"{name}.zarr", name=name)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("store", ["text", "wide"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("spec", ""),
        ("mllap", ""),
        ("chi2", ""),
        ("mutual-info", ""),
        ("pmu", "n_features_to_select = 10"),
        ("spec-wrapper", "order = 2"),
        ("laplacian", ""),
        ("mlrelieff", ""),
    ],
)
def test_peaks_are_within_half_of_what_was_planned(
    stores, tmp_path, monkeypatch, store, method, params
):
    monkeypatch.setenv("MLFS_STORES", str(stores))
    text = JOB.format(store=store, method=method, params=params)
    file = tmp_path / "peak.toml"
    file.write_text(text)
    job = parse_job(text.encode(), "peak.toml", ("run.workers=0",))
    planned = make_plan(job, open_datasets(job), runs=tmp_path / "runs").memory_bytes
    command = [*MLFS, "run", str(file), "--workers", "0", "--runs", str(tmp_path / "runs")]
    run_command([*command, "--force"], env=dict(os.environ))  # compiles what nobody has
    peak = run_command([*command, "--force"], env=dict(os.environ)).peak_bytes
    assert planned / 1.5 < peak < 1.5 * planned, f"{peak / 2**20:.0f} MiB"
