"""Nothing of a test row reaches selection or scaling.

Each test changes test rows only, in a way that any leak would show: a feature equal to a label
there, extremes that would squeeze min-max scaling, labels turned round, missing values. Selections
must not change in any bit; curves must not change where the change cannot touch predictions.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import registry
from mlfs_dask.evaluate import protocol
from mlfs_dask.graphs.discretize import find_bins
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rows import fold_of
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.jobs import TINY_JOB
from mlfs_dask.testing.tables import ArrayTable

SELECTORS = [
    ("spec", {"phi": phi, "similarity": similarity})
    for phi in (1, 2, 3)
    for similarity in ("jaccard", "rbf-labels", "rbf-features", "class")
] + [
    *(("mllap", {}), ("pmu", {}), ("mdmr", {}), ("variance", {}), ("chi2", {})),
    *(("mutual-info", {}), ("mddm", {}), ("mddm", {"constraint": "proj"})),
    *(("laplacian", {}), ("laplacian", {"t": "median"}), ("laplacian", {"weights": "supervised"})),
    *(("spec-wrapper", {"order": order}) for order in (1, 2)),
    *(("relief-wrapper", {"order": order, "n_neighbors": 3}) for order in (1, 2)),
    *(("mlrelieff", {"labels": labels, "n_neighbors": 3}) for labels in ("pairs", "sets")),
    *(("nrs-stream", {"dependency": dependency}) for dependency in ("hard", "consistency")),
    ("ofs-a3m", {"random_state": 0}),
    *(("nrs-cost", {"aggregate": aggregate}) for aggregate in ("conjunctive", "sum")),
    *(("mlnb", {"n_generations": 5, "pca": pca}) for pca in (None, 0.5)),
]


def make_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(48, 6)).round(2)
    Y = (X[:, :3] + rng.normal(size=(48, 3)) > 0).astype(np.uint8)
    return X, Y


def plant_label(X, Y, test):
    """Feature 5 tells label 0, on test rows only."""
    X[test, 5] = 100.0 * Y[test, 0]


def plant_extremes(X, Y, test):
    """Feature 4 spans a thousand times more on test rows: scaling with them would flatten it."""
    X[test, 4] *= 1000.0


def plant_heights(X, Y, test):
    """Test rows lie above all others: the values that bins are cut at would move, and means."""
    X[test] += 100.0


def turn_labels(X, Y, test):
    """Test labels are the opposite."""
    Y[test] = 1 - Y[test]


def plant_constant(X, Y, test):
    """Feature 3 is constant on the training rows and tells label 1 on test rows."""
    X[:, 3] = 0.0
    X[test, 3] = Y[test, 1]


@pytest.mark.parametrize(("method", "params"), SELECTORS, ids=lambda value: str(value))
@pytest.mark.parametrize("plant", [plant_label, plant_extremes, plant_heights, turn_labels])
def test_selection_sees_training_rows_only(method, params, plant):
    X, Y = make_rows(1)
    X = np.abs(X) if method == "chi2" else X
    test = np.arange(0, 48, 4)
    train = np.setdiff1d(np.arange(48), test)
    planted_X, planted_Y = X.copy(), Y.copy()
    plant(planted_X, planted_Y, test)
    records = [
        protocol.select(
            registry.get_selector(method, **params), as_source(x, y, tile=16).take(train)
        )
        for x, y in ((X, Y), (planted_X, planted_Y))
    ]
    assert records[0] == records[1]


def test_a_feature_that_only_test_rows_vary_counts_as_constant():
    X, Y = make_rows(2)
    test = np.arange(0, 48, 4)
    plant_constant(X, Y, test)
    train = np.setdiff1d(np.arange(48), test)
    record = protocol.select(registry.get_selector("spec"), as_source(X, Y).take(train))
    assert record["order"][-1] == 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_bins_are_cut_by_training_rows(form):
    X, Y = make_rows(4)
    test = np.arange(0, 48, 4)
    train = np.setdiff1d(np.arange(48), test)
    planted = X.copy()
    plant_heights(planted, Y, test)
    cuts = []
    for values in (X, planted):
        rows = as_source(form(values), tile=16).take(train)
        cuts.append(find_bins(rows, summarize_columns(rows), InProcess(1)).cut.tolist())
    assert cuts[0] == cuts[1] == np.sort(X[train], axis=0)[17].tolist()


@pytest.mark.parametrize("name", registry.names("classifiers"))
@given(seed=st.integers(0, 50))
def test_each_test_row_is_judged_as_if_it_were_alone(name, seed):
    """Scaling, neighbours and priors come from training rows: other test rows do not matter."""
    X, Y = make_rows(seed)
    test = np.arange(0, 48, 4)
    train = np.setdiff1d(np.arange(48), test)
    extreme = X.copy()
    extreme[test[1:]] *= 1000.0
    order, counts = np.arange(6), [2, 6]
    first = []
    for values in (X, extreme):
        rows = as_source(values, Y, tile=16)
        curve = registry.get_classifier(name).curve(
            rows.take(train), rows.take(test), order, counts
        )
        first.append([proba[0].tolist() for _, proba in curve])
    assert first[0] == first[1]


@pytest.mark.parametrize("plant", [plant_label, plant_extremes])
def test_a_whole_job_does_not_notice_what_is_planted_in_a_test_fold(plant, tmp_path):
    """Fold 0's test rows are changed: its selections stay, and so do its curves that leave out
    the changed feature."""
    selections, curves = [], []
    for number in (0, 1):
        X, Y = make_rows(3)
        stores = tmp_path / "stores"
        stores.mkdir(exist_ok=True)
        path = stores / f"store{number}.zarr"
        ingest(ArrayTable(X, Y), path, tile=16, name="tiny")
        text = TINY_JOB.replace('store = "tiny"', f'store = "{path}"')
        job = parse_job(text.encode(), "job.toml", ["run.workers=0", "evaluate.split.repeats=1"])
        if number == 1:
            fold = fold_of(job, open_datasets(job)[0], 0, 0)
            plant(X, Y, fold.test)
            ingest(ArrayTable(X, Y), path, tile=16, name="tiny", overwrite=True)
        run = open_run(run_job(Order(job=job, text=text.encode())).folder.path)
        selections.append([s for s in run.selections if s["fold"] == 0])
        curves.append(run.evaluation[run.evaluation["fold"] == 0])
    assert selections[0] == selections[1]
    changed = {plant_label: 5, plant_extremes: 4}[plant]
    untouched = 0
    for row, other in zip(*curves, strict=True):
        order = next(
            (s["order"] for s in selections[0] if s["selector"] == row["selector"]), range(6)
        )
        if changed not in order[: int(row["n_features"])]:
            assert repr(row) == repr(other)  # NaN equals NaN here
            untouched += 1
    assert untouched > 0
