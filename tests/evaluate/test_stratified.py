"""Iterative stratification: exact sizes, the paper's algorithm, better spread than by luck."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.splits import kfold
from mlfs_dask.evaluate.stratified import iterative
from mlfs_dask.storage.dataset import open_dataset
from reference import folds as twin

DIGEST = """
import hashlib
import numpy as np
from mlfs_dask.evaluate.stratified import iterative
rows, labels = np.arange(900)[:, None], np.arange(7)[None, :]
Y = ((rows * (labels + 3)) % 31 < labels + 1).astype(np.uint8)
digest = hashlib.sha256()
for test in iterative(Y, 7, seed=20, repeat=3):
    digest.update(test.astype("<i8").tobytes())
print(digest.hexdigest())
"""
# What it prints: the arithmetic is of integers, so any platform agrees.
WRITTEN = "7902fb1212c0236a0e3a155f74bfb0a0a4838aeca78e6f963f3bd261ce57fd0f"


@st.composite
def labelled(draw):
    """Labels with empty rows, empty and full columns, rare ones; a number of folds, a seed."""
    n, q = draw(st.integers(2, 60)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    Y = (rng.random((n, q)) < rng.choice([0, 0.03, 0.2, 0.5, 1], q)).astype(np.uint8)
    Y[rng.random(n) < draw(st.sampled_from([0, 0.3, 1]))] = 0
    return Y, draw(st.integers(2, n)), draw(st.integers(0, 2**70))


def spread(Y, tests):
    """How far each label's count in a fold is from its share, summed over folds and labels."""
    counts = np.array([Y[rows].sum(axis=0) for rows in tests], dtype=float)
    shares = np.array([len(rows) / len(Y) for rows in tests])
    return np.abs(counts - shares[:, None] * Y.sum(axis=0)).sum()


@given(labelled(), st.integers(0, 3))
def test_it_is_the_algorithm_of_the_paper(drawn, repeat):
    Y, folds, seed = drawn
    found = iterative(Y, folds, seed, repeat)
    assert [set(rows.tolist()) for rows in found] == twin.iterative(Y.tolist(), folds, seed, repeat)


@given(labelled(), st.integers(0, 3))
@example((np.zeros((5, 1), dtype=np.uint8), 5, 0), 0)
def test_sizes_are_exact_and_every_row_tests_once(drawn, repeat):
    """The sizes of plain folds, whatever the labels."""
    Y, folds, seed = drawn
    found = iterative(Y, folds, seed, repeat)
    assert [len(rows) for rows in found] == twin.sizes_of(len(Y), folds)
    assert all(rows.dtype == np.int64 and (np.diff(rows) > 0).all() for rows in found)
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(len(Y)))


@given(st.integers(2, 80), st.integers(2, 9), st.integers(0, 2**32))
def test_one_label_is_spread_as_evenly_as_can_be(n, folds, seed):
    folds = min(folds, n)
    Y = (np.random.default_rng(seed).random((n, 1)) < 0.3).astype(np.uint8)
    for rows in iterative(Y, folds, seed):
        assert abs(Y[rows].sum() - Y.sum() * len(rows) / n) < 1


def test_a_rare_label_goes_to_as_many_folds_as_it_has_rows():
    """Of 3 rows in 10 folds none are tested together, so training never lacks the label."""
    rng = np.random.default_rng(5)
    Y = (rng.random((200, 5)) < 0.3).astype(np.uint8)
    Y[:, 2] = 0
    Y[[7, 60, 150], 2] = 1
    for repeat in range(20):
        counts = sorted(int(Y[rows, 2].sum()) for rows in iterative(Y, 10, 0, repeat))
        assert counts == [0] * 7 + [1] * 3


def test_same_seed_same_folds_in_any_process():
    """No global generator; the digest is written down, so it holds on any platform."""
    for _ in range(2):
        other = subprocess.run(
            [sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True
        )
        assert other.stdout.strip() == WRITTEN


def test_every_row_tests_about_as_often_in_each_fold():
    """Over 100 repeats, how often a row is in fold 0 stays within binomial bounds."""
    Y = (np.random.default_rng(3).random((40, 4)) < [0.1, 0.3, 0.5, 0.05]).astype(np.uint8)
    times = np.zeros(40, dtype=np.int64)
    for repeat in range(100):
        times[iterative(Y, 4, seed=9, repeat=repeat)[0]] += 1
    assert times.sum() == 1000
    # Binomial(100, 1/4): mean 25, deviation 4.33; beyond 4 deviations once in 16,000 rows.
    assert times.min() >= 25 - 17.4
    assert times.max() <= 25 + 17.4


def test_seeds_and_repeats_draw_different_folds():
    Y = (np.random.default_rng(0).random((50, 3)) < 0.3).astype(np.uint8)
    drawn = {iterative(Y, 5, s, repeat)[0].tobytes() for s in range(4) for repeat in range(4)}
    assert len(drawn) == 16


def test_labels_are_spread_better_than_by_the_luckiest_of_1000_draws():
    rng = np.random.default_rng(11)
    Y = (rng.random((500, 12)) < rng.uniform(0.01, 0.4, 12)).astype(np.uint8)
    ours = max(spread(Y, iterative(Y, 10, seed, 0)) for seed in range(20))
    luckiest = min(spread(Y, kfold(500, 10, seed, 0)) for seed in range(1000))
    assert ours < 0.6 * luckiest


def test_yeast(mlfs_data):
    """5 folds of 2,417 rows have 484 or 483, and labels are spread as none is by chance."""
    Y = open_dataset("yeast").Y
    tests = iterative(Y, 5, seed=0)
    assert [len(rows) for rows in tests] == [484, 484, 483, 483, 483]
    assert [len(rows) for rows in iterative(Y, 10, seed=0)] == [242] * 7 + [241] * 3
    luckiest = min(spread(Y, kfold(len(Y), 5, seed, 0)) for seed in range(200))
    assert spread(Y, tests) < 0.3 * luckiest


@pytest.mark.parametrize("form", [sp.csr_matrix, np.ndarray.tolist, lambda Y: Y.astype(bool)])
def test_labels_in_any_container(form):
    Y = (np.random.default_rng(0).random((30, 3)) < 0.3).astype(np.uint8)
    for ours, other in zip(iterative(Y, 4, 1), iterative(form(Y), 4, 1), strict=True):
        np.testing.assert_array_equal(ours, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(10), 1, 0, 0), "folds = 1: at least 2"),
        ((np.eye(10), 11, 0, 0), "folds = 11, but there are only 10 rows"),
        ((np.eye(10), 2, -1, 0), "seed = -1"),
        ((np.eye(10), 2, 0, -1), "repeat = -1"),
        ((2 * np.eye(10), 2, 0, 0), "row 0, label 0"),
    ],
)
def test_impossible_folds_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        iterative(*arguments)
