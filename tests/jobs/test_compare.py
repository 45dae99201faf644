"""Comparisons: from rows of evaluation.csv to tables, and from tables to tests."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.jobs.compare import Names, compare_evaluation
from mlfs_dask.jobs.compare_spec import Compare, PointAt, default_post_hoc, post_hoc_problem
from mlfs_dask.jobs.compare_table import Columns, Values, has_point, has_several_points
from reference import stats as twin

DTYPE = [
    ("dataset", "U20"),
    ("selector", "U20"),
    ("classifier", "U20"),
    ("repeat", np.int64),
    ("fold", np.int64),
    ("n_features", float),
    ("share", float),
    ("cost_share", float),
    ("metric", "U20"),
    ("value", float),
    ("n_scored", np.int64),
]
NAN = math.nan
SELECTORS = Columns("selectors", "knn")


def rows(*given, metric="hamming_loss", d=10):
    """Rows from (data set, selector, fold, number of features, value), judged by knn."""
    return np.array(
        [
            (data, selector, "knn", 0, fold, n, n / d, NAN, metric, value, 5)
            for data, selector, fold, n, value in given
        ],
        dtype=DTYPE,
    )


def table(evaluation, at, methods=("A", "B"), datasets=("x",), higher=False):
    values = Values(evaluation, "hamming_loss", higher_is_better=higher)
    return values.over_datasets(datasets, methods, SELECTORS, at)


TWO_POINTS = rows(
    ("x", "A", 0, 2, 0.1),
    ("x", "A", 0, 5, 0.4),
    ("x", "A", 1, 2, 0.3),
    ("x", "A", 1, 5, 0.2),
    ("x", "B", 0, 2, 0.7),
    ("x", "B", 0, 5, 0.1),
    ("x", "B", 1, 2, 0.9),
    ("x", "B", 1, 5, 0.2),
)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (PointAt(count=2), [0.2, 0.8]),
        (PointAt(fraction=0.5), [0.3, 0.15]),
        (PointAt(fraction=0.45), [0.3, 0.15]),  # 4.5 of 10, half up
        (PointAt(count=3), [NAN, NAN]),
        ("best", [0.2, 0.15]),
        ("selected", [NAN, NAN]),
        (None, [NAN, NAN]),
    ],
)
def test_the_point_decides_the_cell(at, expected):
    np.testing.assert_array_equal(table(TWO_POINTS, at).values, [expected])


def test_the_best_point_has_the_fewest_features_of_equal_means():
    evaluation = rows(
        ("x", "A", 0, 2, 0.1), ("x", "A", 1, 2, 0.3), ("x", "A", 0, 5, 0.2), ("x", "A", 1, 5, 0.2)
    )
    values = Values(evaluation, "hamming_loss", higher_is_better=True)
    folds = values.over_folds("x", ["A"], SELECTORS, "best")
    assert folds.values.tolist() == [[0.1], [0.3]]
    assert folds.rows == ("fold 0", "fold 1")


def test_best_points_follow_the_direction():
    assert table(TWO_POINTS, "best", higher=True).values.tolist() == [[0.3, 0.8]]


def test_subsets_of_their_own_size_and_the_baseline_have_one_point():
    evaluation = rows(
        ("x", "A", 0, 3, 0.1),
        ("x", "A", 1, 4, 0.2),
        ("x", "all", 0, 10, 0.5),
        ("x", "all", 1, 10, 0.7),
    )
    for at in ("selected", "best", None):
        found = table(evaluation, at, methods=("A", "all"))
        np.testing.assert_allclose(found.values, [[0.15, 0.6]])
    # The baseline has all features wherever the others are looked at.
    at_three = table(evaluation, PointAt(count=3), methods=("A", "all"))
    np.testing.assert_array_equal(at_three.values, [[NAN, 0.6]])


def test_cells_are_missing_unless_every_fold_has_the_point():
    evaluation = rows(
        ("x", "A", 0, 2, 0.1),
        ("x", "A", 1, 2, 0.3),
        ("x", "B", 0, 2, 0.2),  # its second fold failed
        ("y", "A", 0, 2, 0.5),
        ("y", "B", 0, 2, NAN),  # undefined
        ("z", "A", 0, 2, NAN),
        ("z", "A", 1, 2, 0.5),
        ("z", "B", 0, 2, 0.6),
        ("z", "B", 1, 2, 0.8),
    )
    found = table(evaluation, PointAt(count=2), methods=("A", "B", "C"), datasets=("x", "y", "z"))
    np.testing.assert_array_equal(found.values, [[0.2, NAN], [0.5, NAN], [0.5, 0.7]])
    assert (found.methods, found.absent) == (("A", "B"), ("C",))
    values = Values(evaluation, "hamming_loss", higher_is_better=False)
    folds = values.over_folds("z", ["A", "B"], SELECTORS, PointAt(count=2))
    np.testing.assert_array_equal(folds.values, [[NAN, 0.6], [0.5, 0.8]])


def test_means_equal_but_for_rounding_errors_are_ties():
    shuffled = [0.1, 0.2, 0.3, 0.7, 0.9, 0.11]
    evaluation = rows(
        *(("x", "A", i, 2, v) for i, v in enumerate(shuffled)),
        *(("x", "B", i, 2, v + (-1) ** i * 1e-15) for i, v in enumerate(shuffled[::-1])),
    )
    ((a, b),) = table(evaluation, "best").values.tolist()
    assert a == b


def test_points_of_an_evaluation():
    assert has_several_points(TWO_POINTS)
    assert not has_several_points(rows(("x", "A", 0, 2, 0.1), ("x", "A", 1, 5, 0.1)))
    assert has_point(TWO_POINTS, PointAt(fraction=0.2))
    assert not has_point(TWO_POINTS, PointAt(fraction=0.3))
    assert has_point(TWO_POINTS, PointAt(count=5))


def test_rows_of_repeats_are_told_apart():
    evaluation = TWO_POINTS.copy()
    evaluation["repeat"] = evaluation["fold"]
    values = Values(evaluation, "hamming_loss", higher_is_better=False)
    found = values.over_folds("x", ["A", "B"], SELECTORS, "best")
    assert found.rows == ("repeat 0, fold 0", "repeat 1, fold 1")


# ---------------------------------------------------------------------------- the tests


def study(seed=0, n_data=6, selectors=("A", "B", "C"), metrics=("hamming_loss", "accuracy")):
    rng = np.random.default_rng(seed)
    parts = [
        rows(
            *(
                (f"d{i}", s, fold, n, round(rng.random() + j / 2, 3))
                for i in range(n_data)
                for j, s in enumerate(selectors)
                for fold in range(3)
                for n in ((2, 5) if s != "all" else (10,))
            ),
            metric=metric,
        )
        for metric in metrics
    ]
    return np.concatenate(parts)


NAMES = Names([f"d{i}" for i in range(6)], ["A", "B", "C"], ["knn"])


def compare(**keys):
    keys = {
        "over": "datasets",
        "at": PointAt(count=2),
        "metrics": ("hamming_loss", "accuracy"),
        **keys,
    }
    post_hoc = default_post_hoc(keys.get("test", "friedman"), keys.get("control"))
    return Compare(**{"post_hoc": post_hoc, **keys})


@given(seed=st.integers(0, 1000))
def test_a_comparison_is_what_the_twins_say(seed):
    found = compare_evaluation(study(seed), compare(), NAMES)
    assert [c["metric"] for c in found] == ["hamming_loss", "accuracy"]
    for one in found:
        assert (one["classifier"], one["selector"], one["dataset"]) == ("knn", None, None)
        averages = twin.average_ranks(one["values"], one["higher_is_better"])
        assert one["average_ranks"] == pytest.approx(averages)
        assert one["ranks"] == [
            twin.ranks_of(row, one["higher_is_better"]) for row in one["values"]
        ]
        chi_square, f = twin.friedman(averages, 6)
        assert one["test"]["chi_square"] == pytest.approx(chi_square)
        if math.isinf(f):
            assert one["test"]["f_statistic"] is None
        else:
            assert one["test"]["f_statistic"] == pytest.approx(f)
        limit = one["post_hoc"]["critical_difference"]
        assert {frozenset(g) for g in one["post_hoc"]["groups"]} == {
            frozenset("ABC"[i] for i in group) for group in twin.maximal_groups(averages, limit)
        }
        assert json.loads(json.dumps(one, allow_nan=False)) == one


@pytest.mark.parametrize(
    ("keys", "name", "pairs"),
    [
        ({}, "nemenyi", 3),
        ({"control": "B"}, "bonferroni-dunn", 2),
        ({"post_hoc": "holm"}, "holm", 3),
        ({"post_hoc": "holm", "control": "B"}, "holm", 2),
        ({"test": "wilcoxon"}, "holm", 3),
        ({"test": "wilcoxon", "control": "B"}, "holm", 2),
    ],
)
def test_every_combination_of_tests(keys, name, pairs):
    found = compare_evaluation(study(), compare(**keys), NAMES)
    for one in found:
        assert one["problem"] is None
        assert one["test"]["name"] == keys.get("test", "friedman")
        assert one["post_hoc"]["name"] == name
        assert len(one["post_hoc"]["pairs"]) == pairs
        assert one["post_hoc"]["control"] == keys.get("control")
        assert all(
            {"first", "second", "p_value", "better"} <= set(p) for p in one["post_hoc"]["pairs"]
        )


def test_the_baseline_joins_as_control_or_by_name():
    evaluation = study(selectors=("A", "B", "C", "all"))
    assert compare_evaluation(evaluation, compare(), NAMES)[0]["methods"] == ["A", "B", "C"]
    control = compare_evaluation(evaluation, compare(control="all"), NAMES)[0]
    assert control["methods"] == ["A", "B", "C", "all"]
    named = compare_evaluation(evaluation, compare(labels=("all", "A")), NAMES)[0]
    assert named["methods"] == ["all", "A"]


def test_classifiers_are_compared_on_each_selector_and_on_all_features():
    one, two = study(selectors=("A", "all")), study(1, selectors=("A", "all"))
    two["classifier"] = "tree"
    names = Names(NAMES.datasets, ["A"], ["knn", "tree"])
    found = compare_evaluation(
        np.concatenate([one, two]), compare(of="classifiers", metrics=("accuracy",)), names
    )
    assert [(c["selector"], c["methods"]) for c in found] == [
        ("A", ["knn", "tree"]),
        ("all", ["knn", "tree"]),
    ]


def test_folds_are_rows_of_a_test_per_data_set():
    found = compare_evaluation(study(), compare(over="folds", metrics=("accuracy",)), NAMES)
    assert [c["dataset"] for c in found] == NAMES.datasets
    assert found[0]["rows"] == ["fold 0", "fold 1", "fold 2"]


def test_missing_cells_are_told_or_their_rows_dropped():
    evaluation = study(metrics=("accuracy",))
    gone = (evaluation["dataset"] == "d3") & (evaluation["selector"] == "B")
    evaluation = evaluation[~gone]
    (refused,) = compare_evaluation(evaluation, compare(metrics=("accuracy",)), NAMES)
    assert refused["test"] is refused["ranks"] is None
    assert "'B' on 'd3'" in refused["problem"]
    assert refused["values"][3][1] is None
    keys = {"metrics": ("accuracy",), "missing": "drop"}
    (dropped,) = compare_evaluation(evaluation, compare(**keys), NAMES)
    assert dropped["problem"] is None
    assert dropped["dropped"] == ["d3"]
    assert len(dropped["ranks"]) == dropped["test"]["n_rows"] == 5


def test_a_method_without_any_result_is_named():
    names = Names(NAMES.datasets, ["A", "B", "C", "D"], ["knn"])
    found = compare_evaluation(study(), compare(), names)[0]
    assert (found["methods"], found["absent"]) == (["A", "B", "C"], ["D"])
    control = compare_evaluation(study(), compare(control="D"), names)[0]
    assert control["problem"] == "no method of the table is named 'D'"


def test_choices_that_do_not_go_together():
    assert post_hoc_problem("friedman", "nemenyi", None) is None
    assert post_hoc_problem("friedman", "holm", "A") is None
    assert post_hoc_problem("wilcoxon", "nemenyi", None)[0] == "post_hoc"
    assert post_hoc_problem("friedman", "bonferroni-dunn", None)[0] == "control"
    assert post_hoc_problem("friedman", "nemenyi", "A")[0] == "control"
