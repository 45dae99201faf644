"""Lists of nearest rows against a full sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.bits import bit_layout, pack_dense
from mlfs_dask.kernels.distances import MISSING, NOMINAL, PLAIN, Columns
from mlfs_dask.kernels.neighbors import (
    GROUP,
    NOBODY,
    PACKED_CHUNK,
    Window,
    distance_buffer,
    nothing_found,
    search_dense,
    search_packed,
)


def sorted_lists(squared, own, k):
    """By a full sort of (distance, index)."""
    squared = squared.astype(np.float64).copy()
    for i, j in enumerate(own):
        if j != NOBODY:
            squared[i, j] = np.inf
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squared, order, axis=1), order


def packed_lists(X, order, counts, own, k, dtype=np.uint8, cuts=()):
    layout = bit_layout(order, np.asarray(counts), X.shape[1])
    rows = pack_dense(X, layout)
    queries = rows[: len(own)]
    found = nothing_found((len(own), len(counts), k), dtype)
    totals = distance_buffer(GROUP, PACKED_CHUNK, dtype)
    for begin, end in zip([0, *cuts], [*cuts, len(X)], strict=True):
        columns = np.ascontiguousarray(rows[begin:end].T)
        search_packed(queries, columns, layout.stops, begin, own, found, totals)
    return found


def dense_lists(X, counts, own, k, cuts=(), parts=()):
    """Lists with rows cut at ``cuts`` and features cut at ``parts``."""
    d = X.shape[1]
    counts = np.asarray(counts)
    found = nothing_found((len(own), len(counts), k), np.float64)
    totals = distance_buffer(len(own), len(X), np.float64)
    for begin, end in zip([0, *cuts], [*cuts, len(X)], strict=True):
        for low, high in zip([0, *parts], [*parts, d], strict=True):
            lowest = low if low else -1
            inside = (counts > lowest) & (counts <= high)
            point = int(np.searchsorted(counts, lowest, side="right"))
            search_dense(
                np.ascontiguousarray(X[: len(own), low:high]),
                Columns(
                    np.ascontiguousarray(X[:, low:high].T),
                    np.full(high - low, PLAIN, np.uint8),
                    np.zeros(high - low),
                    np.ones(high - low),
                ),
                counts[inside] - low,
                0,
                own,
                found,
                totals,
                Window(begin, end, low == 0, point),
            )
    return found


@st.composite
def searches(draw):
    """Small integers, so that ties abound."""
    n = draw(st.integers(2, 150))
    d = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = draw(st.sampled_from([2, 3, 50]))
    X = rng.integers(0, values, (n, d))
    if draw(st.booleans()):
        X[rng.integers(0, n, n // 2)] = X[0]  # duplicates
    k = draw(st.integers(1, n - 1))
    counts = np.sort(rng.integers(0, d + 1, draw(st.integers(1, 5))))
    cuts = np.unique(rng.integers(1, n, draw(st.integers(0, 3)))).tolist()
    n_queries = int(draw(st.integers(1, n)))
    own = np.arange(n_queries) if draw(st.booleans()) else np.full(n_queries, NOBODY)
    return X, counts, cuts, own, k


@given(searches())
def test_dense_lists_are_those_of_a_sort(case) -> None:
    X, counts, cuts, own, k = case
    rng = np.random.default_rng(len(X))
    parts = np.unique(rng.integers(1, X.shape[1] + 1, 2))
    parts = parts[parts < X.shape[1]].tolist()
    for feature_cuts in ((), parts):
        found = dense_lists(X.astype(np.float64), counts, own, k, cuts, feature_cuts)
        for p, count in enumerate(counts):
            part = X[:, :count]
            squared = ((part[: len(own), None] - part[None]) ** 2).sum(axis=2)
            distances, indices = sorted_lists(squared, own, k)
            np.testing.assert_array_equal(found.distances[:, p], distances)
            np.testing.assert_array_equal(found.indices[:, p], indices)


@given(searches())
def test_packed_lists_are_those_of_a_sort(case) -> None:
    X, counts, cuts, own, k = case
    X = (X > 0).astype(np.uint8)
    order = np.random.default_rng(7).permutation(X.shape[1])
    for dtype in (np.uint8, np.uint16, np.uint32):
        found = packed_lists(X, order, counts, own, k, dtype, cuts)
        for p, count in enumerate(counts):
            part = X[:, order[:count]]
            squared = (part[: len(own), None] != part[None]).sum(axis=2)
            distances, indices = sorted_lists(squared, own, k)
            np.testing.assert_array_equal(found.distances[:, p], distances)
            np.testing.assert_array_equal(found.indices[:, p], indices)


def test_lists_over_many_chunks() -> None:
    """More rows than pass by together, ties everywhere, the queries in the last chunk."""
    rng = np.random.default_rng(0)
    X = (rng.random((9000, 30)) < 0.2).astype(np.uint8)
    X = np.ascontiguousarray(X[::-1])
    own = np.arange(20)
    counts = [3, 9, 30]
    packed = packed_lists(X, np.arange(30), counts, own, 11)
    dense = dense_lists(X.astype(np.float64), counts, own, 11)
    for p, count in enumerate(counts):
        squared = (X[:20, None, :count] != X[None, :, :count]).sum(axis=2)
        distances, indices = sorted_lists(squared, own, 11)
        for found in (packed, dense):
            np.testing.assert_array_equal(found.indices[:, p], indices)
            np.testing.assert_array_equal(found.distances[:, p], distances)


def test_distances_beyond_a_byte_leave_lists_unfilled() -> None:
    """Nothing is wrong silently: such rows never enter, and the caller takes a wider type."""
    X = np.zeros((4, 700), dtype=np.uint8)
    X[1, :254] = X[2, :255] = X[3, :700] = 1
    own = np.arange(1)
    found = packed_lists(X, np.arange(700), [700], own, 3)
    assert found.indices.tolist() == [[[1, -1, -1]]]
    wide = packed_lists(X, np.arange(700), [700], own, 3, np.uint16)
    assert wide.distances.tolist() == [[[254, 255, 700]]]
    assert wide.indices.tolist() == [[[1, 2, 3]]]


def test_infinite_distances_never_enter() -> None:
    X = np.array([[0.0], [1e200], [3.0]])
    found = dense_lists(X, [1], np.arange(1), 2)
    assert found.indices.tolist() == [[[2, -1]]]


@pytest.mark.parametrize("kinds", [(PLAIN, MISSING, NOMINAL, PLAIN, PLAIN), (MISSING,) * 5])
def test_features_of_all_kinds_in_one_search(kinds) -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (90, 5)) / 4.0
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, [f for f, kind in enumerate(kinds) if kind == PLAIN]] = 0.25
    columns = Columns(np.ascontiguousarray(X.T), np.array(kinds, np.uint8), np.zeros(5), np.ones(5))
    own = np.arange(90)
    found = nothing_found((90, 1, 4), np.float64)
    totals = distance_buffer(90, 90, np.float64)
    window = Window(0, 90, True, 0)
    search_dense(X, columns, np.array([5]), 0, own, found, totals, window)
    squared = np.zeros((90, 90))
    for f, kind in enumerate(kinds):
        a, b = X[:, None, f], X[None, :, f]
        if kind == NOMINAL:
            gap = np.where(a == b, 0.0, 1.0)
        else:
            far = np.where(np.isnan(a), np.maximum(b, 1 - b), np.maximum(a, 1 - a))
            gap = np.where(np.isnan(a) | np.isnan(b), far, a - b)
            gap = np.where(np.isnan(a) & np.isnan(b), 1.0, gap)
        squared += gap * gap
    distances, indices = sorted_lists(squared, own, 4)
    np.testing.assert_array_equal(found.indices[:, 0], indices)
    np.testing.assert_array_equal(found.distances[:, 0], distances)


def test_a_bound_from_the_point_before_keeps_ties_with_the_lower_index() -> None:
    """Rows 500 to 502 are nearest at the first point; at the second all rows are equally far."""
    X = np.ones((510, 2))
    X[0] = X[500:503, 0] = X[1:500, 1] = X[503:, 1] = 0.0
    found = dense_lists(X, [1, 2], np.arange(1), 3)
    assert found.indices.tolist() == [[[500, 501, 502], [1, 2, 3]]]
    assert found.distances[0, 1].tolist() == [1.0, 1.0, 1.0]


def test_a_bound_is_taken_only_from_rows_whose_distances_are_up_to_date() -> None:
    """Features in two blocks: when the second begins, later chunks still hold the first's sums."""
    X = np.ones((1100, 2))
    X[0] = 0.0
    X[600:603] = [0.0, 5.0]  # nearest at the first point, far at the second
    found = dense_lists(X, [1, 2], np.arange(1), 3, parts=[1])
    assert found.indices.tolist() == [[[600, 601, 602], [1, 2, 3]]]
