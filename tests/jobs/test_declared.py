"""What is written down of the built-in methods is what their classes say."""

import json
import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import registry
from mlfs_dask.jobs import declared as module
from mlfs_dask.jobs.declared import Option, declared, takes_missing, written_anew
from mlfs_dask.jobs.options import full_params
from mlfs_dask.jobs.plain import are_plain, plain_choices, plain_range
from mlfs_dask.testing.jobs import TINY_JOB

METHODS = [
    (kind, method) for kind in ("selectors", "classifiers") for method in registry.built_in(kind)
]


def test_the_file_is_what_the_classes_say():
    written = json.loads(module._FILE.read_bytes())
    again = "python -m mlfs_dask.jobs.declared > declared.json, put into mlfs_dask/jobs"
    assert written == json.loads(json.dumps(written_anew())), f"run: {again}"


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_types_and_defaults_are_read_as_they_are_in_the_class(kind, method):
    asked, read = module._asked(kind, method), declared(kind, method)
    assert read.options == asked.options
    assert list(read.options) == list(asked.options)
    assert read.asks_of_features == asked.asks_of_features
    assert read.takes_missing is not None


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_the_rule_for_missing_values_is_that_of_the_tags(kind, method):
    base = declared(kind, method).options.get("base")
    for chosen in plain_choices(base) if base else [None]:
        for impute in ("none", "mean"):
            given = {"impute": impute} | ({"base": chosen} if chosen else {})
            tags = registry.load(kind, method)(**given).__sklearn_tags__()
            params = full_params(kind, method, given)
            assert takes_missing(kind, method, params) == tags.input_tags.allow_nan


def plain_values(method: str, option: Option):
    choices = [st.sampled_from([option.default, *plain_choices(option)])]
    whole, other = (plain_range(method, option, whole=each) for each in (True, False))
    if whole is not None:
        choices.append(st.integers(math.ceil(whole[0]), math.floor(whole[1])))
    if other is not None and "float" in str(option.hint):
        choices.append(st.floats(*other))
    return st.one_of(choices)


@given(st.data())
def test_plain_values_are_those_that_no_method_refuses(data):
    kind, method = data.draw(st.sampled_from(METHODS))
    options = declared(kind, method).options
    values = {name: plain_values(method, option) for name, option in options.items()}
    params = data.draw(st.fixed_dictionaries({}, optional=values))
    params = {
        name: value if value is None else options[name].convert(value)
        for name, value in params.items()
    }
    assert are_plain(kind, method, params)
    registry.load(kind, method)(**params)._check_parameters()


@pytest.mark.parametrize(
    ("kind", "method", "params"),
    [
        ("classifiers", "mlknn", {"n_neighbors": 0}),
        ("classifiers", "mlknn", {"smoothing": float("nan")}),
        ("classifiers", "br", {"base_params": {"C": 1.0}}),
        ("selectors", "spec", {"phi": 4}),
        ("selectors", "spec-wrapper", {"phi": 3}),
        ("selectors", "spec", {"road": "collapsed", "similarity": "rbf-features"}),
        ("selectors", "mddm", {"n_features_to_select": 1.5}),
        ("selectors", "mddm", {"n_features_to_select": True}),
        ("selectors", "nrs-cost", {"radius": [0.1, -1.0]}),
        ("selectors", "nrs-cost", {"budget": -1.0}),
    ],
)
def test_what_a_method_may_refuse_is_put_before_it(kind, method, params):
    assert not are_plain(kind, method, params)


def test_nothing_is_taken_for_granted_of_a_plug_in(toys):
    for kind in ("selectors", "classifiers"):
        for method in registry.names(kind).keys() - registry.built_in(kind).keys():
            assert declared(kind, method).takes_missing is None
            assert not are_plain(kind, method, {})


CHECKED = """
import sys
from pathlib import Path
from mlfs_dask.jobs.coordinator import Order, prepare_run
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.plan import make_plan
text = Path(sys.argv[1]).read_text()
job = parse_job(text.encode(), "tiny.toml")
make_plan(job, open_datasets(job))
prepare_run(Order(job=job, text=text.encode(), runs=Path(sys.argv[2])))
heavy = {"sklearn", "pandas", "numba", "scipy.stats", "distributed"}
print(*sorted(heavy & set(sys.modules)))
"""


def test_checking_a_job_imports_no_method(tiny_store, tmp_path):
    """Neither what methods are made of nor a cluster: these take longer than the check."""
    file = tmp_path / "tiny.toml"
    file.write_text(TINY_JOB)
    done = subprocess.run(
        [sys.executable, "-c", CHECKED, str(file), str(tmp_path / "runs")],
        env={**os.environ, "MLFS_STORES": str(tmp_path / "stores")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
    assert len(list((tmp_path / "runs").iterdir())) == 1
