"""Equal rows made one: which are, what they carry, and that nothing else of them changes."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_separation import differ, make_wide

from mlfs_dask.graphs.duplicates import collapse
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.separation import find_columns, prepare_rows, sealed_rows
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.graphs.tiles import tile_tasks
from mlfs_dask.kernels.planes import label_words
from mlfs_dask.kernels.separation import separators

ALL = ~np.uint64(0)


def groups_by_hand(X):
    """For each row the first one of equal values, missing where it has missing ones."""
    keys = [tuple(None if np.isnan(v) else v for v in row) for row in X.tolist()]
    return [keys.index(key) for key in keys]


@given(
    seed=st.integers(0, 1000),
    form=st.sampled_from([np.asarray, sp.csr_matrix]),
    d=st.sampled_from([3, 40, 700]),
    n=st.integers(1, 14),
)
def test_equal_rows_are_one(seed, form, d, n):
    rng = np.random.default_rng(seed)
    X = make_wide(seed, n, d)[rng.integers(0, n, n)] + 0.0  # there is one 0 only
    Y = (rng.random((n, 70)) < 0.9).astype(np.uint8)
    Y[rng.random(n) < 0.5] = 1
    source, one = as_source(form(X), Y), InProcess(1)
    columns = find_columns(source, summarize_columns(source, one), one, divisor=2.0)
    [task] = tile_tasks(source, source.Y)
    left, weight = collapse(prepare_rows(task, columns))
    left = sealed_rows(left)
    apart, first = differ(X, columns), np.array(groups_by_hand(X))
    # Rows may also be one if no row differs from one of them and not from the other.
    alike = np.array([[bool((apart[i] == apart[j]).all()) for j in range(n)] for i in range(n)])
    kept: list[int] = []
    groups: list[list[int]] = []
    for i in range(n):
        of_same = next((g for g, k in enumerate(kept) if first[k] == first[i]), None)
        if of_same is None:
            kept.append(i)
            groups.append([i])
        else:
            groups[of_same].append(i)
    assert len(left.labels) <= len(kept)
    if len(left.labels) == len(kept):
        labels = [np.bitwise_and.reduce(Y[group], axis=0) for group in groups]
        assert (left.labels == label_words(np.array(labels))).all()
        stands_for = [(Y[g] == c).all(axis=1).sum() for g, c in zip(groups, labels, strict=True)]
        assert weight.tolist() == stands_for
        for a, i in enumerate(kept):
            for b, j in enumerate(kept):
                words = range(columns.layout.n_words)
                found = [int(separators(left, a, left, b, w, ALL)).bit_count() for w in words]
                assert sum(found) == apart[i, j].sum()
    else:
        assert any(alike[i, j] for i in kept for j in kept if i != j)


def test_rows_of_one_code_that_differ_stay_apart(monkeypatch):
    monkeypatch.setattr("mlfs_dask.graphs.duplicates.row_codes", lambda rows, *bits: CODES)
    X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    CODES = np.zeros(len(X), dtype=np.uint64)
    source, one = as_source(X, np.eye(5)), InProcess(1)
    columns = find_columns(source, summarize_columns(source, one), one, divisor=2.0)
    [task] = tile_tasks(source, source.Y)
    left, weight = collapse(prepare_rows(task, columns))
    distinct = {tuple(row) for row in left.head.far.tolist()}
    assert len(distinct) == 3
    assert len(weight) == len(left.labels) >= 3
