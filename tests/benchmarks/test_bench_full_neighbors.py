"""Neighbours, Relief and Laplacian scores of rows with tens of thousands of features, mostly 0.

A row touches only the rows that it meets at a feature; all pairs in the same run show what that is
worth. On a cluster every selection has the same bits as on threads.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import mlfs_dask as mlfs
from benchmarks.large import LargeStores, Selection
from benchmarks.side_by_side import Row, SideBySide, faster
from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.graphs import neighbors, relief_tasks
from mlfs_dask.graphs.neighbors import nearest_neighbors, whole_lists
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.subspaces import SubspaceSearch
from mlfs_dask.kernels.terms import make_room
from mlfs_dask.selectors.mlrelieff import MLReliefF

pytestmark = pytest.mark.slow

METHODS = [("mlrelieff", 1800), ("laplacian", 1800)]


@pytest.mark.cluster
@pytest.mark.parametrize(("method", "seconds"), METHODS)
def test_tmc2007_whole(large: LargeStores, method, seconds) -> None:
    what = f"{method}, 28,596 x 49,060 as tmc2007"
    here = Selection(large.tmc2007(), method)
    alone = large.line(what, here, at_most_seconds=seconds)
    spread = large.line(what, replace(here, workers=2), at_most_seconds=seconds)
    assert spread.digest == alone.digest


SHIPPED = [
    *("yahoo-arts", "yahoo-business", "yahoo-education", "yahoo-science"),
    *("rcv1sub1", "bibtex", "delicious", "imdb"),
]


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(("method", "seconds"), METHODS)
def test_sets_as_shipped(large: LargeStores, name, method, seconds) -> None:
    selection = Selection(large.real(name), method)
    assert large.line(f"{method}, {name}", selection, at_most_seconds=seconds).bytes_read > 0


def every(source, step):
    """The source and each so manieth row of it."""
    return source, source.take(np.arange(0, source.n_samples, step))


def test_rows_that_meet_against_all_pairs(
    large: LargeStores, side_by_side: SideBySide, monkeypatch
) -> None:
    """0/1 rows: what they share is counted; all pairs take every bit of both rows."""
    train, some = every(as_source(mlfs.open_dataset(large.tmc2007())), 14)
    few = neighbors.BRUTE_FEATURES if side_by_side.full else 8

    def search(brute):
        monkeypatch.setattr(neighbors, "BRUTE_FEATURES", brute)
        return nearest_neighbors(train, some, 10)

    def relief(brute, rows):
        monkeypatch.setattr(neighbors, "BRUTE_FEATURES", brute)
        return MLReliefF().fit(rows).scores_

    everything = train.n_features
    relief(everything, some)  # kernels are loaded before what runs once
    peer = "all pairs, by popcounts"
    for what, work, once in (
        ("10 neighbours of every 14th row of 28,596 x 49,060 as tmc2007", search, []),
        # Its lists of near rows take time as well, which grows with n; distances grow with n².
        ("mlrelieff, 28,596 x 49,060 as tmc2007", partial(relief, rows=train), [peer]),
    ):
        side_by_side.compare(
            what,
            ours=partial(work, few),
            peers={peer: partial(work, everything)},
            bounds={peer: faster(2)},
            agree={peer: same},
            repeats=3,
            once=once,
        )


@pytest.mark.parametrize("name", ["rcv1sub1", "yahoo-arts", "yahoo-science"])
def test_bounds_against_all_pairs(large: LargeStores, side_by_side: SideBySide, name) -> None:
    """Other sparse rows: few distances are summed in full; all pairs sum every one."""
    source = as_source(mlfs.open_dataset(large.real(name)))
    order = np.arange(source.n_features)

    def all_pairs():
        search = SubspaceSearch(source, None, [order])
        blocks = [found for _, (found,) in search.leave_one_out(10, whole_lists)]
        joined = (np.concatenate(part)[:, 0] for part in zip(*blocks, strict=True))
        squares, rows = joined
        return np.sqrt(squares.astype(np.float64)), rows

    side_by_side.compare(
        f"10 neighbours of every row, {name}",
        ours=lambda: nearest_neighbors(source, None, 10),
        peers={"all pairs, by postings": all_pairs},
        bounds={"all pairs, by postings": faster(2)},
        agree={"all pairs, by postings": same},
        repeats=3,
    )


@pytest.mark.parametrize("name", ["rcv1sub1", "yahoo-arts", "yahoo-science"])
def test_relief_against_all_pairs(
    large: LargeStores, side_by_side: SideBySide, monkeypatch, name
) -> None:
    """Bounds, and near rows dealt to their labels; else all distances, each list by itself."""
    source = as_source(mlfs.open_dataset(large.real(name)))
    some = source if side_by_side.full else every(source, 4)[1]

    def relief():
        return MLReliefF().fit(some).scores_

    def distances(totals, rows, plan, train, store):
        return None, relief_tasks.fill_distances(totals, rows, plan, train)

    def all_pairs():
        with monkeypatch.context() as patch:
            patch.setattr(relief_tasks, "_bounded", distances)
            patch.setattr(relief_tasks, "make_room", lambda *given: make_room(*given[:3]))
            return relief()

    side_by_side.compare(
        f"mlrelieff, {name}",
        ours=relief,
        peers={"all pairs, each list by itself": all_pairs},
        bounds={"all pairs, each list by itself": faster(2)},
        agree={"all pairs, each list by itself": same},
        repeats=3,
    )


def test_packed_rows_of_few_features_against_meetings(
    large: LargeStores, side_by_side: SideBySide, monkeypatch
) -> None:
    """500 features: every bit of both rows takes less than what they share."""
    source = as_source(mlfs.open_dataset(large.real("tmc2007-500-fixed")))
    bits = neighbors.BRUTE_FEATURES

    def search(brute):
        monkeypatch.setattr(neighbors, "BRUTE_FEATURES", brute)
        return nearest_neighbors(source, None, 10)

    side_by_side.compare(
        "10 neighbours of every row, tmc2007-500-fixed, bit by bit",
        ours=lambda: search(bits),
        peers={"rows that meet": lambda: search(0)},
        bounds={"rows that meet": faster(1)},
        agree={"rows that meet": same},
        repeats=3,
    )


@pytest.mark.parametrize("name", ["tmc2007-500-fixed", "yeast", "tmc2007-like"])
def test_share_of_pairs_looked_at(large: LargeStores, side_by_side: SideBySide, name) -> None:
    path = large.tmc2007() if name == "tmc2007-like" else large.real(name)
    source = as_source(mlfs.open_dataset(path))
    for what, fitted in (("ml-knn", MLkNN()), ("mlrelieff", MLReliefF())):
        share = fitted.fit(source).pair_share_
        assert 0 < share <= 2  # bits are counted in bytes first, rows far away once more
        if side_by_side.full:
            row = f"{what}, {name}: looks at pairs of rows"
            text = f"{100 * share:.3g} % of all pairs"
            side_by_side.rows.append(Row(row, text, "", "", "", "", None))


def same(ours, theirs):
    """Both roads have the same bits."""
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
