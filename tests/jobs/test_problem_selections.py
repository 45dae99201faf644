"""Jobs whose selectors choose features for each label: what is kept, and how it is judged."""

import json

import numpy as np
import pytest

import mlfs_dask
from mlfs_dask.evaluate import splits
from mlfs_dask.evaluate.metrics import score_all
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

FOLDS, SEED, COSTS = 2, 3, np.arange(1.0, 9.0)
METRICS = ("hamming_loss", "average_precision")
JOB = """
schema = 1
name = "problems"
seed = 3
[data]
store = "{store}"
costs = "store"
[evaluate]
split = {{ kind = "kfold", folds = 2 }}
features = {features}
metrics = ["hamming_loss", "average_precision"]
[[evaluate.classifier]]
method = "mlknn"
n_neighbors = 3
[run]
workers = 0
"""
SELECT = '[[select]]\nmethod = "{}"\n'


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(70, 8)).round(2)
    Y = (X[:, [0, 3, 5]] + 0.3 * rng.normal(size=(70, 3)) > 0).astype(np.uint8)
    return X, Y


@pytest.fixture
def run(data, tmp_path):
    """Runs a job with some selectors; gives the run."""

    def make(features, *selects):
        X, Y = data
        path = tmp_path / "rows.zarr"
        ingest(ArrayTable(X, Y, feature_cost=COSTS), path, tile=16, name="rows", overwrite=True)
        text = JOB.format(store=path, features=features) + "".join(selects)
        job = parse_job(text.encode(), "problems.toml", ())
        finished = run_job(Order(job=job, text=text.encode(), runs=tmp_path / "runs"))
        assert [failure.message for _, failure in finished.failures] == []
        return open_run(finished.folder.path)

    return make


def judged(data, fold, subsets):
    """Measures of ML-kNN fitted with features per label."""
    X, Y = data
    model = mlfs_dask.get_classifier("mlknn", n_neighbors=3)
    model.fit(X[fold.train], Y[fold.train], feature_subsets=subsets)
    proba = model.predict_proba(X[fold.test])
    found = score_all(METRICS, Y[fold.test], proba, model.decide(proba))
    return {name: score.value for name, score in found.items()}


def points(run, selector):
    """evaluation.csv of one selector: (fold, n_features) -> the row's numbers and measures."""
    found = {}
    for row in run.evaluation[run.evaluation["selector"] == selector]:
        key = int(row["fold"]), float(row["n_features"])
        held = found.setdefault(key, {"share": row["share"], "cost_share": row["cost_share"]})
        held[str(row["metric"])] = float(row["value"])
    return found


def check(run, data, selector, chosen):
    """Every point is what `chosen` says the labels' features are, means of sizes and costs."""
    found = points(run, selector)
    expected = {}
    for fold in splits.kfold_repeats(70, FOLDS, SEED, 1):
        record = next(
            s for s in run.selections if s["selector"] == selector and s["fold"] == fold.fold
        )
        for subsets in chosen(record):
            sizes = [len(subset) for subset in subsets]
            costs = [COSTS[subset].sum() / COSTS.sum() for subset in subsets]
            size = np.mean(sizes)
            expected[fold.fold, float(size)] = {
                "share": size / 8,
                "cost_share": np.mean(costs),
                **judged(data, fold, subsets),
            }
    assert sorted(found) == sorted(expected)
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers, nan_ok=True)


@pytest.mark.parametrize("method", ["spec-wrapper", "relief-wrapper"])
def test_curves_take_each_labels_own_features(run, data, method):
    finished = run("{ counts = [1, 4, 8] }", SELECT.format(method))
    record = finished.selection(method)
    assert record["problems"] == [[0], [1], [2]]
    assert np.array(record["scores"]).shape == (3, 8)
    assert [sorted(order) for order in record["order"]] == [list(range(8))] * 3
    assert record["support"] == [list(range(8))] * 3
    assert record["cost"] == COSTS.sum()
    assert [order[0] for order in record["order"]] == [0, 3, 5] or method == "spec-wrapper"
    assert finished.order(method).shape == (3, 8)
    check(finished, data, method, lambda r: [[o[:c] for o in r["order"]] for c in (1, 4, 8)])


def test_what_was_selected_is_judged_by_index(run, data):
    select = SELECT.format("relief-wrapper") + 'label = "R"\nn_features_to_select = 3\n'
    finished = run("{ selected = true }", select)
    check(finished, data, "R", lambda r: [r["support"]])


def test_sizes_go_from_problems_to_rankings_and_back(run, data):
    finished = run(
        "{ selected = true }",
        SELECT.format("relief-wrapper") + 'label = "R"\nn_features_to_select = 3\n',
        SELECT.format("variance") + 'label = "V"\nfeatures = { size_of = "R" }\n',
        SELECT.format("spec-wrapper") + 'label = "S"\nfeatures = { size_of = "R" }\n',
    )
    check(finished, data, "S", lambda r: [[o[:3] for o in r["order"]]])
    assert {size for _, size in points(finished, "V")} == {3.0}


def test_a_prefilter_picks_the_candidates_of_all_problems(run, data):
    options = 'label = "R"\nprefilter = { method = "variance", n = 4 }\n'
    finished = run("{ counts = [2] }", SELECT.format("relief-wrapper") + options)
    for record in finished.selections:
        kept = set(record["order"][0][:4])
        assert all(set(order[:4]) == kept for order in record["order"])
        assert all(scores.count(None) == 4 for scores in record["scores"])
    check(finished, data, "R", lambda r: [[o[:2] for o in r["order"]]])


def test_pairs_of_labels_are_kept_and_refused_by_classifiers_of_labels(data, tmp_path):
    X, Y = data
    path = tmp_path / "rows.zarr"
    ingest(ArrayTable(X, Y, feature_cost=COSTS), path, tile=16, name="rows")
    text = JOB.format(store=path, features="{ counts = [2] }")
    text += SELECT.format("relief-wrapper") + "order = 2\n"
    job = parse_job(text.encode(), "problems.toml", ())
    finished = run_job(Order(job=job, text=text.encode(), runs=tmp_path / "runs"))
    messages = {failure.message for _, failure in finished.failures}
    assert len(messages) == 1
    assert "some for (0, 1); expected one list for each of 3 labels" in messages.pop()
    record = json.loads((finished.folder.path / "results.json").read_text())["selections"][0]
    assert record["problems"] == [[0, 1], [0, 2], [1, 2]]
