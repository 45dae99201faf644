"""Vector instructions against NumPy."""

import numpy as np
import pytest

from mlfs_dask.kernels import lanes
from mlfs_dask.kernels._jit import jit


@jit
def _ones(words):
    out = np.empty_like(words)
    for i in range(len(words)):
        out[i] = lanes.count_ones(words[i])
    return out


@jit
def _sums(totals, steps):
    out = np.empty_like(totals)
    for i in range(len(totals)):
        out[i] = lanes.saturating_add(totals[i], steps[i])
    return out


@jit
def _below(values, start, limit):
    return lanes.lanes_below(values, start, limit)


@jit
def _at_most(values, start, limit):
    return lanes.lanes_at_most(values, start, limit)


@jit
def _extremes(values, start):
    return lanes.lanes_smallest(values, start), lanes.lanes_largest(values, start)


@jit
def _lowest(masks):
    out = np.empty(len(masks), np.int64)
    for i in range(len(masks)):
        out[i] = lanes.lowest_bit(masks[i])
    return out


def _bits(mask):
    return [bool(int(mask) >> lane & 1) for lane in range(64)]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_count_ones(dtype) -> None:
    words = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, 300, dtype=dtype)
    assert _ones(words).tolist() == [int(word).bit_count() for word in words]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_sums_stop_at_the_largest_value(dtype) -> None:
    rng = np.random.default_rng(1)
    largest = np.iinfo(dtype).max
    totals = rng.integers(largest - 300 if largest > 300 else 0, largest, 200, dtype=dtype)
    steps = rng.integers(0, 255, 200, dtype=np.uint8)
    expected = [min(int(a) + int(b), largest) for a, b in zip(totals, steps, strict=True)]
    assert _sums(totals, steps).tolist() == expected


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float64])
def test_masks_of_comparisons(dtype) -> None:
    values = np.random.default_rng(2).integers(0, 9, 200).astype(dtype)
    for start in (0, 1, 77, 136):
        for limit in (0, 3, 9):
            cut = values[start : start + 64]
            assert _bits(_below(values, start, dtype(limit))) == (cut < limit).tolist()
            assert _bits(_at_most(values, start, dtype(limit))) == (cut <= limit).tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_extremes(dtype) -> None:
    values = np.random.default_rng(3).integers(0, np.iinfo(dtype).max, 200, dtype=dtype)
    for start in (0, 1, 77, 136):
        cut = values[start : start + 64]
        assert _extremes(values, start) == (cut.min(), cut.max())


def test_extremes_of_floats_by_their_bits() -> None:
    values = np.random.default_rng(4).random(64)
    values[[3, 9]] = 0.0, np.inf
    smallest, largest = _extremes(values.view(np.uint64), 0)
    assert np.array([smallest, largest], np.uint64).view(np.float64).tolist() == [0.0, np.inf]


def test_missing_numbers_are_below_nothing() -> None:
    values = np.full(64, np.nan)
    values[3] = np.inf
    assert not any(_bits(_below(values, 0, np.inf)))
    assert [lane for lane, bit in enumerate(_bits(_at_most(values, 0, np.inf))) if bit] == [3]


def test_unsigned_values_are_not_compared_as_signed() -> None:
    values = np.full(64, 200, np.uint8)
    values[5] = 100
    assert [lane for lane, bit in enumerate(_bits(_below(values, 0, np.uint8(150)))) if bit] == [5]


def test_lowest_bit_and_first_lanes() -> None:
    masks = np.array([1, 2, 12, 1 << 63], dtype=np.uint64)
    assert _lowest(masks).tolist() == [0, 1, 2, 63]
    assert [sum(_bits(lanes.first_lanes(count))) for count in (0, 1, 63, 64, 900)] == [
        0,
        1,
        63,
        64,
        64,
    ]
