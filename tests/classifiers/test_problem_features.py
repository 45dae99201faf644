"""Each label predicted from features of its own."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.classifiers.base import BaseClassifier
from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.errors import InputError
from mlfs_dask.graphs import subspaces
from mlfs_dask.graphs.source import as_source, load_block
from reference.executors import Shuffled
from reference.mlknn import probabilities


@st.composite
def problems(draw):
    """Rows with ties, missing values and constants; some queries; an order for each label."""
    n, d, q = draw(st.integers(2, 14)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = draw(st.sampled_from([2, 4, 1000]))
    X = rng.integers(0, values, (n + 4, d)).astype(np.float64)
    nominal = ((rng.random(d) < 0.3) & (values == 4)).astype(np.uint8)
    if draw(st.booleans()):
        X[:n, 0] = 1.0
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.0, 0.4, 1.0]))).astype(np.uint8)
    orders = [rng.permutation(d)[: draw(st.integers(0, d))] for _ in range(q)]
    return X[:n], Y, X[n:], nominal, orders


@pytest.mark.filterwarnings("ignore::mlfs_dask.errors.DegenerateInputWarning")
@settings(max_examples=50)
@given(
    case=problems(),
    k=st.integers(1, 5),
    normalize=st.sampled_from(["minmax", "none"]),
    sparse=st.booleans(),
    tile=st.sampled_from([3, 100]),
)
def test_each_label_is_predicted_from_its_own_features(case, k, normalize, sparse, tile):
    X, Y, queries, nominal, orders = case
    wrap = sp.csr_matrix if sparse else np.asarray
    train = as_source(wrap(X), Y, feature_kind=nominal, tile=tile)
    test = as_source(wrap(queries), feature_kind=nominal, tile=tile)
    options = {"n_neighbors": k, "normalize": normalize}
    fitted = MLkNN(**options).fit(train, feature_subsets=orders)
    proba = fitted.predict_proba(test)
    counts = [X.shape[1], 1, X.shape[1]]
    by_problem = {(label,): order for label, order in enumerate(orders)}
    points = list(MLkNN(**options).problem_outcomes(train, test, by_problem, counts))
    assert [point.n_features for point in points] == counts
    np.testing.assert_array_equal(points[0].proba, proba)
    np.testing.assert_array_equal(points[2].proba, proba)
    np.testing.assert_array_equal(points[0].labels, fitted.predict(test))
    twin = {"k": k, "normalize": normalize, "nominal": nominal}
    for label, order in enumerate(orders):
        own = [[row[label]] for row in Y.tolist()]
        for point in points[:2]:
            expected = probabilities(
                X.tolist(), own, queries.tolist(), order=order[: point.n_features], **twin
            )
            found = point.proba[:, [label]]
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        if len(order):
            alone = MLkNN(**options).fit(X[:, order], own, feature_kind=nominal[order])
            expected = alone.predict_proba(queries[:, order])
            np.testing.assert_array_equal(proba[:, [label]], expected)


@pytest.fixture
def planted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 9))
    Y = np.column_stack([X[:, 0] > 0, X[:, 3] > 0.3, X[:, 6] + X[:, 7] > 0]).astype(np.uint8)
    return as_source(X[:90], Y[:90], tile=32), as_source(X[90:], tile=16), Y[90:]


ORDERS = {(0,): np.array([0, 5]), (1,): np.array([3]), (2,): np.array([7, 6])}


def test_own_features_tell_more_than_shared_ones(planted):
    train, test, truth = planted
    own = MLkNN().fit(train, feature_subsets=ORDERS)
    shared = MLkNN().fit(train)
    right = (own.predict(test) == truth).mean(axis=0)
    assert right.min() > 0.85
    assert right.mean() > (shared.predict(test) == truth).mean()
    assert own.tied_share_ == 0.0
    assert [subset.tolist() for subset in own.feature_subsets_] == [[0, 5], [3], [7, 6]]
    assert not shared.feature_subsets_


class ByLabelOnly(MLkNN):
    """What a classifier without a way of its own does."""

    problem_outcomes = BaseClassifier.problem_outcomes


def test_the_general_way_gives_the_same(planted):
    train, test, _ = planted
    counts = [2, 1]
    mine = list(MLkNN(5).problem_outcomes(train, test, ORDERS, counts))
    general = list(ByLabelOnly(5).problem_outcomes(train, test, ORDERS, counts))
    for one, other in zip(mine, general, strict=True):
        assert one.n_features == other.n_features
        np.testing.assert_array_equal(one.proba, other.proba)
        np.testing.assert_array_equal(one.labels, other.labels)


@pytest.mark.parametrize("kind", ["binary", "sparse", "numeric"])
def test_bits_do_not_depend_on_workers_tiles_or_memory(kind, monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.random((150, 300)) if kind == "numeric" else (rng.random((150, 300)) < 0.03) * 1.0
    X = X * (1 + rng.random(300)) if kind == "sparse" else X
    X[7] = 1.0  # so far away that bytes don't hold the distance
    Y = (rng.random((150, 4)) < 0.4).astype(np.uint8)
    orders = [rng.permutation(300)[: 300 - 10 * label] for label in range(4)]
    wrap = np.asarray if kind == "numeric" else sp.csr_matrix
    road = {"binary": "popcount", "sparse": "postings", "numeric": "dense"}[kind]

    def proba(tile):
        model = MLkNN(149 if kind == "binary" else 7)
        fitted = model.fit(wrap(X), Y, feature_subsets=orders)
        assert fitted.road_ == road
        train, test = as_source(wrap(X), Y, tile=tile), as_source(wrap(X[::3]), tile=tile)
        by_problem = {(label,): order for label, order in enumerate(orders)}
        points = model.problem_outcomes(train, test, by_problem, [300, 20])
        parts = [point.proba.tobytes() for point in points]
        return [fitted.predict_proba(wrap(X[::3])).tobytes(), *parts]

    expected = proba(1000)
    assert expected[0] == expected[1]
    assert proba(32) == expected
    monkeypatch.setattr(subspaces, "PREPARED_BYTES", 0)
    assert proba(32) == expected
    monkeypatch.setattr(subspaces, "LISTS_BYTES", 1)
    for module in ("mlfs_dask.classifiers.neighbors", "mlfs_dask.graphs.subspaces"):
        monkeypatch.setattr(f"{module}.get_executor", lambda: Shuffled(1))
    assert proba(32) == expected


@pytest.mark.parametrize("prepared", [True, False])
def test_tiles_are_loaded_as_often_for_many_labels_as_for_one(planted, prepared, monkeypatch):
    train, test, _ = planted
    loads = []

    def load(item):
        loads.append(item)
        return load_block(item)

    monkeypatch.setattr("mlfs_dask.graphs.subspace_tasks.load_block", load)
    if not prepared:
        monkeypatch.setattr(subspaces, "PREPARED_BYTES", 0)
    counts = []
    for n_labels in (1, 3):
        loads.clear()
        orders = {(label,): ORDERS[label,] for label in range(n_labels)}
        rows = train.with_labels(np.ascontiguousarray(train.Y[:, :n_labels]))
        list(MLkNN().problem_outcomes(rows, test, orders, [1]))
        counts.append(len(loads))
    assert counts[0] == counts[1]
    assert counts[0] == train.n_tiles or not prepared


@pytest.mark.parametrize(
    ("subsets", "match"),
    [
        ([[0]], r"given are 1; expected one list for each of 3 labels"),
        ({(0, 1): [0], (0, 2): [1], (1, 2): [2]}, r"some for \(0, 1\)"),
        ([[0], [1], [9]], r"label 2: expected each index once, from 0 to 8"),
        ([[0], [1], [2, 2]], r"label 2: expected each index once"),
        ([[0], [1], [[2]]], r"label 2: expected a list of feature indices"),
        ([[0], [1], [2.5]], r"label 2: expected a list of feature indices"),
    ],
)
def test_subsets_that_do_not_fit_are_refused(subsets, match, planted):
    train, _, _ = planted
    with pytest.raises(InputError, match=match):
        MLkNN().fit(train, feature_subsets=subsets)
