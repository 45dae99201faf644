"""Engines by canned replies: pure steps, and the same decisions from any earlier ones."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.selectors.engine import Choice, SelectionStoppedError, drive, recording
from mlfs_dask.selectors.euclidean import EuclideanEngine
from mlfs_dask.selectors.mllap import TraceRatioEngine
from toys import ToyEngine, ToyState


class Keep:
    """A recorder that keeps records as JSON, and may stop after some steps."""

    def __init__(self, earlier=(), stop_after=None):
        self.earlier = [Choice.from_record(json.loads(record)) for record in earlier]
        self.records = list(earlier)
        self.steps = 0
        self._stop_after = stop_after

    def decided(self, choices, seconds):
        assert seconds >= 0
        self.records += [json.dumps(choice.record()) for choice in choices]
        self.steps += 1
        if self.steps == self._stop_after:
            raise SelectionStoppedError


def run(engine, fulfil, recorder):
    with recording(recorder):
        return [choice for step in drive(engine, fulfil) for choice in step.decided]


def trace_ratio(seed, d):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 9, d) / 8, rng.integers(0, 3, d) / 7
    return TraceRatioEngine(d, rng.random(d) < 0.1), lambda request: (a, b)


def euclidean(seed, d):
    rng = np.random.default_rng(seed)
    a, b = rng.random(d), rng.integers(0, 3, d) / 7

    def fulfil(request):
        if request.kind == "scatter":
            return a, b
        chosen, left = request.arguments["chosen"], request.arguments["candidates"]
        return np.sqrt(a[chosen].sum() + a[left])

    return EuclideanEngine(rng.random(d) < 0.1, max(1, d - 2)), fulfil


def toy(seed, d):
    rng = np.random.default_rng(seed)
    replies = rng.random((d, 2))
    return ToyEngine(d), lambda request: tuple(replies[request.arguments["feature"]].tolist())


@pytest.mark.parametrize("make", [trace_ratio, euclidean, toy])
@given(seed=st.integers(0, 999), d=st.integers(1, 9), data=st.data())
def test_any_prefix_of_decisions_leads_to_the_same_end(make, seed, d, data):
    engine, fulfil = make(seed, d)
    whole = Keep()
    run(engine, fulfil, whole)
    known = data.draw(st.integers(0, len(whole.records)))
    again = Keep(whole.records[:known])
    choices = run(engine, fulfil, again)
    assert again.records == whole.records
    assert [json.dumps(choice.record()) for choice in choices] == whole.records


@pytest.mark.parametrize("make", [trace_ratio, euclidean, toy])
def test_states_are_values(make):
    """Going on twice from one state gives the same twice."""
    engine, fulfil = make(5, 8)
    step = engine.begin()
    while step.stop is None:
        reply = None if step.request is None else fulfil(step.request)
        first = engine.advance(step.state, reply)
        second = engine.advance(step.state, reply)
        assert first.decided == second.decided
        step = first


def test_the_online_engine_by_canned_replies():
    engine = ToyEngine(3)
    step = engine.begin()
    assert (step.request.kind, dict(step.request.arguments)) == (
        "arrival",
        {"feature": 0, "members": ()},
    )
    step = engine.advance(step.state, (0.5, 0.0))
    assert step.state == ToyState(1, (0,))
    assert step.decided[0].reason == "accepted: relevance 0.500"
    step = engine.advance(step.state, (0.4, 0.9))
    assert step.state == ToyState(2, (0,))
    assert step.request.arguments["members"] == (0,)
    step = engine.advance(step.state, (0.4, 0.1))
    assert (step.state.members, step.stop, step.request) == ((0, 2), "no feature left", None)


def test_a_recorder_ends_the_loop_between_steps():
    engine, fulfil = toy(0, 6)
    recorder = Keep(stop_after=2)
    with pytest.raises(SelectionStoppedError):
        run(engine, fulfil, recorder)
    assert len(recorder.records) == 2
    rest = Keep(recorder.records)
    run(engine, fulfil, rest)
    assert (len(rest.records), rest.steps) == (6, 4)


def test_only_the_first_loop_in_a_recording_is_recorded():
    recorder = Keep()
    engine, fulfil = toy(0, 4)
    with recording(recorder):
        for _ in range(2):
            list(drive(engine, fulfil))
    assert len(recorder.records) == 4
    list(drive(engine, fulfil))
    assert len(recorder.records) == 4


def test_scores_that_are_no_numbers_survive_json():
    choice = Choice(3, 7, float("nan"), "why", {"kept": True})
    record = {**choice.record(), "score": None}
    back = Choice.from_record(json.loads(json.dumps(record)))
    assert np.isnan(back.score)
    assert (back.step, back.feature, back.reason, back.details) == (3, 7, "why", {"kept": True})
