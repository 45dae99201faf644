"""Sums whose bits don't depend on the order of their terms."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.exactsum import add_exactly, cuts


@st.composite
def columns(draw):
    """Terms of very different size that cancel, and what bounds them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    bound = 10.0 ** draw(st.integers(-30, 30)) * rng.random(d)
    bound[rng.random(d) < 0.2] = 0.0
    share = rng.choice([-1, 1], (n, d)) * 10.0 ** -rng.integers(0, 18, (n, d))
    terms = np.concatenate([share * bound, -share[: n // 2] * bound])
    return terms, bound


def added(terms, bound, parts):
    """Heads and tails of the terms, summed part by part."""
    places = cuts(bound, len(terms))
    total = np.zeros((2, len(bound)))
    for part in parts:
        sums = np.zeros((2, len(bound)))
        for i in part:
            add_exactly(terms[i], places, sums)
        total += sums
    return total


@given(case=columns(), seed=st.integers(0, 100), n_parts=st.integers(1, 5))
def test_any_order_and_grouping_gives_the_same_bits(case, seed, n_parts):
    terms, bound = case
    expected = added(terms, bound, [range(len(terms))])
    order = np.random.default_rng(seed).permutation(len(terms))
    assert added(terms, bound, np.array_split(order, n_parts)).tobytes() == expected.tobytes()


@given(case=columns())
def test_sums_are_right_to_the_last_digit_of_the_bound(case):
    terms, bound = case
    found = added(terms, bound, [range(len(terms))]).sum(axis=0)
    for r, column in enumerate(terms.T):
        right = math.fsum(column)
        assert abs(found[r] - right) <= 1e-15 * abs(right) + 1e-25 * bound[r]
