"""Classifiers made of models in jobs: what they cost, whose model failed, spread over workers."""

import json
import pickle
from collections import Counter

import numpy as np
import pytest

from mlfs_dask.classifiers.base_learners.naive_bayes import NaiveBayes
from mlfs_dask.classifiers.model_tasks import fit_and_ask
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.executor import OnCluster
from mlfs_dask.jobs import agenda, estimate, on_cluster
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.local_processes import LocalProcesses
from mlfs_dask.jobs.model_costs import models_seconds, n_models
from mlfs_dask.jobs.perform import Address
from mlfs_dask.jobs.plan import _workers
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rows import fold_of
from mlfs_dask.jobs.units import units_of
from mlfs_dask.jobs.work import Task, run_task
from mlfs_dask.testing.jobs import TINY_JOB

METHODS = {
    "br": {"base": "naive-bayes"},
    "lp": {"base": "knn"},
    "rakel": {"base": "naive-bayes", "labelset_size": 2},
    "clr": {"base": "naive-bayes"},
    "mlknn": {"n_neighbors": 3},
}


def text(*names):
    """The tiny job, judged by other classifiers."""
    head, _, _ = TINY_JOB.partition("[[evaluate.classifier]]")
    entries = []
    for name in names:
        keys = {"method": name, "label": name, **METHODS[name]}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        entries += ["[[evaluate.classifier]]", *lines]
    return "\n".join([head, *entries, ""])


def judging(*names, overrides=()):
    """The job, and its units that judge."""
    job = parse_job(text(*names).encode(), "tiny.toml", overrides)
    return job, [unit for unit in units_of(job, ["tiny"]) if unit.kind == "judge"]


def failing(monkeypatch, refused):
    """The model that learns from so many rows of either class has a bad day."""
    learn = NaiveBayes.learn

    def sometimes(self, X, y, *rest):
        if sorted(Counter(y.tolist()).values()) == refused:
            raise ZeroDivisionError("out of luck")
        return learn(self, X, y, *rest)

    monkeypatch.setattr(NaiveBayes, "learn", sometimes)


def rows_of_label(store, job, unit, label):
    y = store.Y[fold_of(job, store, unit.repeat, unit.fold).train, label]
    return sorted(np.bincount(y).tolist())


def test_a_failing_model_fails_its_unit_by_name(tiny_store, monkeypatch) -> None:
    job, units = judging("br")
    unit = next(u for u in units if u.selector == "all")
    failing(monkeypatch, rows_of_label(tiny_store, job, unit, 1))
    address = {"tiny": Address(tiny_store.path, tiny_store.digest)}
    task = Task(name="1", session="s", job=job, addresses=address, units=(unit,))
    (outcome,) = run_task(task, lambda steps: None, lambda: False)
    assert outcome.payload is None
    assert outcome.failure.message == (
        "the model of label 1 failed: ZeroDivisionError: out of luck (label 1 is 'l1')"
    )
    assert "in sometimes" in outcome.failure.traceback
    assert outcome.failure.exit_code == 1


def test_only_the_units_of_a_failing_model_fail(run_tiny, tiny_store, monkeypatch) -> None:
    job, (unit, *_) = judging("br", "mlknn")
    failing(monkeypatch, rows_of_label(tiny_store, job, unit, 1))
    finished = run_tiny(text=text("br", "mlknn"))
    assert finished.state == "partial"
    failed = {(u.selector, u.classifier, u.repeat, u.fold) for u, _ in finished.failures}
    assert {classifier for _, classifier, _, _ in failed} == {"br"}
    assert (unit.selector, "br", unit.repeat, unit.fold) in failed
    table = open_run(finished.folder.path).evaluation
    keys = ["selector", "classifier", "repeat", "fold"]
    kept = {tuple(row) for row in table[keys].tolist()}
    assert not kept & failed
    assert len(kept | failed) == 3 * 2 * 2 * 3


def test_missing_cells_reach_every_classifier_of_a_job(run_tiny) -> None:
    """Those without a rule for them are refused by name before anything runs, or impute."""
    head, _, _ = TINY_JOB.partition("[[evaluate.classifier]]")
    entries = [
        {"method": "mlknn"},
        {"method": "dmlknn"},
        {"method": "brknn"},
        {"method": "iblr", "plus": True},
        {"method": "br", "base": "c45"},
        {"method": "lp", "base": "tree"},
        {"method": "clr", "base": "knn"},
        {"method": "rakel", "base": "naive-bayes", "impute": "mean"},
        {"method": "mlnb", "impute": "mean"},
    ]
    few = ("select=[]", "evaluate.split.repeats=1", "evaluate.split.folds=2")

    def run(entries):
        tables = [
            "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
            for entry in entries
        ]
        written = "\n[[evaluate.classifier]]\n".join([head, *tables])
        return run_tiny(*few, "data.missing.rate=0.1", text=written)

    finished = run(entries)
    assert finished.state == "done"
    table = open_run(finished.folder.path).evaluation
    assert len(set(table["classifier"].tolist())) == len(entries)
    assert np.isfinite(table["value"]).all()
    with pytest.raises(InputError, match=r"evaluate\.classifier\.0: .*no rule for missing values"):
        run([{"method": "br", "base": "logistic"}])


def seconds(name, sizes, selector="SPEC"):
    job, units = judging(name)
    return estimate.seconds(job, next(u for u in units if u.selector == selector), sizes)


def sized(n=3000, d=50, q=9):
    return Sizes(n, d, q, 99, 4096, n * d, bits=False, item_bytes=8)


@pytest.mark.parametrize("name", ["br", "lp", "rakel", "clr"])
def test_rows_features_and_points_of_curves_cost(name) -> None:
    once = seconds(name, sized())
    assert once > 1.3 * seconds(name, sized(), "all")
    assert seconds(name, sized(n=6000)) > 1.2 * once
    assert seconds(name, sized(d=100)) > 1.2 * once


def test_models_cost() -> None:
    assert [n_models(name, {}, 14) for name in ("br", "lp", "clr", "mlknn")] == [14, 1, 105, 0]
    for params, q, expected in (
        ({"labelset_size": 3, "n_models": None}, 14, 28),
        ({"labelset_size": 3, "n_models": None}, 4, 4),
        ({"labelset_size": 3, "n_models": None}, 2, 1),
        ({"labelset_size": 3, "n_models": 5}, 14, 5),
    ):
        assert n_models("rakel", params, q) == expected
    assert seconds("clr", sized(q=40)) > 10 * seconds("clr", sized(q=9))
    wrapper = ("select.0.method=spec-wrapper", "select.0.phi=1")
    for name, curves in (("rakel", 9), ("clr", 1)):
        times = []
        for overrides in ((), wrapper):
            job, units = judging(name, overrides=overrides)
            unit = next(u for u in units if u.selector.startswith("SPEC"))
            times.append(estimate.seconds(job, unit, sized()))
        assert times[1] > 0.6 * curves * times[0]
        assert times[1] < 1.4 * curves * times[0]


def test_pairs_of_labels_and_sparse_rows_cost_less() -> None:
    def machines(method, n_labels, stored=1.0):
        cells = int(20_000 * 500 * stored)
        rows = Sizes(20_000, 500, n_labels, 99, 4096, cells, False, 8, sparse=stored < 1)
        params = {"base": "svm-rbf"}
        return models_seconds(method, params, rows.shape(20_000), 2000, [500])

    each_label = machines("br", 20)
    assert each_label < machines("clr", 20) < 190 / 20 * each_label
    assert machines("br", 20, stored=0.01) < 0.5 * each_label


def test_a_single_long_task_stays_where_all_cores_are(monkeypatch) -> None:
    job = parse_job(TINY_JOB.encode(), "tiny.toml")
    monkeypatch.setattr("mlfs_dask.jobs.plan.available_cores", lambda: 4)
    assert [_workers(job, [100.0] * n) for n in (1, 2, 3, 9)] == [0, 2, 3, 4]


@pytest.mark.cluster
def test_models_of_a_spread_curve_are_fitted_on_all_workers(run_tiny, tmp_path, monkeypatch):
    """The same bytes as here; what goes to the workers names the store, it holds no rows."""
    names, few = ("br", "lp", "rakel", "clr"), ("evaluate.split.repeats=1", "select=[]")
    expected = run_tiny(*few, text=text(*names), runs=tmp_path / "here").folder
    monkeypatch.setattr(agenda, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(on_cluster, "is_worth_it", lambda *_: True)
    begin, end = LocalProcesses.__enter__, LocalProcesses.__exit__
    did = []

    def noted(self):
        begin(self)._client.get_task_stream()  # from now on what workers do is noted
        return self

    def read(self, *error):
        did.extend(self._client.get_task_stream())
        end(self, *error)

    monkeypatch.setattr(LocalProcesses, "__enter__", noted)
    monkeypatch.setattr(LocalProcesses, "__exit__", read)
    submit = OnCluster._submit

    def weighed(self, function, items, common, *named, **wish):
        assert all(len(pickle.dumps((function, item))) < 4096 for item in items)
        if function is fit_and_ask:
            train, test, _ = common
            assert all(hasattr(each, "key") for each in (train, *test))  # shared by reference
        return submit(self, function, items, common, *named, **wish)

    monkeypatch.setattr(OnCluster, "_submit", weighed)
    found = run_tiny(*few, "run.workers=2", text=text(*names)).folder
    assert found.evaluation.read_bytes() == expected.evaluation.read_bytes()
    fitted = [task for task in did if task["key"].startswith("fit_and_ask")]
    assert len(fitted) == 3 * (3 + 1 + 3 + 6)
    assert len({task["worker"] for task in fitted}) == 2
