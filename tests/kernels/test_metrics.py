"""The rank kernel, compiled and as plain Python, against counting ranks one by one."""

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.kernels.metrics import auc_by_label, label_auc, rank_rows, row_facts
from reference.metrics import auc, strict_rank, worst_rank


@st.composite
def problems(draw):
    shape = (draw(st.integers(0, 5)), draw(st.integers(1, 7)))
    truth = draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, 1)))
    scores = draw(hnp.arrays(np.float64, shape, elements=st.integers(0, 3).map(float)))
    return truth, scores


def _facts(truth, scores):
    relevant = np.flatnonzero(truth).tolist()
    irrelevant = np.flatnonzero(truth == 0).tolist()
    strict = {label: strict_rank(scores, label) for label in range(len(scores))}
    tied = {label: worst_rank(scores, label) for label in range(len(scores))}
    pairs = [(a, b) for a in relevant for b in irrelevant]
    counts = [
        len(relevant),
        max((strict[a] for a in relevant), default=0),
        max((tied[a] for a in relevant), default=0),
        sum(scores[a] <= scores[b] for a, b in pairs),
        sum(strict[a] > strict[b] for a, b in pairs),
    ]
    gains = [float(any(strict[a] == 1 for a in relevant))]
    for rank in (strict, tied):
        gains.append(sum(sum(rank[m] <= rank[a] for m in relevant) / rank[a] for a in relevant))
    return counts, gains


@given(problem=problems())
def test_row_facts_equal_counting(problem):
    truth, scores = problem
    counts, gains = row_facts(truth, scores)
    for i in range(len(truth)):
        expected_counts, expected_gains = _facts(truth[i], scores[i].tolist())
        assert counts[i].tolist() == expected_counts
        np.testing.assert_allclose(gains[i], expected_gains, rtol=1e-14)


@given(problem=problems())
def test_plain_python_equals_compiled(problem):
    truth, scores = problem
    counts, gains = row_facts(truth, scores)
    plain_counts, plain_gains = np.zeros_like(counts), np.zeros_like(gains)
    rank_rows.py_func(truth, scores, plain_counts, plain_gains)
    np.testing.assert_array_equal(plain_counts, counts)
    np.testing.assert_array_equal(plain_gains, gains)
    weights = np.arange(1.0, 1.0 + len(truth))
    plain = np.empty(truth.shape[1])
    label_auc.py_func(np.ascontiguousarray(truth.T), np.ascontiguousarray(scores.T), weights, plain)
    np.testing.assert_array_equal(plain, auc_by_label(truth, scores, weights))


@given(problem=problems())
def test_areas_equal_counting_pairs(problem):
    truth, scores = problem
    found = auc_by_label(truth, scores, np.ones(len(truth)))
    for j in range(truth.shape[1]):
        expected = auc(truth[:, j].tolist(), scores[:, j].tolist(), [1.0] * len(truth))
        np.testing.assert_equal(found[j], np.nan if expected is None else expected)


def test_memory_order_does_not_matter():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, (30, 8)).astype(np.uint8)
    scores = rng.integers(0, 5, (30, 8)).astype(np.float64)
    for one, other in zip(
        row_facts(truth, scores),
        row_facts(np.asfortranarray(truth), np.asfortranarray(scores)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
