"""wrapper-SPEC equals SPEC on each transformed problem, without going through it."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs import problem_scatter
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.selectors.spec import SPEC
from mlfs_dask.selectors.spec_wrapper import SPECWrapper
from reference.executors import Shuffled
from reference.spec import similarity_matrix, spec_scores
from reference.tables import tables


def problems(Y, order):
    """Label indices, rows and classes of each problem."""
    everyone = np.arange(len(Y))
    if order == 1:
        return [((a,), everyone, Y[:, a]) for a in range(Y.shape[1])]
    pairs = itertools.combinations(range(Y.shape[1]), 2)
    found = [((a, b), np.flatnonzero(Y[:, a] != Y[:, b])) for a, b in pairs]
    return [(labels, rows, Y[rows, labels[0]]) for labels, rows in found]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("phi", [1, 2])
@given(table=tables(), sparse=st.booleans(), tile=st.sampled_from([5, 100]))
def test_scores_are_those_of_spec_on_each_problem(order, phi, table, sparse, tile):
    X, Y = table
    if order > Y.shape[1]:
        Y = np.hstack([Y, 1 - Y])
    if sparse:
        X[np.abs(X) < 1] = 0.0
    wrap = sp.csr_matrix if sparse else np.asarray
    fitted = SPECWrapper(order, phi=phi, tile=tile).fit(wrap(X), Y)
    assert fitted.problems_ == tuple(labels for labels, _, _ in problems(Y, order))
    for p, (_, rows, classes) in enumerate(problems(Y, order)):
        constant = [len(set(X[rows, r])) < 2 for r in range(X.shape[1])]
        if len(set(classes)) < 2:
            assert np.isinf(fitted.scores_[p]).all()
            by_index = sorted(range(len(constant)), key=constant.__getitem__)
            assert fitted.order_[p].tolist() == by_index
            continue
        target = classes[:, None]
        generic = SPEC("class", phi=phi).fit(X[rows], target)
        np.testing.assert_allclose(fitted.scores_[p], generic.scores_, rtol=1e-10)
        assert fitted.order_[p].tolist() == generic.order_.tolist()
        twin = spec_scores(X[rows], similarity_matrix(None, target, "class"), phi)
        np.testing.assert_allclose(fitted.scores_[p], twin, rtol=1e-10)
        assert (fitted.scores_[p] == 0).tolist() == (twin == 0).tolist()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
@given(seed=st.integers(0, 10**6), far=st.sampled_from([0.0, 1e4, 1e8]))
def test_digits_survive_large_means_and_near_classes(order, sparse, seed, far):
    """Columns that tell the classes, up to a little noise: differences of sums lose all digits."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((30, 3)) < 0.5).astype(np.uint8)
    X = far + Y.astype(float) + 1e-4 * rng.integers(0, 3, (30, 3))
    fitted = SPECWrapper(order, phi=2, tile=8).fit(sp.csr_matrix(X) if sparse else X, Y)
    for p, (_, rows, classes) in enumerate(problems(Y, order)):
        if len(set(classes)) == 2:
            expected = spec_scores(X[rows], similarity_matrix(None, classes[:, None], "class"), 2)
            np.testing.assert_allclose(fitted.scores_[p], expected, rtol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_nominal_features_count_as_groups_of_columns(order, sparse):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 50), rng.random(50), rng.integers(0, 2, 50)])
    Y = (rng.random((50, 3)) < 0.4).astype(np.uint8)
    kinds = np.array([1, 0, 1])
    rows = sp.csr_matrix(X) if sparse else X
    fitted = SPECWrapper(order, phi=2, tile=16).fit(rows, Y, feature_kind=kinds)
    for p, (_, chosen, classes) in enumerate(problems(Y, order)):
        W = similarity_matrix(None, classes[:, None], "class")
        twin = spec_scores(X[chosen], W, 2, nominal=(0,))
        np.testing.assert_allclose(fitted.scores_[p], twin, rtol=1e-10)


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    X = rng.random((60, 7))
    Y = (rng.random((60, 3)) < 0.4).astype(np.uint8)
    X[:, [1, 4, 6]] += Y
    X[:, 2] = 5.0
    return X, Y


def test_planted_features_come_first_and_constants_last(data):
    for phi in (1, 2):
        fitted = SPECWrapper(phi=phi).fit(*data)
        assert fitted.order_[:, -1].tolist() == [2, 2, 2]
    assert fitted.order_[:, 0].tolist() == [1, 4, 6]
    assert not fitted.higher_is_better_


def test_attributes_of_several_problems_agree(data):
    X, Y = data
    for k, expected in ((None, 7), (1, 1), (0.5, 4)):
        fitted = SPECWrapper("auto", phi=2, n_features_to_select=k).fit(X, Y)
        assert fitted.problems_ == ((0,), (1,), (2,))
        assert fitted.support_.sum(axis=1).tolist() == [expected] * 3
        np.testing.assert_array_equal(fitted.support_, fitted.ranking_ <= expected)
        ranks = np.take_along_axis(fitted.ranking_, fitted.order_, axis=1)
        np.testing.assert_array_equal(ranks, np.tile(np.arange(1, 8), (3, 1)))
        union = np.flatnonzero(fitted.support_.any(axis=0))
        np.testing.assert_array_equal(fitted.transform(X), X[:, union])
        assert fitted.get_feature_names_out().tolist() == [f"x{j}" for j in union]
        for i in range(3):
            kept = np.flatnonzero(fitted.support_[i])
            np.testing.assert_array_equal(fitted.transform_problem(X, i), X[:, kept])
            sparse = fitted.transform_problem(sp.csr_matrix(X), i)
            np.testing.assert_array_equal(sparse.toarray(), X[:, kept])
    for i in (-1, 3):
        with pytest.raises(InputError, match=f"i = {i}: expected a problem from 0 to 2"):
            fitted.transform_problem(X, i)


def test_record_of_several_problems(data):
    X, Y = data
    costs = np.arange(7.0)
    fitted = SPECWrapper(2, phi=2, n_features_to_select=2).fit(X, Y, feature_cost=costs)
    record = fitted.selection_record()
    assert record["problems"] == [[0, 1], [0, 2], [1, 2]]
    assert record["order"] == fitted.order_.tolist()
    assert [scores[2] for scores in record["scores"]] == [None] * 3
    assert record["support"] == [sorted(order[:2]) for order in record["order"]]
    assert record["cost"] == np.mean([costs[kept].sum() for kept in record["support"]])
    assert SPECWrapper().fit(X, Y).selection_record()["cost"] is None


def test_constants_are_those_of_a_problems_rows():
    """Feature 0 varies only on rows outside the pair (0, 1)."""
    Y = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0]])
    X = np.array([[2.0, 1], [2, 2], [2, 3], [2, 4], [0, 5], [7, 6]])
    for rows in (X, sp.csr_matrix(X)):
        fitted = SPECWrapper(2, tile=2).fit(rows, Y)
        assert np.isinf(fitted.scores_[:, 0]).tolist() == [True, False, False]


def test_missing_values_are_refused_or_imputed(data):
    X, Y = data
    X[3, 1] = np.nan
    with pytest.raises(MissingValuesError, match="feature 1 has 1 missing"):
        SPECWrapper().fit(X, Y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    imputed = SPECWrapper(impute="mean").fit(X, Y)
    np.testing.assert_array_equal(imputed.scores_, SPECWrapper().fit(filled, Y).scores_)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"order": 0}, "order = 0: expected one of 'auto', 1, 2"),
        ({"phi": 3}, "phi = 3: expected one of 1, 2"),
        ({"impute": "mode"}, "impute = 'mode'"),
        ({"n_features_to_select": 9}, "X has 7 features"),
    ],
)
def test_impossible_parameters_are_refused(parameters, match, data):
    with pytest.raises(InputError, match=match):
        SPECWrapper(**parameters).fit(*data)


def test_order_2_needs_two_labels(data):
    with pytest.raises(InputError, match="at least two labels, Y has 1"):
        SPECWrapper(2).fit(data[0], data[1][:, :1])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_bits_do_not_depend_on_workers(order, sparse, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.random((130, 40)) * (rng.random((130, 40)) < 0.3)
    Y = (rng.random((130, 5)) < 0.3).astype(np.uint8)
    rows = sp.csr_matrix(X) if sparse else X

    def scores():
        return SPECWrapper(order, tile=32).fit(rows, Y).scores_.tobytes()

    expected = scores()
    for executor in (InProcess(1), Shuffled(2)):
        monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda e=executor: e)
        assert scores() == expected
    # Column by column: the bits of a column are its own.
    monkeypatch.setattr(problem_scatter, "SUMS_BYTES", 1)
    assert scores() == expected
