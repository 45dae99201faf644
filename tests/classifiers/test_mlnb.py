"""Multi-label naive Bayes: plain loops, roads, curves, edge cases."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import open_dataset
from mlfs_dask.classifiers.mlnb import MLNBClassifier
from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference import mlnb as plain
from reference.executors import Shuffled
from reference.tables import tables


def made(n=50, d=7, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2) * (rng.random((n, d)) < 0.6)
    Y = (X[:, :q] + rng.normal(scale=0.5, size=(n, q)) > 0.2).astype(np.uint8)
    return X, Y


@given(
    table=tables(max_rows=18),
    smoothing=st.sampled_from([0.0, 1.0, 0.5]),
    sparse=st.booleans(),
    tile=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_probabilities_are_those_of_plain_loops(table, smoothing, sparse, tile, seed):
    X, Y = table
    order = np.random.default_rng(seed).permutation(X.shape[1])
    queries = np.concatenate([X[:3], X[:2] + 0.5])
    wrap = sp.csr_matrix if sparse else np.asarray
    train = as_source(wrap(X), Y, tile=tile)
    test = as_source(wrap(queries), tile=tile)
    counts = [0, len(order)]
    curve = dict(MLNBClassifier(smoothing).curve(train, test, order, counts))
    for count in counts:
        rows = X.tolist(), Y.tolist(), queries.tolist()
        expected = plain.probabilities(*rows, order[:count].tolist(), smoothing)
        np.testing.assert_allclose(curve[count], expected, rtol=1e-6, atol=1e-12)


def test_by_hand():
    """Values -1, 1 with the label and 3, 5 without: sigma = sqrt(2), densities meet at 2."""
    fitted = MLNBClassifier(smoothing=0.0).fit([[-1.0], [1.0], [3.0], [5.0]], [[1], [1], [0], [0]])
    np.testing.assert_allclose(fitted.predict_proba([[2.0]]), [[0.5]], rtol=1e-15)
    # At 1 the squared distances to the means 0 and 4 are 1 and 9: exp(-(1 - 9) / 4) = e².
    np.testing.assert_allclose(fitted.predict_proba([[1.0]]), [[1 / (1 + np.exp(-2))]], rtol=1e-15)
    assert fitted.prior_.tolist() == [0.5]


@pytest.mark.parametrize("pca", [None, 0.4])
@pytest.mark.parametrize("form", ["sparse", "chunked", "store", "cut"])
def test_bits_are_the_same_on_all_roads(form, pca, tmp_path, monkeypatch):
    X, Y = made()
    train = as_source(X[:40], Y[:40], tile=16)
    expected = MLNBClassifier(pca=pca).fit(train).predict_proba(X[40:])
    rows = X
    if form == "sparse":
        rows = sp.csr_matrix(X)
    elif form == "chunked":
        rows = da.from_array(X, chunks=(11, 3))
    elif form == "store":
        rows = open_dataset(ingest(ArrayTable(X, Y), tmp_path / "made.zarr", tile=16).path)
    else:
        monkeypatch.setattr("mlfs_dask.graphs.densities._DENSE_BYTES", 200)
    monkeypatch.setattr("mlfs_dask.classifiers.mlnb.get_executor", lambda: Shuffled(1))
    whole = as_source(rows, None if form == "store" else Y, tile=16)
    fitted = MLNBClassifier(pca=pca).fit(whole.take(np.arange(40)))
    found = fitted.predict_proba(whole.take(np.arange(40, 50)))
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("pca", [None, 0.5])
def test_a_curve_is_made_of_separate_fits(pca):
    X, Y = made()
    train, test = as_source(X[:40], Y[:40]), as_source(X[40:])
    order, counts = np.array([3, 0, 5, 6, 1]), [5, 2, 2, 0]
    points = list(MLNBClassifier(pca=pca).curve(train, test, order, counts))
    assert [count for count, _ in points] == counts
    for count, proba in points[:-1]:
        part = order[:count]
        alone = MLNBClassifier(pca=pca).fit(X[:40][:, part], Y[:40])
        assert alone.predict_proba(X[40:][:, part]).tobytes() == proba.tobytes()
    prior = (1 + Y[:40].sum(axis=0)) / 42
    np.testing.assert_allclose(points[-1][1], np.tile(prior, (10, 1)), rtol=1e-14)


def test_features_of_each_label():
    X, Y = made()
    subsets = [np.array([4, 1]), np.array([0, 2, 3]), np.array([], dtype=int)]
    fitted = MLNBClassifier().fit(X[:40], Y[:40], feature_subsets=subsets)
    proba = fitted.predict_proba(X[40:])
    orders = {(label,): features for label, features in enumerate(subsets)}
    rows = as_source(X[:40], Y[:40]), as_source(X[40:])
    [outcome] = MLNBClassifier().problem_outcomes(*rows, orders, [7])
    assert outcome.proba.tobytes() == proba.tobytes()
    for label, features in enumerate(subsets[:2]):
        alone = MLNBClassifier().fit(X[:40][:, features], Y[:40, [label]])
        assert alone.predict_proba(X[40:][:, features])[:, 0].tolist() == proba[:, label].tolist()


def test_labels_of_one_value_stay_so():
    X, Y = made()
    Y[:, 0], Y[:, 1] = 0, 1
    predicted = MLNBClassifier().fit(X, Y).predict(np.concatenate([X, X + 100, X * 0]))
    assert not predicted[:, 0].any()
    assert predicted[:, 1].all()


def test_a_class_of_one_row_is_narrow():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    y = np.array([[0], [0], [0], [0], [1]])
    proba = MLNBClassifier().fit(X, y).predict_proba([[10.0], [10.5], [9.0]])[:, 0]
    assert proba[0] > 0.999  # its own place
    assert proba[2] < 0.5  # a thousandth of the standard deviation reaches no further


def test_constants_say_nothing():
    X, Y = made()
    more = np.column_stack([X, np.full(50, 3.25)])
    expected = MLNBClassifier().fit(X, Y).predict_proba(X)
    found = MLNBClassifier().fit(more, Y).predict_proba(np.column_stack([X, np.full(50, 9.0)]))
    np.testing.assert_array_equal(found, expected)


def test_what_has_no_density_is_refused():
    X, Y = made()
    X[:, 1] = np.arange(50) % 3
    kind = [0, 1, 0, 0, 0, 0, 0]
    with pytest.raises(InputError, match="feature 1 is nominal with more than two values"):
        MLNBClassifier().fit(X, Y, feature_kind=kind)
    rows = as_source(X, Y, feature_kind=kind)
    [(_, proba)] = MLNBClassifier().curve(rows, rows, np.array([0, 2]), [2])  # feature 1 not used
    assert np.isfinite(proba).all()
    X[3, 2] = np.nan
    with pytest.raises(MissingValuesError, match="MLNBClassifier has no rule for missing values"):
        MLNBClassifier().fit(X, Y)
    fitted = MLNBClassifier(impute="mean").fit(X, Y)
    filled = np.where(np.isnan(X), np.nanmean(X[:, 2]), X)
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.predict_proba(filled))
    with pytest.raises(InputError, match=r"infinity|not finite"):
        fitted.predict(np.where(np.isnan(X), np.inf, X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoothing": -1}, "smoothing = -1"),
        ({"pca": 2.0}, "pca = 2.0: expected a share"),
        ({"impute": "median"}, "impute = 'median'"),
        ({"threshold": 1.5}, "threshold = 1.5"),
    ],
)
def test_impossible_parameters(options, message):
    with pytest.raises(InputError, match=message):
        MLNBClassifier(**options).fit(*made())
