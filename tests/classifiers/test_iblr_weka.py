"""Where the regressions of IBLR part from WEKA's Logistic: labels that are told without error."""

import numpy as np
import pytest

from j48 import Table, ask_classifier, weka_jar
from mlfs_dask.classifiers import iblr
from mlfs_dask.evaluate.splits import kfold_repeats
from mlfs_dask.storage.catalogue import resolve_store
from mlfs_dask.storage.dataset import open_dataset

LOGISTIC = ["weka.classifiers.functions.Logistic"]


@pytest.mark.slow
@pytest.mark.skipif(weka_jar() is None, reason="no WEKA: see the extra `weka`")
def test_a_label_that_no_training_row_has_is_not_the_last_in_weka(mlfs_data, monkeypatch) -> None:
    """Paper C has coverage 0.422 on genbase, we 0.530: most of it are three such rows.

    Learned from the same counts, the label of the row scores 0 here, the least of all; in WEKA it
    scores 2e-11, more than common labels of which the row has no sign.
    """
    dataset = open_dataset(resolve_store("genbase"))
    n = dataset.n_samples
    X, Y = dataset.X[0:n], np.asarray(dataset.Y[0:n])
    X = X.toarray() if dataset.is_sparse else X
    fold = next(each for each in kfold_repeats(n, 10, seed=0) if _unseen(Y, each).size)
    (unseen,) = _unseen(Y, fold)
    row = np.flatnonzero(Y[fold.test, unseen])[0]
    counts = []
    for name in ("counts_of_training", "counts_of_queries"):
        monkeypatch.setattr(iblr, name, _noted(getattr(iblr, name), counts))
    ours = iblr.IBLR().fit(X[fold.train], Y[fold.train]).predict_proba(X[fold.test])
    assert ours[row, unseen] == 0 < np.delete(ours[row], unseen).min()

    common = int(np.argmax(Y[fold.train].sum(axis=0) * (Y[fold.test[row]] == 0)))
    inputs = [of[:, 0] / 10 for of in counts]
    kinds = np.zeros(Y.shape[1], dtype=int)
    train, test = (
        [Table(rows, Y[of, label].astype(int), kinds, 2) for label in (unseen, common)]
        for rows, of in zip(inputs, (fold.train, fold.test), strict=True)
    )
    constant, told = (
        ask_classifier(weka_jar(), LOGISTIC, *pair)[0][row, 1]
        for pair in zip(train, test, strict=True)
    )
    assert told < constant < 1e-9


def _unseen(Y, fold):
    """Labels that test rows have and no training row."""
    return np.flatnonzero((Y[fold.train].sum(axis=0) == 0) & (Y[fold.test].sum(axis=0) > 0))


def _noted(function, counts):
    def called(*arguments):
        result = function(*arguments)
        counts.append(result[0])
        return result

    return called
