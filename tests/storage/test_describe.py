"""What `show` says equals plain counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from mlfs_dask.storage import digest
from mlfs_dask.storage.describe import describe
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.strategies import tables
from mlfs_dask.testing.tables import ArrayTable
from reference.describe import facts


def check(dataset):
    X = np.asarray(dataset.X).astype(float).tolist()
    expected = facts(X, dataset.Y.tolist(), dataset.split.tolist())
    description = describe(dataset)
    found = {key: getattr(description, key) for key in expected}
    assert found == pytest.approx(expected)
    return description


@given(tables(max_rows=30, max_features=4), st.integers(1, 9))
def test_equals_plain_counting(tmp_path_factory, table, tile):
    check(ingest(table, tmp_path_factory.mktemp("d") / "t.zarr", tile=tile))


@given(st.integers(1, 3), st.booleans(), st.integers(1, 4))
def test_duplicates_across_the_split(tmp_path_factory, top, sparse, tile):
    """Few values, so that rows repeat."""
    rng = np.random.default_rng(top)
    X = rng.integers(0, top + 1, (40, 2)).astype(float)
    X[rng.random((40, 2)) < 0.2] = np.nan
    matrix = csr_matrix(X) if sparse else X
    table = ArrayTable(matrix, rng.integers(0, 2, (40, 2)), rng.integers(0, 3, 40))
    description = check(ingest(table, tmp_path_factory.mktemp("d") / "t.zarr", tile=tile))
    assert description.duplicate_rows > 0
    assert sum(description.split.values()) == 40


@pytest.mark.parametrize("sparse", [False, True])
def test_by_feature_and_label(tmp_path, sparse):
    X = np.array([[np.nan, 1, 0], [np.nan, 1, 2], [3, 1, 0]])
    table = ArrayTable(
        csr_matrix(X) if sparse else X,
        [[1, 0], [1, 0], [1, 1]],
        feature_names=["x", "one", "z"],
        label_names=["all", "last"],
        categories={1: ("a", "b")},
        feature_cost=[1, 2, 6],
    )
    description = describe(ingest(table, tmp_path / "t.zarr"))
    assert description.missing_by_feature == {"x": 2}
    assert description.label_frequencies == {"all": 3, "last": 1}
    assert description.kinds == {"numeric": 2, "nominal": 1}
    assert description.cost == {"min": 1, "mean": 3, "max": 6, "sum": 9}
    assert description.constant_features == 2  # x is 3 wherever it is known
    assert (description.dtype, description.is_sparse) == ("float32", sparse)
    on_disk = [p for p in (tmp_path / "t.zarr").rglob("*") if p.is_file()]
    assert description.bytes_on_disk == sum(p.stat().st_size for p in on_disk)


@pytest.mark.parametrize("sparse", [False, True])
def test_passes_once_over_bounded_batches(tmp_path, monkeypatch, sparse):
    """Counts, and the row hashes, do not depend on how rows are cut."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (50, 3)).astype(float)
    matrix = csr_matrix(X) if sparse else X
    dataset = ingest(ArrayTable(matrix, np.ones((50, 1))), tmp_path / "t.zarr", tile=8)
    whole = describe(dataset)
    monkeypatch.setattr(digest, "_STEP_BYTES", 60)
    assert describe(dataset) == whole
