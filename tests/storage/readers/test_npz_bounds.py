"""Small archives that claim much: an error before the memory is gone, never a hang."""

import io
import zipfile

import numpy as np
import pytest

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import npz_member, open_table
from mlfs_dask.testing.damage import no_hang


def saved(folder, **arrays):
    path = folder / "t.npz"
    np.savez_compressed(path, **arrays)
    return path


def test_columns_are_bounded(tmp_path):
    path = saved(tmp_path, X=np.zeros((1, 5_000_001), np.uint8), Y=np.ones((1, 1), np.uint8))
    assert path.stat().st_size < 20_000
    with pytest.raises(DataFileError, match="5000001 features, 1 label; expected at most"):
        open_table(path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_only_what_needs_the_whole_array_is_bounded(tmp_path, monkeypatch, order):
    """Rows in C order stream, whatever their number; columns after columns cannot."""
    monkeypatch.setattr(npz_member, "_MAX_WHOLE", 10_000)
    path = saved(tmp_path, X=np.ones((400, 5), order=order), Y=np.ones((400, 1), np.uint8))
    table = open_table(path)
    if order == "C":
        assert sum(batch.n_rows for batch in table.batches()) == 400
        return
    with pytest.raises(DataFileError, match=r"X unpacks to 16,000 bytes") as caught:
        list(table.batches())
    assert "ascontiguousarray" in caught.value.hint


def test_long_names_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(npz_member, "_MAX_WHOLE", 10_000)
    names = np.array(["a", "b"], dtype="U2000")
    path = saved(tmp_path, X=np.eye(2), Y=np.ones((2, 1), np.uint8), feature_names=names)
    with pytest.raises(DataFileError, match="feature_names unpacks to"):
        open_table(path)


def test_a_name_that_stands_twice_among_many_is_found_at_once(tmp_path):
    d = 200_000
    names = [f"f{i}" for i in range(d - 1)] + [f"f{d - 2}"]
    X = np.zeros((1, d), np.uint8)
    path = saved(tmp_path, X=X, Y=np.ones((1, 1), np.uint8), feature_names=names)
    with no_hang(), pytest.raises(DataFileError, match=f"'f{d - 2}' twice"):
        open_table(path)


def test_a_false_shape_is_found_before_anything_is_made(tmp_path):
    """A header of a few bytes claims 8 TB."""
    head = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_2_0(head, shape)
    path = saved(tmp_path, Y=np.ones((1, 1), np.uint8))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(64))
    with pytest.raises(DataFileError, match="X claims 8,000,000,000,000 bytes and holds 64"):
        open_table(path)
