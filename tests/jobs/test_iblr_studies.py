"""The studies of paper C: planned as shipped, and their tables beside the printed ones."""

import json
import tomllib

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
from paper_c import COLUMNS, MEASURES, agreement, cells

TABLE_2 = declaration("jobs/iblr-study.toml")
TABLE_3 = declaration("jobs/iblr-binary-study.toml")
# One-errors of emotions that other folds move further: one repeat of MLKNN goes from 0.369 to 0.401
# over 20 seeds, and a repeat of any column has a standard deviation of 0.007 to 0.011.
FOLDS = 0.016
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
    assert [one["metric"] for one in tested] == MEASURES
    for one in tested:
        assert one["methods"] == COLUMNS
        assert len(one["rows"]) == 4
        assert (one["test"]["name"], one["post_hoc"]["name"]) == ("friedman", "nemenyi")
        assert one["post_hoc"]["critical_difference"] == pytest.approx(4.504, abs=1e-3)


@pytest.mark.slow
def test_table_2_on_emotions(mlfs_data):
    found = cells(run(TABLE_2, 'data.store=["emotions"]', 'compare.over="folds"'))
    assert len(found) == 5 * 7
    for cell in found:
        assert cell.inside or (cell.measure == "one_error" and abs(cell.apart) <= FOLDS), cell
    assert min(agreement(found, ["emotions"]).values()) >= 0.9


@pytest.mark.slow
def test_table_2_by_neighbours(mlfs_data):
    """The columns by neighbours on all data of the study; on genbase as far as decisions go."""
    kept = ("IBLR-ML", "MLKNN", "BR-KNN")
    entries = tomllib.loads(TABLE_2.read_text())["evaluate"]["classifier"]
    inline = [
        "{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in entry.items()) + "}"
        for entry in entries
        if entry["label"] in kept
    ]
    only = f"evaluate.classifier=[{', '.join(inline)}]"
    found = cells(run(TABLE_2, only))
    assert len(found) == 4 * 5 * len(kept)
    for cell in found:
        folds = cell.measure == "one_error" and abs(cell.apart) <= FOLDS
        of_rare_labels = (cell.dataset, cell.column) == ("genbase", "IBLR-ML")
        assert cell.inside or folds or of_rare_labels, cell


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
