"""Distances by stored cells against those by all cells."""

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.kernels.distances import MISSING, NOMINAL, PLAIN, Columns
from mlfs_dask.kernels.neighbors import (
    NOBODY,
    Window,
    distance_buffer,
    nothing_found,
    search_dense,
)
from mlfs_dask.kernels.postings import SparseRule, post, rows_in_order, search_sparse


def made(seed, kinds, n=70, d=12):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 5, (n, d)) * (rng.random((n, d)) < 0.25) * 1.0
    how = np.array([kinds[f % len(kinds)] for f in range(d)], dtype=np.uint8)
    X[(rng.random(X.shape) < 0.1) & (how != PLAIN)] = np.nan
    shift, span = rng.integers(0, 3, d) * 1.0, rng.integers(1, 4, d) * 1.0
    return X, how, shift, span, rng.permutation(d)[: d - 2]


def sparse_rule(d, how, shift, span, order, stops):
    place = np.full(d, -1)
    place[order] = np.arange(len(order))
    bottom, top = np.zeros(len(order)), np.ones(len(order))
    return SparseRule(place, shift[order], span[order], how[order], bottom, top, np.asarray(stops))


def parts(X):
    csr = sp.csr_matrix(X)
    return csr.data, csr.indices, csr.indptr


def test_postings_hold_each_stored_cell_once_in_order() -> None:
    X, how, shift, span, order = made(0, [PLAIN])
    postings = post(*parts(X), sparse_rule(12, how, shift, span, order, [10]))
    cells = [
        (f, i, (X[i, g] - shift[g]) / span[g])
        for f, g in enumerate(order)
        for i in range(70)
        if X[i, g] != 0
    ]
    features = np.repeat(np.arange(10), np.diff(postings.start))
    found = list(zip(features, postings.row, postings.value, strict=True))
    assert found == cells
    rows = rows_in_order(postings)
    again = sorted((i, f, value) for f, i, value in cells)
    owners = np.repeat(np.arange(70), np.diff(rows.start))
    assert list(zip(owners, rows.place, rows.value, strict=True)) == again


@pytest.mark.parametrize("kinds", [[PLAIN], [PLAIN, MISSING, NOMINAL]])
@pytest.mark.parametrize("own", [True, False])
def test_both_ways_have_the_same_bits(kinds, own) -> None:
    X, how, shift, span, order = made(1, kinds)
    stops, k = np.array([0, 1, 6, 10]), 9
    own_rows = np.arange(20) if own else np.full(20, NOBODY)
    rule = sparse_rule(12, how, shift, span, order, stops)
    sparse = nothing_found((20, 4, k), np.float64)
    totals = distance_buffer(2, 70, np.float64)
    queries = rows_in_order(post(*parts(X[:20]), rule))
    for begin, end in ((0, 33), (33, 70)):
        postings = post(*parts(X[begin:end]), rule)
        search_sparse(queries, postings, rule, begin, own_rows, sparse, totals)

    dense = nothing_found((20, 4, k), np.float64)
    # Missing cells of plain features do not occur; scaling is the same operation.
    values = np.ascontiguousarray(((X - shift) / span)[:, order].T)
    columns = Columns(values, how[order], rule.bottom, rule.top)
    search_dense(
        np.ascontiguousarray(values[:, :20].T),
        columns,
        stops,
        0,
        own_rows,
        dense,
        distance_buffer(20, 70, np.float64),
        Window(0, 70, True, 0),
    )
    np.testing.assert_array_equal(sparse.indices, dense.indices)
    np.testing.assert_array_equal(sparse.distances, dense.distances)


def test_stored_zeros_change_nothing() -> None:
    rule = sparse_rule(2, np.zeros(2, np.uint8), np.zeros(2), np.ones(2), np.arange(2), [2])
    stored = sp.csr_matrix(
        (np.array([0.0, 3.0, 0.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    cells = (stored.data, stored.indices, stored.indptr)
    found = nothing_found((2, 1, 1), np.float64)
    postings = post(*cells, rule)
    totals = distance_buffer(2, 2, np.float64)
    search_sparse(rows_in_order(postings), postings, rule, 0, np.arange(2), found, totals)
    assert found.distances.ravel().tolist() == [9.0, 9.0]
    assert found.indices.ravel().tolist() == [1, 0]
