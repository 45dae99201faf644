"""ML-kNN against plain loops; curves, degenerate data, every kind of input."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.errors import DegenerateInputWarning, InputError
from mlfs_dask.graphs.source import as_source
from reference.mlknn import probabilities


@st.composite
def problems(draw):
    """Rows with ties, duplicates, missing values, constants, rows without labels; some queries."""
    n = draw(st.integers(2, 16))
    d = draw(st.integers(1, 6))
    q = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = draw(st.sampled_from([2, 4, 1000]))
    X = rng.integers(0, values, (n + 5, d)).astype(np.float64)
    X[rng.integers(0, n, 2)] = X[0]
    nominal = (rng.random(d) < 0.3) & (values < 1000)
    if draw(st.booleans()):
        X[:n, 0] = 1.0
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))).astype(np.uint8)
    Y[rng.random(n) < 0.2] = 0
    options = {
        "n_neighbors": draw(st.integers(1, 6)),
        "smoothing": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "normalize": draw(st.sampled_from(["minmax", "none"])),
    }
    return X[:n], Y, X[n:], nominal, options


def twin(X, Y, queries, nominal, options, order=None):
    return np.array(
        probabilities(
            X.tolist(),
            Y.tolist(),
            queries.tolist(),
            k=options["n_neighbors"],
            s=options["smoothing"],
            normalize=options["normalize"],
            nominal=nominal,
            order=order,
        )
    )


@pytest.mark.filterwarnings("ignore::mlfs_dask.errors.DegenerateInputWarning")
@settings(max_examples=60)
@given(problems(), st.booleans())
def test_probabilities_are_those_of_plain_loops(case, sparse) -> None:
    X, Y, queries, nominal, options = case
    wrap = sp.csr_matrix if sparse else np.asarray
    fitted = MLkNN(**options).fit(wrap(X), Y, feature_kind=nominal.astype(int))
    proba = fitted.predict_proba(wrap(queries))
    expected = twin(X, Y, queries, nominal, options)
    assert proba.dtype == np.float64
    np.testing.assert_allclose(proba, expected, rtol=1e-13, atol=0)
    labels = fitted.predict(wrap(queries))
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, proba >= 0.5)


@pytest.mark.filterwarnings("ignore::mlfs_dask.errors.DegenerateInputWarning")
@settings(max_examples=40)
@given(problems(), st.sampled_from([2, 5, 100]))
def test_each_point_of_a_curve_is_a_fit_to_its_features(case, tile) -> None:
    """Equal bits, whatever the tiles; the twin sums in ranking order too."""
    X, Y, queries, nominal, options = case
    d = X.shape[1]
    order = np.random.default_rng(d).permutation(d)
    kind = nominal.astype(int)
    train = as_source(X, Y, feature_kind=kind, tile=tile)
    test = as_source(queries, feature_kind=kind, tile=tile)
    counts = [d, 1, max(1, d // 2), 1]
    points = list(MLkNN(**options).curve(train, test, order, counts))
    assert [count for count, _ in points] == counts
    for count, proba in points:
        chosen = order[:count]
        fitted = MLkNN(**options).fit(X[:, chosen], Y, feature_kind=kind[chosen])
        np.testing.assert_array_equal(proba, fitted.predict_proba(queries[:, chosen]))
        expected = twin(X, Y, queries, nominal, options, order=chosen)
        np.testing.assert_allclose(proba, expected, rtol=1e-13, atol=0)


@pytest.fixture
def planted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0, X[:, 2] > 1, rng.random(200) > 0.5])
    return X[:150], Y[:150].astype(np.uint8), X[150:], Y[150:].astype(np.uint8)


def test_planted_labels_are_found(planted) -> None:
    X, Y, queries, truth = planted
    predicted = MLkNN().fit(X, Y).predict(queries)
    agreement = (predicted == truth).mean(axis=0)
    assert agreement[0] > 0.85
    assert agreement[1] > 0.85
    assert agreement[3] < 0.8


def test_what_a_fit_leaves_behind(planted) -> None:
    X, Y, *_ = planted
    fitted = MLkNN(n_neighbors=7, smoothing=2.0).fit(X, Y)
    assert fitted.tables_.shape == (2, 8, 4)
    assert fitted.tables_.sum(axis=(0, 1)).tolist() == [150] * 4
    np.testing.assert_array_equal(fitted.tables_[1].sum(axis=0), Y.sum(axis=0))
    np.testing.assert_array_equal(fitted.prior_, (2.0 + Y.sum(axis=0)) / (4.0 + 150))
    assert fitted.posterior_.shape == (8, 4)
    assert (fitted.n_neighbors_, fitted.normalize_, fitted.road_) == (7, "minmax", "dense")
    assert fitted.tied_share_ == 0.0


def test_ties_at_the_last_neighbor_are_counted() -> None:
    """Rows 0, 1, 2 stand at 0, 1, 2: the middle one's nearest is a tie."""
    fitted = MLkNN(n_neighbors=1).fit([[0.0], [1.0], [2.0]], [[1], [0], [1]])
    assert fitted.tied_share_ == pytest.approx(1 / 3)
    with pytest.warns(DegenerateInputWarning):
        assert np.isnan(MLkNN(n_neighbors=2).fit([[0.0], [1.0]], [[1], [0]]).tied_share_)


def test_zero_one_data_take_popcounts() -> None:
    rng = np.random.default_rng(4)
    X, Y = rng.integers(0, 2, (50, 9)), rng.integers(0, 2, (50, 2))
    packed = MLkNN(3).fit(X, Y)
    dense = MLkNN(3).fit(np.column_stack([X * 1.0, np.zeros(50)]) * 2.0, Y)
    assert (packed.road_, dense.road_) == ("popcount", "dense")
    np.testing.assert_array_equal(packed.tables_, dense.tables_)


def test_all_kinds_of_input_give_the_same_bits(planted) -> None:
    X, Y, queries, _ = planted
    expected = MLkNN().fit(X, Y).predict_proba(queries)
    lazy = da.from_array(X, chunks=(40, 3)), da.from_array(queries, chunks=(7, 6))
    for rows, asked in (
        (X.tolist(), queries.tolist()),
        (sp.csr_matrix(X), sp.csc_matrix(queries)),
        lazy,
        (as_source(X, tile=32), as_source(queries, tile=9)),
    ):
        np.testing.assert_array_equal(MLkNN().fit(rows, Y).predict_proba(asked), expected)
    labelled = as_source(X, Y)
    np.testing.assert_array_equal(MLkNN().fit(labelled).predict_proba(queries), expected)


def test_a_single_label(planted) -> None:
    X, Y, queries, _ = planted
    several = MLkNN().fit(X, Y).predict_proba(queries)
    for labels in (Y[:, 1], Y[:, 1:2]):
        single = MLkNN().fit(X, labels).predict_proba(queries)
        np.testing.assert_array_equal(single, several[:, 1:2])


def test_more_neighbors_than_rows_are_cut_with_a_warning(planted) -> None:
    X, Y, queries, _ = planted
    with pytest.warns(DegenerateInputWarning, match="n_neighbors = 9 with 6 training rows"):
        fitted = MLkNN(9).fit(X[:6], Y[:6])
    assert fitted.n_neighbors_ == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        five = MLkNN(5).fit(X[:6], Y[:6])
    np.testing.assert_array_equal(fitted.predict_proba(queries), five.predict_proba(queries))
    train, test = as_source(X[:6], Y[:6]), as_source(queries)
    with pytest.warns(DegenerateInputWarning, match="5 neighbours are used"):
        ((_, proba),) = MLkNN(9).curve(train, test, np.arange(6), [6])
    np.testing.assert_array_equal(proba, five.predict_proba(queries))


def test_one_training_row_gives_the_prior() -> None:
    with pytest.warns(DegenerateInputWarning):
        fitted = MLkNN().fit([[1.0, 2.0]], [[1, 0]])
    np.testing.assert_allclose(fitted.predict_proba([[0.0, 0.0]]), [[2 / 3, 1 / 3]])


def test_conventions_of_zhang_scale_nothing_unless_told(planted) -> None:
    X, Y, queries, _ = planted
    X, queries = X * [1, 10, 100, 1, 1, 1], queries * [1, 10, 100, 1, 1, 1]
    scaled, raw = (
        MLkNN(normalize=how).fit(X, Y).predict_proba(queries) for how in ("minmax", "none")
    )
    assert np.any(scaled != raw)
    for options, expected in (
        ({}, scaled),
        ({"conventions": "mulan"}, scaled),
        ({"conventions": "zhang"}, raw),
        ({"conventions": "zhang", "normalize": "minmax"}, scaled),
        ({"normalize": "none"}, raw),
    ):
        np.testing.assert_array_equal(MLkNN(**options).fit(X, Y).predict_proba(queries), expected)


def test_imputation_uses_training_rows_only(planted) -> None:
    X, Y, queries, _ = planted
    X, queries = X.copy(), queries.copy()
    X[:30, 0] = np.nan
    queries[:5, 1] = np.nan
    means = np.nanmean(X, axis=0)
    filled, asked = (np.where(np.isnan(rows), means, rows) for rows in (X, queries))
    fitted = MLkNN(impute="mean").fit(X, Y)
    expected = MLkNN().fit(filled, Y).predict_proba(asked)
    np.testing.assert_allclose(fitted.predict_proba(queries), expected, rtol=1e-12)
    ((_, proba),) = MLkNN(impute="mean").curve(
        as_source(X, Y), as_source(queries), np.arange(6), [6]
    )
    np.testing.assert_array_equal(proba, fitted.predict_proba(queries))
    assert np.any(MLkNN().fit(X, Y).predict_proba(queries) != expected)


def test_nothing_of_the_test_rows_enters(planted) -> None:
    """Far-off test rows change neither scaling nor each other's neighbours."""
    X, Y, queries, _ = planted
    fitted = MLkNN().fit(X, Y)
    alone = fitted.predict_proba(queries)
    beside = fitted.predict_proba(np.vstack([queries, np.full((1, 6), 1e6)]))
    np.testing.assert_array_equal(beside[:-1], alone)


def test_a_threshold_moves_the_decision(planted) -> None:
    X, Y, queries, _ = planted
    fitted = MLkNN(threshold=0.2).fit(X, Y)
    proba = fitted.predict_proba(queries)
    np.testing.assert_array_equal(fitted.predict(queries), proba >= 0.2)
    assert fitted.predict(queries).sum() > MLkNN().fit(X, Y).predict(queries).sum()


def test_one_half_is_relevant() -> None:
    """Both halves of the evidence are equal: the decision is 'present'."""
    fitted = MLkNN(n_neighbors=1).fit([[0.0], [1.0], [2.0], [3.0]], [[1], [0], [1], [0]])
    assert fitted.posterior_.ravel().tolist()[0] > 0.5 > fitted.posterior_.ravel().tolist()[1]
    proba = np.array([[0.5, np.nextafter(0.5, 0.0)]])
    assert MLkNN().decide(proba).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors = 0: expected a whole number"),
        ({"n_neighbors": 2.0}, "n_neighbors = 2.0"),
        ({"n_neighbors": True}, "n_neighbors = True"),
        ({"smoothing": -1}, "smoothing = -1: expected a number from 0 to"),
        ({"smoothing": float("nan")}, "smoothing = nan"),
        ({"normalize": "z"}, "normalize = 'z': expected one of None, 'minmax', 'none'"),
        ({"conventions": "weka"}, "conventions = 'weka'"),
        ({"impute": "median"}, "impute = 'median'"),
        ({"threshold": 1.5}, "threshold = 1.5"),
    ],
)
def test_bad_parameters_are_named(options, message, planted) -> None:
    X, Y, queries, _ = planted
    with pytest.raises(InputError, match=message):
        MLkNN(**options).fit(X, Y)
    with pytest.raises(InputError, match=message):
        list(MLkNN(**options).curve(as_source(X, Y), as_source(queries), np.arange(6), [6]))


def test_a_curve_needs_labels(planted) -> None:
    X, _, queries, _ = planted
    with pytest.raises(InputError, match="requires y"):
        list(MLkNN().curve(as_source(X), as_source(queries), np.arange(6), [6]))


@pytest.mark.cluster
def test_a_curve_on_a_cluster_has_the_same_bits(planted) -> None:
    from distributed import Client, LocalCluster

    X, Y, queries, _ = planted
    order = np.random.default_rng(5).permutation(6)

    def points():
        train, test = as_source(X, Y, tile=32), as_source(queries, tile=16)
        return [proba for _, proba in MLkNN().curve(train, test, order, [1, 3, 6])]

    expected = points()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        found = points()
        fitted = MLkNN().fit(X, Y)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(fitted.tables_, MLkNN().fit(X, Y).tables_)
