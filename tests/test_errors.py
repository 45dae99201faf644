"""Errors survive pickling with their facts, and each has its exit code."""

import pickle

import pytest

from mlfs_dask import errors

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.MlfsError)
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_round_trip_through_pickle(cls):
    error = cls("what", hint="do this", key="a.b", value=3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (again.message, again.hint, again.facts) == ("what", "do this", error.facts)
    assert str(again) == "what\n  do this"


def test_every_class_has_a_code_of_its_own_and_an_exit_code():
    codes = [cls.code for cls in CLASSES]
    assert len(set(codes)) == len(codes)
    assert {cls.exit_code for cls in CLASSES} == {1, 2}
    assert all(cls.exit_code == 2 for cls in CLASSES if issubclass(cls, ValueError))


def test_a_file_error_names_the_place_first():
    error = errors.DataFileError.at(
        "a.arff", line=3, column=7, problem="found 'x'", expected="a number", hint="Fix the cell."
    )
    assert str(error) == "a.arff:3:7: found 'x'; expected a number\n  Fix the cell."
    assert pickle.loads(pickle.dumps(error)).facts["line"] == 3
