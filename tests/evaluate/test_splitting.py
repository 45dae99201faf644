"""Splitting: one fold at a time, of any kind, without making a repeat's folds again."""

import numpy as np
import pytest

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate import protocol, splits
from mlfs_dask.evaluate.grouped import groups
from mlfs_dask.evaluate.protocol import Splitting
from mlfs_dask.evaluate.stratified import iterative

RNG = np.random.default_rng(4)
Y = (RNG.random((50, 3)) < 0.3).astype(np.uint8)
CODES = RNG.integers(0, 9, 50)


@pytest.mark.parametrize(
    ("splitting", "tests"),
    [
        (Splitting("kfold", 5, 2, seed=3), lambda r: splits.kfold(50, 5, 3, r)),
        (Splitting("iterative", 5, 2, seed=3, Y=Y), lambda r: iterative(Y, 5, 3, r)),
        (Splitting("groups", 5, 2, seed=3, codes=CODES), lambda r: groups(CODES, 5, 3, r)),
    ],
)
def test_each_fold_is_that_of_its_kind(splitting, tests):
    numbers = list(splitting.numbers())
    assert numbers == [(repeat, fold) for repeat in range(2) for fold in range(5)]
    for repeat, number in reversed(numbers):
        fold = splitting.fold((repeat, number), 50, None)
        assert (fold.repeat, fold.fold) == (repeat, number)
        np.testing.assert_array_equal(fold.test, tests(repeat)[number])
        np.testing.assert_array_equal(np.union1d(fold.train, fold.test), np.arange(50))
        assert not np.isin(fold.train, fold.test).any()


def test_holdout_has_one_fold():
    marks = np.array([1, 2, 0], dtype=np.uint8)
    assert list(Splitting("holdout").numbers()) == [(0, 0)]
    assert Splitting("holdout").fold((0, 0), 3, marks).test.tolist() == [1]
    with pytest.raises(InputError, match="needs a split"):
        Splitting("holdout").fold((0, 0), 3, None)


def test_the_folds_of_a_repeat_are_made_once_for_equal_labels(monkeypatch):
    made = []

    def counted(*arguments):
        made.append(arguments[1:])
        return iterative(*arguments)

    monkeypatch.setattr(protocol, "iterative", counted)
    protocol._informed.cache_clear()
    for _ in range(2):
        splitting = Splitting("iterative", 5, 2, seed=3, Y=Y.copy())  # as each unit makes its own
        for number in splitting.numbers():
            splitting.fold(number, 50, None)
    assert made == [(5, 3, 0), (5, 3, 1)]
    other = Y.copy()
    other[0, 0] ^= 1
    Splitting("iterative", 5, seed=3, Y=other).fold((0, 0), 50, None)
    assert len(made) == 3


@pytest.mark.parametrize(
    ("splitting", "message"),
    [
        (Splitting("iterative"), '"iterative" needs the labels of all 50 rows; given: none'),
        (Splitting("iterative", Y=Y[:9]), "labels of all 50 rows; given: 9"),
        (Splitting("groups", codes=CODES[:9]), "groups of all 50 rows; given: 9"),
        (Splitting("groups", codes=CODES), "folds = 10, but the rows form only 9 groups"),
        (Splitting("bootstrap"), "kind = 'bootstrap'.*'iterative'"),
    ],
)
def test_what_a_kind_needs_and_lacks(splitting, message):
    with pytest.raises(InputError, match=message):
        splitting.fold((0, 0), 50, None)
