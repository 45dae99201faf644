"""relief-wrapper and mlrelieff against plain loops, on every road."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.graphs import neighbors, relief, relief_tasks
from mlfs_dask.graphs.source import as_source
from mlfs_dask.selectors.mlrelieff import MLReliefF
from mlfs_dask.selectors.relief_wrapper import ReliefWrapper
from reference.executors import Shuffled
from reference.relief import pair_weights, set_weights, wrapper_weights

SELECTORS = [
    (ReliefWrapper, {"order": 1}),
    (ReliefWrapper, {"order": 2}),
    (MLReliefF, {"labels": "pairs"}),
    (MLReliefF, {"labels": "sets"}),
]
IDS = ["labels", "pairs", "joined", "sets"]


@st.composite
def cases(draw, max_rows=20, missing=True):
    """Rows with ties, duplicates, constants, codes, missing values and empty label sets."""
    n, d, q = draw(st.integers(2, max_rows)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = draw(st.sampled_from([2, 3, 1000]))
    X = rng.integers(0, values, (n, d)).astype(np.float64)
    X[rng.integers(0, n, 2)] = X[0]
    nominal = (rng.random(d) < 0.3) & (values == 3)
    if draw(st.booleans()):
        X[:, 0] = 1.0
    if missing and draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))).astype(np.uint8)
    Y[rng.random(n) < 0.2] = 0
    return X, Y, nominal.astype(np.uint8)


def twin(selector, parameters, X, Y, nominal):
    """Weights in plain loops, one row per problem."""
    k, normalize = parameters["n_neighbors"], parameters["normalize"]
    rows, labels = X.tolist(), Y.tolist()
    options = {"nominal": nominal, "normalize": normalize}
    if selector is ReliefWrapper:
        return np.array(wrapper_weights(rows, labels, k, parameters["order"], **options))
    weigh = pair_weights if parameters["labels"] == "pairs" else set_weights
    return np.array([weigh(rows, labels, k, **options)])


def expected_order(weights, X):
    """Best first by key, ties to the lower index, constants last."""
    low, high = np.nanmin(X, axis=0, initial=np.inf), np.nanmax(X, axis=0, initial=-np.inf)
    constant = ~(low < high)
    keys = [0.0 if abs(w) < 1e-12 else float(f"{w:.8e}") for w in weights]
    return sorted(range(len(keys)), key=lambda r: (constant[r], 0 if constant[r] else -keys[r], r))


@pytest.mark.parametrize(("selector", "parameters"), SELECTORS, ids=IDS)
@settings(max_examples=60)
@given(
    case=cases(),
    k=st.integers(1, 4),
    normalize=st.sampled_from(["minmax", "none"]),
    sparse=st.booleans(),
    tile=st.sampled_from([3, 7, 100]),
)
def test_weights_are_those_of_plain_loops(selector, parameters, case, k, normalize, sparse, tile):
    X, Y, nominal = case
    parameters = {**parameters, "n_neighbors": k, "normalize": normalize}
    wrap = sp.csr_matrix if sparse else np.asarray
    fitted = selector(**parameters, tile=tile).fit(wrap(X), Y, feature_kind=nominal)
    expected = twin(selector, parameters, X, Y, nominal)
    scores, orders = np.atleast_2d(fitted.scores_), np.atleast_2d(fitted.order_)
    scale = np.nanmax(np.abs(X), initial=1.0) if normalize == "none" else 1.0
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-14 * scale)
    if normalize == "none":
        return  # orders follow the same code; a tie may hang on the last digit of a large number
    for p, order in enumerate(orders):
        rows = slice(None)
        if parameters.get("order") == 2:
            a, b = fitted.problems_[p]
            rows = Y[:, a] != Y[:, b]
        assert order.tolist() == expected_order(expected[p], X[rows])


def rows_of(kind, seed=8):
    """140 rows that take one of the roads; row 7 is so far away that bytes don't hold it."""
    rng = np.random.default_rng(seed)
    X = rng.random((140, 300)) if kind == "dense" else (rng.random((140, 300)) < 0.03) * 1.0
    X = X * (1 + rng.random(300)) if kind == "postings" else X
    X[7] = 1.0
    Y = (rng.random((140, 4)) < 0.4).astype(np.uint8)
    Y[7] = [1, 0, 0, 1]
    return X if kind == "dense" else sp.csr_matrix(X), Y


def weights(selector, parameters, X, Y, **options):
    fitted = selector(**parameters, **options).fit(X, Y)
    return fitted.road_, fitted.scores_.tobytes()


@pytest.mark.parametrize("road", ["popcount", "meetings", "postings", "dense"])
def test_pairs_that_meet_are_looked_at(road, monkeypatch):
    X, Y = rows_of(road)
    if road == "meetings":
        monkeypatch.setattr(neighbors, "BRUTE_FEATURES", 0)
        monkeypatch.setattr(neighbors, "MET_SHARE", 1.0)
    shared = 140 * 140
    if road in ("meetings", "postings"):
        stored = (X != 0).toarray()
        shared = np.count_nonzero(stored @ stored.T)
    for fitted in (MLReliefF(3).fit(X, Y), ReliefWrapper(3).fit(X, Y)):
        assert fitted.road_ == road
        # Bit by bit, a row that is far from all is looked at twice.
        again = 140 if road == "popcount" else 0
        assert 140 * 140 * fitted.pair_share_ == pytest.approx(shared + again)


@pytest.mark.parametrize(("selector", "parameters"), SELECTORS, ids=IDS)
@pytest.mark.parametrize("road", ["popcount", "meetings", "postings", "dense"])
def test_bits_do_not_depend_on_workers_tiles_or_memory(selector, parameters, road, monkeypatch):
    X, Y = rows_of(road)
    if road == "meetings":
        monkeypatch.setattr(neighbors, "BRUTE_FEATURES", 0)
    # A class of which the farthest row is a neighbour, and one of which it isn't.
    parameters = {**parameters, "n_neighbors": 60 if X.max() == 1.0 else 3}
    expected = weights(selector, parameters, X, Y, tile=1000)
    assert expected[0] == road
    assert weights(selector, parameters, X, Y, tile=32) == expected
    if road in ("popcount", "meetings"):
        dense = weights(selector, parameters, X.toarray(), Y)
        assert dense == ("popcount", expected[1])
    monkeypatch.setattr(relief, "PREPARED_BYTES", 0)
    assert weights(selector, parameters, X, Y, tile=32) == expected
    monkeypatch.setattr("mlfs_dask.graphs.neighbors.PREPARED_BYTES", 0)
    monkeypatch.setattr(relief_tasks, "TASK_BYTES", 1)
    monkeypatch.setattr(relief, "SUMS_BYTES", 1)
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: Shuffled(1))
    assert weights(selector, parameters, X, Y, tile=32) == expected


@pytest.mark.parametrize(("selector", "parameters"), SELECTORS, ids=IDS)
def test_sparse_rows_weigh_as_dense_ones(selector, parameters):
    X, Y = rows_of("postings")
    sparse = weights(selector, parameters, X, Y)
    dense = weights(selector, parameters, X.toarray(), Y)
    assert (sparse[0], dense[0]) == ("postings", "dense")
    assert sparse[1] == dense[1]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_neighbours_beyond_the_range_of_floats_are_refused(form):
    X = np.zeros((20, 40))
    X[np.arange(20), np.arange(20)] = 1e160
    Y = (np.arange(20) % 2)[:, None]
    with pytest.raises(InputError, match="overflow float64"):
        MLReliefF(normalize="none", labels="sets", n_neighbors=3).fit(form(X), Y)


@pytest.mark.parametrize(("selector", "parameters"), SELECTORS, ids=IDS)
def test_dask_arrays_stores_and_folds_weigh_alike(selector, parameters, tmp_path):
    import dask.array as da

    from mlfs_dask.storage.ingest import ingest
    from mlfs_dask.testing.tables import ArrayTable

    X, Y = rows_of("dense")
    X = np.round(X[:, :9], 2)
    rows = np.flatnonzero(np.arange(140) % 3 > 0)
    dataset = ingest(ArrayTable(X, Y), tmp_path / "made.zarr", tile=32)
    expected = weights(selector, parameters, X, Y, tile=32)
    assert weights(selector, parameters, da.from_array(X, chunks=(50, 4)), Y) == expected
    assert weights(selector, parameters, dataset, None) == expected
    fold = as_source(dataset).take(rows)
    assert weights(selector, parameters, fold, None) == weights(
        selector, parameters, X[rows], Y[rows]
    )


def test_weights_of_a_table_by_hand():
    """Priors .7, .2, .1: misses of a class weigh P(c) / (1 - P(own))."""
    X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7], [1, 2], [1, 6], [2, 4.0]])
    Y = np.array([[0, 0]] * 7 + [[1, 0]] * 2 + [[0, 1]])
    fitted = MLReliefF(10, labels="sets", normalize="none").fit(X, Y)
    # Feature 0 tells the classes: every hit is 0 away, a miss as far as the classes are apart.
    first = 7 * (2 / 3 * 1 + 1 / 3 * 2) + 2 * (7 / 8 * 1 + 1 / 8 * 1) + (7 / 9 * 2 + 2 / 9 * 1)
    hits = [21 / 6, 16 / 6, 13 / 6, 12 / 6, 13 / 6, 16 / 6, 21 / 6, 4, 4, 0]
    b, c = [3, 2, 2, 2, 2, 2, 3], [3, 2, 1, 0, 1, 2, 3]
    misses = [2 / 3 * x + 1 / 3 * y for x, y in zip(b, c, strict=True)]
    misses += [7 / 8 * 16 / 7 + 1 / 8 * 2] * 2
    misses += [7 / 9 * 12 / 7 + 2 / 9 * 2]
    second = sum(misses) - sum(hits)
    np.testing.assert_allclose(fitted.scores_, [first / 10, second / 10], rtol=1e-12)


def test_nearest_of_each_class_count_not_nearest_of_all():
    """Both nearest rows of row 0 are hits; its misses are farther away than all its hits."""
    X = np.array([[0.0, 0.0], [0.1, 0.0], [0.2, 0.1], [1.0, 0.0], [0.9, 1.0]])
    Y = np.array([[1], [1], [1], [0], [0]])
    fitted = ReliefWrapper(1).fit(X, Y)
    expected = [
        (1.0 - 0.1) + (0.9 - 0.1) + (0.8 - 0.1) + (0.8 - 0.1) + (0.7 - 0.1),
        (0.0 - 0.0) + (0.0 - 0.0) + (0.1 - 0.1) + (0.1 - 1.0) + (0.9 - 1.0),
    ]
    np.testing.assert_allclose(fitted.scores_[0], np.array(expected) / 5, rtol=1e-12)


def test_equal_rows_are_taken_in_index_order():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [0.0], [1.0]])
    Y = np.array([[1], [1], [1], [0], [0], [0]])
    # Row 0: hit 1, miss 4. Row 2: hits 0, 1 are as far: 0 counts; miss 3.
    expected = (0 - 0) + (0 - 0) + (0 - 1) + (0 - 0) + (0 - 1) + (0 - 0)
    assert ReliefWrapper(1).fit(X, Y).scores_[0, 0] == pytest.approx(expected / 6)


@pytest.mark.parametrize("labels", ["pairs", "sets"])
def test_labels_that_tell_nothing_weigh_nothing(labels):
    X = np.random.default_rng(0).random((9, 3))
    for Y in (np.zeros((9, 3)), np.ones((9, 3)), np.tile([1, 0, 0], (9, 1))):
        fitted = MLReliefF(2, labels=labels).fit(X, Y)
        assert fitted.scores_.tolist() == [0.0] * 3
        assert fitted.order_.tolist() == [0, 1, 2]


def test_one_class_weighs_nothing_and_a_lone_row_has_no_hit():
    X = np.random.default_rng(0).random((9, 3))
    Y = np.zeros((9, 3), dtype=np.uint8)
    Y[:, 0], Y[4, 1] = 1, 1
    fitted = ReliefWrapper(2).fit(X, Y)
    assert fitted.scores_[[0, 2]].tolist() == [[0.0] * 3] * 2
    assert fitted.order_[[0, 2]].tolist() == [[0, 1, 2]] * 2
    np.testing.assert_allclose(
        fitted.scores_[1], wrapper_weights(X.tolist(), Y.tolist(), 2, 1)[1], rtol=1e-12
    )


def test_a_single_row_weighs_nothing():
    for selector, parameters in SELECTORS:
        fitted = selector(**parameters).fit([[1.0, 2.0]], [[1, 0]])
        assert not np.any(fitted.scores_)


def test_planted_features_come_first():
    rng = np.random.default_rng(2)
    X = rng.random((400, 20))
    Y = (X[:, [3, 11, 7]] > 0.6).astype(np.uint8)
    Y[rng.random(400) < 0.1] = 0
    wrapper = ReliefWrapper(10).fit(X, Y)
    assert wrapper.order_[:, 0].tolist() == [3, 11, 7]
    assert wrapper.support_.all()
    pairs = ReliefWrapper(10, order=2).fit(X, Y)
    assert [set(order[:2].tolist()) for order in pairs.order_] == [{3, 11}, {3, 7}, {7, 11}]
    for labels in ("pairs", "sets"):
        assert set(MLReliefF(labels=labels).fit(X, Y).order_[:3].tolist()) == {3, 7, 11}


def test_missing_values_are_native_and_may_be_imputed():
    X, Y = rows_of("dense")
    X = X[:, :6].copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    X[:, 5] = np.nan
    for selector, parameters in SELECTORS:
        native = selector(**parameters).fit(X, Y)
        imputed = selector(**parameters, impute="mean").fit(X, Y)
        means = np.append(np.nanmean(X[:, :5], axis=0), 0.0)
        same = selector(**parameters).fit(np.where(np.isnan(X), means, X), Y)
        np.testing.assert_array_equal(imputed.scores_, same.scores_)
        assert not np.array_equal(native.scores_, imputed.scores_)
        assert set(np.atleast_2d(native.order_)[:, -1].tolist()) == {5}


@pytest.mark.parametrize(
    ("selector", "parameters", "match"),
    [
        (ReliefWrapper, {"n_neighbors": 0}, "n_neighbors = 0"),
        (ReliefWrapper, {"order": 3}, "order = 3: expected one of 'auto', 1, 2"),
        (ReliefWrapper, {"normalize": "std"}, "normalize = 'std'"),
        (ReliefWrapper, {"impute": "mode"}, "impute = 'mode'"),
        (MLReliefF, {"n_neighbors": 2.5}, "n_neighbors = 2.5"),
        (MLReliefF, {"labels": "all"}, "labels = 'all'"),
        (MLReliefF, {"n_features_to_select": 7}, "X has 2 features"),
    ],
)
def test_impossible_parameters_are_refused(selector, parameters, match):
    with pytest.raises(InputError, match=match):
        selector(**parameters).fit([[0.0, 1.0], [1.0, 0.0]], [[1, 0], [0, 1]])


def test_order_2_needs_two_labels():
    with pytest.raises(InputError, match="at least two labels, Y has 1"):
        ReliefWrapper(order=2).fit([[0.0], [1.0]], [[1], [0]])


@pytest.mark.parametrize(("selector", "parameters"), SELECTORS, ids=IDS)
def test_values_that_cannot_be_compared_are_refused(selector, parameters):
    Y = [[1, 0], [0, 1], [1, 0], [0, 1]]
    with pytest.raises(InputError, match="infinity"):
        selector(**parameters).fit([[0.0], [np.inf], [1.0], [2.0]], Y)
    far = [[0.0], [1e200], [-1e200], [3e200]]
    with pytest.raises(InputError, match="squared distances overflow"):
        selector(**parameters, n_neighbors=1, normalize="none").fit(far, Y)
