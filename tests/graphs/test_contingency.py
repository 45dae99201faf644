"""Bins and tables: the same on all roads, equal to plain loops."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs.contingency import contingency
from mlfs_dask.graphs.discretize import find_bins
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.discretize import bin_table, count_table
from reference.executors import Shuffled
from reference.tables import tables_with_categories


def binned(X, Y=None, *, kind=None, tile=5, executor=None):
    source, executor = as_source(X, Y, feature_kind=kind, tile=tile), executor or InProcess(1)
    return source, find_bins(source, summarize_columns(source, executor), executor), executor


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@given(table=tables_with_categories(), tile=st.integers(1, 9))
def test_bins_and_counts_equal_the_plain_twin(form, table, tile):
    X, Y, nominal = table
    kind = np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)
    source, bins, executor = binned(form(X), Y, kind=kind, tile=tile)
    expected = bin_table(X, nominal)
    # Every row as a group of its own shows its bins.
    rows = contingency(source, bins, np.eye(len(X), dtype=np.uint8), executor).joint
    table = contingency(source, bins, Y, executor)
    for r, own in enumerate(expected):
        part = slice(bins.start[r], bins.start[r + 1])
        size = bins.start[r + 1] - bins.start[r]
        # A constant feature is all in bin 0, a feature of two values keeps them.
        assert rows[part].argmax(axis=0).tolist() == own
        assert table.bins[part].tolist() == count_table(own, [1] * len(own), size)
        for label in range(Y.shape[1]):
            counts = count_table(own, Y[:, label].tolist(), size)
            assert table.joint[part, label].tolist() == counts
    assert table.groups.tolist() == Y.sum(axis=0).tolist()
    assert table.joint.dtype == np.int64


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 100])
def test_the_cut_is_the_value_of_rank_half_n_rounded_up(n, sign):
    X = sign * (np.random.default_rng(n).permutation(n)[:, None] + 0.5)
    _, bins, _ = binned(X)
    middle = np.sort(X[:, 0])[(n + 1) // 2 - 1]
    assert bins.cut.tolist() == [middle]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_values_of_every_magnitude_and_sign_are_found_by_their_digits(form):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(61, 12)) * 10.0 ** rng.integers(-300, 300, size=(61, 12))
    X[:, 3] = rng.integers(1, 9, size=61)
    X[:, 4] = -rng.integers(1, 9, size=61)
    X[:, 5] = np.float32(rng.normal(size=61)) + np.float32(3)
    X[:, 6] = np.nextafter(1.0, np.arange(61.0))
    X[:, 7] = np.where(rng.random(61) < 0.5, -0.0, 5.0)
    X[:, 8] = np.where(rng.random(61) < 0.4, 0.0, -np.abs(X[:, 8]))
    _, bins, _ = binned(form(X))
    for r in range(12):
        expected = np.sort(X[:, r])[30] if len(np.unique(X[:, r])) > 2 else X[:, r].min()
        assert bins.cut[r] == expected


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int64])
def test_bins_do_not_depend_on_the_stored_type(dtype):
    X = np.random.default_rng(1).integers(0, 120, size=(40, 6))
    expected = binned(X.astype(np.float64))[1].cut.tolist()
    assert binned(X.astype(dtype))[1].cut.tolist() == expected


def test_more_columns_than_are_counted_at_a_time():
    X = np.random.default_rng(3).normal(size=(9, 1100))
    _, bins, _ = binned(X)
    np.testing.assert_array_equal(bins.cut, np.sort(X, axis=0)[4])


def test_all_roads_give_the_same_tables(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(130, 7)) * (rng.random((130, 7)) < 0.6)
    X[:, 6] = rng.integers(0, 4, 130)
    Y = (rng.random((130, 3)) < 0.4).astype(np.uint8)
    kind = [0] * 6 + [1]
    _, bins, executor = binned(X, kind=kind, tile=32)
    expected = contingency(as_source(X, tile=32), bins, Y, executor)
    categories = {6: ("a", "b", "c", "d")}
    for sparse in (False, True):
        rows = sp.csr_matrix(X) if sparse else X
        path = tmp_path / f"{sparse}.zarr"
        dataset = ingest(ArrayTable(rows, Y, categories=categories), path, tile=32)
        for given_rows in (rows, dataset, *([] if sparse else [da.from_array(X, chunks=(50, 3))])):
            # A dataset knows its own kinds.
            source, bins, runner = binned(
                given_rows, kind=None if given_rows is dataset else kind, executor=Shuffled(1)
            )
            for groups in (Y, sp.csr_matrix(Y)):
                table = contingency(source, bins, groups, runner)
                np.testing.assert_array_equal(table.joint, expected.joint)
                np.testing.assert_array_equal(table.bins, expected.bins)


def test_text_columns_are_settled_without_counting_digits():
    X = sp.random(200, 50, density=0.05, random_state=0, format="csr")
    executor = Shuffled()
    _, bins, _ = binned(X, executor=executor)
    assert bins.cut.tolist() == [0.0] * 50
    assert "_digits_of_tile" not in [name for name, _ in executor.calls]
