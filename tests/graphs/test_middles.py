"""The middle value of many rows by bounds from a sample is the one that sorting finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlfs_dask.graphs import discretize, middles
from mlfs_dask.graphs.discretize import find_bins
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.middles import find_middles
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.kernels.digits import middle_rank

ONE = InProcess(1)


def found(X, tile):
    rank = middle_rank(len(X))
    ends = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    return find_middles(as_source(X, tile=tile), np.arange(X.shape[1]), rank, ends, ONE)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 60), st.integers(1, 3)),
        elements=st.sampled_from([-0.0, 0.0, -1.5, 2.0, 2.0000001, 1e300, -1e-300]),
    ),
    st.integers(1, 20),
)
def test_what_is_found_is_the_value_of_the_rank(X, tile):
    middle = found(X, tile)
    expected = np.sort(X, axis=0)[middle_rank(len(X)) - 1]
    np.testing.assert_array_equal(middle.value[middle.found], expected[middle.found])
    assert not np.signbit(middle.value[middle.value == 0]).any()
    for column, two in zip(X.T, middle.two_valued, strict=True):
        assert two == (len(np.unique(column)) <= 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_many_rows_are_found_by_the_sample(dtype):
    X = (np.random.default_rng(0).standard_normal((20_000, 5)) * 1000).astype(dtype)
    middle = found(X, 256)
    assert middle.found.all()
    np.testing.assert_array_equal(middle.value, np.sort(X, axis=0)[9_999])


def test_columns_that_a_sample_does_not_settle_are_left():
    """Values that occur very often, and rows in an order that misleads the sample."""
    rng = np.random.default_rng(0)
    often = np.where(rng.random(8000) < 0.4, 0.5, rng.random(8000))
    misleading = np.where(np.arange(8000) % 4 == 0, 5.0, 0.0) + rng.random(8000)
    X = np.column_stack([often, misleading, rng.random(8000)])
    source = as_source(X, tile=400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(middles, "_SAMPLED_ROWS", 100)  # every fourth row
        assert found(X, 400).found.tolist() == [False, False, True]
        bins = find_bins(source, summarize_columns(source), ONE)
    np.testing.assert_array_equal(bins.cut, np.sort(X, axis=0)[3999])


def test_runs_of_columns_are_the_same(monkeypatch):
    X = np.random.default_rng(1).random((4000, 7))
    whole = found(X, 200)
    monkeypatch.setattr(middles, "_FETCHED_BYTES", 1)
    for one, other in zip(whole, found(X, 200), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bins_do_not_depend_on_the_road(monkeypatch):
    rng = np.random.default_rng(2)
    X = np.round(rng.standard_normal((1500, 8)), 1)
    X[:, 0] = rng.random(1500) < 0.7
    X[:, 1] = np.where(X[:, 0] > 0, 3.0, -2.0)
    X[:, 2] = 1.0
    X[:, 3] = np.abs(X[:, 3]) * (rng.random(1500) < 0.2)
    few = as_source(X, tile=500)
    many = as_source(X, tile=50)
    assert many.n_tiles >= discretize.MANY_TILES > few.n_tiles
    cuts = [find_bins(s, summarize_columns(s), ONE).cut for s in (few, many)]
    np.testing.assert_array_equal(*cuts)
