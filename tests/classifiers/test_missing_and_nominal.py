"""Missing values and nominal features reach every classifier, in fits and in curves."""

import numpy as np
import pytest

from mlfs_dask import get_classifier
from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs.source import as_source

BASES = ["c45", "knn", "tree", "logistic", "naive-bayes", "svm-rbf"]
TRANSFORMED = [(name, {"base": base}) for name in ("br", "lp", "rakel", "clr") for base in BASES]
BY_NEIGHBOURS = [
    ("mlknn", {}),
    ("dmlknn", {}),
    ("brknn", {"extension": "a"}),
    ("iblr", {}),
    ("iblr", {"plus": True}),
]
EVERY = [*BY_NEIGHBOURS, *TRANSFORMED, ("mlnb", {})]
NATIVE = [*BY_NEIGHBOURS, *(each for each in TRANSFORMED if each[1]["base"] in BASES[:3])]
REFUSING = [each for each in EVERY if each not in NATIVE]


def cases(entries):
    ids = ["-".join([name, *map(str, options.values())]) for name, options in entries]
    return pytest.mark.parametrize(("name", "options"), entries, ids=ids)


@pytest.fixture
def table():
    """A nominal feature of five codes and two numeric ones; three labels that mostly follow."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(0, 5, 160), rng.random(160), rng.random(160)]).astype(float)
    even = X[:, 0] % 2 == 0
    Y = np.column_stack([even, X[:, 1] > 0.5, even & (X[:, 2] > 0.3)]).astype(np.uint8)
    Y ^= (rng.random(Y.shape) < 0.1).astype(np.uint8)
    return X, Y, np.array([1, 0, 0])


def roads(name, options, X, Y, queries, kind):
    """Scores by a fit and by a curve."""
    classifier = get_classifier(name, **options)
    proba = classifier.fit(X, Y, feature_kind=kind).predict_proba(queries)
    train, test = (
        as_source(rows, labels, feature_kind=kind) for rows, labels in ((X, Y), (queries, None))
    )
    ((_, along),) = classifier.curve(train, test, np.arange(X.shape[1]), [X.shape[1]])
    np.testing.assert_array_equal(along, proba)
    return proba


@cases([each for each in EVERY if each[0] != "mlnb"])
def test_names_of_categories_do_not_matter(name, options, table) -> None:
    """Other codes, other order, other gaps: the same scores. As numbers they are others."""
    X, Y, kind = table
    renamed = X.copy()
    renamed[:, 0] = np.array([40, 3, 7, 0, 11])[X[:, 0].astype(int)]
    codes = [roads(name, options, rows[:120], Y[:120], rows[120:], kind) for rows in (X, renamed)]
    # Trees may meet equally good splits in another order.
    differ = np.abs(codes[0] - codes[1]) > 1e-6
    assert differ.mean() <= (0.2 if options.get("base") == "tree" else 0.0)
    numbers = roads(name, options, X[:120], Y[:120], X[120:], np.zeros(3, dtype=int))
    assert np.any(np.abs(numbers - codes[0]) > 1e-6)


@cases([each for each in EVERY if each[0] != "mlnb"])
def test_a_category_that_training_rows_lack_is_no_error(name, options, table) -> None:
    X, Y, kind = table
    queries = X[:20].copy()
    queries[:, 0] = 9
    proba = roads(name, options, X, Y, queries, kind)
    assert proba.min() >= 0
    assert proba.max() <= 1


def test_categories_have_no_density(table) -> None:
    X, Y, kind = table
    with pytest.raises(InputError, match="nominal"):
        get_classifier("mlnb").fit(X, Y, feature_kind=kind)


def with_holes(X):
    X = X.copy()
    holes = np.random.default_rng(6).random(X.shape) < 0.1
    X[holes] = np.nan
    return X


@cases(NATIVE)
def test_missing_values_are_taken_as_they_are(name, options, table) -> None:
    X, Y, kind = table
    holes = with_holes(X)
    proba = roads(name, options, holes[:120], Y[:120], holes[120:], kind)
    assert np.isfinite(proba).all()
    imputed = {**options, "impute": "mean"}
    filled = roads(name, imputed, holes[:120], Y[:120], holes[120:], kind)
    assert np.any(filled != proba)
    labels = get_classifier(name, **options).fit(holes, Y, feature_kind=kind).predict(holes)
    assert (labels == Y).mean() > 0.7


@cases(REFUSING)
def test_missing_values_are_refused_by_name_or_imputed(name, options, table) -> None:
    X, Y, kind = table
    kind = np.zeros(3, dtype=int) if name == "mlnb" else kind
    holes = with_holes(X)
    count = int(np.isnan(holes[:120, 0]).sum())
    with pytest.raises(MissingValuesError, match=f"feature 0 has {count} missing"):
        get_classifier(name, **options).fit(holes[:120], Y[:120], feature_kind=kind)
    fitted = get_classifier(name, **options).fit(X, Y, feature_kind=kind)
    with pytest.raises(MissingValuesError, match="missing"):
        fitted.predict(holes)
    proba = roads(name, {**options, "impute": "mean"}, holes[:120], Y[:120], holes[120:], kind)
    assert np.isfinite(proba).all()


@cases(EVERY)
def test_imputation_is_the_training_mean_and_the_first_mode(name, options, table) -> None:
    X, Y, kind = table
    kind = np.zeros(3, dtype=int) if name == "mlnb" else kind
    holes = with_holes(X)
    fill = np.nanmean(holes[:120], axis=0)
    if kind[0]:
        fill[0] = np.bincount(holes[:120, 0][~np.isnan(holes[:120, 0])].astype(int)).argmax()
    by_hand = np.where(np.isnan(holes), fill, holes)
    found = roads(name, {**options, "impute": "mean"}, holes[:120], Y[:120], holes[120:], kind)
    expected = roads(name, options, by_hand[:120], Y[:120], by_hand[120:], kind)
    # The mean may be rounded otherwise, and a split or a neighbour be another one.
    assert np.mean(np.abs(found - expected) > 1e-6) < 0.05
