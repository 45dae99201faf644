"""What pmu and mdmr have in common: the engine by itself, roads, edges of the input."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import MissingValuesError
from mlfs_dask.graphs import executor as executors
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.selectors.engine import Choice, recording
from mlfs_dask.selectors.information import InformationEngine
from mlfs_dask.selectors.mdmr import MDMR
from mlfs_dask.selectors.pmu import PMU
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.executors import Shuffled
from reference.tables import tables

BOTH = pytest.mark.parametrize("method", [PMU, MDMR], ids=["pmu", "mdmr"])
PARTS = {
    "relevance": np.array([3.0, 9.0, 3.0, 1.0]),
    "label_redundancy": np.array([1.0, 0.0, 1.0, 0.5]),
}
# Redundancy of every feature with each one that can be chosen.
ROWS = {
    0: np.array([0.0, 0.0, 2.5, 0.25]),
    2: np.array([0.0, 0.0, 0.0, 0.75]),
    3: np.array([0.0, 0.0, 5.0, 0.0]),
}


def follow(engine, step, parts, rows):
    """All choices from a step on, and what was asked for."""
    choices, asked = list(step.decided), []
    while step.stop is None:
        asked.append((step.request.kind, step.request.arguments.get("feature")))
        first = step.request.kind == "features"
        step = engine.advance(step.state, parts if first else rows[asked[-1][1]])
        choices.extend(step.decided)
    return choices, asked, step.stop


def test_engine_on_canned_replies():
    """Feature 1 is constant; J of the others: 2, 2, 0.5, then -0.5, 0.25, then 2 - 2.5 - 5."""
    constant = np.array([False, True, False, False])
    engine = InformationEngine(constant, limit=4, average=False)
    choices, asked, stop = follow(engine, engine.begin(), PARTS, ROWS)
    assert [choice.feature for choice in choices] == [0, 3, 2]
    assert [choice.score for choice in choices] == [2.0, 0.25, -5.5]
    assert [choice.step for choice in choices] == [0, 1, 2]
    assert choices[2].details == {"relevance": 3.0, "label_redundancy": 1.0, "redundancy": 7.5}
    # A row for each choice, but for the last one.
    assert asked == [("features", None), ("redundancy", 0), ("redundancy", 3)]
    assert stop == "no candidate left"
    averaged = InformationEngine(constant, limit=4, average=True)
    assert follow(averaged, averaged.begin(), PARTS, ROWS)[0][2].score == 2.0 - 7.5 / 2


def test_engine_stops_at_its_limit_and_states_stay():
    engine = InformationEngine(np.zeros(4, dtype=bool), limit=1, average=False)
    begun = engine.begin()
    step = engine.advance(begun.state, PARTS)
    assert (step.decided[0].feature, step.stop) == (1, "1 feature chosen")
    assert step.request is None
    assert begun.state.chosen == ()
    assert engine.advance(begun.state, PARTS).decided == step.decided


def test_engine_compares_keys_and_drops_noise():
    parts = {"relevance": np.array([0.3, 0.1 + 0.2, 1e-13])}
    engine = InformationEngine(np.zeros(3, dtype=bool), limit=3, average=False)
    nothing = dict.fromkeys(range(3), np.zeros(3))
    choices, _, _ = follow(engine, engine.begin(), parts, nothing)
    assert [choice.feature for choice in choices] == [0, 1, 2]
    assert choices[2].score == 0.0


@pytest.mark.parametrize("average", [False, True])
@given(seed=st.integers(0, 10**6), limit=st.integers(1, 12))
def test_replay_has_the_same_bits_after_any_prefix(average, seed, limit):
    rng = np.random.default_rng(seed)
    d = 12
    parts = {"relevance": rng.random(d), "label_redundancy": rng.normal(size=d)}
    rows = dict(enumerate(rng.normal(size=(d, d))))
    constant = rng.random(d) < 0.2
    engine = InformationEngine(constant, limit=limit, average=average)
    choices, asked, stop = follow(engine, engine.begin(), parts, rows)
    for k in range(1, len(choices) + 1):
        sent = [Choice.from_record(choice.record()) for choice in choices[:k]]
        step = engine.replay(sent)
        assert list(step.decided) == choices[:k]
        again, asked_again, stopped = follow(engine, step, parts, rows)
        assert [c.record() for c in again] == [c.record() for c in choices]
        assert (asked_again, stopped) == (asked if k < len(choices) else asked[:1], stop)


class Recorder:
    def __init__(self, earlier=()):
        self.earlier, self.choices = earlier, []

    def decided(self, choices, seconds):
        self.choices.extend(choices)


@BOTH
def test_a_loop_taken_up_again_gives_the_same_record(method):
    rng = np.random.default_rng(8)
    X, Y = rng.random((60, 9)), (rng.random((60, 4)) < 0.4).astype(np.uint8)
    with recording(recorder := Recorder()):
        whole = method().fit(X, Y)
    assert [c.record() for c in recorder.choices] == whole.path_
    for k in (1, 4, 9):
        with recording(rest := Recorder(tuple(recorder.choices[:k]))):
            again = method().fit(X, Y)
        assert again.selection_record() == whole.selection_record()
        assert rest.choices == recorder.choices[k:]


N, D, Q, TILE = 230, 40, 5, 32


def make_table(*, sparse):
    """Bins of numbers, 0/1 columns, copies and complements, a nominal feature, a constant."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, D)).round(1) * (rng.random((N, D)) < (0.2 if sparse else 1.0))
    Y = (rng.random((N, Q)) < 0.3).astype(np.uint8)
    X[:, 3] = 2.5
    X[:, 4] = Y[:, 0]
    X[:, 5] = 1 - Y[:, 0]
    X[:, 6] = X[:, 7]
    X[:, 8] = rng.integers(-1, 4, N)
    X[:, 9] = -rng.random(N)
    return (sp.csr_matrix(X) if sparse else X), Y, np.arange(D) == 8


def bits(selector, X, Y=None, **kwargs):
    fitted = selector.fit(X, Y, **kwargs)
    return fitted.scores_.tobytes(), fitted.order_.tobytes(), fitted.path_


def bits_with(executor, monkeypatch, *args, **kwargs):
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: executor)
    return bits(*args, **kwargs)


@BOTH
def test_all_roads_give_the_same_bits(method, monkeypatch, tmp_path):
    """Counts are integers: not even tiles or the form of X change a bit."""
    X, Y, kind = make_table(sparse=False)
    S, _, _ = make_table(sparse=True)
    for rows, others in ((X, [sp.csr_matrix(X)]), (S.toarray(), [S])):
        expected = bits_with(InProcess(1), monkeypatch, method(), rows, Y, feature_kind=kind)
        for executor in (InProcess(2), Shuffled(0), Shuffled(1)):
            for each in (rows, *others):
                for tile in (TILE, 50, N):
                    found = bits_with(
                        executor, monkeypatch, method(tile=tile), each, Y, feature_kind=kind
                    )
                    assert found == expected
        lazy = da.from_array(rows, chunks=(50, 7))
        assert bits(method(tile=TILE), lazy, Y, feature_kind=kind) == expected


@BOTH
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_store_gives_the_same_bits(method, sparse, tmp_path):
    X, Y, _ = make_table(sparse=sparse)
    ingest(ArrayTable(X, Y), tmp_path / "made.zarr", tile=TILE)
    assert bits(method(), open_dataset(tmp_path / "made.zarr")) == bits(method(), X, Y)


@BOTH
@given(table=tables())
def test_sparse_input_is_chosen_as_dense(method, table):
    X, Y = table
    X[np.abs(X) < 1] = 0.0
    assert bits(method(tile=5), sp.csr_matrix(X), Y) == bits(method(tile=9), X, Y)


@BOTH
def test_a_feature_and_its_complement_are_tied(method):
    X, Y, _ = make_table(sparse=False)
    fitted = method(n_features_to_select=1).fit(X[:, [5, 4]], Y)
    assert fitted.order_[0] == 0
    assert method(n_features_to_select=1).fit(X[:, [4, 5]], Y).scores_[0] == fitted.scores_[0]


@BOTH
def test_the_search_stops_at_the_number_asked_for(method):
    X, Y, _ = make_table(sparse=False)
    whole = method().fit(X, Y)
    for k, expected in ((3, 3), (0.1, 4)):
        fitted = method(n_features_to_select=k).fit(X, Y)
        assert fitted.path_ == whole.path_[:expected]
        assert fitted.stop_ == f"{expected} features chosen"
        assert np.isnan(fitted.scores_).sum() == D - expected
        rest = [f for f in range(D) if f not in fitted.order_[:expected] and f != 3]
        assert fitted.order_[expected:].tolist() == [*rest, 3]
        assert np.flatnonzero(fitted.support_).tolist() == sorted(fitted.order_[:expected])
    # The constant feature is never chosen, but may be asked for.
    assert len(whole.path_) == D - 1
    assert whole.order_[-1] == 3


@BOTH
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_missing_values_are_refused_or_imputed(method, sparse):
    X, Y, kind = make_table(sparse=False)
    X[2, 7] = X[5, 8] = np.nan
    given = sp.csr_matrix(X) if sparse else X
    with pytest.raises(MissingValuesError, match="feature 7 has 1 missing"):
        method().fit(given, Y, feature_kind=kind)
    filled = X.copy()
    filled[2, 7] = np.nansum(X[:, 7]) / (N - 1)
    codes, counts = np.unique(X[~np.isnan(X[:, 8]), 8], return_counts=True)
    filled[5, 8] = codes[counts.argmax()]
    fitted = method(impute="mean").fit(given, Y, feature_kind=kind)
    assert fitted.path_ == method().fit(filled, Y, feature_kind=kind).path_


@BOTH
def test_nothing_but_constants(method):
    fitted = method().fit(np.ones((5, 3)), np.eye(5, 2, dtype=int))
    assert fitted.order_.tolist() == [0, 1, 2]
    assert fitted.path_ == []
    assert fitted.stop_ == "no candidate left"


@BOTH
def test_infinite_values_are_refused(method):
    X, Y, _ = make_table(sparse=False)
    X[1, 2] = np.inf
    with pytest.raises(ValueError, match="infinity or a value too large: feature 2"):
        method().fit(X, Y)


@pytest.mark.cluster
def test_bits_on_a_cluster_of_two(two_workers):
    from distributed import Client

    X, Y, kind = make_table(sparse=False)
    S, _, _ = make_table(sparse=True)
    few = {"tile": TILE, "n_features_to_select": 5}
    expected = [bits(m(**few), x, Y, feature_kind=kind) for m, x in ((PMU, S), (MDMR, X))]
    with Client(two_workers):
        assert isinstance(executors.get_executor(), executors.OnCluster)
        rows = ((PMU, S), (MDMR, da.from_array(X, chunks=(70, 9))))
        assert [bits(m(**few), x, Y, feature_kind=kind) for m, x in rows] == expected
