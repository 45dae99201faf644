"""The report: what it says of a run or several, and that it needs nothing else."""

import re

from made_runs import (
    MadeRun,
    failed,
    hostile_run,
    method,
    start,
)
from report_pages import Outline, finish, page_of

from mlfs_dask.report import render_report
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store, tiny_table


def test_a_report_says_what_ran_and_what_came_of_it(tmp_path):
    make_tiny_store(tmp_path / "stores")
    page = Outline(render_report([finish()]))
    for said in (
        "tiny",
        "SPEC",
        "mlknn",
        "hamming loss",
        "3 folds, repeated 2 times",
        "all features",
        "one standard error",
        "up to 6 here",
        "schema = 1",  # the job file
        "not interrupted",
    ):
        assert said in page.text
    for heading in (
        "In short",
        "What ran",
        "Curves",
        "Best points, and how many features are enough",
        "Selected features",
        "Agreement between methods",
        "Stability over the folds",
        "Time and interruptions",
        "Provenance",
    ):
        assert page.text.count(heading) == 2  # in the contents and above its section
    drawn = [attrs["aria-label"] for tag, attrs in page.tags if attrs.get("role") == "img"]
    assert len(drawn) == 3
    assert "hamming loss over the share of the features, lower is better" in drawn[0]
    assert re.search(r"f\d", page.text)  # names of features, not their numbers


def test_a_report_loads_nothing_and_has_no_scripts(tmp_path, runs):
    text = render_report([hostile_run().write(runs), MadeRun().write(runs)])
    page = Outline(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {tag for tag, _ in page.tags}
    assert not [a for _, attrs in page.tags for a in attrs if a.startswith("on")]
    links = [attrs["href"] for _, attrs in page.tags if "href" in attrs]
    assert links
    loose = [link for link in links if not link.startswith(("#", "data:text/csv;"))]
    assert {link.rpartition("/")[2] for link in loose} == {
        "evaluation.csv",
        "results.json",
        "timings.json",
    }
    assert set(re.findall(r"url\(|@import|https?://|\bsrc=", text)) == set()
    assert "default-src 'none'" in text


def test_links_lead_somewhere_and_names_of_places_are_unique(runs):
    page = Outline(render_report([MadeRun("a").write(runs), MadeRun("b").write(runs)]))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_interruptions_failures_and_incidents_are_told(runs):
    made = MadeRun()
    made.state = "partial"
    made.events = [
        start(40),
        ("incident", {"message": "worker 7 was lost; its tasks went to others"}),
        ("stop", {"signal": "SIGINT", "cancelled": False}),
        start(40, done=3, workers=2),
        failed(0, "cannot"),
        failed(1, "cannot"),
        start(40, done=9, workers=2),
        ("finish", {"state": "partial"}),
    ]
    made.notes = {"SPEC": ["road: pairs"]}
    page = page_of(made, runs)
    assert "taken up again 2 times" in page.text
    assert "worker 7 was lost" in page.text
    assert "Units without a result: 2" in page.text
    assert page.text.count("ValueError, 2 units: cannot") == 1
    assert "Traceback (most recent call last)" in page.text
    ends = [row[-1].strip() for row in page.rows if len(row) == 5 and row[0].startswith("20")]
    assert ends == ["stopped by SIGINT", "broke off without a word", "partial"]
    assert page.row("road: pairs") == ["road: pairs", "SPEC", "7"]
    assert "2 of the units have no result" in page.text


def test_warnings_of_a_real_run_are_shown(tmp_path):
    (tmp_path / "stores").mkdir()
    table = tiny_table()
    table._Y[:, 1] = 0
    ingest(table, tmp_path / "stores" / "tiny.zarr", tile=16, name="tiny")
    page = Outline(render_report([finish()]))
    assert "6 pairs of label and training fold have no positive or no negative row" in page.text


def test_runs_stand_side_by_side_where_they_share_data_and_measure(runs):
    first, second, other = MadeRun("first"), MadeRun("second", seed=1), MadeRun("other")
    second.metrics = ["average_precision"]
    second.classifiers = [method("mlknn", "ML-kNN", n_neighbors=3)]
    other.digests = {"songs": "d2" * 32}
    page = Outline(render_report([made.write(runs) for made in (first, second, other)]))
    assert "3 runs side by side" in page.text
    shared = page.text[: page.text.index("In short")]
    assert "average precision" in shared
    assert "songs d1d1d1d1d1: hamming loss" not in " ".join(shared.split())
    assert page.row("selector", "judged by") == ["selector", "judged by", "run 1", "run 2"]
    assert page.row("SPEC", "ML-kNN other parameters")[2].startswith("0.")
    assert page.row("seed of all random streams") == ["seed of all random streams", "0", "1", "0"]


def test_runs_that_share_nothing_say_so(runs):
    first, other = MadeRun("first"), MadeRun("other")
    other.conventions = "mulan"  # other rules: the measures only share their names
    text = Outline(render_report([first.write(runs), other.write(runs)])).text
    assert "These runs share no data set" in text


def test_runs_without_an_evaluation(tmp_path, runs):
    make_tiny_store(tmp_path / "stores")
    only = TINY_JOB[: TINY_JOB.index("[evaluate]")].replace('"tiny"', '"only"', 1)
    page = Outline(render_report([finish(), finish(only)]))
    assert "none: selection on all rows only" in page.text
    assert "2 runs side by side" in page.text


def test_a_run_where_nothing_came_of_anything(runs):
    made = MadeRun()
    made.features, made.labels, made.digests = {}, {}, {}
    page = page_of(made, runs)
    assert "What ran" in page.text


def test_a_job_without_selectors_has_its_classifiers_side_by_side(runs):
    made = MadeRun("classifiers")
    made.select = []
    made.classifiers = [method("iblr", "IBLR"), method("mlknn", "ML-kNN"), method("lp", "LP")]
    made.features["more"] = made.features["songs"]
    made.labels["more"], made.digests["more"] = ["happy", "sad", "calm"], "d2" * 32
    page = page_of(made, runs)
    assert page.text.count("Classifiers on all features") == 2
    assert "Curves" not in page.text
    assert "measured at" not in page.text
    assert "none: classifiers on all features" in page.text
    rows = [row for row in page.clean_rows if row[0] == "LP" and len(row) == 3]
    assert len(rows) == 2
    assert all(re.fullmatch(r"0\.\d{4} ± 0\.\d{4}", cell) for cell in rows[0][1:])
    best = [tag for tag in page.tags if tag[1].get("class") == "n winner"]
    assert len(best) == 2 * 2


def test_one_classifier_beside_selectors_needs_no_such_table(runs):
    assert "Classifiers on all features" not in page_of(MadeRun(), runs).text
