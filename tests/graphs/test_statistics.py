"""Column summaries against NumPy, for any tile, dense and sparse."""

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from mlfs_dask.errors import MissingValuesError
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import imputation_values, refuse_missing, summarize_columns


@st.composite
def columns(draw):
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.choice([-1.5, 0.0, 0.0, 1.0, 3.0], (n, d))
    X[:, rng.random(d) < 0.3] = rng.choice([0.0, 2.0])
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = np.nan
    return X


@given(columns(), st.integers(1, 9))
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_summary_equals_numpy(X, tile):
    for given_X in (X, sp.csr_matrix(X)):
        summary = summarize_columns(as_source(given_X, tile=tile), InProcess(2))
        np.testing.assert_array_equal(summary.low, np.nanmin(X, axis=0))
        np.testing.assert_array_equal(summary.high, np.nanmax(X, axis=0))
        np.testing.assert_allclose(summary.total, np.nansum(X, axis=0), atol=1e-12)
        np.testing.assert_array_equal(summary.n_missing, np.isnan(X).sum(axis=0))
        np.testing.assert_array_equal(summary.binary, np.isin(X, (0, 1)).all(axis=0))
        known = [set(column[~np.isnan(column)]) for column in X.T]
        np.testing.assert_array_equal(summary.constant, [len(k) <= 1 for k in known])


@given(columns(), st.integers(1, 9), st.data())
def test_imputation_is_the_mean_or_the_mode(X, tile, data):
    d = X.shape[1]
    kind = np.array(data.draw(st.lists(st.integers(0, 1), min_size=d, max_size=d)))
    X = np.where(kind == 1, np.abs(np.round(X)), X)
    for given_X in (X, sp.csr_matrix(X)):
        values = imputation_values(as_source(given_X, feature_kind=kind, tile=tile), InProcess(2))
        for j, column in enumerate(X.T):
            known = sorted(column[~np.isnan(column)])
            if not known:
                expected = 0.0
            elif kind[j]:
                expected = max(sorted(set(known)), key=known.count)
            else:
                expected = sum(known) / len(known)
            assert values[j] == pytest.approx(expected, abs=1e-12)


def test_missing_values_are_refused_by_name_and_count():
    X = np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 1.0]])
    source = as_source(X)
    with pytest.raises(MissingValuesError, match=r"feature 1 has 2 missing values, and 1 more"):
        refuse_missing(summarize_columns(source, InProcess(1)), source, "spec")
