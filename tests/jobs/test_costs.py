"""Costs: drawn by the stream of the contract, or read by name with errors that say where."""

from types import SimpleNamespace

import numpy as np
import pytest

from mlfs_dask.errors import DataFileError, InputError, NotFoundError
from mlfs_dask.jobs.costs import draw_costs, read_costs
from mlfs_dask.jobs.streams import costs_stream, missing_stream
from mlfs_dask.testing.strategies import NASTY_NAMES

NAMES = ("age", "blood, total", "age ")


def spec(distribution, **numbers):
    given = dict.fromkeys(("low", "high", "mean", "std")) | numbers
    return SimpleNamespace(distribution=distribution, **given)


def stream(seed, *key):
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_costs_come_from_the_stream_of_the_contract(seed):
    drawn = draw_costs(spec("uniform", low=5, high=100), 50, seed)
    np.testing.assert_array_equal(drawn, stream(seed, 1).uniform(5, 100, 50))
    drawn = draw_costs(spec("normal", mean=100, std=30), 50, seed)
    np.testing.assert_array_equal(drawn, np.maximum(stream(seed, 1).normal(100, 30, 50), 0))
    assert costs_stream(seed).spawn_key == (1,)
    assert missing_stream(seed, 7).spawn_key == (2, 7)


def test_negative_draws_become_0():
    drawn = draw_costs(spec("normal", mean=0, std=1), 200, 3)
    plain = stream(3, 1).normal(0, 1, 200)
    assert 50 < (plain < 0).sum() < 150
    np.testing.assert_array_equal(drawn, np.where(plain < 0, 0, plain))
    assert not np.signbit(drawn).any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (spec("poisson"), "costs.distribution = 'poisson': expected 'uniform' or 'normal'"),
        (spec("uniform", low=0), "costs.high = None"),
        (spec("uniform", low=-1, high=1), "costs.low = -1, costs.high = 1: expected 0 <= low"),
        (spec("uniform", low=2, high=1), "0 <= low <= high"),
        (spec("uniform", low=0, high=np.inf), "costs.high = inf"),
        (spec("normal", mean=np.nan, std=1), "costs.mean = nan"),
        (spec("normal", mean=1), "costs.std = None"),
        (spec("normal", mean=1, std=-1), "costs.std = -1"),
    ],
)
def test_impossible_distributions_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        draw_costs(given, 3, 0)


@pytest.mark.parametrize(
    "text",
    [
        'age,1\n"blood, total",2.5\nage ,0\n',
        'age ,0\r\n"blood, total", 2.5\r\nage,1e0',
        'name,cost\nage,1\n"blood, total",2.5\nage ,0\n\n',
        'feature,price in EUR\n"age",1\n"blood, total",2.5\n"age ",0',
        '\ufeffage,Cost\nage,1\n"blood, total",2.5\nage ,0\n',  # a header that is a feature's name
    ],
)
def test_costs_are_read_by_name_in_any_order(tmp_path, text):
    file = tmp_path / "costs.csv"
    file.write_text(text, encoding="utf-8", newline="")
    assert read_costs(file, NAMES).tolist() == [1.0, 2.5, 0.0]


def test_every_name_that_a_feature_may_have_is_found(tmp_path):
    import csv

    file = tmp_path / "costs.csv"
    names = (*NASTY_NAMES, "two\nlines", "name", "cost")
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows((name, f"{number}.25") for number, name in enumerate(names))
    assert read_costs(file, names).tolist() == [number + 0.25 for number in range(len(names))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,1\nb,2\nx,3\n", r"costs\.csv:3: no feature is named 'x'\n.*mlfs data show"),
        ("a,1\nlength,2\n", r"costs\.csv:2: .*'length'\n.*Did you mean 'lengths'"),
        ("a,1\nb,2\na,3\n", r"costs\.csv:3: feature 'a' has a cost in line 1 already"),
        ("a,1\n", r"costs\.csv: 2 features have no cost: 'b', 'lengths'; expected each"),
        ("name,cost\na,1\n", r"costs\.csv: 2 features have no cost"),
        ("a,1\nb,-2\n", r"costs\.csv:2: cost '-2' of feature 'b'; expected a finite number, not"),
        ("a,1\nb,two\n", r"costs\.csv:2: cost 'two'"),
        ("a,one\nb,2\n", r"costs\.csv:1: cost 'one' of feature 'a'"),
        ("a,nan\n", r"costs\.csv:1: cost 'nan'"),
        ("a,inf\n", r"costs\.csv:1: cost 'inf'"),
        ("a,1_0\n", r"costs\.csv:1: cost '1_0'"),
        ("name,cost\nname,cost\n", r"costs\.csv:2: no feature is named 'name'"),
        ("a\n", r"costs\.csv:1: 1 cell; expected two cells.*\n.*quotes"),
        ("a,1,2\n", r"costs\.csv:1: 3 cells"),
        ("a,1\n\nb,1\n", r"costs\.csv:2: an empty line"),
        ('"a\n\n",1\n"x,1\n', r"costs\.csv:1: no feature|costs\.csv:4: cannot be read as CSV"),
        ("", r"costs\.csv: the file is empty"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(tmp_path, text, message):
    file = tmp_path / "costs.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=message):
        read_costs(file, ["a", "b", "lengths"])


def test_bytes_that_are_not_utf_8_and_files_that_are_not_there(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_bytes(b"a,1\n\xff,2\n")
    with pytest.raises(DataFileError, match=r"byte 4 is not UTF-8"):
        read_costs(file, ["a", "b"])
    with pytest.raises(NotFoundError, match="no such file"):
        read_costs(tmp_path / "nowhere.csv", ["a"])


def test_costs_that_add_up_to_no_number_are_refused_before_a_run(tmp_path):
    drawn = spec(distribution="uniform", low=1e308, high=1.5e308)
    with pytest.raises(InputError, match="costs add up to more than"):
        draw_costs(drawn, 3, seed=0)
    file = tmp_path / "costs.csv"
    file.write_text("a,1e308\nb,1e308\n")
    with pytest.raises(DataFileError, match=r"add up to more than.*expected a larger unit"):
        read_costs(file, ["a", "b"])
