"""Streams of many rows at once have NumPy's own bits."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlfs_dask.kernels.streams import draw_below, row_states


def generator(seed, kind, row):
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(kind, row)))


@given(
    seed=st.integers(0, 2**32) | st.integers(0, 2**200),
    kind=st.integers(0, 9),
    start=st.integers(0, 2**32 - 40),
    n_rows=st.integers(0, 40),
    n_draws=st.integers(0, 70),
    bound=st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.05]),
)
@example(seed=0, kind=2, start=2**32 - 3, n_rows=3, n_draws=5, bound=0.5)
@example(seed=2**128 - 1, kind=2, start=0, n_rows=40, n_draws=64, bound=1.0)
@example(seed=2**128, kind=2, start=0, n_rows=40, n_draws=64, bound=0.5)
def test_each_row_draws_what_its_own_generator_draws(seed, kind, start, n_rows, n_draws, bound):
    states = row_states(seed, kind, start, start + n_rows)
    kept = states.copy()
    bounds, draws = draw_below(states, n_draws, bound)
    np.testing.assert_array_equal(states, kept)
    assert len(bounds) == n_rows + 1
    for i in range(n_rows):
        expected = np.flatnonzero(generator(seed, kind, start + i).random(n_draws) < bound)
        np.testing.assert_array_equal(draws[bounds[i] : bounds[i + 1]], expected)


@given(st.integers(0, 2**130), st.integers(0, 2**32 - 1))
def test_states_are_those_of_the_bit_generator(seed, row):
    state = generator(seed, 2, row).bit_generator.state
    high, low, inc_high, inc_low = (int(half) for half in row_states(seed, 2, row, row + 1)[0])
    assert state["bit_generator"] == "PCG64"
    assert state["state"] == {"state": high * 2**64 + low, "inc": inc_high * 2**64 + inc_low}


@pytest.mark.parametrize("n_rows", [1, 3, 500])
def test_more_hits_than_expected_find_room(n_rows):
    """A small bound that one row's draws happen to fall below more often than six deviations."""
    rows = [row for row in range(3000) if generator(0, 2, row).random(1)[0] < 0.001]
    for row in rows[:2]:
        bounds, draws = draw_below(
            np.repeat(row_states(0, 2, row, row + 1), n_rows, axis=0), 1, 0.001
        )
        assert bounds.tolist() == list(range(n_rows + 1))
        assert draws.tolist() == [0] * n_rows
