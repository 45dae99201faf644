"""The report: what it says, that it needs nothing else, and that names cannot break it."""

import html.parser
import re

import pytest
from made_runs import (
    CONTROL,
    EMOJI,
    LONG,
    RIGHT_TO_LEFT,
    SCRIPT,
    TEMPLATE,
    MadeRun,
    failed,
    hostile_run,
    method,
    problem_record,
    selection,
    start,
    subset_record,
)

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.report import render_report
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.synth import Planted, synthesize
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store, tiny_table


class Outline(html.parser.HTMLParser):
    """Tags, attributes, cells and text of a page; checks that tags nest."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.rows, self.pieces = [], [], "", [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag in ("br", "small", "span") and self.rows:
            self.rows[-1][-1:] = [cell + " " for cell in self.rows[-1][-1:]]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        self.pieces.append((self.open[-1] if self.open else "", data))
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def count(self, tag):
        return [name for name, _ in self.tags].count(tag)

    @property
    def clean_rows(self):
        return [[" ".join(cell.split()) for cell in row] for row in self.rows]

    def row(self, *beginning):
        """The row whose first cells are these, blanks aside."""
        rows = (row for row in self.clean_rows if tuple(row[: len(beginning)]) == beginning)
        return next(rows)


def finish(text=TINY_JOB, *overrides):
    job = parse_job(text.encode(), "job.toml", ("run.workers=0", *overrides))
    return open_run(run_job(Order(job=job, text=text.encode())).folder.path)


def page_of(made, runs):
    return Outline(render_report([made.write(runs)]))


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


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


def test_points_beyond_a_prefilter_are_marked(tmp_path):
    make_tiny_store(tmp_path / "stores")
    first = 'phi = 2\nprefilter = { method = "variance", n = 3 }'
    text = render_report([finish(TINY_JOB.replace("phi = 2", first))])
    assert text.count('class="mark beyond s0"') == 2 * 3  # with 4 and 8 features, three measures
    assert "mark beyond s1" not in text
    assert text.count("beyond the 3 of its prefilter") == 2 * 3
    assert "Hollow marks" in text


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


def test_every_name_is_escaped(runs):
    text = render_report([hostile_run().write(runs)])
    page = Outline(text)
    assert page.count("script") == 0
    for name in (SCRIPT, EMOJI, TEMPLATE, LONG):
        assert name in page.text  # whole where the methods are listed
    assert "{{ 7 * 7 }}" in page.text
    assert CONTROL.replace("\x00", "\N{REPLACEMENT CHARACTER}")[:8] in page.text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", text)


def test_names_that_turn_the_direction_of_writing_turn_only_themselves(runs):
    page = page_of(hostile_run(), runs)
    turned = [(tag, text) for tag, text in page.pieces if RIGHT_TO_LEFT[0] in text]
    assert len(turned) > 20
    assert {tag for tag, _ in turned} <= {"bdi", "title"}  # title: of a mark of a chart
    alone = [text for tag, text in turned if tag == "bdi" and not text.startswith("text = ")]
    assert all(text.startswith(RIGHT_TO_LEFT) for text in alone)


def test_names_of_features_and_labels_come_through_a_real_run(tmp_path):
    stores = tmp_path / "stores"
    stores.mkdir()
    names = [f"{SCRIPT} {i}" for i in range(8)]
    table = tiny_table(feature_names=names, label_names=[f"{SCRIPT} l{i}" for i in range(3)])
    ingest(table, stores / "tiny.zarr", tile=16, name=SCRIPT)
    page = Outline(render_report([finish(TINY_JOB, "select.0.label='<b onclick=x>evil</b>'")]))
    assert page.count("script") == 0
    assert not [attrs for _, attrs in page.tags if "onclick" in attrs]
    assert "<b onclick=x>evil</b>" in page.text
    assert names[0] in page.text


def test_lone_surrogates_do_not_stop_the_page(runs):
    made = MadeRun()
    made.features = {"songs": [f"\ud800 {i}" for i in range(20)]}
    assert "\N{REPLACEMENT CHARACTER} 1" in render_report([made.write(runs)]).encode().decode()


def test_planted_features_are_counted_and_marked(tmp_path):
    planted = Planted(n_samples=100, n_features=10, n_labels=3, relevant=3, copies=2)
    synthesize(tmp_path / "stores" / "tiny.zarr", planted)
    page = Outline(render_report([finish()]))
    assert re.search(r"[0-3] of 3", page.text)
    assert "Planted truth" in page.text
    assert "relevant" in page.text


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
