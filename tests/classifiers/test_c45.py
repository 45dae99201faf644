"""C4.5 against a plain recursion; degenerate data, weights, missing values, codes."""

import pickle
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from mlfs_dask.classifiers.base_learners import make_learner
from mlfs_dask.classifiers.c45 import C45Classifier
from mlfs_dask.errors import InputError
from mlfs_dask.kernels.c45_prune import extra_errors
from mlfs_dask.kernels.c45_tree import (
    Table,
    hand_down,
    make_items,
    make_loads,
    make_nodes,
    shares_of,
)
from reference.c45 import Twin


@st.composite
def problems(draw):
    """Numeric and nominal features, ties, near ties, constants, missing values, weights."""
    n = draw(st.integers(1, 60))
    d = draw(st.integers(1, 6))
    k = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_values = np.where(rng.random(d) < draw(st.sampled_from([0.0, 0.5, 1.0])), 3, 0)
    n_values[rng.random(d) < 0.1] *= 8
    spread = draw(st.sampled_from([2, 5, 100]))
    X = rng.integers(0, spread, (n + 8, d)).astype(np.float64)
    X[:, rng.random(d) < 0.2] *= 4e-6
    coded = rng.integers(0, np.maximum(n_values, 1), X.shape)
    X = np.where(n_values > 0, coded, X)
    if draw(st.booleans()):
        X[:, 0] = 1.0
    noise = draw(st.sampled_from([0.0, 0.2, 0.7]))
    y = ((X[:n] * rng.integers(0, 2, d)).sum(axis=1) / max(1, spread) * k).astype(int) % k
    y[rng.random(n) < noise] = rng.integers(0, k)
    flip = rng.random(n) < noise
    y[flip] = rng.integers(0, k, flip.sum())
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))] = np.nan
    weights = None
    if draw(st.booleans()):
        weights = rng.choice([0.0, 0.3, 1.0, 1.0, 2.0], n)
        weights[0] = 1.0
    rules = {
        "confidence": draw(st.sampled_from([0.05, 0.25, 0.5])),
        "min_objects": draw(st.integers(1, 3)),
        "prune": draw(st.sampled_from([True, True, False])),
        "subtree_raising": draw(st.sampled_from([True, True, False])),
    }
    return X[:n], y, X[n:], n_values, weights, rules


def twin(X, y, n_values, weights, rules):
    return Twin(
        X.tolist(),
        y.tolist(),
        n_values.tolist(),
        None if weights is None else weights.tolist(),
        cf=rules["confidence"],
        z=NormalDist().inv_cdf(1 - rules["confidence"]),
        least=rules["min_objects"],
        prune=rules["prune"],
        raising=rules["subtree_raising"],
    )


@settings(max_examples=150)
@given(problems())
def test_trees_are_those_of_the_plain_recursion(case) -> None:
    X, y, queries, n_values, weights, rules = case
    used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    _, y[used] = np.unique(y[used], return_inverse=True)
    model = C45Classifier(**rules).fit(X, y, weights, n_values=n_values)
    expected = twin(X, y, n_values, weights, rules)
    assert (model.n_leaves_, model.n_nodes_) == expected.sizes()
    for rows in (X, queries):
        shares = [expected.shares(x) for x in rows.tolist()]
        np.testing.assert_allclose(model.predict_proba(rows), shares, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 3])
def test_raising_into_a_subtree_leaves_its_siblings_alone(seed) -> None:
    """Noisy rows of three-valued features: branches are raised beside branches that stay."""
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 3, (400, 7)).astype(np.float64)
    y = (X[:, 0] == X[:, 1]) & (X[:, 2] != 1) | (X[:, 3] == X[:, 4]) & (X[:, 5] == 0)
    y = (y | (rng.random_sample(400) < 0.1)).astype(np.int64)
    n_values = np.full(7, 3)
    rules = {"confidence": 0.4, "min_objects": 2, "prune": True, "subtree_raising": True}
    model = C45Classifier(**rules).fit(X, y, n_values=n_values)
    expected = twin(X, y, n_values, None, rules)
    assert (model.n_leaves_, model.n_nodes_) == expected.sizes()
    shares = [expected.shares(x) for x in X.tolist()]
    np.testing.assert_allclose(model.predict_proba(X), shares, rtol=0, atol=1e-9)
    unraised = C45Classifier(**rules | {"subtree_raising": False}).fit(X, y, n_values=n_values)
    assert unraised.n_nodes_ != model.n_nodes_


def test_an_example_by_hand() -> None:
    """Quinlan's golf data: outlook; then humidity up to 75, and wind."""
    outlook = [0] * 5 + [1] * 4 + [2] * 5
    humidity = [70, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96]
    windy = [1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0]
    play = [1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1]
    X = np.column_stack([outlook, humidity, windy]).astype(float)
    model = C45Classifier().fit(X, play, feature_kind=[1, 0, 1])
    assert (model.n_leaves_, model.n_nodes_) == (5, 8)
    nodes = model.tree_.nodes
    assert nodes.feature.tolist() == [0, 1, -1, 2, -1, -1, -1, -1]
    assert nodes.threshold[1] == 75
    assert model.predict(X).tolist() == play
    # Outlook unknown: humid days need 3 of 5 sunny ones to be lost.
    proba = model.predict_proba([[np.nan, 90, 0], [0, np.nan, 0], [3, 90, 0]])
    np.testing.assert_allclose(proba[:, 1], [9 / 14, 2 / 5, 9 / 14])


@pytest.mark.parametrize(("n", "share"), [(6, 0.206), (9, 0.143), (1, 0.750)])
def test_limits_without_errors_are_those_of_the_book(n, share) -> None:
    """U(0, 6), U(0, 9) and U(0, 1) at 25 % of the example in Quinlan's chapter 4."""
    found = extra_errors(float(n), 0.0, 0.25, NormalDist().inv_cdf(0.75))
    assert found / n == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize("confidence", [0.1, 0.25, 0.5])
def test_limits_with_errors_are_near_those_of_the_binomial_distribution(confidence) -> None:
    z = NormalDist().inv_cdf(1 - confidence)
    for n, errors in ((16, 1), (40, 1), (40, 12), (200, 60)):
        found = errors + extra_errors(float(n), float(errors), confidence, z)
        exact = n * beta.ppf(1 - confidence, errors + 1, n - errors)
        assert found == pytest.approx(exact, rel=0.1)


def test_estimates_between_whole_errors_are_linear_up_to_one_and_end_at_all_rows() -> None:
    z = NormalDist().inv_cdf(0.75)
    none, half, one = (extra_errors(10.0, e, 0.25, z) for e in (0.0, 0.5, 1.0))
    assert half == pytest.approx((none + one) / 2)
    assert extra_errors(10.0, 9.75, 0.25, z) == 0.25
    assert extra_errors(0.5, 0.0, 0.25, z) == pytest.approx(0.46875)


def test_no_more_than_25_rows_have_to_stand_on_either_side_of_a_threshold() -> None:
    """A tenth of the rows per class would be 40."""
    X = np.arange(800.0)[:, None]
    model = C45Classifier().fit(X, X[:, 0] < 30)
    assert model.n_leaves_ == 2
    assert model.tree_.nodes.threshold[0] == 29


def test_a_threshold_needs_rows_not_weight_alone() -> None:
    """J48 counts rows here: three of weight 2 are too few for two sides of 2."""
    X, y = [[1.0], [2.0], [3.0]], [0, 0, 1]
    assert C45Classifier().fit(X, y, [2.0, 2.0, 2.0]).n_leaves_ == 1
    assert C45Classifier().fit([*X, [4.0]], [*y, 1], [2.0] * 4).n_leaves_ == 2


def test_rows_that_all_lack_a_value_are_shared_equally() -> None:
    """So it may be when a branch is raised and gets rows it never saw."""
    table = Table(np.array([[np.nan, np.nan, 1.0]]), np.array([2]), np.array([0, 1, 0]), 2)
    nodes, loads, items = make_nodes(3), make_loads(3, 2), make_items(2)
    nodes.feature[0], nodes.first_child[0], nodes.n_children[0] = 0, 1, 2
    items.rows[:], items.weights[:] = [0, 1], [1.0, 3.0]
    loads.stop[0] = 2
    shares = shares_of(table, nodes, loads, items, 0)
    assert shares.tolist() == [0.5, 0.5]
    items, end = hand_down(table, nodes, loads, items, 0, shares, 2)
    assert end == 6
    assert items.weights[2:6].tolist() == [0.5, 1.5, 0.5, 1.5]
    assert loads.counts[1:].tolist() == [[0.5, 1.5]] * 2


def test_one_class_one_row_constant_and_missing_features_give_a_leaf() -> None:
    for X, y in (
        ([[1.0], [2.0], [3.0]], [4, 4, 4]),
        ([[1.0]], [0]),
        ([[1.0]] * 9, [0, 1, 2] * 3),
        ([[np.nan]] * 9, [0, 1, 2] * 3),
    ):
        for kind in (0, 1):
            model = C45Classifier().fit(X, y, feature_kind=[kind])
            assert (model.n_leaves_, model.n_nodes_) == (1, 1)
            shares = np.bincount(np.unique(y, return_inverse=True)[1]) / len(y)
            np.testing.assert_allclose(model.predict_proba([[7.0]]), [shares])


def test_values_without_training_rows_are_answered_by_the_node_that_asks() -> None:
    X = [[5.0], [5.0], [5.0], [9.0], [9.0], [9.0], [9.0]]
    y = [0, 0, 0, 1, 1, 1, 1]
    shares = [[1, 0], [3 / 7, 4 / 7], [3 / 7, 4 / 7], [3 / 7, 4 / 7], [0, 1]]
    model = C45Classifier().fit(X, y, feature_kind=[1])
    np.testing.assert_allclose(model.predict_proba([[5], [6], [-1], [np.nan], [9]]), shares)
    assert model.n_leaves_ == 2
    declared = C45Classifier().fit(X, y, n_values=[11])
    np.testing.assert_allclose(declared.predict_proba([[5], [6], [-1], [np.nan], [9]]), shares)
    np.testing.assert_allclose(declared.predict_proba([[5.5], [11], [400]]), [[3 / 7, 4 / 7]] * 3)
    assert declared.n_leaves_ == 11


def test_zero_weights_leave_rows_out() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 3)), rng.integers(0, 3, 60)
    weights = rng.integers(0, 3, 60).astype(float)
    kept = weights > 0
    y[~kept] = 9
    model = C45Classifier(min_objects=1).fit(X, y, weights)
    other = C45Classifier(min_objects=1).fit(X[kept], y[kept], weights[kept])
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_bits_are_the_same_again_and_after_pickling() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.random((200, 6)), rng.integers(0, 2, 200)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = C45Classifier(prune=False).fit(X, y)
    again = clone(model).fit(np.asfortranarray(X), y.tolist())
    X.flags.writeable = False
    loaded = pickle.loads(pickle.dumps(model))
    for other in (again, loaded):
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"confidence": 0}, "confidence = 0: expected a number above 0, at most 0.5"),
        ({"confidence": 0.6}, "confidence = 0.6"),
        ({"min_objects": 0}, "min_objects = 0: expected a whole number of at least 1"),
        ({"prune": "no"}, "prune = 'no': expected true or false"),
    ],
)
def test_impossible_parameters_are_refused(rules, message) -> None:
    with pytest.raises(InputError, match=message):
        C45Classifier(**rules).fit([[1.0], [2.0]], [0, 1])


def test_arguments_that_do_not_fit_are_refused() -> None:
    X, y, model = [[0.0, 1.0], [1.0, 3.0]], [0, 1], C45Classifier()
    with pytest.raises(InputError, match="feature_kind has shape"):
        model.fit(X, y, feature_kind=[1])
    with pytest.raises(InputError, match="n_values: expected 2 whole numbers"):
        model.fit(X, y, n_values=[0.5, 1])
    with pytest.raises(InputError, match="row 1, feature 1: 3 is not one of the codes 0 to 2"):
        model.fit(X, y, n_values=[2, 3])
    with pytest.raises(InputError, match="both given"):
        model.fit(X, y, feature_kind=[1, 1], n_values=[2, 4])
    for weights in ([1.0, -1.0], [1.0], [1.0, np.nan]):
        with pytest.raises(InputError, match="sample_weight: expected 2 finite numbers"):
            model.fit(X, y, weights)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_scikit_learn_finds_an_estimator() -> None:
    results = check_estimator(C45Classifier(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_the_base_learner_is_the_estimator() -> None:
    rng = np.random.default_rng(7)
    X = rng.integers(0, 4, (120, 5)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.integers(0, 2, 120)).astype(np.int64) % 3
    kind = np.array([1, 0, 1, 0, 0], dtype=np.uint8)
    learner = make_learner("c45", {"confidence": 0.1, "min_objects": 3})
    X.flags.writeable = y.flags.writeable = False
    model = learner.learn(X, y, kind, np.random.SeedSequence(0))
    fitted = C45Classifier(confidence=0.1, min_objects=3).fit(X, y, feature_kind=kind)
    np.testing.assert_array_equal(model.proba(X), fitted.predict_proba(X))
    np.testing.assert_allclose(model.proba(X).sum(axis=1), 1.0, atol=1e-12)
    assert learner.takes_missing
    assert str(learner) == "c45 (confidence 0.1, min_objects 3, prune True, subtree_raising True)"
    with pytest.raises(InputError, match=r"base_params = .*confidence = 0.7"):
        make_learner("c45", {"confidence": 0.7})
