"""What every registered selector has: roads that agree, and documentation that says all of it."""

import inspect

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask import get_selector, registry
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable

OPTIONS = {
    "mlnb": {"n_generations": 6},
    "relief-wrapper": {"n_neighbors": 3},
    "mlrelieff": {"n_neighbors": 3},
}
MORE = [
    ("spec-wrapper", {"order": 2}),
    ("relief-wrapper", {"order": 2}),
    ("mlrelieff", {"labels": "sets"}),
    ("laplacian", {"weights": "supervised"}),
    ("mddm", {"constraint": "proj"}),
    ("mlnb", {"n_generations": 4, "pca": 0.3}),
]
CASES = [(name, OPTIONS.get(name, {})) for name in registry.names("selectors")] + MORE
CONSTANT, COPIED = 3, 20


def made():
    """Zeros, ties, copied rows, a constant, a two-valued feature, rows without labels."""
    rng = np.random.default_rng(7)
    X = (rng.random((90, 11)) * (rng.random((90, 11)) < 0.5)).round(2)
    X[:, CONSTANT], X[:, 5] = 2.0, X[:, 5] > 0
    X[40 : 40 + COPIED] = X[:COPIED]
    Y = (X[:, :3] + 0.3 * rng.random((90, 3)) > 0.4).astype(np.uint8)
    Y[rng.random(90) < 0.1] = 0
    return X, Y


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_roads_agree(name, options, tmp_path):
    """Bits on the same kind of rows; scores to 1e-10 and orders on all."""
    X, Y = made()
    ingest(ArrayTable(sp.csr_matrix(X), Y), tmp_path / "made.zarr", tile=32)
    expected = get_selector(name, tile=32, **options).fit(X, Y)
    assert {*np.atleast_2d(expected.order_)[:, -1].tolist()} == {CONSTANT}
    roads = {
        "chunked": (da.from_array(X, chunks=(23, 4)), Y),
        "sparse": (sp.csr_matrix(X), Y),
        "store": (open_dataset(tmp_path / "made.zarr"), None),
    }
    for road, rows in roads.items():
        found = get_selector(name, tile=32, **options).fit(*rows)
        np.testing.assert_array_equal(found.order_, expected.order_, err_msg=road)
        np.testing.assert_array_equal(found.support_, expected.support_, err_msg=road)
        close = {"rtol": 1e-10, "atol": 1e-13, "err_msg": road}
        np.testing.assert_allclose(found.scores_, expected.scores_, **close)
        if road == "chunked":
            assert found.scores_.tobytes() == expected.scores_.tobytes()


@pytest.mark.parametrize("name", registry.names("selectors"))
def test_documentation_says_all(name):
    """`mlfs methods` prints it: parameters, what comes out, notes with the cost, the paper."""
    selector = registry.load("selectors", name)
    text = inspect.getdoc(selector)
    for section in ("Parameters", "Attributes", "Notes", "References", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    assert "O(" in text
    assert "=" in text.partition("Examples")[0]
    for parameter in inspect.signature(selector).parameters:
        assert parameter in text
