import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.points import first_rows, refine


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), levels=st.sampled_from([2, 3, 50]))
def test_points_are_the_distinct_rows(seed, n, levels):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, 3))
    point, n_points = np.zeros(n, dtype=np.int64), 1
    for column in X.T:
        point, n_points = refine(point, n_points, column, levels)
    _, expected = np.unique(X, axis=0, return_inverse=True)
    assert n_points == expected.max() + 1
    assert len({*zip(point.tolist(), expected.ravel().tolist(), strict=True)}) == n_points
    first = first_rows(point, n_points)
    assert first.tolist() == [point.tolist().index(p) for p in range(n_points)]
    assert first.tolist() == sorted(first.tolist())
