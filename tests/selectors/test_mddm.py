import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.selectors.mddm import MDDM
from reference.mddm import mddm_scores
from reference.tables import tables, tables_with_categories

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


@FORMS
@pytest.mark.parametrize("constraint", ["spc", "proj"])
@given(table=tables_with_categories(), mu=st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_scores_equal_the_eigenproblem(form, constraint, table, mu):
    X, Y, nominal = table
    kind = np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)
    fitted = MDDM(constraint, mu=mu, tile=5).fit(form(X), Y, feature_kind=kind)
    expected = mddm_scores(X, Y, constraint, mu=mu, nominal=nominal)
    size = max(float(expected.max()), 1e-30)
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-9, atol=1e-12 * size)
    constant = X.min(axis=0) == X.max(axis=0)
    assert (fitted.scores_[constant] == 0).all()
    assert sorted(fitted.order_[len(X[0]) - constant.sum() :]) == np.flatnonzero(constant).tolist()


@given(table=tables(min_features=2, max_features=5))
def test_the_ranking_of_proj_is_that_of_the_squared_covariances(table):
    X, Y = table
    span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
    scaled = (X - X[0]) / span
    covariances = (scaled - scaled.mean(axis=0)).T @ (Y - Y.mean(axis=0))
    fitted = MDDM("proj", tile=7).fit(X, Y)
    np.testing.assert_allclose(fitted.scores_, (covariances**2).sum(axis=1), rtol=1e-10, atol=1e-25)


@pytest.mark.parametrize("normalize", ["minmax", "none"])
@pytest.mark.parametrize("shape", [(40, 90, 12), (90, 40, 60), (50, 300, 1)])
def test_conjugate_gradients_reach_the_direct_solution(shape, normalize):
    n, d, q = shape
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d) + rng.normal(size=d)
    Y = (rng.random((n, q)) < 0.3).astype(np.uint8)
    Y[:, 0] |= X[:, 0] > 0
    Y[:, -1] = Y[:, 0]
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0) if normalize == "minmax" else X
    centred = scaled - scaled.mean(axis=0)
    B = 0.5 * centred.T @ centred + 0.5 * np.eye(d)
    expected = (np.linalg.solve(B, centred.T @ (Y - Y.mean(axis=0))) ** 2).sum(axis=1)
    for form in (np.asarray, sp.csr_matrix):
        fitted = MDDM(normalize=normalize, tile=16).fit(form(X), Y)
        np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-9)
        assert fitted.n_solver_steps_ > 0


def test_sparse_rows_score_as_dense_ones():
    rng = np.random.default_rng(8)
    X = rng.random((120, 400)) * (rng.random((120, 400)) < 0.06)
    X[:, 3] = 1e6 + rng.normal(size=120)
    X[:, 4] = 5.0
    X[:, 5] = -1.0 - rng.random(120)
    Y = (rng.random((120, 5)) < 0.3).astype(np.uint8)
    for constraint in ("spc", "proj"):
        dense = MDDM(constraint, tile=32).fit(X, Y)
        sparse = MDDM(constraint, tile=32).fit(sp.csr_matrix(X), Y)
        np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-10)
        assert sparse.order_.tolist() == dense.order_.tolist()
        constant = X.min(axis=0) == X.max(axis=0)
        assert dense.order_[-constant.sum() :].tolist() == np.flatnonzero(constant).tolist()


def test_eigorder_is_a_permutation_that_ignores_the_features():
    rng = np.random.default_rng(9)
    X, Y = rng.random((30, 7)), (rng.random((30, 3)) < 0.4).astype(np.uint8)
    for constraint in ("spc", "proj"):
        fitted = MDDM(constraint, ranking="eigorder").fit(X, Y)
        # A symmetric solver puts the three eigenvalues that aren't 0 last, the largest at the end.
        assert fitted.order_.tolist() == [6, 5, 4, 0, 1, 2, 3]
        shuffled = MDDM(constraint, ranking="eigorder").fit(X[:, ::-1], Y)
        assert shuffled.order_.tolist() == fitted.order_.tolist()
    centred = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    centred = centred - centred.mean(axis=0)
    G = centred.T @ (Y - Y.mean(axis=0))
    fitted = MDDM("proj", ranking="eigorder").fit(X, Y)
    np.testing.assert_allclose(fitted.scores_[4:], np.linalg.eigvalsh(G.T @ G), rtol=1e-10)


@pytest.mark.parametrize("constraint", ["spc", "proj"])
@pytest.mark.parametrize("ranking", ["score", "eigorder"])
def test_labels_without_information_leave_index_order(constraint, ranking):
    X = np.random.default_rng(0).random((6, 4))
    X[:, 1] = 2.0
    fitted = MDDM(constraint, ranking=ranking).fit(X, np.ones((6, 2)))
    assert fitted.scores_.tolist() == [0.0] * 4
    assert fitted.order_.tolist() == [0, 2, 3, 1]


def test_missing_values_are_refused_or_imputed():
    X = np.array([[0.0, np.nan], [2.0, 4.0], [1.0, 1.0], [5.0, 1.0]])
    Y = np.array([[1], [0], [1], [0]])
    with pytest.raises(MissingValuesError, match=r"feature 1 has 1 missing"):
        MDDM().fit(X, Y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    expected = MDDM().fit(filled, Y).scores_
    np.testing.assert_array_equal(MDDM(impute="mean").fit(X, Y).scores_, expected)


def test_values_too_large_to_be_squared_need_scaling():
    X, Y = np.array([[1e200, 1.0], [3e200, 2.0], [2e200, 0.0]]), [[1], [0], [1]]
    with pytest.raises(InputError, match="squares of feature 0 are too large"):
        MDDM(normalize="none").fit(X, Y)
    small = X / [1e200, 1.0]
    np.testing.assert_allclose(MDDM().fit(X, Y).scores_, MDDM().fit(small, Y).scores_, rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"constraint": "cca"}, "constraint = 'cca'"),
        ({"ranking": "eigen"}, "ranking = 'eigen'"),
        ({"mu": 1.0}, "mu = 1.0"),
        ({"mu": -0.1}, "mu = -0.1"),
        ({"mu": True}, "mu = True"),
        ({"normalize": "zscore"}, "normalize = 'zscore'"),
        ({"n_features_to_select": 3}, "X has 2 features"),
    ],
)
def test_impossible_parameters_are_refused(parameters, match):
    with pytest.raises(InputError, match=match):
        MDDM(**parameters).fit(np.array([[0.0, 1.0], [2.0, 5.0]]), [[1], [0]])
