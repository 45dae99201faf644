"""Dependencies on sets of features: plain loops, and the same bits on every road."""

from concurrent.futures import CancelledError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.graphs import dependency as module
from mlfs_dask.graphs import kept_distances
from mlfs_dask.graphs.arrivals import make_column
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.kernels.gap_levels import GapRule
from reference import stream as plain
from reference.executors import Shuffled

TWO = 2 ** np.arange(9)


@st.composite
def streams(draw, max_rows=40):
    """Columns of bits, few levels, codes, many values; duplicated rows; rows without labels."""
    n, d = draw(st.integers(2, max_rows)), draw(st.integers(1, 12))
    q = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.lists(st.sampled_from([2, 2, 3, 6, 1000]), min_size=d, max_size=d))
    if draw(st.booleans()):
        levels = [2] * d
    X = np.column_stack([rng.integers(0, k, n) for k in levels]).astype(float)
    Y = (rng.random((n, q)) < draw(st.sampled_from([0.1, 0.4, 0.9]))).astype(np.uint8)
    if draw(st.booleans()):
        half = n // 2
        X[half:] = X[: n - half]
    for f in range(d):
        X[0, f] += X[:, f].min() == X[:, f].max()  # constants never get here
    nominal = draw(st.sets(st.integers(0, d - 1), max_size=2))
    rule = GapRule(draw(st.sampled_from([1.0, 1.5, 4.0])), draw(st.booleans()), n)
    return X, Y, nominal, rule


def make(case, how, executor):
    X, Y, nominal, rule = case
    table = plain.Table(X, "minmax", nominal)
    weights = np.array(plain.weights(Y))
    labels = Y
    if how == "classes":
        labels, weights = Y @ np.array([1, 2, 4][: Y.shape[1]]), np.ones(1)
    columns = [make_column(X[:, f], "minmax", coded=table.coded[f]) for f in range(X.shape[1])]
    return Dependency(labels, rule, how, weights, executor), columns, table, labels


def expected(table, labels, weights, features, how, rule):
    gap = {"factor": rule.factor, "strict": rule.strict}
    if how == "classes":
        return plain.dependency(table, labels.tolist(), features, "soft", **gap)
    return plain.label_dependency(table, labels, weights, features, how, **gap)


@given(case=streams(), how=st.sampled_from(["hard", "soft", "classes"]))
def test_every_question_is_answered_as_by_the_plain_twin(case, how):
    dependency, columns, table, labels = make(case, how, InProcess(1))
    weights, rule = plain.weights(case[1]), case[3]
    members = []
    for f, column in enumerate(columns):
        alone = expected(table, labels, weights, [f], how, rule)
        assert dependency.alone(column) == pytest.approx(alone, abs=1e-13)
        assert dependency.of([column]) == dependency.alone(column)
        joined = dependency.joined(columns)
        for g in {0, f, len(columns) - 1}:
            found = expected(table, labels, weights, [*members, g], how, rule)
            assert joined[g] == pytest.approx(found, abs=1e-13)
            assert dependency.of([*(columns[m] for m in members), columns[g]]) == joined[g]
        if f % 4 != 2:
            dependency.add(column)
            members.append(f)


@given(
    case=streams(),
    how=st.sampled_from(["hard", "soft", "classes"]),
    few=st.sampled_from([0, 4, 10**6]),
    kept=st.sampled_from([0, 700, 2**30]),
    block=st.sampled_from([1, 900, 2**20]),
    workers=st.integers(1, 4),
)
def test_bits_do_not_depend_on_the_road(case, how, few, kept, block, workers):
    """Points or rows, distances kept or made anew, blocks of any size in any order."""
    plain_road, columns, _, _ = make(case, how, InProcess(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LOOK_COST", few)
        patch.setattr(module, "_SMALL", 0)
        patch.setattr(kept_distances, "KEPT_BYTES", kept)
        patch.setattr(kept_distances, "_BLOCK_BYTES", block)
        patch.setattr(kept_distances, "_CACHE_BYTES", -1)
        other, _, _, _ = make(case, how, Shuffled(0, n_workers=workers))
        for f, column in enumerate(columns):
            next_ones = columns[f : f + 1 + other.ahead]
            several = [(a, b) for a in range(len(next_ones)) for b in (a + 1, len(next_ones))]
            if other.members:
                assert other.joined(next_ones, several) == [
                    plain_road.of([*plain_road.members, *next_ones[a:b]]) for a, b in several
                ]
            assert other.joined(columns) == plain_road.joined(columns)
            assert other.alone(column) == plain_road.alone(column)
            if f % 5 == 3:  # as after a replacement
                rest = [*other.members[1:], column]
                other.start_with(rest)
                plain_road.start_with(rest)
            else:
                other.add(column)
                plain_road.add(column)


@pytest.mark.parametrize("how", ["hard", "soft", "classes"])
def test_many_equal_rows_count_as_one_point(monkeypatch, how):
    """Rows by the hundred at one place, rare labels among more than a word has bits for."""
    rng = np.random.default_rng(8)
    n, q = 400, 70
    X = (rng.random((n, 4)) < [0.5, 0.1, 0.02, 0.3]).astype(np.uint8)
    Y = (rng.random((n, q)) < np.linspace(0, 0.5, q)).astype(np.uint8)
    columns = [make_column(X[:, f], "minmax") for f in range(4)]

    labels, weights = (Y, np.full(q, 1 / q)) if how != "classes" else (Y[:, -9:] @ TWO, np.ones(1))

    def found():
        dependency = Dependency(labels, GapRule(1.5, False, n), how, weights, InProcess(1))
        dependency.add(columns[0])
        return dependency.joined(columns[1:])

    at_points = found()
    monkeypatch.setattr(module, "_LOOK_COST", 0)
    assert found() == at_points
    assert len(set(at_points)) > 1


def test_wider_distances_follow_the_rows():
    """Bytes as long as no distance can be larger, then 16 bits; rows of few ones stay in bytes."""
    rng = np.random.default_rng(3)
    n, d = 40, 300
    Y = (rng.random((n, 2)) < 0.5).astype(np.uint8)
    for share, name in ((0.5, "uint16"), (0.1, "uint8")):
        X = (rng.random((n, d)) < share).astype(np.uint8)
        X[0], X[1] = 0, rng.random(d) < share
        X[2, X.max(axis=0) == 0] = 1
        columns = [make_column(X[:, f], "minmax") for f in range(d)]
        dependency = Dependency(Y, GapRule(1.5, False, n), "hard", np.full(2, 0.5), InProcess(1))
        for column in columns[:-1]:
            dependency.add(column)
        joined = dependency.joined(columns[-1:])[0]
        assert dependency._kept._dtype == name
        assert joined == dependency.of(columns)


def test_a_first_value_that_is_no_bit_turns_distances_to_floats():
    rng = np.random.default_rng(4)
    n = 60
    X = (rng.random((n, 20)) < 0.5).astype(float)
    X[:, 9] = rng.random(n)
    Y = (rng.random((n, 3)) < 0.4).astype(np.uint8)
    columns = [make_column(X[:, f], "minmax") for f in range(20)]
    dependency = Dependency(Y, GapRule(1.5, False, n), "hard", np.full(3, 1 / 3), InProcess(1))
    types = []
    for f, column in enumerate(columns[:-1]):
        dependency.add(column)
        for other in (columns[9], columns[-1]):
            assert dependency.joined([other])[0] == dependency.of([*columns[: f + 1], other])
        types.append(dependency._kept._dtype.name)
    assert types[8] == "uint8"
    assert types[9:] == ["float64"] * 10


class Losing(Shuffled):
    """Now and then a worker is lost with what others need: every third call ends in the middle."""

    def map(self, function, items, *common):
        yield from self._lose(super().map(function, items, *common))

    def keep(self, function, items, *common):
        return list(self._lose(super().map(function, items, *common)))

    def _lose(self, results):
        for number, result in enumerate(results):
            if number == 1 and len(self.calls) % 3 == 2:
                raise CancelledError("lost dependencies")
            yield result


@given(case=streams(max_rows=30), how=st.sampled_from(["hard", "soft", "classes"]))
def test_what_was_lost_is_made_again(case, how):
    here, columns, _, _ = make(case, how, InProcess(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", 0)
        there, _, _, _ = make(case, how, Losing())
        for column in columns:
            assert there.joined([column]) == here.joined([column])
            here.add(column)
            there.add(column)


@pytest.mark.slow
@pytest.mark.cluster
def test_kept_distances_on_workers_that_die():
    """Blocks that a lost worker held are made again by the one that is left."""
    from distributed import Client, LocalCluster

    from mlfs_dask.graphs.executor import OnCluster

    rng = np.random.default_rng(6)
    X, Y = rng.random((90, 7)), (rng.random((90, 3)) < 0.4).astype(np.uint8)
    case = (X, Y, set(), GapRule(1.5, False, 90))
    here, columns, _, _ = make(case, "hard", InProcess(1))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(module, "_SMALL", 0)
        there, _, _, _ = make(case, "hard", OnCluster(client))
        for f, column in enumerate(columns):
            assert there.joined([column]) == here.joined([column])
            here.add(column)
            there.add(column)
            if f == 4:
                worker = next(iter(cluster.workers.values()))
                client.restart_workers([worker.worker_address])
