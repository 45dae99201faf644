"""Digits that survive, and second passes where they would not."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs.affinity import LabelAffinity
from mlfs_dask.graphs.columns import make_columns
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.spectral import spectral_terms
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.kernels.similarity import similarity_rule
from mlfs_dask.selectors.mllap import MLLAP
from mlfs_dask.selectors.spec import SPEC
from reference.mllap import mllap_order, scatter_terms
from reference.spec import quadratic_forms, similarity_matrix, spec_scores
from reference.tables import tables

ROADS = {"jaccard": ("collapsed", "pairs"), "matching": ("lowrank", "collapsed", "pairs")}


def terms_of(X, Y, kind, road, tile=7):
    executor = InProcess(1)
    source = as_source(X, Y, tile=tile)
    columns = make_columns(source, summarize_columns(source, executor), executor)
    affinity = LabelAffinity(find_label_sets(Y), similarity_rule(kind, Y.shape[1]))
    return spectral_terms(source, columns, affinity, road, executor)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("kind", "road"), [(k, r) for k, rs in ROADS.items() for r in rs])
@pytest.mark.parametrize("mean", [0.0, 1e3, 1e6, -1e6])
def test_means_a_million_deviations_away(mean, kind, road, form):
    rng = np.random.default_rng(3)
    Y = (rng.random((50, 4)) < 0.4).astype(np.uint8)
    X = mean + rng.normal(size=(50, 3))
    X[:, 1] += 2e5 * (np.arange(50) == 0)  # the first value is the odd one out
    found = terms_of(form(X), Y, kind, road)
    W = similarity_matrix(None, Y, kind)
    expected = np.array([quadratic_forms(X[:, r].tolist(), W) for r in range(3)]).T
    t = found.terms
    np.testing.assert_allclose([t.lff, t.dff, t.scatter], expected, rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("kind", "road"), [(k, r) for k, rs in ROADS.items() for r in rs])
def test_features_constant_on_every_part_give_exactly_zero(kind, road, form):
    if kind == "jaccard":  # parts {y1, y2}, {y3}, nothing
        Y = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0]] * 4)
        part = np.array([0, 0, 1, 2, 1, 0] * 4)
    else:  # complementary label sets have similarity 0
        Y = np.array([[1, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 1]] * 6)
        part = np.array([0, 1, 1, 0] * 6)
    Y = Y.astype(np.uint8)
    X = np.column_stack([np.array([0.1, 0.7, 1e6 / 3])[part], part == 1, 1.0 * (part == 0)])
    found = terms_of(form(X), Y, kind, road)
    assert found.terms.lff.tolist() == [0.0, 0.0, 0.0]
    assert found.recomputed.all()


def test_the_second_pass_is_rare_and_changes_nothing_that_was_right():
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 5)) < 0.3).astype(np.uint8)
    X = np.hstack([rng.normal(size=(300, 5)), rng.random((300, 5)) < 0.1, rng.random((300, 5))])
    assert not terms_of(X, Y, "jaccard", "collapsed").recomputed.any()
    assert not terms_of(sp.csr_matrix(X), Y, "jaccard", "collapsed").recomputed.any()


@given(table=tables(), data=st.data())
def test_nominal_groups_are_summed(table, data):
    X, Y = table
    d = X.shape[1]
    kind = np.array(data.draw(st.lists(st.integers(0, 1), min_size=d, max_size=d)))
    X[:, kind == 1] = np.round(np.abs(X[:, kind == 1])) % 4
    nominal = np.flatnonzero(kind).tolist()
    W = similarity_matrix(None, Y, "jaccard")
    for form in (np.asarray, sp.csr_matrix):
        for phi in (1, 2):
            expected = spec_scores(X, W, phi, nominal=nominal)
            for road in ("collapsed", "pairs"):
                fitted = SPEC(phi=phi, road=road, tile=5).fit(form(X), Y, feature_kind=kind)
                np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-10)
        a, b = scatter_terms(X, Y, nominal=nominal)
        order, _ = mllap_order(a, b, X.min(axis=0) == X.max(axis=0))
        for road in ("lowrank", "collapsed", "pairs"):
            fitted = MLLAP(road=road, tile=5).fit(form(X), Y, feature_kind=kind)
            assert fitted.order_.tolist() == order


@pytest.mark.parametrize("size", [1e-200, 1e-300, 1e200, 1e300])
def test_values_whose_squares_leave_the_range_of_floats(size):
    rng = np.random.default_rng(1)
    Y = (rng.random((30, 3)) < 0.4).astype(np.uint8)
    X = rng.normal(size=(30, 4))
    for selector in (SPEC(phi=1), SPEC(phi=2), SPEC(phi=3), MLLAP()):
        expected = selector.fit(X, Y).scores_
        for form in (np.asarray, sp.csr_matrix):
            np.testing.assert_allclose(selector.fit(form(X * size), Y).scores_, expected, rtol=1e-9)


@given(table=tables(min_features=2))
def test_laplacian_score_is_twice_phi2(table):
    X, Y = table
    W = similarity_matrix(None, Y, "matching")
    found = terms_of(X, Y, "matching", "lowrank").terms
    constant = X.min(axis=0) == X.max(axis=0)
    phi2 = spec_scores(X, W, 2)[~constant]
    laplacian = 2.0 * found.lff[~constant] / found.scatter[~constant]
    np.testing.assert_allclose(laplacian, 2.0 * phi2, rtol=1e-10)
