"""The record of a selection among a prefilter's candidates, in the store's numbering."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlfs_dask
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.jobs.prefilter import StoreNumbering, in_store_numbering, prefilter
from mlfs_dask.selectors import mllap
from mlfs_dask.selectors.engine import Choice, SelectionStoppedError, recording


@st.composite
def records(draw):
    """A ranking of d features, how many are kept, and the record of a selector among these."""
    d = draw(st.integers(1, 12))
    ranking = np.array(draw(st.permutations(range(d))), dtype=np.int64)
    n = draw(st.integers(1, d))
    order = draw(st.permutations(range(n)))
    scores = draw(st.lists(st.none() | st.floats(-1, 1), min_size=n, max_size=n))
    support = sorted(draw(st.sets(st.integers(0, n - 1))))
    path = [{"step": i, "feature": f, "score": None} for i, f in enumerate(order[:3])]
    record = {"order": list(order), "scores": scores, "support": support, "path": path}
    return ranking, n, {"problems": None, "cost": 1.5, "stop": "end", **record}


@given(records())
def test_features_are_named_as_in_the_store(case):
    ranking, n, record = case
    whole = in_store_numbering(record, ranking, n)
    kept = sorted(ranking[:n].tolist())
    assert sorted(whole["order"]) == list(range(len(ranking)))
    assert whole["order"][n:] == ranking[n:].tolist()
    assert [kept.index(f) for f in whole["order"][:n]] == record["order"]
    for feature, score in enumerate(whole["scores"]):
        assert score == (record["scores"][kept.index(feature)] if feature in kept else None)
    assert [kept.index(f) for f in whole["support"]] == record["support"]
    assert whole["support"] == sorted(whole["support"])
    assert [kept.index(step["feature"]) for step in whole["path"]] == [
        step["feature"] for step in record["path"]
    ]
    assert (whole["cost"], whole["stop"]) == (1.5, "end")


@given(records(), records())
def test_each_problem_is_renumbered_by_itself(first, second):
    ranking, n, one = first
    other = {**one, "order": one["order"][::-1], "support": one["support"][:1]}
    both = {key: [one[key], other[key]] for key in ("order", "scores", "support")}
    whole = in_store_numbering({**one, **both, "problems": [[0], [1]]}, ranking, n)
    for position, record in enumerate((one, other)):
        alone = in_store_numbering(record, ranking, n)
        for key in both:
            assert whole[key][position] == alone[key]


def test_lists_of_features_in_steps_are_renumbered():
    step = {"step": 0, "feature": 1, "features": [0, 1], "score": 0.5, "dropped": 7}
    record = {
        "problems": None,
        "order": [1, 0],
        "scores": [0.1, 0.2],
        "support": [0],
        "path": [step],
    }
    found = in_store_numbering(record, np.array([4, 2, 0, 1, 3]), 2)["path"][0]
    assert found == {"step": 0, "feature": 4, "features": [2, 4], "score": 0.5, "dropped": 7}


def test_a_prefilter_leaves_the_recorder_to_the_selector_proper():
    class Recorder:
        earlier = ()
        told = 0

        def decided(self, choices, seconds):
            self.told += len(choices)

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 6)), rng.integers(0, 2, size=(30, 2))
    source, recorder = as_source(X, Y), Recorder()
    with recording(recorder):
        order = prefilter(mlfs_dask.get_selector("mllap"), source)
        assert recorder.told == 0
        mlfs_dask.get_selector("mllap").fit(X, Y)
    assert sorted(order.tolist()) == list(range(6))
    assert recorder.told == 6


class Notes:
    """A recorder that keeps what it is told, and stops a loop after some decisions."""

    def __init__(self, earlier=(), stop_after=99):
        self.earlier = tuple(earlier)
        self.told = []
        self._stop_after = stop_after

    def decided(self, choices, seconds):
        self.told += choices
        if len(self.told) >= self._stop_after:
            raise SelectionStoppedError


def test_a_recorder_is_told_the_stores_numbers_and_tells_them_back(monkeypatch):
    monkeypatch.setattr(mllap, "_BATCH", 1)
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 9)), rng.integers(0, 2, size=(40, 3))
    kept = np.array([1, 4, 5, 8])
    whole, source = Notes(), as_source(X, Y)

    def select(notes):
        with recording(StoreNumbering(notes, kept)):
            selector = mlfs_dask.get_selector("mllap").fit(source.keep_features(kept))
        return selector.selection_record()

    record = select(whole)
    assert [choice.feature for choice in whole.told] == kept[record["order"]].tolist()
    stopped = Notes(stop_after=2)
    with pytest.raises(SelectionStoppedError):
        select(stopped)
    assert stopped.told == whole.told[:2]
    resumed = Notes(earlier=stopped.told)
    assert select(resumed) == record
    assert resumed.told == whole.told[2:]


def test_details_of_a_decision_that_name_features_are_renumbered():
    notes = Notes(earlier=[Choice(0, 7, 0.5, "why", {"features": [7, 2], "n": 2})])
    numbering = StoreNumbering(notes, np.array([2, 7]))
    (earlier,) = numbering.earlier
    assert (earlier.feature, earlier.details) == (1, {"features": [1, 0], "n": 2})
    numbering.decided([earlier], 0.0)
    assert notes.told == list(notes.earlier)


def test_a_prefilter_needs_one_ranking():
    class PerProblem:
        def fit(self, source):
            pass

        def selection_record(self):
            return {"problems": [[0], [1]], "order": [[0], [0]]}

    source = as_source(np.eye(3), np.eye(3, dtype=np.uint8))
    with pytest.raises(InputError, match="PerProblem ranks features for each of its problems"):
        prefilter(PerProblem(), source)
