import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs.columns import make_columns
from mlfs_dask.graphs.crossproducts import centred_columns, gram_product
from mlfs_dask.graphs.deviations import column_scatter
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from reference.tables import tables

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


def made(X, tile=5):
    source, executor = as_source(X, tile=tile), InProcess(1)
    summary = summarize_columns(source, executor)
    return source, make_columns(source, summary, executor), summary, executor


@FORMS
@given(table=tables(), seed=st.integers(0, 99), zeros=st.booleans())
def test_weighted_scatter_equals_exact_sums(form, table, seed, zeros):
    X, _ = table
    weight = np.random.default_rng(seed).random(len(X)) * 10.0
    if zeros:
        weight[::2] = 0.0
    source, columns, _, executor = made(form(X))
    mean, scatter = column_scatter(source, columns, weight, executor)
    for r in range(X.shape[1]):
        if not weight.any():
            assert scatter[r] == mean[r] == 0.0
            continue
        f = [v - X[0, r] for v in X[:, r].tolist()]
        whole = math.fsum(weight)
        middle = math.fsum(w * v for w, v in zip(weight, f, strict=True)) / whole
        expected = math.fsum(w * (v - middle) ** 2 for w, v in zip(weight, f, strict=True))
        np.testing.assert_allclose(mean[r], middle + X[0, r], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(scatter[r], expected, rtol=1e-10, atol=1e-25 * whole)


@FORMS
@given(table=tables(), seed=st.integers(0, 99))
def test_weights_may_span_any_number_of_powers_of_ten(form, table, seed):
    """Against fractions, also where the rows of a column's zeros weigh next to nothing."""
    X, _ = table
    weight = 10.0 ** np.random.default_rng(seed).uniform(-200.0, 0.0, len(X))
    source, columns, _, executor = made(form(X))
    scatter = column_scatter(source, columns, weight, executor).scatter
    exact = [Fraction(w) for w in weight.tolist()]
    for r in range(X.shape[1]):
        f = [Fraction(v) for v in X[:, r].tolist()]
        middle = sum(w * v for w, v in zip(exact, f, strict=True)) / sum(exact)
        expected = sum(w * (v - middle) ** 2 for w, v in zip(exact, f, strict=True))
        np.testing.assert_allclose(scatter[r], float(expected), rtol=1e-9)


@FORMS
@pytest.mark.parametrize("width", [1, 3, 9])
def test_products_with_centred_columns(form, width):
    """Columns with zeros, without, and more than one block of each."""
    rng = np.random.default_rng(width)
    X = rng.random((50, 600)) * (rng.random((50, 600)) < 0.2)
    X[:, ::2] = 3.0 + rng.random((50, 300))
    source, columns, summary, executor = made(form(X), tile=16)
    mean, _ = column_scatter(source, columns, np.ones(50), executor)
    centred = centred_columns(source, columns, summary, mean)
    assert len(centred.full) == (300 if source.is_sparse else 600)
    vectors = rng.normal(size=(600, width))
    gram = gram_product(source, centred, executor)(vectors)
    np.testing.assert_allclose(gram, (X - mean).T @ ((X - mean) @ vectors), rtol=1e-9, atol=1e-10)
