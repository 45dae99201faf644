"""nrs-cost against paper E's example and against plain loops."""

import math

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import InputError
from mlfs_dask.selectors.engine import Choice, recording
from mlfs_dask.selectors.nrs_cost import NRSCost
from reference.nrs_cost import Table, radii, reduct, significances
from reference.tables import mixed_table, tables_with_categories

# Paper E: a table for which every statement of the paper's example holds.
_ = np.nan
EXAMPLE_X = np.array(
    [
        [0.99, 0.90, 0.24, 0.18, 1.00],
        [0.21, 0.20, 0.32, 0.30, 1.00],
        [0.82, 0.90, 0.65, 0.28, 0.91],
        [0.80, 0.72, 1.00, 0.63, 0.26],
        [0.83, _, 0.60, 0.17, 0.83],
        [0.40, 1.00, 0.50, _, 0.31],
        [0.86, 0.32, 0.51, 0.14, 0.70],
        [0.81, 0.86, 0.42, 0.14, 0.93],
        [0.72, 0.00, 0.67, 0.04, 0.37],
        [0.05, 0.19, 0.17, 0.39, 1.00],
    ]
)
CARRIED = [{2}, {1}, {2}, {1, 2, 3}, {1, 3}, {2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2}, {3}]
EXAMPLE_Y = np.array([[k in labels for k in (1, 2, 3)] for labels in CARRIED], dtype=np.uint8)
THRESHOLDS = [0.21, 0.22, 0.24, 0.18, 0.15]
COSTS = np.array([10.0, 14.0, 8.0, 16.0, 4.0])
NEAR = [{1, 8}, {2, 10}, {3, 5, 8}, {4}, {3, 5, 7, 8}, {6}, {5, 7}, {1, 3, 5, 8}, {9}, {2, 10}]


def example(**options):
    selector = NRSCost(radius=THRESHOLDS, tile=4, **options)
    return selector.fit(EXAMPLE_X, EXAMPLE_Y, feature_cost=COSTS)


def test_the_twin_has_the_neighbourhoods_and_regions_of_the_paper():
    twin = Table(EXAMPLE_X, EXAMPLE_Y, THRESHOLDS)
    every = range(5)
    found = [{j + 1 for j in range(10) if twin.near(i, j, every)} for i in range(10)]
    assert found == NEAR
    regions_ = [{1, 6, 9}, {1, 4, 6, 9}, {4}, set()]
    for a, expected in enumerate(regions_):
        assert {i + 1 for i in twin.positive([a, 4])} == expected
    assert {i + 1 for i in twin.whole()} == {1, 4, 6, 9}
    assert twin.core() == [4]
    found = significances(twin, [4], [0, 1, 2, 3], COSTS, twin.whole())
    assert [round(s, 12) for s in found] == [0.7, 0.85, 0.25, -0.2]
    assert reduct(twin, COSTS)[0] == [4, 1]


def test_the_papers_example():
    """Core {a5}; then a2 with SIG 0.85 before a1 with 0.7; {a2, a5} costs 18 of 52."""
    found = example()
    assert found.core_.tolist() == [4]
    assert found.n_positive_ == 4
    core, second = found.path_
    assert core == {
        "step": 0,
        "feature": 4,
        "score": pytest.approx(math.nan, nan_ok=True),
        "reason": "core",
        "cost": 4.0,
        "positive": 0,
    }
    assert second == {
        "step": 1,
        "feature": 1,
        "score": 0.85,
        "reason": "largest significance",
        "cost": 18.0,
        "positive": 4,
        "runner_up": 0,
        "runner_up_significance": 0.7,
    }
    assert found.stop_ == "the positive region of all features is reached: 4 rows"
    assert found.order_.tolist() == [4, 1, 0, 2, 3]
    assert found.n_selected_ == 2
    record = found.selection_record()
    assert record["support"] == [1, 4]
    assert record["cost"] == 18.0
    assert record["scores"] == [None, 0.85, None, None, None]
    assert record["path"][0]["score"] is None


@st.composite
def incomplete(draw):
    """Tables with ties, missing cells, columns without any value, nominal codes, empty rows."""
    X, Y, nominal = draw(tables_with_categories())
    X = X.copy()
    for r in range(X.shape[1]):
        missing = draw(st.sampled_from(["none", "some", "some", "all"]))
        if missing == "all":
            X[:, r] = np.nan
        elif missing == "some":
            for i in draw(st.sets(st.integers(0, len(X) - 1), max_size=4)):
                X[i, r] = np.nan
    if draw(st.booleans()):
        X, Y = np.concatenate([X, X[:3]]), np.concatenate([Y, 1 - Y[:3]])  # same rows, other labels
    return X, Y, nominal


@st.composite
def options(draw, n_features):
    """Options of a search, and costs; few values, so that many are equal."""
    costs = draw(
        st.lists(
            st.one_of(st.integers(0, 3).map(float), st.floats(0, 100)),
            min_size=n_features,
            max_size=n_features,
        )
    )
    found = {
        "use_cost": draw(st.booleans()),
        "prune": draw(st.booleans()),
        "budget": draw(st.none() | st.floats(0, 1).map(lambda share: share * sum(costs))),
        "max_features": draw(st.none() | st.integers(1, n_features)),
        "min_dependency": draw(st.none() | st.sampled_from([0.1, 0.5, 0.9, 1.0])),
    }
    return np.array(costs), found


FORMS = {"dense": np.asarray, "sparse": sp.csr_matrix, "dask": lambda X: da.from_array(X, chunks=5)}


@given(
    table=incomplete(),
    data=st.data(),
    divisor=st.sampled_from([0.5, 1.0, 1.4, 2.0]),
    radius=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    aggregate=st.sampled_from(["conjunctive", "conjunctive", "sum"]),
    form=st.sampled_from(sorted(FORMS)),
    tile=st.sampled_from([3, 7, 100]),
)
def test_searches_by_plain_loops(table, data, divisor, radius, aggregate, form, tile):
    X, Y, nominal = table
    costs, chosen = data.draw(options(X.shape[1]))
    twin = Table(X, Y, radii(X, divisor, radius), nominal, aggregate)
    subset, steps, why = reduct(twin, costs, **chosen)
    kind = np.isin(np.arange(X.shape[1]), list(nominal)).astype(np.uint8)
    selector = NRSCost(divisor, radius=radius, aggregate=aggregate, tile=tile, **chosen)
    found = selector.fit(FORMS[form](X), Y, feature_kind=kind, feature_cost=costs)
    assert found.order_[: found.n_selected_].tolist() == subset
    assert found.core_.tolist() == twin.core()
    assert found.n_positive_ == len(twin.whole())
    added = [step for step in found.path_ if "dropped" not in step["reason"]]
    assert [(s["feature"], s["positive"]) for s in added] == [(s[0], s[2]) for s in steps]
    for step, (_, significance, _) in zip(added, steps, strict=True):
        if significance is None:
            assert math.isnan(step["score"])
        else:
            assert step["score"] == pytest.approx(significance, abs=1e-12)
    begins = {
        "reached": ("the positive region of all features",),
        "dependency": ("min_dependency",),
        "core not complete": ("core not complete",),
        "limit": ("max_features",),
        "none left": ("no candidate left", "budget"),
    }
    assert found.stop_.startswith(begins[why])
    rest = [f for f in range(X.shape[1]) if f not in subset]
    constant = [f for f in rest if twin.constant[f]]
    tail = [f for f in rest if f not in constant] + constant
    assert found.order_[found.n_selected_ :].tolist() == tail


class Recorder:
    def __init__(self, earlier):
        self.earlier = earlier
        self.new = []

    def decided(self, choices, seconds):
        self.new.extend(choices)


@given(table=incomplete(), data=st.data(), aggregate=st.sampled_from(["conjunctive", "sum"]))
def test_a_search_taken_up_after_any_step_goes_on_as_if_it_had_not_stopped(table, data, aggregate):
    X, Y, _ = table
    costs, chosen = data.draw(options(X.shape[1]))
    selector = NRSCost(1.4, aggregate=aggregate, **chosen)
    whole = selector.fit(X, Y, feature_cost=costs).selection_record()
    path = [Choice.from_record(step) for step in whole["path"]]
    for k in range(1, len(path) + 1):
        recorder = Recorder(path[:k])
        with recording(recorder):
            again = selector.fit(X, Y, feature_cost=costs).selection_record()
        assert again == whole
        assert repr(recorder.new) == repr(path[k:])


def test_a_budget_that_the_core_exceeds():
    found = example(budget=3)
    assert found.n_selected_ == 0
    assert found.stop_ == (
        "core not complete, 0 of 1 feature: budget = 3, 0 % of the positive region"
    )
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 1.0
    Y = np.eye(4, dtype=np.uint8)
    found = NRSCost(budget=5.5).fit(X, Y, feature_cost=[2, 3, 4])
    assert found.core_.tolist() == [0, 1, 2]
    assert [step["feature"] for step in found.path_] == [0, 1]
    assert found.path_[0]["reason"] == "core, largest significance"
    assert found.stop_ == (
        "core not complete, 2 of 3 features: budget = 5.5, 50 % of the positive region"
    )
    found = NRSCost(max_features=2).fit(X, Y)
    assert found.n_selected_ == 2
    assert found.stop_.startswith("core not complete, 2 of 3 features: max_features = 2, ")


def test_costs_that_add_up_to_the_budget_are_within_it():
    """0.1 + 0.2 is not 0.3 in floats; by the 9 digits of a decision it is."""
    X = np.array([[0, 0, 5], [1, 0, 5], [0, 1, 5], [1, 1, 5]]) * 1.0
    found = NRSCost(budget=0.3).fit(X, np.eye(4), feature_cost=[0.1, 0.2, 0.7])
    assert found.n_selected_ == 2
    assert found.path_[-1]["cost"] == 0.1 + 0.2


def test_a_share_of_the_positive_region_may_be_enough():
    found = example(min_dependency=0.75, use_cost=False)
    assert found.path_[-1]["positive"] == 4  # a2 alone reaches more than asked
    X, Y, _ = mixed_table()
    whole, half = NRSCost().fit(X, Y), NRSCost(min_dependency=0.5).fit(X, Y)
    assert half.n_selected_ < whole.n_selected_
    assert half.path_[-1]["positive"] >= 0.5 * whole.n_positive_ > half.path_[-2]["positive"]
    assert half.stop_.startswith("min_dependency = 0.5 is reached: ")


def test_features_that_the_region_does_not_need_are_dropped():
    """Feature 0 costs nothing and is chosen first; the two that follow do without it."""
    first, high, low = [0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]
    X = np.column_stack([first, high, high, low, low]).astype(np.float64)
    costs = [0, 9, 10, 9, 10]
    kept = NRSCost().fit(X, np.eye(4), feature_cost=costs)
    assert kept.core_.tolist() == []
    assert kept.order_.tolist() == [0, 1, 3, 2, 4]
    assert kept.n_selected_ == 3
    found = NRSCost(prune=True).fit(X, np.eye(4), feature_cost=costs)
    assert found.path_[:3] == kept.path_
    assert found.path_[3] == {
        "step": 3,
        "feature": 0,
        "score": pytest.approx(math.nan, nan_ok=True),
        "reason": "dropped: the positive region stays as it is",
        "cost": 18.0,
        "positive": 4,
        "stop": kept.stop_,
    }
    assert found.order_.tolist() == [1, 3, 0, 2, 4]
    assert found.support_.tolist() == [False, True, False, True, False]
    assert found.stop_ == kept.stop_
    assert found.scores_[0] == kept.scores_[0]


def test_nothing_to_separate():
    """Everybody carries the same labels: no feature is needed."""
    X, Y, _ = mixed_table(n=30, d=6)
    for labels in (np.ones_like(Y), np.zeros_like(Y)):
        found = NRSCost().fit(X, labels)
        assert found.n_selected_ == 0
        assert not found.support_.any()
        assert found.stop_.startswith("the positive region of all features is reached: 30 rows")


def test_number_of_features_to_keep():
    X, Y, _ = mixed_table()
    own = NRSCost().fit(X, Y)
    assert own.n_selected_ == own.support_.sum() == len(own.path_)
    more = NRSCost(n_features_to_select=80).fit(X, Y)
    assert more.order_.tolist() == own.order_.tolist()
    assert more.support_.sum() == 80
    np.testing.assert_array_equal(own.transform(X), X[:, np.flatnonzero(own.support_)])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"radius_divisor": 0}, "radius_divisor = 0: expected a positive number"),
        ({"radius": -1.0}, "radius = -1.0: expected a number"),
        ({"radius": "wide"}, "radius = 'wide': expected a number"),
        ({"use_cost": "no"}, "use_cost = 'no': expected true or false"),
        ({"budget": -2}, "budget = -2: expected a number, not negative"),
        ({"max_features": 0}, "max_features = 0: expected a whole number"),
        ({"min_dependency": 1.5}, "min_dependency = 1.5: expected a share"),
        ({"aggregate": "max"}, "aggregate = 'max': expected one of 'conjunctive', 'sum'"),
        ({"radius": [1.0, 2.0]}, "radius has 2 values; X has 5 features"),
    ],
)
def test_impossible_parameters(wrong, said):
    with pytest.raises(InputError, match="^" + said.replace("(", r"\(")):
        NRSCost(**wrong).fit(EXAMPLE_X, EXAMPLE_Y)


def test_costs_that_are_needed_or_no_numbers():
    with pytest.raises(InputError, match="budget = 5: the features have no costs"):
        NRSCost(budget=5).fit(EXAMPLE_X, EXAMPLE_Y)
    with pytest.raises(InputError, match="feature_cost holds values that are not finite"):
        NRSCost().fit(EXAMPLE_X, EXAMPLE_Y, feature_cost=[1, 2, 3, 4, np.inf])
    with pytest.raises(InputError, match=r"feature_cost adds up to more than 1\.8e308"):
        NRSCost().fit(EXAMPLE_X, EXAMPLE_Y, feature_cost=[1e308] * 5)
