"""The study of paper A with calibrated label ranking: planned as shipped, run on small data."""

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

PATH = declaration("jobs/spectral-clr-study.toml")
SELECTORS = {
    "filter-SPEC Jaccard",
    "filter-SPEC RBF",
    "wrapper-SPEC [order 2]",
    "wrapper-Relief [order 2]",
}


def run(*overrides):
    job = read_job(PATH, overrides)
    finished = run_job(Order(job=job, text=PATH.read_bytes()))
    assert [failure.message for _, failure in finished.failures] == []
    return open_run(finished.folder.path)


def means(done, share):
    """Selector -> its mean average precision at a share of the features."""
    rows = done.evaluation
    at = np.isclose(rows["share"], share, atol=0.01)
    return {name: rows["value"][at & (rows["selector"] == name)].mean() for name in SELECTORS}


@pytest.fixture
def small_stores(tmp_path):
    rng = np.random.default_rng(1)
    for name in read_job(PATH).data.store:
        X = rng.random((40, 10)).round(2)
        Y = (X[:, :3] + 0.3 * rng.normal(size=(40, 3)) > 0.6).astype(np.uint8)
        ingest(ArrayTable(X, Y), tmp_path / "stores" / f"{name}.zarr", name=name)


def test_the_study_is_planned(small_stores):
    job = read_job(PATH)
    assert {*job.data.store} == {"emotions", "yeast", "medical"}
    made = make_plan(job, open_datasets(job))
    assert made.n_selections == 3 * 6 * 11  # the wrappers select for labels and for pairs
    assert made.n_curves == 3 * 5 * 10


def test_wrappers_give_each_pair_of_labels_its_own_features(small_stores):
    done = run("evaluate.split.folds=2", 'data.store=["emotions"]', "run.workers=0")
    assert {*done.evaluation["selector"].tolist()} == {*SELECTORS, "all"}
    pairs = [s for s in done.selections if s["selector"] == "wrapper-SPEC [order 2]"]
    assert pairs[0]["problems"] == [[0, 1], [0, 2], [1, 2]]
    (tested,) = done.tests["comparisons"]
    assert {*tested["methods"]} == SELECTORS
    assert len(tested["rows"]) == 2
    limit = tested["post_hoc"]["critical_difference"]
    assert limit == pytest.approx(2.569 * (20 / 12) ** 0.5, rel=1e-3)
    # With all features the selection makes no difference.
    assert len({round(value, 12) for value in means(done, 1.0).values()}) == 1


@pytest.mark.slow
def test_few_features_are_enough_on_emotions(mlfs_data):
    """As good as all are a fifth of them, the fifth that Relief takes for each pair of labels."""
    done = run("evaluate.split.folds=5", 'data.store=["emotions"]')
    fifth, full = means(done, 0.2), means(done, 1.0)
    assert min(full.values()) > 0.72
    assert fifth["wrapper-Relief [order 2]"] > full["wrapper-Relief [order 2]"] - 0.01
    assert min(fifth.values()) > 0.6
