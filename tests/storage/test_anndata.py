"""Others read the CSR group: anndata by its encoding, SciPy by its three arrays."""

import anndata
import numpy as np
import pytest
import zarr
from scipy.sparse import csr_matrix

from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable


@pytest.fixture(params=["bits", "reals", "missing"])
def stored(request, tmp_path):
    rng = np.random.default_rng(0)
    X = (rng.random((500, 40)) < 0.2).astype(float)
    if request.param != "bits":
        X *= rng.random((500, 40))
    if request.param == "missing":
        X[X > 0.9] = np.nan
    ingest(ArrayTable(csr_matrix(X), np.ones((500, 2))), tmp_path / "t.zarr", tile=64)
    return X, zarr.open_group(tmp_path / "t.zarr", mode="r")


def test_anndata_reads_the_group(stored):
    X, root = stored
    matrix = anndata.io.read_elem(root["X"])
    np.testing.assert_array_equal(matrix.toarray(), X)


def test_anndata_reads_rows_lazily(stored):
    X, root = stored
    np.testing.assert_array_equal(
        anndata.io.sparse_dataset(root["X"])[100:140].toarray(), X[100:140]
    )


def test_scipy_reads_the_arrays(stored):
    X, root = stored
    group = root["X"]
    parts = (group["data"][:], group["indices"][:], group["indptr"][:])
    matrix = csr_matrix(parts, shape=tuple(group.attrs["shape"]))
    np.testing.assert_array_equal(matrix.toarray(), X)
