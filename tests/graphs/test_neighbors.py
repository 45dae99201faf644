"""Exact neighbours through tiles, executors and roads, against plain loops and scikit-learn."""

import random

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_forms import joined, rows_as
from sklearn.neighbors import NearestNeighbors

from mlfs_dask.errors import InputError
from mlfs_dask.graphs import neighbors
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.neighbors import NeighborSearch, nearest_neighbors, whole_lists
from mlfs_dask.graphs.source import as_source
from reference.neighbors import nearest


@pytest.fixture(autouse=True)
def _small_rows_are_cut_too(monkeypatch):
    """Else most tables here are looked through by one task."""
    monkeypatch.setattr(neighbors, "_LEAST_CELLS", 0)


class Shuffled:
    """Runs tasks in any order, as workers may; results come in the order of the items."""

    n_workers = 3

    def __init__(self, seed=0):
        self._random = random.Random(seed)
        self.calls = 0

    def map(self, function, items, *common):
        places = list(range(len(items)))
        self._random.shuffle(places)
        self.calls += len(places)
        results = {place: function(items[place], *common) for place in places}
        yield from (results[place] for place in range(len(items)))

    def share(self, value):
        return value


@st.composite
def tables(draw):
    """Rows with ties, duplicates, missing values, constants and nominal features; some queries."""
    n = draw(st.integers(2, 14))
    d = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    style = draw(st.sampled_from(["binary", "few", "real"]))
    if style == "real":
        X = rng.normal(size=(n + 4, d))
    else:
        X = rng.integers(0, 2 if style == "binary" else 4, (n + 4, d)).astype(np.float64)
    if draw(st.booleans()):
        X[rng.integers(0, n, 3)] = X[0]
    nominal = (rng.random(d) < 0.3) & (style != "real")
    if draw(st.booleans()):
        X[:n, 0] = 1.0  # constant in training, not in the queries
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    if draw(st.booleans()):
        X[:n, -1] = np.nan  # never known in training
    order = rng.permutation(d)[: draw(st.integers(1, d))]
    options = {
        "order": order,
        "normalize": draw(st.sampled_from(["minmax", "none"])),
    }
    return X[:n], X[n:], nominal, options


def assert_same_lists(found, expected):
    distances, indices = found
    squared, rows = expected
    np.testing.assert_array_equal(indices, rows)
    np.testing.assert_array_equal(distances, np.sqrt(np.array(squared)))


FORMS = st.sampled_from(["array", "csr", "postings", "meetings"])


@settings(max_examples=80)
@given(tables(), st.sampled_from([1, 3, 100]), FORMS)
def test_lists_are_those_of_plain_loops(case, tile, form) -> None:
    """All roads, any tile, dense and sparse rows, training rows and others."""
    train, queries, nominal, options = case
    with rows_as(form) as wrap:
        source = as_source(wrap(train), feature_kind=nominal.astype(int), tile=tile)
        twin = {**options, "nominal": nominal}
        for rows, k in ((None, len(train) - 1), (queries, len(train))):
            query = None if rows is None else as_source(wrap(rows), tile=tile)
            expected = nearest(train.tolist(), None if rows is None else rows.tolist(), k, **twin)
            found = nearest_neighbors(source, query, k, executor=Shuffled(), **options)
            assert_same_lists(found, expected)


@settings(max_examples=60)
@given(tables(), st.sampled_from([1, 3, 100]), FORMS)
def test_rows_prepared_strip_by_strip_give_the_same_lists(case, tile, form) -> None:
    """Where training rows are too many to be prepared at once; features in blocks of four."""
    train, queries, nominal, options = case
    counts = np.array([0, len(options["order"]) // 2, len(options["order"])])

    def lists(wrap):
        source = as_source(wrap(train), feature_kind=nominal.astype(int), tile=tile)
        query = as_source(wrap(queries), tile=tile)
        search = NeighborSearch(source, query, counts=counts, executor=Shuffled(), **options)
        yield from search.leave_one_out(len(train) - 1, whole_lists)
        yield from search.of_queries(2, whole_lists)

    with rows_as("array") as wrap:
        expected = joined(lists(wrap))
    with rows_as(
        form, PREPARED_BYTES=0, PART_BYTES=1, TRAINING_STRIP=2, POSTED_ROWS=2, MET_ROWS=3
    ) as wrap:
        assert joined(lists(wrap)) == expected


@pytest.mark.parametrize("tile", [7, 64, 1000])
@pytest.mark.parametrize("binary", [False, True])
def test_folds_keep_tiles_and_change_nothing(tile, binary) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((150, 9))
    X = (X < 0.3).astype(np.uint8) if binary else X
    rows = np.flatnonzero(rng.random(150) < 0.8)
    rest = np.setdiff1d(np.arange(150), rows)
    source = as_source(X, tile=tile)
    found = nearest_neighbors(source.take(rows), source.take(rest), 5, executor=InProcess(2))
    plain = nearest_neighbors(as_source(X[rows]), as_source(X[rest]), 5, executor=InProcess(1))
    for ours, expected in zip(found, plain, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_dask_arrays_of_any_chunks() -> None:
    X = np.random.default_rng(2).random((90, 6))
    expected = nearest_neighbors(as_source(X), None, 4)
    for chunks in ((13, 6), (90, 4)):
        lazy = as_source(da.from_array(X, chunks=chunks), tile=32)
        for ours, theirs in zip(nearest_neighbors(lazy, None, 4), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_dask_arrays_too_large_to_prepare(monkeypatch) -> None:
    X = np.random.default_rng(3).random((70, 5))
    expected = nearest_neighbors(as_source(X), None, 4)
    monkeypatch.setattr(neighbors, "PREPARED_BYTES", 0)
    lazy = as_source(da.from_array(X, chunks=(11, 2)), tile=16)
    for ours, theirs in zip(nearest_neighbors(lazy, lazy, 5), expected, strict=True):
        np.testing.assert_array_equal(ours[:, 1:], theirs)


def test_scikit_learn_agrees_where_nothing_is_tied() -> None:
    X = np.random.default_rng(4).normal(size=(700, 13))
    model = NearestNeighbors(n_neighbors=8, algorithm="brute").fit(X[:600])
    expected_distances, expected = model.kneighbors()
    distances, indices = nearest_neighbors(as_source(X[:600]), None, 8, normalize="none")
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)
    expected_distances, expected = model.kneighbors(X[600:])
    train, query = as_source(X[:600]), as_source(X[600:])
    distances, indices = nearest_neighbors(train, query, 8, normalize="none")
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)


@given(tables())
def test_fewer_neighbors_are_a_prefix_of_more(case) -> None:
    train, _, nominal, options = case
    source = as_source(train, feature_kind=nominal.astype(int))
    distances, indices = nearest_neighbors(source, None, len(train) - 1, **options)
    for k in range(1, len(train) - 1):
        fewer, rows = nearest_neighbors(source, None, k, **options)
        np.testing.assert_array_equal(rows, indices[:, :k])
        np.testing.assert_array_equal(fewer, distances[:, :k])


def test_duplicates_are_at_distance_zero_and_are_neighbors() -> None:
    row = [0.1, 0.2, 1e8]
    X = np.array([row, [0.3, 0.7, 1e-8], row, row])
    for normalize in ("minmax", "none"):
        distances, indices = nearest_neighbors(as_source(X), None, 2, normalize=normalize)
        assert indices[[0, 2, 3]].tolist() == [[2, 3], [0, 3], [0, 2]]
        assert not distances[[0, 2, 3]].any()


def test_test_values_are_scaled_by_training_ranges_and_not_clipped() -> None:
    train = as_source(np.array([[0.0, 0.0], [2.0, 10.0]]))
    distances, indices = nearest_neighbors(train, as_source(np.array([[6.0, 0.0]])), 2)
    assert indices.tolist() == [[1, 0]]
    np.testing.assert_array_equal(distances, np.sqrt([[5.0, 9.0]]))


def test_a_curve_is_one_pass_and_each_point_a_search() -> None:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 3, (80, 12)).astype(np.float64)
    order = rng.permutation(12)
    counts = np.array([0, 1, 1, 5, 12])
    executor = Shuffled()
    search = NeighborSearch(as_source(X), order=order, counts=counts, executor=executor)
    before = executor.calls
    results = list(search.leave_one_out(6, whole_lists))
    assert executor.calls - before == len(results)
    rows = np.concatenate([found.indices for _, found in results])
    assert rows[:, 0].tolist() == [[j for j in range(7) if j != i][:6] for i in range(80)]
    for p, count in enumerate(counts[1:], start=1):
        _, indices = nearest_neighbors(as_source(X), None, 6, order=order[:count])
        np.testing.assert_array_equal(rows[:, p], indices)


def test_one_training_row_has_no_neighbors() -> None:
    search = NeighborSearch(as_source(np.ones((1, 3))))
    ((block, found),) = search.leave_one_out(0, whole_lists)
    assert (block.first, block.last, found.indices.shape) == (0, 1, (1, 1, 0))


def test_no_queries_no_lists() -> None:
    train = as_source(np.eye(4))
    distances, indices = nearest_neighbors(train, as_source(np.zeros((0, 4))), 2)
    assert distances.shape == indices.shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k = 0: expected 1 to 3"),
        ({"k": 4}, "k = 4: expected 1 to 3"),
        ({"order": np.array([0, 9])}, "feature indices from 0 to 3"),
        ({"order": np.array([1, 1])}, "names a feature twice"),
    ],
)
def test_bad_arguments_are_named(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        nearest_neighbors(**{"train": as_source(np.eye(4)), "query": None, "k": 1} | arguments)


@pytest.mark.parametrize("counts", [[], [3, 1], [5], [-1]])
def test_bad_counts_are_named(counts) -> None:
    with pytest.raises(InputError, match="counts must"):
        NeighborSearch(as_source(np.eye(4)), counts=np.array(counts))


def test_rows_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match="X has 3 features, but the training rows have 4"):
        nearest_neighbors(as_source(np.eye(4)), as_source(np.eye(3)), 1)
    infinite = np.eye(4)
    infinite[1, 2] = np.inf
    with pytest.raises(InputError, match="infinity or a value too large: feature 2"):
        nearest_neighbors(as_source(infinite), None, 1)
    with pytest.raises(InputError, match="overflow"):
        nearest_neighbors(as_source(np.eye(3) * 1e200), None, 1, normalize="none")


@pytest.mark.cluster
def test_workers_of_a_cluster_give_the_same_bits() -> None:
    """One, two and four workers; rows in memory, in a dask array, and too many to prepare."""
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(9)
    X = rng.random((300, 8))
    X[rng.random(X.shape) < 0.1] = np.nan
    B = (rng.random((300, 40)) < 0.2).astype(np.uint8)
    expected = [nearest_neighbors(as_source(rows), None, 7) for rows in (X, B)]
    for n_workers in (1, 2, 4):
        with (
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=n_workers == 2,  # the others are threads here: quick to start
                dashboard_address="127.0.0.1:0",
            ) as cluster,
            Client(cluster),
        ):
            found = [nearest_neighbors(as_source(rows, tile=64), None, 7) for rows in (X, B)]
            lazy = as_source(da.from_array(X, chunks=(50, 8)), tile=64)
            found.append(nearest_neighbors(lazy, None, 7))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(neighbors, "PREPARED_BYTES", 0)
                found.append(nearest_neighbors(as_source(X, tile=64), None, 7))
        for ours, theirs in zip(found, [*expected, expected[0], expected[0]], strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("others", [False, True])
def test_few_cells_are_few_tasks_with_the_same_neighbours(others, monkeypatch):
    rng = np.random.default_rng(8)
    rows = rng.random((300, 4))
    train, query = as_source(rows), as_source(rows[:200]) if others else None
    found, calls = [], []
    for least in (0, 300 * 300 * 4):
        monkeypatch.setattr(neighbors, "_LEAST_CELLS", least)
        executor = Shuffled()
        found.append(nearest_neighbors(train, query, 3, executor=executor))
        calls.append(executor.calls)
    assert calls[0] > calls[1]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
