import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.selectors.mdmr import MDMR
from reference.mdmr import mdmr_order
from reference.tables import tables

# Labels in all four combinations; features: the first label, exclusive or, and.
Y4 = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
X4 = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])


def test_hand_table():
    """By hand, with h = H(1/4) = 2 - 3/4 log2 3 = 0.811278.

    J of the first choice: f0: 1, f1: 0, f2: 2 (h - 1/2) = 0.622556. With f0 = a:
        f1: I(f1;f0) = 0, given a it tells b: 1 bit       0 - (0 - 1) = 1
        f2: I(f2;f0) = h - 1/2, given a it tells b on half of the rows: 1/2 bit
                                                          2h - 1 - (h - 1/2 - 1/2) = h
    f1 next. With f1: I(f2;f1) = h - 1/2, given f1 it tells a on half of the rows, and b:
        f2: 2h - 1 - ((h - 1) + (h - 1/2 - 1)) / 2 = h + 1/4 = 1.061278
    """
    h = 2 - 0.75 * np.log2(3)
    fitted = MDMR().fit(X4, Y4)
    assert fitted.order_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(fitted.scores_, [1.0, 1.0, h + 0.25], rtol=1e-12)
    steps = fitted.path_
    np.testing.assert_allclose([s["relevance"] for s in steps], [1, 0, 2 * h - 1], atol=1e-15)
    np.testing.assert_allclose([s["redundancy"] for s in steps], [0, -1, h - 1.25], atol=1e-15)
    assert set(steps[0]) == {"step", "feature", "score", "reason", "relevance", "redundancy"}


@given(table=tables(), nominal=st.sets(st.integers(0, 5)), limit=st.integers(1, 6))
def test_order_equals_the_plain_twin(table, nominal, limit):
    X, Y = table
    nominal = [r for r in nominal if r < X.shape[1]]
    kind = [int(r in nominal) for r in range(X.shape[1])]
    limit = min(limit, X.shape[1])
    order, path = mdmr_order(X, Y, nominal=nominal, limit=limit)
    fitted = MDMR(n_features_to_select=limit, tile=5).fit(X, Y, feature_kind=kind)
    assert [step["feature"] for step in fitted.path_] == order
    np.testing.assert_allclose(fitted.scores_[order], path, rtol=1e-10, atol=1e-12)


def test_redundancy_is_a_mean():
    # One label, and copies of it: each copy of f0 has I(f;s) = 1, I(f;l|s) = 0, so J = 1 - 1 = 0
    # however many were chosen; a sum would fall by one with each.
    y = np.array([0, 0, 1, 1])
    fitted = MDMR().fit(np.column_stack([y, y, 1 - y, y]), y[:, None])
    assert fitted.order_.tolist() == [0, 1, 2, 3]
    assert fitted.scores_.tolist() == [1.0, 0.0, 0.0, 0.0]
