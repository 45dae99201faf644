"""mlnb: fitness against plain loops and public measures, the search, its engine, roads."""

import json

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import get_classifier, metrics
from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs.densities import Inputs
from mlfs_dask.graphs.executor import InProcess
from mlfs_dask.graphs.folds import FoldJudge
from mlfs_dask.graphs.source import as_source
from mlfs_dask.selectors.engine import Choice
from mlfs_dask.selectors.genetic import N_ELITE, GeneticEngine
from mlfs_dask.selectors.mlnb import MLNB
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference import mlnb as plain
from reference.executors import Shuffled
from reference.tables import tables

QUICK = {"n_individuals": 6, "n_generations": 6, "n_folds": 3}


def judge(X, Y, *, n_folds=10, smoothing=1.0, tile=4096, executor=None):
    rows = as_source(X, Y, tile=tile)
    inputs = Inputs(np.arange(rows.n_features))
    return FoldJudge(rows, inputs, n_folds, smoothing, executor or InProcess(1))


def made(n=60, d=8, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2) * (rng.random((n, d)) < 0.6)
    Y = (X[:, :q] + rng.normal(scale=0.5, size=(n, q)) > 0.2).astype(np.uint8)
    return X, Y


@given(
    table=tables(max_rows=14, max_features=4, max_labels=3),
    n_folds=st.integers(2, 5),
    smoothing=st.sampled_from([0.0, 1.0, 2.5]),
    sparse=st.booleans(),
    data=st.data(),
)
def test_fitness_is_that_of_plain_loops(table, n_folds, smoothing, sparse, data):
    X, Y = table
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=X.shape[1], max_size=X.shape[1])))
    rows = sp.csr_matrix(X) if sparse else X
    judged = judge(rows, Y, n_folds=n_folds, smoothing=smoothing, tile=data.draw(st.integers(1, 9)))
    features = np.flatnonzero(mask).tolist()
    expected = plain.fitness(X.tolist(), Y.tolist(), features, n_folds=n_folds, smoothing=smoothing)
    found = judged.fitness(np.stack([mask, ~mask]))
    assert found[0] == pytest.approx(expected, rel=1e-12)


def test_fitness_is_made_of_the_measures_and_the_classifier():
    X, Y = made(n=43)
    features = [0, 2, 5]
    mask = np.isin(np.arange(8), features)
    total = []
    for f in range(10):
        test = np.arange(f * 4, 43 if f == 9 else f * 4 + 4)
        train = np.setdiff1d(np.arange(43), test)
        model = get_classifier("mlnb").fit(X[train][:, features], Y[train])
        proba = model.predict_proba(X[test][:, features])
        wrong = metrics.hamming_loss(Y[test], (proba >= 0.5).astype(int))
        total.append((wrong + metrics.ranking_loss(Y[test], proba)) / 2)
    [found] = judge(X, Y).fitness(mask[None])
    assert found == pytest.approx(np.mean(total), rel=1e-13)


def test_fitness_by_hand():
    """Two folds of two rows, one feature, one label.

    Fold 0 learns from rows 2 (x = 3, with the label) and 3 (x = 1, without): one row per class, so
    sigma = 0.001 sqrt(2), and a row has the label if 3 is nearer than 1. All rows are predicted
    right. With the labels of rows 2 and 3 changed each fold gets both rows wrong; one label has no
    pairs to rank: fitness = (1 + 1) / 2 / 2.
    """
    X = np.array([[3.0], [1.0], [3.0], [1.0]])
    y = np.array([[1], [0], [1], [0]])
    assert judge(X, y, n_folds=2).fitness(np.array([[True]])).tolist() == [0.0]
    y = np.array([[1], [0], [0], [1]])
    assert judge(X, y, n_folds=2).fitness(np.array([[True]])).tolist() == [0.5]


def test_an_empty_set_is_worth_nothing():
    X, Y = made()
    assert judge(X, Y).fitness(np.zeros((2, 8), dtype=bool)).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("form", ["dense", "sparse", "chunked", "store", "cut"])
@pytest.mark.parametrize("pca", [None, 0.5])
def test_bits_are_the_same_on_all_roads(form, pca, tmp_path, monkeypatch):
    X, Y = made(n=70)
    options = {**QUICK, "pca": pca, "tile": 16}
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: InProcess(1))
    expected = MLNB(**options).fit(X, Y).selection_record()
    rows, labels, executor = X, Y, Shuffled(0)
    if form == "sparse":
        rows = sp.csr_matrix(X)
    elif form == "chunked":
        rows, executor = da.from_array(X, chunks=(23, 3)), InProcess(3)
    elif form == "store":
        ingest(ArrayTable(sp.csr_matrix(X), Y), tmp_path / "made.zarr", tile=16)
        rows, labels = open_dataset(tmp_path / "made.zarr"), None
    elif form == "cut":
        monkeypatch.setattr("mlfs_dask.graphs.densities._DENSE_BYTES", 200)
    monkeypatch.setattr("mlfs_dask.selectors.base.get_executor", lambda: executor)
    assert MLNB(**options).fit(rows, labels).selection_record() == expected


def test_a_fold_selects_as_its_rows_alone():
    X, Y = made(n=90)
    train = np.flatnonzero(np.arange(90) % 3 != 0)
    alone = MLNB(**QUICK).fit(X[train], Y[train])
    fold = MLNB(**QUICK).fit(as_source(X, Y, tile=16).take(train))
    assert fold.order_.tolist() == alone.order_.tolist()
    assert fold.fitness_ == pytest.approx(alone.fitness_, rel=1e-12)


def test_finds_what_tells_the_labels():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 12))
    Y = (X[:, [2, 7]] > 0).astype(int)
    fitted = MLNB(n_generations=40).fit(X, Y)
    chosen = np.flatnonzero(fitted.support_)
    assert {2, 7} <= set(chosen.tolist())
    assert fitted.fitness_ <= fitted.path_[0]["score"]
    assert fitted.order_[: len(chosen)].tolist() == chosen.tolist()
    assert fitted.scores_[chosen].tolist() == [fitted.fitness_] * len(chosen)
    assert np.isnan(np.delete(fitted.scores_, chosen)).all()
    assert fitted.path_[-1]["score"] == fitted.fitness_
    assert fitted.path_[-1]["n_features"] == len(chosen)
    lowest = [step["score"] for step in fitted.path_]
    assert lowest == sorted(lowest, reverse=True)


def test_seeds():
    X, Y = made()
    first = MLNB(**QUICK).fit(X, Y).selection_record()
    assert MLNB(**QUICK).fit(X, Y).selection_record() == first
    assert MLNB(**QUICK, random_state=1).fit(X, Y).selection_record() != first
    stream = np.random.SeedSequence(5)
    again = [MLNB(**QUICK, random_state=stream).fit(X, Y).selection_record() for _ in range(2)]
    assert again[0] == again[1]


class TestEngine:
    engine = GeneticEngine(
        n_inputs=9, n_individuals=10, n_generations=7, patience=50, mutation=0.1, seed=3
    )

    @staticmethod
    def fitness(population):
        """Few bits are best, but none; equal numbers tie."""
        bits = population.sum(axis=1)
        return np.where(bits > 0, bits / 7.0, np.inf)

    def run(self, engine=None):
        steps = [(engine or self.engine).begin()]
        while steps[-1].stop is None:
            asked = steps[-1].request.arguments["population"]
            steps.append((engine or self.engine).advance(steps[-1].state, self.fitness(asked)))
        return steps

    def test_replay_gives_the_same_bits_after_every_generation(self):
        steps = self.run()
        decided = [choice for step in steps for choice in step.decided]
        assert len(decided) == 8
        assert steps[-1].stop == "7 generations"
        for done, step in enumerate(steps):
            kept = json.loads(json.dumps([choice.record() for choice in decided[:done]]))
            again = self.engine.replay([Choice.from_record(record) for record in kept])
            assert again.stop == step.stop
            assert again.decided == tuple(decided[:done])
            assert (again.request is None) == (step.request is None)
            np.testing.assert_array_equal(again.state.population, step.state.population)
            np.testing.assert_array_equal(again.state.best, step.state.best)
            assert (again.state.fitness, again.state.waited) == (
                step.state.fitness,
                step.state.waited,
            )

    def test_the_best_stay(self):
        for step in self.run()[:-2]:
            population = step.state.population
            following = self.engine.advance(step.state, self.fitness(population)).state.population
            order = np.argsort(self.fitness(population), kind="stable")
            np.testing.assert_array_equal(following[:N_ELITE], population[order[:N_ELITE]])

    def test_children_have_genes_of_the_generation_before(self):
        still = GeneticEngine(6, 12, 3, 50, 0.0, 0)
        begun = still.begin()
        population = begun.state.population.copy()
        population[:, 0], population[:, 1] = True, False
        state = type(begun.state)(0, population, begun.state.best, np.inf, 0)
        following = still.advance(state, self.fitness(population)).state.population
        assert following[:, 0].all()
        assert not following[:, 1].any()

    def test_patience(self):
        engine = GeneticEngine(9, 10, 100, 4, 0.0, 0)
        step = engine.begin()
        while step.stop is None:
            step = engine.advance(step.state, np.ones(10))
        assert step.stop == "4 generations without a better set"
        assert step.state.generation == 5

    def test_improvements_of_a_millionth_count_as_none(self):
        engine = GeneticEngine(9, 10, 100, 3, 0.0, 0)
        step, value = engine.begin(), 1.0
        while step.stop is None:
            step = engine.advance(step.state, np.full(10, value))
            value -= 1e-7
        assert step.state.generation == 4
        assert step.state.fitness == pytest.approx(1.0 - 3e-7, abs=1e-12)

    def test_empty_sets_never_win(self):
        engine = GeneticEngine(3, 4, 2, 9, 0.0, 0)
        begun = engine.begin()
        state = type(begun.state)(0, np.zeros((4, 3), dtype=bool), begun.state.best, np.inf, 0)
        step = engine.advance(state, np.zeros(4))
        assert step.decided[0].record()["fitness"] == [None] * 4
        assert step.state.fitness == np.inf
        assert not step.state.best.any()


def test_constants_take_no_part():
    X, Y = made()
    X = np.column_stack([np.full(60, 7.0), X, np.zeros(60)])
    fitted = MLNB(**QUICK).fit(X, Y)
    assert fitted.order_[-2:].tolist() == [0, 9]
    assert not fitted.support_[[0, 9]].any()
    inner = MLNB(**QUICK).fit(X[:, 1:-1], Y)
    assert fitted.fitness_ == inner.fitness_
    assert (fitted.order_[:-2] - 1).tolist() == inner.order_.tolist()


def test_nothing_but_constants():
    fitted = MLNB(**QUICK).fit(np.ones((9, 3)), np.eye(9, 2, dtype=int))
    assert fitted.order_.tolist() == [0, 1, 2]
    assert fitted.support_.all()
    assert fitted.stop_ == "no feature varies"
    assert np.isnan(fitted.scores_).all()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_few_rows_and_labels_of_one_value(n):
    rng = np.random.default_rng(n)
    X, Y = rng.normal(size=(n, 4)), np.zeros((n, 3), dtype=int)
    Y[:, 1] = 1
    fitted = MLNB(**QUICK).fit(X, Y)
    assert sorted(fitted.order_.tolist()) == [0, 1, 2, 3]
    if n > 1:
        assert fitted.fitness_ == 0.0  # what no row has is never predicted, what all have always


def test_values_beyond_squares():
    X, Y = made(n=20)
    fitted = MLNB(**QUICK).fit(X * 1e200, Y)
    assert np.isfinite(fitted.fitness_)
    with pytest.raises(InputError, match="squares overflow"):
        MLNB(**QUICK, pca=0.5).fit(X * 1e200, Y)


def test_with_components():
    rng = np.random.default_rng(4)
    base = rng.normal(size=(200, 2))
    X = np.column_stack([3 * base[:, 0], rng.normal(size=200), 5 * base[:, 1], np.ones(200)])
    Y = (base > 0).astype(int)
    fitted = MLNB(pca=0.5).fit(X, Y)
    assert fitted.components_.tolist() == [True, True]
    assert fitted.higher_is_better_
    assert fitted.order_.tolist() == [2, 0, 1, 3]
    np.testing.assert_allclose(fitted.scores_[[0, 2]], X[:, [0, 2]].var(axis=0, ddof=1), rtol=0.02)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 2]
    assert MLNB(**QUICK).fit(X, Y).components_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_individuals": 3}, "n_individuals = 3: expected at least 4"),
        ({"n_generations": 0}, "n_generations = 0"),
        ({"patience": 1.5}, "patience = 1.5"),
        ({"n_folds": 1}, "n_folds = 1: expected at least 2"),
        ({"mutation": 1.2}, "mutation = 1.2: expected a probability"),
        ({"smoothing": -1}, "smoothing = -1: expected a number from 0 to"),
        ({"pca": 0.0}, "pca = 0.0: expected a share"),
        ({"pca": True}, "pca = True"),
    ],
)
def test_impossible_parameters(options, message):
    with pytest.raises(InputError, match=message):
        MLNB(**options).fit(*made())


def test_what_has_no_density_is_refused():
    X, Y = made()
    X[:, 1] = np.arange(60) % 3
    with pytest.raises(InputError, match="feature 1 is nominal with more than two values"):
        MLNB(**QUICK).fit(X, Y, feature_kind=[0, 1] + [0] * 6)
    X[:, 1] = np.arange(60) % 2
    MLNB(**QUICK).fit(X, Y, feature_kind=[0, 1] + [0] * 6)
    X[4, 2] = np.nan
    with pytest.raises(MissingValuesError, match="feature 2 has 1 missing value"):
        MLNB(**QUICK).fit(X, Y)
    assert np.isfinite(MLNB(**QUICK, impute="mean").fit(X, Y).fitness_)


def test_a_prefilter_keeps_generations_apart_from_features():
    from mlfs_dask.jobs.prefilter import StoreNumbering

    class Kept:
        earlier = ()
        records = ()

        def decided(self, choices, seconds):
            self.records += tuple(choice.record() for choice in choices)

    recorder = Kept()
    engine = GeneticEngine(3, 4, 2, 9, 0.0, 0)
    step = engine.advance(engine.begin().state, np.ones(4))
    StoreNumbering(recorder, np.array([4, 6, 9])).decided(step.decided, 0.0)
    assert [record["feature"] for record in recorder.records] == [None]


@pytest.mark.cluster
def test_bits_on_a_cluster_of_two(two_workers):
    """Rows of arrays are sent once and stay; a generation sends sets of features only."""
    from distributed import Client

    X, Y = made(n=70)
    expected = MLNB(**QUICK, tile=16).fit(X, Y).selection_record()
    with Client(two_workers):
        for rows in (X, da.from_array(X, chunks=(23, 3))):
            assert MLNB(**QUICK, tile=16).fit(rows, Y).selection_record() == expected
