import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.selectors.spec import SPEC
from reference.spec import min_max, similarity_matrix, spec_scores
from reference.tables import tables

EXAMPLE_Y = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 0]])
EXAMPLE_X = np.array([[1.0, 0.2], [1.0, 0.9], [0.0, 0.4], [0.0, 0.7]])
ROADS = ("collapsed", "pairs")


def scores_of(X, Y, road, **parameters):
    fitted = SPEC(road=road, tile=5, **parameters).fit(X, Y)
    assert fitted.road_ == road
    return fitted


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    ("similarity", "phi", "expected"),
    [
        ("jaccard", 1, [0.090909, 0.159375]),
        ("rbf-labels", 1, [0.268941, 0.149495]),
        ("jaccard", 2, [0.233766, 0.684054]),
        ("rbf-labels", 2, [0.537883, 0.773252]),
    ],
)
def test_scores_of_the_papers_example(similarity, phi, expected, road):
    fitted = SPEC(similarity, phi=phi, road=road).fit(EXAMPLE_X, EXAMPLE_Y)
    np.testing.assert_allclose(fitted.scores_, expected, atol=5e-7)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("similarity", ["jaccard", "rbf-labels", "class"])
@pytest.mark.parametrize("phi", [1, 2])
@given(table=tables(), empty_pair=st.sampled_from([1, 0]))
def test_scores_and_order_equal_the_plain_twin(similarity, phi, road, table, empty_pair):
    X, Y = table
    W = similarity_matrix(None, Y, similarity, empty_pair=empty_pair)
    expected = spec_scores(X, W, phi)
    fitted = scores_of(X, Y, road, similarity=similarity, phi=phi, empty_pair=empty_pair)
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-10)
    assert (fitted.scores_ == 0).tolist() == (expected == 0).tolist()
    keys = [float(f"{s:.8e}") for s in expected]
    constant = X.min(axis=0) == X.max(axis=0)
    twin = sorted(range(len(keys)), key=lambda r: (constant[r], keys[r], r))
    assert fitted.order_.tolist() == twin


@given(
    table=tables(), phi=st.sampled_from([1, 2, 3]), normalize=st.sampled_from(["minmax", "none"])
)
def test_rbf_on_features_equals_the_plain_twin(table, phi, normalize):
    X, Y = table
    fitted = scores_of(
        X, Y, "pairs", similarity="rbf-features", phi=phi, bandwidth=0.7, normalize=normalize
    )
    scaled = min_max(X) if normalize == "minmax" else X
    W = similarity_matrix(scaled, Y, "rbf-features", bandwidth=0.7)
    expected = spec_scores(X, W, phi, n_components=Y.shape[1])
    np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-9, atol=1e-12 if phi == 3 else 0)


@given(table=tables(), data=st.data())
def test_phi3_equals_the_plain_twin(table, data):
    X, Y = table
    similarity = data.draw(st.sampled_from(["jaccard", "rbf-labels", "class"]))
    empty_pair = data.draw(st.sampled_from([1, 0]))
    m = data.draw(st.integers(1, 3))
    W = similarity_matrix(None, Y, similarity, empty_pair=empty_pair)
    parameters = {"similarity": similarity, "phi": 3, "n_components": m, "empty_pair": empty_pair}
    # Rows of one label set are one node, but for rows without labels that are not alike.
    at_most = len(np.unique(W, axis=0)) - 1
    expected = spec_scores(X, W, 3, n_components=min(m, at_most))
    for road in ROADS:
        fitted = scores_of(X, Y, road, **parameters)
        np.testing.assert_allclose(fitted.scores_, expected, rtol=1e-9, atol=1e-12)


@given(table=tables(), similarity=st.sampled_from(["jaccard", "rbf-labels", "class"]))
def test_sparse_input_scores_as_dense(table, similarity):
    X, Y = table
    X[np.abs(X) < 1] = 0.0
    for road in ROADS:
        for phi in (1, 2):
            dense = scores_of(X, Y, road, similarity=similarity, phi=phi)
            sparse = scores_of(sp.csr_matrix(X), Y, road, similarity=similarity, phi=phi)
            np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=1e-10)
            assert sparse.order_.tolist() == dense.order_.tolist()


def test_missing_values_are_refused_or_imputed():
    X = EXAMPLE_X.copy()
    X[1, 1] = np.nan
    with pytest.raises(MissingValuesError, match=r"feature 1 has 1 missing"):
        SPEC().fit(X, EXAMPLE_Y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_array_equal(
        SPEC(impute="mean").fit(X, EXAMPLE_Y).scores_, SPEC().fit(filled, EXAMPLE_Y).scores_
    )


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"similarity": "cosine"}, "similarity = 'cosine'"),
        ({"phi": 4}, "phi = 4"),
        ({"n_components": 0}, "n_components = 0"),
        ({"bandwidth": -1.0}, "bandwidth = -1.0"),
        ({"empty_pair": 2}, "empty_pair = 2"),
        ({"road": "lowrank"}, "road = 'lowrank'"),
        ({"road": "collapsed", "similarity": "rbf-features"}, "depends on more than labels"),
        ({"impute": "median"}, "impute = 'median'"),
        ({"tile": 0}, "tile = 0"),
        ({"n_features_to_select": 0}, "n_features_to_select = 0"),
        ({"n_features_to_select": 3}, "X has 2 features"),
        ({"n_features_to_select": 1.5}, "n_features_to_select = 1.5"),
        ({"n_features_to_select": True}, "n_features_to_select = True"),
    ],
)
def test_impossible_parameters_are_refused(parameters, match):
    with pytest.raises(InputError, match=match):
        SPEC(**parameters).fit(EXAMPLE_X, EXAMPLE_Y)
