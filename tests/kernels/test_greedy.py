import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlfs_dask.kernels.greedy import first_at_most, key_cell_top, trace_ratio_increments
from mlfs_dask.kernels.ranking import decision_key


def key(value):
    return float(f"{value:.8e}")


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False))
@example(1.0)
@example(-1.0)
@example(-1e-5)
@example(9.99999999e-6)
@example(9.999999995e-6)
@example(-9.99999999e-6)
@example(0.000122070312500)
@example(1e-300)
@example(-1e-300)
@example(123456789.5)
def test_the_top_of_a_cell_is_the_last_value_with_its_key(value):
    if abs(value) > 1e300:
        return
    top = key_cell_top(value)
    assert top >= value or key(value) == 0
    assert key(top) == key(value)
    if key(value) != 0:
        assert key(math.nextafter(top, math.inf)) > key(value)


@given(
    st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=20),
    st.lists(st.integers(-40, 40), min_size=20, max_size=20),
)
def test_first_at_most_the_top_is_the_best_by_key(values, steps):
    # Values around one another at the size of the key's rounding.
    near = np.array([values[0] * (1 + s * 2e-10) for s in steps] + values)
    chosen = first_at_most(near, key_cell_top(float(near.min())))
    keys = decision_key(near)
    assert chosen == int(np.argmin(keys))
    assert first_at_most(near, 0.0) == -1


def test_increments_below_rounding_are_zero():
    a, b = np.array([2.0, 2.0 * (1 + 1e-13), 3.0]), np.array([1.0, 1.0, 1.0])
    out = np.empty(3)
    trace_ratio_increments(a, b, 2.0, 4.0, out)
    assert out.tolist() == [0.0, 0.0, pytest.approx(0.2)]
    trace_ratio_increments(a, b, 2.5, 4.0, out)
    assert out[0] == pytest.approx(-0.1)
