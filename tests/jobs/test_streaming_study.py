"""The study of paper D: planned as shipped, and run on small made data of the same names."""

import numpy as np
import pytest

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import read_job
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.jobs.results import open_run
from mlfs_dask.resources import declaration
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

PATH = declaration("jobs/streaming-study.toml")


@pytest.fixture
def small_stores(tmp_path):
    """A store of each name: numbers, or 0/1 as those of texts."""
    rng = np.random.default_rng(1)
    for name in read_job(PATH).data.store:
        X = rng.random((40, 9)).round(2)
        Y = (X[:, :3] + 0.3 * rng.normal(size=(40, 3)) > 0.6).astype(np.uint8)
        X = (X > 0.5) * 1.0 if name in ("medical", "enron") else X
        ingest(ArrayTable(X, Y), tmp_path / "stores" / f"{name}.zarr", name=name)


def test_the_study_is_planned(small_stores):
    job = read_job(PATH)
    assert len(job.data.store) >= 6
    assert len(job.evaluate.metrics) == 5
    made = make_plan(job, open_datasets(job))
    assert made.n_selections == 11 * (12 * len(job.data.store) + 4)  # MLNB on four
    assert len(job.compare.labels) == 12


def test_rankings_get_as_many_features_as_the_stream_keeps(small_stores):
    quick = (
        'data.store=["emotions", "medical"]',
        "select.12.datasets=['emotions']",
        "select.12.n_generations=1",
    )
    job = read_job(PATH, ("evaluate.split.folds=2", "run.workers=0", *quick))
    finished = run_job(Order(job=job, text=PATH.read_bytes()))
    assert [failure.message for _, failure in finished.failures] == []
    run = open_run(finished.folder.path)
    rows = run.evaluation
    own = {"nrs-stream", "OFS-A3M", "nrs-stream, random order", "MLNB"}
    for selection in run.selections:
        if selection["fold"] is None or selection["selector"] != "nrs-stream":
            continue
        here = (rows["dataset"] == selection["dataset"]) & (rows["fold"] == selection["fold"])
        for selector in {*rows["selector"].tolist()} - own - {"all"}:
            counts = rows["n_features"][here & (rows["selector"] == selector)]
            assert set(counts.tolist()) == {len(selection["support"])}
    tested = run.tests["comparisons"]
    assert [comparison["metric"] for comparison in tested] == list(job.evaluate.metrics)
    assert all(len(comparison["rows"]) == len(job.data.store) for comparison in tested)


@pytest.mark.slow
def test_the_study_on_real_data(mlfs_data):
    job = read_job(
        PATH,
        (
            "evaluate.split.folds=2",
            'data.store=["emotions", "medical"]',
            'select.12.datasets=["emotions"]',
        ),
    )
    finished = run_job(Order(job=job, text=PATH.read_bytes()))
    best = open_run(finished.folder.path).evaluation
    best = best[best["metric"] == "average_precision"]
    assert best["value"].min() > 0.3
