"""Hand-made cases of br, lp, rakel and clr: faults that other software had or has."""

import numpy as np
import pytest

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.clr import CalibratedLabelRanking
from mlfs_dask.classifiers.lp import LabelPowerset
from mlfs_dask.classifiers.rakel import RAkEL
from mlfs_dask.graphs.source import as_source

NAMES = ["br", "lp", "rakel", "clr"]
LINE = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])


def nearest(name, **options):
    """A classifier whose models answer as the nearest row does."""
    return get_classifier(name, base="knn", base_params={"n_neighbors": 1}, **options)


def test_more_models_than_subsets_are_as_many_as_there_are() -> None:
    Y = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 2)
    classifier = RAkEL("tree", labelset_size=3, n_models=6)
    assert classifier.fit(LINE, Y).labelsets_ == ((0, 1, 2),)
    (outcome,) = classifier.outcomes(as_source(LINE, Y), as_source(LINE), np.arange(1), [1])
    assert "n_models = 6, but there is 1 subset" in outcome.notes


@pytest.mark.parametrize("name", NAMES)
def test_columns_come_in_the_order_of_the_labels(name) -> None:
    """Each label is where it is learned: the nearest row has the labels of its own."""
    Y = np.array([[0, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 1, 0, 0]])
    for columns in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        found = nearest(name).fit(LINE[:4], Y[:, columns]).predict(LINE[:4])
        if name != "clr":
            assert found.tolist() == Y[:, columns].tolist()
        else:
            assert np.all(found >= Y[:, columns])


@pytest.mark.parametrize("name", NAMES)
def test_a_single_label_works(name) -> None:
    y = np.array([0, 0, 0, 1, 1, 1])
    for labels in (y, y[:, None]):
        fitted = nearest(name).fit(LINE, labels)
        assert fitted.predict(LINE).ravel().tolist() == y.tolist()
        assert fitted.predict_proba(LINE).shape == (6, 1)


@pytest.mark.parametrize("base", ["c45", "knn", "logistic", "naive-bayes", "svm-rbf", "tree"])
@pytest.mark.parametrize("name", NAMES)
def test_constant_labels_are_predicted_as_they_are(name, base) -> None:
    Y = np.column_stack([np.ones(6), np.zeros(6), [0, 0, 0, 1, 1, 1], np.ones(6)])
    fitted = get_classifier(name, base=base).fit(LINE, Y)
    assert fitted.predict([[-9.0], [99.0]])[:, [0, 1, 3]].tolist() == [[1, 0, 1]] * 2
    every = get_classifier(name, base=base).fit(LINE, np.zeros((6, 2)))
    assert every.predict(LINE).sum() == 0
    one = get_classifier(name, base=base).fit(LINE[:1], [[1, 0, 1, 0]])
    assert one.predict([[7.0]]).tolist() == [[1, 0, 1, 0]]


def test_votes_by_hand() -> None:
    """Rows 0..5; label 0 on the left, 1 in the middle, 2 on the right, all alone: q = 3.

    Each pair is won by the label on the query's side, each calibration says the truth.
    """
    Y = np.repeat(np.eye(3), 2, axis=0)
    fitted = nearest("clr").fit(LINE, Y)
    # At 0: (0,1) -> 0, (0,2) -> 0, (1,2) -> 1; calibrations: 0 present, 1 and 2 absent.
    assert (3 * fitted.predict_proba([[0.0]])).tolist() == [[3, 1, 0]]
    # At 5: (0,1) -> 1, (0,2) -> 2, (1,2) -> 2, calibration 2.
    assert (3 * fitted.predict_proba([[5.0]])).tolist() == [[0, 1, 3]]
    # The virtual label has two votes each time.
    assert fitted.predict([[0.0], [5.0]]).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_as_many_votes_as_the_virtual_label_are_enough() -> None:
    """q = 1: one vote. q = 2 without a row that has one label only: labels stand alone."""
    Y = np.array([[1, 1]] * 3 + [[0, 0]] * 3)
    fitted = nearest("clr").fit(LINE, Y)
    assert fitted.predict(LINE[[0, 5]]).tolist() == [[1, 1], [0, 0]]
    assert (2 * fitted.predict_proba(LINE[[0, 5]])).tolist() == [[1, 1], [0, 0]]
    # Now label 1 is always there: (0, 1) goes to 1, and 0 has one vote against one.
    Y = np.array([[0, 1]] * 6)
    fitted = nearest("clr").fit(LINE, Y)
    assert (2 * fitted.predict_proba(LINE[:1])).tolist() == [[0, 2]]
    Y = np.array([[1, 0]] * 3 + [[0, 0]] * 3)
    fitted = nearest("clr").fit(LINE, Y)
    # At 0: pair -> 0, calibrations 0 present, 1 absent: 2, 0 against 1. At 5: 1, 0 against 2.
    assert (2 * fitted.predict_proba(LINE[[0, 5]])).tolist() == [[2, 0], [1, 0]]
    assert fitted.predict(LINE[[0, 5]]).tolist() == [[1, 0], [0, 0]]


def test_soft_votes_by_hand() -> None:
    """k = 4 of 6 rows: shares in quarters."""
    Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    fitted = get_classifier("clr", base="knn", base_params={"n_neighbors": 4}, votes="soft").fit(
        LINE, Y
    )
    # At 0 the nearest are rows 0 to 3: 3/4 for label 0, in the pair and in its calibration.
    assert (2 * fitted.predict_proba([[0.0]])).tolist() == [[0.75 + 0.75, 0.25 + 0.25]]
    # Virtual: 1/4 + 3/4 = 1.
    assert fitted.predict([[0.0]]).tolist() == [[1, 0]]


def test_an_even_pair_is_the_first_labels() -> None:
    Y = np.array([[1, 0], [0, 1]])
    model = CalibratedLabelRanking("logistic").fit([[1.0], [1.0]], Y)
    # Constant feature: p = 1/2 everywhere. Pair -> 0; both calibrations say present.
    assert (2 * model.predict_proba([[1.0]])).tolist() == [[2, 1]]
    assert model.predict([[1.0]]).tolist() == [[1, 1]]


def test_pairs_after_one_without_rows_vote_nevertheless() -> None:
    """Mulan stops counting at the first empty pair: 330 of 990 pairs of medical were used."""
    Y = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    fitted = nearest("clr").fit(LINE, Y)
    empty = [model.problem.labels for model in fitted.models_ if len(model.classes) == 0]
    assert empty == [(0, 1)]
    # At 0: (0,2) -> 0, (1,2) -> 1; calibrations 0 and 1 present, 2 absent.
    assert (3 * fitted.predict_proba([[0.0]])).tolist() == [[2, 2, 0]]
    assert fitted.predict([[0.0], [3.0]]).tolist() == [[1, 1, 0], [0, 0, 1]]


def test_equally_probable_sets_go_to_the_first() -> None:
    """Two neighbours, two sets: 0 before 1, label 0 first."""
    for sets, expected in (
        ([[1, 0], [0, 1]], [0, 1]),
        ([[1, 1], [1, 0]], [1, 0]),
        ([[1, 0], [0, 0]], [0, 0]),
    ):
        for labels in (sets, sets[::-1]):
            fitted = LabelPowerset("knn", {"n_neighbors": 2}).fit(
                [[0.0], [1.0], [9.0]], [*labels, [1, 1]]
            )
            assert fitted.predict([[0.5]]).tolist() == [expected]


def test_confidence_is_that_of_the_whole_set() -> None:
    """Two of three neighbours have {0}, one has {1}: 2/3 for label 0, 1 - 2/3 for the others."""
    X, Y = [[0.0], [1.0], [2.0], [9.0]], [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for scores, expected in (
        ("confidence", [2 / 3, 1 / 3, 1 / 3]),
        ("marginal", [2 / 3, 1 / 3, 0.0]),
        ("votes", [1.0, 0.0, 0.0]),
    ):
        fitted = LabelPowerset("knn", {"n_neighbors": 3}, scores=scores).fit(X, Y)
        np.testing.assert_allclose(fitted.predict_proba([[0.5]]), [expected], rtol=1e-15)


def test_the_empty_set_is_a_class_like_others() -> None:
    Y = np.array([[1, 0]] * 2 + [[0, 0]] * 4)
    for name in ("lp", "rakel"):
        fitted = nearest(name).fit(LINE, Y)
        assert fitted.predict([[0.0], [5.0]]).tolist() == [[1, 0], [0, 0]]
