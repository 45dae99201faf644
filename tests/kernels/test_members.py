"""Nearest rows of overlapping classes, against sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.hitmiss import (
    JOINED,
    ONE,
    PAIRS,
    SETS,
    Question,
    ask,
    rows_apart,
    rows_with_a_pair,
)
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.kernels.members import label_members, nearest_members, set_members
from mlfs_dask.kernels.terms import find_terms, make_room

NONE = np.zeros((0, 0), dtype=np.int64)


def labels_of(seed, n, q):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < rng.choice([0.05, 0.4, 0.95])).astype(np.uint8)
    Y[rng.random(n) < 0.1] = 0
    return Y


@given(seed=st.integers(0, 10**6), n=st.integers(1, 200), q=st.integers(1, 5))
def test_sets_hold_the_rows_with_a_label(seed, n, q):
    Y = labels_of(seed, n, q)
    sets = find_label_sets(Y)
    everyone = np.ones((n, 1), dtype=np.uint8)
    by_code = np.eye(sets.n_sets, dtype=np.uint8)[sets.codes]
    for members, held in (
        (label_members(Y), np.hstack([Y, everyone])),
        (set_members(sets.codes, sets.n_sets), by_code),
    ):
        for column, rows in enumerate(held.T):
            found = []
            for e in range(members.start[column], members.start[column + 1]):
                assert members.word[e] != 0
                bits = np.unpackbits(members.word[[e]].view(np.uint8), bitorder="little")
                found += (64 * members.block[e] + np.flatnonzero(bits)).tolist()
            assert found == np.flatnonzero(rows).tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 300),
    k=st.integers(1, 12),
    levels=st.sampled_from([2, 20, 250]),
)
def test_nearest_members_are_those_of_a_sort(dtype, seed, n, k, levels):
    Y = labels_of(seed, n, 3)
    rng = np.random.default_rng(seed)
    total = np.zeros(64 * -(-n // 64), dtype=dtype)
    total[:n] = rng.integers(0, levels, n)
    members = label_members(Y)
    own = int(rng.integers(-1, n))
    for inside in range(4):
        for barred in range(4):
            held = Y[:, inside] == 1 if inside < 3 else np.ones(n, dtype=bool)
            away = Y[:, barred] == 1 if barred < 3 else np.zeros(n, dtype=bool)
            rows = [j for j in np.flatnonzero(held & ~away).tolist() if j != own]
            expected = sorted(rows, key=lambda j: (total[j], j))[:k]
            distance, index = np.zeros(k, dtype=dtype), np.zeros(k, dtype=np.int64)
            count = nearest_members(total, members, inside, barred, own, distance, index)
            assert index[:count].tolist() == expected
            assert distance[:count].tolist() == total[expected].tolist()


def terms_by_hand(kind, D, Y, k):
    """(query, sum) -> {row: weight}, from the definitions."""
    n, q = Y.shape
    found = {}

    def add(query, into, rows, weight):
        near = sorted((j for j in rows if j != query), key=lambda j: (D[query, j], j))[:k]
        held = found.setdefault((query, into), {})
        for j in near:
            held[j] = held.get(j, 0.0) + weight / len(near)

    everyone = range(n)
    classes = [tuple(row) for row in Y.tolist()]
    for i in everyone:
        if kind == ONE:
            for label in range(q):
                if len(set(Y[:, label].tolist())) == 2:
                    add(i, label, [j for j in everyone if Y[j, label] == Y[i, label]], -1.0)
                    add(i, label, [j for j in everyone if Y[j, label] != Y[i, label]], 1.0)
        elif kind == SETS:
            for c in sorted(set(classes)):
                rows = [j for j in everyone if classes[j] == c]
                own = classes.count(classes[i])
                if len(set(classes)) > 1:
                    weight = -1.0 if c == classes[i] else len(rows) / (n - own)
                    add(i, 0, rows, weight)
        else:
            absent = [b for b in range(q) if not Y[i, b]]
            for a in np.flatnonzero(Y[i]).tolist():
                for b in absent:
                    misses = [j for j in everyone if Y[j, b] > Y[j, a]]
                    if not misses:
                        continue
                    pairs = [(x, y) for x in range(q) for y in range(x + 1, q)]
                    into = pairs.index((min(a, b), max(a, b))) if kind == PAIRS else 0
                    weight = Y[:, b].sum() / Y[:, absent].sum() if kind == JOINED else 1.0
                    add(i, into, misses, weight)
                    add(i, into, [j for j in everyone if Y[j, a] > Y[j, b]], -weight)
    return {key: held for key, held in found.items() if held}


@pytest.mark.parametrize("kind", [ONE, PAIRS, JOINED, SETS])
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 30),
    q=st.integers(1, 4),
    k=st.integers(1, 6),
    pooled=st.booleans(),
)
def test_terms_are_those_of_the_definitions(kind, seed, n, q, k, pooled):
    Y = labels_of(seed, n, q)
    k = min(k, n - 1)
    D = np.zeros((n, 64), dtype=np.float64)
    D[:, :n] = np.random.default_rng(seed).integers(0, 6, (n, n))
    sets = find_label_sets(Y)
    members = set_members(sets.codes, sets.n_sets) if kind == SETS else label_members(Y)
    n_sums = {ONE: q, PAIRS: q * (q - 1) // 2}.get(kind, 1)
    size = sets.counts if kind == SETS else Y.sum(axis=0, dtype=np.int64)
    apart = rows_apart(Y) if kind in (PAIRS, JOINED) else NONE
    question = Question(kind, k, 0, n_sums, size, apart)
    codes = sets.codes if kind == SETS else np.zeros(0, dtype=np.int64)
    lists = ask(question, Y, codes, n)
    n_pools = q + 1 if pooled and kind != SETS else 0
    unsure, room = np.zeros(n, dtype=bool), make_room(k, n, np.float64, n_pools)
    terms = find_terms(D, members, lists, np.arange(n), np.inf, room, unsure, None)
    found = {}
    for t, query in enumerate(terms.query.tolist()):
        rows = terms.row[terms.start[t] : terms.start[t + 1]].tolist()
        assert rows == sorted(set(rows))
        weights = terms.weight[terms.start[t] : terms.start[t + 1]].tolist()
        if rows:
            found[query, int(terms.sum[t])] = dict(zip(rows, weights, strict=True))
    expected = terms_by_hand(kind, D, Y, k)
    assert sorted(found) == sorted(expected)
    for key, held in expected.items():
        assert found[key] == pytest.approx(held, rel=1e-13, abs=1e-15)
    assert not unsure.any()
    assert not room.seen.any()
    if kind == JOINED:
        assert rows_with_a_pair(Y, apart) == len(found)


def test_queries_that_a_distance_does_not_tell_are_marked():
    Y = np.ones((6, 1), dtype=np.uint8)
    Y[3:] = 0
    D = np.full((6, 64), 255, dtype=np.uint8)
    D[0, 1:6] = [9, 255, 3, 4, 5]  # its second hit is not known, all misses are
    question = Question(ONE, 1, 0, 1, np.array([3]), NONE)
    own = np.arange(6)
    lists = ask(question, Y, np.zeros(0, dtype=np.int64), 6)
    unsure = np.zeros(6, dtype=bool)
    room = make_room(1, 6, np.uint8)
    terms = find_terms(D, label_members(Y), lists, own, np.uint8(255), room, unsure, None)
    assert unsure.tolist() == [False] + [True] * 5
    assert terms.weight[: terms.start[1]].tolist() == [-1.0, 1.0]
    assert not terms.weight[terms.start[1] :].any()
