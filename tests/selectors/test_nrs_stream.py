"""nrs-stream: worked examples, plain loops, engines told what to think."""

import json
import math

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs.source import as_source
from mlfs_dask.selectors.engine import Choice, SelectionStoppedError, drive, recording
from mlfs_dask.selectors.nrs_stream import NRSStream, StreamEngine
from mlfs_dask.selectors.online_engine import Measured, restored
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference import stream as plain
from reference.executors import Shuffled
from reference.tables import kinds, streams

DEPENDENCY = {"hard": "hard", "soft": "consistency"}


def members_of(fitted):
    return [f for f in fitted.order_.tolist() if fitted.support_[f]]


def prefixes(fitted):
    choices = [Choice.from_record(step) for step in fitted.path_]
    return [list(restored(choices[: k + 1]).members) for k in range(len(choices))]


@given(
    case=streams(),
    how=st.sampled_from(["hard", "soft"]),
    relevance=st.sampled_from([None, 0.05, 0.5, 1.0]),
    normalize=st.sampled_from(["minmax", "none"]),
    gap=st.sampled_from([(1.5, False), (1.0, True), (4.0, False)]),
    group=st.integers(1, 4),
    data=st.data(),
)
def test_decisions_are_those_of_the_plain_twin(case, how, relevance, normalize, gap, group, data):
    X, Y, nominal = case
    order = data.draw(st.permutations(range(X.shape[1])))
    table, weights = plain.Table(X, normalize, nominal), plain.weights(Y.tolist())

    def gamma(features):
        return plain.label_dependency(
            table, Y, weights, features, how, factor=gap[0], strict=gap[1]
        )

    expected, decided = plain.stream(gamma, order, table.constant, relevance)
    fitted = NRSStream(
        relevance,
        dependency=DEPENDENCY[how],
        normalize=normalize,
        gap_factor=gap[0],
        strict=gap[1],
        arrival=order,
        group_size=group,
    ).fit(X, Y, feature_kind=kinds(X, nominal))
    assert prefixes(fitted) == expected
    assert members_of(fitted) == expected[-1]
    for step, (what, rule, other) in zip(fitted.path_, decided, strict=True):
        assert step["reason"].startswith(what)
        assert step["kept"] == (what != "discarded")
        assert (rule == "redundancy") == ("features" in step)
        if "features" in step:
            assert step["features"] == [other]
            assert (
                step["reason"]
                .split(":")[0 if what == "replaces" else 1]
                .endswith(f"feature {other}")
            )
        if rule == "significance":
            assert step["score"] != 0
    np.testing.assert_allclose(fitted.weights_, weights, rtol=1e-9)
    if expected[-1]:
        assert fitted.path_[-1]["dependency"] == pytest.approx(gamma(expected[-1]), abs=1e-12)
        mean = sum(gamma([g]) for g in expected[-1]) / len(expected[-1])
        assert fitted.relevance_ == pytest.approx(relevance or mean, abs=1e-12)
    never = [f for f in range(X.shape[1]) if not any(f in prefix for prefix in expected)]
    assert np.flatnonzero(np.isnan(fitted.scores_)).tolist() == never
    tail = fitted.order_.tolist()[len(expected[-1]) :]
    assert tail == sorted(tail, key=lambda f: (table.constant[f], f))


def test_weights_of_the_worked_example():
    Y = [(1, 0, 1, 1), (1, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0)]
    X = np.arange(6.0)[:, None]
    for params, expected in (
        ({}, (0.116253, 0.383747)),
        ({"restart": "shared"}, (0.116253, 0.383747)),
        ({"n_iter": 1}, (0.172883, 0.327117)),
        ({"n_iter": 1, "restart": "shared"}, (0.138180, 0.361820)),
    ):
        fitted = NRSStream(**params).fit(X, np.array(Y))
        np.testing.assert_allclose(fitted.weights_, [*expected, *expected], atol=5e-7)


def test_pure_neighbourhoods_of_both_values_count():
    """Six samples, one feature, one label: two pure in the label, two in its absence, two mixed."""
    X = np.array([[0.0], [0.01], [0.48], [0.5], [0.98], [1.0]])
    Y = np.array([[1], [1], [1], [0], [0], [0]])
    fitted = NRSStream().fit(X, Y)
    assert fitted.path_[0]["dependency"] == 4 / 6
    assert fitted.path_[0]["reason"] == "accepted: dependency 0.667 by itself"


def reply_with(answers):
    """Canned replies, checked for what they are asked of."""
    left = list(answers)

    def fulfil(request):
        kind, arguments, reply = left.pop(0)
        asked = dict(request.arguments)
        held.append(asked.pop("dependency", None))
        assert (request.kind, asked) == (kind, arguments)
        return reply

    held = fulfil.held = []
    return fulfil


ARRIVALS = (7, 3, 5, 1, 8, 2, 4, 6)
NAMES = tuple(f"F{f}" for f in range(9))
CANNED = [
    ("arrivals", {"features": (7,), "members": ()}, [Measured(0.0, 0.0)]),
    ("arrivals", {"features": (3,), "members": ()}, [Measured(0.25, 0.25)]),
    ("arrivals", {"features": (5,), "members": (3,)}, [Measured(0.125, 0.262)]),
    ("arrivals", {"features": (1,), "members": (3, 5)}, [None]),
    ("arrivals", {"features": (8,), "members": (3, 5)}, [Measured(math.nan, 0.262 - 0.003)]),
    ("arrivals", {"features": (2,), "members": (3, 5)}, [Measured(0.1, 0.262 + 1e-13)]),
    ("arrivals", {"features": (4,), "members": (3, 5)}, [Measured(0.1875, 0.262)]),
    ("pairs", {"feature": 4, "members": (3,)}, [0.3]),
    ("pairs", {"feature": 4, "members": (5,)}, [0.125 + 1e-13]),
    ("set", {"members": (3, 4)}, 0.25),
    ("arrivals", {"features": (6,), "members": (3, 4)}, [Measured(0.25, 0.25)]),
    ("pairs", {"feature": 6, "members": (3,)}, [0.2]),
]
REASONS = [
    "discarded: dependency 0 by itself",
    "accepted: dependency 0.25 by itself",
    "accepted: significance +0.012",
    "discarded: constant",
    "discarded: significance -0.003",
    "discarded: relevance 0.1 below 0.188",
    "replaces F5: dependency 0.188 by itself, not 0.125",
    "discarded: redundant to F3",
]


def test_rules_and_reasons_on_canned_replies():
    engine, fulfil = StreamEngine(ARRIVALS, names=NAMES), reply_with(CANNED)
    steps = list(drive(engine, fulfil))
    asked_against = [value for value in fulfil.held if value is not None]
    assert asked_against == [0.0, 0.0, 0.25, 0.262, 0.262, 0.262, 0.262, 0.25]
    choices = [choice for step in steps for choice in step.decided]
    assert [choice.reason for choice in choices] == REASONS
    assert [choice.feature for choice in choices] == list(ARRIVALS)
    assert [choice.step for choice in choices] == list(range(8))
    kept = [choice.details["kept"] for choice in choices]
    assert kept == [False, True, True, False, False, False, True, False]
    assert math.isnan(choices[3].score)
    known = [choice.details.get("relevance") for choice in choices]
    assert known == [0.0, 0.25, 0.125, None, None, 0.1, 0.1875, 0.25]
    assert choices[6].details["features"] == [5]
    assert choices[7].details["features"] == [3]
    assert [choice.details["dependency"] for choice in choices[4:]] == [0.262, 0.262, 0.25, 0.25]
    assert choices[5].details["threshold"] == choices[6].details["threshold"] == 0.1875
    assert steps[-1].stop == "no feature left"
    assert steps[-1].state.members == (3, 4)


def test_a_feature_that_is_relevant_and_not_redundant_joins():
    canned = [
        ("arrivals", {"features": (0,), "members": ()}, [Measured(0.25, 0.25)]),
        ("arrivals", {"features": (1,), "members": (0,)}, [Measured(0.3, 0.25)]),
        ("pairs", {"feature": 1, "members": (0,)}, [0.26]),
    ]
    steps = list(drive(StreamEngine((0, 1)), reply_with(canned)))
    assert steps[-1].decided[0].reason == "accepted: relevant and not redundant"
    assert steps[-1].state.members == (0, 1)


def test_a_threshold_that_is_given():
    canned = [
        ("arrivals", {"features": (0,), "members": ()}, [Measured(0.25, 0.25)]),
        ("arrivals", {"features": (1,), "members": (0,)}, [Measured(0.3, 0.25)]),
    ]
    steps = list(drive(StreamEngine((0, 1), relevance=0.4), reply_with(canned)))
    assert steps[-1].decided[0].reason == "discarded: relevance 0.3 below 0.4"


def test_a_group_is_measured_again_once_one_of_it_joined():
    canned = [
        ("arrivals", {"features": (0, 1, 2), "members": ()}, [None, Measured(0.2, 0.2), None]),
        ("arrivals", {"features": (2, 3), "members": (1,)}, [Measured(0.1, 0.1), None]),
    ]
    steps = list(drive(StreamEngine((0, 1, 2, 3), group_size=3), reply_with(canned)))
    assert [len(step.decided) for step in steps] == [0, 2, 2]
    assert restored([c for step in steps for c in step.decided]) == steps[-1].state


def test_pairs_are_asked_for_in_growing_parts():
    asked = []

    def fulfil(request):
        members = request.arguments["members"]
        if request.kind == "pairs":
            asked.append(len(members))
            return [1.0] * len(members)
        f = request.arguments["features"][0]
        return [Measured(0.5, 0.5 if f == 200 else f + 1.0)]

    list(drive(StreamEngine(tuple(range(201)), relevance=0.1), fulfil))
    assert asked == []  # 200 lowers the dependency

    def settled(request):
        if request.kind == "arrivals" and request.arguments["features"][0] == 200:
            return [Measured(0.5, 200.0)]
        return fulfil(request)

    list(drive(StreamEngine(tuple(range(201)), relevance=0.1), settled))
    assert asked == [1, 1, 2, 4, 8, 16, 32, 64, 64, 8]


@given(case=streams(), data=st.data())
def test_replay_restores_the_state_after_any_prefix(case, data):
    """By way of JSON, as a run keeps decisions; what follows has the same bits."""
    X, Y, nominal = case
    group = data.draw(st.integers(1, 3))
    selector = NRSStream(group_size=group)
    whole = selector.fit(X, Y, feature_kind=kinds(X, nominal))
    expected = whole.selection_record()
    records = json.loads(json.dumps(expected["path"]))
    choices = [Choice.from_record(record) for record in records]
    cut = data.draw(st.integers(1, len(choices)))

    class Recorder:
        earlier = choices[:cut]
        told = 0

        def decided(self, found, seconds):
            self.told += len(found)

    recorder = Recorder()
    with recording(recorder):
        again = clone(selector).fit(X, Y, feature_kind=kinds(X, nominal))
    assert again.selection_record() == expected
    assert recorder.told == len(choices) - cut
    engine = StreamEngine(tuple(range(X.shape[1])))
    replayed = engine.replay(choices[:cut])
    assert replayed.state == restored(choices[:cut])
    assert replayed.decided == tuple(choices[:cut])


def rows(seed=3, n=70, d=9, q=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, d)) * (rng.random((n, d)) < 0.7) / 2
    X[:, 4] = 2.0
    X[:, 5] = rng.random(n) < 0.5
    Y = (rng.random((n, q)) < 0.3).astype(np.uint8)
    Y[:, 0] |= X[:, 1] > 1.5
    return X, Y


def test_the_same_bits_from_every_kind_of_input(tmp_path, monkeypatch):
    X, Y = rows()
    inputs = {
        "dense": X,
        "sparse": sp.csr_matrix(X),
        "dask": da.from_array(X, chunks=(11, 4)),
        "store": ingest(ArrayTable(X, Y), tmp_path / "made.zarr", tile=16),
        "small tiles": as_source(X, Y, tile=8),
    }
    for params in ({}, {"dependency": "consistency"}, {"arrival": "random", "random_state": 4}):
        expected = NRSStream(**params).fit(X, Y).selection_record()
        for name, given_rows in inputs.items():
            for executor in (None, Shuffled(1)):
                with monkeypatch.context() as patch:
                    if executor is not None:
                        where = "mlfs_dask.selectors.base.get_executor"
                        patch.setattr(where, lambda executor=executor: executor)
                        patch.setattr("mlfs_dask.graphs.dependency._SMALL", 0)
                    found = NRSStream(**params).fit(given_rows, Y).selection_record()
                assert found == expected, name


def test_orders_of_arrival():
    X, Y = rows()
    given_order = [8, 0, 4, 2]
    fitted = NRSStream(arrival=given_order).fit(X, Y)
    assert [step["feature"] for step in fitted.path_] == given_order
    assert fitted.stop_ == "no feature left"
    for seed in (0, 1):
        drawn = np.random.default_rng(seed).permutation(9).tolist()
        fitted = NRSStream(arrival="random", random_state=seed).fit(X, Y)
        assert [step["feature"] for step in fitted.path_] == drawn
    stream = np.random.SeedSequence(5, spawn_key=(3, 1, 0, 0))
    one, other = (NRSStream(arrival="random", random_state=stream).fit(X, Y) for _ in range(2))
    assert one.selection_record() == other.selection_record()


def test_numbers_of_features_to_keep():
    X, Y = rows()
    own = NRSStream().fit(X, Y)
    members = members_of(own)
    assert own.n_selected_ == len(members)
    few = NRSStream(n_features_to_select=1).fit(X, Y)
    assert np.flatnonzero(few.support_).tolist() == members[:1]


def test_nothing_to_select():
    X = np.full((5, 2), 3.0)
    fitted = NRSStream().fit(X, np.array([[1], [0], [1], [0], [1]]))
    assert fitted.support_.sum() == 0
    assert [step["reason"] for step in fitted.path_] == ["discarded: constant"] * 2
    assert fitted.selection_record()["path"][0]["score"] is None
    assert fitted.relevance_ == 0.0


def test_a_run_can_be_stopped_between_arrivals():
    X, Y = rows()

    class Recorder:
        earlier = ()

        def decided(self, choices, seconds):
            raise SelectionStoppedError("enough")

    with recording(Recorder()), pytest.raises(SelectionStoppedError):
        NRSStream().fit(X, Y)


def test_missing_values_are_refused_or_replaced():
    X, Y = rows()
    X[3, 2] = np.nan
    with pytest.raises(MissingValuesError, match=r"NRSStream has no rule.*feature 2 has 1"):
        NRSStream().fit(X, Y)
    filled = X.copy()
    filled[3, 2] = np.nanmean(X[:, 2])
    expected = NRSStream().fit(filled, Y).selection_record()
    assert NRSStream(impute="mean").fit(X, Y).selection_record() == expected


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"relevance": 0.0}, "relevance = 0.0: expected None or a number above 0"),
        ({"relevance": 1.5}, "relevance = 1.5"),
        ({"relevance": "high"}, "relevance = 'high'"),
        ({"damping": 1.0}, "damping = 1.0: expected a number from 0 to below 1"),
        ({"gap_factor": 0}, "gap_factor = 0: expected a number above 0"),
        ({"gap_factor": np.nan}, "gap_factor = nan"),
        ({"strict": 1}, "strict = 1: expected True or False"),
        ({"dependency": "soft"}, "dependency = 'soft': expected one of 'hard', 'consistency'"),
        ({"normalize": "std"}, "normalize = 'std'"),
        ({"n_iter": 0}, "n_iter = 0"),
        ({"restart": "no"}, "restart = 'no'"),
        ({"group_size": 0}, "group_size = 0"),
        ({"max_features": 0}, "max_features = 0"),
        ({"arrival": "backwards"}, "arrival = 'backwards': expected one of 'store', 'random'"),
        ({"arrival": [0, 0]}, "each once"),
        ({"arrival": [-1]}, "each once"),
        ({"arrival": [0.5]}, "each once"),
        ({"arrival": [[0], [1, 2]]}, "each once"),
        ({"arrival": [0, 9]}, "arrival names feature 9: X has 9 features"),
        ({"n_features_to_select": 10}, "X has 9 features"),
    ],
)
def test_parameters_that_do_not_fit(params, words):
    with pytest.raises(InputError) as error:
        NRSStream(**params).fit(*rows())
    assert words in str(error.value)
