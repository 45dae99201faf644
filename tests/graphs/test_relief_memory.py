"""Memory of Relief: blocks of distances, never all of them."""

import tracemalloc

import numpy as np
import pytest

from mlfs_dask.graphs import relief, relief_tasks
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.selectors.mlrelieff import MLReliefF
from mlfs_dask.selectors.relief_wrapper import ReliefWrapper

MB = 2**20


def peak_of(selector, X, Y, monkeypatch):
    """Largest size of what was allocated during a fit."""
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: InProcess(1))
    selector.fit(X[:70], Y[:70])  # compiled code and imports aren't counted
    tracemalloc.start()
    try:
        selector.fit(X, Y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize(
    "selector",
    [
        ReliefWrapper(10, tile=512),
        ReliefWrapper(10, order=2, normalize="none", tile=512),
        MLReliefF(tile=512),
        MLReliefF(labels="sets", tile=512),
    ],
    ids=["labels", "pairs", "joined", "sets"],
)
def test_no_matrix_of_all_pairs_of_rows(selector, prepared, monkeypatch):
    rng = np.random.default_rng(0)
    n = 5000
    X, Y = rng.random((n, 6)), (rng.random((n, 6)) < 0.3).astype(np.uint8)
    monkeypatch.setattr(relief_tasks, "TASK_BYTES", 4 * MB)
    if not prepared:
        monkeypatch.setattr(relief, "PREPARED_BYTES", 0)
        monkeypatch.setattr("mlfs_dask.graphs.neighbors.PREPARED_BYTES", 0)
    # Whole, the distances would take 200 MB.
    assert peak_of(selector, X, Y, monkeypatch) < 16 * MB
