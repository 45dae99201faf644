"""Missing and infinite values in br, lp, rakel and clr: the base learner decides."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.br import BinaryRelevance
from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs.source import as_source

NAMES = ["br", "lp", "rakel", "clr"]


def with_holes(four_labels):
    X, Y, queries, _ = four_labels
    X, queries = X.copy(), queries.copy()
    X[:12, 3] = np.nan
    queries[:5, 1] = np.nan
    return X, Y, queries


@pytest.mark.parametrize("name", NAMES)
def test_missing_values_follow_the_base_learner(name, four_labels) -> None:
    X, Y, queries = with_holes(four_labels)
    for base in ("c45", "knn", "tree", DecisionTreeClassifier()):
        fitted = get_classifier(name, base=base).fit(X, Y)
        assert np.isfinite(fitted.predict_proba(queries)).all()
    for base, called in (
        ("logistic", "logistic"),
        ("svm-rbf", "svm-rbf"),
        ("naive-bayes", "naive-bayes"),
        (LogisticRegression(), "estimator"),
    ):
        message = f"base learner {called} has no rule for missing(.|\n)*feature 3 has 12 missing"
        with pytest.raises(MissingValuesError, match=message):
            get_classifier(name, base=base).fit(X, Y)


def test_missing_values_count_in_features_in_use_and_in_test_rows_too(four_labels) -> None:
    X, Y, queries = with_holes(four_labels)
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


def test_imputation_uses_training_rows_only(four_labels) -> None:
    X, Y, queries = with_holes(four_labels)
    means = np.nanmean(X, axis=0)
    filled, asked = (np.where(np.isnan(rows), means, rows) for rows in (X, queries))
    expected = BinaryRelevance().fit(filled, Y).predict_proba(asked)
    fitted = BinaryRelevance(impute="mean").fit(X, Y)
    np.testing.assert_allclose(fitted.predict_proba(queries), expected, rtol=1e-7)
    ((_, proba),) = BinaryRelevance(impute="mean").curve(
        as_source(X, Y), as_source(queries), np.arange(5), [5]
    )
    np.testing.assert_array_equal(proba, fitted.predict_proba(queries))


def test_tags_say_whether_missing_values_are_taken() -> None:
    for options, allowed in (
        ({"base": "tree"}, True),
        ({"base": "logistic"}, False),
        ({"base": "logistic", "impute": "mean"}, True),
    ):
        tags = get_classifier("br", **options).__sklearn_tags__()
        assert tags.input_tags.allow_nan is allowed
