"""DML-kNN by hand: its votes, delta, equal evidence."""

import numpy as np
import pytest

from mlfs_dask.classifiers.dmlknn import DMLkNN
from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.kernels.dmlknn import count_alike, scores

PAIRS = np.array([[0.0], [0.1], [10.0], [10.1], [20.0], [20.1]])


def test_votes_by_hand():
    """Two of three training vectors are within 1 of the query's; they share one count each."""
    own = np.array([[2, 1]], dtype=np.uint8)
    around = np.array([[2, 0], [1, 1], [2, 3]], dtype=np.uint8)
    labels = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8)
    votes = np.zeros((1, 2, 2), dtype=np.int64)
    count_alike(own, around, labels, 1, votes)
    assert votes[0, 1].tolist() == [1, 1]
    assert votes[0, 0].tolist() == [0, 0]
    votes[:] = 0
    count_alike(own, around, labels, 2, votes)
    assert votes[0, 1].tolist() == [2, 1]
    assert votes[0, 0].tolist() == [0, 0]


def test_counts_of_large_neighborhoods_do_not_wrap_around():
    own, around = np.array([[0]], dtype=np.uint8), np.array([[255]], dtype=np.uint8)
    votes = np.zeros((1, 2, 1), dtype=np.int64)
    count_alike(own, around, np.array([[1]], dtype=np.uint8), 254, votes)
    assert votes.sum() == 0
    count_alike(own, around, np.array([[1]], dtype=np.uint8), 255, votes)
    assert votes.sum() == 0  # alike, but with another count of the label


def test_scores_of_five_rows_by_hand():
    """Pairs of rows that share their labels, k = 1: a row's vector is its partner's label set."""
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1]])
    fitted = DMLkNN(n_neighbors=1, delta=0).fit(PAIRS, Y)
    assert fitted.counts_.tolist() == Y.tolist()
    proba = fitted.predict_proba([[0.0]])[0]
    # Alike are rows 0 and 1; both have label 0, none has label 1.
    p1, p0 = 5 / 8 * (1 + 2) / (2 + 4), 3 / 8 * (1 + 0) / (2 + 2)
    assert proba[0] == pytest.approx(p1 / (p1 + p0), rel=1e-15)
    p1, p0 = 5 / 8 * (1 + 0) / (2 + 4), 3 / 8 * (1 + 2) / (2 + 2)
    assert proba[1] == pytest.approx(p1 / (p1 + p0), rel=1e-15)
    assert fitted.predict([[0.0]]).tolist() == [[1, 0]]
    np.testing.assert_array_equal(fitted.prior_, [5 / 8, 5 / 8])


def test_delta_is_honoured():
    """With delta = 1 rows with the other labels besides are alike too."""
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1]])
    answers = [
        DMLkNN(1, delta=delta).fit(PAIRS, Y).predict_proba([[0.0]])[0].tolist()
        for delta in (0, 1, 6)
    ]
    assert answers[0] != answers[1]
    assert answers[1] == answers[2]
    mulan = DMLkNN(1, delta=0, conventions="mulan").fit(PAIRS, Y)
    assert mulan.predict_proba([[0.0]])[0].tolist() == answers[0]


def test_from_k_on_only_the_smoothing_differs_from_mlknn():
    """s q = s (k + 1) with one label less than neighbours and one: the scores are the same."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 4)), (rng.random((60, 5)) < 0.4).astype(np.uint8)
    ours = DMLkNN(n_neighbors=4, delta=4).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(ours, MLkNN(n_neighbors=4).fit(X, Y).predict_proba(X), rtol=1e-13)


def test_equal_evidence_is_exactly_one_half():
    """(1 + n_l)(1 + V)/(q + n_l) is the same on both sides though every factor differs."""
    # n = 6, q = 2, n_l = 2: 3 (1 + V) / 4 = 5 (1 + V') / 6 with V = 9, V' = 8.
    assert scores(np.array([[8, 8], [9, 9]]), np.array([2, 2]), 6, 1.0).tolist() == [0.5, 0.5]


def test_without_smoothing_nothing_seen_scores_0():
    votes = np.array([[0, 0, 2], [0, 3, 0]])
    assert scores(votes, np.array([2, 4, 0]), 4, 0.0).tolist() == [0.0, 1.0, 0.0]


def test_scores_and_decisions_agree():
    """The label with the highest score is predicted whenever any is."""
    rng = np.random.default_rng(1)
    X, Y = rng.random((50, 3)), (rng.random((50, 4)) < 0.5).astype(np.uint8)
    fitted = DMLkNN(5, delta=2).fit(X, Y)
    proba, predicted = fitted.predict_proba(X), fitted.predict(X)
    assert proba.min() >= 0
    assert proba.max() <= 1
    best = predicted[np.arange(50), proba.argmax(axis=1)]
    np.testing.assert_array_equal(best, predicted.any(axis=1))
