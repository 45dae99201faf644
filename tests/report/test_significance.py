"""What a report and its sentences say of tests of significance."""

import copy
import re

import numpy as np
import pytest
from made_runs import HOSTILE, MadeRun, compared_run

from mlfs_dask.report import render_report, verdicts
from mlfs_dask.report.significance import comparison_section, draw_comparison


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def test_a_report_has_a_diagram_and_a_rank_table_per_test(runs):
    run = compared_run(runs)
    page = render_report([run])
    assert page.count('class="cd-axis"') == 2
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "Do the selectors differ over the data sets, at 5 features?" in text
    assert text.count("Friedman: chi-square") == 2
    section = comparison_section(run)
    assert [test.metric for test in section.tests] == ["hamming loss", "average precision"]
    for test, document in zip(section.tests, run.tests["comparisons"], strict=True):
        averages = dict(zip(document["methods"], document["average_ranks"], strict=True))
        assert [(row.method, row.average_rank) for row in test.methods] == [
            (name, f"{rank:.2f}") for name, rank in sorted(averages.items(), key=lambda i: i[1])
        ]
        assert test.row_names == tuple(document["rows"])
        best = [cell for row in test.methods for cell in row.cells if cell.is_best]
        assert len(best) >= test.n_rows == 6


def test_a_control_and_the_baseline_are_named(runs):
    run = compared_run(runs, control="all")
    page = render_report([run])
    assert "Compared with <bdi>all features</bdi>" in page
    assert 'class="cd-span"' in page
    assert "Bonferroni-Dunn, all against all features" in page
    (control,) = [row.method for row in comparison_section(run).tests[0].methods if row.is_control]
    assert control == "all features"


def test_many_folds_are_not_listed(runs):
    run = compared_run(runs, over="folds", datasets=2)
    section = comparison_section(run)
    assert len(section.tests) == 4
    assert section.tests[0].where == "data 0, judged by ML-kNN"
    assert len(section.tests[0].row_names) == 6
    assert "Training rows of folds overlap" in " ".join(section.tests[0].cautions)


def test_what_was_not_tested_says_why(runs):
    run = compared_run(runs)
    document = run.tests["comparisons"][0]
    untested = {"test": None, "post_hoc": None, "ranks": None, "average_ranks": None}
    document.update(untested, problem="the table has missing cells: 'SPEC' on 'data 1'")
    page = render_report([run])
    assert "Not tested: the table has missing cells: &#39;SPEC&#39; on &#39;data 1&#39;." in page
    assert page.count('class="cd-axis"') == 1
    assert draw_comparison(document) is None


def test_runs_without_tests_have_no_section(runs):
    page = render_report([MadeRun().write(runs)])
    assert "Tests of significance" not in page


def test_hostile_names_stay_text(runs):
    run = compared_run(runs, selectors=HOSTILE)
    page = render_report([run])
    assert "<script" not in page
    assert "{{" not in page.replace("{{ 7 * 7 }}", "")
    assert page.count('class="cd-method"') == 2 * len(HOSTILE)


def test_wilcoxon_has_no_critical_difference(runs):
    run = compared_run(runs, test="wilcoxon")
    section = comparison_section(run)
    assert "Wilcoxon signed ranks with Holm's correction" in section.tests[0].test
    assert "CD = " not in render_report([run])
    assert re.fullmatch(r"\d+ : \d+", section.tests[0].pairs[0].measured)


# ------------------------------------------------------------------------------ sentences


@pytest.fixture
def tested(runs):
    return copy.deepcopy(compared_run(runs).tests["comparisons"][0])


def test_sentences_of_a_test(tested):
    tested["test"] |= {
        "chi_square": 12.918,
        "chi_square_df": 6,
        "chi_square_p_value": 0.0444,
        "tie_factor": 1.0,
        "f_statistic": 2.665,
        "f_df": [6, 36],
        "f_critical": 2.364,
        "f_p_value": 0.0303,
        "rejects": True,
    }
    assert verdicts.test_words(tested) == (
        "Friedman: chi-square 12.918 (6 df, p = 0.0444); Iman-Davenport F 2.665 (6 and 36 df, "
        "critical 2.364, p = 0.0303). At the level 0.05 the methods differ."
    )
    tested["test"] |= {"f_statistic": None, "f_p_value": 0.0, "tie_factor": 0.5, "rejects": False}
    words = verdicts.test_words(tested)
    assert "25.836 if corrected for ties" in words
    assert "F infinite" in words
    assert "p < 0.001" in words
    assert words.endswith("no difference is established.")


def test_differences_after_a_test_that_does_not_reject_are_qualified(tested):
    tested["test"]["rejects"] = False
    tested["post_hoc"]["pairs"][0] |= {"significant": True, "better": "MLLAP", "second": "MLLAP"}
    compare = {"over": "datasets", "at": "best"}
    cautions = verdicts.caution_words(tested, compare)
    assert "does not reject" in cautions[0]
    assert "chosen on these very folds" in cautions[-1]
    first = tested["post_hoc"]["pairs"][0]["first"]
    assert verdicts.difference_words(tested)[0].startswith(f"MLLAP is better than {first} (p")


def test_dropped_rows_and_absent_methods_are_named(tested):
    tested["dropped"], tested["absent"] = ["data 3"], ["pmu"]
    cautions = verdicts.caution_words(tested, {"over": "datasets", "at": {"count": 5}})
    assert cautions == ["Left out for a missing cell: data 3.", "Without any result: pmu."]


def test_where_and_at(tested):
    assert verdicts.where_words(tested) == "judged by ML-kNN"
    tested |= {"classifier": None, "selector": "all"}
    assert verdicts.where_words(tested) == "on all features"
    tested |= {"selector": "SPEC", "dataset": "yeast"}
    assert verdicts.where_words(tested) == "yeast, on features of SPEC"
    assert verdicts.point_words({"count": 1, "fraction": None}) == "at 1 feature"
    assert verdicts.point_words(None) == "at the one point judged"
    assert verdicts.point_words("selected") == "each with its own subset"


def test_diagrams_follow_the_document(tested):
    diagram = draw_comparison(tested, title="a title")
    for name, rank in zip(tested["methods"], tested["average_ranks"], strict=True):
        assert f"{name} {rank:.2f}" in diagram.description
    assert "a title" in diagram.body
    assert np.isclose(
        float(re.search(r'data-length="([\d.]+)"', diagram.body)[1]),
        tested["post_hoc"]["critical_difference"],
    )
