import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs.columns import make_columns
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.rows import gather_rows
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from reference.spec import one_hot


def made(X, kind=None, tile=4):
    source, executor = as_source(X, feature_kind=kind, tile=tile), InProcess(1)
    return source, make_columns(source, summarize_columns(source, executor), executor)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_plain_features_are_columns_as_stored(dtype):
    X = np.arange(24).reshape(6, 4).astype(dtype)
    source, columns = made(X)
    assert columns.as_stored
    assert columns.shift.tolist() == [0, 1, 2, 3]
    cut, begin = columns.cut(source.block(1), 1, 3)
    assert cut.flags.c_contiguous
    assert cut.dtype in (np.uint8, np.float32, np.float64)
    assert cut[:, begin : begin + 2].tolist() == X[4:, 1:3].tolist()


def test_nominal_features_of_many_values_become_groups():
    X = np.array([[0.5, 2, 1, 3], [1.5, 0, 0, 3], [2.5, 2, 1, 3], [9.0, 1, 0, 3], [0.5, 7, 1, 3]])
    source, columns = made(X, kind=[0, 1, 1, 1])
    # Two-valued and constant nominal features stay what they are.
    assert columns.feature.tolist() == [0, 1, 1, 1, 1, 2, 3]
    codes = one_hot(X[:, 1].tolist())
    expected = np.column_stack([X[:, 0], *codes, X[:, 2], X[:, 3]])
    whole = np.vstack([columns.dense(source.block(t), np.arange(7)) for t in range(2)])
    np.testing.assert_array_equal(whole, expected)
    np.testing.assert_array_equal(columns.shift, expected[0])
    np.testing.assert_array_equal(columns.span, [8.5, 1, 1, 1, 1, 1, 0])
    assert columns.by_feature(np.arange(7.0)).tolist() == [0, 1 + 2 + 3 + 4, 5, 6]
    sparse_source, sparse_columns = made(sp.csr_matrix(X), kind=[0, 1, 1, 1])
    rows = sparse_columns.sparse(sparse_source.block(0))
    matrix = sp.csr_matrix(tuple(rows), shape=(4, 7))
    assert matrix.has_sorted_indices
    np.testing.assert_array_equal(matrix.toarray(), expected[:4])
    assert not sparse_columns.shift.any()


def test_extreme_magnitudes_are_scaled_by_powers_of_two():
    X = np.array([[3e300, 1.0, 3e-300], [-5e300, 2.0, 5e-300]])
    source, columns = made(X)
    values = columns.dense(source.block(0), np.arange(3))
    ratio = values / X
    assert ratio[:, 1].tolist() == [1.0, 1.0]
    assert (np.frexp(ratio)[0] == 0.5).all()
    assert (np.abs(values) <= 2).all()
    matrix = sp.csr_matrix(X)
    source, columns = made(matrix)
    rows = columns.sparse(source.block(0))
    np.testing.assert_array_equal(sp.csr_matrix(tuple(rows), shape=(2, 3)).toarray(), values)


def test_the_smallest_numbers_there_are_become_ordinary_ones():
    """5e-324 times the largest power of two: no digit is lost, nothing overflows."""
    X = np.array([[5e-324, 3e-310, 0.0], [1.5e-323, -2e-310, 1e-308]])
    source, columns = made(X)
    values = columns.dense(source.block(0), np.arange(3))
    np.testing.assert_array_equal(values / columns.scale, X)
    assert columns.scale.tolist() == [2.0**1023, 2.0**1023, 2.0**1023]
    assert (columns.span > 2.0**-52).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_are_gathered_in_the_order_asked_for(form):
    X = np.arange(40.0).reshape(10, 4)
    source, columns = made(form(X), tile=3)
    rows = np.array([9, 0, 4, 4, 2])
    found = gather_rows(source, columns, rows, np.array([3, 1]), InProcess(2))
    np.testing.assert_array_equal(found, X[rows][:, [3, 1]])
