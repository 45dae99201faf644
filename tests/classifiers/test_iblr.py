"""IBLR by hand: leave-one-out counts, weights, labels without a regression, added features."""

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.iblr import IBLR
from mlfs_dask.errors import DegenerateInputWarning
from mlfs_dask.evaluate.metrics import score_all
from mlfs_dask.evaluate.splits import kfold
from mlfs_dask.graphs import logistic
from mlfs_dask.graphs.label_counts import counts_of_training
from mlfs_dask.graphs.neighbors import NeighborSearch
from mlfs_dask.graphs.source import as_source
from mlfs_dask.kernels.logistic import fit_logistic
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table


def test_training_rows_are_described_without_themselves():
    """Isolated pairs with opposite labels, k = 1: each row's input is the other row's label."""
    X = np.repeat(np.arange(20.0), 2)[:, None] * 10 + np.tile([0.0, 1.0], 20)[:, None]
    Y = np.tile([[1], [0]], (20, 1)).astype(np.uint8)
    Y[36:] = 1 - Y[36:]
    Y[39] = Y[38]  # one pair of equals, so that the weight stays finite
    counts = counts_of_training(NeighborSearch(as_source(X, Y)), 1, Y).counts
    partner = np.arange(40) ^ 1
    np.testing.assert_array_equal(counts[:, 0, 0], Y[partner, 0])
    fitted = IBLR(n_neighbors=1).fit(X, Y)
    assert fitted.alpha_[0, 0] < -1


def test_weights_and_probabilities_are_those_of_the_paper():
    """Equation 11 from the attributes of a fit: omega counts neighbours with and without."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    Y = (X[:, :2] + 0.4 * rng.random((80, 2)) > 0.7).astype(np.uint8)
    fitted = IBLR(n_neighbors=7).fit(X, Y)
    _, near = nearest(X, X[:5] + 0.01, 7)
    omega = (2.0 * Y[near] - 1.0).sum(axis=1)
    eta = fitted.intercept_ + omega @ fitted.alpha_.T
    expected = 1 / (1 + np.exp(-eta))
    np.testing.assert_allclose(fitted.predict_proba(X[:5] + 0.01), expected, rtol=1e-10)
    assert fitted.alpha_[0, 0] > 0
    assert fitted.beta_ is None
    assert np.all(fitted.n_iter_ < 20)


def nearest(X, queries, k):
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    rows, asked = (X - low) / span, (queries - low) / span
    distances = ((asked[:, None] - rows[None]) ** 2).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return distances, order


def test_the_weights_of_added_features_are_per_unit():
    """Equation 13: also where values are so large that columns are scaled by powers of two."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.random(90), rng.integers(0, 3, 90), 1e200 * rng.random(90)])
    Y = (X[:, :1] + 0.5 * rng.random((90, 1)) > 0.7).astype(np.uint8)
    fitted = IBLR(n_neighbors=5, plus=True).fit(X, Y, feature_kind=[0, 1, 0])
    assert fitted.beta_features_.tolist() == [0, 1, 1, 1, 2]
    assert fitted.beta_.shape == (1, 5)
    assert fitted.beta_[0, 0] > 0
    assert 0 < abs(fitted.beta_[0, 4]) < 1e-190
    codes = IBLR(n_neighbors=5, plus=True, nominal="codes").fit(X, Y, feature_kind=[0, 1, 0])
    assert codes.beta_features_.tolist() == [0, 1, 2]
    assert np.any(codes.predict_proba(X) != fitted.predict_proba(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_added_features_may_be_as_small_as_numbers_get(form):
    """Values of 1e-310 give the probabilities of values near 1; weights per unit overflow."""
    X = np.random.default_rng(4).integers(0, 2**20, (60, 2)) * 2.0**-20
    Y = (X[:, :1] + X[:, 1:] ** 2 > 0.8).astype(np.uint8)
    ordinary = IBLR(n_neighbors=5, plus=True).fit(form(X), Y)
    tiny = IBLR(n_neighbors=5, plus=True).fit(form(X * 2.0**-1030), Y)
    np.testing.assert_allclose(
        tiny.predict_proba(X * 2.0**-1030), ordinary.predict_proba(X), rtol=1e-9
    )
    np.testing.assert_allclose(tiny.intercept_, ordinary.intercept_, rtol=1e-9)
    np.testing.assert_array_equal(tiny.beta_, np.copysign(np.inf, ordinary.beta_))


def test_labels_without_a_choice_have_constant_probabilities():
    rng = np.random.default_rng(2)
    X = rng.random((30, 2))
    Y = np.column_stack([np.zeros(30), X[:, 0] > 0.5, np.ones(30)]).astype(np.uint8)
    fitted = IBLR(n_neighbors=3).fit(X, Y)
    assert fitted.intercept_[[0, 2]].tolist() == [-np.inf, np.inf]
    proba = fitted.predict_proba(X)
    assert set(proba[:, 0]) == {0.0}
    assert set(proba[:, 2]) == {1.0}
    assert np.all((proba[:, 1] > 0) & (proba[:, 1] < 1))


def test_a_label_without_error_keeps_finite_weights():
    """The ridge bounds the weights; the decision is right on every row."""
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(5, 6, 20)])[:, None]
    Y = (X > 3).astype(np.uint8)
    fitted = IBLR(n_neighbors=3, plus=True).fit(X, Y)
    assert np.all(np.isfinite(fitted.alpha_))
    assert np.abs(fitted.alpha_).max() > 1
    np.testing.assert_array_equal(fitted.predict(X), Y)


def test_missing_values_of_added_features_are_replaced_for_the_regressions_only():
    rng = np.random.default_rng(3)
    X = rng.random((60, 3))
    X[:, 2] = rng.integers(0, 3, 60)
    Y = (X[:, :2] + 0.3 * rng.random((60, 2)) > 0.6).astype(np.uint8)
    kind = [0, 0, 1]
    holes, asked = X.copy(), X[:8].copy()
    holes[5, 0] = asked[1, 2] = np.nan
    train, test = as_source(holes, Y, feature_kind=kind), as_source(asked, feature_kind=kind)
    plain, plus = IBLR(5), IBLR(5, plus=True)
    (outcome,) = plus.outcomes(train, test, np.arange(3), [3])
    assert outcome.notes[1] == (
        "plus: missing values of 2 added features were replaced by the training mean (nominal: the "
        "mode) for the logistic part only"
    )
    (unsaid,) = plain.outcomes(train, test, np.arange(3), [3])
    assert len(unsaid.notes) == 1
    assert plus.fit(train).imputed_ == 1
    assert plain.fit(train).imputed_ == 0
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    other = plus.fit(filled, Y, feature_kind=kind).predict_proba(test)
    assert np.any(other != outcome.proba)  # distances see the hole, not the mean


@pytest.mark.filterwarnings("ignore::mlfs_dask.errors.DegenerateInputWarning")
def test_regressions_that_do_not_end_are_reported(monkeypatch):
    def stop_at_once(blocks, target):
        return fit_logistic(blocks, target, most_steps=1)

    monkeypatch.setattr(logistic, "fit_logistic", stop_at_once)
    rng = np.random.default_rng(4)
    X, Y = rng.random((40, 2)), (rng.random((40, 3)) < 0.5).astype(np.uint8)
    with pytest.warns(DegenerateInputWarning, match="3 labels have not converged after 1 Newton"):
        IBLR(5).fit(X, Y)


PUBLISHED = {
    "brknn": ({}, (0.191, 0.265, 1.771, 0.183, 0.805)),
    "iblr": ({}, (0.185, 0.257, 1.689, 0.146, 0.816)),
    "iblr plus": ({"plus": True}, (0.213, 0.278, 1.844, 0.168, 0.794)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_paper_c_on_emotions(name, mlfs_data, tmp_path):
    """5 x 10 folds. One-error of equal folds spreads by 0.01 around the printed value."""
    options, printed = PUBLISHED[name]
    metrics = ["hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision"]
    table = open_table(mlfs_data / "emotions" / "emotions.arff")
    dataset = ingest(table, tmp_path / "emotions.zarr")
    rows, everything = as_source(dataset), np.arange(dataset.n_features)
    values = []
    for repeat in range(5):
        for test in kfold(dataset.n_samples, 10, 0, repeat):
            train = np.setdiff1d(np.arange(dataset.n_samples), test)
            classifier = get_classifier(name.split()[0], **options)
            (outcome,) = classifier.outcomes(
                rows.take(train), rows.take(test), everything, [dataset.n_features]
            )
            scores = score_all(metrics, dataset.Y[test], outcome.proba, outcome.labels)
            values.append([scores[metric].value for metric in metrics])
    found = np.mean(values, axis=0)
    assert np.all(np.abs(found - printed) <= [0.005, 0.01, 0.03, 0.005, 0.005])
