"""Dense rows of float32 are taken as they are: the same bits as their float64 twins."""

import numpy as np
import pytest

import mlfs_dask as mlfs

pytestmark = pytest.mark.slow  # kernels are compiled for another type


@pytest.mark.parametrize("method", ["spec", "mllap", "mddm", "chi2", "variance", "mutual-info"])
def test_float32_and_float64_have_the_same_bits(method):
    rng = np.random.default_rng(0)
    X = rng.random((300, 7)).astype(np.float32)
    Y = (rng.random((300, 4)) < 0.4).astype(np.uint8)
    single = mlfs.get_selector(method, tile=64).fit(X, Y)
    double = mlfs.get_selector(method, tile=64).fit(X.astype(np.float64), Y)
    np.testing.assert_array_equal(single.scores_, double.scores_)
    assert single.order_.tolist() == double.order_.tolist()
