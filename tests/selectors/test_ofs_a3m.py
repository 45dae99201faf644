"""ofs-a3m: the running example of its paper, plain loops, members tried in a drawn order."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from mlfs_dask.errors import InputError
from mlfs_dask.graphs.arrivals import make_column
from mlfs_dask.graphs.dependency import Dependency
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.kernels.gap_levels import GapRule
from mlfs_dask.selectors.engine import Choice, drive, recording
from mlfs_dask.selectors.ofs_a3m import OFSA3M, A3MEngine
from mlfs_dask.selectors.online_engine import Measured, restored
from reference import stream as plain
from reference.tables import kinds, streams

EXAMPLE = np.array(
    [
        [3, 5, 8, 13, 6, 5, 9, 15],
        [5.6, 6.9, 5.3, 12.3, 15.2, 2.6, 6.8, 8.4],
        [-66, 95, -28, -35, 72, 42, -33, 15],
        [3.05, 4.84, 5.89, 6.14, 6.55, 10.94, 23.85, 23.85],
    ]
).T
CLASS = np.array([0, 1, 1, 1, 0, 1, 0, 0])


def test_dependencies_of_the_running_example():
    columns = [make_column(EXAMPLE[:, f], "std") for f in range(4)]
    rule = GapRule(1.5, False, 8)
    dependency = Dependency(CLASS, rule, "classes", np.ones(1), InProcess(1))
    expected = {
        (0,): 0.2625,
        (1,): 0.33542,
        (2,): 0.29464,
        (3,): 0.6,
        (0, 1): 0.32292,
        (0, 1, 3): 0.55357,
    }
    for features, value in expected.items():
        assert dependency.of([columns[f] for f in features]) == pytest.approx(value, abs=5e-6)
    assert dependency.alone(columns[3]) == dependency.of([columns[3]])


def test_decisions_of_the_running_example():
    fitted = OFSA3M().fit(EXAMPLE, CLASS)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 1, 3]
    assert fitted.n_classes_ == 2
    assert [step["reason"] for step in fitted.path_] == [
        "accepted: significance +0.263",
        "accepted: significance +0.0604",
        "discarded: dependency 0.295 by itself below the mean 0.299",
        "accepted: significance +0.231",
    ]
    dependencies = [step["dependency"] for step in fitted.path_]
    np.testing.assert_allclose(dependencies, [0.2625, 0.32292, 0.32292, 0.55357], atol=5e-6)


def shuffle_by(random_state):
    seed = int(np.random.default_rng(random_state).integers(2**63))

    def shuffle(step, members):
        return [members[i] for i in np.random.default_rng([seed, step]).permutation(len(members))]

    return shuffle


@given(
    case=streams(),
    group=st.integers(1, 4),
    random_state=st.integers(0, 99),
    gap=st.sampled_from([(1.5, False), (1.0, True), (4.0, False)]),
    data=st.data(),
)
def test_decisions_are_those_of_the_plain_twin(case, group, random_state, gap, data):
    X, Y, nominal = case
    order = data.draw(st.permutations(range(X.shape[1])))
    table = plain.Table(X, "std", nominal)
    classes = [tuple(row) for row in Y.tolist()]

    def gamma(features):
        return plain.dependency(table, classes, features, "soft", factor=gap[0], strict=gap[1])

    expected, decided = plain.a3m(gamma, order, table.constant, shuffle_by(random_state))
    selector = OFSA3M(
        gap[0], strict=gap[1], arrival=order, group_size=group, random_state=random_state
    )
    fitted = selector.fit(X, Y, feature_kind=kinds(X, nominal))
    choices = [Choice.from_record(step) for step in json.loads(json.dumps(fitted.path_))]
    found = [list(restored(choices[: k + 1]).members) for k in range(len(choices))]
    assert found == expected
    for step, (what, rule, dropped) in zip(fitted.path_, decided, strict=True):
        assert step["reason"].startswith(what)
        assert step.get("features", []) == sorted(dropped)
        assert ("as before" in step["reason"]) == (rule == "equal")
    cut = data.draw(st.integers(1, len(choices)))

    class Recorder:
        earlier = choices[:cut]

        def decided(self, found, seconds):
            pass

    with recording(Recorder()):
        again = clone(selector).fit(X, Y, feature_kind=kinds(X, nominal))
    assert again.selection_record() == fitted.selection_record()


def test_members_of_no_use_leave_in_the_order_they_were_tried():
    order = [int(i) for i in np.random.default_rng([5, 3]).permutation(3)]
    tried = []

    def fulfil(request):
        members = request.arguments["members"]
        if request.kind == "without":
            gone = [g for g in (0, 1, 2) if g not in members]
            tried.append(gone)
            return 0.5 if gone != [order[0]] else 0.4
        f = request.arguments["features"][0]
        assert request.arguments["least"] == sum(0.2 + g / 10 for g in members) / max(1, f)
        return [Measured(0.2 + f / 10, min(0.5, 0.3 + f / 10))]

    steps = list(drive(A3MEngine((0, 1, 2, 3), seed=5, names=("a", "b", "c", "d")), fulfil))
    choice = steps[-1].decided[0]
    left = sorted(order[1:])
    names = ", ".join("abc"[g] for g in left)
    assert choice.reason == f"accepted: dependency as before; drops {names}"
    assert choice.details["features"] == left
    assert steps[-1].state.members == (order[0], 3)
    assert tried == [[order[0]], [order[1]], sorted(order[1:])]


@pytest.mark.parametrize(
    ("params", "words"),
    [({"gap_factor": -1.0}, "gap_factor = -1.0"), ({"strict": None}, "strict = None")],
)
def test_parameters_that_do_not_fit(params, words):
    with pytest.raises(InputError) as error:
        OFSA3M(**params).fit(EXAMPLE, CLASS)
    assert words in str(error.value)
