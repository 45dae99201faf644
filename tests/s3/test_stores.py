"""Stores at s3://: the same as those in folders, whole or not there."""

import pickle
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mlfs_dask.errors import MachineError, StoreCorruptError, StoreError
from mlfs_dask.storage import claims, upload
from mlfs_dask.storage.append import append
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.places import place
from mlfs_dask.storage.verify import verify
from mlfs_dask.testing.tables import ArrayTable

RNG = np.random.default_rng(0)
X, Y = RNG.random((40, 6)), RNG.integers(0, 2, (40, 3)).astype(np.uint8)


def table(values=X, **more):
    return ArrayTable(values, Y, **more)


@pytest.fixture
def store(bucket):
    return place(f"{bucket}/stores/made.zarr")


def contents(folder):
    return {str(path)[len(str(folder)) :]: path.read_bytes() for path in folder.rglob("*")}


def test_bytes_are_those_of_a_store_in_a_folder(store, tmp_path):
    here = tmp_path / "made.zarr"
    ingest(table(), here, tile=16)
    made = ingest(table(), store, tile=16)
    local = {
        str(path)[len(str(here)) :]: path.read_bytes() for path in here.rglob("*") if path.is_file()
    }
    assert contents(store) == local
    assert made.path == str(store)
    assert made.bytes_on_disk == sum(map(len, local.values()))
    np.testing.assert_array_equal(made.X[5:30], X[5:30])
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.Y, Y)
    assert verify(store).ok
    assert list(store.parent.iterdir()) == [store]  # no claim is left


def test_sparse_rows_and_blocks(store):
    ingest(table(csr_matrix(X * (X > 0.7))), store, tile=16)
    grown = append(store, table(csr_matrix(X[:, :2]), feature_names=["a", "b"]))
    assert grown.X[0:40].shape == (40, 8)
    np.testing.assert_array_equal(grown.X[0:40].toarray()[:, 6:], X[:, :2])
    assert open_dataset(str(store)).digest == grown.digest
    assert verify(store).ok
    (store / "blocks" / "0001" / "complete").unlink()  # as while it is being sent
    assert open_dataset(str(store)).n_features == 6


def test_without_its_marker_it_is_no_store(store):
    ingest(table(), store)
    with pytest.raises(StoreError, match="exists already"):
        ingest(table(X + 1), store)
    ingest(table(X + 1), store, overwrite=True)
    np.testing.assert_array_equal(open_dataset(str(store)).X[0:40], X + 1)
    (store / "complete").unlink()
    with pytest.raises(StoreError, match="not a finished store"):
        open_dataset(str(store))


def test_lost_and_changed_objects_are_named(store):
    dataset = ingest(table(), store, tile=16)
    (store / "X" / "c" / "0" / "0").unlink()
    with pytest.raises(StoreCorruptError, match=r"chunk .* is lost"):
        dataset.X[0:40]
    with pytest.raises(StoreCorruptError, match="X/c/0/0"):
        open_dataset(str(store))
    assert [item.file for item in verify(store).damage] == ["X/c/0/0"]
    (store / "X" / "c" / "0" / "0").write_bytes(b"other")
    assert [item.file for item in verify(store).damage] == ["X/c/0/0"]
    (store / "Y" / "zarr.json").write_bytes(b"{}")
    with pytest.raises(StoreCorruptError, match=r"Y/zarr\.json"):
        open_dataset(str(store))


def test_an_upload_that_breaks_leaves_nothing_that_opens(store, monkeypatch):
    def fail(folder, dest, files):
        (dest / files[0]).upload(folder / files[0])
        raise MachineError("the network is gone")

    with monkeypatch.context() as broken:
        broken.setattr(upload, "_upload", fail)
        broken.setattr(upload, "remove", lambda place: None)  # nor can it be cleared away
        broken.setattr(upload._Claim, "give_up", lambda claim: None)
        with pytest.raises(MachineError, match="network"):
            ingest(table(), store)
    assert store.exists()
    with pytest.raises(StoreError, match="not a finished store"):
        open_dataset(str(store))
    with pytest.raises(StoreError, match="being written by process"):
        ingest(table(), store)  # this process lives, so what it claimed may still be coming
    monkeypatch.setattr(claims, "_started", lambda pid: 0.0)
    ingest(table(), store)
    assert verify(store).ok
    assert list(store.parent.iterdir()) == [store]


def test_of_two_writers_one_is_told(store):
    told = []

    def write():
        try:
            ingest(table(), store)
        except StoreError as error:
            told.append(str(error))

    with upload.writing(store), pytest.raises(StoreError, match="is being written by process"):
        ingest(table(), store)
    assert not store.exists()
    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(told) == 2
    assert all("being written" in words or "exists already" in words for words in told)
    assert verify(store).ok


def test_who_lost_the_claim_does_not_finish_the_store(store, tmp_path):
    here = tmp_path / "made.zarr"
    ingest(table(), here)
    with upload.writing(store) as send:
        (store.with_name(".made.zarr.writers") / "00000009.json").write_bytes(b"{}")
        with pytest.raises(StoreError, match="being written"):
            send(here)
    assert not (store / "complete").exists()


def test_one_request_in_twenty_fails_and_nobody_notices(store, faulty, tmp_path):
    proxy = faulty(every=20)
    here = ingest(table(), tmp_path / "made.zarr", tile=1)
    there = ingest(table(), store, tile=1)
    assert there.digest == here.digest
    for start in range(0, 40, 8):
        np.testing.assert_array_equal(there.X[start : start + 8], X[start : start + 8])
    assert verify(store).ok
    assert proxy.failed >= 4


def test_commands(bucket, document, invoke, monkeypatch, tmp_path):
    store = f"{bucket}/stores/made.zarr"
    made = document(
        "data", "synth", store, "-n", "60", "-d", "10", "--relevant", "3", "--copies", 2
    )
    assert made["path"] == store
    assert document("data", "show", store)["path"] == store
    assert document("data", "verify", store)["ok"]
    assert "exists already" in invoke("data", "synth", store, code=2).stderr
    monkeypatch.setenv("MLFS_STORES", f"{bucket}/stores")
    assert [each["name"] for each in document("data", "list")["stores"]] == ["made"]
    invoke("data", "export", "made", "-o", tmp_path / "made.npz")
    copied = document("data", "ingest", tmp_path / "made.npz", "copied")
    assert copied["path"] == f"{bucket}/stores/copied.zarr"
    assert copied["digest"] == made["digest"]
    assert "no store" in invoke("data", "show", f"{bucket}/none.zarr", code=2).stderr
    assert "no bucket" in invoke("data", "show", "s3://none-of-these/x.zarr", code=2).stderr
