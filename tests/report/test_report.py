"""The report: what it says, that it needs nothing else, and that names cannot break it."""

import html.parser
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.jobs.coordinator import Order, run_job
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.results import open_run
from mlfs_dask.report import render_report
from mlfs_dask.report.chart import Sample, Series, make_chart, nice_ticks
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.synth import Planted, synthesize
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store, tiny_table

EVIL = "<script>alert('1')</script> & \"ö\""


class Outline(html.parser.HTMLParser):
    """Tags, attributes and text of a page; checks that tags nest."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def finish(text=TINY_JOB, *overrides):
    job = parse_job(text.encode(), "job.toml", ("run.workers=0", *overrides))
    return open_run(run_job(Order(job=job, text=text.encode())).folder.path)


def test_a_report_says_what_ran_and_what_came_of_it(tmp_path):
    make_tiny_store(tmp_path / "stores")
    page = Outline(render_report([finish()]))
    for words in (
        "tiny",
        "SPEC",
        "mlknn",
        "hamming loss",
        "3 folds, repeated 2 times",
        "all features",
    ):
        assert words in page.text
    for heading in ("What ran", "Curves", "Best points", "Selected features", "Time", "Provenance"):
        assert heading in page.text
    drawn = [attrs["aria-label"] for tag, attrs in page.tags if attrs.get("role") == "img"]
    assert len(drawn) == 3
    assert "hamming loss over the share of features, lower is better" in drawn[0]
    assert re.search(r"f\d", page.text)  # names of features, not their numbers


def test_a_report_loads_nothing_and_has_no_scripts(tmp_path):
    make_tiny_store(tmp_path / "stores")
    text = render_report([finish()])
    page = Outline(text)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert not [a for _, attrs in page.tags for a in attrs if a.startswith("on")]
    assert not re.search(r"(src|href)=|url\(|@import|https?://", text)


def test_every_name_is_escaped(tmp_path):
    stores = tmp_path / "stores"
    stores.mkdir()
    names = [f"{EVIL} {i}" for i in range(8)]
    table = tiny_table(feature_names=names, label_names=[f"{EVIL} l{i}" for i in range(3)])
    ingest(table, stores / "tiny.zarr", tile=16, name=EVIL)
    label = "select.0.label='<b onclick=x>evil</b> & co'"
    page = Outline(render_report([finish(TINY_JOB, label)]))
    assert "script" not in {tag for tag, _ in page.tags}
    assert not [attrs for _, attrs in page.tags if "onclick" in attrs]
    assert "<b onclick=x>evil</b> & co" in page.text
    assert names[0] in page.text


def test_planted_features_are_counted_and_marked(tmp_path):
    planted = Planted(n_samples=100, n_features=10, n_labels=3, relevant=3, copies=2)
    synthesize(tmp_path / "stores" / "tiny.zarr", planted)
    page = Outline(render_report([finish()]))
    assert re.search(r"[0-3] of 3", page.text)
    assert "Planted truth" in page.text
    assert "relevant" in page.text


def test_several_runs_and_runs_without_an_evaluation(tmp_path):
    make_tiny_store(tmp_path / "stores")
    only = TINY_JOB[: TINY_JOB.index("[evaluate]")].replace('"tiny"', '"only"', 1)
    text = render_report([finish(), finish(only)])
    page = Outline(text)
    assert [tag for tag, _ in page.tags].count("h1") == 2
    assert "none: selection on all rows only" in page.text


def test_warnings_are_shown(tmp_path):
    (tmp_path / "stores").mkdir()
    table = tiny_table()
    table._Y[:, 1] = 0
    ingest(table, tmp_path / "stores" / "tiny.zarr", tile=16, name="tiny")
    page = Outline(render_report([finish()]))
    assert "6 pairs of label and training fold have no positive or no negative row" in page.text


@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(0, 1e6).filter(lambda span: span == 0 or span > 1e-6),
)
def test_ticks_span_the_values(low, span):
    high = low + span
    ticks = nice_ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 9
    assert np.all(np.diff(ticks) > 0)


def test_lines_stand_where_the_values_are():
    samples = [Sample(0.0, 1.0, 0.5, "a"), Sample(1.0, 3.0, 0.5, "b")]
    chart = make_chart("m", "higher is better", [Series("s", 0, samples)])
    assert [tick.text for tick in chart.y_ticks] == ["0", "1", "2", "3", "4"]
    first, last = chart.lines[0].marks
    assert (first.x, last.x) == (chart.left, chart.right)
    assert first.y == pytest.approx(chart.bottom - (chart.bottom - chart.top) / 4)
    assert last.y == pytest.approx(chart.bottom - 3 * (chart.bottom - chart.top) / 4, abs=0.01)
    assert chart.lines[0].band.count(",") == 4


def test_a_chart_of_undefined_values_is_empty():
    chart = make_chart("m", "higher is better", [Series("s", 0, [])])
    assert chart.lines == ()
