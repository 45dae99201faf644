"""Row ranges of X equal the slices of the matrix in memory, whatever the chunk grid."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse

from mlfs_dask.errors import InputError
from mlfs_dask.storage import layout
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.strategies import tables
from mlfs_dask.testing.tables import ArrayTable


def matrix_of(table):
    parts = [batch.X for batch in table.batches()]
    return np.vstack([part.toarray() if issparse(part) else part for part in parts])


@given(tables(max_rows=60), st.integers(1, 20), st.integers(1, 64), st.integers(1, 64), st.data())
def test_any_range_and_grid(tmp_path_factory, table, tile, chunk_bytes, entries, data):
    """CSR rows of any range and any chunk grid equal the in-memory slice.

    Each write covers whole chunks, so no grid loses values.
    """
    with (
        mock.patch.object(layout, "_MIN_CHUNK_BYTES", chunk_bytes),
        mock.patch.object(layout, "_MAX_CHUNK_BYTES", 8 * chunk_bytes),
        mock.patch.object(layout, "_MIN_CHUNK_ENTRIES", entries),
        mock.patch.object(layout, "_MAX_CHUNK_ENTRIES", 4 * entries),
    ):
        dataset = ingest(table, tmp_path_factory.mktemp("r") / "t.zarr", tile=tile)
    whole = matrix_of(table)
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    rows = dataset.X[start:stop]
    assert rows.dtype == dataset.x_dtype
    if dataset.is_sparse:
        rows.check_format(full_check=True)
        assert rows.has_canonical_format
        assert np.count_nonzero(rows.data == 0) == 0
        rows = rows.toarray()
    np.testing.assert_array_equal(rows, whole[start:stop])
    np.testing.assert_array_equal(np.asarray(dataset.X), whole)
    np.testing.assert_array_equal(dataset.Y, np.vstack([b.Y for b in table.batches()]))


@pytest.fixture(params=["dense", "sparse"])
def rows(request, tmp_path):
    X = np.arange(30.0).reshape(10, 3)
    matrix = csr_matrix(X) if request.param == "sparse" else X
    return ingest(ArrayTable(matrix, np.ones((10, 1))), tmp_path / "t.zarr").X


def test_slices_as_python_has_them(rows):
    def first_column(part):
        return (part.toarray() if rows.is_sparse else part)[:, 0].tolist()

    column = [float(3 * i) for i in range(10)]
    for part in (slice(None), slice(-3, None), slice(4, 2), slice(8, 99), slice(None, -8)):
        assert first_column(rows[part]) == column[part]


@pytest.mark.parametrize("index", [3, [1, 2], slice(0, 4, 2), slice(None, None, -1), (1, 2)])
def test_other_indices_are_refused(rows, index):
    with pytest.raises(InputError, match="read by ranges"):
        rows[index]


def test_is_an_array_like(rows):
    assert len(rows) == 10
    assert rows.shape == (10, 3)
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32
    assert ("CSR" in repr(rows)) == rows.is_sparse


def test_a_row_range_reads_its_chunks_only(tmp_path, monkeypatch):
    """A tile is read without decoding the rest."""
    monkeypatch.setattr("mlfs_dask.storage.layout._MIN_CHUNK_BYTES", 1)
    monkeypatch.setattr("mlfs_dask.storage.layout._MIN_CHUNK_ENTRIES", 16)
    monkeypatch.setattr("mlfs_dask.storage.layout._MAX_CHUNK_ENTRIES", 16)
    table = ArrayTable(csr_matrix(np.ones((64, 4))), np.ones((64, 1)))
    dense = ingest(ArrayTable(np.ones((64, 4)), np.ones((64, 1))), tmp_path / "d.zarr", tile=8)
    sparse = ingest(table, tmp_path / "s.zarr", tile=8)
    for dataset in (dense, sparse):
        for chunk in sorted((tmp_path / dataset.path / "X").rglob("c/*"))[1:]:
            if chunk.is_file() and chunk.name not in ("2", "3") and "indptr" not in str(chunk):
                chunk.unlink()
    assert dense.X[8:8].shape == (0, 4)
    assert sparse.X[8:16].sum() == 32  # entries 32 to 64: chunks 2 and 3
