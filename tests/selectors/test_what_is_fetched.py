"""What a step of a selector brings from the workers, in numbers and bytes, and what blocks take."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mlfs_dask.graphs import densities
from mlfs_dask.graphs.densities import Inputs
from mlfs_dask.graphs.executor import InProcess, use_executor
from mlfs_dask.graphs.folds import FoldJudge
from mlfs_dask.graphs.source import as_source
from mlfs_dask.kernels.naive_bayes import Losses
from mlfs_dask.selectors.mdmr import MDMR
from mlfs_dask.selectors.pmu import PMU

MB = 2**20


class Counting(InProcess):
    """Writes down what every task gives back."""

    def __init__(self):
        super().__init__(1)
        self.asked = []

    def map(self, function, items, *common):
        answers = []
        self.asked.append((function.__name__, common, answers))
        for answer in super().map(function, items, *common):
            answers.append((answer, len(pickle.dumps(answer, protocol=5))))
            yield answer


def fitted(selector, X, Y):
    executor = Counting()
    with use_executor(executor):
        selector.fit(X, Y)
    return selector, [call for call in executor.asked if call[0] == "_count_rows"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", [PMU, MDMR])
def test_a_greedy_step_asks_for_one_row_of_counts(method, form):
    """One marker, and no more than a count of all rows and one per label for each feature."""
    rng = np.random.default_rng(0)
    n_labels, sizes = 5, {}
    for d in (20, 80):
        X = (rng.random((300, d)) < 0.3) * 1.0
        Y = (rng.random((300, n_labels)) < 0.4).astype(np.uint8)
        selector, calls = fitted(method(n_features_to_select=6, tile=64), form(X), Y)
        # PMU asks once for all pairs of labels; the last feature chosen is compared with nothing.
        steps = calls[-5:]
        assert len(calls) == 5 + (method is PMU)
        assert [step["feature"] for step in selector.path_[:5]] == [
            int(common[2][0]) for _, common, _ in steps
        ]
        for _, common, answers in steps:
            assert len(common[2]) == 1  # a 0/1 feature has one column
            for [(present, counts)], _ in answers:
                assert counts.shape == (len(present), 1 + n_labels)
                assert len(present) <= d
        sizes[d] = max(size for _, _, answers in steps for _, size in answers)
        # 8 bytes for a feature's index, 4 for each count, and what pickling adds.
        assert sizes[d] <= d * (8 + 4 * (1 + n_labels)) + 400
    assert sizes[80] < 5 * sizes[20]  # d, not d x d


def test_a_step_of_several_columns_asks_for_a_row_each():
    """The base bin of a nominal feature is what the others leave over."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (120, 6)).astype(float)
    Y = (rng.random((120, 3)) < 0.4).astype(np.uint8)
    executor = Counting()
    with use_executor(executor):
        MDMR(n_features_to_select=3, tile=50).fit(X, Y, feature_kind=np.ones(6))
    steps = [common[2] for name, common, _ in executor.asked if name == "_count_rows"]
    assert [len(markers) for markers in steps] == [3, 3]


@pytest.mark.parametrize("sparse", [True, False])
def test_folds_bring_losses_and_no_log_densities(sparse, monkeypatch):
    """Rows become dense a few at a time; log densities of all rows would take 256 MB."""
    n, d, q, n_sets = 4000, 400, 10, 3
    rng = np.random.default_rng(2)
    X = sp.random_array((n, d), density=0.02, format="csr", rng=rng)
    Y = (rng.random((n, q)) < 0.3).astype(np.uint8)
    rows = X if sparse else X.toarray()
    monkeypatch.setattr(densities, "_DENSE_BYTES", MB // 4)
    masks = rng.random((n_sets, d)) < 0.1
    inputs = Inputs(np.arange(d))
    few = as_source(rows[:200], Y[:200], tile=500)
    FoldJudge(few, inputs, 10, 1.0, InProcess(1)).fitness(masks)  # compiles
    source, executor = as_source(rows, Y, tile=500), Counting()
    tracemalloc.start()
    try:
        judge = FoldJudge(source, inputs, 10, 1.0, executor)
        executor.asked.clear()
        judge.fitness(masks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    [(name, _, answers)] = executor.asked
    assert name == "_losses_of_tile"
    for losses, size in answers:
        assert isinstance(losses, Losses)
        assert losses.errors.shape == losses.ranking.shape == (n_sets,)
        assert size < 1000
    # Dense rows stay with the workers, once; ten folds of densities and moments are there as well.
    assert peak < 10 * MB + (0 if sparse else rows.nbytes)
