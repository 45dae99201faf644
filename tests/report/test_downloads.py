"""What can be taken along from a report: tables as CSV inside the page, links to files of runs."""

import csv
import html.parser
import io
from urllib.parse import unquote

import pytest
from made_runs import (
    HOSTILE,
    MadeRun,
    compared_run,
    hostile_run,
    method,
    selection,
    subset_record,
)

from mlfs_dask.jobs.summary import curve_points
from mlfs_dask.report import render_report, write_report
from mlfs_dask.report.downloads import ROWS_INSIDE, csv_link, points_link

BEGIN = "data:text/csv;charset=utf-8,"


def rows_of(address):
    assert address.startswith(BEGIN)
    return list(csv.reader(io.StringIO(unquote(address.removeprefix(BEGIN)))))


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.files, self.tables = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        if tag == "a" and "download" in told:
            self.tables.setdefault(told["download"], []).append(rows_of(told["href"]))
        elif tag == "a" and not told["href"].startswith("#"):
            self.files.append(told["href"])


def test_a_table_comes_back_as_it_was():
    names = ["a,b", 'quo"te', "two\nlines", "übel שלום", "#frag?&%41"]
    assert rows_of(csv_link(["name", "x"], [[name, 0.1] for name in names])) == [
        ["name", "x"],
        *([name, "0.1"] for name in names),
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@SUM(A1)", "\tx"])
def test_no_cell_runs_in_a_spreadsheet(text):
    assert rows_of(csv_link(["name"], [[text]]))[1][0].startswith("'")
    assert rows_of(csv_link(["x"], [[-0.5]]))[1] == ["-0.5"]  # numbers stay numbers


def test_links_to_files_are_seen_from_the_report(tmp_path):
    run = MadeRun("plain").write(tmp_path / "some runs")
    names = ["evaluation.csv", "results.json", "timings.json"]
    assert Links(render_report([run])).files == names
    target = tmp_path / "out" / "page.html"
    target.parent.mkdir()
    write_report([run], target)
    links = Links(target.read_text(encoding="utf-8")).files
    assert links == [f"../some%20runs/{run.id}/{name}" for name in names]
    for link in links:
        assert (target.parent / unquote(link)).resolve().is_file()


def test_points_and_stability_are_those_of_the_run(tmp_path):
    run = MadeRun().write(tmp_path)
    tables = Links(render_report([run])).tables
    points = curve_points(run)
    (found,) = tables["points.csv"]
    assert len(found) == 1 + sum(len(point.means) for point in points)
    assert found[1][:4] == ["songs", "SPEC", "ML-kNN", "2.0"]
    assert float(found[1][7]) == points[0].means["hamming_loss"].value
    assert [row[:3] for row in tables["stability.csv"][0][1:3]] == [
        ["songs", "SPEC", "2"],
        ["songs", "SPEC", "5"],
    ]


def test_too_many_points_are_left_to_the_file(tmp_path):
    run = MadeRun().write(tmp_path)
    many = curve_points(run) * ROWS_INSIDE
    assert points_link(many) == ""
    assert points_link([]) == ""


def test_agreement_between_methods_is_shown_and_can_be_taken_along(tmp_path):
    made = MadeRun()
    made.select.append(method("nrs-cost", "own"))
    made.records["own"] = lambda *_: subset_record(made.rng, 20)
    made.records["SPEC"] = made.records["MLLAP"] = lambda dataset, fold: ranking(fold)
    text = render_report([made.write(tmp_path)])
    (found,) = Links(text).tables["agreement.csv"]
    assert found[0] == ["dataset", "first", "second", "k", "jaccard"]
    alike = {tuple(row[1:4]): float(row[4]) for row in found[1:]}
    assert alike["SPEC", "MLLAP", "5"] == 1.0
    assert 0 <= alike["SPEC", "own", "own"] < 1
    assert ("SPEC", "MLLAP", "own") not in alike
    assert "their own subsets" in text
    assert "mean over 6 selections on the same rows" in text


def test_one_selector_agrees_with_nobody(tmp_path):
    made = MadeRun()
    made.select = made.select[:1]
    assert "Agreement between methods" not in render_report([made.write(tmp_path)])


def test_ranks_of_tests_can_be_taken_along(tmp_path):
    (first, *_) = Links(render_report([compared_run(tmp_path)])).tables["ranks.csv"]
    assert len(first) == 1 + 6 * 3
    assert {row[0] for row in first[1:]} == {f"data {i}" for i in range(6)}
    of_row = [float(row[3]) for row in first[1:4]]
    assert sorted(of_row) == [1.0, 2.0, 3.0]


def test_names_that_break_things_break_no_table(tmp_path):
    tables = Links(render_report([hostile_run().write(tmp_path)])).tables
    (points,) = tables["points.csv"]
    assert {len(row) for row in points} == {10}
    assert HOSTILE[0] in {row[1] for row in points}


def ranking(fold):
    order = list(range(20)) if fold else list(range(19, -1, -1))
    return selection(order, [1.0] * 20)
