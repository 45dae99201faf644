"""Sources: every kind of input gives the same rows, in tiles of the store."""

import pickle

import dask.array as da
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import as_labels
from mlfs_dask.graphs.source import as_source, load_block


def _rows(source):
    blocks = [source.block(t) for t in range(source.n_tiles)]
    dense = [b.toarray() if sp.issparse(b) else b for b in blocks]
    return np.vstack(dense) if dense else np.empty((0, source.n_features))


@st.composite
def matrices(draw):
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(-2, 3, (n, d)).astype(np.float64)
    X[rng.random((n, d)) < 0.1] = np.nan
    return X


@given(matrices(), st.integers(1, 16), st.data())
def test_every_kind_of_input_gives_the_same_rows_and_tiles(X, tile, data):
    chunks = (data.draw(st.integers(1, len(X))), data.draw(st.integers(1, X.shape[1])))
    kept = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    for given_X in (X, sp.csr_matrix(X), da.from_array(X, chunks=chunks)):
        source = as_source(given_X, tile=tile)
        np.testing.assert_array_equal(_rows(source), X)
        fold = source.take(kept)
        np.testing.assert_array_equal(_rows(fold), X[kept])
        # A fold keeps the store's tiles: which rows share a tile depends on the store alone.
        tiles = np.split(kept // tile, fold.offsets[1:-1]) if len(kept) else []
        assert [len(np.unique(t)) for t in tiles] == [1] * fold.n_tiles
        assert fold.n_tiles == len(np.unique(kept // tile))


def test_taking_from_a_fold_counts_from_its_own_rows():
    X = np.arange(12.0)[:, None]
    Y = np.arange(12) % 2
    fold = as_source(X, Y, tile=5).take(np.array([1, 4, 5, 9, 11]))
    inner = fold.take(np.array([0, 2, 4]))
    np.testing.assert_array_equal(_rows(inner)[:, 0], [1, 5, 11])
    np.testing.assert_array_equal(inner.Y[:, 0], [1, 1, 1])
    np.testing.assert_array_equal(inner.offsets, [0, 1, 2, 3])


@pytest.mark.parametrize("rows", [[0, 0], [1, 0], [-1], [3]])
def test_rows_of_a_fold_must_increase(rows):
    with pytest.raises(InputError, match="strictly increasing"):
        as_source(np.ones((3, 1))).take(np.array(rows))


def test_items_survive_pickling():
    source = as_source(np.arange(10.0).reshape(5, 2), tile=2).take(np.array([0, 3, 4]))
    for item in source.items():
        np.testing.assert_array_equal(
            load_block(pickle.loads(pickle.dumps(item))), load_block(item)
        )


def test_filling_replaces_missing_values_only():
    X = np.array([[np.nan, 1.0], [2.0, 0.0], [3.0, np.nan]])
    for given_X in (X, sp.csr_matrix(X)):
        filled = _rows(as_source(given_X, tile=2).filled(np.array([7.0, 8.0])))
        np.testing.assert_array_equal(filled, [[7, 1], [2, 0], [3, 8]])


def test_a_data_frame_brings_its_names():
    pd = pytest.importorskip("pandas")
    source = as_source(pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]}))
    assert source.feature_names == ("a", "b")
    np.testing.assert_array_equal(_rows(source), [[1, 0.5], [2, np.nan]])


def test_what_nullable_columns_lack_is_missing():
    pd = pytest.importorskip("pandas")
    columns = {"a": pd.array([1, None], dtype="Int64"), "b": pd.array([None, 1], dtype="boolean")}
    np.testing.assert_array_equal(
        _rows(as_source(pd.DataFrame(columns))), [[1, np.nan], [np.nan, 1]]
    )


@pytest.mark.parametrize("lazy", [False, True])
def test_masked_cells_are_missing(lazy):
    X = np.ma.masked_equal(np.array([[1, 2], [3, 4], [5, 6]]), 4)
    source = as_source(da.from_array(X, chunks=2) if lazy else X, tile=2)
    assert source.dtype == np.float64
    np.testing.assert_array_equal(_rows(source), [[1, 2], [3, np.nan], [5, 6]])
    with pytest.raises(InputError, match="masked"):
        as_labels(np.ma.masked_equal([[1], [0]], 0), 2)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4"])
@pytest.mark.parametrize("lazy", [False, True])
def test_bytes_in_another_order_are_turned(dtype, lazy):
    X = np.arange(6).reshape(3, 2).astype(dtype)
    block = as_source(da.from_array(X, chunks=2) if lazy else X).block(0)
    assert block.dtype.isnative
    np.testing.assert_array_equal(block, X)


@pytest.mark.parametrize(
    ("X", "told"),
    [
        (np.zeros(3), "2D"),
        (np.zeros((2, 2), dtype=complex), "Complex"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.array([["a", 1]], dtype=object), "numbers"),
        (da.ones((4, 2), chunks=2)[da.ones(4, chunks=2) > 0], "compute_chunk_sizes"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, told):
    with pytest.raises(InputError, match=told):
        as_source(X)


def test_feature_vectors_are_checked():
    X = np.zeros((2, 3))
    with pytest.raises(InputError, match="feature_kind"):
        as_source(X, feature_kind=[0, 1])
    with pytest.raises(InputError, match="feature_kind"):
        as_source(X, feature_kind=[0, 1, 2])
    with pytest.raises(InputError, match="feature_cost"):
        as_source(X, feature_cost=[1.0, -1.0, 0.0])
    with pytest.raises(InputError, match="feature_cost"):
        as_source(X, feature_cost=[1.0, np.nan, 0.0])


@pytest.mark.parametrize(
    "Y",
    [
        [[0, 1], [1, 0]],
        [[False, True], [True, False]],
        sp.csr_matrix([[0, 1], [1, 0]]),
        da.from_array(np.array([[0.0, 1.0], [1.0, 0.0]]), chunks=1),
    ],
)
def test_labels_of_any_container(Y):
    labels = as_labels(Y, 2)
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("Y", "told"),
    [
        ([[0, 1], [2, 0]], "Y holds 2 in row 1, label 0"),
        (np.array([[0, 1], [2, 0]]), "Y holds 2 in row 1, label 0"),
        ([[0, 1], [np.nan, 0]], "row 1, label 0"),
        ([[0, 1], [1]], "matrix of 0 and 1"),
        ([[0, 1]], "X has 2 rows, Y has 1"),
        ([["0"], ["1"]], "numbers 0 and 1"),
        (np.zeros((2, 1, 1)), "3 dimensions"),
    ],
)
def test_labels_other_than_0_and_1_are_refused_with_their_row(Y, told):
    with pytest.raises(InputError, match=told):
        as_labels(Y, 2)
