"""Measures against the plain twins, against scikit-learn, and by their properties."""

import math
import warnings
from itertools import pairwise

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as skm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from mlfs_dask import metrics
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate.splits import kfold_repeats
from mlfs_dask.kernels import metrics as kernels
from reference import metrics as twin

CONVENTIONS = ("default", "mulan", "zhang", "sklearn")
NAMES = tuple(metrics.METRICS)
RANKING = ("one_error", "coverage", "ranking_loss", "average_precision")


@st.composite
def problems(draw, min_labels=1, ties=True, weighted=True):
    """(Y_true, scores, Y_pred, weights or None): few values, so ties and empty rows abound."""
    shape = (draw(st.integers(1, 9)), draw(st.integers(min_labels, 6)))
    binary = hnp.arrays(np.uint8, shape, elements=st.integers(0, 1))
    levels = st.integers(-2, 2) if ties else st.integers(-(10**9), 10**9)
    scores = draw(hnp.arrays(np.float64, shape, elements=levels.map(float), unique=not ties))
    weights = None
    if weighted and draw(st.booleans()):
        values = st.sampled_from([0.0, 0.5, 1.0, 3.0])
        weights = draw(hnp.arrays(np.float64, shape[:1], elements=values).filter(np.any))
    return draw(binary), scores, draw(binary), weights


def agree(score, value, n_scored):
    assert score.n_scored == n_scored
    if value is None:
        assert math.isnan(score.value)
    else:
        assert score.value == pytest.approx(value, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("conventions", CONVENTIONS)
@given(problem=problems())
def test_all_measures_equal_their_twins(conventions, problem):
    truth, scores, decided, weights = problem
    found = metrics.score_all(NAMES, truth, scores, decided, conventions, sample_weight=weights)
    assert list(found) == list(NAMES)
    for name, score in found.items():
        expected = twin.score(
            name,
            truth.tolist(),
            scores.tolist(),
            decided.tolist(),
            conventions,
            None if weights is None else weights.tolist(),
        )
        agree(score, *expected)


def _sklearn(truth, scores, decided, weights):
    """scikit-learn's own values, its defaults for empty denominators."""
    kw = {"sample_weight": weights}
    found = {
        "hamming_loss": skm.hamming_loss(truth, decided, **kw),
        "subset_accuracy": skm.accuracy_score(truth, decided, **kw),
        "accuracy": skm.jaccard_score(truth, decided, average="samples", zero_division=0, **kw),
        "coverage": skm.coverage_error(truth, scores, **kw),
        "ranking_loss": skm.label_ranking_loss(truth, scores, **kw),
        "average_precision": skm.label_ranking_average_precision_score(truth, scores, **kw),
    }
    for rate in ("precision", "recall", "f1"):
        for average in ("micro", "macro", "samples"):
            name = f"{rate}_{average.replace('samples', 'example')}"
            function = getattr(skm, f"{rate}_score")
            found[name] = function(truth, decided, average=average, zero_division=0, **kw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        areas = skm.roc_auc_score(truth, scores, average=None, **kw)
    defined = areas[~np.isnan(areas)]
    found["auc_macro"] = defined.mean() if len(defined) else None
    return found


@given(problem=problems(min_labels=2))
def test_sklearn_conventions_equal_scikit_learn(problem):
    truth, scores, decided, weights = problem
    expected = _sklearn(truth, scores, decided, weights)
    assert set(expected) == set(NAMES) - {"one_error"}
    found = metrics.score_all(expected, truth, scores, decided, "sklearn", sample_weight=weights)
    for name, value in expected.items():
        agree(found[name], value, found[name].n_scored)


def test_sklearn_conventions_on_a_larger_problem():
    rng = np.random.default_rng(5)
    truth = (rng.random((400, 70)) < rng.random(70) * 0.4).astype(np.uint8)
    scores = np.round(rng.random(truth.shape), 1)
    decided = (scores > 0.5).astype(np.uint8)
    expected = _sklearn(truth, scores, decided, None)
    found = metrics.score_all(expected, truth, scores, decided, "sklearn")
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-12), name


@given(problem=problems(min_labels=2, ties=False, weighted=False))
def test_without_ties_and_degenerate_rows_all_conventions_agree(problem):
    truth, scores, _, _ = problem
    truth[:, 0], truth[:, 1] = 1, 0
    found = {c: metrics.score_all(RANKING, truth, scores, conventions=c) for c in CONVENTIONS}
    assert found["mulan"] == found["default"] == found["zhang"]
    for name in ("one_error", "ranking_loss", "average_precision"):
        agree(found["sklearn"][name], found["default"][name].value, len(truth))
    plus_one = found["default"]["coverage"].value + 1  # the documented relation
    agree(found["sklearn"]["coverage"], plus_one, len(truth))


@pytest.mark.parametrize("conventions", CONVENTIONS)
@given(problem=problems(weighted=False), seed=st.integers(0, 99))
def test_no_bit_depends_on_the_order_of_rows_or_the_scale_of_scores(conventions, problem, seed):
    truth, scores, decided, _ = problem
    rows = np.random.default_rng(seed).permutation(len(truth))
    found = metrics.score_all(NAMES, truth, scores, decided, conventions)
    moved = metrics.score_all(
        NAMES, truth[rows], np.exp(scores[rows]) - 7.0, decided[rows], conventions
    )
    np.testing.assert_array_equal(list(moved.values()), list(found.values()))


def test_one_reading_of_unlabelled_rows():
    """Average precision and its loss are means over the same rows."""
    truth = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0]])
    scores = np.array([[0.1, 0.2, 0.3], [0.9, 0.5, 0.1], [0.2, 0.1, 0.3]])
    for conventions in CONVENTIONS:
        values = [
            twin.average_precision(t, s, conventions)
            for t, s in zip(truth.tolist(), scores.tolist(), strict=True)
        ]
        losses = [1 - value for value in values if value is not None]
        score = metrics.score_all(["average_precision"], truth, scores, None, conventions)
        assert score["average_precision"].n_scored == len(losses)
        assert score["average_precision"].value == pytest.approx(1 - sum(losses) / len(losses))


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [
        ([0.2, 0.9, 0.5], [3, 1, 2]),
        ([0.1, 0.4, 0.2, 0.3], [4, 1, 3, 2]),  # not its own inverse: the order is 1, 3, 2, 0
        ([0.5, 0.7, 0.5, 0.5], [4, 1, 3, 2]),  # ties: the higher index ranks better
    ],
)
def test_ranks_are_ranks_not_an_order(scores, ranks):
    """With one relevant label, coverage is its rank - 1 and precision 1 / its rank."""
    for label, rank in enumerate(ranks):
        truth = np.zeros((1, len(scores)), dtype=np.uint8)
        truth[0, label] = 1
        assert metrics.coverage(truth, [scores]) == rank - 1
        assert metrics.average_precision(truth, [scores]) == 1 / rank
        assert metrics.ranking_loss(truth, [scores], "mulan") == (rank - 1) / (len(scores) - 1)
        assert twin.strict_rank(scores, label) == rank


@pytest.mark.parametrize("conventions", CONVENTIONS)
def test_one_class_folds_give_a_number_or_a_stated_undefined(conventions):
    """7 rows in 5 folds, one label with one class and one with a single positive."""
    truth = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [1, 0], [1, 0], [1, 0]])
    for fold in kfold_repeats(7, 5, seed=3):
        part = truth[fold.test]
        found = metrics.score_all(NAMES, part, part * 0.5, part, conventions)
        for score in found.values():
            assert math.isnan(score.value) == (score.n_scored == 0)
        assert found["f1_macro"].n_scored == 2
        assert 0.0 <= found["f1_macro"].value <= 1.0


def test_values_per_label_are_distinct_and_macro_is_their_mean():
    """By hand, tp fp fn of the labels are 3 0 0, 1 1 1 and 1 0 1."""
    truth = [[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 1]]
    decided = [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]]
    for name, expected in {
        "f1_macro": [1.0, 0.5, 2 / 3],
        "precision_macro": [1.0, 0.5, 1.0],
        "recall_macro": [1.0, 0.5, 0.5],
    }.items():
        values = metrics.per_label(name, truth, decided)
        np.testing.assert_allclose(values, expected, rtol=1e-15)
        assert metrics.METRICS[name].function(truth, decided) == pytest.approx(values.mean())


def test_areas_per_label_mark_the_constant_one():
    """A label without negatives has no area; the mean is over the others."""
    truth = [[1, 1, 0], [1, 0, 1], [1, 0, 0]]
    scores = [[0.3, 0.9, 0.1], [0.2, 0.5, 0.1], [0.1, 0.7, 0.4]]
    areas = metrics.per_label("auc_macro", truth, scores)
    np.testing.assert_array_equal(areas, [np.nan, 1.0, 0.25])
    assert metrics.auc_macro(truth, scores) == 0.625


def test_values_per_label_are_refused_for_measures_over_rows():
    with pytest.raises(InputError, match=r"no values per label.*\n.*f1_macro"):
        metrics.per_label("hamming_loss", [[1]], [[1]])


def test_infinite_scores_are_ordered():
    truth, scores = [[1, 0, 0]], [[np.inf, -np.inf, np.inf]]
    assert metrics.coverage(truth, scores) == 1.0
    assert metrics.ranking_loss(truth, scores) == 0.5
    assert metrics.auc_macro([[1], [0]], [[np.inf], [-np.inf]]) == 1.0


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csc_array, list])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, np.bool_])
def test_any_container_and_number_type_of_labels(convert, dtype):
    truth = np.array([[1, 0, 1], [0, 0, 1]], dtype=dtype)
    decided = np.array([[1, 0, 0], [0, 1, 1]], dtype=dtype)
    assert metrics.hamming_loss(convert(truth), convert(decided)) == 1 / 3
    assert metrics.f1_micro(convert(truth), convert(decided)) == 2 / 3


def test_input_is_not_changed():
    truth = np.array([[1, 0], [0, 1]], dtype=np.uint8)
    scores = np.array([[0.2, 0.4], [0.1, 0.3]])
    before = truth.copy(), scores.copy()
    metrics.score_all(NAMES, truth, scores, truth)
    np.testing.assert_array_equal(truth, before[0])
    np.testing.assert_array_equal(scores, before[1])


@pytest.mark.parametrize(
    ("truth", "message", "row"),
    [
        ([[1, 0], [1], [0, 1]], r"ragged: row 1 \(counted from 0\) has 1 entry", 1),
        ([[1, 0], [0, 1], 1], "ragged: row 2 .* has no length", 2),
        ([[1, 0], [0, 2], [0, 1]], "row 1, label 1 .* is 2", 1),
        ([[1, 0], [0, 1], [-1, 1]], "row 2, label 0 .* is -1", 2),
        ([[1.0, 0.0], [0.5, 1.0], [0.0, 1.0]], "row 1, label 0 .* is 0.5", 1),
        ([[1.0, 0.0], [0.0, 1.0], [0.0, np.nan]], "row 2, label 1 .* is nan", 2),
        ([["1", "0"], ["1", "1"], ["0", "0"]], "row 0, label 0 .* is 1", 0),
        (np.array([[1, 0], [0, 0], [0, 2]], dtype=np.uint8), "row 2, label 1 .* is 2", 2),
    ],
)
def test_labels_that_are_not_binary_are_refused_with_the_row(truth, message, row):
    """Ragged or non-binary labels, as truth and as prediction."""
    fine = np.zeros((3, 2))
    for arguments in ((truth, fine), (fine, truth)):
        with pytest.raises(InputError, match=message) as caught:
            metrics.hamming_loss(*arguments)
        assert caught.value.facts["row"] == row
        assert ("Y_true" if arguments[0] is truth else "Y_pred") in str(caught.value)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1, 0.2], [np.nan, np.nan]], r"NaN; row 1, label 0 \(counted from 0\) is, and 1 more"),
        ([[0.1, 0.2], [0.1]], "scores is ragged: row 1"),
        ([["a", "b"], ["c", "d"]], "scores must be real numbers"),
        ([[0.1], [0.2]], r"Y_true has shape \(2, 2\), scores has shape \(2, 1\)"),
        ([0.1, 0.2], "scores must have two dimensions"),
        (None, "needs scores"),
    ],
)
def test_impossible_scores_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        metrics.one_error([[1, 0], [0, 1]], scores)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"shape \(1,\), expected one weight per row: \(2,\)"),
        ([1.0, -1.0], "row 1 is -1.0"),
        ([np.nan, 1.0], "row 0 is nan"),
        ([1.0, np.inf], "row 1 is inf"),
        ([0.0, 0.0], "0 for every row"),
    ],
)
def test_impossible_weights_are_refused(weight, message):
    with pytest.raises(InputError, match=message):
        metrics.hamming_loss([[1], [0]], [[1], [0]], sample_weight=weight)


def test_other_refusals():
    with pytest.raises(InputError, match=r"two dimensions.*\n.*n_samples, 1"):
        metrics.hamming_loss([1, 0], [1, 0])
    with pytest.raises(InputError, match=r"empty: shape \(0, 3\)"):
        metrics.hamming_loss(np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(InputError, match=r"'Mulan' is unknown.*\n.*mulan"):
        metrics.coverage([[1]], [[1]], "Mulan")
    with pytest.raises(InputError, match="Did you mean 'ranking_loss'"):
        metrics.score_all(["ranking_los"], [[1]], [[1]], [[1]])
    with pytest.raises(InputError, match="f1_macro, accuracy need decisions"):
        metrics.score_all(["f1_macro", "coverage", "accuracy"], [[1]], [[1]])
    with pytest.raises(InputError, match="coverage needs scores"):
        metrics.score_all(["f1_macro", "coverage"], [[1]], None, [[1]])
    with pytest.raises(InputError, match="needs decisions"):
        metrics.f1_macro([[1]], None)


def test_ranks_are_computed_once(monkeypatch):
    calls = []
    real = kernels.row_facts

    def counted(truth, scores):
        calls.append(truth.shape)
        return real(truth, scores)

    monkeypatch.setattr(kernels, "row_facts", counted)
    metrics.score_all(RANKING, [[1, 0], [0, 1]], [[0.2, 0.1], [0.3, 0.1]])
    metrics.score_all(["hamming_loss"], [[1, 0]], [[0.2, 0.1]], [[1, 0]])
    assert calls == [(2, 2)]


def test_the_table_says_the_truth_about_each_measure():
    """Better predictions score better in the stated direction; n_scored counts what it says."""
    truth = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]])
    noise = np.random.default_rng(0).normal(size=truth.shape)
    for metric in metrics.METRICS.values():
        values = []
        for share in (0.0, 0.7, 3.0):
            scores = truth + share * noise
            found = metrics.score_all([metric.name], truth, scores, (scores > 0.5).astype(int))
            values.append(found[metric.name].value)
            assert found[metric.name].n_scored == (5 if metric.scored == "rows" else 3)
        signed = values if metric.higher_is_better else [-value for value in values]
        assert all(better >= worse for better, worse in pairwise(signed))
        assert signed[0] > signed[-1]
        assert metric.summary.endswith(".")
        assert metric.formula
