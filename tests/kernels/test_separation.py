"""Words of what separates two rows, against differences taken one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.separation import find_columns, prepare_rows, sealed_rows
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.graphs.tiles import tile_tasks
from mlfs_dask.kernels.separation import NOWHERE, choose, is_separated, make_layout, separators

ALL = ~np.uint64(0)


def make_wide(seed, n, d):
    """Columns of all sorts: 0/1, counts, reals, few and many values, missing cells, constants."""
    rng = np.random.default_rng(seed)
    sorts = [
        lambda: (rng.random(n) < 0.3) * 1.0,
        lambda: (rng.random(n) < 0.2) * rng.integers(1, 4, n),
        lambda: rng.normal(size=n).round(1),
        lambda: rng.integers(0, 2, n) * 3.0,
        lambda: np.full(n, 2.0),
        lambda: np.full(n, np.nan),
    ]
    chances = (0.5, 0.25, 0.15, 0.04, 0.03, 0.03)
    drawn = rng.choice(len(sorts), size=d, p=chances)
    X = np.column_stack([sorts[s]() for s in drawn]).astype(np.float64)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def differ(X, columns):
    """Which features separate which rows, shape (n, n, d)."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(X[:, None, :] - X[None, :, :])
        return np.where(np.isnan(gap), False, gap > columns.radius)


def prepared(values, X, *, nominal=(), divisor=2.0):
    kind = np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)
    source = as_source(values, np.ones((len(X), 1)), feature_kind=kind)
    one = InProcess(1)
    columns = find_columns(source, summarize_columns(source, one), one, divisor=divisor)
    [task] = tile_tasks(source, source.Y)
    return columns, sealed_rows(prepare_rows(task, columns))


FORMS = {
    "dense": np.asarray,
    "sparse": sp.csr_matrix,
    "float32": lambda X: X.astype(np.float32),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [3, 40, 700])
def test_every_bit_is_a_difference_beyond_the_radius(form, d):
    X = make_wide(d, 12, d)
    if form == "float32":
        X = X.astype(np.float32).astype(np.float64)
    columns, rows = prepared(FORMS[form](X), X)
    layout, expected = columns.layout, differ(X, columns)
    placed = np.flatnonzero(layout.slot != NOWHERE)
    assert not expected[:, :, layout.slot == NOWHERE].any()
    for i, j in np.ndindex(len(X), len(X)):
        words = [int(separators(rows, i, rows, j, w, ALL)) for w in range(layout.n_words)]
        found = [bool(words[s >> 6] >> (s & 63) & 1) for s in layout.slot[placed].tolist()]
        assert found == expected[i, j, placed].tolist()
        assert sum(map(int.bit_count, words)) == expected[i, j].sum()


@given(seed=st.integers(0, 1000), form=st.sampled_from(["dense", "sparse"]))
def test_a_set_of_features_separates_if_one_of_them_does(seed, form):
    X = make_wide(seed, 6, 150)
    columns, rows = prepared(FORMS[form](X), X)
    expected = differ(X, columns)
    features = np.random.default_rng(seed).choice(150, size=seed % 5, replace=False)
    chosen = choose(columns.layout, features)
    for i, j in np.ndindex(6, 6):
        found = is_separated(rows, i, rows, j, chosen)
        assert found == expected[i, j, features].any()


def test_ties_on_the_radius_are_near():
    """std = 1, so the radius is 1: values 1 apart are neighbours, also 0.3 - 0.2 and 0.1."""
    X = np.array([[0.0, 0.1], [2.0, 0.3], [0.0, 0.2], [2.0, 0.4]])
    columns, _ = prepared(X, X, divisor=1.0)
    assert columns.radius[0] == 1.0
    columns, rows = prepared(X, X, divisor=0.5)
    assert columns.radius[0] == 2.0
    assert columns.layout.slot[0] == NOWHERE  # nothing is further apart
    source = as_source(X, np.ones((4, 1)))
    one = InProcess(1)
    columns = find_columns(
        source, summarize_columns(source), one, divisor=1.0, radius=np.array([2.0, 0.1])
    )
    [task] = tile_tasks(source, source.Y)
    rows = sealed_rows(prepare_rows(task, columns))
    found = [
        [is_separated(rows, i, rows, j, choose(columns.layout, np.array([1]))) for j in range(4)]
        for i in range(4)
    ]
    assert found == (abs(X[:, 1][:, None] - X[:, 1]) > 0.1).tolist()
    assert not found[0][2]
    assert found[1][2] == (0.3 - 0.2 > 0.1)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_radii_are_population_deviations_of_known_values(form):
    X = make_wide(5, 50, 60)
    X[:, 0] += 1e6
    X[:, 1] *= 1e200
    X[:, 2] *= 1e-200
    columns, _ = prepared(FORMS[form](X), X, divisor=1.7)
    known = ~np.isnan(X).all(axis=0)
    scale = np.array([1.0, 1e200, 1e-200] + 57 * [1.0])
    expected = np.nanstd((X / scale)[:, known], axis=0) * scale[known] / 1.7
    np.testing.assert_allclose(columns.radius[known], expected, rtol=1e-11)
    assert all(float(f"{r:.11e}") == r for r in columns.radius.tolist())
    assert not columns.radius[~known].any()


def test_nominal_features_of_many_values_are_equal_or_not():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, np.nan]])
    for form in ("dense", "sparse"):
        columns, rows = prepared(FORMS[form](X), X, nominal={0, 1}, divisor=0.1)
        assert columns.radius[0] == 0.0
        assert columns.nominal.tolist() == [True, False]  # 0 and 1 are numbers
        chosen = choose(columns.layout, np.array([0]))
        found = [[is_separated(rows, i, rows, j, chosen) for j in range(4)] for i in range(4)]
        assert found == (X[:, 0][:, None] != X[:, 0]).tolist()


def test_features_that_separate_most_come_first():
    none = np.zeros(600, dtype=bool)
    power = np.arange(600.0)
    layout = make_layout(np.ones(600), power, side=none, valued=none, inert=none)
    assert layout.slot[599] == 0
    assert (layout.n_head, layout.n_side, layout.n_tail) == (8, 0, 2)
    side = power < 20
    layout = make_layout(np.ones(600), power, side=side, valued=none, inert=power == 300)
    assert layout.slot[300] == NOWHERE
    assert (layout.n_lanes, layout.n_side) == (32, 1)
    assert layout.slot[19] == 64 * 8
    assert sorted(layout.slot[~(side | (power == 300))].tolist()) == [
        *range(512),
        *range(64 * 9, 64 * 9 + 67),
    ]
