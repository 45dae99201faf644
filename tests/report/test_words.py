"""What conventions and job tables are in words."""

import re

import pytest

from mlfs_dask.evaluate import metrics
from mlfs_dask.report.conventions import CASES, special_cases
from mlfs_dask.report.facts import protocol, split_words
from mlfs_dask.report.words import listed, number, shortened


def test_conventions_say_what_the_measures_document():
    table = metrics.__doc__.split("=\n")[2]  # up to its last rule
    rows = re.findall(r"^(\S.*?)  +(\S+(?: \S+)*)  +(\S.*?)  +(\S.*?)  +(\S.*?)$", table, re.M)
    assert [(row[0], row[1:]) for row in rows[:-1]] == [(case, values) for _, case, values in CASES]
    assert {measure for measures, _, _ in CASES for measure in measures} <= set(metrics.METRICS)


def test_special_cases_are_those_of_the_measures_asked_for():
    assert special_cases("mulan", ["one_error"]) == [
        ("one error, Y empty", "1"),
        ("one error, Y all labels", "0"),
    ]
    assert special_cases("of a plug-in", ["one_error"]) == []


def test_every_key_of_a_job_is_told():
    job = {
        "seed": 7,
        "data": {
            "store": "songs",
            "impute": "mean",
            "missing": {"rate": 0.05},
            "costs": {"distribution": "uniform", "low": 0.0, "high": 100.0, "mean": None},
            "later": "a key to come",
        },
        "select": [{"final": True}],
        "evaluate": {
            "split": {"kind": "groups", "folds": 4, "repeats": 1, "column": "group.csv"},
            "features": {"fractions": None, "counts": None, "selected": True},
            "metrics": ["one_error"],
            "conventions": "zhang",
            "strict": True,
            "baseline": False,
            "classifier": [],
        },
    }
    told = dict(protocol(job, has_costs=True))
    assert told["split"] == "4 folds: rows of a group stay together (column = group.csv)"
    assert told["measured at"] == "the features that each selector keeps itself"
    assert told["made missing"] == "5 % of the cells, drawn from the seed"
    assert told["costs of the features"].startswith("distribution = uniform, low = 0.0, high = 100")
    assert told["later"] == "a key to come"
    assert told["strict"] == "yes"
    assert told["conventions of the measures"] == "zhang"
    assert "baseline" not in told


@pytest.mark.parametrize(
    ("costs", "has_costs", "said"),
    [
        ("store", True, "those the stores came with"),
        (None, True, "those the stores came with"),
        (None, False, None),
        ("prices.csv", True, "read from prices.csv"),
        (
            {"distribution": "normal", "low": None, "mean": 100.0, "std": 30.0},
            True,
            "distribution = normal, mean = 100.0, std = 30.0, drawn from the seed",
        ),
    ],
)
def test_the_origin_of_costs_is_told(costs, has_costs, said):
    job = {"seed": 0, "data": {"costs": costs}, "select": [], "evaluate": None}
    assert dict(protocol(job, has_costs=has_costs)).get("costs of the features") == said


def test_small_words():
    assert split_words({"kind": "holdout"}).startswith("the training and test rows")
    assert number(-0.0004, 2) == "0.00"
    assert number(None) == "undefined"
    assert shortened("a" * 100, 11) == "aaaaa…aaaaa"
    assert listed(["a"]) == "a"
