"""Base learners against plain loops, scikit-learn used by hand, and each other's roads."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask.classifiers.base_learners import base_names, make_learner
from mlfs_dask.classifiers.base_learners.encoding import encode
from mlfs_dask.errors import InputError
from reference import base_learners as reference
from reference.transformations import neighbor_shares

STREAM = np.random.SeedSequence(3)


def learn(name, X, y, kind=None, stream=STREAM, **params):
    kind = np.zeros(X.shape[1], dtype=np.uint8) if kind is None else kind
    return make_learner(name, params).learn(X, np.asarray(y, dtype=np.int64), kind, stream)


@st.composite
def targets(draw, n_classes=2, missing=False):
    """Rows with ties, constants, nominal columns; classes that all occur; some queries."""
    n, d = draw(st.integers(n_classes + 1, 30)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    levels = draw(st.sampled_from([2, 4, 1000]))
    X = rng.integers(0, levels, (n + 4, d)) / 4.0
    kind = ((rng.random(d) < 0.3) & (levels == 4)).astype(np.uint8)
    if draw(st.booleans()):
        X[:, 0] = 0.1
    if missing and draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return X[:n], y, X[n:], kind


@given(targets())
def test_logistic_is_maximum_likelihood(case) -> None:
    X, y, queries, kind = case
    model = learn("logistic", X, y, kind)
    nominal = kind.astype(bool) & ~np.isin(X, [0, 1]).all(axis=0)
    codes = {j: sorted(set(X[:, j])) for j in np.flatnonzero(nominal)}
    train, asked = (reference.onehot(rows, nominal, codes) for rows in (X, queries))
    scaled, asked = (reference.standardised(train, rows) for rows in (train, asked))
    weights = reference.logistic(scaled, y)
    ours = np.r_[model.intercept, model.coef[0]]
    best = reference.loss(scaled, y, weights, 1e-8)
    # Separable classes leave next to no loss, and the optimum is flat.
    assert reference.loss(scaled, y, ours, 1e-8) <= best * (1 + 1e-6) + 1e-9
    if best > 0.01:
        expected = 1 / (1 + np.exp(-(weights[0] + asked @ weights[1:])))
        np.testing.assert_allclose(model.proba(queries)[:, 1], expected, atol=1e-5)


@given(targets(n_classes=3))
def test_softmax_is_at_its_optimum(case) -> None:
    X, y, queries, kind = case
    kind = np.zeros_like(kind)
    model = learn("logistic", X, y, kind)
    rows = np.column_stack([np.ones(len(X)), encode(X, kind, "standard").dense(X)])
    weights = np.column_stack([model.intercept, model.coef])
    proba = model.proba(X)
    shrunk = 2e-8 * weights.T * np.r_[0, np.ones(X.shape[1])][:, None]
    slope = rows.T @ (proba - np.eye(3)[y]) + shrunk
    assert np.abs(slope).max() < 1e-6 * len(X)
    np.testing.assert_allclose(model.proba(queries).sum(axis=1), 1, rtol=1e-12)
    assert model.notes == ()


def test_wide_rows_of_zeros_have_the_same_optimum_by_conjugate_gradients(monkeypatch) -> None:
    from mlfs_dask.classifiers.base_learners import logistic

    rng = np.random.default_rng(0)
    X = (rng.random((80, 40)) < 0.05) * rng.random((80, 40))
    y = (X[:, :20].sum(axis=1) + rng.random(80) > 0.7).astype(int)
    exact = learn("logistic", X, y)
    monkeypatch.setattr(logistic, "EXACT_SPARSE", 1)
    sparse, dense = learn("logistic", sp.csr_matrix(X), y), learn("logistic", X, y)
    np.testing.assert_array_equal(dense.proba(X), sparse.proba(sp.csr_matrix(X)))
    np.testing.assert_allclose(sparse.proba(X), exact.proba(X), atol=1e-5)
    assert not np.array_equal(sparse.coef, exact.coef)


def test_a_line_search_that_gives_up_is_no_warning(monkeypatch) -> None:
    """At the optimum the last digits leave nothing to search; warnings are errors in this suite."""
    from mlfs_dask.classifiers.base_learners import logistic

    X = np.array([[1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0], [0] * 6, [1, 0, 1, 0, 0, 1]]) * 1.0
    monkeypatch.setattr(logistic, "EXACT_SPARSE", 1)
    monkeypatch.setattr(logistic, "_FEW_CELLS", 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(logistic, "quiet", nullcontext)
        with pytest.raises(Warning, match=r"(?i)line search"):
            learn("logistic", sp.csr_matrix(X), [0, 1, 1, 1])
    model = learn("logistic", sp.csr_matrix(X), [0, 1, 1, 1])
    assert (model.notes, model.proba(X).argmax(axis=1).tolist()) == ((), [0, 1, 1, 1])


def test_many_coefficients_of_dense_rows_take_the_third_road(monkeypatch) -> None:
    from mlfs_dask.classifiers.base_learners import logistic

    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    exact = learn("logistic", X, y)
    monkeypatch.setattr(logistic, "EXACT_SPARSE", 1)
    monkeypatch.setattr(logistic, "EXACT_COEFFICIENTS", 2)
    np.testing.assert_allclose(learn("logistic", X, y).proba(X), exact.proba(X), atol=1e-6)


def test_a_regression_that_stops_early_says_so() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] + 0.1 * rng.normal(size=50) > 0).astype(int)
    model = learn("logistic", X, y, max_iter=1)
    assert model.notes == ("logistic: the likelihood still rose after 1 step",)
    assert learn("logistic", X, y).notes == ()


@given(targets(n_classes=3, missing=True), st.sampled_from(["minmax", "none"]), st.integers(1, 6))
def test_knn_is_the_share_among_the_nearest(case, normalize, k) -> None:
    X, y, queries, kind = case
    expected = neighbor_shares(k, normalize, kind)(X.tolist(), y.tolist())
    found = learn("knn", X, y, kind, n_neighbors=k, normalize=normalize).proba(queries)
    for row, query in zip(found, queries.tolist(), strict=True):
        answer = expected(query)
        np.testing.assert_allclose(row, [float(answer[c]) for c in range(3)], rtol=1e-14)


@given(targets(n_classes=3))
def test_naive_bayes_is_bayes_rule(case) -> None:
    X, y, queries, kind = case
    nominal = kind.astype(bool) & ~np.isin(X, [0, 1]).all(axis=0)
    expected = reference.naive_bayes(X.tolist(), y.tolist(), queries.tolist(), nominal)
    found = learn("naive-bayes", X, y, kind).proba(queries)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(targets(n_classes=3))
def test_the_machine_is_libsvm_on_columns_of_range_one(case) -> None:
    X, y, queries, kind = case
    kind = np.zeros_like(kind)
    spread = np.ptp(X, axis=0)
    factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    for classes in (y, (y > 0).astype(int)):
        machine = SVC(gamma=1 / X.shape[1], break_ties=True).fit(X * factor, classes)
        found = learn("svm-rbf", X, classes).proba(queries)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
        # On the boundary itself the last bit decides.
        clear = np.diff(np.sort(found, axis=1)[:, -2:])[:, 0] > 1e-9
        predicted = machine.predict(queries * factor)
        np.testing.assert_array_equal(found.argmax(axis=1)[clear], predicted[clear])
    decision = machine.decision_function(queries * factor)
    np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-decision)), atol=1e-9)


def test_scores_of_a_machine_can_be_calibrated() -> None:
    """Three of ten labels are wrong: Platt's scores say so."""
    rng = np.random.default_rng(8)
    X = rng.random((400, 1))
    y = ((X[:, 0] > 0.5) ^ (rng.random(400) < 0.3)).astype(int)
    asked = np.array([[0.1], [0.9]])
    platt, again = (learn("svm-rbf", X, y, scores="platt").proba(asked) for _ in range(2))
    np.testing.assert_array_equal(platt, again)
    np.testing.assert_allclose(platt[:, 1], [0.3, 0.7], atol=0.08)
    three = learn("svm-rbf", X, y + (X[:, 0] > 0.8), scores="platt").proba(asked)
    np.testing.assert_allclose(three.sum(axis=1), 1, rtol=1e-12)
    lone = np.array([1] + [0] * 8)
    platt, margin = (learn("svm-rbf", X[:9], lone, scores=s) for s in ("platt", "margin"))
    np.testing.assert_array_equal(platt.proba(asked), margin.proba(asked))


def test_a_tree_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.random((60, 4)), rng.integers(0, 3, 60)
    seed = int(STREAM.generate_state(1)[0])
    for ours, theirs in (
        ({}, {}),
        ({"criterion": "entropy", "max_depth": 3}, {"criterion": "entropy", "max_depth": 3}),
        (
            {"min_samples_leaf": 5, "min_samples_split": 12, "pruning": 0.01},
            {"min_samples_leaf": 5, "min_samples_split": 12, "ccp_alpha": 0.01},
        ),
    ):
        tree = DecisionTreeClassifier(random_state=seed, **theirs).fit(X, y)
        found = learn("tree", X, y, **ours).proba(X)
        np.testing.assert_array_equal(found, tree.predict_proba(X))


def test_the_seed_chooses_among_equal_splits_of_a_tree() -> None:
    X = np.repeat([[0.0], [1.0]], [4, 4], axis=0) * np.ones(9)
    y = [0] * 4 + [1] * 4
    models = [learn("tree", X, y, stream=np.random.SeedSequence(s)) for s in range(12)]
    assert len({int(model.tree.tree_.feature[0]) for model in models}) > 1


def test_trees_take_missing_values_as_they_come() -> None:
    """Missing goes with class 1 in training; sparse rows with missing cells give the same tree."""
    X = np.array([[0.0], [0.2], [0.4], [1.0], [1.2], [np.nan], [np.nan]])
    y = [0, 0, 0, 1, 1, 1, 1]
    model = learn("tree", X, y)
    assert model.proba(np.array([[np.nan], [0.1]])).tolist() == [[0, 1], [1, 0]]
    sparse = learn("tree", sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.proba(sp.csr_matrix(X)), model.proba(X))
    known = learn("tree", X[:5], y[:5])
    assert known.proba(np.array([[np.nan]])).tolist() == [[1, 0]]


@pytest.mark.parametrize("name", base_names())
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nominal_values_have_no_order(name, n_classes) -> None:
    """Other codes for the same categories: the same answers, also for an unknown category."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, 60)
    y = np.array([0, 1, 0, n_classes - 1])[codes]
    y[:6] = np.arange(6) % n_classes
    X = np.column_stack([codes, rng.random(60)]).astype(float)
    other = X.copy()
    other[:, 0] = np.array([2, 3, 0, 1])[codes]
    kind = np.array([1, 0], dtype=np.uint8)
    asked = np.array([[9.0, 0.5]])
    first, second = (learn(name, rows, y, kind) for rows in (X, other))
    np.testing.assert_allclose(first.proba(X), second.proba(other), atol=1e-7)
    np.testing.assert_allclose(first.proba(asked), second.proba(asked), atol=1e-7)


@pytest.mark.parametrize("name", base_names())
def test_rows_of_either_kind_give_the_same_answers_and_stay_as_they_are(name) -> None:
    rng = np.random.default_rng(6)
    X = rng.integers(-2, 3, (50, 6)) * (rng.random((50, 6)) < 0.6)
    X = X.astype(float)
    kind = np.array([0, 0, 1, 0, 0, 0], dtype=np.uint8)
    y = (X[:, 0] + X[:, 2] > 0).astype(int) + (X[:, 1] > 0)
    csr = sp.csr_matrix(X)
    csr.data[::7] = 0.0  # stored zeros
    X = csr.toarray()
    before = csr.copy()
    learner = make_learner(name)
    dense = learn(name, X, y, kind)
    if learner.takes_sparse:
        sparse = learn(name, csr, y, kind)
        for model, rows in ((sparse, csr), (sparse, X), (dense, csr)):
            np.testing.assert_allclose(model.proba(rows), dense.proba(X), rtol=1e-10, atol=1e-12)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(csr, part), getattr(before, part))
    np.testing.assert_array_equal(X, before.toarray())
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.proba(X), dense.proba(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_trees_refuse_what_float32_does_not_hold(form) -> None:
    X, y = np.array([[1e39], [1.0], [np.nan]]), np.array([0, 1, 0])
    none = np.zeros(1, dtype=np.uint8)
    with pytest.raises(InputError, match="a tree cannot compare as float32"):
        learn("tree", form(X), y, none)
    fitted = learn("tree", form(X[1:]), y[1:], none)
    with pytest.raises(InputError, match="a tree cannot compare as float32"):
        fitted.proba(form(X))


@pytest.mark.parametrize("name", ["tree", "svm-rbf", "logistic"])
def test_a_class_for_each_row_is_no_reason_to_warn(name) -> None:
    """scikit-learn takes many classes for a regression; sets of many labels are just that."""
    X = np.arange(22.0)[:, None]
    fitted = learn(name, X, np.arange(22), np.zeros(1, dtype=np.uint8))
    assert fitted.proba(X).shape == (22, 22)


def test_a_column_of_subnormal_spread_is_constant_to_the_machine() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((20, 2)) * [1.0, 1e-310]
    y = (X[:, 0] > 0.5).astype(int)
    kind = np.zeros(2, dtype=np.uint8)
    flat = X * [1.0, 0.0]
    np.testing.assert_array_equal(
        learn("svm-rbf", X, y, kind).proba(X), learn("svm-rbf", flat, y, kind).proba(flat)
    )


class Halves(ClassifierMixin, BaseEstimator):
    """Predicts whether the first feature is above one half, and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0.5).astype(int)]


class TestAnyEstimator:
    X = np.random.default_rng(7).random((40, 3))
    y = (X[:, 0] > 0.5).astype(int)

    def model(self, estimator, stream=STREAM):
        return learn(estimator, self.X, self.y, stream=stream)

    def test_probabilities_decisions_or_predictions(self) -> None:
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        expected = tree.fit(self.X, self.y).predict_proba(self.X)
        np.testing.assert_array_equal(self.model(tree).proba(self.X), expected)
        ridge = RidgeClassifier()
        decision = ridge.fit(self.X, self.y).decision_function(self.X)
        found = self.model(RidgeClassifier()).proba(self.X)
        np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-12)
        three = learn(RidgeClassifier(), self.X, self.y + (self.X[:, 1] > 0.7), stream=STREAM)
        np.testing.assert_allclose(three.proba(self.X).sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(
            three.proba(self.X).argmax(axis=1), three.fitted.predict(self.X)
        )

    def test_predictions_alone_are_zero_and_one(self) -> None:
        found = self.model(Halves()).proba(self.X)
        np.testing.assert_array_equal(found, np.eye(2)[(self.X[:, 0] > 0.5).astype(int)])

    def test_seeds_come_from_the_stream_unless_the_estimator_has_one(self) -> None:
        free = make_pipeline(StandardScaler(), ExtraTreesClassifier(3, max_features=1))
        one, same = self.model(free), self.model(free)
        other = self.model(free, np.random.SeedSequence(4))
        np.testing.assert_array_equal(one.proba(self.X), same.proba(self.X))
        seeds = [m.fitted[-1].random_state for m in (one, same, other)]
        assert seeds[0] == seeds[1] != seeds[2]
        assert free[-1].random_state is None
        assert self.model(ExtraTreesClassifier(3, random_state=8)).fitted.random_state == 8

    def test_tags_say_what_it_takes(self) -> None:
        assert make_learner(DecisionTreeClassifier()).takes_missing
        assert not make_learner(SVC()).takes_missing
        assert make_learner(SVC()).takes_sparse
        assert str(make_learner(SVC(C=2.0))) == "SVC(C=2.0)"

    def test_others_are_refused(self) -> None:
        for wrong in (LinearRegression(), SVC, 3, None):
            with pytest.raises(InputError, match="a scikit-learn classifier"):
                make_learner(wrong)
        with pytest.raises(InputError, match="expected none with an estimator"):
            make_learner(DummyClassifier(), {"strategy": "prior"})


@pytest.mark.parametrize(
    ("base", "params", "message"),
    [
        ("logistik", None, r"base = 'logistik': expected one of(.|\n)*Did you mean 'logistic'"),
        ("tree", {"max_dept": 3}, "tree has no parameter 'max_dept'; expected some of criterion"),
        ("tree", {"max_depth": "x"}, r"base_params = .*max_depth"),
        ("tree", {"max_depth": 0}, "max_depth = 0: expected a whole number of at least 1"),
        ("tree", {"min_samples_leaf": 0}, "min_samples_leaf = 0"),
        ("tree", {"min_samples_split": 1}, "min_samples_split = 1"),
        ("tree", {"pruning": -1.0}, "pruning = -1.0: expected a finite number of at least 0"),
        ("tree", {"criterion": "x"}, "criterion"),
        ("logistic", {"ridge": 0}, "ridge = 0.0: expected a finite number above 0"),
        ("logistic", {"max_iter": 0}, "max_iter = 0"),
        ("svm-rbf", {"C": -1}, "C = -1.0"),
        ("svm-rbf", {"gamma": 0}, "gamma = 0.0"),
        ("knn", {"n_neighbors": 0}, "n_neighbors = 0"),
        ("knn", {"n_neighbors": 2.5}, "n_neighbors"),
        ("naive-bayes", {"var_smoothing": 0.0}, "var_smoothing = 0.0"),
    ],
)
def test_bad_parameters_are_named(base, params, message) -> None:
    with pytest.raises(InputError, match=message):
        make_learner(base, params)


def test_parameters_reach_the_learner() -> None:
    assert str(make_learner("svm-rbf", {"C": np.float64(2), "gamma": None})) == (
        "svm-rbf (C 2.0, gamma None, scores margin)"
    )
    assert make_learner("knn", None, "zhang").normalize == "none"
    assert make_learner("knn", {"normalize": "minmax"}, "zhang").normalize == "minmax"
    assert make_learner("knn", None, "mulan").normalize == "minmax"
