"""ReliefF equals skrebate's and fast-select's on two classes where the definitions agree.

They don't agree in general: peers sum absolute differences where this takes the Euclidean distance,
so other rows are near as soon as several features vary by degrees; they take features of few values
for nominal; skrebate leaves missing values out, orders equally near rows as its sort happens to,
and counts a row among its own hits where its class has no more than k rows.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.selectors.relief_wrapper import ReliefWrapper

pytestmark = pytest.mark.filterwarnings("ignore")


def fast_select(X, y, k):
    module = pytest.importorskip("fast_select", reason="fast-select comes with `make bench`")
    model = module.ReliefF(n_neighbors=k, backend="cpu", n_jobs=1)
    return model.fit(X, y).feature_importances_


def skrebate(X, y, k):
    module = pytest.importorskip("skrebate", reason="skrebate comes with `make bench`")
    return module.ReliefF(n_neighbors=k, n_jobs=1).fit(X.copy(), y).feature_importances_


def ours(X, y, k):
    return ReliefWrapper(k).fit(X, y[:, None]).scores_[0]


@given(seed=st.integers(0, 1000), k=st.integers(1, 30))
def test_binary_features_weigh_as_in_fast_select(seed, k):
    """On 0/1 features both distances count the differing ones; ties go by index in both."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (40, 6)).astype(float), rng.integers(0, 2, 40)
    if len(set(y.tolist())) == 2:
        np.testing.assert_allclose(ours(X, y, k), fast_select(X, y, k), atol=1e-5)


@pytest.mark.parametrize("peer", [fast_select, skrebate])
@given(seed=st.integers(0, 1000), k=st.integers(1, 9))
def test_a_single_feature_weighs_as_in_peers(peer, seed, k):
    rng = np.random.default_rng(seed)
    X, y = rng.random((40, 1)), np.arange(40) % 3 // 2
    np.testing.assert_allclose(ours(X, y, k), peer(X, y, k), atol=1e-5)


def test_all_rows_as_neighbours_weigh_as_in_fast_select():
    """No distance matters then."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 5)), rng.integers(0, 2, 40)
    np.testing.assert_allclose(ours(X, y, 39), fast_select(X, y, 39), atol=1e-5)


def test_other_rows_are_near_by_other_distances():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    assert np.abs(ours(X, y, 3) - fast_select(X, y, 3)).max() > 1e-3
