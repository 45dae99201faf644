"""A job that runs in a fraction of a second, for tests of this package and of plug-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.store import Dataset
from mlfs_dask.testing.tables import ArrayTable

TINY_JOB: Final = """
schema = 1
name = "tiny"
seed = 3

[data]
store = "tiny"

[[select]]
method = "spec"
label = "SPEC"
phi = 2

[[select]]
method = "mllap"

[evaluate]
split = { kind = "kfold", folds = 3, repeats = 2 }
features = { fractions = [0.25, 0.5, 1.0] }
metrics = ["hamming_loss", "average_precision", "auc_macro"]

[[evaluate.classifier]]
method = "mlknn"
n_neighbors = 3
"""
"""Job file on a store named ``tiny``; 2 x 3 folds, two selectors, ML-kNN."""


def tiny_table(n: int = 60, d: int = 8, q: int = 3, seed: int = 0, **options: Any) -> ArrayTable:
    """Random features, the first q of which carry a label each.

    Parameters
    ----------
    n, d, q
        Samples, features, labels.
    seed
        Of the generator.
    **options
        As for `ArrayTable`.

    Examples
    --------
    >>> tiny_table().header.n_features
    8
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2)
    Y = (X[:, :q] + 0.3 * rng.normal(size=(n, q)) > 0).astype(np.uint8)
    return ArrayTable(X, Y, **options)


def make_tiny_store(folder: Path, name: str = "tiny", **options: Any) -> Dataset:
    """A store of `tiny_table` in tiles of 16 rows, two thirds of them marked as training rows.

    Parameters
    ----------
    folder
        Where stores lie.
    name
        Name of the store.
    **options
        As for `tiny_table`.
    """
    n = options.get("n", 60)
    folder.mkdir(parents=True, exist_ok=True)
    table = tiny_table(split=np.arange(n) % 3 // 2 + 1, **options)
    return ingest(table, folder / f"{name}.zarr", tile=16, name=name)
