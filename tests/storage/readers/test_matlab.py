"""``.mat`` files with all the sets of variables met in the field."""

import io
import struct
import zlib

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.sparse import csc_matrix, csr_matrix, issparse, vstack

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.files import label_xml

DATA = np.array([[1.5, 0.0], [0.0, 4.0], [5.0, 6.0]])
SIGNS = np.array([[1, -1, 1], [-1, -1, 1], [-1, 1, 1], [-1, 1, -1]])  # q x n
LABELS = (SIGNS.T > 0).astype(np.uint8)


def table_of(folder, variables, *, test=None, xml=(), **options):
    path = folder / "t.mat"
    savemat(path, variables, do_compression=True)
    second = None
    if test is not None:
        second = folder / "u.mat"
        savemat(second, test)
    for name, labels in dict(xml).items():
        (folder / name).write_bytes(label_xml(labels))
    return open_table(path, test=second, options=ReadOptions(**options))


def parts(table, max_bytes=1 << 20):
    batches = list(table.batches(max_bytes))
    X = np.vstack([b.X.toarray() if table.header.is_sparse else b.X for b in batches])
    return X, np.vstack([b.Y for b in batches]), np.concatenate([b.split for b in batches])


ONE_PART = {
    "q x n, -1/+1": {"data": DATA, "target": SIGNS},
    "n x q, -1/+1": {"data": DATA, "target": SIGNS.T},
    "q x n, 0/1": {"data": DATA, "target": LABELS.T},
    "int16": {"data": DATA, "target": SIGNS.astype(np.int16)},
    "logical": {"data": DATA, "target": SIGNS > 0},
    "train part only": {"train_data": DATA, "train_target": SIGNS},
    "X and Y": {"X": DATA, "Y": LABELS.astype(float)},
    "X and Y, -1/+1": {"X": DATA, "Y": SIGNS.T.astype(float)},
    "other case": {"Data": DATA, "TARGET": SIGNS},
    "sparse": {"X": csc_matrix(DATA), "Y": csc_matrix(LABELS.astype(float))},
    "sparse labels": {"data": DATA, "target": csc_matrix(SIGNS.astype(float))},
}


@pytest.mark.parametrize("variables", ONE_PART.values(), ids=ONE_PART)
def test_one_part(tmp_path, variables):
    table = table_of(tmp_path, variables)
    X, Y, split = parts(table)
    np.testing.assert_array_equal(X, DATA)
    np.testing.assert_array_equal(Y, LABELS)
    assert not split.any()
    assert table.header.is_sparse == any(
        issparse(value) for name, value in variables.items() if name.lower() in ("x", "data")
    )
    assert table.header.feature_names == ("f1", "f2")
    assert table.header.label_names == ("y1", "y2", "y3", "y4")
    assert not table.header.feature_kind.any()


@pytest.mark.parametrize(
    "variables",
    [
        {"train_data": DATA, "train_target": SIGNS, "test_data": DATA[1:2], "test_target": SIGNS},
        {"X": csc_matrix(DATA), "Y": LABELS, "Xt": csc_matrix(DATA[1:2]), "Yt": LABELS[1:2]},
        {"X": csc_matrix(DATA), "Y": LABELS, "Xt": DATA[1:2], "Yt": LABELS[1:2]},
    ],
    ids=["train_data", "X", "sparse and dense"],
)
def test_test_part_fills_the_split(tmp_path, variables):
    if "test_target" in variables:
        variables = variables | {"test_target": SIGNS[:, 1:2]}
    X, Y, split = parts(table_of(tmp_path, variables), max_bytes=40)
    np.testing.assert_array_equal(X, DATA[[0, 1, 2, 1]])
    np.testing.assert_array_equal(Y, LABELS[[0, 1, 2, 1]])
    assert split.tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize(("names", "turned"), [(("data", "target"), True), (("X", "Y"), False)])
def test_square_targets_follow_the_custom_of_their_names(tmp_path, names, turned):
    square = LABELS[:, [0, 2, 3]]
    assert not np.array_equal(square, square.T)
    _, Y, _ = parts(table_of(tmp_path, dict(zip(names, (DATA, square), strict=True))))
    np.testing.assert_array_equal(Y, square.T if turned else square)


def test_two_files_make_a_pair(tmp_path):
    test = {"data": DATA[:1], "target": SIGNS[:, :1]}
    table = table_of(tmp_path, {"data": DATA, "target": SIGNS}, test=test)
    X, Y, split = parts(table)
    np.testing.assert_array_equal(X, DATA[[0, 1, 2, 0]])
    np.testing.assert_array_equal(Y, LABELS[[0, 1, 2, 0]])
    assert split.tolist() == [1, 1, 1, 2]
    assert [(s.name, s.role) for s in table.header.source] == [("t.mat", "data"), ("u.mat", "test")]


def test_file_with_a_split_takes_no_test_file(tmp_path):
    both = {"X": DATA, "Y": LABELS, "Xt": DATA, "Yt": LABELS}
    with pytest.raises(DataFileError, match="a split of its own"):
        table_of(tmp_path, both, test={"X": DATA, "Y": LABELS})


@pytest.mark.parametrize("name", ["t.xml", "T.XML", "other.xml"])
def test_labels_take_their_names_from_the_xml(tmp_path, name):
    names = ("d", "c", "it's", "a b")
    table = table_of(tmp_path, {"data": DATA, "target": SIGNS}, xml={name: names})
    assert table.header.label_names == names
    assert table.header.source[-1].role == "labels"


def test_xml_of_another_size(tmp_path):
    """Passed over with a note; refused where it has the file's stem or is given."""
    variables = {"data": DATA, "target": SIGNS}
    table = table_of(tmp_path, variables, xml={"other.xml": ("a", "b")})
    assert table.header.label_names == ("y1", "y2", "y3", "y4")
    assert "other.xml" in table.header.notes[0]
    with pytest.raises(DataFileError, match="names 2 labels"):
        table_of(tmp_path, variables, xml={"t.xml": ("a", "b")})
    (tmp_path / "t.xml").unlink()
    with pytest.raises(DataFileError, match="names 2 labels"):
        open_table(tmp_path / "t.mat", options=ReadOptions(xml=tmp_path / "other.xml"))


def test_missing_values_and_stored_zeros(tmp_path):
    gaps = DATA.copy()
    gaps[0, 0] = np.nan
    X, _, _ = parts(table_of(tmp_path, {"data": gaps, "target": SIGNS}))
    np.testing.assert_array_equal(X, gaps)
    stored = csc_matrix(gaps)
    stored.data[1] = 0.0
    (batch,) = table_of(tmp_path, {"data": stored, "target": SIGNS}).batches()
    assert batch.X.nnz == stored.nnz - 1
    assert np.isnan(batch.X.data).sum() == 1


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8"])
@pytest.mark.parametrize("packed", [False, True])
def test_all_types_of_numbers(tmp_path, dtype, packed):
    """Also the small elements of 4 bytes or less, against SciPy's reader."""
    for shape in [(1, 1), (1, 2), (2, 1), (3, 5)]:
        X = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        target = np.ones((1, shape[0]), dtype=np.uint8)
        path = tmp_path / f"{shape[0]}x{shape[1]}.mat"
        savemat(path, {"data": X, "target": target, "other": "text"}, do_compression=packed)
        found, Y, _ = parts(open_table(path))
        np.testing.assert_array_equal(found, loadmat(path)["data"])
        assert Y.ravel().tolist() == [1] * shape[0]


@pytest.mark.parametrize("file", ["yahoo-mlnb-arts/arts.mat", "tmc2007-top981/tmc2007.mat"])
def test_real_files_equal_scipys_reading(mlfs_data, file):
    names = ("train_data", "test_data") if "arts" in file else ("X", "Xt")
    expected = loadmat(mlfs_data / file, variable_names=names)
    row = 0
    both = [csr_matrix(expected[name]) for name in names]
    whole = vstack(both, format="csr")
    for batch in open_table(mlfs_data / file).batches():
        found = csr_matrix(batch.X)
        assert (found != whole[row : row + batch.n_rows]).nnz == 0
        row += batch.n_rows
    assert row == whole.shape[0]


BAD = {
    "label 2": ({"data": DATA, "target": SIGNS * 2}, "the label 2 in row 1, label 1"),
    "label nan": ({"data": DATA, "target": SIGNS * np.nan}, "the label nan"),
    "-1 and 0": ({"data": DATA, "target": np.minimum(SIGNS, 0)}, "the label 0"),
    "-1 and 0, sparse": (
        {"X": DATA, "Y": csc_matrix(np.minimum(SIGNS.T, 0.0))},
        "-1 and 0",
    ),
    "infinite": ({"data": DATA + np.inf, "target": SIGNS}, "infinite in row 1, column 1"),
    "infinite, sparse": ({"data": csc_matrix(DATA + np.inf), "target": SIGNS}, "infinite in row 1"),
    "complex": ({"data": DATA * 1j, "target": SIGNS}, "complex numbers"),
    "text": ({"data": "abc", "target": SIGNS}, "data holds text"),
    "cells": ({"data": np.array([[1, "a"]], dtype=object), "target": SIGNS}, "data holds cells"),
    "struct": ({"data": {"a": DATA}, "target": SIGNS}, "data holds a struct"),
    "empty": ({"data": np.zeros((0, 0)), "target": SIGNS}, "data is empty"),
    "shapes": ({"data": DATA, "target": SIGNS[:, :2]}, "data is 3 x 2, target is 4 x 2"),
    "test width": (
        {"X": DATA, "Y": LABELS, "Xt": DATA[:, :1], "Yt": LABELS},
        "Xt has 1 feature, X has 2",
    ),
    "test labels": ({"X": DATA, "Y": LABELS, "Xt": DATA, "Yt": LABELS[:, :3]}, "has 3 labels"),
    "no set": ({"foo": DATA}, r"variables \(foo\)"),
}


@pytest.mark.parametrize(("variables", "words"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused(tmp_path, variables, words):
    with pytest.raises(DataFileError, match=words) as caught:
        list(table_of(tmp_path, variables).batches())
    assert caught.value.facts["file"] == str(tmp_path / "t.mat")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(600), "7.3"),
        (b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512), "7.3"),
        (b"hello", "has not the head of a MATLAB file"),
        (b"x" * 300, "cannot be read as a MATLAB file"),
    ],
    ids=["hdf5", "hdf5 with a head", "short", "text"],
)
def test_other_files_are_refused(tmp_path, content, words):
    path = tmp_path / "t.mat"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=words):
        open_table(path)


def test_truncated_file_is_refused(tmp_path):
    table_of(tmp_path, {"data": DATA, "target": SIGNS})
    path = tmp_path / "t.mat"
    whole = path.read_bytes()
    for size in range(130, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(DataFileError, match=r"t\.mat"):
            open_table(path)


def _sparse_file(**changed):
    """A sparse X whose row indices or bounds are replaced in the file's bytes."""
    content = io.BytesIO()
    savemat(content, {"X": csc_matrix(DATA), "Y": LABELS})
    data = content.getvalue()
    for old, new in changed.values():
        old, new = (np.array(numbers, "<i4").tobytes() for numbers in (old, new))
        assert data.count(old) == 1
        data = data.replace(old, new)
    return data


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": ([0, 2, 1, 2], [0, 2, 1, 99])},
        {"rows": ([0, 2, 1, 2], [0, 2, 1, -1])},
        {"rows": ([0, 2, 1, 2], [2, 0, 1, 2])},
        {"rows": ([0, 2, 1, 2], [0, 0, 1, 2])},
        {"bounds": ([0, 2, 4], [0, 5, 4])},
        {"bounds": ([0, 2, 4], [0, 2, 99])},
        {"bounds": ([0, 2, 4], [1, 2, 4])},
    ],
    ids=["row", "row < 0", "order", "twice", "falling bounds", "far bounds", "first bound"],
)
def test_damaged_sparse_matrices_are_refused(tmp_path, changed):
    """SciPy's own reader and conversions trust these numbers; some end the process."""
    path = tmp_path / "t.mat"
    path.write_bytes(_sparse_file())
    np.testing.assert_array_equal(parts(open_table(path))[0], DATA)
    path.write_bytes(_sparse_file(**changed))
    with pytest.raises(DataFileError, match="sparse matrix X"):
        open_table(path)


def test_big_endian_files(tmp_path):
    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    def matrix(name, cells):
        body = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", *cells.shape))
        body += element(1, name.encode()) + element(9, cells.astype(">f8").tobytes(order="F"))
        return element(14, body)

    content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    path = tmp_path / "t.mat"
    path.write_bytes(content + matrix("data", DATA) + matrix("target", SIGNS))
    np.testing.assert_array_equal(loadmat(path)["data"], DATA)
    X, Y, _ = parts(open_table(path))
    np.testing.assert_array_equal(X, DATA)
    np.testing.assert_array_equal(Y, LABELS)


def test_sizes_are_checked_before_anything_is_made(tmp_path):
    """A compressed variable that claims 4 GB."""
    content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    name = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, 1, 1)
    name += struct.pack("<II", 1, 4) + b"data" + bytes(4)
    packed = zlib.compress(struct.pack("<II", 14, 2**32 - 8) + name + bytes(200))
    path = tmp_path / "t.mat"
    path.write_bytes(content + struct.pack("<II", 15, len(packed)) + packed)
    with pytest.raises(DataFileError, match="claims 4,294,967,288 bytes"):
        open_table(path)
