"""NumPy archives made by hand; those of an export are in tests/storage/test_export.py."""

import io
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import npz_layout as layout
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions

X = np.array([[1.5, 0.0], [0.0, np.nan], [5.0, 6.0]])
Y = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=np.uint8)


def csr(matrix=X, **changed):
    rows = csr_matrix(matrix)
    arrays = {
        layout.KEY_X_DATA: rows.data,
        layout.KEY_X_INDICES: rows.indices,
        layout.KEY_X_INDPTR: rows.indptr,
        layout.KEY_X_SHAPE: np.array(rows.shape),
        layout.KEY_Y: Y,
    }
    return arrays | changed


def table_of(folder, arrays, *, test=None, packed=True, **options):
    path = folder / "t.npz"
    (np.savez_compressed if packed else np.savez)(path, **arrays)
    second = None
    if test is not None:
        second = folder / "u.npz"
        np.savez(second, **test)
    return open_table(path, test=second, options=ReadOptions(**options))


def parts(table, max_bytes=1 << 20):
    batches = list(table.batches(max_bytes))
    rows = [b.X.toarray() if table.header.is_sparse else b.X for b in batches]
    splits = np.concatenate([b.split for b in batches])
    return np.vstack(rows), np.vstack([b.Y for b in batches]), splits


PLAIN = {
    "dense": {"X": X, "Y": Y},
    "Fortran order": {"X": np.asfortranarray(X), "Y": np.asfortranarray(Y)},
    "float32 and bool": {"X": X.astype(np.float32), "Y": Y.astype(bool)},
    "big-endian": {"X": X.astype(">f8"), "Y": Y.astype(">i4")},
    "labels as floats": {"X": X, "Y": Y.astype(float)},
    "CSR": csr(),
    "CSR of int64": csr(X_indices=csr_matrix(X).indices.astype(np.int64)),
}


@pytest.mark.parametrize("arrays", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("max_bytes", [1, 30, 1 << 20])
def test_x_and_y_alone(tmp_path, arrays, packed, max_bytes):
    table = table_of(tmp_path, arrays, packed=packed)
    found, labels, split = parts(table, max_bytes)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, Y)
    assert not split.any()
    head = table.header
    assert (head.name, head.feature_names) == ("t", ("f1", "f2"))
    assert head.label_names == ("y1", "y2", "y3")
    assert head.is_sparse == ("X" not in arrays)
    assert not head.feature_kind.any()
    assert head.feature_cost is None


def test_one_label_may_be_a_vector(tmp_path):
    _, labels, _ = parts(table_of(tmp_path, {"X": X, "Y": Y[:, 0]}))
    assert labels.tolist() == [[1], [0], [1]]


def test_csr_rows_hold_no_zeros(tmp_path):
    rows = csr_matrix(X)
    rows.data[0] = 0.0
    (batch,) = table_of(tmp_path, csr(X_data=rows.data)).batches()
    assert batch.X.nnz == rows.nnz - 1


def test_everything_else_may_be_given(tmp_path):
    extra = {
        "name": np.array("told"),
        "feature_names": np.array(["a b", "ü"]),
        "label_names": np.array(["p", "q", "r"]),
        "split": np.array([1, 2, 0]),
        "feature_cost": np.array([0.5, 2.0]),
        "category_of": np.array([1]),
        "category_count": np.array([2]),
        "category_values": np.array(["no", "yes"]),
    }
    head = table_of(tmp_path, {"X": X, "Y": Y} | extra).header
    assert (head.name, head.feature_names, head.label_names) == (
        "told",
        ("a b", "ü"),
        ("p", "q", "r"),
    )
    assert (head.feature_kind.tolist(), head.categories) == ([0, 1], {1: ("no", "yes")})
    assert head.feature_cost.tolist() == [0.5, 2.0]
    _, _, split = parts(table_of(tmp_path, {"X": X, "Y": Y} | extra, name="mine"))
    assert split.tolist() == [1, 2, 0]


def test_two_archives_make_a_pair_matched_by_name(tmp_path):
    """Columns of the test archive may come in another order."""
    first = csr() | {"feature_names": np.array(["a", "b"]), "label_names": np.array(list("xyz"))}
    second = {
        "X": X[1:, ::-1],
        "Y": Y[1:, ::-1],
        "feature_names": np.array(["b", "a"]),
        "label_names": np.array(list("zyx")),
    }
    table = table_of(tmp_path, first, test=second)
    found, labels, split = parts(table)
    np.testing.assert_array_equal(found, X[[0, 1, 2, 1, 2]])
    np.testing.assert_array_equal(labels, Y[[0, 1, 2, 1, 2]])
    assert split.tolist() == [1, 1, 1, 2, 2]
    for names in (["b", "c"], ["b", "a", "c"]):
        other = second | {"X": np.ones((2, len(names))), "feature_names": np.array(names)}
        with pytest.raises(DataFileError, match=r"feature '[ac]' is in one of the two files only"):
            table_of(tmp_path, first, test=other)


def test_pair_with_other_domains_is_refused(tmp_path):
    def nominal(*values):
        return {
            "X": np.ones((3, 2)),
            "Y": Y,
            "category_of": np.array([0]),
            "category_count": np.array([len(values)]),
            "category_values": np.array(values),
        }

    with pytest.raises(DataFileError, match="nominal features differ"):
        table_of(tmp_path, nominal("a", "b"), test=nominal("a", "c"))


BAD = {
    "no X": ({"Y": Y}, "neither X nor X_data"),
    "no Y": ({"X": X}, "has no Y"),
    "half a CSR": ({k: v for k, v in csr().items() if k != "X_indptr"}, "neither X nor X_indptr"),
    "objects": ({"X": X.astype(object), "Y": Y}, "never unpickled"),
    "complex": ({"X": X * 1j, "Y": Y}, "complex"),
    "text": ({"X": X.astype("U3"), "Y": Y}, "X holds text"),
    "three axes": ({"X": X[None], "Y": Y}, "shape"),
    "no rows": ({"X": X[:0], "Y": Y[:0]}, "shape"),
    "Y too short": ({"X": X, "Y": Y[:2]}, r"Y has shape \(2, 3\)"),
    "Y other": ({"X": X, "Y": Y * 2}, "the label 2 in row 1, label 1"),
    "infinite": ({"X": X + np.inf, "Y": Y}, "infinite in row 1, column 1"),
    "infinite CSR": (csr(X_data=csr_matrix(X).data + np.inf), "infinite in row 1, column 1"),
    "split other": ({"X": X, "Y": Y, "split": np.array([1, 2, 3])}, "split has other values"),
    "split short": ({"X": X, "Y": Y, "split": np.array([1, 2])}, "split has shape"),
    "kinds": ({"X": X, "Y": Y, "feature_kind": np.array([0, 2])}, "feature_kind has other"),
    "kinds short": ({"X": X, "Y": Y, "feature_kind": np.array([0])}, "feature_kind has shape"),
    "costs": ({"X": X, "Y": Y, "feature_cost": np.array([1, -1])}, "feature_cost has other"),
    "costs nan": ({"X": X, "Y": Y, "feature_cost": np.array([1, np.nan])}, "feature_cost has"),
    "names": ({"X": X, "Y": Y, "feature_names": np.array(["a"])}, "feature_names has shape"),
    "names twice": ({"X": X, "Y": Y, "feature_names": np.array(["a", "a"])}, "'a' twice"),
    "version": ({"X": X, "Y": Y, "mlfs_npz": np.array(7)}, "mlfs_npz is 7"),
    "categories": (
        {"X": X, "Y": Y, "category_of": np.array([0]), "category_count": np.array([3])}
        | {"category_values": np.array(["a"])},
        "category_count",
    ),
    "categories of a number": (
        {"X": X, "Y": Y, "feature_kind": np.array([0, 0]), "category_of": np.array([0])}
        | {"category_count": np.array([1]), "category_values": np.array(["a"])},
        "not nominal",
    ),
    "CSR index": (csr(X_indices=np.array([0, 9, 0, 1])), "out of range"),
    "CSR index < 0": (csr(X_indices=np.array([0, -1, 0, 1])), "out of range"),
    "CSR order": (csr(X_indices=np.array([0, 1, 1, 0])), "not ascending"),
    "CSR twice": (csr(X_indices=np.array([0, 1, 1, 1])), "not ascending"),
    "CSR bounds": (csr(X_indptr=np.array([0, 2, 1, 4])), "contradict"),
    "CSR bounds short": (csr(X_indptr=np.array([0, 1, 3])), "contradict"),
    "CSR shape": (csr(X_shape=np.array([3.0, 2.0])), "whole numbers"),
    "CSR lengths": (csr(X_data=np.ones(3)), "contradict"),
}


@pytest.mark.parametrize(("arrays", "words"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused(tmp_path, arrays, words):
    with pytest.raises(DataFileError, match=words) as caught:
        list(table_of(tmp_path, arrays).batches())
    assert caught.value.facts["file"] == str(tmp_path / "t.npz")


def test_size_is_checked_before_anything_is_made(tmp_path):
    """A head that claims 8 TB in a file of a few bytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_2_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", head.getvalue())
    with pytest.raises(DataFileError, match="claims 8,000,000,000,000 bytes and holds 0"):
        open_table(path)


def test_array_that_is_no_archive(tmp_path):
    np.save(tmp_path / "t.npy", X)
    path = (tmp_path / "t.npy").rename(tmp_path / "t.npz")
    with pytest.raises(DataFileError, match="not a readable NumPy archive"):
        open_table(path)
