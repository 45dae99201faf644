"""Rows for neighbour searches in the forms that take different roads, and lists side by side."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs import neighbor_tasks, neighbors, search_tasks


@contextmanager
def rows_as(form, **patches):
    """How rows are wrapped, with CSR rows compared by all cells, stored cells or meetings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "SPARSE_SHARE", 1.0 if form == "postings" else -1.0)
        if form == "meetings":
            patch.setattr(neighbors, "BRUTE_FEATURES", 0)
            patch.setattr(neighbors, "MET_SHARE", 0.6)
        homes = {"PREPARED_BYTES": neighbors, "TRAINING_STRIP": search_tasks}
        for name, value in patches.items():
            patch.setattr(homes.get(name, neighbor_tasks), name, value)
        yield np.asarray if form == "array" else sp.csr_matrix


def joined(results):
    """Lists of all blocks, leave-one-out and queries one after the other."""
    return [
        (row.tolist(), places.tolist())
        for _, found in results
        for row, places in zip(found.distances.astype(float), found.indices, strict=True)
    ]
