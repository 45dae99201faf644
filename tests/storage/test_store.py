"""Opening stores: the seal, format versions, lost and changed chunks, pickling, threads."""

import json
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mlfs_dask.errors import MachineError, NotFoundError, StoreCorruptError, StoreError
from mlfs_dask.storage import blocks
from mlfs_dask.storage import seal as sealing
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.store import open_store
from mlfs_dask.testing.tables import ArrayTable

SPARSE = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


def make(path, sparse=False, **options):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, (100, 6)) * (rng.random((100, 6)) < 0.5)
    table = ArrayTable(
        csr_matrix(X) if sparse else X,
        rng.integers(0, 2, (100, 3)),
        [1] * 60 + [2] * 40,
        feature_names=["a", "b b", "ü", "d,", "e'", "f"],
        categories={1: ("no", "maybe", "yes", "never")},
        feature_cost=[0, 1, 2, 3, 4, 5.5],
    )
    return ingest(table, path, tile=16, **options)


@SPARSE
def test_facts(tmp_path, sparse):
    dataset = make(tmp_path / "t.zarr", sparse)
    assert dataset.path == str(tmp_path / "t.zarr")
    assert (dataset.n_samples, dataset.n_features, dataset.n_labels) == (100, 6, 3)
    assert (dataset.tile, dataset.is_sparse, dataset.x_dtype) == (16, sparse, np.uint8)
    assert dataset.X.shape == (100, 6)
    assert dataset.Y.shape == (100, 3)
    assert dataset.Y.dtype == np.uint8
    assert dataset.split.tolist() == [1] * 60 + [2] * 40
    assert dataset.feature_names == ("a", "b b", "ü", "d,", "e'", "f")
    assert dataset.feature_kind.tolist() == [0, 1, 0, 0, 0, 0]
    assert dataset.categories == {1: ("no", "maybe", "yes", "never")}
    assert dataset.feature_cost.tolist() == [0, 1, 2, 3, 4, 5.5]
    assert dataset.truth is None
    assert "100 samples, 6 features, 3 labels" in repr(dataset)


def test_shared_arrays_cannot_be_changed_by_accident(tmp_path):
    dataset = make(tmp_path / "t.zarr")
    for array in (dataset.Y, dataset.split, dataset.feature_kind, dataset.feature_cost):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    rows = dataset.X[0:2]
    rows[0, 0] = 9  # rows are the caller's own


def test_relative_paths_stay_valid(tmp_path, monkeypatch):
    make(tmp_path / "t.zarr")
    monkeypatch.chdir(tmp_path)
    dataset = open_store(Path("t.zarr"))
    monkeypatch.chdir("/")
    assert dataset.X[0:1].shape == (1, 6)


def test_no_folder(tmp_path):
    with pytest.raises(NotFoundError, match="there is no store"):
        open_store(tmp_path / "none.zarr")


def test_a_folder_that_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="not a finished store"):
        open_store(tmp_path)


@pytest.mark.parametrize("sealed", [True, False])
def test_another_format_is_refused_naming_both(tmp_path, sealed):
    path = tmp_path / "t.zarr"
    make(path)
    metadata = json.loads((path / "zarr.json").read_text())
    metadata["attributes"]["mlfs_format"] = 7
    (path / "zarr.json").write_text(json.dumps(metadata))
    if sealed:
        sealing.write_seal(path)
    with pytest.raises(StoreError, match=r"mlfs_format 7.* reads 1") as caught:
        open_store(path)
    assert caught.value.facts["found"] == 7


def test_a_foreign_group_with_a_seal(tmp_path):
    path = tmp_path / "t.zarr"
    make(path)
    metadata = json.loads((path / "zarr.json").read_text())
    del metadata["attributes"]["mlfs_format"]
    (path / "zarr.json").write_text(json.dumps(metadata))
    sealing.write_seal(path)
    with pytest.raises(StoreError, match="not a store of mlfs-dask"):
        open_store(path)


def test_a_missing_marker_is_an_unfinished_store(tmp_path):
    make(tmp_path / "t.zarr")
    (tmp_path / "t.zarr" / "complete").unlink()
    with pytest.raises(StoreError, match="no file 'complete'"):
        open_store(tmp_path / "t.zarr")


@pytest.mark.parametrize("name", ["zarr.json", "X/zarr.json", "Y/zarr.json", "checksums.json"])
@pytest.mark.parametrize("lost", [True, False])
def test_metadata_is_checked_on_opening(tmp_path, name, lost):
    path = tmp_path / "t.zarr"
    make(path)
    if lost:
        (path / name).unlink()
    else:
        (path / name).write_bytes((path / name).read_bytes() + b" ")
    with pytest.raises(StoreCorruptError) as caught:
        open_store(path)
    assert caught.value.facts["files"] == [name]
    assert name in str(caught.value)
    assert caught.value.exit_code == 2


@SPARSE
def test_a_chunk_lost_before_opening(tmp_path, sparse):
    path = tmp_path / "t.zarr"
    make(path, sparse)
    chunk = "X/data/c/0" if sparse else "X/c/0/0"
    (path / chunk).unlink()
    with pytest.raises(StoreCorruptError, match="is lost") as caught:
        open_store(path)
    assert caught.value.facts["files"] == [chunk]


@SPARSE
def test_a_chunk_lost_after_opening_never_reads_as_zeros(tmp_path, sparse):
    path = tmp_path / "t.zarr"
    dataset = make(path, sparse)
    chunk = "X/indices/c/0" if sparse else "X/c/0/0"
    (path / chunk).unlink()
    with pytest.raises(StoreCorruptError, match="is lost") as caught:
        dataset.X[0:4]
    assert caught.value.facts["array"] == ("X/indices" if sparse else "X")
    assert caught.value.facts["chunk"] == ((0,) if sparse else (0, 0))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
@SPARSE
def test_a_damaged_chunk_is_named(tmp_path, sparse, damage):
    path = tmp_path / "t.zarr"
    dataset = make(path, sparse)
    name = "X/data/c/0" if sparse else "X/c/0/0"
    content = bytearray((path / name).read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    (path / name).write_bytes({"cut": content[:-7], "empty": b""}.get(damage, content))
    with pytest.raises(StoreCorruptError, match="changed since it was written") as caught:
        dataset.X[0:100]
    assert caught.value.facts["files"] == [name]
    assert str(path / name) in str(caught.value)


def test_damaged_labels_are_named(tmp_path):
    path = tmp_path / "t.zarr"
    make(path)
    content = bytearray((path / "Y/c/0/0").read_bytes())
    content[-1] ^= 128
    (path / "Y/c/0/0").write_bytes(content)
    with pytest.raises(StoreCorruptError, match="array 'Y' changed"):
        _ = open_store(path).Y


def test_permission_to_read(tmp_path, monkeypatch):
    dataset = make(tmp_path / "t.zarr")

    def refuse(*args):
        raise PermissionError(13, "Permission denied", "chunk")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)  # tasks read themselves, then Zarr
    monkeypatch.setattr("zarr.storage._local._get", refuse)
    with pytest.raises(MachineError, match="cannot read chunk: Permission denied"):
        dataset.X[0:1]


@SPARSE
def test_pickles_are_addresses(tmp_path, sparse):
    dataset = make(tmp_path / "t.zarr", sparse)
    for value in (dataset, dataset.X):
        assert len(pickle.dumps(value)) < 400
    copy, rows = pickle.loads(pickle.dumps((dataset, dataset.X)))
    assert copy.digest == dataset.digest
    assert (np.asarray(rows) == np.asarray(dataset.X)).all()
    assert rows is copy.X  # opened once in a process


def test_a_pickle_reads_in_another_process(tmp_path):
    dataset = make(tmp_path / "t.zarr", sparse=True)
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[10:20].sum())"
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(dataset.X), capture_output=True, check=True
    )
    assert int(done.stdout) == dataset.X[10:20].sum()


def test_a_pickle_of_a_replaced_store_is_refused(tmp_path):
    pickled = pickle.dumps(make(tmp_path / "t.zarr"))
    make(tmp_path / "t.zarr", dtype="float32", overwrite=True)  # the same values
    with pytest.raises(StoreError, match="was replaced while it was in use"):
        pickle.loads(pickled)
    shutil.rmtree(tmp_path / "t.zarr")
    with pytest.raises(StoreError, match="not a finished store"):
        pickle.loads(pickled)


@SPARSE
@pytest.mark.parametrize("victim", ["", "X", "Y", "zarr.json", "feature_names/zarr.json"])
def test_a_store_that_is_removed_while_it_is_opened(tmp_path, sparse, victim, monkeypatch):
    store = tmp_path / "t.zarr"
    make(store, sparse)

    def check_and_remove(folder):
        seal = sealing.check_seal(folder)
        monkeypatch.undo()
        path = folder / victim
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return seal

    monkeypatch.setattr(blocks, "check_seal", check_and_remove)
    with pytest.raises(StoreError, match="not a finished store" if not victim else "lost"):
        open_store(store)


@SPARSE
@pytest.mark.parametrize("victim", ["label_names", "X"])
def test_a_store_that_is_removed_when_it_was_opened(tmp_path, sparse, victim):
    store = tmp_path / "t.zarr"
    dataset = open_store(make(store, sparse) and store)
    shutil.rmtree(store / victim)
    with pytest.raises(StoreError, match="lost"):
        (dataset.label_names, dataset.X[:1])


@SPARSE
def test_many_threads_read_alike(tmp_path, sparse):
    make(tmp_path / "t.zarr", sparse)
    dataset = open_store(tmp_path / "t.zarr")
    whole = np.asarray(make(tmp_path / "copy.zarr", sparse).X)

    def read(start):
        rows = dataset.X[start : start + 7]
        return rows.toarray() if sparse else rows

    with ThreadPoolExecutor(8) as pool:
        for start, rows in zip(range(93), pool.map(read, range(93)), strict=True):
            np.testing.assert_array_equal(rows, whole[start : start + 7])


def test_a_store_may_be_moved(tmp_path):
    before = make(tmp_path / "t.zarr")
    (tmp_path / "t.zarr").rename(tmp_path / "moved.zarr")
    assert open_store(tmp_path / "moved.zarr").digest == before.digest
