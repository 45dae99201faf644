"""verify finds any flipped byte and any lost file, and names it."""

import random
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from mlfs_dask.errors import NotFoundError, StoreError
from mlfs_dask.storage import seal as sealing
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.verify import verify
from mlfs_dask.testing.tables import ArrayTable


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    rng = np.random.default_rng(0)
    X = rng.random((300, 7)) * (rng.random((300, 7)) < 0.5)
    Y = rng.integers(0, 2, (300, 3))
    for name, matrix in {"dense": X, "sparse": csr_matrix(X)}.items():
        table = ArrayTable(
            matrix, Y, [1] * 200 + [2] * 100, feature_cost=range(7), categories={0: ("a", "b")}
        )
        ingest(table, folder / f"{name}.zarr", tile=32)
    return folder


def files_of(store):
    return sorted(p.relative_to(store).as_posix() for p in store.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_a_sound_store(stores, name):
    report = verify(stores / f"{name}.zarr")
    assert report.ok
    assert report.damage == report.notes == ()
    assert report.n_files == len(files_of(stores / f"{name}.zarr"))


@given(st.sampled_from(["dense", "sparse"]), st.integers(0, 10**6), st.integers(1, 255), st.data())
@settings(max_examples=60)
def test_any_flipped_byte_is_named(stores, tmp_path_factory, name, place, bits, data):
    store = tmp_path_factory.mktemp("flip") / "t.zarr"
    shutil.copytree(stores / f"{name}.zarr", store)
    file = data.draw(st.sampled_from(files_of(store)))
    content = bytearray((store / file).read_bytes())
    content[place % len(content)] ^= bits
    (store / file).write_bytes(content)
    report = verify(store)
    assert not report.ok
    assert file in [damage.file for damage in report.damage]
    assert len(report.damage) == 1


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_any_lost_file_is_named(stores, tmp_path, name):
    for file in files_of(stores / f"{name}.zarr"):
        store = tmp_path / "t.zarr"
        shutil.copytree(stores / f"{name}.zarr", store)
        (store / file).unlink()
        damage = verify(store).damage
        assert [item.file for item in damage] == [file]
        assert "lost" in damage[0].problem
        shutil.rmtree(store)


def test_all_damage_is_listed(stores, tmp_path):
    store = tmp_path / "t.zarr"
    shutil.copytree(stores / "dense.zarr", store)
    chosen = ["X/c/0/0", "Y/zarr.json", "split/c/0"]
    for file in chosen:
        content = bytearray((store / file).read_bytes())
        content[random.randrange(len(content))] ^= 4
        (store / file).write_bytes(content)
    assert sorted(item.file for item in verify(store).damage) == sorted(chosen)


def test_a_whole_chunk_of_other_values(stores, tmp_path):
    """A chunk that passes its crc32c but comes from elsewhere: the digest tells."""
    store = tmp_path / "t.zarr"
    shutil.copytree(stores / "dense.zarr", store)
    other = ArrayTable(np.random.default_rng(1).random((300, 7)), np.ones((300, 3)))
    ingest(other, tmp_path / "other.zarr", tile=32)
    shutil.copy(tmp_path / "other.zarr" / "X/c/0/0", store / "X/c/0/0")
    (damage,) = verify(store).damage
    assert "digest differs" in damage.problem


def test_swapped_index_and_data_do_not_crash(stores, tmp_path):
    store = tmp_path / "t.zarr"
    shutil.copytree(stores / "sparse.zarr", store)
    other = ingest(
        ArrayTable(csr_matrix(np.ones((300, 7))), np.ones((300, 3))), tmp_path / "other.zarr"
    )
    shutil.copy(tmp_path / "other.zarr" / "X/indptr/c/0", store / "X/indptr/c/0")
    assert other.n_samples == 300
    report = verify(store)
    assert not report.ok


def test_strangers_are_noted_and_do_no_harm(stores, tmp_path):
    store = tmp_path / "t.zarr"
    shutil.copytree(stores / "dense.zarr", store)
    (store / ".DS_Store").touch()
    (store / "X" / "c" / "9").mkdir()
    (store / "X" / "c" / "9" / "9").touch()
    report = verify(store)
    assert report.ok
    assert report.notes == (
        ".DS_Store does not belong to the store",
        "X/c/9/9 does not belong to the store",
    )


def test_what_is_no_store(tmp_path):
    with pytest.raises(NotFoundError):
        verify(tmp_path / "none.zarr")
    with pytest.raises(StoreError, match="is not a store"):
        verify(tmp_path)


def test_another_format(stores, tmp_path):
    store = tmp_path / "t.zarr"
    shutil.copytree(stores / "dense.zarr", store)
    text = (store / "zarr.json").read_text()
    (store / "zarr.json").write_text(text.replace('"mlfs_format": 1', '"mlfs_format": 2'))
    sealing.write_seal(store)
    with pytest.raises(StoreError, match="mlfs_format 2"):
        verify(store)
