"""Counts by bin, label and marker: all roads, one pass over the tiles for each request."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs import cooccurrence
from mlfs_dask.graphs.cooccurrence import Cooccurrence
from mlfs_dask.graphs.discretize import find_bins
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.kernels.discretize import bins_of_cells
from reference.executors import Shuffled
from reference.tables import tables


def count(X, Y, executor=None, *, nominal=(), tile=7):
    kind = [int(r in nominal) for r in range(X.shape[1])]
    source = as_source(X, Y, feature_kind=kind, tile=tile)
    summary = summarize_columns(source)
    executor = executor or InProcess(1)
    bins = find_bins(source, summary, executor)
    counts = Cooccurrence(source, bins, summary, source.Y, executor)
    counts.bins = bins
    return counts


def all_counts(counts):
    features = range(len(counts.start) - 1)
    by_feature = [[c.tolist() for c, _ in counts.of_feature(f)] for f in features]
    by_label = [c.tolist() for c in counts.of_labels()]
    return counts.counts.tolist(), counts.totals.tolist(), by_feature, by_label


@given(table=tables(), tile=st.integers(1, 9), nominal=st.sets(st.integers(0, 5)))
def test_counts_equal_plain_ones(table, tile, nominal):
    X, Y = table
    nominal = [r for r in nominal if r < X.shape[1]]
    counts = count(X, Y, nominal=nominal, tile=tile)
    bins = counts.bins
    n, d = X.shape
    codes = bins_of_cells(X.ravel(), np.tile(np.arange(d), n), bins).reshape(n, d)
    listed = np.setdiff1d(np.arange(bins.n_bins), bins.base)
    columns = (codes[:, :, None] == listed).any(axis=1)
    member = np.column_stack([np.ones(len(Y), dtype=np.int64), Y])
    assert counts.counts.tolist() == (columns.T @ member).tolist()
    assert counts.totals.tolist() == member.sum(axis=0).tolist()
    owner = bins.feature[listed]
    for f in range(X.shape[1]):
        own = [columns[:, c] for c in np.flatnonzero(owner == f)]
        assert counts.start[f + 1] - counts.start[f] == len(own)
        for (found, totals), rows in zip(counts.of_feature(f), own, strict=True):
            assert found.tolist() == (columns[rows].T @ member[rows]).tolist()
            assert totals.tolist() == member[rows].sum(axis=0).tolist()
    for k, found in enumerate(counts.of_labels()):
        rows = Y[:, k] == 1
        assert found.tolist() == (columns[rows].T @ member[rows]).tolist()


@given(table=tables())
def test_all_roads_give_the_same_counts(table):
    X, Y = table
    X[np.abs(X) < 1] = 0.0
    expected = all_counts(count(X, Y))
    assert all_counts(count(X, Y, tile=100)) == expected
    assert all_counts(count(X, Y, Shuffled(1), tile=3)) == expected
    assert all_counts(count(sp.csr_matrix(X), Y, tile=3)) == expected


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kept", ["none", "some", "all"])
def test_tiles_that_do_not_fit_are_encoded_anew(sparse, kept, monkeypatch):
    rng = np.random.default_rng(5)
    X, Y = (rng.random((70, 20)) < 0.3) * 1.0, (rng.random((70, 3)) < 0.4).astype(np.uint8)
    X = sp.csr_matrix(X) if sparse else X
    expected = all_counts(count(X, Y))
    limit = {"none": 0, "some": 1000 if sparse else 100, "all": 10**9}[kept]
    monkeypatch.setattr(cooccurrence, "_KEPT_BYTES", limit)
    executor = Shuffled(0, n_workers=1)
    counts = count(X, Y, executor)
    encoded = dict(executor.calls)["_encode"]
    assert (encoded == 0, encoded == 10) == (kept == "none", kept == "all")
    assert all_counts(counts) == expected


def test_a_request_walks_over_the_tiles_once():
    rng = np.random.default_rng(6)
    X, Y = rng.random((50, 8)), (rng.random((50, 3)) < 0.4).astype(np.uint8)
    executor = Shuffled()
    counts = count(X, Y, executor, tile=8)
    executor.calls.clear()
    list(counts.of_feature(3))
    assert executor.calls == [("_count_rows", 1)]
    list(counts.of_labels())
    assert executor.calls == 2 * [("_count_rows", 1)]


def test_tiles_are_shared_out_among_the_workers_where_it_pays(monkeypatch):
    rng = np.random.default_rng(6)
    X, Y = rng.random((50, 8)), (rng.random((50, 3)) < 0.4).astype(np.uint8)
    expected = all_counts(count(X, Y))
    for work, n_tasks in ((1, 3), (10**9, 1), (150, 2)):
        monkeypatch.setattr(cooccurrence, "_TASK_WORK", work)
        executor = Shuffled(2, n_workers=3)
        counts = count(X, Y, executor, tile=8)
        assert all_counts(counts) == expected
        assert executor.calls[-1] == ("_count_rows", n_tasks)


def test_many_markers_are_counted_in_parts(monkeypatch):
    rng = np.random.default_rng(7)
    X, Y = rng.integers(0, 12, (40, 3)) * 1.0, (rng.random((40, 5)) < 0.4).astype(np.uint8)
    expected = all_counts(count(X, Y, nominal=[0, 1, 2]))
    monkeypatch.setattr(cooccurrence, "_COUNTS_BYTES", 4000)
    executor = Shuffled()
    assert all_counts(count(X, Y, executor, nominal=[0, 1, 2])) == expected
    assert sum(name == "_count_rows" for name, _ in executor.calls) > 4
