"""The smallest dtype that holds all values, and casts the user asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.storage.dtypes import (
    STORE_DTYPES,
    cast_values,
    largest_dtype,
    parse_dtype,
    smallest_dtype,
)

CASES = {
    "bits": ([0, 1], "uint8"),
    "largest byte": ([255], "uint8"),
    "beyond a byte": ([256], "int16"),
    "negative": ([-1, 3], "int16"),
    "least int16": ([-32768, 32767], "int16"),
    "beyond int16": ([32768], "float32"),
    "below int16": ([-32769], "float32"),
    "halves": ([0.5], "float32"),
    "tenths": ([0.1], "float64"),
    "missing among bits": ([0, np.nan], "float32"),
    "only missing": ([np.nan], "float32"),
    "missing among tenths": ([0.1, np.nan], "float64"),
    "largest whole number of float32": ([2**24], "float32"),
    "beyond it": ([2**24 + 1], "float64"),
    "overflows float32": ([1e39], "float64"),
    "underflows float32": ([1e-60], "float64"),
    "minus zero": ([-0.0], "uint8"),
    "nothing": ([], "uint8"),
}


@pytest.mark.parametrize(("values", "dtype"), CASES.values(), ids=CASES)
def test_smallest(values, dtype):
    assert smallest_dtype(np.array(values, dtype=float)).name == dtype


@given(st.lists(st.floats(allow_infinity=False) | st.integers(-40000, 70000), min_size=1))
def test_smallest_is_exact_and_least(values):
    values = np.array(values, dtype=float)
    chosen = smallest_dtype(values)
    exact = []
    for name in STORE_DTYPES:
        with np.errstate(all="ignore"):
            back = values.astype(name).astype(float)
        exact.append(all(a == b or (a != a and b != b) for a, b in zip(back, values, strict=True)))
    assert STORE_DTYPES[exact.index(True)] == chosen.name


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("j", range(4))
def test_largest_of_two(i, j):
    one, two = np.dtype(STORE_DTYPES[i]), np.dtype(STORE_DTYPES[j])
    assert largest_dtype(one, two).name == STORE_DTYPES[max(i, j)]


def test_float32_may_round_and_integers_may_not():
    tenth = np.array([0.1])
    assert cast_values(tenth, np.dtype("float32"))[0] == np.float32(0.1)
    for dtype, value in (("uint8", 0.1), ("uint8", 256), ("uint8", np.nan), ("int16", 4e4)):
        with pytest.raises(InputError, match=f"{dtype} cannot hold the value {float(value)!r}"):
            cast_values(np.array([0.0, value]), np.dtype(dtype))
    with pytest.raises(InputError, match="float32 cannot hold the value 1e\\+39"):
        cast_values(np.array([1e39]), np.dtype("float32"))


def test_names():
    assert parse_dtype(None) is None
    assert parse_dtype("auto") is None
    assert parse_dtype("int16") == np.int16
    with pytest.raises(InputError, match="'int32' is not a dtype of a store"):
        parse_dtype("int32")
