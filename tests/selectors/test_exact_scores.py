"""χ² and mutual information against scikit-learn, with exact fractions and 50 digits as the judge.

Scores of both equal the exact ones to 1e-12 of the larger of 1 and the score. Smaller scores, where
observed and expected sums are nearly equal, are exact here and rounded there.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import chi2, mutual_info_classif

import mlfs_dask as mlfs
from mlfs_dask.selectors.baselines import ChiSquared, MutualInformation
from reference.discretize import bin_table


def exact_chi2(X, Y):
    """``(n S_l - n_l S)² / (S n_l (n - n_l))`` from integers: floats are fractions of 2^k."""
    n, out = len(X), np.zeros((X.shape[1], Y.shape[1]))
    for r in range(X.shape[1]):
        ratios = [float(v).as_integer_ratio() for v in X[:, r]]
        unit = max(below for _, below in ratios)
        column = [above * (unit // below) for above, below in ratios]
        whole = sum(column)
        if min(column) == max(column):
            continue
        for label in range(Y.shape[1]):
            members = np.flatnonzero(Y[:, label]).tolist()
            count, mine = len(members), sum(column[i] for i in members)
            if 0 < count < n:
                even = whole * count * (n - count) * unit
                out[r, label] = Fraction((n * mine - count * whole) ** 2, even)
    return out


def exact_information(bins, Y):
    """In nats, with 50 digits."""
    n, out = len(bins), np.zeros((bins.shape[1], Y.shape[1]))
    with localcontext(prec=50):
        for r, label in np.ndindex(out.shape):
            table = np.zeros((bins[:, r].max() + 1, 2), dtype=int)
            np.add.at(table, (bins[:, r], Y[:, label]), 1)
            rows, columns = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
            out[r, label] = sum(
                (Decimal(int(c)) / n) * (Decimal(int(c)) * n / (rows[b] * columns[y])).ln()
                for (b, y), c in np.ndenumerate(table)
                if c
            )
    return out


def made(dense):
    rng = np.random.default_rng(8)
    X = rng.random((400, 12)) * (rng.random((400, 12)) < (1.0 if dense else 0.6))
    X[:, 0] *= 1e6
    Y = (rng.random((400, 4)) < [0.02, 0.3, 0.5, 0.9]).astype(np.uint8)
    X[:, 1] += Y[:, 1]
    return X, Y


def real(name):
    dataset = mlfs.open_dataset(name)
    X = dataset.X[:]
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    return X - np.minimum(X.min(axis=0), 0.0), np.asarray(dataset.Y)


def check_chi2(X, Y):
    exact = exact_chi2(X, Y)
    theirs = np.column_stack([chi2(X, y)[0] for y in Y.T])
    theirs[X.min(axis=0) == X.max(axis=0)] = 0.0  # constants say nothing, whatever rounding left
    scale = np.maximum(exact, 1.0)
    np.testing.assert_array_less(abs(np.nan_to_num(theirs) - exact) / scale, 1e-12)
    fitted = ChiSquared().fit(X, Y).label_scores_
    np.testing.assert_allclose(fitted, exact, rtol=1e-14, atol=0)
    np.testing.assert_array_less(abs(np.nan_to_num(theirs) - fitted) / scale, 1e-12)
    for form, tile in ((np.asarray, 61), (sp.csr_matrix, 4096), (sp.csr_matrix, 61)):
        other = ChiSquared(tile=tile).fit(form(X), Y).label_scores_
        assert other.tobytes() == fitted.tobytes()
    small = exact > 0
    return (abs(theirs - exact)[small] / exact[small]).max()


def check_information(X, Y):
    fitted = MutualInformation().fit(X, Y).label_scores_ * math.log(2)
    bins = np.array(bin_table(X, ())).T
    exact = exact_information(bins, Y)
    np.testing.assert_allclose(fitted, exact, rtol=0, atol=1e-12)
    theirs = [mutual_info_classif(bins, y, discrete_features=True) for y in Y.T]
    np.testing.assert_allclose(fitted, np.column_stack(theirs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dense", [True, False])
def test_chi2_is_exact_where_scikit_learns_is_rounded(dense):
    assert check_chi2(*made(dense)) > 1e-14


def test_information_is_right_to_1e12():
    X, Y = made(False)
    check_information(X[:, :5], Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["emotions", "yeast", "birds", "enron"])
def test_scores_of_real_data(name, mlfs_data):
    X, Y = real(name)
    check_chi2(X, Y)
    check_information(X[:, :: max(1, X.shape[1] // 40)], Y)
