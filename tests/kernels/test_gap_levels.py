"""Ends of gap neighbourhoods against sorted lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.gap_levels import GapRule, find_extremes, find_levels, row_buffer


def by_sorting(squares, rule):
    """Largest square among the neighbours."""
    order = sorted(squares)
    d = [float(np.sqrt(v)) for v in order]
    if rule.n_rows < 3 or d[0] == d[-1]:
        return order[-1]
    width = rule.factor * (d[-1] - d[0]) / (rule.n_rows - 2)
    for k in range(len(d) - 1):
        gap = d[k + 1] - d[k]
        if gap > width or (gap == width and not rule.strict):
            return order[k]
    return order[-1]


def level_of(totals, own, alone, rule):
    """Of the row at one point, between rows at the points before and after it."""
    n = len(totals)
    size = np.full(n, 1 if alone else 2)
    rows = row_buffer(n, totals.dtype, 3)
    first, last = max(0, own - 1), min(n, own + 2)
    assert len(rows.level) == 3
    stride = len(rows.near)
    for i in range(last - first):
        rows.total[i * stride : i * stride + n] = totals
    find_extremes(rows, n, first, last - first, size)
    find_levels(rows, n, last - first, rule)
    place = own - first
    found = rows.total[place * stride :][:stride]
    others = np.delete(totals, own) if alone else totals
    assert rows.smallest[place, -2:].tolist() == [others.min(), others.max()]
    beyond = rows.nobody[0]
    assert (found[own] == beyond) == alone
    assert (found[n:] == beyond).all()
    return rows.level[place]


@st.composite
def rows(draw):
    """Squared distances: whole or not, few or many, with ties, clusters and far ones."""
    n = draw(st.sampled_from([2, 3, 5, 63, 64, 65, 128, 300, 900]))
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["few", "many", "even", "cluster", "equal"]))
    most = 250 if dtype == np.uint8 else 4000
    if kind == "few":
        values = rng.integers(0, 4, n)
    elif kind == "many":
        values = rng.integers(0, most, n)
    elif kind == "even":
        values = np.minimum(rng.permutation(n), most)
    elif kind == "cluster":
        values = np.where(rng.random(n) < 0.9, rng.integers(0, 9, n), rng.integers(0, most, n))
    else:
        values = np.full(n, 7)
    if dtype == np.float64 and kind != "equal":
        values = values * values / 3 if draw(st.booleans()) else values + rng.random(n)
    return values.astype(dtype), draw(st.integers(0, n - 1))


@given(
    case=rows(),
    alone=st.booleans(),
    factor=st.sampled_from([0.5, 1.0, 1.5, 4.0, 50.0]),
    strict=st.booleans(),
)
def test_levels_are_those_of_sorted_distances(case, alone, factor, strict):
    totals, own = case
    if not alone:
        totals[own] = 0
    rule = GapRule(factor, strict, len(totals) if alone else len(totals) + 1)
    others = np.delete(totals, own) if alone else totals
    assert level_of(totals, own, alone, rule) == by_sorting(others.tolist(), rule)


@pytest.mark.parametrize("strict", [False, True])
def test_a_gap_as_wide_as_the_width(strict):
    # Distances 1, 2, 4: with factor 1 and five rows the width is 1, the width of the first gap.
    totals = np.array([0.0, 1.0, 4.0, 16.0, 16.0])
    level = level_of(totals, 0, True, GapRule(1.0, strict, 5))
    assert level == (4.0 if strict else 1.0)


def test_without_a_wide_gap_all_are_neighbours():
    totals = np.arange(1000, dtype=np.float64) ** 2
    assert level_of(totals, 0, True, GapRule(1.5, False, 1000)) == 999.0**2


def test_a_gap_behind_many_neighbours_is_found():
    totals = np.sort(np.random.default_rng(0).random(4000)) * 1e-3
    totals[3000:] += 1.0
    expected = by_sorting(totals[1:].tolist(), GapRule(30.0, False, 4000))
    assert level_of(totals, 0, True, GapRule(30.0, False, 4000)) == expected == totals[2999]
