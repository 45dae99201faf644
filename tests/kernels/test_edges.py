import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlfs_dask.kernels.edges import (
    SparseRows,
    dense_differences,
    neighbor_edges,
    sparse_differences,
)


@given(st.data())
def test_an_edge_from_either_side_once(data):
    n = data.draw(st.integers(2, 9))
    k = data.draw(st.integers(1, n - 1))
    others = [[j for j in range(n) if j != i] for i in range(n)]
    neighbors = np.array([data.draw(st.permutations(each))[:k] for each in others])
    squares = np.abs(np.arange(n)[:, None] - neighbors).astype(float)
    edges = neighbor_edges(neighbors, squares)
    expected = sorted({(min(i, j), max(i, j)) for i in range(n) for j in neighbors[i].tolist()})
    assert list(zip(edges.low.tolist(), edges.high.tolist(), strict=True)) == expected
    assert edges.square.tolist() == [float(j - i) for i, j in expected]


@given(
    hnp.arrays(np.float64, (6, 5), elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.3])),
    hnp.arrays(np.float64, (4, 5), elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.3])),
    st.integers(0, 12),
)
def test_squared_differences_dense_and_sparse(a, b, n_edges):
    rng = np.random.default_rng(n_edges)
    rows = (rng.integers(0, 6, n_edges), rng.integers(0, 4, n_edges))
    weight = rng.random(n_edges)
    dense, sparse = np.zeros(5), np.zeros(5)
    dense_differences(a, b, rows, weight, dense)
    operands = [SparseRows(m.data, m.indices, m.indptr) for m in map(sp.csr_matrix, (a, b))]
    sparse_differences(*operands, rows, weight, sparse)
    expected = (weight[:, None] * (a[rows[0]] - b[rows[1]]) ** 2).sum(axis=0)
    np.testing.assert_allclose(dense, expected, rtol=1e-13)
    assert sparse.tolist() == dense.tolist()
