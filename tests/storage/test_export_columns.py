"""Some features of a store in every format, and back: as if the others had never been there."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random_array

from mlfs_dask.errors import InputError
from mlfs_dask.storage.export import FORMATS, export_store
from mlfs_dask.storage.export.columns import Columns, row_bounds
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.strategies import tables
from mlfs_dask.testing.tables import ArrayTable
from processes import run_command


def narrowed(table, kept):
    """The same table made by hand of the kept columns."""
    head = table.header
    batches = list(table.batches())
    X = np.vstack([b.X.toarray() if head.is_sparse else b.X for b in batches])[:, kept]
    position = {feature: place for place, feature in enumerate(kept)}
    return ArrayTable(
        csr_matrix(X) if head.is_sparse else X,
        np.vstack([b.Y for b in batches]),
        np.concatenate([b.split for b in batches]),
        feature_names=[head.feature_names[f] for f in kept],
        label_names=head.label_names,
        categories={position[f]: v for f, v in head.categories.items() if f in position},
        feature_cost=None if head.feature_cost is None else head.feature_cost[kept],
    )


@st.composite
def tables_and_features(draw, **options):
    table = draw(tables(**options))
    features = st.sets(st.integers(0, table.header.n_features - 1), min_size=1)
    return table, draw(st.permutations(sorted(draw(features))))


def read_back(report, folder, **options):
    data = [file for file in report.files if not file.endswith(".xml")]
    test = data[1] if len(data) == 2 else None
    reader = open_table(folder / data[0], test=test, options=ReadOptions(**options))
    return ingest(reader, folder / "back.zarr", tile=16)


@given(tables_and_features(), st.sampled_from(["t.npz", "t.arff", "t.arff.gz", "t.meka"]))
def test_what_comes_back_is_the_table_of_these_columns(tmp_path_factory, drawn, name):
    """npz gives the very digest; ARFF all but costs and the order of a split's rows."""
    table, features = drawn
    folder = tmp_path_factory.mktemp("columns")
    store = ingest(table, folder / "all.zarr", tile=16)
    expected = ingest(narrowed(table, sorted(features)), folder / "few.zarr", tile=16)
    format = "meka" if name == "t.meka" else None
    target = folder / ("t.arff" if format else name)
    report = export_store(store, target, format, features=features)
    back = read_back(report, folder)
    assert back.feature_names == expected.feature_names
    assert back.label_names == expected.label_names
    assert back.feature_kind.tolist() == expected.feature_kind.tolist()
    assert back.categories == expected.categories
    if name == "t.npz":
        assert back.digest == expected.digest
        assert report.not_held == ()
        return
    two_sides = set(expected.split.tolist()) == {1, 2}
    order = np.argsort(expected.split, kind="stable") if two_sides else np.arange(len(expected.Y))
    np.testing.assert_array_equal(np.asarray(back.X), np.asarray(expected.X)[order])
    np.testing.assert_array_equal(back.Y, expected.Y[order])


@given(tables_and_features())
def test_csv_holds_these_columns(tmp_path_factory, drawn):
    table, features = drawn
    folder = tmp_path_factory.mktemp("columns")
    store = ingest(table, folder / "all.zarr", tile=16)
    expected = narrowed(table, sorted(features))
    report = export_store(store, folder / "t.csv", features=features)
    back = read_back(report, folder, labels=store.n_labels)
    assert back.feature_names == expected.header.feature_names
    np.testing.assert_array_equal(
        np.asarray(back.X).astype(float), np.asarray(ingest(expected, folder / "few.zarr").X)
    )


@given(tables_and_features(missing=False))
def test_libsvm_counts_these_columns_from_1(tmp_path_factory, drawn):
    table, features = drawn
    folder = tmp_path_factory.mktemp("columns")
    store = ingest(table, folder / "all.zarr", tile=16)
    expected = ingest(narrowed(table, sorted(features)), folder / "few.zarr", tile=16)
    export_store(store, folder / "t.svm", features=features)
    export_store(expected, folder / "few.svm")
    assert (folder / "t.svm").read_bytes() == (folder / "few.svm").read_bytes()


def test_costs_and_categories_go_with_their_features(tmp_path):
    table = ArrayTable(
        [[0.0, 1.5, 1.0], [2.0, 0.5, 0.0]],
        [[1], [0]],
        categories={0: ("red", "green", "blue"), 2: ("no", "yes")},
        feature_cost=[1.0, 2.0, 4.0],
    )
    store = ingest(table, tmp_path / "t.zarr")
    report = export_store(store, tmp_path / "t.npz", features=np.array([2, 1]))
    back = read_back(report, tmp_path)
    assert back.feature_names == ("f1", "f2")
    assert back.categories == {1: ("no", "yes")}
    assert back.feature_cost.tolist() == [2.0, 4.0]
    said = export_store(store, tmp_path / "t.arff", features=[1]).not_held
    assert said == ("the costs of the features",)


def test_nominal_features_left_out_are_not_said_to_be_lost(tmp_path):
    table = ArrayTable([[0.0, 1.5]], [[1]], categories={0: ("red", "green")})
    store = ingest(table, tmp_path / "t.zarr")
    assert export_store(store, tmp_path / "a.csv", features=[1]).not_held == ()
    assert len(export_store(store, tmp_path / "b.csv", features=[0]).not_held) == 1


def test_a_name_shared_with_a_label_does_no_harm_once_it_is_left_out(tmp_path):
    table = ArrayTable([[0.0, 1.5]], [[1]], feature_names=["x", "y"], label_names=["x"])
    store = ingest(table, tmp_path / "t.zarr")
    assert export_store(store, tmp_path / "a.arff", features=[1]).files
    with pytest.raises(InputError, match="names both"):
        export_store(store, tmp_path / "b.arff", features=[0])


@pytest.mark.parametrize(
    ("features", "told"),
    [
        ([], "no feature is to be kept"),
        ([1, 1], "twice"),
        ([0, 3], r"has no feature 3: its 3 features are counted from 0"),
        ([-1], "has no feature -1"),
    ],
)
@pytest.mark.parametrize("format", FORMATS)
def test_features_that_are_not_there(tmp_path, format, features, told):
    store = ingest(ArrayTable(np.eye(3), np.eye(3)), tmp_path / "t.zarr")
    with pytest.raises(InputError, match=told):
        export_store(store, tmp_path / "out.x", format, features=features)
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


def test_bounds_of_sparse_rows(tmp_path):
    X = csr_matrix([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    store = ingest(ArrayTable(X, np.ones((3, 1))), tmp_path / "t.zarr")
    assert row_bounds(store).tolist() == [0, 2, 2, 3]
    assert row_bounds(Columns(store, [0, 1])).tolist() == [0, 1, 1, 2]
    assert row_bounds(Columns(store, [2])).tolist() == [0, 1, 1, 1]


PROGRAM = """
import sys
from pathlib import Path
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.export import export_store
from mlfs_dask.storage.store import Dataset
Dataset.batches.__defaults__ = (2**20,)  # small batches, so that a small store has many
dataset = open_dataset(sys.argv[1])
export_store(dataset, Path(sys.argv[2]), features=range(0, 400, 20))
"""


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Three times the rows, 50 MB more of them: the peak grows by their bounds, some MB."""

    def peak(n):
        X = csr_matrix(random_array((n, 400), density=0.05, rng=np.random.default_rng(0)))
        store = ingest(ArrayTable(X, np.ones((n, 1))), tmp_path / f"{n}.zarr")
        command = [sys.executable, "-c", PROGRAM, store.path, str(tmp_path / f"{n}.npz")]
        return run_command(command).peak_bytes

    assert peak(300_000) - peak(100_000) < 20e6
