"""Distances of 0/1 rows by what they share, against counting differences."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.kernels.bits import bit_layout, pack_csr
from mlfs_dask.kernels.meetings import Met, distances_met, list_ones, post_ones, search_met
from mlfs_dask.kernels.neighbors import distance_buffer, nothing_found


def prepared(X, common):
    """Some features posted, the others packed."""
    csr, d = sp.csr_matrix(X), X.shape[1]
    place = np.where(common, -1, np.cumsum(~common) - 1)
    posted = post_ones(csr.data, csr.indices, csr.indptr, place, int(np.sum(~common)))
    order = np.flatnonzero(common)
    stops = np.array([np.sum(common[: d // 2]), len(order)])
    layout = bit_layout(order, stops, d)
    packed = pack_csr(csr.data, csr.indices, csr.indptr, layout)
    below = np.array([d // 2, d]) - stops
    return Met(posted, np.ascontiguousarray(packed.T)), packed, (below, layout.stops)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 80),
    d=st.integers(1, 40),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_distances_count_the_features_that_differ(seed, n, d, share) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.random(d)).astype(np.uint8)
    X[rng.integers(0, n)] = 0
    X[rng.integers(0, n)] = X[0]
    common = rng.random(d) < share
    k = min(5, n - 1)
    expected = (X[:, None, :] != X[None, :, :]).cumsum(axis=2)
    totals, queries = np.zeros((n, n), dtype=np.uint16), prepared(X, common)
    listed = list_ones(queries[0].posted)
    found = nothing_found((n, 2, k), np.uint16)
    total = distance_buffer(1, n, np.uint16)[0]
    looks = np.zeros(2, dtype=int)
    for begin, end in ((0, n // 2), (n // 2, n)):
        met, _, stops = prepared(X[begin:end], common)
        looks[0] += distances_met(listed, queries[1], met, begin, totals)
        looks[1] += search_met(listed, queries[1], met, stops, begin, np.arange(n), found, total)
    rare, half = X * ~common, np.arange(d) < d // 2
    shared = [np.count_nonzero((rare * part) @ (rare * part).T) for part in (1, half, ~half)]
    assert looks.tolist() == [shared[0], shared[1] + shared[2]]
    assert np.array_equal(totals, expected[:, :, -1])
    for point, count in enumerate((d // 2, d)):
        distance = expected[:, :, count - 1] if count else np.zeros((n, n), dtype=int)
        for i in range(n):
            rows = sorted((distance[i, j], j) for j in range(n) if j != i)[:k]
            assert found.indices[i, point].tolist() == [j for _, j in rows]
            assert found.distances[i, point].tolist() == [value for value, _ in rows]


def test_stored_zeros_are_not_met() -> None:
    stored = sp.csr_matrix((np.array([0, 1, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), (2, 2))
    place = np.arange(2)
    posted = post_ones(stored.data, stored.indices, stored.indptr, place, 2)
    none = np.zeros((0, 2), dtype=np.uint8)
    totals = np.zeros((2, 2), dtype=np.uint16)
    distances_met(list_ones(posted), none.T.copy(), Met(posted, none), 0, totals)
    assert totals.tolist() == [[0, 0], [0, 0]]
