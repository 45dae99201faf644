"""``mlfs compare`` as users type it, and which runs it takes together."""

import json
import xml.etree.ElementTree as ET

import pytest

from mlfs_dask.errors import InputError
from mlfs_dask.jobs.compare_runs import merged_evaluation
from mlfs_dask.jobs.results import open_run
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

STUDY = TINY_JOB.replace('store = "tiny"', 'store = ["tiny", "small", "little"]')


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare") / "stores"
    for seed, name in enumerate(("tiny", "small", "little")):
        make_tiny_store(folder, name, seed=seed)
    return folder


@pytest.fixture
def study(stores, invoke, tmp_path, monkeypatch):
    """A function that runs the tiny job over three data sets, with changes, and names the run.

    Runs are kept for all tests of this file: a finished one is found, not repeated.
    """
    monkeypatch.setenv("MLFS_STORES", str(stores))
    monkeypatch.setenv("MLFS_RUNS", str(stores.parent / "runs"))
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")

    def run(*changes, name="study"):
        sets = [part for change in (f"name={name}", *changes) for part in ("--set", change)]
        return json.loads(invoke("run", path, "--workers", "0", "--json", *sets).stdout)["run"]

    return run


def test_help_has_an_example(invoke):
    assert "Example:\n    mlfs compare study --metric" in invoke("compare", "--help").output


def test_a_table_with_its_tests_and_a_diagram(study, invoke, document, tmp_path):
    run = study()
    target = tmp_path / "not there" / "ranks.svg"
    arguments = ("compare", run, "--metric", "average_precision", "--at", "50%")
    said = invoke(*arguments, "-o", target).stdout
    for part in (
        "average precision, judged by mlknn [n_neighbors=3], at 50 % of the features (higher is",
        "average rank",
        "Friedman: chi-square",
        "Nemenyi, all pairs: critical difference 1.132.",
        f"diagram: {target}",
    ):
        assert part in said, part
    picture = ET.parse(target).getroot()
    assert len([e for e in picture.iter() if e.get("class") == "cd-method"]) == 2
    found = document(*arguments)
    assert found["runs"] == [run]
    assert found["file"] is None
    (one,) = found["comparisons"]
    assert one["rows"] == ["tiny", "small", "little"]
    assert one["methods"] == ["SPEC", "mllap"]


def test_alpha_control_and_tests_are_chosen(study, document):
    run = study()
    wide = document("compare", run, "--metric", "auc_macro", "--at", "2", "--control", "all")
    narrow = document(
        "compare", run, "--metric", "auc_macro", "--at", "2", "--control", "all", "--alpha", "0.1"
    )
    limits = [d["comparisons"][0]["post_hoc"]["critical_difference"] for d in (wide, narrow)]
    assert limits[0] > limits[1]
    assert wide["compare"]["post_hoc"] == "bonferroni-dunn"
    assert wide["comparisons"][0]["methods"] == ["SPEC", "mllap", "all"]
    pairs = document("compare", run, "--at", "best", "--test", "wilcoxon")
    assert [c["post_hoc"]["name"] for c in pairs["comparisons"]] == ["holm"] * 3


def test_settings_come_from_the_job(study, document, invoke):
    run = study("compare={ over = 'folds', at = 'best', alpha = 0.1, control = 'SPEC' }")
    found = document("compare", run)["compare"]
    assert (found["over"], found["at"], found["alpha"]) == ("folds", "best", 0.1)
    assert found["post_hoc"] == "bonferroni-dunn"
    assert document("compare", run, "--test", "wilcoxon")["compare"]["post_hoc"] == "holm"
    said = invoke("compare", run, "--metric", "hamming_loss").stdout
    assert said.count("Training rows of folds overlap") == 3
    assert "little, judged by" in said


def test_labels_of_the_job_are_of_its_own_columns(study, invoke):
    run = study("compare={ of = 'selectors', labels = ['all', 'mllap'], at = 'best' }")
    refused = invoke("compare", run, "--of", "classifiers", code=2)
    assert "fewer than two classifiers to compare" in refused.stderr


def test_runs_over_different_data_make_the_rows(study, document):
    runs = [study(f"data.store={name}", name=name) for name in ("tiny", "small", "little")]
    found = document("compare", *runs, "--metric", "hamming_loss", "--at", "0.5")
    assert found["compare"]["over"] == "datasets"
    together = document("compare", study(), "--metric", "hamming_loss", "--at", "0.5")
    assert found["comparisons"][0] == together["comparisons"][0]


def test_methods_of_several_runs_make_the_columns(study, document):
    one = study("select.1.label=first", "evaluate.baseline=false", name="one")
    two = study("select.1.phi=1", "select.1.method=spec", "select.0.label=other", name="two")
    found = document("compare", one, two, "--metric", "hamming_loss", "--at", "4")
    assert found["comparisons"][0]["methods"] == ["SPEC", "first", "other", "spec"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "the curves have several points"),
        (("--at", "33%"), "no curve has a point at this number of features"),
        (("--at", "best", "--metric", "f1_macro"), "the runs have no f1_macro"),
        (("--at", "best", "--metric", "f1"), "no metric is named 'f1'"),
        (("--at", "best", "--control", "SPEK"), "no selector of the runs is labelled 'SPEK'"),
        (("--at", "best", "--label", "SPEC"), "fewer than two selectors"),
        (("--at", "best", "--of", "classifiers"), "fewer than two classifiers"),
        (("--at", "best", "--test", "wilcoxon", "--post-hoc", "nemenyi"), "works on average ranks"),
        (("--at", "1.5"), "'1.5'; expected a share (20% or 0.2)"),
        (("--at", "0"), "expected a share"),
        (("--alpha", "0"), "alpha"),
        (("--at", "selected"), "nothing could be tested: the table has missing cells"),
    ],
)
def test_what_cannot_be_compared_is_the_users_to_correct(study, invoke, arguments, words):
    result = invoke("compare", study(), *arguments, code=2)
    assert words in " ".join(result.stderr.split())


def test_one_data_set_needs_folds_as_rows(study, invoke, document):
    run = study("data.store=tiny", name="alone")
    assert document("compare", run, "--at", "best")["compare"]["over"] == "folds"
    refused = invoke("compare", run, "--at", "best", "--over", "datasets", code=2)
    assert "there is one data set, tiny" in refused.stderr


def test_runs_that_do_not_go_together(study):
    first = open_run(study(name="a"))
    with pytest.raises(InputError, match="both have 'SPEC' judged by"):
        merged_evaluation([first, open_run(study(name="b"))])
    with pytest.raises(InputError, match="measures by the conventions 'default'"):
        merged_evaluation([first, open_run(study("evaluate.conventions=mulan", name="c"))])
    with pytest.raises(InputError, match="with another seed"):
        merged_evaluation([first, open_run(study("seed=9", name="d"))])
    with pytest.raises(InputError, match="with another split"):
        merged_evaluation([first, open_run(study("evaluate.split.folds=2", name="e"))])


def test_a_run_without_an_evaluation_is_refused(study, invoke, tmp_path):
    study()
    only = tmp_path / "only.toml"
    only.write_text(STUDY[: STUDY.index("[evaluate]")].replace('"tiny"\nseed', '"only"\nseed'))
    run = json.loads(invoke("run", only, "--workers", "0", "--json").stdout)["run"]
    assert "has no evaluation to compare" in invoke("compare", run, code=2).stderr
