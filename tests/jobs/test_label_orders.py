"""``order = "auto"``: two selections where a classifier has models of pairs, each to its judges."""

import numpy as np
import pytest

from mlfs_dask import get_classifier, get_selector
from mlfs_dask.classifiers.base import BaseClassifier
from mlfs_dask.evaluate import splits
from mlfs_dask.evaluate.metrics import score_all
from mlfs_dask.graphs.source import as_source
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.digest import job_digest
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.manifest import saved_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.units import units_of
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

JOB = """
schema = 1
name = "orders"
seed = 3
[data]
store = "{store}"
[evaluate]
split = {{ kind = "kfold", folds = 2 }}
features = {features}
metrics = ["hamming_loss"]
[run]
workers = 0
"""
WRAPPER = '[[select]]\nmethod = "{}"\n'
MLKNN = '[[evaluate.classifier]]\nmethod = "mlknn"\nn_neighbors = 3\n'
CLR = '[[evaluate.classifier]]\nmethod = "clr"\nbase = "knn"\n'
COUNTS = "{ counts = [1, 4, 8] }"


def parsed(*tables, store="none", features=COUNTS, overrides=()):
    text = JOB.format(store=store, features=features) + "".join(tables)
    return parse_job(text.encode(), "orders.toml", overrides), text.encode()


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(70, 8)).round(2)
    Y = (X[:, [0, 3, 5]] + 0.3 * rng.normal(size=(70, 3)) > 0).astype(np.uint8)
    return X, Y


def judged(job):
    return {
        (unit.selector, unit.classifier, unit.with_labels)
        for unit in units_of(job, ["d"])
        if unit.kind == "judge"
    }


def test_classifiers_of_labels_leave_an_entry_as_it_is():
    job, _ = parsed(WRAPPER.format("spec-wrapper"), MLKNN)
    assert [(s.label, s.params["order"]) for s in job.select] == [("spec-wrapper", "auto")]
    assert job.pairs is None
    assert "pairs" not in job.resolved()
    assert judged(job) == {("spec-wrapper", "mlknn [n_neighbors=3]", None), ("all", *BOTH[0], None)}


BOTH = [("mlknn [n_neighbors=3]",), ("clr [base=knn]",)]


def test_a_classifier_of_pairs_makes_it_two():
    job, _ = parsed(WRAPPER.format("spec-wrapper"), WRAPPER.format("variance"), MLKNN, CLR)
    assert [(s.label, s.params.get("order")) for s in job.select] == [
        ("spec-wrapper [order 1]", 1),
        ("spec-wrapper [order 2]", 2),
        ("variance", None),
    ]
    (mlknn,), (clr,) = BOTH
    assert judged(job) == {
        ("spec-wrapper [order 1]", mlknn, None),
        ("spec-wrapper [order 2]", clr, "spec-wrapper [order 1]"),
        *((selector, method, None) for selector in ("variance", "all") for method in (mlknn, clr)),
    }


def test_alone_it_still_needs_both():
    job, _ = parsed(WRAPPER.format("relief-wrapper") + 'label = "R"\n', CLR)
    assert [s.label for s in job.select] == ["R [order 1]", "R [order 2]"]
    assert judged(job) == {
        ("R [order 2]", "clr [base=knn]", "R [order 1]"),
        ("all", "clr [base=knn]", None),
    }


def test_an_order_that_is_given_stays():
    job, _ = parsed(WRAPPER.format("spec-wrapper") + "order = 1\n", MLKNN, CLR)
    assert [s.label for s in job.select] == ["spec-wrapper [order=1]"]
    assert job.pairs is None


def test_with_a_sweep_each_point_is_made_two():
    sweep = '[sweep]\n"select.0.phi" = [1, 2]\n"select.0.order" = ["auto", 1]\n'
    job, _ = parsed(WRAPPER.format("spec-wrapper"), MLKNN, CLR, sweep)
    assert [s.label for s in job.select] == [
        "spec-wrapper [phi=1, order=auto] [order 1]",
        "spec-wrapper [phi=1, order=auto] [order 2]",
        "spec-wrapper [phi=1, order=1]",
        "spec-wrapper [phi=2, order=auto] [order 1]",
        "spec-wrapper [phi=2, order=auto] [order 2]",
        "spec-wrapper [phi=2, order=1]",
    ]
    assert len(job.pairs.selectors) == 2


def test_who_is_given_what_enters_the_digest():
    auto, _ = parsed(WRAPPER.format("spec-wrapper") + 'label = "S"\n', CLR)
    first = WRAPPER.format("spec-wrapper") + 'label = "S [order 1]"\norder = 1\n'
    second = WRAPPER.format("spec-wrapper") + 'label = "S [order 2]"\norder = 2\n'
    by_hand, _ = parsed(first, second, CLR)
    assert [s.label for s in auto.select] == [s.label for s in by_hand.select]
    assert job_digest(auto, []) != job_digest(by_hand, [])


def test_unknown_methods_are_still_told():
    with pytest.raises(Exception, match="no classifier is named 'clrr'"):
        parsed(WRAPPER.format("spec-wrapper"), '[[evaluate.classifier]]\nmethod = "clrr"\n')


@pytest.mark.parametrize("features", [COUNTS, "{ selected = true }"])
def test_pairs_and_labels_are_judged_with_features_of_their_own(data, tmp_path, features):
    X, Y = data
    path = tmp_path / "rows.zarr"
    ingest(ArrayTable(X, Y), path, tile=16, name="rows")
    wrapper = WRAPPER.format("relief-wrapper") + 'label = "R"\n'
    wrapper += "n_features_to_select = 3\n" if "selected" in features else ""
    job, text = parsed(wrapper, MLKNN, CLR, store=path, features=features)
    finished = run_job(Order(job=job, text=text, runs=tmp_path / "runs"))
    assert [failure.message for _, failure in finished.failures] == []
    assert saved_job(finished.folder) == job
    run = open_run(finished.folder.path)
    assert [record["problems"][0] for record in run.selections[:2]] == [[0], [0, 1]]
    rows = run.evaluation[run.evaluation["selector"] != "all"]
    who = {(str(row["selector"]), str(row["classifier"])) for row in rows}
    assert who == {("R [order 1]", *BOTH[0]), ("R [order 2]", *BOTH[1])}

    source = as_source(X, Y, tile=16)
    fold = splits.kfold_repeats(70, 2, 3, 1)[0]
    train, test = source.take(fold.train), source.take(fold.test)
    orders = {}
    for order in (1, 2):
        options = {"n_features_to_select": 3} if "selected" in features else {}
        fitted = get_selector("relief-wrapper", order=order, **options).fit(train)
        chosen = fitted.order_
        if options:
            chosen = [np.flatnonzero(kept) for kept in fitted.support_]
        orders.update(zip(fitted.problems_, chosen, strict=True))
    counts = [3] if "selected" in features else [1, 4, 8]
    outcomes = get_classifier("clr", base="knn").problem_outcomes(train, test, orders, counts)
    expected = [
        score_all(("hamming_loss",), test.Y, o.proba, o.labels)["hamming_loss"].value
        for o in outcomes
    ]
    mine = rows[(rows["fold"] == 0) & (rows["selector"] == "R [order 2]")]
    assert mine["value"].tolist() == expected


def test_classifiers_say_whether_they_take_pairs():
    assert not BaseClassifier.takes_pairs
    assert get_classifier("clr").takes_pairs
    assert not get_classifier("br").takes_pairs
