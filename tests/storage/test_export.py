"""Stores to files and back: the same table, but for what the format said it cannot hold."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from mlfs_dask.errors import InputError, MachineError, MissingValuesError, StoreError
from mlfs_dask.storage.export import FORMATS, export_store
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.strategies import NASTY_NAMES, tables
from mlfs_dask.testing.tables import ArrayTable


def there_and_back(factory, table, name, format=None, **options):
    """Ingest, export, ingest what was written; both stores and the report."""
    folder = factory.mktemp("export")
    first = ingest(table, folder / "first.zarr", tile=16)
    report = export_store(first, folder / name, format)
    data = [file for file in report.files if not file.endswith(".xml")]
    test = data[1] if len(data) == 2 else None
    reader = open_table(folder / data[0], test=test, options=ReadOptions(**options))
    return first, ingest(reader, folder / "second.zarr", tile=16), report


def values(dataset):
    return np.asarray(dataset.X).astype(float)


def two_sides(dataset):
    return set(dataset.split.tolist()) == {1, 2}


@given(tables())
def test_npz_holds_the_whole_store(tmp_path_factory, table):
    first, second, report = there_and_back(tmp_path_factory, table, "t.npz")
    assert report.not_held == ()
    assert second.digest == first.digest
    assert second.is_sparse == first.is_sparse
    assert second.x_dtype == first.x_dtype
    assert second.name == first.name


@given(tables(), st.sampled_from([("arff", "t.arff"), ("meka", "t.arff"), ("arff", "t.arff.gz")]))
def test_arff_holds_all_but_costs(tmp_path_factory, table, target):
    """Any name comes back as it was, from Mulan's form and from MEKA's."""
    format, name = target
    first, second, report = there_and_back(tmp_path_factory, table, name, format)
    assert second.feature_names == first.feature_names
    assert second.label_names == first.label_names
    assert second.feature_kind.tolist() == first.feature_kind.tolist()
    assert second.categories == first.categories
    if two_sides(first):
        order = np.argsort(first.split, kind="stable")  # training rows first
        np.testing.assert_array_equal(second.split, first.split[order])
    else:
        order = np.arange(first.n_samples)
        assert not second.split.any()
    np.testing.assert_array_equal(values(second), values(first)[order])
    np.testing.assert_array_equal(second.Y, first.Y[order])
    assert second.is_sparse == first.is_sparse
    lost = {
        "the costs of the features": first.feature_cost is not None,
        "the split into training and test rows": first.split.any() and not two_sides(first),
        "the order of the rows: training rows come first": two_sides(first)
        and (order != np.arange(first.n_samples)).any(),
    }
    assert set(report.not_held) == {text for text, is_lost in lost.items() if is_lost}


@given(tables(), st.sampled_from(["t.csv", "t.csv.gz"]))
def test_csv_holds_names_and_values(tmp_path_factory, table, name):
    q = table.header.n_labels
    first, second, report = there_and_back(tmp_path_factory, table, name, labels=q)
    assert second.feature_names == first.feature_names
    assert second.label_names == first.label_names
    np.testing.assert_array_equal(values(second), values(first))
    np.testing.assert_array_equal(second.Y, first.Y)
    lost = {
        "which features are nominal, and their declared values": bool(first.categories),
        "the costs of the features": first.feature_cost is not None,
        "the split into training and test rows": first.split.any(),
    }
    assert set(report.not_held) == {text for text, is_lost in lost.items() if is_lost}


@given(tables(missing=False))
def test_libsvm_holds_values(tmp_path_factory, table):
    q = table.header.n_labels
    Y = np.vstack([batch.Y for batch in table.batches()])
    Y[0, 0] = 1  # a file without any label is refused
    X = np.vstack([batch.X @ np.eye(table.header.n_features) for batch in table.batches()])
    full = ArrayTable(csr_matrix(X) if table.header.is_sparse else X, Y)
    used = (X != 0).any(axis=0).nonzero()[0].max(initial=0) + 1
    labels = Y.any(axis=0).nonzero()[0].max() + 1
    first, second, report = there_and_back(
        tmp_path_factory, full, "t.svm", index_base=1, n_features=int(used)
    )
    np.testing.assert_array_equal(values(second), X[:, :used])
    np.testing.assert_array_equal(second.Y, Y[:, :labels])
    assert first.n_samples == second.n_samples
    assert report.not_held[0] == "the names of features and labels"
    ends = sum("the last" in part for part in report.not_held)
    assert ends == int(labels < q) + int(not X[:, -1].any())


def test_libsvm_says_which_columns_end_unseen(tmp_path):
    X, Y = np.zeros((3, 5)), np.zeros((3, 4))
    X[:, 1] = 1
    Y[0, 0] = 1
    dataset = ingest(ArrayTable(X, Y), tmp_path / "t.zarr")
    report = export_store(dataset, tmp_path / "t.svm")
    assert report.not_held[1:] == (
        "the last 3 features, which are 0 in every row",
        "the last 3 labels, which no row has",
    )
    assert (tmp_path / "t.svm").read_text() == "1 2:1\n 2:1\n 2:1\n"


def test_libsvm_cannot_hold_missing_values(tmp_path):
    dataset = ingest(ArrayTable([[np.nan]], [[1]]), tmp_path / "t.zarr")
    with pytest.raises(MissingValuesError, match="libsvm text cannot hold"):
        export_store(dataset, tmp_path / "t.svm")
    assert not (tmp_path / "t.svm").exists()


@pytest.mark.parametrize("format", ["arff", "meka", "npz", "csv"])
def test_every_nasty_name(tmp_path_factory, format):
    names = list(NASTY_NAMES)
    table = ArrayTable(
        np.eye(4, len(names)),
        np.eye(4, len(names)),
        feature_names=names,
        label_names=[f"{name} (label)" for name in names],
    )
    options = {"labels": len(names)} if format == "csv" else {}
    ending = "arff" if format == "meka" else format
    first, second, _ = there_and_back(tmp_path_factory, table, f"t.{ending}", format, **options)
    assert second.feature_names == first.feature_names == tuple(names)
    assert second.label_names == first.label_names


@pytest.mark.parametrize("name", ["-C 1", "x -C 1", "it's: -split-number 2", "{}", "-I 0"])
def test_the_name_of_the_set_is_no_option_of_meka(tmp_path, name):
    table = ArrayTable(np.eye(4, 3), np.eye(4, 2))
    dataset = ingest(table, tmp_path / "t.zarr", name=name)
    export_store(dataset, tmp_path / "t.arff", "meka")
    reader = open_table(tmp_path / "t.arff", test=None, options=ReadOptions())
    assert reader.header.label_names == ("l0", "l1")


def test_codes_that_would_change_are_said(tmp_path):
    table = ArrayTable([[1.0, 0.0]], [[1]], categories={0: ("yes", "no"), 1: ("1", "true")})
    report = export_store(ingest(table, tmp_path / "t.zarr"), tmp_path / "t.arff")
    assert report.not_held == ("the codes of feature 'f0': 'yes' reads back as 1",)


def test_a_nominal_feature_without_values_is_said(tmp_path):
    table = ArrayTable([[1.0]], [[1]], categories={0: ("a", "b")})
    table.header.categories.clear()
    report = export_store(ingest(table, tmp_path / "t.zarr"), tmp_path / "t.arff")
    assert report.not_held == ("that feature 'f0' is nominal: it declares no values",)


def test_a_code_beyond_the_declaration(tmp_path):
    table = ArrayTable([[2.0]], [[1]], categories={0: ("a", "b")})
    dataset = ingest(table, tmp_path / "t.zarr")
    with pytest.raises(InputError, match=r"'f0' holds the code 2, but declares 2 values"):
        export_store(dataset, tmp_path / "t.arff")
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


@pytest.mark.parametrize("format", ["arff", "meka", "csv"])
def test_a_name_of_feature_and_label(tmp_path, format):
    table = ArrayTable([[1.0]], [[1]], feature_names=["x"], label_names=["x"])
    dataset = ingest(table, tmp_path / "t.zarr")
    with pytest.raises(InputError, match="'x' names both a feature and a label"):
        export_store(dataset, tmp_path / "t.out", format)
    assert export_store(dataset, tmp_path / "t.npz").not_held == ()


def test_control_characters_have_no_place_in_xml(tmp_path):
    dataset = ingest(ArrayTable([[1.0]], [[1]], label_names=["a\x01"]), tmp_path / "t.zarr")
    with pytest.raises(InputError, match="holds a control character"):
        export_store(dataset, tmp_path / "t.arff")


@pytest.fixture
def pair(tmp_path):
    table = ArrayTable(np.eye(4, 2), np.eye(4, 2), [1, 1, 2, 2])
    return ingest(table, tmp_path / "t.zarr", name="pair")


def test_the_files_of_a_split(pair, tmp_path):
    assert [f.split("/")[-1] for f in export_store(pair, tmp_path / "x.arff.gz").files] == [
        "x-train.arff.gz",
        "x-test.arff.gz",
        "x.xml",
    ]
    text = gzip.decompress((tmp_path / "x-test.arff.gz").read_bytes()).decode()
    assert text.split("@data\n")[1] == "0,0,0,0\n0,0,0,0\n"
    assert text.startswith("@relation 'pair'")


@pytest.mark.parametrize("format", FORMATS)
def test_existing_files_are_kept_without_overwrite(pair, tmp_path, format):
    target = tmp_path / f"x.{format}"
    files = export_store(pair, target, format).files
    before = [Path(file).read_bytes() for file in files]
    with pytest.raises(StoreError, match="exists already"):
        export_store(pair, target, format)
    export_store(pair, target, format, overwrite=True)
    assert [Path(file).read_bytes() for file in files] == before
    assert len(list(tmp_path.iterdir())) == 1 + len(files)


def test_npz_is_reproducible_and_holds_no_pickle(pair, tmp_path):
    export_store(pair, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as archive:
        assert archive["X"].tolist() == np.eye(4, 2).tolist()
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_synthetic_truth_is_said_to_be_lost(tmp_path):
    from mlfs_dask.storage.synth import Planted, synthesize

    dataset = synthesize(tmp_path / "t.zarr", Planted(n_samples=10))
    assert export_store(dataset, tmp_path / "t.npz").not_held == ("the record of what was planted",)


def test_unknown_formats(pair, tmp_path):
    with pytest.raises(InputError, match=r"the ending of 'x\.foo' does not tell a format"):
        export_store(pair, tmp_path / "x.foo")
    with pytest.raises(InputError, match="'xls' is no format to export to"):
        export_store(pair, tmp_path / "x.foo", "xls")


@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_leaves_nothing(pair, tmp_path, monkeypatch, format):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mlfs_dask.storage.atomic.sync_file", full)
    with pytest.raises(MachineError, match=r"cannot write .*: No space left on device"):
        export_store(pair, tmp_path / "x.out", format)
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]
