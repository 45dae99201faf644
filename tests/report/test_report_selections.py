"""Selected features in reports: planted ones, counts over folds, subsets, reasons, problems."""

import re

from made_runs import (
    MadeRun,
    problem_record,
    selection,
    subset_record,
)
from report_pages import Outline, finish, page_of

from mlfs_dask.report import render_report
from mlfs_dask.storage.synth import Planted, synthesize


def test_planted_features_are_counted_and_marked(tmp_path):
    planted = Planted(n_samples=100, n_features=10, n_labels=3, relevant=3, copies=2)
    synthesize(tmp_path / "stores" / "tiny.zarr", planted)
    page = Outline(render_report([finish()]))
    assert re.search(r"[0-3] of 3", page.text)
    assert "Planted truth" in page.text
    assert "relevant" in page.text


def test_features_are_counted_over_the_folds(runs):
    made = MadeRun()
    made.truth = {"relevant": [7]}

    def record(dataset, fold):
        first = [7, 3, 5] if fold != 1 else [3, 5, 9]
        order = first + [f for f in range(20) if f not in first]
        return selection(order, [20.0 - order.index(f) for f in range(20)], support=sorted(first))

    made.records["SPEC"] = record
    made.select[0]["params"]["n_features_to_select"] = 3
    page = page_of(made, runs)
    assert page.row("1", "feature 7 relevant") == ["1", "feature 7 relevant", "20.0000", "4"]
    assert page.row("2", "feature 3") == ["2", "feature 3", "19.0000", "6"]
    assert "as many as it was asked to keep" in page.text
    # Of 15 pairs of the 6 folds 7 are alike; 8 are [7, 3] and [3, 5]: (7 + 8 / 3) / 15.
    assert page.row("selector", "k = 2")[1] == "k = 2"
    stability = [row for row in page.clean_rows if row[0] == "SPEC" and len(row) == 7]
    # k = 5: all five of 7, 3, 5 and of 0, 1 in 7 pairs; 3, 5, 0, 1 of 5 with 9 for 7: 4 / 6, r = 4
    assert stability[0][1:3] == ["0.64", f"{(7 + 8 * (1 * 20 - 4) / (2 * 18)) / 15:.2f}"]
    assert stability[0][3:5] == ["0.82", f"{(7 + 8 * (4 * 20 - 25) / (5 * 15)) / 15:.2f}"]


def test_selectors_with_subsets_of_their_own_show_them_with_reasons(runs):
    made = MadeRun()
    made.records["MLLAP"] = lambda dataset, fold: subset_record(made.rng, 20)
    page = page_of(made, runs)
    assert "as many as the selector itself keeps" in page.text
    assert "in its subset" in page.text
    assert "with reasons" in page.text
    assert "It stopped: no feature gains" in page.text
    assert "the features it keeps cost 12.5" in page.text.lower()
    assert "its own subset" in page.text


def test_steps_of_one_reason_are_not_listed(runs):
    made = MadeRun()
    path = [{"step": i, "feature": i, "score": 1.0, "reason": "gain"} for i in range(20)]
    made.records["SPEC"] = lambda *_: selection(list(range(20)), [1.0] * 20, path=path)
    page = page_of(made, runs)
    assert "with reasons" not in page.text
    assert "All for the same reason: gain" in page.text


def test_selections_per_problem_are_shown_by_problem(runs):
    made = MadeRun()
    made.labels = {"songs": ["happy", "sad", "calm", "loud"]}
    made.records["MLLAP"] = lambda dataset, fold: problem_record(made.rng, 20)
    page = page_of(made, runs)
    assert "4 selections, one per problem" in page.text
    row = page.row("4", "happy, sad, calm, loud")
    assert row[2] == "5"
    assert row[3].count("feature") == 5
    assert "mean of 4 problems" in page.text
