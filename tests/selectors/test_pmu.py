import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.selectors.pmu import PMU
from reference.pmu import pmu_order
from reference.tables import tables

# Labels in all four combinations; features: the first label, exclusive or, and.
Y4 = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
X4 = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])


def test_hand_table():
    """By hand, with h = H(1/4) = 2 - 3/4 log2 3 = 0.811278.

    relevance    f0: I(f0;a) = 1, I(f0;b) = 0            f1: 0, 0     f2: h - 1/2 each
    label pair   f0: 1 - I(f0;a|b) = 1 - 1 = 0           f1: 0 - 1    f2: h - 1/2 - 1/2
    J            1                                       1            2h - 1 - (h - 1) = h
    f0 first (tie with f1). With f0 = a:
                 f1: I3(f1;a;a) + I3(f1;a;b) = 0 - 1     f2: (h - 1/2) + (h - 1)
    J            f1: 1 + 1 = 2                           f2: h - (2h - 3/2) = 3/2 - h
    f1 next. With f1 = a xor b, on f1 = 0 f2 tells a and b, on f1 = 1 neither:
                 f2: (h - 1/2) - 1/2 for a and for b
    J            f2: 3/2 - h - (2h - 2) = 7/2 - 3h = 1.066166
    """
    h = 2 - 0.75 * np.log2(3)
    fitted = PMU().fit(X4, Y4)
    assert fitted.order_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(fitted.scores_, [1.0, 2.0, 3.5 - 3 * h], rtol=1e-12)
    steps = fitted.path_
    assert [step["reason"] for step in steps] == ["largest merit by itself"] + 2 * [
        "largest criterion"
    ]
    np.testing.assert_allclose([s["relevance"] for s in steps], [1, 0, 2 * h - 1], atol=1e-15)
    np.testing.assert_allclose([s["label_redundancy"] for s in steps], [0, -1, h - 1], atol=1e-15)
    np.testing.assert_allclose([s["redundancy"] for s in steps], [0, -1, 4 * h - 3.5], atol=1e-15)


def test_label_pairs_are_unordered():
    """Summed over ordered pairs, or with l = l', the term would cancel what f tells of labels."""
    # Three equal labels: I3(f;l;l') = I(f;l) = 1 for each of three pairs; J = 3 - 3 = 0.
    y = np.array([0, 0, 1, 1])
    fitted = PMU().fit(y[:, None], np.column_stack([y, y, y]))
    assert fitted.path_[0]["relevance"] == 3.0
    assert fitted.path_[0]["label_redundancy"] == 3.0
    assert fitted.scores_.tolist() == [0.0]


@given(table=tables(), nominal=st.sets(st.integers(0, 5)), limit=st.integers(1, 6))
def test_order_equals_the_plain_twin(table, nominal, limit):
    X, Y = table
    nominal = [r for r in nominal if r < X.shape[1]]
    kind = [int(r in nominal) for r in range(X.shape[1])]
    limit = min(limit, X.shape[1])
    order, path = pmu_order(X, Y, nominal=nominal, limit=limit)
    fitted = PMU(n_features_to_select=limit, tile=5).fit(X, Y, feature_kind=kind)
    assert [step["feature"] for step in fitted.path_] == order
    np.testing.assert_allclose(fitted.scores_[order], path, rtol=1e-10, atol=1e-12)


def test_labels_that_say_nothing():
    rng = np.random.default_rng(2)
    X = rng.random((30, 4))
    # One label: no pairs. The criterion of the first choice is its relevance.
    y = (X[:, [2]] > 0.5).astype(int)
    fitted = PMU().fit(X, y)
    assert fitted.order_[0] == 2
    assert fitted.path_[0]["label_redundancy"] == 0.0
    # Labels of one value carry no information: with or without them, the same scores.
    more = np.hstack([np.zeros_like(y), y, np.ones_like(y)])
    assert PMU().fit(X, more).scores_.tolist() == fitted.scores_.tolist()
    # Nothing but such labels: all tied at 0.
    nothing = PMU().fit(X, np.zeros((30, 3), dtype=int))
    assert nothing.order_.tolist() == [0, 1, 2, 3]
    assert nothing.scores_.tolist() == [0.0] * 4


def test_a_negative_criterion_goes_before_a_constant():
    # f1 copies f0: with f0 chosen it has J = 1 - I3(f1;f0;l) = 0; a third copy has -1.
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([np.full(4, 7.0), y, 1 - y, y])
    fitted = PMU().fit(X, y[:, None])
    assert fitted.order_.tolist() == [1, 2, 3, 0]
    assert fitted.scores_[1:].tolist() == [1.0, 0.0, -1.0]
    assert np.isnan(fitted.scores_[0])
    assert fitted.stop_ == "no candidate left"


def test_many_valued_nominal_features_keep_their_categories():
    # Codes 0, 1, 2 tell both labels; in two bins they would tell one only.
    codes = np.array([0.0, 1, 2, 0, 1, 2])
    Y = np.column_stack([codes == 1, codes == 2]).astype(int)
    X = np.column_stack([codes, codes])
    fitted = PMU(n_features_to_select=1).fit(X, Y, feature_kind=[0, 1])
    assert fitted.order_[0] == 1
    assert fitted.path_[0]["relevance"] == pytest.approx(2 * (np.log2(3) - 2 / 3))
