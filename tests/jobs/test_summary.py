"""Means over folds, points along curves, enough features, agreement of folds, sessions."""

import math

import pytest
from made_runs import MadeRun, failed, method, selection, start

from mlfs_dask.jobs.agreement import agreement, counts_to_compare, n_ranked
from mlfs_dask.jobs.rundir import RunFolder
from mlfs_dask.jobs.sessions import read_sessions
from mlfs_dask.jobs.summary import curve_points, enough_features, group_curves


@pytest.fixture
def made():
    return MadeRun()


def test_points_are_means_over_the_folds_of_all_repeats(made, tmp_path):
    values = iter(range(10_000))
    made.metrics, made.select = ["hamming_loss"], [method("spec", "SPEC")]
    made.counts, made.baseline = [2, 20], False
    made.value = lambda *_: float(next(values))
    points = curve_points(made.write(tmp_path))
    assert [(p.n_features, p.share, p.cost_share) for p in points] == [
        (2, 0.1, None),
        (20, 1, None),
    ]
    mean = points[1].means["hamming_loss"]  # 1, 3, ..., 11
    assert (mean.value, mean.folds) == (6, 6)
    assert mean.spread == pytest.approx(math.sqrt(14))
    assert mean.standard_error == pytest.approx(math.sqrt(14 / 6))


def test_subsets_of_their_own_sizes_are_one_point(made, tmp_path):
    made.select, made.metrics = [method("nrs-cost", "NRS")], ["hamming_loss"]
    made.has_costs = True
    run = made.write(tmp_path)
    rows = run.evaluation[run.evaluation["selector"] == "NRS"]
    kept = rows[rows["n_features"] == 5].copy()
    kept["n_features"] = [4, 5, 6, 4, 5, 9]
    kept["share"] = kept["n_features"] / 20
    kept["cost_share"] = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]
    run.__dict__["evaluation"] = kept
    (point,) = curve_points(run)
    assert (point.n_features, point.share) == (5.5, pytest.approx(0.275))
    assert point.cost_share == pytest.approx(0.2)
    assert point.means["hamming_loss"].folds == 6


def test_folds_with_different_numbers_of_points_are_matched_by_size(made, tmp_path):
    made.select, made.metrics = [method("spec", "SPEC")], ["hamming_loss"]
    run = made.write(tmp_path)
    rows = run.evaluation[run.evaluation["selector"] == "SPEC"]
    lost = (rows["fold"] == 0) & (rows["n_features"] == 2)
    run.__dict__["evaluation"] = rows[~lost]
    assert [(p.n_features, p.means["hamming_loss"].folds) for p in curve_points(run)] == [
        (2, 4),
        (5, 6),
        (10, 6),
        (20, 6),
    ]


def test_enough_is_the_fewest_within_one_standard_error_of_the_best(made, tmp_path):
    curves = group_curves(curve_points(made.write(tmp_path)))["songs", "ML-kNN"]
    for selector in ("SPEC", "MLLAP"):
        for metric in ("hamming_loss", "average_precision"):
            found = enough_features(curves[selector], metric)
            assert (found.best.selector, found.metric) == (selector, metric)
            assert found.best.n_features == 10
            assert found.enough.n_features <= 10


def test_a_measure_defined_nowhere_has_no_answer(made, tmp_path):
    made.value = lambda *_: None
    curves = group_curves(curve_points(made.write(tmp_path)))["songs", "ML-kNN"]
    assert enough_features(curves["SPEC"], "hamming_loss") is None


def ranking(*first, d=6, **others):
    order = [*first, *(f for f in range(d) if f not in first)]
    return selection(order, [1.0] * d, **others)


def test_agreement_of_rankings_by_hand():
    found = agreement([ranking(0, 1), ranking(1, 2), ranking(1, 0)], 6, [1, 2, 6])
    assert found.own is None
    one, two, six = found.at
    assert one.jaccard == pytest.approx(1 / 3)
    assert one.kuncheva == pytest.approx((-1 / 5 - 1 / 5 + 1) / 3)  # r = 0: (0 - 1) / (1 * 5)
    assert two.jaccard == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert two.kuncheva == pytest.approx((2 * (6 - 4) / 8 + 1) / 3)
    assert (six.jaccard, six.kuncheva) == (1, None)


def test_agreement_of_own_subsets_by_hand():
    folds = [ranking(0, 1, 2, support=[0, 1, 2]), ranking(1, 2, support=[1, 2])]
    found = agreement(folds, 6, [1, 2, 3])
    assert [at.k for at in found.at] == [1, 2]  # the third is no choice of the second
    assert (found.own.smallest, found.own.mean, found.own.largest) == (2, 2.5, 3)
    assert found.own.jaccard == pytest.approx(2 / 3)


def test_agreement_per_problem_is_the_mean_over_problems():
    def both(first, second):
        records = [ranking(*first), ranking(*second)]
        return {key: [record[key] for record in records] for key in ("order", "scores", "support")}

    folds = [
        selection(**both((0, 1), (3, 4)), problems=[[0], [1]]),
        selection(**both((0, 1), (4, 5)), problems=[[0], [1]]),
    ]
    found = agreement(folds, 6, [2])
    assert found.problems == 2
    assert found.at[0].jaccard == pytest.approx((1 + 1 / 3) / 2)
    folds[1]["problems"] = [[1], [0]]
    assert agreement(folds, 6, [2]) is None


def test_what_cannot_be_compared_has_no_agreement():
    assert agreement([ranking(0)], 6, [2]) is None
    none = selection([], [], problems=[])
    assert agreement([none, none], 6, [2]) is None


def test_features_without_a_score_are_not_ranked():
    record = ranking(0, 1)
    record["scores"] = [0.5, 0.4, 0.3, None, None, None]
    assert n_ranked(record) == 3
    record["scores"] = [None] * 6
    assert n_ranked(record) == 6
    asked = ranking(0, 1, support=[0, 1], params={"n_features_to_select": 2})
    assert n_ranked(asked) == 6


def test_counts_to_compare_are_a_few_of_those_measured(made, tmp_path):
    made.counts = list(range(1, 21))
    points = curve_points(made.write(tmp_path))
    assert counts_to_compare(points, 20) == [1, 5, 10, 15, 19]
    assert counts_to_compare([], 20) == [1, 2, 4, 10]
    assert counts_to_compare([], 1) == []


def test_sessions_are_counted_and_their_ends_told(made, tmp_path):
    made.events = [
        start(9),
        ("unit", {"unit": "u"}),
        ("step", {"unit": "v", "decided": [{}, {}]}),
        ("stop", {"signal": "SIGTERM", "cancelled": False}),
        start(9, done=1, workers=2),
        failed(1, "cannot"),
        start(9, done=1),
        ("stop", {"signal": None, "cancelled": True}),
        start(9, done=1),
        ("stop", {"error": "MachineError", "message": "the disk is full"}),
        start(9, done=1),
        ("finish", {"state": "done"}),
    ]
    found = read_sessions(RunFolder(made.write(tmp_path).path))
    assert [session.end for session in found] == [
        "stopped by SIGTERM",
        "",
        "cancelled",
        "MachineError: the disk is full",
        "done",
    ]
    first, second = found[:2]
    assert (first.done, first.steps, first.failed, first.done_before) == (1, 2, 0, 0)
    assert (second.done, second.failed, second.done_before, second.workers) == (0, 1, 1, 2)
    assert all(session.seconds >= 0 for session in found)
