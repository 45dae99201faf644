"""ReliefF equals skrebate's and fast-select's on two classes once what they do otherwise is named.

`weights` is ReliefF in plain NumPy with a switch for each difference. With none it gives our
weights, with those of a peer the peer's::

                                                      here    fast-select    skrebate
    distance                                          L2      L1             L1
    features of at most ten values are nominal        no      yes            yes
    mixed with others, nominal ones weigh more        no      no             d / how many they are
    mixed with nominal ones, differences beyond
        a standard deviation count 1                  no      no             yes
    equally near rows                                 index   index          as NumPy's argsort does
    a row is its own hit where hits are too few       no      no             yes

On 0/1 features only the last two are left. Missing values are the peers' own affair: skrebate
leaves them out.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

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


@dataclass(frozen=True)
class Switches:
    """What a peer does otherwise."""

    city_block: bool = False
    few_values_are_nominal: bool = False
    nominal_weigh_more: bool = False
    far_counts_one: bool = False
    any_of_equally_near: bool = False
    own_hit: bool = False


FAST_SELECT = Switches(city_block=True, few_values_are_nominal=True)
SKREBATE = Switches(True, True, True, True, True, True)


def weights(X, y, k, switches):
    """Mean over the rows of the mean difference from k misses less that from k hits."""
    n, d = X.shape
    few = np.array([len(np.unique(column)) <= 10 for column in X.T])
    nominal = few & switches.few_values_are_nominal
    span = np.ptp(X, axis=0)
    Z = np.where(nominal, X, (X - X.min(axis=0)) / np.where(span > 0, span, 1.0))
    mixed = nominal.any() and not nominal.all()
    metric = "cityblock" if switches.city_block else "sqeuclidean"
    share = d / nominal.sum() if mixed and switches.nominal_weigh_more else 1.0
    D = cdist(Z[:, ~nominal], Z[:, ~nominal], metric) if not nominal.all() else np.zeros((n, n))
    for column in Z[:, nominal].T:
        D += share * (column[:, None] != column)
    np.fill_diagonal(D, np.inf)
    total = np.zeros(d)
    for i in range(n):
        apart = np.abs(Z - Z[i])
        apart[:, nominal] = apart[:, nominal] != 0
        if mixed and switches.far_counts_one:
            far = np.abs(X - X[i]) > X.std(axis=0)
            apart = np.where(far & ~nominal, 1.0, apart)
        near = np.argsort(D[i], kind=None if switches.any_of_equally_near else "stable")
        if not switches.own_hit:
            near = near[near != i]
        for rows, sign in ((near[y[near] != y[i]], 1), (near[y[near] == y[i]], -1)):
            if len(rows):
                total += sign * apart[rows[:k]].mean(axis=0) / n
    return total


def table(kind):
    """Rows of two classes; `rare`: one of six rows."""
    rng = np.random.default_rng(3)
    X, y = rng.random((80, 9)), rng.integers(0, 2, 80)
    if kind == "binary":
        X = np.round(X)
    if kind == "mixed":
        X[:, :4] = rng.integers(0, 3, (80, 4))
    if kind == "rare":
        y = (np.arange(80) < 6).astype(int)
    return X, y


KINDS = pytest.mark.parametrize("kind", ["binary", "continuous", "mixed", "rare"])


@KINDS
@pytest.mark.parametrize("k", [1, 10])
def test_with_no_switch_weights_are_ours(kind, k):
    X, y = table(kind)
    np.testing.assert_allclose(ours(X, y, k), weights(X, y, k, Switches()), atol=1e-12)


@KINDS
@pytest.mark.parametrize("k", [1, 10])
def test_two_switches_give_fast_selects(kind, k):
    X, y = table(kind)
    np.testing.assert_allclose(fast_select(X, y, k), weights(X, y, k, FAST_SELECT), atol=1e-6)


@KINDS
@pytest.mark.parametrize("k", [1, 10])
def test_all_switches_give_skrebates(kind, k):
    X, y = table(kind)
    np.testing.assert_allclose(skrebate(X, y, k), weights(X, y, k, SKREBATE), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "switch"),
    [
        ("continuous", "city_block"),
        ("mixed", "few_values_are_nominal"),
        ("mixed", "nominal_weigh_more"),
        ("mixed", "far_counts_one"),
        ("binary", "any_of_equally_near"),
        ("rare", "own_hit"),
    ],
)
def test_each_switch_is_needed(kind, switch):
    X, y = table(kind)
    without = weights(X, y, 10, replace(SKREBATE, **{switch: False}))
    assert np.abs(skrebate(X, y, 10) - without).max() > 1e-3


def test_on_binary_features_only_the_order_of_equally_near_rows_differs():
    X, y = table("binary")
    other = weights(X, y, 10, Switches(any_of_equally_near=True))
    np.testing.assert_allclose(skrebate(X, y, 10), other, rtol=0, atol=1e-9)
    assert np.abs(ours(X, y, 10) - other).max() > 1e-3


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
