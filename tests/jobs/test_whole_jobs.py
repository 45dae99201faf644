"""Jobs with every kind of key, run on tiny data and done again by hand."""

import json
from zlib import crc32

import numpy as np
import pytest

import mlfs_dask
from mlfs_dask.errors import JobFileError
from mlfs_dask.evaluate import splits
from mlfs_dask.evaluate.grouped import groups
from mlfs_dask.evaluate.metrics import score_all
from mlfs_dask.evaluate.stratified import iterative
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.perform import Address, Selected, perform
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.rows import rows_of
from mlfs_dask.jobs.units import units_of
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store, tiny_table
from mlfs_dask.testing.tables import ArrayTable

SEED, TILE, FOLDS, REPEATS = 3, 16, 3, 2
METRICS = ("hamming_loss", "average_precision", "auc_macro")
ONE_REPEAT = "evaluate.split.repeats=1"


@pytest.fixture
def data(tiny_store):
    return np.asarray(tiny_store.X[:]), np.asarray(tiny_store.Y)


def rows_by_hand(n=60, repeats=REPEATS):
    return splits.kfold_repeats(n, FOLDS, SEED, repeats)


def evaluated(folder, selector):
    """evaluation.csv of one selector: (repeat, fold, n_features, metric) -> value."""
    table = open_run(folder.path).evaluation
    own = table[table["selector"] == selector]
    keys = own[["repeat", "fold", "n_features", "metric"]].tolist()
    return dict(zip(keys, own["value"].tolist(), strict=True))


def judged_by_hand(data, fold, features):
    """Measures of ML-kNN fitted anew to some columns."""
    X, Y = data
    classifier = mlfs_dask.get_classifier("mlknn", n_neighbors=3)
    classifier.fit(X[fold.train][:, features], Y[fold.train])
    proba = classifier.predict_proba(X[fold.test][:, features])
    found = score_all(METRICS, Y[fold.test], proba, classifier.decide(proba))
    return {name: score.value for name, score in found.items()}


def expected(data, features_of):
    """What `evaluated` gives if each fold's features are those of ``features_of(fold)``."""
    return {
        (fold.repeat, fold.fold, len(features), metric): value
        for fold in rows_by_hand()
        for features in [features_of(fold)]
        for metric, value in judged_by_hand(data, fold, features).items()
    }


def selections(folder, selector):
    found = open_run(folder.path).selections
    return {(s["repeat"], s["fold"]): s for s in found if s["selector"] == selector}


def same(found, wanted):
    assert found.keys() == wanted.keys()
    keys = sorted(found)
    values = [[table[key] for key in keys] for table in (found, wanted)]
    assert values[0] == pytest.approx(values[1], rel=1e-12, nan_ok=True)


def test_a_sweep_gives_the_numbers_of_entries_written_by_hand(run_tiny, tmp_path):
    entry = '[[select]]\nmethod = "spec"\nlabel = "SPEC"\nphi = 2\n'
    assert entry in TINY_JOB
    by_hand = "".join(
        entry.replace('"SPEC"', f'"SPEC [phi={phi}]"').replace("phi = 2", f"phi = {phi}")
        for phi in (1, 3)
    )
    keys = ("sweep.select.0.phi=[1, 3]", 'sweep."evaluate.classifier.0.n_neighbors"=[2, 3]')
    swept = run_tiny(*keys, ONE_REPEAT).folder
    assert len({label for label in open_run(swept.path).evaluation["classifier"]}) == 2
    written = run_tiny(
        keys[1], ONE_REPEAT, text=TINY_JOB.replace(entry, by_hand), runs=tmp_path / "hand"
    ).folder
    assert swept.id == written.id
    assert swept.results.read_bytes() == written.results.read_bytes()
    assert swept.evaluation.read_bytes() == written.evaluation.read_bytes()


def test_size_of_judges_as_many_features_as_another_selects(run_tiny, data):
    folder = run_tiny(
        "select.1.n_features_to_select=3",
        "select.1.label=three",
        "evaluate.features={ size_of = 'three' }",
    ).folder
    for selector in ("SPEC", "three"):
        order = {key: s["order"] for key, s in selections(folder, selector).items()}
        same(
            evaluated(folder, selector),
            expected(data, lambda f, order=order: order[f.repeat, f.fold][:3]),
        )
    same(evaluated(folder, "all"), expected(data, lambda _: list(range(8))))


@pytest.mark.parametrize("support", [(4,), (0, 2, 3, 5), tuple(range(8))])
def test_the_size_is_that_of_the_same_fold(tiny_store, support):
    job = parse_job(TINY_JOB.encode(), "tiny.toml", ["evaluate.features={ size_of = 'mllap' }"])
    unit = next(u for u in units_of(job, ["tiny"]) if u.kind == "judge" and u.selector == "SPEC")
    own, other = unit.needs
    assert (own.selector, other.selector) == ("SPEC", "mllap")
    assert (own.repeat, own.fold) == (other.repeat, other.fold) == (unit.repeat, unit.fold)
    order = (5, 2, 7, 0, 1, 3, 4, 6)
    selected = {
        own.id: Selected(order=order, support=tuple(range(8))),
        other.id: Selected(order=tuple(range(8)), support=support),
    }
    address = Address(tiny_store.path, tiny_store.digest)
    result, _ = perform(job, unit, address, selected, None)
    fold = rows_by_hand()[unit.repeat * FOLDS + unit.fold]
    X, Y = np.asarray(tiny_store.X[:]), np.asarray(tiny_store.Y)
    assert {m["n_features"] for m in result["measurements"]} == {len(support)}
    assert {m["metric"]: m["value"] for m in result["measurements"]} == pytest.approx(
        judged_by_hand((X, Y), fold, list(order[: len(support)]))
    )


def test_selected_judges_each_selectors_own_subset_by_index(run_tiny, data):
    folder = run_tiny(
        "select.0.n_features_to_select=0.5",
        "select.0.features.selected=true",
        "select.1.n_features_to_select=2",
        "select.1.label=few",
        "select.1.features={ counts = [2, 5] }",
    ).folder
    support = {key: s["support"] for key, s in selections(folder, "SPEC").items()}
    assert all(found == sorted(found) and len(found) == 4 for found in support.values())
    same(evaluated(folder, "SPEC"), expected(data, lambda f: support[f.repeat, f.fold]))
    order = {key: s["order"] for key, s in selections(folder, "few").items()}
    same(
        evaluated(folder, "few"),
        expected(data, lambda f: order[f.repeat, f.fold][:2])
        | expected(data, lambda f: order[f.repeat, f.fold][:5]),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [(("mllap", {}), ("spec", {"phi": 2})), (("spec", {"phi": 1}), ("mllap", {}))],
    ids=["mllap, spec", "spec, mllap"],
)
def test_a_prefilter_picks_the_candidates(run_tiny, data, first, second):
    X, Y = data
    n = 5
    text = TINY_JOB.partition("[[select]]")[0] + (
        f'[[select]]\nmethod = "{second[0]}"\nlabel = "two"\nn_features_to_select = 3\n'
        + "".join(f"{key} = {value}\n" for key, value in second[1].items())
        + f'prefilter = {{ method = "{first[0]}", n = {n}'
        + "".join(f", {key} = {value}" for key, value in first[1].items())
        + " }\n"
    )
    record = selections(run_tiny(text=text).folder, "two")[None, None]
    ranked = mlfs_dask.get_selector(first[0], tile=TILE, **first[1]).fit(X, Y).order_
    kept = np.sort(ranked[:n])
    slow = mlfs_dask.get_selector(second[0], tile=TILE, n_features_to_select=3, **second[1])
    slow.fit(X[:, kept], Y)
    assert record["order"] == [*kept[slow.order_], *ranked[n:]]
    assert record["support"] == list(kept[slow.support_])
    assert record["params"]["prefilter"]["n"] == n
    scores = np.full(8, np.nan)
    scores[kept] = slow.scores_
    assert record["scores"] == [None if np.isnan(score) else score for score in scores]
    assert [step["feature"] for step in record["path"]] == [
        kept[step["feature"]] for step in slow.path_
    ]


def test_a_prefilter_sees_the_training_rows_only(run_tiny, tiny_store, data):
    X, Y = data
    prefilter = 'select.0.prefilter={ method = "spec", n = 3, phi = 1 }'
    folder = run_tiny(prefilter, "select.0.final=false").folder
    found = selections(folder, "SPEC")
    assert set(found) == {(fold.repeat, fold.fold) for fold in rows_by_hand()}
    for fold in rows_by_hand():
        ranked = mlfs_dask.get_selector("spec", phi=1).fit(X[fold.train], Y[fold.train]).order_
        kept = np.sort(ranked[:3])
        slow = mlfs_dask.get_selector("spec", phi=2).fit(X[fold.train][:, kept], Y[fold.train])
        assert found[fold.repeat, fold.fold]["order"] == [*kept[slow.order_], *ranked[3:]]


def test_a_prefilter_has_a_stream_of_its_own(tiny_store):
    from mlfs_dask.jobs.streams import selector_stream

    label = "SPEC prefilter"
    assert selector_stream(SEED, label, 1, 2).spawn_key == (3, crc32(label.encode()), 1, 2)


def test_missing_cells_and_costs_equal_a_store_that_has_them(run_tiny, tmp_path, monkeypatch):
    rate = 0.2
    injected = run_tiny(
        f"data.missing.rate={rate}",
        "data.impute=mean",
        "data.costs={ distribution = 'uniform', low = 1, high = 5 }",
        "select.1.n_features_to_select=3",
    ).folder
    table = tiny_table()
    X = np.concatenate([batch.X for batch in table.batches()])
    Y = np.concatenate([batch.Y for batch in table.batches()])
    for i, row in enumerate(X):
        stream = np.random.SeedSequence(SEED, spawn_key=(2, i))
        row[np.random.default_rng(stream).random(8) < rate] = np.nan
    costs = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(1,))).uniform(1, 5, 8)
    stores = tmp_path / "holes"
    stores.mkdir()
    ingest(ArrayTable(X, Y, feature_cost=costs), stores / "tiny.zarr", tile=TILE, name="tiny")
    monkeypatch.setenv("MLFS_STORES", str(stores))
    ingested = run_tiny(
        "data.impute=mean", "select.1.n_features_to_select=3", runs=tmp_path / "ingested"
    ).folder
    assert injected.evaluation.read_bytes() == ingested.evaluation.read_bytes()
    first, second = (open_run(folder.path).selections for folder in (injected, ingested))
    assert first == second
    chosen = next(s for s in first if s["selector"].startswith("mllap") and s["fold"] is None)
    assert chosen["cost"] == pytest.approx(costs[chosen["support"]].sum(), rel=1e-15)
    table = open_run(injected.path).evaluation
    baseline = table[table["selector"] == "all"]
    assert set(baseline["cost_share"]) == {1.0}
    own = table[(table["selector"] == "SPEC") & (table["n_features"] == 2) & (table["fold"] == 0)]
    order = selections(injected, "SPEC")[0, 0]["order"]
    shares = own[own["repeat"] == 0]["cost_share"]
    assert len(shares) == len(METRICS)
    assert shares == pytest.approx(costs[order[:2]].sum() / costs.sum())


def test_methods_without_a_rule_refuse_injected_cells(run_tiny, tmp_path):
    with pytest.raises(JobFileError) as caught:
        run_tiny("data.missing.rate=0.1")
    assert len(caught.value.problems) == 2
    assert caught.value.problems[0].startswith("select.0: 'SPEC' has no rule for missing values")
    assert "with those that data.missing injects, the first in feature" in caught.value.problems[0]
    assert not (tmp_path / "runs").exists()
    prefilter = "select.0.prefilter={ method = 'mllap', n = 2, impute = 'none' }"
    with pytest.raises(JobFileError) as caught:
        run_tiny("data.missing.rate=0.1", "data.impute=mean", prefilter)
    assert caught.value.problems[0].startswith("select.0.prefilter: 'mllap' has no rule")
    assert run_tiny("data.missing.rate=0.0", ONE_REPEAT).state == "done"


def test_normal_costs_and_those_of_stores(tiny_store, tmp_path, monkeypatch):
    def costs(*overrides):
        job = parse_job(TINY_JOB.encode(), "tiny.toml", overrides)
        return rows_of(job, open_datasets(job)[0]).feature_cost

    assert costs() is None
    drawn = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(1,))).normal(0, 30, 8)
    normal = "data.costs={ distribution = 'normal', mean = 0, std = 30 }"
    assert costs(normal).tolist() == np.maximum(drawn, 0).tolist()
    with pytest.raises(JobFileError, match=r"data.costs: tiny: the store has no costs"):
        costs("data.costs=store")
    own = np.arange(8.0)
    stores = tmp_path / "with costs"
    stores.mkdir()
    make_tiny_store(stores, feature_cost=own)
    monkeypatch.setenv("MLFS_STORES", str(stores))
    assert costs().tolist() == costs("data.costs=store").tolist() == own.tolist()
    assert costs(normal).tolist() == np.maximum(drawn, 0).tolist()


@pytest.mark.parametrize("kind", ["iterative", "groups"])
def test_folds_of_every_kind(run_tiny, data, tmp_path, kind):
    ids = np.arange(60) // 4
    column = tmp_path / "patients.csv"
    column.write_text("".join(f"patient {i}\n" for i in ids))
    key = f", column = '{column}'" if kind == "groups" else ""
    folder = run_tiny(
        f"evaluate.split={{ kind = '{kind}', folds = 3, repeats = 2{key} }}",
    ).folder
    wanted = {}
    for repeat in range(2):
        tests = (
            groups(ids, 3, SEED, repeat)
            if kind == "groups"
            else iterative(data[1], 3, SEED, repeat)
        )
        for fold in splits.folds_from_tests(60, tests, repeat):
            for metric, value in judged_by_hand(data, fold, list(range(8))).items():
                wanted[fold.repeat, fold.fold, 8, metric] = value
    same(evaluated(folder, "all"), wanted)


def test_selectors_run_on_their_data_sets_only(run_tiny, tmp_path):
    make_tiny_store(tmp_path / "stores", name="other", seed=5)
    both = 'data.store=["tiny", "other"]'
    folder = run_tiny(both, "select.1.datasets=['other']", ONE_REPEAT).folder
    found = {(s["dataset"], s["selector"]) for s in open_run(folder.path).selections}
    assert found == {("tiny", "SPEC"), ("other", "SPEC"), ("other", "mllap")}
    table = open_run(folder.path).evaluation
    assert set(zip(table["dataset"], table["selector"], strict=True)) == {
        *(("tiny", "SPEC"), ("tiny", "all"), ("other", "SPEC"), ("other", "mllap")),
        ("other", "all"),
    }


DATA_PROBLEMS = [
    (
        ["select.0.datasets=['tinny']"],
        "select.0.datasets: no data set is named 'tinny'; did you mean 'tiny'? Known: tiny, other",
    ),
    (
        ["select.0.prefilter={ method = 'mllap', n = 9 }"],
        "select.0.prefilter.n: 9 is not allowed; tiny has 8 features",
    ),
    (
        ["select.0.n_features_to_select=9"],
        "select.0.n_features_to_select: 9 is not allowed; tiny has 8 features",
    ),
    (
        ["select.0.prefilter={ method = 'mllap', n = 4 }", "select.0.n_features_to_select=5"],
        "select.0.n_features_to_select: 5 is not allowed; the prefilter leaves 4 features",
    ),
    (
        ["sweep.select.0.n_features_to_select=[7, 9]"],
        "select 'SPEC [n_features_to_select=9]'.n_features_to_select: 9 is not allowed; tiny has 8",
    ),
    (
        ["select.0.features.counts=[9]"],
        "select.0.features: tiny: features.counts has values above the 8 features of the data: 9",
    ),
    (
        ["select.1.datasets=['other']", "evaluate.features={ size_of = 'mllap' }"],
        "evaluate.features.size_of: tiny: 'mllap' does not run on this data set",
    ),
    (
        ["select.0.datasets=['other']", "select.1.datasets=['other']", "evaluate.baseline=false"],
        "data.store: tiny: nothing to do, no [[select]] runs on it",
    ),
    (
        ["evaluate.split={ kind = 'iterative', folds = 61 }"],
        "evaluate.split: tiny: folds = 61, but there are only 60 rows",
    ),
]


@pytest.mark.parametrize(("overrides", "problem"), DATA_PROBLEMS, ids=[p for _, p in DATA_PROBLEMS])
def test_what_a_data_set_cannot_give_is_told(tiny_store, tmp_path, overrides, problem):
    make_tiny_store(tmp_path / "stores", name="other")
    both = 'data.store=["tiny", "other"]'
    with pytest.raises(JobFileError) as caught:
        open_datasets(parse_job(TINY_JOB.encode(), "tiny.toml", (both, *overrides)))
    assert any(each.startswith(problem) for each in caught.value.problems), caught.value.problems


@pytest.mark.parametrize("costs", [False, True])
def test_without_a_selected_feature_there_is_nothing_to_judge(tiny_store, costs):
    change = ["evaluate.features={ selected = true }"]
    if costs:
        change.append("data.costs={ distribution = 'uniform', low = 1, high = 2 }")
    job = parse_job(TINY_JOB.encode(), "tiny.toml", change)
    unit = next(u for u in units_of(job, ["tiny"]) if u.kind == "judge" and u.selector == "SPEC")
    nothing = {unit.needs[0].id: Selected(order=tuple(range(8)), support=())}
    address = Address(tiny_store.path, tiny_store.digest)
    result, notes = perform(job, unit, address, nothing, None)
    assert notes == ["no feature was selected, so there was nothing to judge"]
    measured = json.loads(json.dumps(result["measurements"]))
    assert [m["metric"] for m in measured] == list(METRICS)
    for m in measured:
        assert (m["n_features"], m["share"], m["n_scored"]) == (0, 0.0, 0)
        assert m["cost_share"] == (0.0 if costs else None)
        assert np.isnan(m["value"])
