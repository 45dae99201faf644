"""Parameters and models that br, lp, rakel and clr refuse, or that fail: by name."""

import pickle

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mlfs_dask import get_classifier
from mlfs_dask.classifiers.br import BinaryRelevance
from mlfs_dask.errors import InputError, MlfsError
from mlfs_dask.graphs.source import as_source


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("br", {"base": "j48"}, "base = 'j48': expected one of"),
        ("br", {"base_params": {"C": 1}}, "base_params = .*logistic has no parameter 'C'"),
        ("br", {"threshold": 1.5}, "threshold = 1.5"),
        ("br", {"conventions": "weka"}, "conventions = 'weka'"),
        ("br", {"impute": "median"}, "impute = 'median'"),
        ("br", {"random_state": None}, "random_state = None: expected a whole number"),
        ("br", {"random_state": -1}, "random_state = -1"),
        ("lp", {"scores": "p"}, "scores = 'p': expected one of None, 'votes'"),
        ("rakel", {"labelset_size": 0}, "labelset_size = 0"),
        ("rakel", {"n_models": 0}, "n_models = 0"),
        ("rakel", {"threshold": -1}, "threshold = -1"),
        ("clr", {"votes": "loud"}, "votes = 'loud': expected one of 'hard', 'soft'"),
    ],
)
def test_bad_parameters_are_named(name, options, message, four_labels) -> None:
    X, Y, queries, _ = four_labels
    classifier = get_classifier(name, **options)
    with pytest.raises(InputError, match=message):
        classifier.fit(X, Y)
    with pytest.raises(InputError, match=message):
        list(classifier.curve(as_source(X, Y), as_source(queries), np.arange(5), [5]))


class Picky(DecisionTreeClassifier):
    """A tree that refuses as many rows of the second class as it is told to."""

    def __init__(self, refused=None, when="fit") -> None:
        super().__init__()
        self.refused, self.when = refused, when

    def fit(self, X, y):
        if self.when == "fit" and int(np.sum(y)) == self.refused:
            raise OverflowError("these rows are not to my taste")
        return super().fit(X, y)

    def predict_proba(self, X):
        if self.when == "predict" and self.tree_.value[0, 0, -1] * self.tree_.n_node_samples[0] > 0:
            raise OverflowError("nor are those")
        return super().predict_proba(X)


class Refusing(DecisionTreeClassifier):
    def fit(self, X, y):
        raise InputError("I take nothing", hint="Ask another.")


def test_a_failing_model_is_named(four_labels) -> None:
    X, Y, queries, _ = four_labels
    train, test = as_source(X, Y), as_source(queries)
    for name, target, called in (
        ("br", Y[:, 2], "label 2"),
        ("clr", Y[Y[:, 1] != Y[:, 3], 1], "label 1 against label 3"),
    ):
        picky = get_classifier(name, base=Picky(int(target.sum())))
        for fit in (
            lambda picky=picky: picky.fit(X, Y),
            lambda picky=picky: list(picky.outcomes(train, test, np.arange(5), [5])),
        ):
            with pytest.raises(MlfsError, match="not to my taste") as raised:
                fit()
            error = pickle.loads(pickle.dumps(raised.value))
            assert error.message.startswith(f"the model of {called} failed: OverflowError: ")
            assert error.facts["labels"] == tuple(int(c) for c in called if c.isdigit())
            assert error.exit_code == 1
    with pytest.raises(MlfsError, match=r"the model of sets of labels 0, 1, 2, 3 failed"):
        get_classifier("lp", base=Picky(when="predict")).fit(X, Y).predict(queries)


class Lost(DecisionTreeClassifier):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize("base", [Lost(), "naive-bayes"])
def test_scores_that_are_no_numbers_are_refused_by_name(base, four_labels) -> None:
    """Squares of 1e200 have no variance to compare with."""
    X, Y, _, _ = four_labels
    rows = X * 1e200 if base == "naive-bayes" else X
    fitted = get_classifier("br", base=base).fit(rows, Y)
    with pytest.raises(InputError, match="the model of label 0: its probabilities are not"):
        fitted.predict(rows)


def test_a_model_that_refuses_its_rows_is_named_in_the_same_words(four_labels) -> None:
    """What the user can correct stays so, with its hint."""
    X, Y, _, _ = four_labels
    singles = {(label,): np.arange(5) for label in range(4)}
    wrong = BinaryRelevance(Refusing())
    with pytest.raises(InputError, match="the model of label 0: I take nothing") as raised:
        wrong.fit(X, Y, feature_subsets=singles)
    assert (raised.value.hint, raised.value.exit_code) == ("Ask another.", 2)
