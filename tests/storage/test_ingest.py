"""Tables into stores: values, dtypes, chunks, attributes, refusals."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from mlfs_dask.errors import InputError, StoreError
from mlfs_dask.resources import declaration
from mlfs_dask.storage.ingest import StoreOptions, create_store, ingest
from mlfs_dask.storage.records import RowBatch
from mlfs_dask.storage.seal import count_chunks
from mlfs_dask.storage.store import open_store
from mlfs_dask.testing.strategies import same_table, tables
from mlfs_dask.testing.tables import ArrayTable


def small_table(**changes):
    X = np.arange(12.0).reshape(4, 3)
    return ArrayTable(X, [[1, 0], [0, 1], [1, 1], [0, 0]], **changes)


@given(tables(), st.integers(1, 50))
def test_a_store_holds_the_table(tmp_path_factory, table, tile):
    dataset = ingest(table, tmp_path_factory.mktemp("s") / "t.zarr", tile=tile)
    assert same_table(dataset, table)
    assert dataset.tile == tile
    assert dataset.is_sparse == table.header.is_sparse


@given(tables(), st.integers(1, 50))
def test_a_store_is_a_table_too(tmp_path_factory, table, tile):
    folder = tmp_path_factory.mktemp("s")
    first = ingest(table, folder / "first.zarr")
    second = ingest(first, folder / "second.zarr", tile=tile)
    assert same_table(second, table)
    assert second.digest == first.digest


@given(tables(max_rows=60), st.integers(1, 20))
def test_attributes_and_chunks_follow_the_layout(tmp_path_factory, table, tile):
    path = tmp_path_factory.mktemp("s") / "t.zarr"
    dataset = ingest(table, path, tile=tile)
    schema = json.loads(declaration("storage/layout-v1.json").read_text())
    jsonschema.validate(dataset.attributes, schema)
    seal = json.loads((path / "checksums.json").read_text())
    for name in seal["arrays"]:
        node = json.loads((path / name / "zarr.json").read_text())
        rows = node["chunk_grid"]["configuration"]["chunk_shape"][0]
        if name in ("X", "Y", "split", "X/indptr"):
            assert rows % tile == 0 or rows == node["shape"][0]
        assert [codec["name"] for codec in node["codecs"]][-2:] == ["blosc", "crc32c"]
        assert seal["arrays"][name] == {"shape": node["shape"], "chunks": count_chunks(node)}
        assert len([f for f in (path / name / "c").rglob("*") if f.is_file()]) == count_chunks(node)
    if dataset.is_sparse:
        assert zarr.open_group(path, mode="r")["X"].attrs["row_chunk"] % tile == 0


@pytest.mark.parametrize(
    ("n", "d", "tile", "rows", "columns"),
    [
        (10_000, 500, 4096, 4096, 500),  # a tile is large enough: a chunk each
        (10_000, 500, 16, 2112, 500),  # several tiles until 1 MiB
        (10_000, 50_000, 4096, 4096, 4096),  # wide: cut by columns at 16 MiB
        (100, 5, 64, 100, 5),  # all rows
    ],
)
def test_chunk_shapes(n, d, tile, rows, columns):
    from mlfs_dask.storage.layout import column_chunk, row_chunk

    assert row_chunk(n, tile, d) == rows
    assert column_chunk(d, rows, 1) == columns


def test_wide_dense_rows_are_written_by_columns(tmp_path, monkeypatch):
    monkeypatch.setattr("mlfs_dask.storage.layout._MAX_CHUNK_BYTES", 64)
    X = np.random.default_rng(0).random((33, 37))
    dataset = ingest(ArrayTable(X, np.ones((33, 1)), batch_rows=5), tmp_path / "w.zarr", tile=16)
    np.testing.assert_array_equal(dataset.X[:], X)


def test_sparse_entries_over_many_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("mlfs_dask.storage.layout._MIN_CHUNK_ENTRIES", 8)
    monkeypatch.setattr("mlfs_dask.storage.layout._MIN_CHUNK_BYTES", 64)
    rng = np.random.default_rng(0)
    X = rng.random((70, 9)) * (rng.random((70, 9)) < 0.3)
    path = tmp_path / "s.zarr"
    dataset = ingest(ArrayTable(csr_matrix(X), np.ones((70, 1)), batch_rows=11), path, tile=4)
    assert len(list((path / "X" / "data" / "c").iterdir())) > 5
    assert len(list((path / "X" / "indptr" / "c").iterdir())) > 5
    np.testing.assert_array_equal(dataset.X[:].toarray(), X)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_dtype_is_that_of_all_batches(tmp_path, sparse):
    X = np.array([[1.0, 0], [0, -2], [0, 0.5], [3, 4]])
    table = ArrayTable(csr_matrix(X) if sparse else X, np.ones((4, 1)), batch_rows=1)
    dataset = ingest(table, tmp_path / "t.zarr")
    assert dataset.x_dtype == np.float32
    assert dataset.X[0:2].dtype == np.float32


def test_an_asked_dtype(tmp_path):
    bits = ArrayTable(np.eye(3), np.ones((3, 1)))
    assert ingest(bits, tmp_path / "a.zarr", dtype="float64").x_dtype == np.float64
    tenths = ArrayTable(csr_matrix(np.array([[0.1, 1e-60]])), [[1]])
    rounded = ingest(tenths, tmp_path / "b.zarr", dtype="float32")
    np.testing.assert_array_equal(rounded.X[:].toarray(), np.float32([[0.1, 0]]))
    same = ingest(ArrayTable(np.float32([[0.1, 0]]), [[1]]), tmp_path / "c.zarr")
    assert rounded.digest == same.digest  # of the values stored
    with pytest.raises(InputError, match=r"uint8 cannot hold the value 0\.1"):
        ingest(tenths, tmp_path / "d.zarr", dtype="uint8")
    assert not (tmp_path / "d.zarr").exists()


def test_a_sparse_table_of_zeros(tmp_path):
    dataset = ingest(ArrayTable(csr_matrix((5, 3)), np.ones((5, 2))), tmp_path / "z.zarr", tile=2)
    assert dataset.X[1:4].nnz == 0
    assert dataset.X[:].shape == (5, 3)


def test_label_sets_are_counted(tmp_path):
    Y = [[0, 0], [1, 0], [0, 0], [1, 0], [1, 1]]
    dataset = ingest(ArrayTable(np.ones((5, 1)), Y, batch_rows=2), tmp_path / "t.zarr")
    assert dataset.attributes["label_sets"] == 3


def test_many_labels_are_counted_as_sets(tmp_path):
    Y = np.eye(40, dtype=np.uint8)  # more than a byte of labels
    dataset = ingest(ArrayTable(np.ones((40, 1)), Y, batch_rows=7), tmp_path / "t.zarr")
    assert dataset.attributes["label_sets"] == 40


def test_an_existing_store_is_kept_without_overwrite(tmp_path):
    first = ingest(small_table(), tmp_path / "t.zarr")
    other = ArrayTable(np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(StoreError, match="exists already") as caught:
        ingest(other, tmp_path / "t.zarr")
    assert caught.value.hint == "Give --force to replace it, or another name for the store."
    assert open_store(tmp_path / "t.zarr").digest == first.digest
    assert ingest(other, tmp_path / "t.zarr", overwrite=True).n_samples == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


def test_what_is_no_store_is_never_replaced(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").touch()
    (tmp_path / "file.zarr").touch()
    (tmp_path / "link.zarr").symlink_to(folder)
    for name in ("photos", "file.zarr", "link.zarr"):
        with pytest.raises(StoreError, match="not a store"):
            ingest(small_table(), tmp_path / name, overwrite=True)
    assert (folder / "cat.jpg").exists()


def batch(X=None, Y=None, split=None):
    table = small_table()
    good = next(table.batches())
    parts = (good.X if X is None else X, good.Y if Y is None else Y)
    return RowBatch(*parts, good.split if split is None else split)


INFINITE = np.arange(12.0).reshape(4, 3)
INFINITE[2, 1] = -np.inf

BAD_HEADERS = {
    "no features": ({"feature_names": ()}, "has no features"),
    "no labels": ({"label_names": ()}, "has no labels"),
    "a name twice": ({"feature_names": ("a", "b", "a")}, "feature name 'a' occurs twice"),
    "a label twice": ({"label_names": ("l", "l")}, "label name 'l' occurs twice"),
    "half a surrogate": ({"feature_names": ("a", "b", "\ud800")}, "not valid Unicode"),
    "kinds too short": ({"feature_kind": np.zeros(2, np.uint8)}, "feature_kind must be 3 values"),
    "a third kind": ({"feature_kind": np.full(3, 2, np.uint8)}, "0 .numeric. or 1 .nominal."),
    "categories of a number": ({"categories": {0: ("a",)}}, "feature 0, which is not nominal"),
    "negative cost": ({"feature_cost": np.array([1.0, -1, 0])}, "none below 0"),
    "cost missing": ({"feature_cost": np.array([1.0, np.nan, 0])}, "3 finite values"),
}

BAD_BATCHES = {
    "narrow X": (batch(X=np.ones((4, 2))), r"rows from 1 on have shapes"),
    "short split": (batch(split=np.zeros(3, np.uint8)), "expected X .4, 3., Y .4, 2., split .4,"),
    "sparse in a dense table": (batch(X=csr_matrix((4, 3))), "either dense or sparse"),
    "a label of 2": (batch(Y=np.full((4, 2), 2, np.uint8)), "labels must be 0 or 1"),
    "labels of float": (batch(Y=np.ones((4, 2))), "labels must be 0 or 1 in uint8"),
    "split of 3": (batch(split=np.full(4, 3, np.uint8)), "split must be 0, 1 or 2"),
    "infinite": (batch(X=INFINITE), "feature 'f1' is infinite in row 3"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_bad_headers_are_refused(tmp_path, changes, message):
    table = small_table()
    with pytest.raises(InputError, match=message):
        create_store(tmp_path / "t.zarr", replace(table.header, **changes), table.batches())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("rows", "message"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_bad_rows_are_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        create_store(tmp_path / "t.zarr", small_table().header, [rows])
    assert list(tmp_path.iterdir()) == []


def test_the_infinite_value_of_a_sparse_row_is_named(tmp_path):
    table = ArrayTable(csr_matrix(INFINITE), np.ones((4, 1)), batch_rows=2)
    with pytest.raises(InputError, match="feature 'f1' is infinite in row 3"):
        ingest(table, tmp_path / "t.zarr")


def test_a_table_without_rows(tmp_path):
    with pytest.raises(InputError, match="has no rows"):
        create_store(tmp_path / "t.zarr", small_table().header, [])
    assert list(tmp_path.iterdir()) == []


def test_a_tile_has_rows(tmp_path):
    with pytest.raises(InputError, match="tile must be at least 1 row, 0 was given"):
        create_store(tmp_path / "t.zarr", small_table().header, [], StoreOptions(tile=0))


def test_a_reader_that_fails_half_way_leaves_nothing(tmp_path):
    def batches():
        yield batch()
        raise RuntimeError("line 7")

    with pytest.raises(RuntimeError, match="line 7"):
        create_store(tmp_path / "t.zarr", small_table().header, batches())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["..", ".hidden.zarr"])
def test_names_no_store_may_have(tmp_path, name):
    with pytest.raises(StoreError, match="no name for a store"):
        ingest(small_table(), tmp_path / name)
