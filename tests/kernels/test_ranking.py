"""Decisions on scores: the key, ties, constants."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from hypothesis.extra.numpy import arrays

from mlfs_dask.kernels.ranking import argbest, decision_key, rank_order

finite = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(arrays(np.float64, st.integers(1, 30), elements=finite))
def test_the_key_is_the_value_to_nine_digits(values):
    keys = decision_key(values)
    np.testing.assert_allclose(keys, values, rtol=5.1e-9)
    np.testing.assert_array_equal(decision_key(keys), keys)
    assert not np.any(np.signbit(keys) & (keys == 0))


@given(
    st.lists(st.sampled_from([0.1, 0.3, 0.1 + 0.2, 0.7, np.nan, np.inf]), max_size=12), st.data()
)
def test_order_and_argbest_against_plain_sorting(values, data):
    constant = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    higher = data.draw(st.booleans())
    scores = np.array(values, dtype=np.float64)

    def loss(j):
        v = float(f"{values[j]:.8e}")
        return np.inf if np.isnan(v) else (-v if higher else v)

    expected = sorted(
        range(len(values)), key=lambda j: (constant[j], 0 if constant[j] else loss(j))
    )
    got = rank_order(scores, higher_is_better=higher, constant=np.array(constant, dtype=bool))
    assert got.tolist() == expected
    known = [j for j in range(len(values)) if not np.isnan(values[j])]
    best = min(known, key=loss, default=-1)
    assert argbest(scores, higher_is_better=higher) == best


@given(
    st.lists(finite, min_size=1, max_size=8),
    st.lists(st.floats(-3e-8, 3e-8), min_size=1, max_size=6),
    st.booleans(),
)
def test_order_of_near_values_is_that_of_their_keys(centres, apart, higher):
    scores = np.array([c * (1 + e) for e in apart for c in [*centres, 0.0, 5e-324]])
    keys = decision_key(scores)
    expected = np.argsort(-keys if higher else keys, kind="stable")
    got = rank_order(scores, higher_is_better=higher, constant=np.zeros(len(scores), dtype=bool))
    assert got.tolist() == expected.tolist()


def test_values_that_differ_in_the_last_bits_are_a_tie():
    assert argbest(np.array([0.3, 0.1 + 0.2]), higher_is_better=True) == 0
    assert argbest(np.array([0.1 + 0.2, 0.3]), higher_is_better=False) == 0
    assert argbest(np.array([1.0, 1.0 + 1e-7]), higher_is_better=True) == 1
