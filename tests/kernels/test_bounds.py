"""Bounds of distances between sparse rows, and what is decided by them, against all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.kernels.bounds import Doubt, Strip, bounds_of, search_bounded
from mlfs_dask.kernels.cell_gaps import cells_of
from mlfs_dask.kernels.distances import MISSING, NOMINAL, PLAIN
from mlfs_dask.kernels.hitmiss import JOINED, Question, ask, rows_apart
from mlfs_dask.kernels.members import label_members
from mlfs_dask.kernels.neighbors import distance_buffer, nothing_found
from mlfs_dask.kernels.postings import (
    SparseRule,
    distances_sparse,
    post,
    rows_in_order,
    search_sparse,
)
from mlfs_dask.kernels.terms import find_terms, make_room


@st.composite
def sparse_rows(draw):
    """Rows with ties, near ties, duplicates, empty rows, missing values, far away ones."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(3, 40)), draw(st.integers(1, 9))
    X = rng.integers(1, 4, (n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.2, 0.6]))) * 1.0
    style = draw(st.sampled_from(["tied", "nearly tied", "real", "far"]))
    if style == "nearly tied":
        X *= 1 + rng.integers(-2, 3, X.shape) * 2.0**-52
    elif style != "tied":
        X *= rng.random(X.shape) * (1e160 if style == "far" else 1.0)
    X[rng.integers(0, n, n // 3)] = X[0]
    X[rng.integers(0, n)] = 0.0
    how = rng.choice([PLAIN, MISSING, NOMINAL], d).astype(np.uint8)
    place = rng.permutation(d)
    X[(rng.random(X.shape) < 0.15) & (how[place] != PLAIN)] = np.nan
    shift, span = rng.integers(-1, 2, d) * 0.3, rng.integers(1, 4, d) / 3
    stops = np.sort(rng.integers(0, d + 1, 3))
    rule = SparseRule(place, shift, span, how, np.zeros(d), np.ones(d), stops)
    return X, rule


def prepared(X, rule):
    csr = sp.csr_matrix(X)
    postings = post(csr.data, csr.indices, csr.indptr, rule)
    rows = rows_in_order(postings)
    return postings, rows, cells_of(rows, rule)


@settings(max_examples=60)
@given(sparse_rows(), st.integers(1, 6), st.booleans())
def test_lists_are_those_of_all_pairs(case, k, own) -> None:
    X, rule = case
    n = len(X)
    rows = np.arange(n) if own else np.full(n, -1)
    bounded, expected = (nothing_found((n, 3, k), np.float64) for _ in range(2))
    totals = distance_buffer(2, n, np.float64)
    _, queries, cells = prepared(X, rule)
    for begin, end in ((0, n // 3), (n // 3, n)):
        postings, _, part = prepared(X[begin:end], rule)
        search_bounded(cells, Strip(postings, part, begin), rule, rows, bounded, totals)
        search_sparse(queries, postings, rule, begin, rows, expected, totals)
    np.testing.assert_array_equal(bounded.indices, expected.indices)
    np.testing.assert_array_equal(bounded.distances, expected.distances)


@settings(max_examples=60)
@given(sparse_rows(), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([0, 4]))
def test_classes_are_settled_as_by_distances(case, k, seed, n_pools) -> None:
    X, rule = case
    n = len(X)
    postings, queries, cells = prepared(X, rule)
    shape = (n, 64 * -(-n // 64))
    exact, totals, slack = np.zeros(shape), np.zeros(shape), np.zeros(n)
    distances_sparse(queries, postings, rule, 0, exact, np.empty(n))
    bounds_of(cells, Strip(postings, cells, 0), rule, totals, slack)
    with np.errstate(invalid="ignore"):
        assert np.all(totals[:, :n] <= exact[:, :n])
        assert np.all(exact[:, :n] <= totals[:, :n] + slack[:, None])

    Y = (np.random.default_rng(seed).random((n, 3)) < 0.5).astype(np.uint8)
    size = Y.sum(axis=0, dtype=np.int64)
    lists = ask(Question(JOINED, k, 0, 1, size, rows_apart(Y)), Y, np.zeros(0, np.int64), n)
    members, own, room = label_members(Y), np.arange(n), make_room(k, n, np.float64, n_pools)
    doubt = Doubt(slack, cells, cells, rule, np.zeros(shape[1], dtype=bool))
    found, expected = (
        find_terms(each, members, lists, own, np.inf, room, np.zeros(n, dtype=bool), why)
        for each, why in ((totals, doubt), (exact, None))
    )
    far = not np.all(np.isfinite(exact))
    if not far:  # else some distances overflow, which is an error
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def plain_rule(d):
    """All features by difference, as they are, at one point."""
    zero, one = np.zeros(d), np.ones(d)
    return SparseRule(
        np.arange(d), zero, one, np.zeros(d, np.uint8), zero, one, stops=np.array([d])
    )


def test_squares_too_small_for_all_their_digits_decide_as_well() -> None:
    """They are wrong by more than a share of themselves."""
    rng = np.random.default_rng(0)
    rule, rows = plain_rule(40), np.arange(60)
    X = (rng.random((60, 40)) < 0.05) * rng.integers(1, 9, (60, 40)) * 4e-163
    postings, queries, cells = prepared(X, rule)
    bounded, expected = (nothing_found((60, 1, 3), np.float64) for _ in range(2))
    totals = distance_buffer(2, 60, np.float64)
    search_bounded(cells, Strip(postings, cells, 0), rule, rows, bounded, totals)
    search_sparse(queries, postings, rule, 0, rows, expected, totals)
    np.testing.assert_array_equal(bounded.indices, expected.indices)


def test_far_rows_are_left_alone() -> None:
    """One of a hundred rows is near enough to the query for its distance to be summed."""
    X = np.zeros((100, 101))
    X[:, 0], X[np.arange(100), np.arange(100) + 1] = 1.0, 5.0
    X[1] = X[0] * 1.25
    rule = plain_rule(101)
    postings, _, cells = prepared(X, rule)
    found = nothing_found((1, 1, 1), np.float64)
    one = cells._replace(start=cells.start[:2])
    totals = distance_buffer(2, 100, np.float64)
    strip = Strip(postings, cells, 0)
    assert search_bounded(one, strip, rule, np.array([0]), found, totals) == (100, 1)
    assert found.indices.item() == 1
    assert found.distances.item() == pytest.approx(0.25**2 + 1.25**2)
