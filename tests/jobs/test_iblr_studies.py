"""The studies of paper C: planned as shipped, and their tables beside the printed ones."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import read_job
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.jobs.results import open_run
from mlfs_dask.resources import declaration
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

TABLE_2 = declaration("jobs/iblr-study.toml")
TABLE_3 = declaration("jobs/iblr-binary-study.toml")
COLUMNS = ["IBLR-ML+", "IBLR-ML", "MLKNN", "LP", "BR-LR", "BR-C4.5", "BR-KNN"]
# Paper C, Table 2, the rows of emotions.
EMOTIONS = {
    "hamming_loss": [0.213, 0.185, 0.263, 0.265, 0.214, 0.253, 0.191],
    "one_error": [0.278, 0.257, 0.393, 0.430, 0.278, 0.422, 0.265],
    "coverage": [1.844, 1.689, 2.258, 2.576, 1.836, 2.608, 1.771],
    "ranking_loss": [0.168, 0.146, 0.258, 0.499, 0.168, 0.372, 0.183],
    "average_precision": [0.794, 0.816, 0.710, 0.683, 0.794, 0.683, 0.805],
}
# How far from them ours may be: with other folds the one-error of ML-kNN alone goes from 0.369 to
# 0.401 (20 seeds, one repeat each). Trees are read from the paper's words only.
LIMITS = {"hamming_loss": 0.005, "one_error": 0.016, "coverage": 0.03}
LIMITS |= {"ranking_loss": 0.005, "average_precision": 0.005}
LIMITS_OF_TREES = dict.fromkeys(LIMITS, 0.02) | {"coverage": 0.1}
# Paper C, Table 3: IBLR-ML+ and IBLR-ML.
BINARY = {
    "breast-cancer": (0.280, 0.252),
    "breast-w": (0.037, 0.037),
    "colic": (0.195, 0.176),
    "credit-a": (0.135, 0.132),
    "credit-g": (0.229, 0.265),
    "diabetes": (0.233, 0.263),
    "heart-statlog": (0.170, 0.193),
    "hepatitis": (0.175, 0.192),
    "ionosphere": (0.117, 0.117),
    "kr-vs-kp": (0.018, 0.044),
    "labor": (0.210, 0.130),
    "mushroom": (0.000, 0.000),
    "sick": (0.030, 0.039),
    "tic-tac-toe": (0.125, 0.137),
}


def run(path, *overrides):
    job = read_job(path, overrides)
    finished = run_job(Order(job=job, text=path.read_bytes()))
    assert [failure.message for _, failure in finished.failures] == []
    return open_run(finished.folder.path)


def mean(done, dataset, classifier, metric):
    rows = done.evaluation
    here = rows["dataset"] == dataset
    here &= (rows["classifier"] == classifier) & (rows["metric"] == metric)
    return np.mean(rows["value"][here])


@pytest.fixture
def small_stores(tmp_path):
    """Stores of the names of both studies, of 40 rows."""
    rng = np.random.default_rng(1)
    for path, n_labels in ((TABLE_2, 3), (TABLE_3, 1)):
        for name in read_job(path).data.store:
            X = rng.random((40, 5)).round(2)
            Y = (X[:, :n_labels] + 0.3 * rng.normal(size=(40, n_labels)) > 0.6).astype(np.uint8)
            ingest(ArrayTable(X, Y), tmp_path / "stores" / f"{name}.zarr", name=name)


@pytest.mark.parametrize(
    ("path", "datasets", "classifiers"), [(TABLE_2, 4, 7), (TABLE_3, 14, 4)], ids=["2", "3"]
)
def test_the_studies_are_planned(small_stores, path, datasets, classifiers):
    job = read_job(path)
    assert len(job.data.store) == datasets
    made = make_plan(job, open_datasets(job))
    assert made.n_selections == 0
    assert made.n_curves == datasets * classifiers * 5 * 10


def test_classifiers_are_ranked_over_the_data_sets(small_stores):
    done = run(TABLE_2, "evaluate.split={ kind = 'kfold', folds = 2 }", "run.workers=0")
    tested = done.tests["comparisons"]
    assert [one["metric"] for one in tested] == list(EMOTIONS)
    for one in tested:
        assert one["methods"] == COLUMNS
        assert len(one["rows"]) == 4
        assert (one["test"]["name"], one["post_hoc"]["name"]) == ("friedman", "nemenyi")
        assert one["post_hoc"]["critical_difference"] == pytest.approx(4.504, abs=1e-3)


@pytest.mark.slow
def test_table_2_on_emotions(mlfs_data):
    done = run(TABLE_2, 'data.store=["emotions"]', 'compare.over="folds"')
    for metric, printed in EMOTIONS.items():
        found = [mean(done, "emotions", column, metric) for column in COLUMNS]
        limits = [
            (LIMITS_OF_TREES if column in ("LP", "BR-C4.5") else LIMITS)[metric]
            for column in COLUMNS
        ]
        assert (np.abs(np.subtract(found, printed)) <= limits).all(), metric
        assert spearmanr(found, printed).statistic >= 0.9, metric


@pytest.mark.slow
def test_table_3(mlfs_data):
    done = run(TABLE_3, "evaluate.split.repeats=1")
    for position, column in enumerate(("IBLR-ML+", "IBLR-ML")):
        apart = {
            name: abs(mean(done, name, column, "hamming_loss") - printed[position])
            for name, printed in BINARY.items()
        }
        assert sum(distance <= 0.02 for distance in apart.values()) >= 11
        # There the paper's distances took codes of values for numbers.
        assert apart["tic-tac-toe"] > 0.1
