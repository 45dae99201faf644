"""The studies of papers A and B: planned as shipped, run on small made data of the same names."""

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

SPECTRAL = declaration("jobs/spectral-filter-study.toml")
MLLAP = declaration("jobs/mllap-study.toml")
QUICK = ("select.3.n_generations=4", "run.workers=0")


def run(path, *overrides):
    job = read_job(path, overrides)
    finished = run_job(Order(job=job, text=path.read_bytes()))
    assert [failure.message for _, failure in finished.failures] == []
    return open_run(finished.folder.path)


@pytest.fixture
def small_stores(tmp_path):
    """A store of each name; the Yahoo sets have a split."""
    rng = np.random.default_rng(1)
    for path in (SPECTRAL, MLLAP):
        for name in read_job(path).data.store:
            X = (rng.random((60, 10)) < 0.4) * rng.random((60, 10)).round(2)
            Y = (X[:, :3] + 0.2 * rng.random((60, 3)) > 0.3).astype(np.uint8)
            split = np.where(np.arange(60) < 25, 1, 2).astype(np.uint8)
            shipped = {"split": split} if path == MLLAP else {}
            table = ArrayTable(X, Y, **shipped)
            ingest(table, tmp_path / "stores" / f"{name}.zarr", name=name)


def test_the_study_of_paper_a_is_planned(small_stores):
    job = read_job(SPECTRAL)
    made = make_plan(job, open_datasets(job))
    assert made.n_selections == 4 * 4 * 11  # each set has two filters and two wrappers
    assert made.n_curves == 4 * 5 * 10
    four_points = [s.label for s in job.select if s.label.endswith("four points")]
    assert [s.label for s in job.selects_on("tmc2007-500-fixed")][2:] == four_points


def test_wrappers_of_paper_a_are_judged_per_label(small_stores):
    overrides = ("evaluate.split.folds=2", "run.workers=0")
    finished = run(SPECTRAL, *overrides)
    rows = finished.evaluation
    for selection in finished.selections:
        wrapped = selection["selector"].startswith("wrapper")
        assert (selection["problems"] == [[0], [1], [2]]) is wrapped
    # Of ten features, the twenty shares are ten numbers.
    for selector, n_points in (("wrapper-SPEC", 10), ("wrapper-SPEC, four points", 4)):
        here = (rows["selector"] == selector) & (rows["metric"] == "hamming_loss")
        per_fold = rows[here & (rows["fold"] == 0)]
        assert len(per_fold) == n_points * len({*per_fold["dataset"].tolist()})


def test_the_study_of_paper_b_is_planned(small_stores):
    job = read_job(MLLAP)
    assert len(job.data.store) == 6
    assert len(job.evaluate.metrics) == 5
    made = make_plan(job, open_datasets(job))
    assert (made.n_selections, made.n_curves) == (6 * 5 * 2, 6 * 6)


def test_rankings_of_paper_b_get_as_many_features_as_the_genetic_search(small_stores):
    finished = run(MLLAP, *QUICK)
    rows = finished.evaluation
    for selection in finished.selections:
        if selection["selector"] != "MLNB" or selection["fold"] is None:
            continue
        here = (rows["dataset"] == selection["dataset"]) & (rows["selector"] != "all")
        assert {*rows["n_features"][here].tolist()} == {len(selection["support"])}
    tested = finished.tests["comparisons"]
    assert [comparison["metric"] for comparison in tested] == list(
        finished.job["evaluate"]["metrics"]
    )
    assert all(len(comparison["rows"]) == 6 for comparison in tested)
    assert {len(comparison["methods"]) for comparison in tested} == {5}


@pytest.mark.slow
def test_the_study_of_paper_a_on_real_data(mlfs_data):
    moved = [f'select.{place}.datasets=["emotions"]' for place in (4, 5)]
    finished = run(SPECTRAL, 'data.store=["emotions", "yeast", "medical"]', *moved)
    rows = finished.evaluation
    assert rows["value"][rows["metric"] == "average_precision"].min() > 0.3


@pytest.mark.slow
def test_the_study_of_paper_b_on_real_data(mlfs_data):
    """All features of Arts have the measures that Zhang & Zhou 2007 published."""
    stores = 'data.store=["yahoo-mlnb-arts", "yahoo-mlnb-education"]'
    rows = run(MLLAP, stores, "select.3.n_generations=2").evaluation
    rows = rows[(rows["dataset"] == "yahoo-mlnb-arts") & (rows["selector"] == "all")]
    found = {str(row["metric"]): float(row["value"]) for row in rows}
    assert found["coverage"] == pytest.approx(5.4313, abs=0.02)
    assert found["hamming_loss"] == pytest.approx(0.0612, abs=0.0005)
    assert found["one_error"] == pytest.approx(0.6330, abs=0.002)
    assert found["ranking_loss"] == pytest.approx(0.1514, abs=0.002)
    assert found["average_precision"] == pytest.approx(0.5097, abs=0.002)
