import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import PlanError
from mlfs_dask.selectors.engine import drive
from mlfs_dask.selectors.mllap import MLLAP, TraceRatioEngine
from reference.mllap import euclidean_order, mllap_order, scatter_terms
from reference.spec import similarity_matrix
from reference.tables import tables

ROADS = ("lowrank", "collapsed", "pairs")


def test_similarity_of_the_papers_example():
    # Paper B, tables 1 to 4: x1 = {y1, y3}, x2 = {y3}, x5 = {y2}.
    Y = np.array([[1, 0, 1], [0, 0, 1], [0, 1, 0]])
    W = similarity_matrix(None, Y, "matching")
    np.testing.assert_allclose([W[0, 1], W[0, 2], W[1, 2]], [2 / 3, 0.0, 1 / 3])
    # A feature that tells x_i from the two others: a / 2 is the similarity that it cuts.
    for i, expected in enumerate([2 / 3, 1.0, 1 / 3]):
        X = np.zeros((3, 1))
        X[i] = 1.0
        a, b = scatter_terms(X, Y)
        assert a[0] / 2 == pytest.approx(expected)
        for road in ROADS:
            fitted = MLLAP(road=road).fit(X, Y)
            assert fitted.scores_[0] == pytest.approx(a[0] / b[0], rel=1e-12)


@pytest.mark.parametrize("road", ROADS)
@given(table=tables(), normalize=st.sampled_from(["minmax", "none"]))
def test_order_equals_the_plain_twin(road, table, normalize):
    X, Y = table
    a, b = scatter_terms(X, Y, normalize=normalize)
    constant = X.min(axis=0) == X.max(axis=0)
    order, path = mllap_order(a, b, constant)
    fitted = MLLAP(normalize, road=road, tile=5).fit(X, Y)
    assert fitted.road_ == road
    assert fitted.order_.tolist() == order
    np.testing.assert_allclose(fitted.scores_[order[: len(path)]], path, rtol=1e-10)
    assert np.isnan(fitted.scores_[constant]).all()
    assert [step["feature"] for step in fitted.path_] == order[: len(path)]


@given(table=tables())
def test_sparse_input_is_chosen_as_dense(table):
    X, Y = table
    X[np.abs(X) < 1] = 0.0
    for road in ROADS:
        dense = MLLAP(road=road, tile=5).fit(X, Y)
        sparse = MLLAP(road=road, tile=5).fit(sp.csr_matrix(X), Y)
        assert sparse.order_.tolist() == dense.order_.tolist()
        np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-10)


@given(table=tables(max_rows=10, max_features=4))
def test_unsquared_order_equals_the_plain_twin(table):
    X, Y = table
    varying = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    order, path = euclidean_order(X[:, varying], Y)
    fitted = MLLAP(distance="euclidean", tile=4).fit(X, Y)
    assert fitted.order_.tolist()[: len(order)] == varying[order].tolist()
    np.testing.assert_allclose(fitted.scores_[varying[order]], path, rtol=1e-10)


def test_unsquared_stops_at_the_number_asked_for():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 6)), rng.integers(0, 2, (20, 3))
    fitted = MLLAP(distance="euclidean", n_features_to_select=2).fit(X, Y)
    assert len(fitted.path_) == 2
    assert fitted.stop_ == "2 features chosen"
    assert fitted.support_.sum() == 2
    rest = [f for f in range(6) if f not in fitted.order_[:2]]
    assert fitted.order_[2:].tolist() == rest


def test_unsquared_is_refused_where_it_would_take_hours():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4000, 500)), rng.integers(0, 2, (4000, 3))
    with pytest.raises(PlanError, match=r"2\.0e\+12 square roots"):
        MLLAP(distance="euclidean").fit(X, Y)


def test_equal_spreads_give_the_laplacian_order():
    # With equal b the greedy order is that of a / b.
    a = np.array([3.0, 1.0, 2.0, 1.0, 5.0])
    engine = TraceRatioEngine(5, np.zeros(5, dtype=bool))
    steps = list(drive(engine, lambda request: (a, np.ones(5))))
    assert [c.feature for step in steps for c in step.decided] == [1, 3, 2, 0, 4]


def test_engine_asks_once_and_can_stop_anywhere():
    rng = np.random.default_rng(1)
    a, b = rng.random(2500) + 0.1, rng.random(2500) + 0.1
    constant = np.zeros(2500, dtype=bool)
    constant[7] = True
    engine = TraceRatioEngine(2500, constant)
    steps = list(drive(engine, lambda request: (a, b)))
    assert [step.request is not None for step in steps] == [True, False, False, False]
    assert [len(step.decided) for step in steps] == [0, 1024, 1024, 451]
    assert steps[-1].stop == "no candidate left"
    # States aren't changed by going on from them.
    again = engine.advance(steps[1].state, None)
    assert [c.feature for c in again.decided] == [c.feature for c in steps[2].decided]
    order, _ = mllap_order(a[:60].tolist(), b[:60].tolist(), constant[:60].tolist())
    few = list(drive(TraceRatioEngine(60, constant[:60]), lambda request: (a[:60], b[:60])))
    assert [c.feature for step in few for c in step.decided] == order[:59]
