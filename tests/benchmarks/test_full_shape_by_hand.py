"""Scores on the full shape of tmc2007 against SciPy by hand: nothing goes wrong with the size."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import chi2

import mlfs_dask as mlfs
from benchmarks import peers
from benchmarks.large import LargeStores
from benchmarks.test_bench_information import pmu_by_hand

pytestmark = pytest.mark.slow

BLOCK = 4096


@pytest.fixture(scope="module")
def dataset(large: LargeStores):
    return mlfs.open_dataset(large.tmc2007())


@pytest.fixture(scope="module")
def rows(dataset):
    """0/1 features as CSR, labels, and which features are constant."""
    X, Y = peers.in_memory(dataset)
    X = sp.csr_matrix(X).astype(np.float64)
    filled = np.asarray(X.sum(axis=0)).ravel()
    assert X.max() == 1.0
    return X, Y.astype(np.float64), (filled == 0) | (filled == len(Y))


def spec(X, Y):
    """phi1 with Jaccard, label sets collapsed, a block of columns at a time."""
    sets, codes, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    S = peers.jaccard(sets, sets)
    degree = (S @ counts)[codes.ravel()]
    member = sp.csr_matrix((np.ones(len(Y)), (codes.ravel(), np.arange(len(Y)))))
    sums = (member @ X).tocsc()
    square = X.power(2).T @ degree
    inner = []
    for start in range(0, X.shape[1], BLOCK):
        a = sums[:, start : start + BLOCK].toarray()
        inner.append(np.einsum("uf,uf->f", a, S @ a))
    return 1.0 - np.concatenate(inner) / square


def mddm(X, Y):
    G = X.T @ (Y - Y.mean(axis=0))
    return (G * G).sum(axis=1)


def chi_squared(X, Y):
    return np.mean([chi2(X, label)[0] for label in Y.T], axis=0)


def mutual_information(X, Y):
    n, both = len(Y), X.T @ Y
    ones, with_label = np.asarray(X.sum(axis=0)).reshape(-1, 1), Y.sum(axis=0)
    total = np.zeros(both.shape)
    for cell, row, column in (
        (both, ones, with_label),
        (ones - both, ones, n - with_label),
        (with_label - both, n - ones, with_label),
        (n - ones - with_label + both, n - ones, n - with_label),
    ):
        total += cell / n * np.log2(np.where(cell > 0, cell * n / (row * column), 1.0))
    return total.mean(axis=1)


def wrapper(X, Y):
    n, inside, ones = len(Y), X.T @ Y, np.asarray(X.sum(axis=0)).reshape(-1, 1)
    outside, with_label = ones - inside, Y.sum(axis=0)
    inner = inside * inside / with_label + outside * outside / (n - with_label)
    return (1.0 - inner / ones).T


HAND = {
    "spec": ({}, spec),
    "mddm": ({"constraint": "proj"}, mddm),
    "chi2": ({}, chi_squared),
    "mutual-info": ({}, mutual_information),
    "spec-wrapper": ({"order": 1}, wrapper),
}


@pytest.mark.filterwarnings("ignore")  # 0 / 0 of features without a value
@pytest.mark.parametrize("method", HAND)
def test_scores_by_hand(method: str, dataset, rows) -> None:
    X, Y, constant = rows
    parameters, by_hand = HAND[method]
    ours = mlfs.get_selector(method, **parameters).fit(dataset).scores_
    theirs = by_hand(X, Y)
    known = ~constant
    largest = np.abs(theirs[..., known]).max()
    np.testing.assert_allclose(
        ours[..., known], theirs[..., known], rtol=1e-8, atol=1e-12 * largest
    )


def test_mllap_by_hand(dataset, rows) -> None:
    """The sums by label, then the greedy loop as equation (9) says, for the first choices."""
    X, Y, constant = rows
    n, q = Y.shape
    inside, total = (X.T @ Y), np.asarray(X.sum(axis=0)).ravel()
    degree = (((2 * Y - 1) @ (2 * Y - 1).sum(axis=0)) + q * n) / (2 * q)
    square = X.T @ degree
    form = (inside**2 + (total[:, None] - inside) ** 2).sum(axis=1) / q
    a = 2.0 * (square - form)
    b = square - square**2 / degree.sum()
    fitted = mlfs.get_selector("mllap").fit(dataset)
    left, top, bottom = ~constant, 0.0, 0.0
    for feature in fitted.order_[:30].tolist():
        with np.errstate(invalid="ignore", divide="ignore"):
            gain = (a - (top / bottom) * b) / (bottom + b) if bottom else a / b
        gain = np.where(left, gain, np.inf)
        assert gain[feature] <= gain.min() + 1e-8 * abs(gain.min()) + 1e-12
        left[feature] = False
        top, bottom = top + a[feature], bottom + b[feature]
        np.testing.assert_allclose(fitted.scores_[feature], top / bottom, rtol=1e-8)
    order = fitted.order_[: int((~constant).sum())]
    path = np.cumsum(a[order]) / np.cumsum(b[order])
    np.testing.assert_allclose(fitted.scores_[order], path, rtol=1e-7)


def test_pmu_by_hand(dataset) -> None:
    fitted = mlfs.get_selector("pmu", n_features_to_select=10).fit(dataset)
    assert fitted.order_[:10].tolist() == pmu_by_hand(dataset, limit=10)
