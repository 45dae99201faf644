"""Columns as they arrive: one set of bits from every kind of input."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.graphs import arrivals
from mlfs_dask.graphs.arrivals import Arrivals, make_column, pack, values_of
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.executors import Shuffled
from reference.stream import Table
from reference.tables import tables_with_categories


@given(
    case=tables_with_categories(),
    scaling=st.sampled_from(["minmax", "std", "none"]),
    form=st.sampled_from([np.asarray, sp.csr_matrix]),
    tile=st.integers(1, 9),
    batch=st.sampled_from([1, 400, 2**20]),
    seed=st.integers(0, 99),
)
def test_columns_are_those_of_the_plain_twin(case, scaling, form, tile, batch, seed):
    X, _, nominal = case
    kind = np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)
    source = as_source(form(X), feature_kind=kind, tile=tile)
    executor = Shuffled(seed)
    order = np.random.default_rng(seed).permutation(X.shape[1]).tolist()
    twin = Table(X, scaling, nominal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrivals, "_BATCH_BYTES", batch)
        feed = Arrivals(source, summarize_columns(source), order, scaling, executor)
        columns = {f: feed.column(f) for f in order}
        again = dict(zip(order[::-1], feed.columns(order[::-1]), strict=True))
    for f, column in columns.items():
        assert column.constant == twin.constant[f]
        assert again[f].values.tolist() == column.values.tolist()
        if not column.constant:
            assert column.values.tolist() == twin.columns[f]
            assert column.coded == twin.coded[f]
        assert np.all(np.diff(column.levels) >= 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_columns_of_every_kind_of_input(dtype, tmp_path):
    rng = np.random.default_rng(5)
    X = (rng.integers(0, 5, (90, 7)) * (rng.random((90, 7)) < 0.5)).astype(dtype)
    Y = np.ones((90, 1), np.uint8)
    inputs = {
        "dense": X,
        "sparse": sp.csr_matrix(X),
        "dask": da.from_array(X, chunks=(11, 3)),
        "store": ingest(ArrayTable(X, Y), tmp_path / "made.zarr", tile=16),
        "sparse store": ingest(ArrayTable(sp.csr_matrix(X), Y), tmp_path / "sparse.zarr", tile=32),
    }
    for name, rows in inputs.items():
        source = as_source(rows, tile=20)
        feed = Arrivals(source, summarize_columns(source), range(7), "minmax", InProcess(2))
        for f in range(7):
            expected = make_column(X[:, f], "minmax")
            assert feed.column(f).values.tolist() == expected.values.tolist(), name


def test_two_values_are_bits_after_scaling_only():
    column = np.array([5.0, 3.0, 5.0])
    assert make_column(column, "minmax").is_bit
    assert not make_column(column, "none").is_bit
    assert not make_column(column, "std").is_bit
    assert make_column(column, "none", coded=True).is_bit
    assert make_column(column, "minmax").codes.tolist() == [1, 0, 1]
    assert not make_column(np.array([5.0, 3.0, 4.0]), "minmax").is_bit


def test_bits_and_values_of_some_rows():
    rng = np.random.default_rng(1)
    bits = (rng.random((11, 30)) < 0.5).astype(np.uint8)
    bits[:, 0], bits[:, 1] = 0, 1
    columns = [make_column(row, "minmax") for row in bits]
    rows = np.array([3, 29, 0])
    packed = pack(columns, 30, rows)
    assert packed.shape == (2, 3)
    unpacked = np.unpackbits(packed, axis=0, bitorder="little")[:11]
    np.testing.assert_array_equal(unpacked, bits[:, rows])
    np.testing.assert_array_equal(values_of(columns, 30, rows).values, bits[:, rows])
    assert pack([], 30).shape == (0, 30)


@pytest.mark.parametrize("scaling", ["none", "std", "minmax"])
def test_values_too_far_apart_are_refused(scaling):
    column = np.array([-1.7e308, 1.7e308, 0.0])
    with pytest.raises(
        InputError, match=r"range of float64: spam has values from -1\.7e"
    ) as caught:
        make_column(column, scaling, name="spam")
    # Who standardises has no parameter normalize.
    assert ("normalize" in caught.value.hint) == (scaling != "std")


def test_what_arrives_next_is_known():
    source = as_source(np.eye(6))
    feed = Arrivals(source, summarize_columns(source), [4, 0, 5, 2], "none", InProcess(1))
    assert feed.following(4, 2) == [0, 5]
    assert feed.following(5, 2) == [2]
    assert feed.following(2, 2) == []


def test_the_feature_is_named():
    X = np.array([[0.0, 1e200], [1.0, 0.0]])
    table = ArrayTable(X, np.ones((2, 1)), feature_names=("near", "far"))
    source = as_source(X)
    source.feature_names = table.header.feature_names
    feed = Arrivals(source, summarize_columns(source), [0, 1], "none", InProcess(1))
    with pytest.raises(InputError, match=r"feature 1 \(far\)"):
        feed.column(1)
