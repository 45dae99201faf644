"""BRkNN by hand: half votes, extensions, ties at the k-th neighbour."""

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.classifiers.brknn import BRkNN
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.source import as_source
from reference import brknn

LINE = np.arange(12.0)[:, None]


def test_confidences_by_hand():
    """2 of 4 neighbours carry label 0, all carry label 1, none label 2; n = 5."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])
    Y = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1]])
    fitted = BRkNN(n_neighbors=4).fit(X, Y)
    expected = [[(2 + 1 / 5) / (4 + 3 / 5), (4 + 1 / 5) / (4 + 3 / 5), (1 / 5) / (4 + 3 / 5)]]
    np.testing.assert_allclose(fitted.predict_proba([[1.5]]), expected, rtol=1e-15)


@pytest.mark.parametrize(("n_labels", "present"), [(1, 1), (2, 1), (3, 0), (5, 0)])
def test_half_of_the_neighbors_are_absent_from_three_labels_on(n_labels, present):
    """5 of 10: the smoothing by labels takes the score below one half."""
    Y = np.zeros((12, n_labels), dtype=int)
    Y[:10:2, 0] = 1
    X = np.vstack([LINE[:10], [[100.0]], [[101.0]]])
    fitted = BRkNN(n_neighbors=10).fit(X, Y)
    assert fitted.predict([[4.5]])[0, 0] == present
    if n_labels == 2:
        assert fitted.predict_proba([[4.5]])[0, 0] == 0.5


def test_confidences_lie_between_0_and_1():
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 3)), (rng.random((40, 3)) < 0.8).astype(int)
    proba = BRkNN(n_neighbors=10).fit(X, Y).predict_proba(X)
    assert proba.min() > 0
    assert proba.max() < 1
    everywhere = BRkNN(n_neighbors=10).fit(X, np.ones((40, 3))).predict_proba(X)
    assert np.all((everywhere > 0.9) & (everywhere < 1))


def test_extension_b_predicts_nothing_where_no_neighbor_has_a_label():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    Y = np.array([[0, 0, 0]] * 3 + [[1, 0, 1]] * 3)
    fitted = BRkNN(n_neighbors=3, extension="b").fit(X, Y)
    assert fitted.predict([[1.0], [11.0]]).tolist() == [[0, 0, 0], [1, 0, 1]]


def test_extension_b_rounds_the_mean_number_of_labels_up():
    """Four labels among three neighbours: 4/3 becomes 2; label 2 is the better of two equals."""
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    Y = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    fitted = BRkNN(n_neighbors=3, extension="b").fit(X, Y)
    assert fitted.predict([[1.0]]).tolist() == [[1, 0, 1]]


def test_extension_a_gives_a_row_its_best_label():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    Y = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]])
    plain, best = (BRkNN(n_neighbors=3, extension=e).fit(X, Y) for e in ("none", "a"))
    assert plain.predict([[1.0]]).tolist() == [[0, 0, 0]]
    assert best.predict([[1.0]]).tolist() == [[0, 1, 0]]
    carried = BRkNN(n_neighbors=1, extension="a").fit(X, Y).predict([[0.0]])
    assert carried.tolist() == [[1, 0, 0]]


def test_extension_b_cannot_decide_by_scores():
    with pytest.raises(InputError, match="decides by the neighbours"):
        BRkNN(extension="b").decide(np.array([[0.5, 0.5]]))


def test_ties_count_all_or_the_first():
    """Rows 1 and 2 are as near as each other: one or both are neighbours beside row 0."""
    X = np.array([[0.0], [1.0], [-1.0], [5.0]])
    Y = np.array([[0, 1], [1, 0], [0, 0], [1, 1]])
    first = BRkNN(n_neighbors=2).fit(X, Y)
    everyone = BRkNN(n_neighbors=2, ties="all").fit(X, Y)
    assert first.predict_proba([[0.0]]).tolist() == [[(4 + 1) / (8 + 2)] * 2]
    assert everyone.predict_proba([[0.0]]).tolist() == [[(4 + 1) / (12 + 2)] * 2]
    assert first.tied_rows([[0.0], [0.4]]).tolist() == [True, False]
    assert (first.ties_, everyone.ties_) == ("first", "all")
    expected = everyone.predict_proba([[0.0], [3.0]])
    mulan = BRkNN(n_neighbors=2, conventions="mulan").fit(X, Y)
    assert mulan.ties_ == "all"
    np.testing.assert_array_equal(mulan.predict_proba([[0.0], [3.0]]), expected)


@pytest.mark.parametrize("values", ["binary", "sparse", "integers"])
def test_all_tied_rows_count_where_nearly_all_are_tied(values):
    """Few features of few values: hundreds of rows are as near as the k-th."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2 if values == "binary" else 3, (60, 4)).astype(float)
    X = sp.csr_matrix(X * (rng.random((60, 4)) < 0.1)) if values == "sparse" else X
    Y = (rng.random((60, 3)) < 0.4).astype(np.uint8)
    order, counts = np.array([2, 0, 3, 1]), [1, 2, 4]
    train, test = as_source(X[:45], Y[:45], tile=16), as_source(X[45:], tile=16)
    dense = X.toarray() if sp.issparse(X) else X
    for outcome in BRkNN(5, ties="all").outcomes(train, test, order, counts):
        expected, _ = brknn.confidences(
            dense[:45].tolist(),
            Y[:45].tolist(),
            dense[45:].tolist(),
            k=5,
            ties="all",
            order=order[: outcome.n_features].tolist(),
        )
        np.testing.assert_array_equal(outcome.proba, np.array(expected).astype(float))
        if outcome.n_features == 1:
            (note,) = outcome.notes
            assert note == "tied at neighbour 5: at most 100.00 % of test rows (with 1 feature)"
