"""Sums over the rows of labels and how uneven they are, against exact fractions."""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.exactsum import cuts
from mlfs_dask.kernels.label_sums import add_csr, add_dense, uneven


def summed(X, Y, parts, *, sparse=False):
    places = cuts(abs(X).max(axis=0), len(X))
    sums = np.zeros((2, Y.shape[1] + 1, X.shape[1]))
    for rows in parts:
        if sparse:
            block = sp.csr_matrix(X[rows])
            lists = block.indices.astype(np.int64), block.indptr.astype(np.int64)
            add_csr(block.data, *lists, Y[rows], places, sums)
        else:
            add_dense(X[rows], 0, Y[rows], places, sums)
    return sums


@st.composite
def columns(draw):
    """Values of any size, also far from zero or of very different size."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d, q = draw(st.integers(1, 30)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    X = 10.0 ** draw(st.integers(-60, 60)) * rng.random((n, d))
    X += draw(st.sampled_from([0.0, 1.0, 1e6])) * X.max()
    X *= 10.0 ** -rng.integers(0, draw(st.integers(1, 12)), (n, d))
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.5]))] = 0.0
    return X, (rng.random((n, q)) < draw(st.sampled_from([0.1, 0.5]))).astype(np.uint8)


@given(case=columns(), sparse=st.booleans(), seed=st.integers(0, 100))
def test_uneven_sums_equal_exact_fractions_in_any_order(case, sparse, seed):
    X, Y = case
    n = len(X)
    counts = Y.sum(axis=0, dtype=np.int64)
    found = uneven(summed(X, Y, [np.arange(n)], sparse=sparse), counts, n)
    order = np.random.default_rng(seed).permutation(n)
    again = summed(X, Y, np.array_split(order, 3), sparse=not sparse)
    assert uneven(again, counts, n).tobytes() == found.tobytes()
    for r, column in enumerate(X.T):
        values = [Fraction(float(v)) for v in column]
        for label, count in enumerate(counts.tolist()):
            mine = sum((v for v, y in zip(values, Y[:, label], strict=True) if y), Fraction(0))
            right = n * mine - count * sum(values)
            error = abs(Fraction(float(found[label, r])) - right)
            assert error <= Fraction(2) ** -50 * abs(right) + n**4 * Fraction(2) ** -97 * max(
                values
            )
