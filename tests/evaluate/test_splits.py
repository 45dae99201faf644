"""Folds: exactly the contract's streams, every row once, sizes kept, errors clear."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.splits import (
    Fold,
    constant_labels,
    folds_from_tests,
    holdout,
    kfold,
    kfold_repeats,
)

# sha256 of the test rows of kfold(2417, 10, seed=20, repeat=3), each fold as little-endian int64.
YEAST_DIGEST = "45249d77fa6369c4e58d3e3a079f3be4bafec5f5bb54cbfed61399a2818c1c20"

DIGEST = """
import hashlib
from mlfs_dask.evaluate.splits import kfold
digest = hashlib.sha256()
for rows in kfold(2417, 10, seed=20, repeat=3):
    digest.update(rows.astype("<i8").tobytes())
print(digest.hexdigest())
"""


@st.composite
def shapes(draw):
    n_samples = draw(st.integers(2, 60))
    return n_samples, draw(st.integers(2, n_samples)), draw(st.integers(0, 2**40))


@given(shape=shapes(), repeat=st.integers(0, 5))
def test_folds_follow_the_formula(shape, repeat):
    n_samples, folds, seed = shape
    stream = np.random.SeedSequence(seed, spawn_key=(0, repeat))
    order = np.random.default_rng(stream).permutation(n_samples)
    expected = [sorted(part.tolist()) for part in np.array_split(order, folds)]
    assert [rows.tolist() for rows in kfold(n_samples, folds, seed, repeat)] == expected


@given(shape=shapes(), repeats=st.integers(1, 3))
def test_every_row_tests_once_per_repeat_and_sizes_are_kept(shape, repeats):
    """Fold sizes differ by at most 1."""
    n_samples, folds, seed = shape
    found = kfold_repeats(n_samples, folds, seed, repeats)
    assert [(f.repeat, f.fold) for f in found] == [
        (repeat, fold) for repeat in range(repeats) for fold in range(folds)
    ]
    for repeat in range(repeats):
        tests = [f.test for f in found if f.repeat == repeat]
        sizes = [len(rows) for rows in tests]
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(n_samples))
        np.testing.assert_array_equal(tests[0], kfold(n_samples, folds, seed, repeat)[0])
    for fold in found:
        assert fold.train.dtype == fold.test.dtype == np.int64
        both = np.concatenate([fold.train, fold.test])
        np.testing.assert_array_equal(np.sort(both), np.arange(n_samples))
        assert (np.diff(fold.train) > 0).all()
        assert (np.diff(fold.test) > 0).all()


def test_same_seed_same_folds_in_any_process():
    """No global generator; the digest is written down, so it holds on any platform."""
    np.random.seed(1)  # a global seed must make no difference
    digest = hashlib.sha256()
    for rows in kfold(2417, 10, seed=20, repeat=3):
        digest.update(rows.astype("<i8").tobytes())
    assert digest.hexdigest() == YEAST_DIGEST
    other = subprocess.run(
        [sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == YEAST_DIGEST


def test_seeds_and_repeats_draw_different_folds():
    drawn = {kfold(50, 5, seed, repeat)[0].tobytes() for seed in range(4) for repeat in range(4)}
    assert len(drawn) == 16


def test_every_row_tests_about_as_often_in_each_fold():
    """Over 100 repeats, how often a row is in fold 0 stays within binomial bounds."""
    times = np.zeros(40, dtype=np.int64)
    for repeat in range(100):
        times[kfold(40, 4, seed=9, repeat=repeat)[0]] += 1
    assert times.sum() == 1000
    # Binomial(100, 1/4): mean 25, deviation 4.33; beyond 4 deviations once in 16,000 rows.
    assert times.min() >= 25 - 17.4
    assert times.max() <= 25 + 17.4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 1, 0, 0), "folds = 1: at least 2.*\n.*holdout"),
        ((10, 0, 0, 0), "folds = 0"),
        ((10, 11, 0, 0), "folds = 11, but there are only 10 rows.*\n.*At most 10"),
        ((10, 2, -1, 0), "seed = -1"),
        ((10, 2, 0, -1), "repeat = -1"),
    ],
)
def test_impossible_folds_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        kfold(*arguments)


def test_no_repeat_is_refused():
    with pytest.raises(InputError, match="repeats = 0"):
        kfold_repeats(10, 2, seed=0, repeats=0)


def test_leave_one_out():
    assert [len(rows) for rows in kfold(5, 5, seed=0)] == [1] * 5


def test_folds_from_any_test_rows():
    """What iterative and grouped splits hand over: rows in any order, of any size."""
    folds = folds_from_tests(6, [np.array([4, 0]), np.array([1])], repeat=2)
    assert [(f.repeat, f.fold, f.train.tolist(), f.test.tolist()) for f in folds] == [
        (2, 0, [1, 2, 3, 5], [0, 4]),
        (2, 1, [0, 2, 3, 4, 5], [1]),
    ]
    with pytest.raises(InputError, match=r"fold 1 .* no test rows"):
        folds_from_tests(2, [np.array([0]), np.array([], dtype=np.int64)])
    with pytest.raises(InputError, match=r"fold 0 .* no training rows"):
        folds_from_tests(2, [np.array([0, 1])])


def test_holdout_keeps_the_given_sizes():
    """The shipped split exactly; rows marked 0 take no part."""
    split = np.array([2, 1, 0, 1, 2, 1], dtype=np.uint8)
    fold = holdout(split)
    assert (fold.repeat, fold.fold) == (0, 0)
    assert fold.train.tolist() == [1, 3, 5]
    assert fold.test.tolist() == [0, 4]
    assert fold.train.dtype == fold.test.dtype == np.int64


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ([0, 0, 0], "needs a split.*\n.*--test TEST.*kfold"),
        ([1, 1, 0], "no test rows"),
        ([2, 2, 0], "no training rows"),
        ([1, 2, 3], "split of row 2 .* is 3"),
        ([[1, 2]], "one mark per row"),
    ],
)
def test_impossible_holdouts_are_refused(split, message):
    with pytest.raises(InputError, match=message):
        holdout(split)


def test_constant_labels_are_listed_before_any_fit():
    """Labels with 1 positive, 1 negative, none, all, and a balanced one."""
    Y = np.zeros((8, 5), dtype=np.uint8)
    Y[3, 0] = 1
    Y[:, 1] = 1
    Y[5, 1] = 0
    Y[:, 3] = 1
    Y[::2, 4] = 1
    folds = folds_from_tests(8, [np.array([0, 1, 2, 3]), np.array([4, 5, 6, 7])], repeat=1)
    found = constant_labels(Y, folds)
    assert [tuple(row) for row in found] == [
        (0, 1, 0),  # its only positive is tested
        (2, 1, 0),
        (3, 1, 0),
        (1, 1, 1),  # its only negative is tested
        (2, 1, 1),
        (3, 1, 1),
    ]
    assert found[0].label == 0
    assert found[0].repeat == 1
    assert found[0].fold == 0


@given(shape=shapes(), q=st.integers(1, 4))
def test_constant_labels_equal_looking_at_every_training_row(shape, q):
    n_samples, folds, seed = shape
    Y = np.random.default_rng(seed).integers(0, 2, (n_samples, q)).astype(np.uint8)
    drawn = kfold_repeats(n_samples, folds, seed)
    expected = [
        (label, fold.repeat, fold.fold)
        for fold in drawn
        for label in range(q)
        if len({int(Y[row, label]) for row in fold.train}) == 1
    ]
    assert constant_labels(Y, drawn) == expected


def test_no_label_is_constant_in_a_fair_split():
    folds = [Fold(0, 0, train=np.array([0, 1]), test=np.array([2]))]
    assert constant_labels([[1, 0], [0, 1], [0, 0]], folds) == []
