"""br, lp, rakel and clr against plain loops; curves, subsets, seeds, missing values, pieces."""

import itertools
import math
import pickle

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.br import BinaryRelevance
from mlfs_dask.classifiers.clr import CalibratedLabelRanking
from mlfs_dask.classifiers.lp import LabelPowerset
from mlfs_dask.classifiers.rakel import RAkEL, draw_subsets
from mlfs_dask.errors import InputError, MissingValuesError, MlfsError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.jobs.streams import classifier_stream
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference import transformations as plain

NAMES = ["br", "lp", "rakel", "clr"]


@st.composite
def problems(draw):
    """Rows with ties and duplicates; labels that may be constant, rows that may have none."""
    n, d, q = draw(st.integers(2, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), (n + 3, d)).astype(np.float64)
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.1, 0.4, 0.7]))).astype(np.uint8)
    Y[:, rng.random(q) < 0.2] = 1
    Y[rng.random(n) < 0.2] = 0
    return X[:n], Y, X[n:], draw(st.integers(1, 3))


def by_neighbors(name, k, **options):
    return get_classifier(name, base="knn", base_params={"n_neighbors": k}, **options)


def asked(case):
    X, Y, queries, k = case
    return X.tolist(), Y.tolist(), queries.tolist(), plain.neighbor_shares(k)


@given(problems())
def test_binary_relevance_is_that_of_plain_loops(case) -> None:
    X, Y, queries, k = case
    fitted = by_neighbors("br", k).fit(X, Y)
    proba = fitted.predict_proba(queries)
    np.testing.assert_allclose(proba, plain.br(*asked(case)), rtol=1e-14)
    np.testing.assert_array_equal(fitted.predict(queries), proba >= 0.5)
    assert (proba.dtype, fitted.predict(queries).dtype) == (np.float64, np.uint8)


@given(problems())
def test_label_powerset_is_that_of_plain_loops(case) -> None:
    X, Y, queries, k = case
    expected = plain.lp(*asked(case))
    labels = np.array([found for found, _, _ in expected])
    share = np.array([top for _, top, _ in expected])[:, None]
    marginal = [
        [sum(p for found, p in answer.items() if found[a]) for a in range(Y.shape[1])]
        for _, _, answer in expected
    ]
    for scores, proba in (
        ("votes", labels),
        ("confidence", np.where(labels, share, 1 - share)),
        ("marginal", marginal),
    ):
        fitted = by_neighbors("lp", k, scores=scores).fit(X, Y)
        np.testing.assert_array_equal(fitted.predict(queries), labels)
        np.testing.assert_allclose(fitted.predict_proba(queries), proba, atol=1e-14)
    assert set(map(tuple, labels.tolist())) <= set(map(tuple, Y.tolist()))


@given(problems(), st.integers(1, 3), st.integers(0, 5))
def test_rakel_is_that_of_plain_loops(case, size, seed) -> None:
    X, Y, queries, k = case
    fitted = by_neighbors("rakel", k, labelset_size=size, random_state=seed).fit(X, Y)
    expected = plain.rakel(*asked(case), fitted.labelsets_)
    proba = fitted.predict_proba(queries)
    np.testing.assert_array_equal(proba, expected)
    np.testing.assert_array_equal(fitted.predict(queries), proba >= 0.5)
    q = Y.shape[1]
    assert len(set(fitted.labelsets_)) == len(fitted.labelsets_)
    assert len(fitted.labelsets_) == (min(2 * q, math.comb(q, size)) if size < q else 1)
    assert all(list(s) == sorted(set(s)) and len(s) == min(q, size) for s in fitted.labelsets_)


@given(problems(), st.sampled_from(["hard", "soft"]))
def test_calibrated_label_ranking_is_that_of_plain_loops(case, votes) -> None:
    X, Y, queries, k = case
    fitted = by_neighbors("clr", k, votes=votes).fit(X, Y)
    proba, labels = fitted.predict_proba(queries), fitted.predict(queries)
    q = Y.shape[1]
    for row, found, (for_labels, virtual) in zip(
        proba, labels, plain.clr(*asked(case), votes == "soft"), strict=True
    ):
        np.testing.assert_allclose(row, np.array(for_labels) / q, rtol=1e-13)
        clear = np.abs(np.array(for_labels) - virtual) > 1e-9
        clear |= votes == "hard"
        np.testing.assert_array_equal(found[clear], (np.array(for_labels) >= virtual)[clear])
        np.testing.assert_array_equal(fitted.decide(row[None])[0][clear], found[clear])


@settings(max_examples=15)
@given(problems(), st.sampled_from(NAMES), st.sampled_from([2, 5, 100]), st.booleans())
def test_each_point_of_a_curve_is_a_fit_to_its_features(case, name, tile, sparse) -> None:
    X, Y, queries, _ = case
    d = X.shape[1]
    order = np.random.default_rng(d).permutation(d)
    counts = [d, 1, max(1, d // 2), 1]
    wrap = sp.csr_matrix if sparse else np.asarray
    train, test = as_source(wrap(X), Y, tile=tile), as_source(wrap(queries), tile=tile)
    classifier = get_classifier(name, base="tree")
    outcomes = list(classifier.outcomes(train, test, order, counts))
    curve = list(classifier.curve(train, test, order, counts))
    assert [outcome.n_features for outcome in outcomes] == counts == [count for count, _ in curve]
    for outcome, (count, proba) in zip(outcomes, curve, strict=True):
        columns = order[:count]
        fitted = get_classifier(name, base="tree").fit(X[:, columns], Y)
        for found in (outcome.proba, proba):
            np.testing.assert_array_equal(found, fitted.predict_proba(queries[:, columns]))
        np.testing.assert_array_equal(outcome.labels, fitted.predict(queries[:, columns]))


@pytest.fixture
def planted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(130, 5))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0, X[:, 2] > 1, rng.random(130) > 0.5])
    return X[:90], Y[:90].astype(np.uint8), X[90:], Y[90:].astype(np.uint8)


@pytest.mark.parametrize("base", ["c45", "knn", "logistic", "naive-bayes", "svm-rbf", "tree"])
@pytest.mark.parametrize("name", NAMES)
def test_planted_labels_are_found_by_every_base_learner(name, base, planted) -> None:
    X, Y, queries, truth = planted
    fitted = get_classifier(name, base=base).fit(X, Y)
    predicted, proba = fitted.predict(queries), fitted.predict_proba(queries)
    agreement = (predicted == truth).mean(axis=0)
    assert min(agreement[0], agreement[1]) > 0.7
    assert proba.min() >= 0
    assert proba.max() <= 1
    # A label that is predicted scores no less than one that isn't.
    lowest = np.where(predicted == 1, proba, np.inf).min(axis=1)
    highest = np.where(predicted == 0, proba, -np.inf).max(axis=1)
    assert np.all(lowest >= highest)


@pytest.mark.parametrize("name", NAMES)
def test_all_kinds_of_input_give_the_same_bits(name, planted, tmp_path) -> None:
    X, Y, queries, _ = planted
    classifier = get_classifier(name, base="tree")
    expected = classifier.fit(X, Y).predict_proba(queries)
    lazy = da.from_array(X, chunks=(40, 3)), da.from_array(queries, chunks=(7, 5))
    store = ingest(ArrayTable(X, Y), tmp_path / "rows.zarr", tile=32)
    for rows, labels, others in (
        (X.tolist(), Y.tolist(), queries.tolist()),
        (sp.csr_matrix(X), sp.csr_matrix(Y), sp.csc_matrix(queries)),
        (*lazy[:1], Y, lazy[1]),
        (as_source(X, Y, tile=32), None, as_source(queries, tile=9)),
        (store, None, queries),
    ):
        found = classifier.fit(rows, labels).predict_proba(others)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_any_estimator_learns(name, planted) -> None:
    X, Y, queries, _ = planted
    base = DecisionTreeClassifier(max_depth=3, random_state=1)
    fitted = get_classifier(name, base=base).fit(X, Y)
    assert fitted.get_params()["base__max_depth"] == 3
    assert not hasattr(base, "tree_")
    if name == "br":
        for label in range(4):
            alone = base.fit(X, Y[:, label]).predict_proba(queries)[:, 1]
            np.testing.assert_array_equal(fitted.predict_proba(queries)[:, label], alone)


def test_models_draw_from_streams_of_their_own() -> None:
    """Model i of a job's classifier has the stream (4, crc32(label), repeat, fold, i)."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 3)), rng.integers(0, 2, (30, 3))
    stream = classifier_stream(7, "trees", 1, 2)
    fitted = get_classifier("br", base="tree", random_state=stream).fit(X, Y)
    for number, model in enumerate(fitted.models_):
        own = classifier_stream(7, "trees", 1, 2, number).generate_state(1)[0]
        assert model.model.tree.random_state == own
    integer = get_classifier("br", base="tree", random_state=7).fit(X, Y)
    assert (
        integer.models_[1].model.tree.random_state
        == (np.random.SeedSequence(7, spawn_key=(1,)).generate_state(1)[0])
    )


class TestFeaturesOfProblems:
    def orders(self, problems):
        rng = np.random.default_rng(9)
        return {problem: rng.permutation(5)[: rng.integers(1, 4)] for problem in problems}

    def test_each_label_has_its_own(self, planted) -> None:
        X, Y, queries, _ = planted
        subsets = self.orders([(label,) for label in range(4)])
        found = BinaryRelevance("tree").fit(X, Y, feature_subsets=subsets).predict_proba(queries)
        as_list = BinaryRelevance("tree").fit(X, Y, feature_subsets=[*subsets.values()])
        np.testing.assert_array_equal(as_list.predict_proba(queries), found)
        for (label,), features in subsets.items():
            whole = BinaryRelevance("tree").fit(X[:, features], Y)
            alone = whole.predict_proba(queries[:, features])
            np.testing.assert_array_equal(found[:, label], alone[:, label])
        train, test = as_source(X, Y), as_source(queries)
        last = [*BinaryRelevance("tree").problem_outcomes(train, test, subsets, [1, 5])][-1]
        np.testing.assert_array_equal(last.proba, found)

    @pytest.mark.parametrize("votes", ["hard", "soft"])
    def test_each_pair_has_its_own_and_each_label(self, planted, votes) -> None:
        X, Y, queries, _ = planted
        pairs = list(itertools.combinations(range(4), 2))
        subsets = self.orders([*pairs, *((label,) for label in range(4))])
        classifier = CalibratedLabelRanking("tree", votes=votes)
        fitted = classifier.fit(X, Y, feature_subsets=subsets)
        assert [model.problem.labels for model in fitted.models_] == list(subsets)
        train, test = as_source(X, Y), as_source(queries)
        outcomes = list(classifier.problem_outcomes(train, test, subsets, [1, 2, 5]))
        np.testing.assert_array_equal(outcomes[-1].proba, fitted.predict_proba(queries))
        np.testing.assert_array_equal(outcomes[-1].labels, fitted.predict(queries))
        for model, features in zip(fitted.models_, subsets.values(), strict=True):
            target = model.problem.target(Y)
            rows = X if target.rows is None else X[target.rows]
            tree = DecisionTreeClassifier(random_state=model.model.tree.random_state)
            expected = tree.fit(rows[:, features], target.codes).predict_proba(queries[:, features])
            answer = model.ask(as_source(queries).items())
            kept = fitted._used.used
            np.testing.assert_array_equal(kept[model.features], features)
            assert len(answer) == len(expected)

    def test_the_same_features_for_all_change_nothing(self, planted) -> None:
        X, Y, queries, _ = planted
        for name in ("br", "clr"):
            classifier = get_classifier(name, base="tree")
            every = {problem.labels: np.arange(5) for problem in classifier.models(4)}
            found = classifier.fit(X, Y, feature_subsets=every).predict_proba(queries)
            expected = classifier.fit(X, Y).predict_proba(queries)
            np.testing.assert_array_equal(found, expected)

    def test_no_feature_leaves_the_shares_of_the_classes(self, planted) -> None:
        X, Y, queries, _ = planted
        subsets = {(0,): [], (1,): [1], (2,): [], (3,): [0]}
        for base in ("tree", "logistic"):
            fitted = BinaryRelevance(base).fit(X, Y, feature_subsets=subsets)
            np.testing.assert_allclose(fitted.predict_proba(queries)[:, 0], Y[:, 0].mean())
        ((_, proba),) = BinaryRelevance("svm-rbf").curve(
            as_source(X, Y), as_source(queries), np.arange(5), [0]
        )
        np.testing.assert_allclose(proba, np.tile(Y.mean(axis=0), (40, 1)))

    def test_models_of_several_labels_predict_label_by_label(self, planted) -> None:
        X, Y, queries, _ = planted
        subsets = self.orders([(label,) for label in range(4)])
        train, test = as_source(X, Y), as_source(queries)
        for name in ("lp", "rakel"):
            classifier = get_classifier(name, base="tree")
            (outcome,) = classifier.problem_outcomes(train, test, subsets, [5])
            features = subsets[2,]
            alone = classifier.fit(X[:, features], Y).predict_proba(queries[:, features])
            np.testing.assert_array_equal(outcome.proba[:, 2], alone[:, 2])
            with pytest.raises(InputError, match="takes one list of features"):
                classifier.fit(X, Y, feature_subsets=subsets)

    def test_others_are_refused(self, planted) -> None:
        X, Y, _, _ = planted
        singles = {(label,): [0] for label in range(4)}
        pairs = {pair: [0] for pair in itertools.combinations(range(4), 2)}
        for name, subsets, message in (
            ("br", pairs, r"some for \(0, 1\)"),
            ("br", {(0,): [0]}, "given are 1; expected one list for each of 4 labels"),
            ("br", {**singles, (1,): [5]}, "label 1: expected each index once, from 0 to 4"),
            ("clr", singles, r"none for \(0, 1\)"),
            ("clr", pairs, r"none for \(0,\)"),
            ("clr", {**pairs, **singles, (1, 0): [0]}, "some that are none"),
            ("clr", {**pairs, **singles, (0, 1): [1, 1]}, r"problem \(0, 1\): expected each"),
        ):
            with pytest.raises(InputError, match=message):
                get_classifier(name).fit(X, Y, feature_subsets=subsets)


class TestMissingValues:
    def holes(self, planted):
        X, Y, queries, _ = planted
        X, queries = X.copy(), queries.copy()
        X[:12, 3] = np.nan
        queries[:5, 1] = np.nan
        return X, Y, queries

    @pytest.mark.parametrize("name", NAMES)
    def test_they_follow_the_base_learner(self, name, planted) -> None:
        X, Y, queries = self.holes(planted)
        for base in ("c45", "knn", "tree", DecisionTreeClassifier()):
            fitted = get_classifier(name, base=base).fit(X, Y)
            assert np.isfinite(fitted.predict_proba(queries)).all()
        for base, called in (
            ("logistic", "logistic"),
            ("svm-rbf", "svm-rbf"),
            ("naive-bayes", "naive-bayes"),
            (LogisticRegression(), "estimator"),
        ):
            message = (
                f"base learner {called} has no rule for missing(.|\n)*feature 3 has 12 missing"
            )
            with pytest.raises(MissingValuesError, match=message):
                get_classifier(name, base=base).fit(X, Y)

    def test_only_features_in_use_count_and_test_rows_do_too(self, planted) -> None:
        X, Y, queries = self.holes(planted)
        train, test = as_source(X, Y), as_source(queries)
        classifier = BinaryRelevance()
        assert len(list(classifier.curve(train, test, np.array([0, 2, 4, 3]), [1, 3]))) == 2
        for order in ([0, 3], [0, 1]):
            with pytest.raises(MissingValuesError, match=f"feature {order[1]} has"):
                list(classifier.curve(train, test, np.array(order), [2]))
        fitted = classifier.fit(np.nan_to_num(X), Y)
        with pytest.raises(MissingValuesError, match="feature 1 has 5 missing"):
            fitted.predict(queries)
        infinite = np.nan_to_num(queries)
        infinite[0, 2] = np.inf
        with pytest.raises(InputError, match="infinity or a value too large: feature 2"):
            fitted.predict(infinite)

    def test_imputation_uses_training_rows_only(self, planted) -> None:
        X, Y, queries = self.holes(planted)
        means = np.nanmean(X, axis=0)
        filled, asked = (np.where(np.isnan(rows), means, rows) for rows in (X, queries))
        expected = BinaryRelevance().fit(filled, Y).predict_proba(asked)
        fitted = BinaryRelevance(impute="mean").fit(X, Y)
        np.testing.assert_allclose(fitted.predict_proba(queries), expected, rtol=1e-7)
        ((_, proba),) = BinaryRelevance(impute="mean").curve(
            as_source(X, Y), as_source(queries), np.arange(5), [5]
        )
        np.testing.assert_array_equal(proba, fitted.predict_proba(queries))

    def test_tags_say_so(self) -> None:
        for options, allowed in (
            ({"base": "tree"}, True),
            ({"base": "logistic"}, False),
            ({"base": "logistic", "impute": "mean"}, True),
        ):
            tags = get_classifier("br", **options).__sklearn_tags__()
            assert tags.input_tags.allow_nan is allowed


class TestDraws:
    def test_the_same_seed_draws_the_same_distinct_subsets(self) -> None:
        first, same, other = (draw_subsets(14, 3, 28, np.random.SeedSequence(s)) for s in (0, 0, 1))
        assert first == same != other
        assert len(set(first)) == 28
        assert first[:9] == draw_subsets(14, 3, 9, np.random.SeedSequence(0))

    @given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 60), st.integers(0, 99))
    def test_as_many_as_there_are_at_most(self, q, size, wanted, seed) -> None:
        found = draw_subsets(q, size, wanted, np.random.SeedSequence(seed))
        there_are = math.comb(q, size) if size < q else 1
        assert len(found) == len(set(found)) == min(wanted, there_are)
        assert all(s == tuple(sorted(s)) and s[0] >= 0 and s[-1] < q for s in found)

    def test_every_subset_is_as_likely(self) -> None:
        counts = dict.fromkeys(itertools.combinations(range(6), 3), 0)
        for seed in range(600):
            for subset in draw_subsets(6, 3, 3, np.random.SeedSequence(seed)):
                counts[subset] += 1
        # 1800 draws over 20 subsets: 90 each, standard deviation below 9.
        assert max(abs(count - 90) for count in counts.values()) < 45

    def test_labels_that_no_subset_has_are_never_predicted(self, planted) -> None:
        X, Y, queries, _ = planted
        classifier = RAkEL("tree", labelset_size=2, n_models=1)
        fitted = classifier.fit(X, np.ones_like(Y))
        ((a, b),) = fitted.labelsets_
        expected = np.zeros((40, 4), dtype=np.uint8)
        expected[:, [a, b]] = 1
        np.testing.assert_array_equal(fitted.predict(queries), expected)
        (outcome,) = classifier.outcomes(as_source(X, Y), as_source(queries), np.arange(5), [5])
        assert "labels that no subset has, which are never predicted: 2" in outcome.notes


def test_notes_say_what_should_be_known(planted) -> None:
    X, Y, queries, _ = planted
    Y = Y.copy()
    Y[:, 2], Y[:, 3] = 0, Y[:, 0]
    train, test = as_source(X, Y), as_source(queries)
    classifier = CalibratedLabelRanking("logistic", {"max_iter": 1}, votes="soft")
    first, last = classifier.outcomes(train, test, np.arange(5), [1, 5])
    assert first.notes == ("base learner: logistic (ridge 1e-08, max_iter 1)", "votes: soft")
    told = dict(note.rsplit(": ", 1) for note in last.notes)
    # (0, 3) has no row; (0, 2), (1, 2), (2, 3) and (2,) have one class: 10 models at 2 points.
    assert told["no training row, no answer"] == "2 of 20 models"
    assert told["training rows of one class, which is the answer"] == "8 of 20 models"
    assert "logistic: the likelihood still rose after 1 steps" in told
    (only,) = LabelPowerset("tree", conventions="mulan").outcomes(train, test, np.arange(5), [5])
    assert "scores of label sets: confidence" in only.notes


def test_conventions_of_mulan_score_label_sets_by_confidence(planted) -> None:
    X, Y, queries, _ = planted
    votes, confidence, named = (
        by_neighbors("lp", 7, **options).fit(X, Y)
        for options in ({}, {"conventions": "mulan"}, {"scores": "confidence"})
    )
    proba = confidence.predict_proba(queries)
    np.testing.assert_array_equal(proba, named.predict_proba(queries))
    assert set(votes.predict_proba(queries).ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(confidence.predict(queries), votes.predict(queries))
    np.testing.assert_array_equal(
        votes.decide(votes.predict_proba(queries)), votes.predict(queries)
    )
    with pytest.raises(InputError, match="cannot be told from scores = 'confidence'"):
        confidence.decide(proba)


def test_conventions_of_zhang_scale_nothing_unless_told(planted) -> None:
    X, Y, queries, _ = planted
    X, queries = X * [1, 10, 100, 1, 1], queries * [1, 10, 100, 1, 1]

    def proba(**options):
        return get_classifier("br", base="knn", **options).fit(X, Y).predict_proba(queries)

    raw, scaled = (proba(base_params={"normalize": how}) for how in ("none", "minmax"))
    assert np.any(raw != scaled)
    np.testing.assert_array_equal(proba(conventions="zhang"), raw)
    np.testing.assert_array_equal(proba(), scaled)
    explicit = proba(conventions="zhang", base_params={"normalize": "minmax"})
    np.testing.assert_array_equal(explicit, scaled)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("br", {"base": "j48"}, "base = 'j48': expected one of"),
        ("br", {"base_params": {"C": 1}}, "base_params = .*logistic has no parameter 'C'"),
        ("br", {"threshold": 1.5}, "threshold = 1.5"),
        ("br", {"conventions": "weka"}, "conventions = 'weka'"),
        ("br", {"impute": "median"}, "impute = 'median'"),
        ("br", {"random_state": None}, "random_state = None: expected an integer"),
        ("br", {"random_state": -1}, "random_state = -1"),
        ("lp", {"scores": "p"}, "scores = 'p': expected one of None, 'votes'"),
        ("rakel", {"labelset_size": 0}, "labelset_size = 0"),
        ("rakel", {"n_models": 0}, "n_models = 0"),
        ("rakel", {"threshold": -1}, "threshold = -1"),
        ("clr", {"votes": "loud"}, "votes = 'loud': expected one of 'hard', 'soft'"),
    ],
)
def test_bad_parameters_are_named(name, options, message, planted) -> None:
    X, Y, queries, _ = planted
    classifier = get_classifier(name, **options)
    with pytest.raises(InputError, match=message):
        classifier.fit(X, Y)
    with pytest.raises(InputError, match=message):
        list(classifier.curve(as_source(X, Y), as_source(queries), np.arange(5), [5]))


class Picky(DecisionTreeClassifier):
    """A tree that refuses as many rows of the second class as it is told to."""

    def __init__(self, refused=None, when="fit") -> None:
        super().__init__()
        self.refused, self.when = refused, when

    def fit(self, X, y):
        if self.when == "fit" and int(np.sum(y)) == self.refused:
            raise OverflowError("these rows are not to my taste")
        return super().fit(X, y)

    def predict_proba(self, X):
        if self.when == "predict" and self.tree_.value[0, 0, -1] * self.tree_.n_node_samples[0] > 0:
            raise OverflowError("nor are those")
        return super().predict_proba(X)


def test_a_failing_model_is_named(planted) -> None:
    X, Y, queries, _ = planted
    train, test = as_source(X, Y), as_source(queries)
    for name, target, called in (
        ("br", Y[:, 2], "label 2"),
        ("clr", Y[Y[:, 1] != Y[:, 3], 1], "label 1 against label 3"),
    ):
        picky = get_classifier(name, base=Picky(int(target.sum())))
        for fit in (
            lambda picky=picky: picky.fit(X, Y),
            lambda picky=picky: list(picky.outcomes(train, test, np.arange(5), [5])),
        ):
            with pytest.raises(MlfsError, match="not to my taste") as raised:
                fit()
            error = pickle.loads(pickle.dumps(raised.value))
            assert error.message.startswith(f"the model of {called} failed: OverflowError: ")
            assert error.facts["labels"] == tuple(int(c) for c in called if c.isdigit())
            assert error.exit_code == 1
    with pytest.raises(MlfsError, match=r"the model of sets of labels 0, 1, 2, 3 failed"):
        get_classifier("lp", base=Picky(when="predict")).fit(X, Y).predict(queries)


def test_a_model_that_refuses_its_rows_is_named_in_the_same_words(planted) -> None:
    """What the user can correct stays so, with its hint."""
    X, Y, _, _ = planted
    singles = {(label,): np.arange(5) for label in range(4)}
    wrong = BinaryRelevance(Refusing())
    with pytest.raises(InputError, match="the model of label 0: I take nothing") as raised:
        wrong.fit(X, Y, feature_subsets=singles)
    assert (raised.value.hint, raised.value.exit_code) == ("Ask another.", 2)


class Refusing(DecisionTreeClassifier):
    def fit(self, X, y):
        raise InputError("I take nothing", hint="Ask another.")


@pytest.mark.cluster
def test_a_cluster_gives_the_same_bits(planted) -> None:
    from distributed import Client, LocalCluster

    X, Y, queries, _ = planted
    order = np.random.default_rng(5).permutation(5)

    def results():
        found = []
        for name, base in (
            ("br", "logistic"),
            ("lp", "c45"),
            ("rakel", "tree"),
            ("clr", "svm-rbf"),
        ):
            classifier = get_classifier(name, base=base)
            train, test = as_source(X, Y, tile=32), as_source(queries, tile=16)
            found += [proba for _, proba in classifier.curve(train, test, order, [1, 5])]
            fitted = classifier.fit(train)
            found += [fitted.predict_proba(queries), fitted.predict(queries)]
        return found

    expected = results()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
    ):
        found = results()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
