"""The study of paper E: planned as shipped, run on small made data, its shape on real data."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from mlfs_dask.errors import JobFileError
from mlfs_dask.jobs import estimate
from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.costs import draw_costs
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.jobfile import parse_job, read_job
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.spec import Costs
from mlfs_dask.jobs.units import Unit
from mlfs_dask.resources import declaration
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

PATH = declaration("jobs/cost-sensitive-study.toml")
NORMAL = declaration("jobs/cost-sensitive-normal-study.toml")
ONE = "evaluate.classifier=[{method='mlknn', label='ML-kNN'}]"  # the others take long to compile
RADII = "sweep={'select.0.radius_divisor' = [1.0, 2.0], 'select.1.radius_divisor' = [1.0, 2.0]}"
N_FEATURES = 9


def run(*overrides):
    job = read_job(PATH, (ONE, *overrides))
    finished = run_job(Order(job=job, text=PATH.read_bytes()))
    assert [failure.message for _, failure in finished.failures] == []
    return open_run(finished.folder.path)


@pytest.fixture
def small_stores(tmp_path):
    rng = np.random.default_rng(1)
    for name in read_job(PATH).data.store:
        X = rng.random((60, N_FEATURES)).round(2)
        Y = (X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0.6).astype(np.uint8)
        ingest(ArrayTable(X, Y), tmp_path / "stores" / f"{name}.zarr", name=name)


def test_the_study_is_planned(small_stores):
    job = read_job(PATH)
    assert {*job.data.store} == {"yeast", "emotions", "scene", "birds"}
    made = make_plan(job, open_datasets(job))
    assert made.n_selections == 4 * 22 * 11
    assert made.n_curves == 4 * (22 + 1) * 10 * 5
    assert [c.method for c in job.evaluate.classifier] == [
        *("rakel", "dmlknn", "iblr", "brknn", "mlknn"),
    ]
    assert made.missing_rate == 0.05
    assert made.costs == "drawn, uniform with low 0 and high 100"
    assert made.sweep == {"select.0": 11, "select.1": 11}


def test_the_two_laws_of_costs_have_one_protocol():
    job, normal = read_job(PATH), read_job(NORMAL)
    assert normal.data.costs == Costs(distribution="normal", mean=100, std=30)
    change = msgspec.structs.replace
    data = change(normal.data, costs=job.data.costs)
    assert change(normal, name=job.name, data=data) == job


def test_shares_of_cost_are_those_of_the_subsets(small_stores):
    done = run(RADII, "evaluate.split.folds=2", "run.workers=0", 'data.store=["yeast", "birds"]')
    costs = draw_costs(read_job(PATH).data.costs, N_FEATURES, seed=0)
    rows = done.evaluation
    for selection in done.selections:
        subset = selection["support"]
        assert selection["cost"] == math.fsum(costs[subset])
        last = selection["path"][-1]
        assert (last["cost"], len(selection["path"])) == (selection["cost"], len(subset))
        assert selection["stop"].startswith("the positive region of all features is reached: ")
        assert {"feature", "score", "reason", "cost", "positive"} <= last.keys()
        if selection["fold"] is None:
            continue
        here = np.ones(len(rows), dtype=bool)
        for key in ("dataset", "selector", "fold"):
            here &= rows[key] == selection[key]
        assert {*rows["n_features"][here].tolist()} == {len(subset)}
        share = math.fsum(costs[subset]) / math.fsum(costs)
        assert rows["cost_share"][here].tolist() == pytest.approx([share] * 5)
    assert {selection["selector"] for selection in done.selections} == {
        f"{label} [radius_divisor={radius}]"
        for label in ("with cost", "without cost")
        for radius in ("1.0", "2.0")
    }


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("budget = 5", "yeast: budget = 5.0: the features have no costs"),
        ("radius = [0.1, 0.2]", "yeast: radius has 2 values; X has 9 features"),
    ],
)
def test_what_features_cannot_give_is_told_before_the_run(small_stores, keys, said):
    text = f"""
schema = 1
name = "refused"
[data]
store = "yeast"
[[select]]
method = "nrs-cost"
{keys}
"""
    job = parse_job(text.encode(), "refused.toml")
    with pytest.raises(JobFileError) as caught:
        open_datasets(job, "refused.toml")
    assert [str(problem) for problem in caught.value.problems] == [f"select.0: {said}"]
    assert make_plan(job, [open_dataset("birds")]).costs is None


def test_costs_that_come_with_a_store_are_used(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((60, N_FEATURES)).round(2)
    costs = rng.uniform(1, 9, N_FEATURES)
    table = ArrayTable(X, (X[:, :2] > 0.5).astype(np.uint8), feature_cost=costs)
    for name in ("yeast", "birds"):
        ingest(table, tmp_path / "stores" / f"{name}.zarr", name=name)
    keys = ("data={store=['yeast', 'birds']}", "evaluate.split.folds=2", "run.workers=0")
    job = read_job(PATH, (*keys, "select.0.budget=20"))
    assert make_plan(job, open_datasets(job)).costs == "of the stores"
    done = run(RADII, *keys, "select.0.budget=20")
    spent = [s["cost"] for s in done.selections if s["selector"].startswith("with cost")]
    assert 0 < min(spent) <= max(spent) <= 20


def test_the_time_of_a_search_follows_the_pairs_of_rows():
    job = read_job(PATH)
    sizes = Sizes(
        n_samples=20_000,
        n_features=100,
        n_labels=5,
        label_sets=20,
        tile=4096,
        cells=2_000_000,
        bits=False,
        item_bytes=4,
    )
    unit = Unit(kind="select", dataset="yeast", selector="with cost [radius_divisor=1.0]")
    first = estimate.seconds(job, unit, sizes)
    more_rows = replace(sizes, n_samples=40_000, cells=4_000_000)
    assert 3 < estimate.seconds(job, unit, more_rows) / first < 4.5
    wide = replace(sizes, n_features=200, cells=4_000_000)
    assert estimate.seconds(job, unit, wide) < 1.5 * first
    bytes_of = [estimate.memory_bytes(job, unit, s, 1, None) for s in (sizes, more_rows)]
    assert bytes_of[0] < bytes_of[1]
    summed = read_job(PATH, ("select.0.aggregate=sum",))
    assert estimate.seconds(summed, unit, sizes) > 100 * first


@pytest.mark.slow
def test_the_study_on_real_data(mlfs_data):
    """What the paper says of all data: less is spent with costs, and less with a smaller radius."""
    done = run(RADII, "evaluate.split.folds=2", 'data.store=["emotions", "yeast"]')
    rows = done.evaluation
    for dataset in ("emotions", "yeast"):
        shares = {
            (label, radius): rows["cost_share"][
                (rows["dataset"] == dataset)
                & (rows["selector"] == f"{label} cost [radius_divisor={radius}]")
            ].mean()
            for label in ("with", "without")
            for radius in ("1.0", "2.0")
        }
        assert shares["with", "2.0"] < shares["without", "2.0"]
        assert shares["with", "2.0"] < shares["with", "1.0"]
        assert shares["without", "2.0"] < shares["without", "1.0"]
