"""Neighbourhoods on a line against those of plain distances."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.exactsum import cuts
from mlfs_dask.kernels.gap_counts import HARD, SOFT, Tally
from mlfs_dask.kernels.gap_levels import GapRule
from mlfs_dask.kernels.gap_line import line_stretches, tally_line, tally_line_classes
from mlfs_dask.kernels.points import point_counts
from reference.stream import Table, dependency


@st.composite
def lines(draw, max_rows=60):
    """One column: ties, grids, heavy tails, far means."""
    n = draw(st.integers(2, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["few", "grid", "tail", "normal", "far"]))
    column = {
        "few": lambda: rng.integers(0, 4, n).astype(float),
        "grid": lambda: rng.permutation(n) * 0.1,
        "tail": lambda: rng.random(n) ** 9,
        "normal": lambda: rng.normal(size=n),
        "far": lambda: 1e9 + rng.integers(0, 30, n) / 7,
    }[kind]()
    return column, draw(st.sampled_from([0.7, 1.0, 1.5, 3.0, 12.0])), draw(st.booleans())


@given(case=lines())
def test_stretches_hold_the_neighbours(case):
    column, factor, strict = case
    levels, codes, size = np.unique(column, return_inverse=True, return_counts=True)
    first, last = line_stretches(levels, size, GapRule(factor, strict, len(column)))
    table = Table(column[:, None], "none")
    for i, v in enumerate(codes):
        around = {i, *table.neighborhood(i, [0], factor, strict)}
        inside = set(np.flatnonzero((codes >= first[v]) & (codes < last[v])).tolist())
        assert around == inside


@given(case=lines(max_rows=30), seed=st.integers(0, 99))
def test_labels_and_classes_are_counted_around_every_row(case, seed):
    column, factor, strict = case
    n, rng = len(column), np.random.default_rng(seed)
    Y = (rng.random((n, 3)) < 0.3).astype(np.uint8)
    levels, codes, size = np.unique(column, return_inverse=True, return_counts=True)
    stretches = line_stretches(levels, size, GapRule(factor, strict, n))
    having = point_counts(Y, codes, len(levels))
    table = Table(column[:, None], "none")
    gap = {"factor": factor, "strict": strict}
    places = cuts(np.ones(3), n)
    for what, how in ((HARD, "hard"), (SOFT, "soft")):
        tally = Tally(np.zeros(3, np.int64), np.zeros((2, 3)))
        tally_line(what, stretches, size, having, places, tally)
        counted = tally.pure if what == HARD else tally.shares.sum(axis=0)
        expected = [dependency(table, Y[:, k].tolist(), [0], how, **gap) for k in range(3)]
        np.testing.assert_allclose(counted / n, expected, rtol=1e-13)
    classes = Y @ np.array([1, 2, 4])
    tally = Tally(np.zeros(1, np.int64), np.zeros((2, 1)))
    order = np.lexsort((codes, classes))
    tally_line_classes(stretches, codes, classes, order, cuts(np.ones(1), n), tally)
    expected = dependency(table, classes.tolist(), [0], "soft", **gap)
    np.testing.assert_allclose(tally.shares.sum() / n, expected, rtol=1e-13)


def test_a_line_of_thousands_is_no_square_of_steps():
    """Evenly spaced values have no wide gap at all, a heavy tail has one far out."""
    n = 200_000
    size = np.ones(n, dtype=np.int64)
    first, last = line_stretches(np.arange(n) / 7.0, size, GapRule(4.0, False, n))
    assert (first == 0).all()
    assert (last == n).all()
    tail = np.sort(np.random.default_rng(0).random(n) ** 20)
    first, last = line_stretches(tail, size, GapRule(1.5, False, n))
    assert (last - first).max() > n // 10
    assert (last - first).min() < 100
