"""Feature counts of a curve: shares half up, duplicates merged, nothing above d."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.points import feature_counts
from mlfs_dask.kernels.shares import count_of_share


@given(thousandths=st.integers(1, 1000), n_features=st.integers(1, 40_000))
def test_shares_round_half_up_in_decimals(thousandths, n_features):
    exact = Fraction(thousandths, 1000) * n_features
    expected = max(1, (2 * exact + 1) // 2)
    assert count_of_share(thousandths / 1000, n_features) == expected
    assert 1 <= expected <= n_features


@pytest.mark.parametrize(
    ("share", "n_features", "count"),
    [
        (0.35, 90, 32),  # 31.5, in binary just below
        (0.05, 10, 1),  # 0.5
        (0.05, 72, 4),
        (0.25, 10, 3),  # 2.5: half up, not half to even
        (0.001, 72, 1),
        (1, 72, 72),
        (1.0, 1, 1),
        (np.float64(0.15), 90, 14),  # 13.5
        (1e-9, 3, 1),
    ],
)
def test_known_shares(share, n_features, count):
    assert count_of_share(share, n_features) == count
    assert feature_counts(n_features, fractions=[share]) == [count]


@given(
    shares=st.lists(st.integers(1, 20).map(lambda i: i / 20), min_size=1),
    n_features=st.integers(1, 50),
)
def test_equal_counts_are_merged_and_the_first_kept(shares, n_features):
    found = feature_counts(n_features, fractions=shares)
    every = [count_of_share(share, n_features) for share in shares]
    assert len(set(found)) == len(found)
    assert set(found) == set(every)
    assert [every.index(count) for count in found] == sorted(every.index(c) for c in found)


def test_paper_a_on_emotions():
    """Paper A's shares, 5 % to 100 %, on the 72 features of emotions."""
    found = feature_counts(72, fractions=[share / 20 for share in range(1, 21)])
    assert found == [
        *(4, 7, 11, 14, 18, 22, 25, 29, 32, 36),
        *(40, 43, 47, 50, 54, 58, 61, 65, 68, 72),
    ]


def test_counts_keep_their_order():
    assert feature_counts(72, counts=[20, 5, 72, 20, 5]) == [20, 5, 72]
    found = feature_counts(9, counts=np.array([3, 9]))
    assert found == [3, 9]
    assert all(type(count) is int for count in found)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "either fractions or counts"),
        ({"fractions": [0.5], "counts": [1]}, "either fractions or counts"),
        ({"fractions": []}, "features.fractions is empty"),
        ({"counts": []}, "features.counts is empty"),
        ({"fractions": [0.5, 0.0]}, "share 0.0 .* outside"),
        ({"fractions": [1.5]}, "share 1.5 .* outside"),
        ({"fractions": [float("nan")]}, "share nan .* outside"),
        ({"counts": [5, 80, 90]}, "above the 72 features of the data: 80, 90.*\n.*1 to 72"),
        ({"counts": [0, 5]}, "below 1: 0"),
        ({"counts": [2.5]}, "not whole: 2.5"),
    ],
)
def test_impossible_points_are_refused(features, message):
    with pytest.raises(InputError, match=message):
        feature_counts(72, **features)
