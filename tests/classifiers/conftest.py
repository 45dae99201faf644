"""Data that tests of several classifiers share."""

import numpy as np
import pytest


@pytest.fixture
def four_labels():
    """Training rows and labels, queries and theirs: two labels planted, one rare, one noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(130, 5))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0, X[:, 2] > 1, rng.random(130) > 0.5])
    return X[:90], Y[:90].astype(np.uint8), X[90:], Y[90:].astype(np.uint8)


@pytest.fixture(autouse=True)
def _small_rows_are_cut_too(monkeypatch):
    """Else most tables here are looked through by one task."""
    monkeypatch.setattr("mlfs_dask.graphs.neighbors._LEAST_CELLS", 0)
