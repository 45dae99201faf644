"""Agreement of folds and the one-standard-error rule: hand-computed, and against plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.stability import (
    mean_jaccard,
    mean_kuncheva,
    one_standard_error,
    selection_frequency,
    standard_error,
)
from reference import stability as plain

D = 9
SUBSETS = st.lists(st.sets(st.integers(0, D - 1)).map(sorted), max_size=6)
VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.25, math.nan]), min_size=1, max_size=6)


@st.composite
def same_size(draw):
    k = draw(st.integers(0, D))
    members = st.lists(st.integers(0, D - 1), min_size=k, max_size=k, unique=True)
    return draw(st.lists(members, min_size=1, max_size=6))


def test_jaccard_by_hand():
    # pairs: {0,1,2} {1,2,3} -> 2/4; {0,1,2} {5} -> 0; {1,2,3} {5} -> 0
    assert mean_jaccard([[0, 1, 2], [3, 1, 2], [5]]) == pytest.approx(0.5 / 3)
    assert mean_jaccard([[], []]) == 1.0
    assert mean_jaccard([[], [1]]) == 0.0
    assert math.isnan(mean_jaccard([[1, 2]]))
    assert math.isnan(mean_jaccard([]))


def test_kuncheva_by_hand():
    # d = 10, k = 3: r = 2 -> (20 - 9) / 21; r = 0 -> -9 / 21
    assert mean_kuncheva([[0, 1, 2], [1, 2, 3]], 10) == pytest.approx(11 / 21)
    assert mean_kuncheva([[0, 1, 2], [3, 4, 5]], 10) == pytest.approx(-9 / 21)
    assert mean_kuncheva([[0, 1, 2], [1, 2, 3], [3, 4, 5]], 10) == pytest.approx(
        (11 / 21 - 9 / 21 + (10 - 9) / 21) / 3
    )
    assert math.isnan(mean_kuncheva([[0, 1], [1, 0]], 2))  # k = d
    assert math.isnan(mean_kuncheva([[], []], 2))


def test_random_subsets_agree_by_chance_only():
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(40)[:10] for _ in range(200)]
    assert abs(mean_kuncheva(drawn, 40)) < 0.02
    assert mean_jaccard(drawn) > 0.1  # which is why both are shown


def test_frequency_by_hand():
    assert selection_frequency([[0, 3], [3], []], 5).tolist() == [1, 0, 0, 2, 0]


def test_standard_error_by_hand():
    assert standard_error([2.0, 4.0, 6.0, math.nan]) == pytest.approx(2 / math.sqrt(3))
    assert math.isnan(standard_error([2.0, math.nan]))


def test_the_rule_by_hand():
    sizes, means = [20, 5, 10, 40], [0.90, 0.80, 0.88, 0.89]
    error = [0.03, 0.5, 0.5, 0.5]  # only the best point's counts
    assert one_standard_error(sizes, means, error, higher_is_better=True) == (0, 2)
    assert one_standard_error(sizes, means, error, higher_is_better=False) == (1, 1)
    assert one_standard_error(sizes, means, [math.nan] * 4, higher_is_better=True) == (0, 0)
    assert one_standard_error([8, 4], [0.5, 0.5], [0, 0], higher_is_better=True) == (1, 1)
    assert one_standard_error([8], [math.nan], [0], higher_is_better=True) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_kuncheva([[0], [0, 1]], 4), "sizes 1, 2"),
        (lambda: mean_kuncheva([[0], [4]], 4), "feature 4 is outside 0 to 3"),
        (lambda: mean_jaccard([[0], [1, 1]]), "subset 1 names a feature twice"),
        (lambda: selection_frequency([[-1]], 4), "feature -1 is outside"),
    ],
)
def test_what_is_no_set_of_features_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


@given(SUBSETS)
def test_jaccard_and_frequency_as_plain_loops(subsets):
    assert mean_jaccard(subsets) == pytest.approx(plain.jaccard(subsets), nan_ok=True)
    assert selection_frequency(subsets, D).tolist() == plain.frequency(subsets, D)


@given(same_size())
def test_kuncheva_as_plain_loops(subsets):
    found = mean_kuncheva(subsets, D)
    assert found == pytest.approx(plain.kuncheva(subsets, D), nan_ok=True, abs=1e-12)
    assert math.isnan(found) or -1 - 1e-12 <= found <= 1 + 1e-12


@given(VALUES)
def test_standard_error_as_plain_loops(values):
    expected = plain.standard_error(values)
    assert standard_error(values) == pytest.approx(expected, nan_ok=True, abs=1e-12)


@given(st.lists(st.tuples(*[st.integers(1, 9), *[VALUES.map(lambda v: v[0])] * 2])), st.booleans())
def test_the_rule_as_plain_loops(points, higher_is_better):
    points = list({size: (size, mean, error) for size, mean, error in points}.values())
    columns = [list(column) for column in zip(*points, strict=True)] or [[], [], []]
    found = one_standard_error(*columns, higher_is_better=higher_is_better)
    assert found == plain.enough(*columns, higher_is_better)
