"""DML-kNN, BRkNN and IBLR against plain loops; what classifiers by neighbours have in common."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask import open_dataset
from mlfs_dask.classifiers.brknn import BRkNN
from mlfs_dask.classifiers.dmlknn import DMLkNN
from mlfs_dask.classifiers.iblr import IBLR
from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.errors import DegenerateInputWarning, InputError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference import brknn, dmlknn, iblr
from reference.executors import Shuffled

CLASSIFIERS = [
    MLkNN(),
    DMLkNN(delta=4),
    BRkNN(extension="a"),
    BRkNN(extension="b", ties="all"),
    IBLR(),
    IBLR(plus=True),
    IBLR(plus=True, nominal="codes"),
]
every_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)


@st.composite
def problems(draw):
    """Rows with ties, duplicates, missing values, constants, rows without labels; some queries."""
    n, d, q = draw(st.integers(2, 16)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
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
    order = rng.permutation(d)[: draw(st.integers(1, d))]
    return X[:n], Y, X[n:], nominal, order


def plain(case, options, **more):
    """What the twins ask for."""
    X, Y, queries, nominal, order = case
    rows = X.tolist(), Y.tolist(), queries.tolist()
    return rows, {**options, **more, "nominal": nominal.tolist(), "order": order.tolist()}


def answered(classifier, case, sparse, tile):
    """Scores and labels along the order of a case."""
    X, Y, queries, nominal, order = case
    wrap = sp.csr_matrix if sparse else np.asarray
    kind = nominal.astype(int)
    train = as_source(wrap(X), Y, feature_kind=kind, tile=tile)
    test = as_source(wrap(queries), feature_kind=kind, tile=tile)
    (outcome,) = classifier.outcomes(train, test, order, [len(order)])
    assert (outcome.proba.dtype, outcome.labels.dtype) == (np.float64, np.uint8)
    return outcome.proba, outcome.labels


roads = {
    "case": problems(),
    "k": st.integers(1, 6),
    "normalize": st.sampled_from(["minmax", "none"]),
    "sparse": st.booleans(),
    "tile": st.sampled_from([3, 100]),
}
few_rows = pytest.mark.filterwarnings("ignore::mlfs_dask.errors.DegenerateInputWarning")


@few_rows
@settings(max_examples=60)
@given(delta=st.integers(0, 6), s=st.sampled_from([0.0, 0.5, 1.0]), **roads)
def test_dmlknn_is_that_of_plain_loops(case, k, normalize, sparse, tile, delta, s):
    ours = DMLkNN(k, s, delta, normalize)
    proba, labels = answered(ours, case, sparse, tile)
    rows, options = plain(case, {"k": k, "normalize": normalize}, s=s, delta=delta)
    np.testing.assert_allclose(proba, dmlknn.scores(*rows, **options), rtol=1e-13)
    np.testing.assert_array_equal(labels, proba >= 0.5)


@few_rows
@settings(max_examples=100)
@given(ties=st.sampled_from(["all", "first"]), extension=st.sampled_from("nab"), **roads)
def test_brknn_is_that_of_plain_loops(case, k, normalize, sparse, tile, ties, extension):
    extension = "none" if extension == "n" else extension
    ours = BRkNN(k, extension, ties, normalize)
    proba, labels = answered(ours, case, sparse, tile)
    rows, options = plain(case, {"k": k, "normalize": normalize}, ties=ties)
    expected, means = brknn.confidences(*rows, **options)
    np.testing.assert_array_equal(proba, np.array(expected).astype(np.float64))
    np.testing.assert_array_equal(labels, brknn.decisions(expected, means, extension))


@few_rows
@settings(max_examples=50)
@given(
    plus=st.booleans(),
    nominal=st.sampled_from(["onehot", "codes"]),
    **{**roads, "sparse": st.just(False)},
)
def test_iblr_is_that_of_plain_loops(case, k, normalize, sparse, tile, plus, nominal):
    ours = IBLR(k, plus, nominal, normalize)
    proba, labels = answered(ours, case, sparse, tile)
    same, _ = answered(ours, (case[0], *case[1:]), True, tile)
    np.testing.assert_array_equal(same, proba)
    rows, options = plain(
        case, {"k": k, "normalize": normalize}, plus=plus, coded=nominal == "codes"
    )
    np.testing.assert_allclose(proba, iblr.probabilities(*rows, **options), atol=1e-6)
    np.testing.assert_array_equal(labels, proba >= 0.5)


@few_rows
@every_classifier
@settings(max_examples=15)
@given(case=problems(), k=st.integers(1, 4), tile=st.sampled_from([2, 5, 100]))
def test_each_point_of_a_curve_is_a_fit_to_its_features(classifier, case, k, tile):
    """Equal bits, whatever the tiles."""
    X, Y, queries, nominal, order = case
    ours = type(classifier)(**{**classifier.get_params(), "n_neighbors": k})
    kind = nominal.astype(int)
    train = as_source(X, Y, feature_kind=kind, tile=tile)
    test = as_source(queries, feature_kind=kind, tile=tile)
    counts = [len(order), 1, max(1, len(order) // 2), 1]
    outcomes = list(ours.outcomes(train, test, order, counts))
    assert [outcome.n_features for outcome in outcomes] == counts
    for outcome in outcomes:
        chosen = order[: outcome.n_features]
        alone = as_source(X[:, chosen], Y, feature_kind=kind[chosen], tile=tile)
        fitted = ours.fit(alone)
        np.testing.assert_array_equal(outcome.proba, fitted.predict_proba(queries[:, chosen]))
        np.testing.assert_array_equal(outcome.labels, fitted.predict(queries[:, chosen]))
    points = ours.curve(train, test, order, counts)
    for (count, proba), outcome in zip(points, outcomes, strict=True):
        assert count == outcome.n_features
        np.testing.assert_array_equal(proba, outcome.proba)


@pytest.fixture
def planted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0, X[:, 2] > 1, rng.random(200) > 0.5])
    return X[:150], Y[:150].astype(np.uint8), X[150:], Y[150:].astype(np.uint8)


@every_classifier
def test_planted_labels_are_found(classifier, planted):
    X, Y, queries, truth = planted
    agreement = (classifier.fit(X, Y).predict(queries) == truth).mean(axis=0)
    assert agreement[:2].min() > 0.8
    assert agreement[3] < 0.8


@every_classifier
def test_all_kinds_of_input_give_the_same_bits(classifier, planted, tmp_path):
    X, Y, queries, _ = planted
    expected = classifier.fit(as_source(X, Y, tile=32)).predict_proba(queries)
    path = ingest(ArrayTable(X, Y), tmp_path / "planted.zarr", tile=32, name="planted").path
    source = as_source(open_dataset(path))
    for rows, asked in (
        (as_source(sp.csr_matrix(X), Y, tile=32), sp.csc_matrix(queries)),
        (
            as_source(da.from_array(X, chunks=(40, 3)), Y, tile=32),
            da.from_array(queries, chunks=(7, 6)),
        ),
        (source, as_source(queries, tile=9)),
        (open_dataset(path), queries.tolist()),
    ):
        np.testing.assert_array_equal(classifier.fit(rows).predict_proba(asked), expected)


@every_classifier
@pytest.mark.parametrize("kind", ["binary", "sparse", "numeric"])
def test_bits_do_not_depend_on_workers_groups_or_memory(classifier, kind, monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.random((150, 300)) if kind == "numeric" else (rng.random((150, 300)) < 0.03) * 1.0
    X = X * (1 + rng.random(300)) if kind == "sparse" else X
    X[7] = 1.0  # so far away that bytes don't hold the distance
    Y = (rng.random((150, 4)) < 0.4).astype(np.uint8)
    wrap = np.asarray if kind == "numeric" else sp.csr_matrix
    order, counts = rng.permutation(300), [300, 3, 20]

    def parts():
        train = as_source(wrap(X), Y, tile=64)
        test = as_source(wrap(X[::3]), tile=64)
        outcomes = classifier.outcomes(train, test, order, counts)
        return [(each.proba.tobytes(), each.labels.tobytes()) for each in outcomes]

    expected = parts()
    for setting in ("neighbors.PREPARED_BYTES", "tied_counts.TASK_BYTES", "logistic.KEPT_BYTES"):
        monkeypatch.setattr(f"mlfs_dask.graphs.{setting}", 0)
    assert parts() == expected
    for module in ("classifiers.neighbors", "graphs.neighbors"):
        monkeypatch.setattr(f"mlfs_dask.{module}.get_executor", lambda: Shuffled(1))
    assert parts() == expected


@every_classifier
def test_each_label_may_have_features_of_its_own(classifier, planted):
    X, Y, queries, _ = planted
    orders = [np.array([0, 5]), np.array([1, 0]), np.array([2]), np.array([4, 3, 1])]
    fitted = classifier.fit(X, Y, feature_subsets=orders)
    assert [subset.tolist() for subset in fitted.feature_subsets_] == [o.tolist() for o in orders]
    proba, labels = fitted.predict_proba(queries), fitted.predict(queries)
    tied = fitted.tied_rows(queries)
    points = classifier.problem_outcomes(
        as_source(X, Y), as_source(queries), {(i,): order for i, order in enumerate(orders)}, [3, 1]
    )
    whole, first = points
    np.testing.assert_array_equal(whole.proba, proba)
    np.testing.assert_array_equal(whole.labels, labels)
    assert whole.notes
    assert not first.notes
    for label, order in enumerate(orders):
        alone = classifier.fit(X[:, order], Y)
        asked = queries[:, order]
        np.testing.assert_array_equal(proba[:, label], alone.predict_proba(asked)[:, label])
        np.testing.assert_array_equal(labels[:, label], alone.predict(asked)[:, label])
        assert np.all(tied >= alone.tied_rows(asked))
    with pytest.raises(InputError, match="given are 2; expected one list for each of 4 labels"):
        classifier.fit(X, Y, feature_subsets=orders[:2])


@every_classifier
def test_scaling_follows_the_conventions(classifier, planted):
    X, Y, queries, _ = planted
    X, queries = X * [1, 10, 100, 1, 1, 1], queries * [1, 10, 100, 1, 1, 1]

    def proba(**options):
        made = type(classifier)(**{**classifier.get_params(), **options})
        return made.fit(X, Y).predict_proba(queries)

    scaled, raw = proba(normalize="minmax"), proba(normalize="none")
    assert np.any(scaled != raw)
    for options, expected in (
        ({}, scaled),
        ({"conventions": "mulan"}, scaled),
        ({"conventions": "sklearn"}, scaled),
        ({"conventions": "zhang"}, raw),
        ({"conventions": "zhang", "normalize": "minmax"}, scaled),
    ):
        np.testing.assert_array_equal(proba(**options), expected)


@every_classifier
def test_what_was_learned_stays_until_the_next_fit(classifier, planted):
    X, Y, queries, _ = planted
    fitted = type(classifier)(**classifier.get_params()).fit(X, Y)
    expected = fitted.predict_proba(queries)
    later = {"n_neighbors": 3, "normalize": "none", "conventions": "zhang", "smoothing": 9.0}
    later |= {"delta": 0, "ties": "first", "plus": False}
    known = fitted.get_params()
    fitted.set_params(**{name: value for name, value in later.items() if name in known})
    np.testing.assert_array_equal(fitted.predict_proba(queries), expected)


@every_classifier
def test_imputation_uses_training_rows_only(classifier, planted):
    X, Y, queries, _ = planted
    X, queries = X.copy(), queries.copy()
    X[:30, 0] = np.nan
    queries[:5, 1] = np.nan
    means = np.nanmean(X, axis=0)
    filled, asked = (np.where(np.isnan(rows), means, rows) for rows in (X, queries))
    expected = classifier.fit(filled, Y).predict_proba(asked)
    imputing = type(classifier)(**{**classifier.get_params(), "impute": "mean"})
    found = imputing.fit(X, Y).predict_proba(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.any(classifier.fit(X, Y).predict_proba(queries) != expected)


@every_classifier
def test_nothing_of_the_test_rows_enters(classifier, planted):
    """Far-off test rows change neither scaling nor each other's neighbours."""
    X, Y, queries, _ = planted
    fitted = classifier.fit(X, Y)
    alone = fitted.predict_proba(queries)
    beside = fitted.predict_proba(np.vstack([queries, np.full((1, 6), 1e6)]))
    np.testing.assert_array_equal(beside[:-1], alone)


@every_classifier
def test_more_neighbors_than_rows_are_cut_with_a_warning(classifier, planted):
    X, Y, queries, _ = planted
    options = classifier.get_params()
    many, five = (type(classifier)(**{**options, "n_neighbors": k}) for k in (9, 5))
    with pytest.warns(DegenerateInputWarning, match="n_neighbors = 9 with 6 training rows"):
        many.fit(X[:6], Y[:6])
    assert many.n_neighbors_ == 5
    expected = five.fit(X[:6], Y[:6]).predict_proba(queries)
    np.testing.assert_array_equal(many.predict_proba(queries), expected)
    with pytest.warns(DegenerateInputWarning, match="0 neighbours are used"):
        single = five.fit(X[:1], Y[:1])
    assert np.all(np.isfinite(single.predict_proba(queries)))


@every_classifier
def test_a_threshold_moves_the_decision(classifier, planted):
    X, Y, queries, _ = planted
    low = type(classifier)(**{**classifier.get_params(), "threshold": 0.2}).fit(X, Y)
    if getattr(classifier, "extension", "none") == "b":
        np.testing.assert_array_equal(low.predict(queries), classifier.fit(X, Y).predict(queries))
        return
    predicted, proba = low.predict(queries), low.predict_proba(queries)
    np.testing.assert_array_equal(predicted, low.decide(proba))
    assert np.all(predicted >= (proba >= 0.2))
    assert predicted.sum() > classifier.fit(X, Y).predict(queries).sum()


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (DMLkNN(n_neighbors=0), "n_neighbors = 0: expected a whole number of at least 1"),
        (DMLkNN(smoothing=-1), "smoothing = -1: expected a number from 0 to"),
        (DMLkNN(delta=-1), "delta = -1: expected a whole number of at least 0"),
        (DMLkNN(delta=1.5), "delta = 1.5"),
        (BRkNN(extension="c"), "extension = 'c': expected one of 'none', 'a', 'b'"),
        (BRkNN(ties="some"), "ties = 'some': expected one of None, 'all', 'first'"),
        (BRkNN(threshold=2), "threshold = 2"),
        (IBLR(plus="yes"), "plus = 'yes': expected one of False, True"),
        (IBLR(nominal="hash"), "nominal = 'hash': expected one of 'onehot', 'codes'"),
        (IBLR(normalize="z"), "normalize = 'z'"),
        (IBLR(conventions="weka"), "conventions = 'weka'"),
        (IBLR(impute="median"), "impute = 'median'"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(classifier, message, planted):
    X, Y, queries, _ = planted
    with pytest.raises(InputError, match=message):
        classifier.fit(X, Y)
    with pytest.raises(InputError, match=message):
        list(classifier.curve(as_source(X, Y), as_source(queries), np.arange(6), [6]))


@every_classifier
def test_a_curve_needs_labels(classifier, planted):
    X, _, queries, _ = planted
    with pytest.raises(InputError, match="requires y"):
        list(classifier.curve(as_source(X), as_source(queries), np.arange(6), [6]))


@pytest.mark.cluster
def test_curves_on_a_cluster_have_the_same_bits(planted):
    from distributed import Client, LocalCluster

    X, Y, queries, _ = planted
    X, queries = X.round(), queries.round()
    order = np.random.default_rng(5).permutation(6)

    def points():
        train, test = as_source(X, Y, tile=32), as_source(queries, tile=16)
        return [
            outcome.proba.tobytes()
            for classifier in CLASSIFIERS
            for outcome in classifier.outcomes(train, test, order, [1, 3, 6])
        ]

    expected = points()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        assert points() == expected
