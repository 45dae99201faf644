"""Rows in order of distance and dealt to their labels, against sorting and single look-ups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.kernels.hitmiss import JOINED, ONE, PAIRS, Question, ask, rows_apart
from mlfs_dask.kernels.members import label_members
from mlfs_dask.kernels.pools import deal, make_pools, sort_near
from mlfs_dask.kernels.terms import find_terms, make_room


def distances(rng, style, n, dtype):
    """Whole vectors of them; what is beyond the last row is small and must not be looked at."""
    total = np.zeros(64 * -(-n // 64), dtype=dtype)
    values = {
        "tied": rng.integers(0, 4, n),
        "spread": rng.integers(0, 250, n),
        "backwards": np.arange(n)[::-1] % 250,
        "one far away": np.where(np.arange(n) == n // 2, 250, rng.random(n) * 1e-3),
        "endless": np.where(rng.random(n) < 0.3, 250, rng.random(n) * 200),
    }[style]
    total[:n] = values
    if style == "endless" and dtype is np.float64:
        total[:n][values == 250] = np.inf
    return total


STYLES = st.sampled_from(["tied", "spread", "backwards", "one far away", "endless"])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 400), STYLES)
def test_near_rows_are_the_first_of_a_sort(dtype, seed, n, most, style) -> None:
    total = distances(np.random.default_rng(seed), style, n, dtype)
    found = sort_near(total, n, most, make_pools(1, n, 1, dtype)).tolist()
    expected = np.lexsort((np.arange(n), total[:n])).tolist()
    assert found == expected[: len(found)]
    assert len(found) == n or total[expected[len(found)]] > total[found[-1]]
    assert most < n or len(found) == n


@pytest.mark.parametrize("style", ["spread", "one far away"])
def test_pools_hold_the_nearest_of_each_label(style) -> None:
    rng = np.random.default_rng(3)
    Y = (rng.random((300, 4)) < [0.5, 0.1, 0.02, 0.0]).astype(np.uint8)
    total = distances(rng, style, 300, np.float64)
    pools = make_pools(3, 300, 5, np.float64)
    deal(total, label_members(Y), 7, pools)
    near = sort_near(total, 300, 80, make_pools(3, 300, 5, np.float64)).tolist()
    assert 40 < len(near) < 300
    for label in range(5):
        rows = [j for j in near if j != 7 and (label == 4 or Y[j, label])][:12]
        assert pools.row[label, : pools.used[label]].tolist() == rows
        assert pools.distance[label, : pools.used[label]].tolist() == total[rows].tolist()


@pytest.mark.parametrize("kind", [ONE, PAIRS, JOINED])
@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 300), st.integers(1, 6), STYLES)
def test_lists_are_the_same_with_pools(kind, seed, n, k, style) -> None:
    """Some rows only are dealt: lists of few rows, and of labels that go together, miss some."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 3)) < [0.6, 0.2, 0.05]).astype(np.uint8)
    Y[:, 1] &= Y[:, 0] | (rng.random(n) < 0.1)
    size, apart = Y.sum(axis=0, dtype=np.int64), rows_apart(Y)
    n_sums = {ONE: 3, PAIRS: 3, JOINED: 1}[kind]
    own = rng.choice(n, min(n, 4), replace=False)
    D = np.stack([distances(rng, style, n, np.float64) for _ in own])
    lists = ask(Question(kind, k, 0, n_sums, size, apart), Y[own], np.zeros(0, np.int64), n)
    found, expected = (
        find_terms(
            D.copy(),
            label_members(Y),
            lists,
            own,
            np.inf,
            make_room(k, n, np.float64, n_pools),
            np.zeros(len(own), dtype=bool),
            None,
        )
        for n_pools in (4, 0)
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
