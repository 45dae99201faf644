"""``[compare]`` in job files: what is right, what is wrong and how that is told; tests.json."""

import json
import tomllib

import jsonschema
import numpy as np
import pytest

from mlfs_dask import stats
from mlfs_dask.errors import JobFileError, RunFolderError
from mlfs_dask.jobs.compare_spec import Compare, PointAt
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.overrides import apply_overrides
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.results import open_run
from mlfs_dask.jobs.schema import job_schema
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store

JOB = """
schema = 1
name = "x"
[data]
store = ["emotions", "yeast"]
[[select]]
method = "spec"
[[select]]
method = "mllap"
[evaluate]
features = { fractions = [0.1, 0.2] }
metrics = ["hamming_loss", "accuracy"]
[[evaluate.classifier]]
method = "mlknn"
[[evaluate.classifier]]
method = "mlknn"
label = "other"
[compare]
at = "best"
"""


@pytest.fixture(scope="module")
def schema():
    return jsonschema.Draft202012Validator(job_schema())


def parse(*overrides):
    return parse_job(JOB.encode(), "job.toml", overrides)


def problems(*overrides):
    with pytest.raises(JobFileError) as caught:
        parse(*overrides)
    return list(caught.value.problems)


def values(*overrides):
    raw, found = tomllib.loads(JOB), Problems("job.toml")
    apply_overrides(raw, overrides, found)
    found.check()
    return raw


def test_defaults_are_filled_in():
    assert parse().compare == Compare(
        over="datasets", at="best", metrics=("hamming_loss", "accuracy"), post_hoc="nemenyi"
    )
    assert parse("data.store=emotions").compare.over == parse("data.store=['x']").compare.over
    assert parse("data.store=emotions").compare.over == "folds"
    assert parse("compare.control=mllap").compare.post_hoc == "bonferroni-dunn"
    assert parse("compare.test=wilcoxon").compare.post_hoc == "holm"


RIGHT = [
    ("compare.at={ fraction = 0.2 }", lambda c: c.at == PointAt(fraction=0.2)),
    ("compare.at={ fraction = 0.1 }", lambda c: c.at == PointAt(fraction=0.1)),
    ("compare.metrics=['accuracy', 'accuracy']", lambda c: c.metrics == ("accuracy",)),
    ("compare.of=classifiers", lambda c: c.of == "classifiers"),
    ("compare.over=folds", lambda c: c.over == "folds"),
    ("compare.labels=['all', 'spec']", lambda c: c.labels == ("all", "spec")),
    ("compare.control=all", lambda c: c.control == "all"),
    ("compare.alpha=0.1", lambda c: c.alpha == 0.1),
    ("compare.missing=drop", lambda c: c.missing == "drop"),
]


@pytest.mark.parametrize(("change", "check"), RIGHT, ids=[change for change, _ in RIGHT])
def test_right_values(change, check, schema):
    job = parse(change)
    assert check(job.compare)
    schema.validate(values(change))
    assert job.resolved()["compare"]["alpha"] in (0.05, 0.1)


WRONG = [
    ("compare.over=data", "compare.over: 'data' is not allowed; expected 'datasets' or 'folds'"),
    ("compare.alpha=0", "compare.alpha: 0 is not allowed; expected a number (above 0, below 1)"),
    ("compare.alpha=1.0", "compare.alpha: 1.0 is not allowed"),
    ("compare.test=anova", "compare.test: 'anova' is not allowed; expected 'friedman' or "),
    ("compare.overr=folds", "compare.overr: unknown key; did you mean 'over'?"),
    ("compare.at=worst", "compare.at: 'worst' is not allowed; expected { fraction = .. }"),
    ("compare.at=0.2", "compare.at: 0.2 is not allowed; expected { fraction = .. }"),
    ("compare.at={}", "compare.at: expected exactly one of fraction = .., count = .."),
    ("compare.at={ fraction = 0.1, count = 2 }", "compare.at: expected exactly one of"),
    ("compare.at={ fractoin = 0.1 }", "compare.at.fractoin: unknown key; did you mean 'fraction'?"),
    ("compare.at={ fraction = 1.5 }", "compare.at.fraction: 1.5 is not allowed"),
    ("compare.metrics=[]", "compare.metrics: [] is not allowed; expected at least one metric"),
    ("compare=3", "compare: 3 is not allowed; expected a table"),
    ("compare.post_hoc=tukey", "compare.post_hoc: 'tukey' is not allowed"),
]
WRONG_TOGETHER = [
    ("compare.at={ fraction = 0.5 }", "compare.at: fraction = 0.5 is not judged; fractions of the"),
    ("compare.at={ count = 5 }", "compare.at: count = 5 is not judged; counts of the features: no"),
    ("compare.at=selected", "compare.at: 'selected' needs features = { selected = true } (spec)"),
    ("compare.metrics=['coverage']", "compare.metrics.0: no metric of [evaluate] is named 'cover"),
    ("compare.control=mlap", "compare.control: no selector is named 'mlap'; did you mean 'mllap'?"),
    ("compare.labels=['spec', 'x']", "compare.labels.1: no selector is named 'x'. Known: spec, ml"),
    ("compare.labels=['spec']", "compare.labels: 1 of the selectors; expected two or more"),
    ("compare.post_hoc='bonferroni-dunn'", "compare.control: missing; 'bonferroni-dunn' compares"),
    (
        "select.0.datasets=['yeast']",
        "compare.missing: 'spec' runs on some data sets only, which leaves missing cells; expected "
        "'drop', or labels without it",
    ),
]


@pytest.mark.parametrize(
    ("change", "problem"), WRONG + WRONG_TOGETHER, ids=[c for c, _ in WRONG + WRONG_TOGETHER]
)
def test_wrong_values_are_told_with_key_value_and_what_is_allowed(change, problem, schema):
    found = problems(change)
    assert any(each.startswith(problem) for each in found), found
    if (change, problem) in WRONG:
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(values(change))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            ["compare.test=wilcoxon", "compare.post_hoc=nemenyi"],
            "compare.post_hoc: 'nemenyi' works on average ranks; after 'wilcoxon' expected 'holm'",
        ),
        (
            ["compare.control=spec", "compare.post_hoc=nemenyi"],
            "compare.control: 'nemenyi' compares all pairs",
        ),
        (
            ["compare.over=folds", "evaluate.split={ kind = 'holdout' }"],
            "compare.over: holdout has one fold; expected 'datasets'",
        ),
        (
            ["data.store=emotions", "compare.over=datasets"],
            "compare.over: there is one data set; expected 'folds', or more data sets",
        ),
        (["compare.of=classifiers", "compare.control=spec"], "compare.control: no classifier is"),
        (["evaluate.baseline=false", "compare.control=all"], "compare.control: no selector is na"),
    ],
)
def test_keys_that_do_not_go_together(changes, problem):
    found = problems(*changes)
    assert any(each.startswith(problem) for each in found), found


def test_the_point_may_be_left_out_where_there_is_one():
    text = JOB.replace('at = "best"', "")
    with pytest.raises(JobFileError, match=r"compare.at: missing; expected { fraction = .. }"):
        parse_job(text.encode(), "job.toml")
    for one in ("selected = true", "size_of = 'mllap'", "counts = [3]"):
        job = parse_job(text.encode(), "job.toml", [f"evaluate.features={{ {one} }}"])
        assert job.compare.at is None
    job = parse_job(text.encode(), "job.toml", ["select=[]", "compare.of=classifiers"])
    assert job.compare.at is None


def test_there_has_to_be_an_evaluation():
    text = JOB[: JOB.index("[evaluate]")] + JOB[JOB.index("[compare]") :]
    with pytest.raises(JobFileError, match=r"compare: there is no \[evaluate\] table"):
        parse_job(text.encode(), "job.toml")


# -------------------------------------------------------------------------------- tests.json

COMPARED = (
    TINY_JOB.replace('store = "tiny"', 'store = ["tiny", "small", "little"]')
    + '\n[compare]\nat = { fraction = 0.5 }\ncontrol = "all"\nalpha = 0.1\n'
)


@pytest.fixture
def stores(tiny_store, tmp_path):
    for seed, name in enumerate(("small", "little"), start=1):
        make_tiny_store(tmp_path / "stores", name, seed=seed)


def test_a_run_writes_the_tests_that_its_job_asks_for(stores, run_tiny):
    run = open_run(run_tiny(text=COMPARED).folder.path)
    document = run.tests
    assert document["format"] == 1
    assert document["run"] == run.id
    assert document["compare"]["post_hoc"] == "bonferroni-dunn"
    assert [c["metric"] for c in document["comparisons"]] == run.job["evaluate"]["metrics"]
    for one in document["comparisons"]:
        assert one["problem"] is None
        assert one["methods"] == ["SPEC", "mllap", "all"]
        assert one["rows"] == ["tiny", "small", "little"]
        expected = stats.bonferroni_dunn(
            np.array(one["values"]),
            "all",
            alpha=0.1,
            names=one["methods"],
            higher_is_better=one["higher_is_better"],
        )
        assert one["post_hoc"]["critical_difference"] == expected.critical_difference
        assert one["average_ranks"] == expected.ranking.average_ranks.tolist()
    lines = (run.path / "tests.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 + len(document["comparisons"])


def test_cells_are_means_over_the_folds_of_evaluation_csv(stores, run_tiny):
    run = open_run(run_tiny(text=COMPARED).folder.path)
    rows = run.evaluation
    one = run.tests["comparisons"][0]
    for i, dataset in enumerate(one["rows"]):
        for j, selector in enumerate(one["methods"]):
            chosen = rows[
                (rows["dataset"] == dataset)
                & (rows["selector"] == selector)
                & (rows["metric"] == one["metric"])
                & (rows["n_features"] == (8 if selector == "all" else 4))
            ]
            assert len(chosen) == 6
            assert one["values"][i][j] == pytest.approx(np.mean(chosen["value"]), rel=1e-11)


def test_tests_json_is_the_same_byte_for_byte(stores, run_tiny, tmp_path):
    folder = run_tiny(text=COMPARED).folder
    first = folder.tests.read_bytes()
    again = run_tiny(text=COMPARED, runs=tmp_path / "elsewhere").folder.tests.read_bytes()
    assert first == again
    assert json.loads(first)["comparisons"]
    # Put together anew from the units, the last of which is computed again.
    for path in (folder.state, folder.tests, sorted(folder.units.iterdir())[-1]):
        path.unlink()
    assert run_tiny(text=COMPARED).folder.path == folder.path
    assert folder.tests.read_bytes() == first


def test_changed_tests_are_refused_and_jobs_without_compare_have_none(stores, run_tiny):
    run = open_run(run_tiny(text=COMPARED).folder.path)
    path = run.path / "tests.json"
    path.write_text(path.read_text().replace("0.1", "0.2"))
    with pytest.raises(RunFolderError, match="was changed"):
        open_run(run.path).tests  # noqa: B018
    assert open_run(run_tiny().folder.path).tests is None


def test_what_cannot_be_tested_does_not_stop_the_run(stores, run_tiny):
    partly = COMPARED.replace('control = "all"', 'missing = "drop"')
    finished = run_tiny("select.0.datasets=['tiny']", text=partly)
    document = open_run(finished.folder.path).tests
    for one in document["comparisons"]:
        assert one["problem"] == "the table has 1 row without a missing cell"
        assert one["test"] is None
