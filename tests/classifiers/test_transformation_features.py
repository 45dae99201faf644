"""br and clr with features of their own for each model, and what other methods make of them."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.br import BinaryRelevance
from mlfs_dask.classifiers.clr import CalibratedLabelRanking
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.source import as_source


def drawn_orders(problems):
    rng = np.random.default_rng(9)
    return {problem: rng.permutation(5)[: rng.integers(1, 4)] for problem in problems}


def test_each_label_has_features_of_its_own(four_labels) -> None:
    X, Y, queries, _ = four_labels
    subsets = drawn_orders([(label,) for label in range(4)])
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
def test_each_pair_has_features_of_its_own_and_each_label(four_labels, votes) -> None:
    X, Y, queries, _ = four_labels
    pairs = list(itertools.combinations(range(4), 2))
    subsets = drawn_orders([*pairs, *((label,) for label in range(4))])
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


def test_the_same_features_for_all_change_nothing(four_labels) -> None:
    X, Y, queries, _ = four_labels
    for name in ("br", "clr"):
        classifier = get_classifier(name, base="tree")
        every = {problem.labels: np.arange(5) for problem in classifier.models(4)}
        found = classifier.fit(X, Y, feature_subsets=every).predict_proba(queries)
        expected = classifier.fit(X, Y).predict_proba(queries)
        np.testing.assert_array_equal(found, expected)


def test_no_feature_leaves_the_shares_of_the_classes(four_labels) -> None:
    X, Y, queries, _ = four_labels
    subsets = {(0,): [], (1,): [1], (2,): [], (3,): [0]}
    for base in ("tree", "logistic"):
        fitted = BinaryRelevance(base).fit(X, Y, feature_subsets=subsets)
        np.testing.assert_allclose(fitted.predict_proba(queries)[:, 0], Y[:, 0].mean())
    ((_, proba),) = BinaryRelevance("svm-rbf").curve(
        as_source(X, Y), as_source(queries), np.arange(5), [0]
    )
    np.testing.assert_allclose(proba, np.tile(Y.mean(axis=0), (40, 1)))


def test_models_of_several_labels_predict_label_by_label(four_labels) -> None:
    X, Y, queries, _ = four_labels
    subsets = drawn_orders([(label,) for label in range(4)])
    train, test = as_source(X, Y), as_source(queries)
    for name in ("lp", "rakel"):
        classifier = get_classifier(name, base="tree")
        (outcome,) = classifier.problem_outcomes(train, test, subsets, [5])
        features = subsets[2,]
        alone = classifier.fit(X[:, features], Y).predict_proba(queries[:, features])
        np.testing.assert_array_equal(outcome.proba[:, 2], alone[:, 2])
        with pytest.raises(InputError, match="takes one list of features"):
            classifier.fit(X, Y, feature_subsets=subsets)


def test_features_of_other_problems_are_refused(four_labels) -> None:
    X, Y, _, _ = four_labels
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
