"""Which road a neighbour search takes, and that all of them lead to the same lists."""

import numpy as np
import pytest
import scipy.sparse as sp
from neighbor_forms import joined, rows_as

from mlfs_dask.graphs import neighbors
from mlfs_dask.graphs.neighbors import NeighborSearch, whole_lists
from mlfs_dask.graphs.source import as_source
from reference.neighbors import nearest


@pytest.fixture(autouse=True)
def _small_rows_are_cut_too(monkeypatch):
    """Else most tables here are looked through by one task."""
    monkeypatch.setattr(neighbors, "_LEAST_CELLS", 0)


@pytest.mark.parametrize("normalize", ["minmax", "none"])
def test_zero_one_data_take_popcounts_and_give_the_same_numbers(normalize) -> None:
    """The same rows beside one that is not 0/1 take the other road."""
    rng = np.random.default_rng(6)
    X = (rng.random((120, 40)) < 0.25).astype(np.float64)
    X[:100, 3] = 1.0  # constant in training, not in the queries
    order = rng.permutation(40)
    train = as_source(X[:100])
    queries = X[100:].copy()
    packed = NeighborSearch(train, as_source(queries), order=order, normalize=normalize)
    queries = np.vstack([queries, np.full(40, 0.5)])
    dense = NeighborSearch(train, as_source(queries), order=order, normalize=normalize)
    assert (packed.road, dense.road) == ("popcount", "dense")
    ours = joined(packed.of_queries(9, whole_lists))
    assert ours == joined(dense.of_queries(9, whole_lists))[:20]


def test_sparse_rows_take_postings_and_give_the_same_bits() -> None:
    """Counts in few of many features, negative and missing ones too; dense queries meet them."""
    rng = np.random.default_rng(11)
    X = rng.integers(1, 9, (400, 90)) * (rng.random((400, 90)) < 0.04) * 1.0
    X[:, 5] -= 2.0 * (rng.random(400) < 0.1)
    X[3, 7] = X[250, 8] = np.nan
    order, counts = rng.permutation(90), np.array([4, 40, 90])
    train = as_source(sp.csr_matrix(X[:360]), tile=128)
    roads, results = [], []
    for rows, queries in ((train, sp.csr_matrix(X[360:])), (train, X[360:]), (X[:360], X[360:])):
        search = NeighborSearch(as_source(rows), as_source(queries), order=order, counts=counts)
        roads.append(search.road)
        results.append(
            [
                joined(search.leave_one_out(6, whole_lists)),
                joined(search.of_queries(6, whole_lists)),
            ]
        )
    assert roads == ["postings", "postings", "dense"]
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("form", "values", "met"),
    [
        ("array", 2, False),
        ("csr", 2, False),
        ("csr", 9, False),
        ("meetings", 2, True),
        ("postings", 9, True),
    ],
)
def test_pairs_that_meet_are_looked_at(form, values, met) -> None:
    """In sparse rows of many features those that share one, else all; copies count alike."""
    rng = np.random.default_rng(12)
    X = rng.integers(1, values, (90, 60)) * (rng.random((90, 60)) < 0.04) * 1.0
    shared = np.count_nonzero((X != 0) @ (X != 0).T) if met else 90 * 90
    with rows_as(form) as wrap:
        search = NeighborSearch(as_source(wrap(X), tile=32), as_source(wrap(X[:30]), tile=32))
        assert np.isnan(search.pair_share)
        list(search.leave_one_out(3, whole_lists))
    assert 90 * 90 * search.pair_share == shared
    assert not met or 0.01 < search.pair_share < 0.5


@pytest.mark.parametrize(("d", "road"), [(1024, "popcount"), (1025, "meetings")])
def test_up_to_1024_features_are_compared_bit_by_bit(d, road) -> None:
    X = (np.random.default_rng(0).random((60, d)) < 0.02).astype(np.uint8)
    X[0] = 1
    assert NeighborSearch(as_source(sp.csr_matrix(X))).road == road


def test_distances_beyond_255_features() -> None:
    rng = np.random.default_rng(7)
    X = (rng.random((60, 900)) < 0.5).astype(np.uint8)
    X[:20] = 0
    search = NeighborSearch(as_source(X))
    assert search.road == "popcount"
    expected = nearest(X.astype(float).tolist(), None, 30, normalize="none")
    squared = [found.distances[:, 0] for _, found in search.leave_one_out(30, whole_lists)]
    np.testing.assert_array_equal(np.concatenate(squared), expected[0])
    assert np.concatenate(squared).max() > 255
