"""Curves and best points in reports: enough features, winners, costs, what is undefined."""

from made_runs import (
    MadeRun,
    method,
)
from report_pages import Outline, finish, page_of

from mlfs_dask.report import render_report
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store


def test_points_beyond_a_prefilter_are_marked(tmp_path):
    make_tiny_store(tmp_path / "stores")
    first = 'phi = 2\nprefilter = { method = "variance", n = 3 }'
    text = render_report([finish(TINY_JOB.replace("phi = 2", first))])
    assert text.count('class="mark beyond s0"') == 2 * 3  # with 4 and 8 features, three measures
    assert "mark beyond s1" not in text
    assert text.count("beyond the 3 of its prefilter") == 2 * 3
    assert "Hollow marks" in text


def test_enough_is_the_smallest_number_within_one_standard_error(runs):
    """Means 0.30, 0.205, 0.2 with folds at mean -+ 0.01: the error is 0.01 * sqrt(6 / 5 / 6)."""
    made = MadeRun()
    made.metrics, made.select = ["hamming_loss"], [method("spec", "SPEC")]
    means, sign = {2: 0.30, 5: 0.204, 10: 0.2, 20: 0.25}, iter([1, -1] * 100)
    made.value = lambda metric, selector, count, d: means[count] + 0.01 * next(sign)
    page = page_of(made, runs)
    # 4 values per fold and 1 of the baseline: signs alternate, so each point has three of each
    assert page.row("SPEC", "0.2000 ± 0.0110 10 features (50 %)")[2:] == [
        "5 (25 %) 0.2040 ± 0.0110",
        "0.0045",
    ]
    assert "5 features (25 %) are as good within one standard error" in page.text


def test_selectors_that_are_equally_good_are_all_named(runs):
    made = MadeRun()
    made.metrics = ["hamming_loss"]
    made.select = [method("spec", "SPEC"), method("mllap", "MLLAP"), method("variance", "worse")]
    made.value = lambda metric, selector, count, d: 0.5 if selector == "worse" else 0.2
    page = page_of(made, runs)
    assert "SPEC (as MLLAP) does best" in page.text
    winners = [tag for tag in page.tags if "label winner" in tag[1].get("class", "")]
    assert len(winners) == 2


def test_a_single_fold_has_no_standard_error(runs):
    made = MadeRun()
    made.split = {"kind": "holdout"}
    page = page_of(made, runs)
    assert "There is a single fold, so there is no standard error" in page.text
    assert "Stability" not in page.text


def test_undefined_measures_are_said_to_be_so(runs):
    made = MadeRun()
    made.value = lambda metric, selector, *_: None if metric != "hamming_loss" else 0.5
    page = page_of(made, runs)
    assert page.row("SPEC", "undefined")


def test_costs_have_charts_and_a_column(runs):
    made = MadeRun()
    page = page_of(made, runs)
    assert "share of the cost" not in page.text
    made.has_costs, made.name = True, "costs"
    page = page_of(made, runs)
    labels = [attrs["aria-label"] for tag, attrs in page.tags if attrs.get("role") == "img"]
    assert sum("over the share of the cost" in label for label in labels) == 2
    assert page.row("selector", "best")[4] == "share of the cost of enough"
    assert "25 %" in [row[4] for row in page.clean_rows if row[0] == "SPEC" and len(row) == 5]


def test_a_sweep_stays_readable(runs):
    """60 selectors by 6 classifiers: few lines per chart by a stated rule, long tables folded."""
    made = MadeRun("sweep")
    made.select = [method("spec", f"SPEC [phi={i}]", phi=i) for i in range(60)]
    made.classifiers = [method("mlknn", f"ML-kNN [n_neighbors={i}]") for i in range(6)]
    made.metrics = ["hamming_loss", "one_error", "average_precision"]
    made.split = {"kind": "kfold", "folds": 2, "repeats": 1}
    text = render_report([made.write(runs)])
    page = Outline(text)
    assert len(text) < 2_000_000
    assert "Drawn are the 8 of 60 selectors with the best mean hamming loss" in page.text
    charts = text.split("<figure>")[1:]
    assert len(charts) == 18
    assert {chart.split("</figure>")[0].count('class="line') for chart in charts} == {8}
    assert "40 more selectors are in evaluation.csv" in page.text
    assert "40 more selections" in page.text
    assert "The other 50 methods" in page.text


def test_a_study_of_many_charts_is_cut_by_a_stated_rule(runs):
    made = MadeRun("study")
    names = [f"data {i}" for i in range(40)]
    made.features = {name: ["a", "b", "c", "d"] for name in names}
    made.labels = {name: ["l"] for name in names}
    made.digests = {name: "d1" * 32 for name in names}
    made.counts = [1, 2, 4]
    text = render_report([made.write(runs)])
    assert text.count("<figure>") == 60
    assert "Charts of 10 more pairs of data set and classifier are left out" in text
