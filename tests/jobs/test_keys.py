"""Keys of job files that take more than one value: each right, each wrong."""

import json
import os
import tomllib

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import JobFileError
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.overrides import apply_overrides
from mlfs_dask.jobs.problems import Problems
from mlfs_dask.jobs.schema import job_schema
from mlfs_dask.jobs.spec import Costs, Features, Job, Missing, Prefilter, Split

JOB = """
schema = 1
name = "x"
[data]
store = "emotions"
[[select]]
method = "spec"
[[select]]
method = "mllap"
[evaluate]
[[evaluate.classifier]]
method = "mlknn"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    (folder / "costs.csv").write_text("name,cost\n")
    (folder / "groups.csv").write_text("a\n")
    return folder


def parse(*overrides, file="job.toml"):
    return parse_job(JOB.encode(), str(file), overrides)


def problems(*overrides, file="job.toml"):
    with pytest.raises(JobFileError) as caught:
        parse(*overrides, file=file)
    return list(caught.value.problems)


def values(*overrides):
    """The job file as values of TOML, with overrides put in."""
    raw, found = tomllib.loads(JOB), Problems("job.toml")
    apply_overrides(raw, overrides, found)
    found.check()
    return raw


RIGHT = [
    ("data.missing={ rate = 0.05 }", lambda job: job.data.missing == Missing(rate=0.05)),
    ("data.missing.rate=1", lambda job: job.data.missing == Missing(rate=1.0)),
    (
        "data.costs={ distribution = 'uniform', low = 0, high = 100 }",
        lambda job: job.data.costs == Costs(distribution="uniform", low=0.0, high=100.0),
    ),
    (
        "data.costs={ distribution = 'normal', mean = 100, std = 30.5 }",
        lambda job: job.data.costs == Costs(distribution="normal", mean=100.0, std=30.5),
    ),
    ("data.costs=store", lambda job: job.data.costs == "store" and not job.files),
    (
        "select.0.prefilter={ method = 'mllap', n = 5 }",
        lambda job: job.select[0].prefilter.n == 5 and job.select[0].label != "spec",
    ),
    ("select.1.datasets=['a', 'b']", lambda job: job.select[1].datasets == ("a", "b")),
    (
        "select.1.features={ counts = [3, 1] }",
        lambda job: (
            job.features_of(job.select[1]) == Features(counts=(3, 1))
            and job.features_of(job.select[0]) == job.evaluate.features
        ),
    ),
    ("evaluate.features={ selected = true }", lambda job: job.evaluate.features.selected),
    ("evaluate.features.size_of=mllap", lambda job: job.evaluate.features.size_of == "mllap"),
    (
        "evaluate.split={ kind = 'iterative', folds = 3, repeats = 2 }",
        lambda job: job.evaluate.split == Split(kind="iterative", folds=3, repeats=2),
    ),
    ("evaluate.strict=true", lambda job: job.evaluate.strict),
]


@pytest.mark.parametrize("name", ["costs.csv\0", "", "x" * 5000, "pipe"])
def test_names_that_no_file_can_have_and_pipes_are_refused(folder, name):
    if name == "pipe" and not (folder / name).exists():
        os.mkfifo(folder / name)  # reading it would wait for ever
    path = json.dumps(name)
    found = problems(f"data.costs={path}", file=folder / "job.toml")
    assert found[0].startswith("data.costs: ")


@pytest.mark.parametrize(("change", "holds"), RIGHT, ids=[change for change, _ in RIGHT])
def test_right_values_are_read_and_match_the_schema(change, holds):
    assert holds(parse(change))
    jsonschema.validate(values(change), job_schema())


UNIFORM = "distribution = 'uniform'"
WRONG = [
    ("data.missing=0.05", "data.missing: 0.05 is not allowed; expected a table"),
    ("data.missing={}", "data.missing.rate: missing; expected a number (at least 0"),
    (
        "data.missing.rate=1.5",
        "data.missing.rate: 1.5 is not allowed; expected a number (at least 0, at most 1)",
    ),
    ("data.missing.rate=nan", "data.missing.rate: nan is not allowed; expected "),
    (
        "data.missing={ rat = 0.5 }",
        "data.missing.rat: unknown key; did you mean 'rate'? Allowed here: rate",
    ),
    ("data.costs=3", "data.costs: 3 is not allowed; expected a table such as { distribution = "),
    (
        "data.costs.distribution=uniforn",
        "data.costs.distribution: 'uniforn' is not allowed; expected 'uniform' or 'normal'",
    ),
    (
        f"data.costs={{ {UNIFORM}, low = 1 }}",
        "data.costs.high: missing; uniform needs low and high",
    ),
    (
        f"data.costs={{ {UNIFORM}, low = 2, high = 1 }}",
        "data.costs.high: 1.0 is not allowed; expected at least low = 2.0",
    ),
    (
        f"data.costs={{ {UNIFORM}, low = -1, high = 1 }}",
        "data.costs.low: -1 is not allowed; expected a number (at least 0)",
    ),
    (
        f"data.costs={{ {UNIFORM}, low = 0, high = 1, std = 1 }}",
        "data.costs.std: uniform takes low and high; leave this key out",
    ),
    (
        "data.costs={ distribution = 'normal', mean = 1, st = 1 }",
        "data.costs.st: unknown key; did you mean 'std'? Allowed here: distribution, low, high",
    ),
    (
        "data.costs={ distribution = 'normal', mean = inf, std = 1 }",
        "data.costs.mean: inf is not allowed; expected finite numbers",
    ),
    ("data.costs=stor", "data.costs: 'stor' is not allowed; expected a table, 'store' or the path"),
    (
        "select.0.prefilter=5",
        'select.0.prefilter: 5 is not allowed; expected a table such as { method = "spec", n = ',
    ),
    (
        "select.0.prefilter={ method = 'spec' }",
        "select.0.prefilter.n: missing; expected a whole number (at least 1)",
    ),
    (
        "select.0.prefilter={ n = 3 }",
        "select.0.prefilter.method: missing; expected one of ",
    ),
    (
        "select.0.prefilter={ method = 'spek', n = 3 }",
        "select.0.prefilter.method: no selector is named 'spek'; did you mean 'spec'? Known: ",
    ),
    (
        "select.0.prefilter={ method = 'spec', n = 0 }",
        "select.0.prefilter.n: 0 is not allowed; expected a whole number (at least 1)",
    ),
    (
        "select.0.prefilter={ method = 'spec', n = 3, phy = 2 }",
        "select.0.prefilter.phy: unknown key; did you mean 'phi'? Allowed here: method, n, ",
    ),
    (
        "select.0.prefilter={ method = 'spec', n = 3, phi = 9 }",
        "select.0.prefilter.phi: 9: expected one of 1, 2, 3",
    ),
    (
        "select.0.prefilter={ method = 'spec', n = 3, label = 'x' }",
        "select.0.prefilter.label: unknown key",
    ),
    ("select.0.datasets=[]", "select.0.datasets: [] is not allowed; expected at least one data"),
    (
        "select.0.datasets=emotions",
        "select.0.datasets: 'emotions' is not allowed; expected a list, each item a string",
    ),
    ("select.0.features={}", "select.0.features: expected exactly one of fractions = [..], counts"),
    (
        "select.0.features={ fractions = [0.0] }",
        "select.0.features.fractions.0: 0.0 is not allowed; expected a list, each item a number",
    ),
    (
        "select.0.features={ counts = [1], selected = true }",
        "select.0.features: expected exactly one of",
    ),
    (
        "evaluate.features={ selected = false }",
        "evaluate.features.selected: false is not allowed; expected true",
    ),
    (
        "evaluate.features={ selectd = true }",
        "evaluate.features.selectd: unknown key; did you mean 'selected'? Allowed here: fractions",
    ),
    (
        "evaluate.features={ size_of = 'mlap' }",
        "evaluate.features.size_of: no selector is named 'mlap'; did you mean 'mllap'? Known: spec",
    ),
    (
        "select.0.features={ size_of = 'nobody' }",
        "select.0.features.size_of: no selector is named 'nobody'",
    ),
    (
        "evaluate.split={ kind = 'iterativ' }",
        "evaluate.split.kind: 'iterativ' is not allowed; expected 'kfold', 'iterative', 'groups' "
        "or 'holdout'",
    ),
    ("evaluate.split={ kind = 'groups' }", "evaluate.split.column: missing; expected the path"),
    (
        "evaluate.split={ kind = 'iterative', column = 'x.csv' }",
        "evaluate.split.column: iterative has no groups; leave this key out",
    ),
    (
        "evaluate.split={ kind = 'groups', column = 3 }",
        "evaluate.split.column: 3 is not allowed; expected a string",
    ),
    (
        "evaluate.split={ kind = 'groups', column = 'none.csv' }",
        "evaluate.split.column: 'none.csv' is not allowed; expected the path of a file with the "
        "group of each row; ",
    ),
    ("evaluate.strict=1", "evaluate.strict: 1 is not allowed; expected true or false"),
    ("files={}", "files: unknown key"),
]
# What the schema cannot know: other keys' values, labels, files, methods' own rules.
BEYOND_THE_SCHEMA = ("rate=nan", "mean = inf", "low = 2, high = 1", "stor", "phi = 9", "size_of")
BEYOND_THE_SCHEMA += ("none.csv", "datasets=[]")


@pytest.mark.parametrize(("change", "problem"), WRONG, ids=[change for change, _ in WRONG])
def test_wrong_values_are_told_with_key_value_and_what_is_allowed(change, problem):
    found = problems(change)
    assert any(each.startswith(problem) for each in found), found
    if not any(part in change for part in BEYOND_THE_SCHEMA):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(values(change), job_schema())


def test_features_of_a_selector_need_something_to_judge_with():
    text = JOB.partition("[evaluate]")[0]
    with pytest.raises(JobFileError) as caught:
        parse_job(text.encode(), "job.toml", ["select.1.features.selected=true"])
    expected = "select.1.features: there is no [evaluate] table to judge with; leave this key out"
    assert caught.value.problems == (expected,)


def test_files_are_found_from_the_folder_of_the_job(folder):
    job = parse(
        "data.costs=costs.csv",
        "evaluate.split={ kind = 'groups', column = './groups.csv' }",
        file=folder / "job.toml",
    )
    assert {key: file.path for key, file in job.files.items()} == {
        "data.costs": str(folder / "costs.csv"),
        "evaluate.split.column": str(folder / "groups.csv"),
    }
    assert "No such file" in problems("data.costs=costs.csv", file=folder.parent / "job.toml")[0]
    assert f"{folder}: not a file" in problems(f"data.costs='{folder}'")[0]


def test_a_prefilter_inherits_imputation_from_its_selector():
    prefilter = "select.0.prefilter={ method = 'mllap', n = 5 }"

    def imputes(*overrides):
        select = parse(prefilter, *overrides).select[0]
        return select.params["impute"], select.prefilter.params["impute"]

    assert imputes() == ("none", "none")
    assert imputes("data.impute=mean") == ("mean", "mean")
    assert imputes("data.impute=mean", "select.0.impute=none") == ("none", "none")
    assert imputes("select.0.prefilter.impute=mean") == ("none", "mean")


def test_labels_name_the_prefilter():
    job = parse("select.0.prefilter={ method = 'mllap', n = 5 }", "select.0.phi=3")
    assert job.select[0].label == "spec [phi=3, prefilter=mllap 5]"
    named = parse("select.0.prefilter={ method = 'mllap', n = 5 }", "select.0.label='a b'")
    assert named.select[0].label == "a b"
    assert isinstance(named.select[0].prefilter, Prefilter)
    assert named.select[0].prefilter.params["impute"] == "none"


@given(
    rate=st.floats(0, 1),
    low=st.floats(0, 1e9),
    width=st.floats(0, 1e9),
    counts=st.lists(st.integers(1, 10**6), min_size=1, max_size=5),
)
def test_numbers_of_any_size_come_through(rate, low, width, counts):
    job = parse(
        f"data.missing.rate={rate!r}",
        f"data.costs={{ {UNIFORM}, low = {low!r}, high = {low + width!r} }}",
        f"select.0.features.counts={counts}",
    )
    assert (job.data.missing.rate, job.data.costs.low) == (rate, low)
    assert job.data.costs.high == np.float64(low + width)
    assert job.select[0].features.counts == tuple(counts)


KEYS = (
    *("data", "data.missing", "data.missing.rate", "data.costs", "data.costs.low", "data.store"),
    *("select", "select.0", "select.0.prefilter", "select.0.prefilter.n", "select.0.label"),
    *("select.0.datasets", "select.0.features", "select.1.features.size_of", "select.0.final"),
    *("select.0.n_features_to_select", "evaluate", "evaluate.split", "evaluate.split.kind"),
    *("evaluate.split.column", "evaluate.split.folds", "evaluate.features", "evaluate.classifier"),
    *("evaluate.features.selected", "evaluate.features.counts", "evaluate.strict", "sweep"),
    *("sweep.select", "sweep.select.0.phi", "sweep.select.0.prefilter", 'sweep."select.0.phi"'),
    *("sweep.evaluate.classifier.0.n_neighbors", 'sweep."x"', "seed", "run.workers", "files"),
)
NAMES = ("method", "n", "rate", "phi", "spec", "mllap", "counts", "size_of", "label", "low", "kind")
PLAIN = (
    st.integers(-3, 12)
    | st.sampled_from([0.5, 1.0, 1e300, float("nan"), float("inf"), True, False])
    | st.sampled_from([*NAMES, "uniform", "groups", "iterative", "store", "", "a b"])
)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=5,
)


def in_toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {in_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(in_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


@given(changes=st.lists(st.tuples(st.sampled_from(KEYS), ANYTHING), min_size=1, max_size=3))
def test_whatever_stands_there_is_read_or_refused_and_what_is_read_fits_the_schema(changes):
    overrides = [f"{key}={in_toml(value)}" for key, value in changes]
    try:
        job = parse(*overrides)
    except JobFileError:
        return
    jsonschema.validate(values(*overrides), job_schema())
    assert msgspec.convert(json.loads(json.dumps(job.resolved())), Job) == job
