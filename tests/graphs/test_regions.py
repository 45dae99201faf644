"""Sizes of positive regions against arrays of all pairs, however rows are cut, held and listed."""

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_separation import differ, make_wide

from mlfs_dask.graphs import block_reach, region_tasks, regions, separation
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.region_tasks import gains_of_block
from mlfs_dask.graphs.regions import Regions
from mlfs_dask.graphs.separation import find_columns
from mlfs_dask.graphs.source import as_source
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.kernels.separation import choose
from reference.executors import Shuffled


class ByArrays:
    """Positive regions the way one writes them with NumPy: arrays of n x n x d."""

    def __init__(self, X, Y, columns):
        self.apart = differ(X, columns)
        self.violates = (Y[:, None, :] > Y[None, :, :]).any(axis=2)

    def positive(self, features):
        near = ~self.apart[:, :, list(features)].any(axis=2)
        return ~(near & self.violates).any(axis=1)

    def size(self, features):
        return int(self.positive(features).sum())

    def core(self, features):
        whole = self.positive(features)
        without = [[f for f in features if f != left_out] for left_out in features]
        return [
            f
            for f, rest in zip(features, without, strict=True)
            if (self.positive(rest) != whole).any()
        ]


class Counted(InProcess):
    """Notes the names of what it is asked for."""

    def __init__(self, asked):
        super().__init__(2)
        self.asked = asked

    def map(self, function, items, *common):
        self.asked.append(function.__name__)
        return super().map(function, items, *common)


def make(X, Y, values, executor, *, tile=16, divisor=2.0):
    source = as_source(values, Y, tile=tile)
    summary = summarize_columns(source, executor)
    columns = find_columns(source, summary, executor, divisor=divisor)
    cells = summary.n_cells / len(X)
    varied = np.flatnonzero(~summary.constant)
    return Regions(source, source.Y, columns, cells, executor), ByArrays(X, Y, columns), varied


@st.composite
def wide(draw):
    """Rows with more than 512 features as bits, more than 64 side by side, or few."""
    d = draw(st.sampled_from([4, 30, 900]))
    n = draw(st.integers(2, 20))
    seed = draw(st.integers(0, 2**20))
    X, rng = make_wide(seed, n, d), np.random.default_rng(seed)
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.8] = 0.0  # lists are short
    X[n // 2] = X[0]  # duplicated
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]  # some several times, some with other labels
    q = draw(st.sampled_from([1, 3, 70]))
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.1, 0.5]))).astype(np.uint8)
    return X, Y, rng


@given(
    table=wide(),
    form=st.sampled_from([np.asarray, sp.csr_matrix]),
    tile=st.sampled_from([3, 8, 100]),
    prepare=st.booleans(),
    held=st.sampled_from([1, 2, 16]),
    listed=st.sampled_from([0.0, 1.0]),
    dense_share=st.sampled_from([0.1, 2.0]),
    looks=st.sampled_from([0, 2**24]),
    listed_bytes=st.sampled_from([2**10, 2**22]),
)
def test_all_questions(table, form, tile, prepare, held, listed, dense_share, looks, listed_bytes):
    X, Y, rng = table
    executor = Shuffled(int(rng.integers(100))) if rng.random() < 0.2 else InProcess(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "PREPARED_BYTES", 2**30 if prepare else 0)
        patch.setattr(regions, "_LEAST_ROWS", 5)
        patch.setattr(block_reach, "_FIRST_HELD", held)
        patch.setattr(block_reach, "_SURE", held)
        patch.setattr(separation, "_LISTED_SHARE", listed)
        patch.setattr(separation, "_DENSE_SHARE", dense_share)
        patch.setattr(regions, "_LISTED_LOOKS", looks)
        patch.setattr(regions, "_LISTED_BYTES", listed_bytes)
        found, expected, varied = make(X, Y, form(X), executor, tile=tile)
        assert found.prepared == prepare
        size, core = found.whole(varied)
        assert size == expected.size(varied)
        few = varied[:40]
        if len(varied) <= 40:
            assert core.tolist() == expected.core(varied.tolist())
        assert found.needed(few).tolist() == expected.core(few.tolist())
        whole = expected.positive(varied)
        order = rng.permutation(few)[: rng.integers(0, 6)].tolist()
        sizes, is_whole = found.in_order(tuple(order))
        beginnings = [expected.positive(order[:k]) & whole for k in range(len(order) + 1)]
        assert sizes.tolist() == [region.sum() for region in beginnings]
        assert is_whole.tolist() == [bool((region == whole).all()) for region in beginnings]
        for _ in range(3):
            candidates = np.setdiff1d(varied, order)
            if len(candidates) == 0:
                break
            sizes, is_whole = found.with_each(tuple(order), candidates)
            regions_with = [expected.positive([*order, f]) for f in candidates.tolist()]
            assert sizes.tolist() == [region.sum() for region in regions_with]
            assert is_whole.tolist() == [bool((r == whole).all()) for r in regions_with]
            order.append(int(rng.choice(candidates)))


def test_many_violators_per_row_get_room(monkeypatch):
    """Features that tell one row from all others stay candidates whatever is held."""
    monkeypatch.setattr(regions, "_LISTED_LOOKS", 0)
    n = 120
    X = np.eye(n)
    Y = np.eye(n)[:, ::-1].astype(np.uint8)
    for listed in (0.0, 1.0):
        monkeypatch.setattr(separation, "_LISTED_SHARE", listed)
        found, expected, varied = make(X, Y, sp.csr_matrix(X), InProcess(1), tile=50)
        assert found.whole(varied) == (n, pytest.approx(np.zeros(0)))
        order = ()
        for f in range(20):
            sizes, _ = found.with_each(order, np.setdiff1d(varied, order))
            assert sizes.tolist() == (n - f) * [f + 1]
            order = (*order, f)
        assert expected.size(order) == 20


def test_answers_do_not_depend_on_what_was_asked_before():
    """Every set is asked for with fresh blocks, with old ones, and after another sequence."""
    X, Y = make_wide(3, 40, 60), (np.random.default_rng(3).random((40, 3)) < 0.3).astype(np.uint8)
    found, expected, varied = make(X, Y, X, InProcess(2), tile=9)
    found.whole(varied)
    orders = [(0, 1, 2), (0, 1, 2, 5), (2, 1), (2, 1, 7), (), (0,)]
    for order in orders:
        order = tuple(int(varied[k]) for k in order)
        candidates = np.setdiff1d(varied, order)[:10]
        sizes, _ = found.with_each(order, candidates)
        assert sizes.tolist() == [expected.size([*order, f]) for f in candidates.tolist()]


@pytest.mark.parametrize(("listed_bytes", "first"), [(2**22, 1), (2**10, 7)])
def test_once_violators_are_listed_nobody_is_asked_again(monkeypatch, listed_bytes, first):
    """With room for all of them from the beginning; with less once few are left."""
    rng = np.random.default_rng(1)
    X, Y = (rng.random((60, 8)) < 0.5) * 1.0, (rng.random((60, 2)) < 0.5).astype(np.uint8)
    found, expected, varied = make(X, Y, X, InProcess(2), tile=25)
    monkeypatch.setattr(regions, "_LISTED_BYTES", listed_bytes)
    asked: list[str] = []
    silent = []
    found._executor = Counted(asked)
    found.whole(varied)
    for k in range(len(varied)):
        order, candidates = tuple(varied[:k].tolist()), varied[k:]
        asked.clear()
        sizes, _ = found.with_each(order, candidates)
        assert sizes.tolist() == [expected.size([*order, f]) for f in candidates.tolist()]
        if not asked:
            silent.append(k)
    assert silent == list(range(first, len(varied)))


@pytest.mark.parametrize("prepare", [True, False])
def test_tasks_of_two_workers(monkeypatch, prepare):
    """Eight for each of rows side by side, two of rows dealt out; or as many as there are tiles."""
    monkeypatch.setattr(regions, "PREPARED_BYTES", 2**30 if prepare else 0)
    monkeypatch.setattr(regions, "_LISTED_LOOKS", 0)
    rng = np.random.default_rng(2)
    X, Y = rng.random((1100, 6)), (rng.random((1100, 2)) < 0.5).astype(np.uint8)
    executor = Shuffled(0, n_workers=2)
    found, _, varied = make(X, Y, X, executor, tile=500)
    executor.calls.clear()
    found.whole(varied)
    found.in_order((0, 1))
    found.with_each((0, 1), varied[2:])
    whole, each = (16, 4) if prepare else (3, 3)
    assert executor.calls == [
        ("region_of_block", whole),
        ("begin_block", each),
        ("settle_block", each),
        ("gains_of_block", each),
    ]


@pytest.mark.parametrize("prepare", [True, False])
def test_rows_that_matter_stand_in_one_block_each(monkeypatch, prepare):
    monkeypatch.setattr(regions, "PREPARED_BYTES", 2**30 if prepare else 0)
    monkeypatch.setattr(regions, "_LEAST_ROWS", 10)
    X, Y = np.eye(90), np.eye(90).astype(np.uint8)
    X[0], Y[:20] = X[1], 0
    found, _, varied = make(X, Y, X, InProcess(2), tile=40)
    found.whole(varied)
    rows = [kept.block.first + kept.rows for kept in found._kept]
    first = 19 if prepare else 20  # rows 0 and 1 are one
    assert np.sort(np.concatenate(rows)).tolist() == list(range(first, first + 70))
    if prepare:
        assert max(map(len, rows)) <= min(map(len, rows)) + 1
        assert all(own[0] < 25 and own[-1] > 80 for own in rows)


def test_what_workers_know_is_not_sent_again():
    """A block goes out with its rows once; counts come back in as few bytes as hold them."""
    X, Y = np.eye(200), np.eye(200).astype(np.uint8)
    found, _, varied = make(X, Y, X, InProcess(2))
    found.whole(varied)
    block = found._kept[0]
    again = block.detached().attached(block.dependency)
    assert len(again.rows) == len(again.weight) == 0
    few = choose(found._columns.layout, varied).words
    gains = gains_of_block(again, found._rows, (), few, 2**20)
    assert gains.n_open == len(block.rows) == 50
    assert gains.by_slot.dtype == np.uint8


def test_a_block_keeps_a_bounded_number_of_violators(monkeypatch):
    monkeypatch.setattr(regions, "_LISTED_LOOKS", 0)
    monkeypatch.setattr(regions, "KEPT_BYTES", 0)
    monkeypatch.setattr(separation, "_LISTED_SHARE", 0.0)
    rng = np.random.default_rng(0)
    X = (rng.random((300, 40)) < 0.05) * 1.0
    Y = (rng.random((300, 5)) < 0.3).astype(np.uint8)
    found, expected, varied = make(X, Y, X, InProcess(1), tile=100)
    found.whole(varied)
    order = ()
    for f in varied[:6].tolist():
        candidates = np.setdiff1d(varied, order)
        sizes, _ = found.with_each(order, candidates)
        assert sizes.tolist() == [expected.size([*order, c]) for c in candidates.tolist()]
        assert {kept.dependency.reach.held.shape[1] for kept in found._kept} == {16}
        order = (*order, f)


def test_a_task_holds_two_tiles_at_most_and_prepares_none_twice(monkeypatch):
    """What `mlfs plan` counts on where rows are not prepared once: a block's tile and another."""
    monkeypatch.setattr(regions, "PREPARED_BYTES", 0)
    monkeypatch.setattr(regions, "_LISTED_LOOKS", 0)
    alive, most, prepared = [], [], []

    def prepare(task, columns):
        rows = separation.prepare_rows(task, columns)
        prepared.append(task)
        bits = rows.head.zero
        alive.append(weakref.ref(bits if bits.base is None else bits.base))
        most.append(sum(each() is not None for each in alive))
        return rows

    monkeypatch.setattr(region_tasks, "prepare_rows", prepare)
    X = make_wide(7, 40, 30)
    Y = (np.random.default_rng(7).random((40, 3)) < 0.4).astype(np.uint8)
    found, expected, varied = make(X, Y, X, InProcess(1), tile=9)
    for asked in (lambda: found.whole(varied), lambda: found.in_order((1, 2))):
        prepared.clear()
        asked()
        assert len(prepared) == 5 * 5  # every tile for every block, of which there are five
    sizes, _ = found.with_each((1, 2), varied)
    assert sizes.tolist() == [expected.size([1, 2, feature]) for feature in varied]
    assert max(most) == 2
