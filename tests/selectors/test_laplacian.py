import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.selectors.laplacian import LaplacianScore
from mlfs_dask.selectors.spec import SPEC
from reference.laplacian import label_weights, laplacian_scores, neighbor_weights
from reference.tables import tables_with_categories

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


def kinds(X, nominal):
    return np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)


def check(fitted, expected, X, rtol=1e-9):
    np.testing.assert_allclose(fitted.scores_, expected, rtol=rtol, atol=1e-25)
    keys = [float(f"{s:.8e}") for s in fitted.scores_]
    constant = X.min(axis=0) == X.max(axis=0)
    twin = sorted(range(len(keys)), key=lambda r: (constant[r], keys[r], r))
    assert fitted.order_.tolist() == twin


@FORMS
@given(
    table=tables_with_categories(),
    k=st.integers(1, 6),
    t=st.sampled_from([0.3, 1.0, 20.0]),
    normalize=st.sampled_from(["minmax", "none"]),
)
def test_scores_on_neighbours_equal_the_plain_twin(form, table, k, t, normalize):
    X, _, nominal = table
    # Far values leave distances without the digits that the twin's own rounding has.
    X = np.where(np.abs(X) > 1e5, X - 1e6, X)
    fitted = LaplacianScore(n_neighbors=k, t=t, normalize=normalize, tile=5)
    fitted.fit(form(X), feature_kind=kinds(X, nominal))
    W = neighbor_weights(X, k, t, normalize=normalize, nominal=nominal)
    check(fitted, laplacian_scores(X, W, nominal), X)
    assert fitted.n_edges_ == np.count_nonzero(np.triu(W))


@FORMS
@given(table=tables_with_categories())
def test_supervised_scores_equal_the_plain_twin(form, table):
    X, Y, nominal = table
    fitted = LaplacianScore("supervised", tile=5).fit(form(X), Y, feature_kind=kinds(X, nominal))
    check(fitted, laplacian_scores(X, label_weights(Y), nominal), X)


def test_supervised_scores_are_twice_phi2_of_equal_label_sets():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(60, 5)), rng.integers(0, 2, (60, 2))
    ours = LaplacianScore("supervised").fit(X, Y).scores_
    np.testing.assert_allclose(ours, 2 * SPEC("class", phi=2).fit(X, Y).scores_, rtol=1e-12)


def matrix_form(X, W):
    """The textbook's f'Lf / f'Df of the centred column, as skfeature computes it."""
    D = W.sum(axis=1)
    centred = X - (D @ X) / D.sum()
    return 1.0 - np.einsum("ij,ij->j", centred, W @ centred) / (D @ centred**2)


def graph_of(X, k, t):
    square = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    near = np.argsort(square, axis=1, kind="stable")[:, :k]
    W = np.zeros(square.shape)
    np.put_along_axis(W, near, np.exp(-np.take_along_axis(square, near, axis=1) / t), axis=1)
    return np.maximum(W, W.T)


def test_twice_the_matrix_form_on_continuous_data():
    X = np.random.default_rng(2).random((200, 9))
    ours = LaplacianScore(normalize="none", tile=32).fit(X).scores_
    np.testing.assert_allclose(ours, 2 * matrix_form(X, graph_of(X, 5, 1.0)), rtol=1e-10)


@pytest.mark.filterwarnings("ignore")
def test_twice_the_score_of_skfeature(monkeypatch):
    module = pytest.importorskip(
        "skfeature.function.similarity_based.lap_score",
        reason="skfeature comes with `make bench`",
    )
    sorted_scores = []

    class Recording:
        """It hands out ranks only; its scores are what it sorts."""

        def __getattr__(self, name):
            return getattr(np, name)

        def argsort(self, values, axis):
            sorted_scores.append(np.ravel(values))
            return np.argsort(values, axis)

    monkeypatch.setattr(module, "np", Recording())
    X = np.random.default_rng(3).random((150, 8))
    order = module.lap_score(X, W=sp.csc_matrix(graph_of(X, 5, 1.0)), mode="index")
    ours = LaplacianScore(normalize="none").fit(X)
    np.testing.assert_allclose(ours.scores_, 2 * sorted_scores[0], rtol=1e-8)
    assert ours.order_.tolist() == np.ravel(order).tolist()


def test_rows_far_from_everything_do_not_make_all_weights_vanish():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (30, 4000)).astype(np.uint8)
    fitted = LaplacianScore(t=1e-3).fit(X)
    assert np.isfinite(fitted.scores_).any()


@FORMS
def test_features_that_vary_on_isolated_rows_only_have_no_variance(form):
    rng = np.random.default_rng(5)
    X = np.zeros((12, 3))
    X[:, 0] = rng.random(12)
    X[0] = [9000.0, 4.0, 0.3]  # its edges weigh exp(-8e7) = 0
    X[1:, 1], X[1:, 2] = 0.1, rng.random(11)
    fitted = LaplacianScore(n_neighbors=2, normalize="none", tile=4).fit(form(X))
    assert np.isinf(fitted.scores_).tolist() == [False, True, False]


def test_the_median_bandwidth_is_the_median_squared_distance():
    X = np.array([[0.0], [1.0]])
    fitted = LaplacianScore(t="median", normalize="none").fit(np.repeat(X * 3, 10, axis=0))
    assert fitted.t_ == pytest.approx(9.0)
    again = LaplacianScore(t=fitted.t_, normalize="none").fit(np.repeat(X * 3, 10, axis=0))
    assert again.scores_.tolist() == fitted.scores_.tolist()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_rows_than_neighbours(n):
    X = np.random.default_rng(6).random((n, 3))
    fitted = LaplacianScore(t="median").fit(X)
    assert fitted.n_edges_ == n * (n - 1) // 2
    assert np.isfinite(fitted.scores_).tolist() == [n > 1] * 3


def test_missing_values_are_refused_or_imputed():
    X = np.array([[0.0, np.nan], [2.0, 4.0], [1.0, 1.0], [5.0, 1.0]])
    with pytest.raises(MissingValuesError, match=r"feature 1 has 1 missing"):
        LaplacianScore().fit(X)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    expected = LaplacianScore(n_neighbors=1).fit(filled).scores_
    found = LaplacianScore(n_neighbors=1, impute="mean").fit(X).scores_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"weights": "binary"}, "weights = 'binary'"),
        ({"n_neighbors": 0}, "n_neighbors = 0"),
        ({"t": 0.0}, "t = 0.0"),
        ({"t": "mean"}, "t = 'mean'"),
        ({"t": True}, "t = True"),
        ({"random_state": -1}, "random_state = -1"),
        ({"random_state": "a"}, "random_state = 'a'"),
        ({"normalize": "zscore"}, "normalize = 'zscore'"),
        ({"weights": "supervised"}, "requires y to be passed"),
    ],
)
def test_impossible_parameters_are_refused(parameters, match):
    with pytest.raises(InputError, match=match):
        LaplacianScore(**parameters).fit(np.array([[0.0, 1.0], [2.0, 5.0]]))


@pytest.mark.parametrize(
    ("X", "parameters"),
    [
        ([[1, 0, 0], [1, 0, 0], [1, 0, 1], [0, 7, 0]], {"n_neighbors": 2, "normalize": "none"}),
        ("copies", {}),
    ],
)
def test_rows_of_tiny_degree_count_on_sparse_input_too(X, parameters):
    """Copies of one row have degrees many powers of ten above those of rows far from all."""
    if isinstance(X, str):
        X = (np.random.default_rng(1).random((20, 150)) < 0.25) * 1.0
        X[:8] = X[0]
    X = np.asarray(X, dtype=np.float64)
    dense = LaplacianScore(**parameters).fit(X)
    for tile in (3, 4096):
        sparse = LaplacianScore(tile=tile, **parameters).fit(sp.csr_matrix(X))
        np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-10)
        np.testing.assert_array_equal(sparse.order_, dense.order_)


@FORMS
@pytest.mark.parametrize("far", [6.0, 10.0, 18.0])
def test_what_varies_on_rows_of_tiny_degree_only_keeps_its_score(form, far):
    """Seven copies of a row, and two far pairs whose edges weigh 1e-16 to 1e-141 beside theirs."""
    X = np.zeros((11, 2))
    X[:, 0], X[:, 1] = 0.1, 0.3
    X[7], X[8], X[9], X[10] = [0.1, 40], [0.1, 40 + far], [60, 80], [60, 80 + far]
    fitted = LaplacianScore(n_neighbors=1, normalize="none", tile=4).fit(form(X))
    # The first feature is equal on both ends of every edge; of the second, with u = 0.3 but for
    # next to nothing, both pairs count alike.
    square = [sum((value - 0.3) ** 2 for value in (low, low + far)) for low in (40.0, 80.0)]
    expected = [0.0, 2.0 * 2.0 * far**2 / sum(square)]
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-9)


def test_a_bandwidth_next_to_nothing_leaves_the_shortest_edge():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    for t in (5e-324, 1e-300):
        fitted = LaplacianScore(n_neighbors=1, t=t).fit(X)
        assert fitted.scores_.tolist() == [4.0]
