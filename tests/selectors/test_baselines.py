import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import chi2, mutual_info_classif

from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.selectors.baselines import ChiSquared, MutualInformation, Variance
from reference.baselines import chi_squared, information, variances
from reference.discretize import bin_table
from reference.tables import tables_with_categories

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


def kinds(X, nominal):
    return np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)


def expected_order(scores, X):
    constant = X.min(axis=0) == X.max(axis=0)
    keys = [float(f"{s:.8e}") for s in scores]
    return sorted(range(len(keys)), key=lambda r: (constant[r], -keys[r], r))


@FORMS
@given(table=tables_with_categories(), normalize=st.sampled_from(["minmax", "none"]))
def test_variance_equals_the_plain_twin(form, table, normalize):
    X, _, nominal = table
    fitted = Variance(normalize, tile=5).fit(form(X), feature_kind=kinds(X, nominal))
    expected = variances(X, normalize=normalize, nominal=nominal)
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-11)
    assert fitted.order_.tolist() == expected_order(expected, X)


@FORMS
@given(table=tables_with_categories())
def test_chi2_equals_the_plain_twin(form, table):
    X, Y, nominal = table
    X = np.abs(X)
    fitted = ChiSquared(tile=5).fit(form(X), Y, feature_kind=kinds(X, nominal))
    expected = np.array(chi_squared(X, Y, nominal))
    # Where observed and expected sums are equal, rounding of the twin's quotients is left.
    np.testing.assert_allclose(fitted.label_scores_, expected, rtol=1e-9, atol=1e-20)
    np.testing.assert_array_equal(fitted.scores_, fitted.label_scores_.mean(axis=1))


@FORMS
@given(table=tables_with_categories(), aggregate=st.sampled_from(["mean", "max"]))
def test_mutual_information_equals_the_plain_twin(form, table, aggregate):
    X, Y, nominal = table
    fitted = MutualInformation(aggregate, tile=5).fit(form(X), Y, feature_kind=kinds(X, nominal))
    expected = np.array(information(X, Y, nominal))
    np.testing.assert_allclose(fitted.label_scores_, expected, atol=1e-12)
    assert (fitted.label_scores_[expected == 0] == 0).all()
    together = expected.mean(axis=1) if aggregate == "mean" else expected.max(axis=1)
    np.testing.assert_allclose(fitted.scores_, together, atol=1e-12)


@FORMS
@pytest.mark.parametrize("values", ["counts", "reals"])
def test_chi2_is_scikit_learns(form, values):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, (300, 20)).astype(float)
    if values == "reals":
        X *= rng.random((300, 20))
    Y = (rng.random((300, 4)) < [0.1, 0.3, 0.5, 0.9]).astype(np.uint8)
    X[:, 0] += 3 * Y[:, 1]
    fitted = ChiSquared(tile=64).fit(form(X), Y)
    for label in range(4):
        theirs, _ = chi2(X, Y[:, label])
        np.testing.assert_allclose(fitted.label_scores_[:, label], theirs, rtol=1e-12, atol=1e-12)
    most = ChiSquared("max", tile=64).fit(form(X), Y)
    np.testing.assert_array_equal(most.scores_, most.label_scores_.max(axis=1))


@FORMS
def test_mutual_information_is_scikit_learns_on_the_same_bins(form):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(301, 15)) * (rng.random((301, 15)) < 0.7)
    X[:, 14] = rng.integers(0, 5, 301)
    Y = (rng.random((301, 4)) < [0.02, 0.3, 0.5, 0.9]).astype(np.uint8)
    X[:, 0] += Y[:, 1]
    kind = kinds(X, {14})
    fitted = MutualInformation(tile=64).fit(form(X), Y, feature_kind=kind)
    bins = np.array(bin_table(X, {14})).T
    for label in range(4):
        nats = mutual_info_classif(bins, Y[:, label], discrete_features=True)
        ours = fitted.label_scores_[:, label] * math.log(2)
        np.testing.assert_allclose(ours, nats, rtol=0, atol=1e-12)


def test_pearsons_statistic_of_a_nominal_feature():
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(5)
    codes, Y = rng.integers(0, 4, 200), rng.integers(0, 2, (200, 2))
    table = [[np.sum((codes == c) & (Y[:, 0] == y)) for y in (0, 1)] for c in range(4)]
    expected = scipy_stats.chi2_contingency(table, correction=False).statistic
    fitted = ChiSquared().fit(codes[:, None].astype(float), Y, feature_kind=[1])
    np.testing.assert_allclose(fitted.label_scores_[0, 0], expected, rtol=1e-12)


def test_information_is_bounded_by_entropies_and_nothing_for_constants():
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(50, 4)), (rng.random((50, 3)) < 0.1).astype(np.uint8)
    X[:, 1] = 7.0
    Y[:, 2] = 1
    X[:, 3] = Y[:, 0]
    fitted = MutualInformation().fit(X, Y)
    p = Y.mean(axis=0)[:2]
    entropy = [*(-p * np.log2(p) - (1 - p) * np.log2(1 - p)), 0.0]
    assert (fitted.label_scores_ <= np.array(entropy) + 1e-12).all()
    assert fitted.label_scores_[1].tolist() == [0.0, 0.0, 0.0]
    assert fitted.label_scores_[3, 0] == pytest.approx(entropy[0], abs=1e-12)
    assert fitted.order_[-1] == 1


def test_labels_that_all_or_no_rows_have_say_nothing():
    X = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
    Y = np.array([[1, 0], [1, 0], [1, 0]])
    for method in (ChiSquared, MutualInformation):
        assert not method().fit(X, Y).label_scores_.any()


def test_digits_survive_means_far_from_zero():
    rng = np.random.default_rng(7)
    near = rng.integers(0, 50, (80, 3)).astype(float)
    Y = rng.integers(0, 2, (80, 2))
    for form in (np.asarray, sp.csr_matrix):
        far = Variance("none", tile=16).fit(form(near + 1e9))
        np.testing.assert_allclose(far.scores_, near.var(axis=0), rtol=1e-12)
        shifted = ChiSquared(tile=16).fit(form(near + 1e9), Y)
        whole = (near + 1e9).sum(axis=0)[:, None]
        scaled = ChiSquared(tile=16).fit(near, Y).label_scores_ * near.sum(axis=0)[:, None] / whole
        np.testing.assert_allclose(shifted.label_scores_, scaled, rtol=1e-10)


def test_values_at_the_ends_of_the_range():
    X = np.array([[3e300, 3e-300, 0.0], [5e300, 5e-300, 1.0], [4e300, 4e-300, 0.0]])
    Y = np.array([[1], [0], [0]])
    for form in (np.asarray, sp.csr_matrix):
        scores = Variance().fit(form(X)).scores_
        np.testing.assert_allclose(scores, [1 / 6, 1 / 6, 2 / 9], rtol=1e-12)
        plain = ChiSquared().fit(np.array([[3.0], [5.0], [4.0]]), Y).label_scores_[0, 0]
        found = ChiSquared().fit(form(X), Y).label_scores_[:2, 0]
        np.testing.assert_allclose(found, [plain * 1e300, plain * 1e-300], rtol=1e-12)


def test_variance_needs_no_labels():
    X = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 5.0]])
    fitted = Variance("none").fit(X)
    np.testing.assert_allclose(fitted.scores_, X.var(axis=0))
    assert fitted.fit(X, np.ones((3, 1))).scores_.tolist() == fitted.scores_.tolist()


def test_negative_values_are_refused_by_chi2():
    X = np.array([[0.0, 1.0], [2.0, -0.5]])
    with pytest.raises(InputError, match=r"Negative values .*: feature 1 has -0.5"):
        ChiSquared().fit(X, [[1], [0]])


@pytest.mark.parametrize("method", [Variance, ChiSquared, MutualInformation])
def test_missing_values_are_refused_or_imputed(method):
    X = np.array([[0.0, np.nan], [2.0, 4.0], [1.0, 1.0], [5.0, 1.0]])
    Y = np.array([[1], [0], [1], [0]])
    with pytest.raises(MissingValuesError, match=r"feature 1 has 1 missing"):
        method().fit(X, Y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    expected = method().fit(filled, Y).scores_
    np.testing.assert_array_equal(method(impute="mean").fit(X, Y).scores_, expected)


@pytest.mark.parametrize(
    ("selector", "match"),
    [
        (Variance("max"), "normalize = 'max'"),
        (ChiSquared("sum"), "aggregate = 'sum'"),
        (MutualInformation("sum"), "aggregate = 'sum'"),
        (MutualInformation(impute="median"), "impute = 'median'"),
        (ChiSquared(n_features_to_select=3), "X has 2 features"),
        (Variance(tile=0), "tile = 0"),
    ],
)
def test_impossible_parameters_are_refused(selector, match):
    with pytest.raises(InputError, match=match):
        selector.fit(np.array([[0.0, 1.0], [2.0, 5.0]]), [[1], [0]])
