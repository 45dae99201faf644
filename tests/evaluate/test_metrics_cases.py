"""Named cases of tests/cases/metrics.json: the value and n_scored of every special case."""

import json
import math
from pathlib import Path

import pytest

from mlfs_dask import metrics
from mlfs_dask.errors import DegenerateInputWarning
from reference import metrics as twin

CASES = json.loads((Path(__file__).parents[1] / "cases" / "metrics.json").read_text())
FLAT = [
    pytest.param(case, conventions, name, expected, id=f"{case['name']}-{conventions}-{name}")
    for case in CASES
    for conventions, found in case["expected"].items()
    for name, expected in found.items()
]


def test_the_table_covers_every_metric_and_convention():
    assert {name for _, _, name, _ in (p.values for p in FLAT)} == set(metrics.METRICS)
    assert {c for _, c, _, _ in (p.values for p in FLAT)} == {
        "default",
        "mulan",
        "zhang",
        "sklearn",
    }
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(("case", "conventions", "name", "expected"), FLAT)
def test_case(case, conventions, name, expected):
    score = metrics.score_all(
        [name],
        case["Y_true"],
        case.get("scores"),
        case.get("Y_pred"),
        conventions,
        sample_weight=case.get("sample_weight"),
    )[name]
    value, n_scored = expected
    assert score.n_scored == n_scored
    if value is None:
        assert math.isnan(score.value)
    else:
        assert score.value == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("case", "conventions", "name", "expected"), FLAT)
def test_the_twin_agrees(case, conventions, name, expected):
    found = twin.score(
        name,
        case["Y_true"],
        case.get("scores"),
        case.get("Y_pred"),
        conventions,
        case.get("sample_weight"),
    )
    assert found == (
        None if expected[0] is None else pytest.approx(expected[0], abs=1e-15),
        expected[1],
    )


@pytest.mark.parametrize(("case", "conventions", "name", "expected"), FLAT)
def test_the_function_of_the_name_agrees(case, conventions, name, expected):
    metric = metrics.METRICS[name]
    second = case["scores"] if metric.needs == "scores" else case["Y_pred"]
    weight = case.get("sample_weight")
    function = getattr(metrics, name)
    assert function is metric.function
    if expected[0] is None:
        with pytest.warns(DegenerateInputWarning, match="undefined"):
            value = function(case["Y_true"], second, conventions, sample_weight=weight)
        assert math.isnan(value)
    else:
        value = function(case["Y_true"], second, conventions, sample_weight=weight)
        assert type(value) is float
        assert value == pytest.approx(expected[0], abs=1e-15)
