"""Packing of 0/1 features."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.bits import add_byte, add_four_bytes, bit_layout, pack_csr, pack_dense


@st.composite
def binary_curves(draw):
    """0/1 rows, an order of some features, counts at which to stop."""
    d = draw(st.integers(1, 60))
    n = draw(st.integers(0, 12))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < draw(st.sampled_from([0.1, 0.5, 1.0]))).astype(np.uint8)
    order = rng.permutation(d)[: draw(st.integers(1, d))]
    counts = np.sort(rng.integers(0, len(order) + 1, draw(st.integers(1, 6))))
    return X, order, counts


@given(binary_curves())
def test_differing_bits_are_differing_features(case) -> None:
    X, order, counts = case
    layout = bit_layout(order, counts, X.shape[1])
    packed = pack_dense(X, layout)
    for i in range(len(X)):
        for j in range(len(X)):
            for count, stop in zip(counts, layout.stops, strict=True):
                words = packed[i, :stop] ^ packed[j, :stop]
                expected = (X[i, order[:count]] != X[j, order[:count]]).sum()
                assert np.bitwise_count(words).sum() == expected


@given(binary_curves())
def test_sparse_rows_pack_alike(case) -> None:
    X, order, counts = case
    layout = bit_layout(order, counts, X.shape[1])
    csr = sp.csr_matrix(X.astype(np.float64))
    packed = pack_csr(csr.data, csr.indices, csr.indptr, layout)
    np.testing.assert_array_equal(packed, pack_dense(X, layout))


def test_stored_zeros_are_zeros() -> None:
    layout = bit_layout(np.arange(3), np.array([3]), 3)
    csr = sp.csr_matrix((np.array([0, 1]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    assert pack_csr(csr.data, csr.indices, csr.indptr, layout).tolist() == [[4]]


def test_a_new_byte_begins_after_each_stop() -> None:
    layout = bit_layout(np.arange(11), np.array([3, 3, 11]), 12)
    assert layout.stops.tolist() == [1, 1, 2]
    assert layout.n_bytes == 2
    assert layout.byte.tolist() == [0, 0, 0, *[1] * 8, -1]


def test_bits_are_counted_four_bytes_at_a_time_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 256, (4, 200), dtype=np.uint8)
    own = rng.integers(0, 256, 4, dtype=np.uint8)
    one, four = (np.full(200, 230, np.uint8) for _ in range(2))
    for b in range(4):
        add_byte(one, columns[b], own[b])
    add_four_bytes(four, tuple(columns), own, 0)
    expected = np.minimum(255, 230 + np.bitwise_count(columns ^ own[:, None]).sum(axis=0))
    np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(four, expected)
