import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs.pairs import padded_rows
from mlfs_dask.graphs.plan import plan_road
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.tiles import pair_tasks, tile_pairs, tile_tasks
from mlfs_dask.kernels.labelsets import find_label_sets
from mlfs_dask.selectors.mllap import MLLAP
from mlfs_dask.selectors.spec import SPEC


def labelled(n, n_sets, q=16):
    codes = np.arange(n) % n_sets
    Y = (codes[:, None] >> np.arange(q) & 1).astype(np.uint8)
    return as_source(np.zeros((n, 30), dtype=np.uint8), Y, tile=64), find_label_sets(Y)


def test_few_label_sets_are_collapsed_and_distinct_ones_paired():
    source, sets = labelled(1000, 20)
    few = plan_road(source, allowed=("collapsed", "pairs"), wanted="auto", sets=sets)
    assert few.road == "collapsed"
    assert "label set" in few.why
    assert few.operations["collapsed"] < few.operations["pairs"]
    source, sets = labelled(1000, 1000)
    distinct = plan_road(source, allowed=("collapsed", "pairs"), wanted="auto", sets=sets)
    assert distinct.road == "pairs"
    assert distinct.tasks == 16 * 17 // 2
    asked = plan_road(source, allowed=("collapsed", "pairs"), wanted="collapsed", sets=sets)
    assert (asked.road, asked.why, asked.tasks) == ("collapsed", "asked for", 16)


def test_a_task_of_pairs_needs_the_same_memory_whatever_n_is():
    small, sets = labelled(500, 500)
    large, more = labelled(4000, 500)
    plans = [
        plan_road(s, allowed=("pairs",), wanted="auto", sets=t)
        for s, t in ((small, sets), (large, more))
    ]
    assert plans[0].bytes_per_task == plans[1].bytes_per_task
    assert "no other road" in plans[0].why


def test_the_plan_before_and_in_the_fit_is_one():
    source, _ = labelled(300, 50)
    for selector in (SPEC(), MLLAP(), SPEC("rbf-features")):
        before = selector.plan(source)
        assert selector.fit(source).plan_ == before


def test_sparse_data_are_planned_by_their_cells():
    Y = np.eye(50, dtype=np.uint8)
    source = as_source(sp.random(50, 400, density=0.01, random_state=0, format="csr"), Y)
    assert MLLAP().plan(source).operations["lowrank"] == 10.0 * 6.0 * 50 * 400 / 20
    assert MLLAP().fit(source).plan_.operations["lowrank"] == 10.0 * 6.0 * 200


@pytest.mark.parametrize("n_tiles", [0, 1, 2, 7])
def test_every_unordered_pair_is_listed_once(n_tiles):
    pairs = tile_pairs(n_tiles)
    assert len(pairs) == n_tiles * (n_tiles + 1) // 2
    assert len(set(pairs)) == len(pairs)
    assert all(i <= j for i, j in pairs)


def test_tasks_carry_the_rows_of_their_tiles():
    X = np.arange(20.0).reshape(10, 2)
    source = as_source(X, tile=4).take(np.array([0, 2, 3, 5, 9]))
    numbers = np.arange(5)
    tasks = list(tile_tasks(source, numbers))
    assert [task.rows[0][0].tolist() for task in tasks] == [[0, 1, 2], [3], [4]]
    assert [task.load()[0][:, 0].tolist() for task in tasks] == [[0, 4, 6], [10], [18]]
    pairs = pair_tasks(source, numbers)
    assert [task.number for task in pairs] == tile_pairs(3)
    left, right = pairs[1].load()
    assert (left[:, 0].tolist(), right[:, 0].tolist()) == ([0, 4, 6], [10])
    left, right = pairs[0].load()
    assert left is right


def test_padding_depends_on_rows_and_tile_alone():
    assert [padded_rows(n, 4096) for n in (1, 64, 65, 4095)] == [64, 64, 128, 4096]
    assert padded_rows(5, 16) == 16
