"""Cells taken away, features kept, costs given: the same rows by every road and in any order."""

import pickle
import tempfile
from contextlib import contextmanager
from pathlib import Path

import dask.array as da
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from mlfs_dask.classifiers.mlknn import MLkNN
from mlfs_dask.errors import InputError
from mlfs_dask.evaluate import protocol
from mlfs_dask.graphs import source as source_module
from mlfs_dask.graphs.executor import InProcess, OnCluster, get_executor
from mlfs_dask.graphs.missing import MissingCells
from mlfs_dask.graphs.source import as_source, load_block
from mlfs_dask.graphs.statistics import summarize_columns
from mlfs_dask.selectors.spec import SPEC
from mlfs_dask.storage.dataset import open_dataset
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.testing.tables import ArrayTable
from reference.missing import inject


def dense(block):
    return block.toarray() if sp.issparse(block) else block


def rows_of(source):
    blocks = [dense(source.block(t)) for t in range(source.n_tiles)]
    return np.vstack(blocks) if blocks else np.empty((0, source.n_features))


@st.composite
def matrices(draw):
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(["uint8", "int16", "int64", "float32", "float64"]))
    X = rng.integers(0, 200, (n, d)) * (rng.random((n, d)) < 0.6)
    X = X.astype(dtype)
    if X.dtype.kind == "f":
        X = (X / 7).astype(dtype)
        X[rng.random((n, d)) < 0.1] = np.nan
    return X


def roads(X, tile):
    """The same rows as an array, CSR (also with zeros stored) and a Dask array."""
    columns = np.tile(np.arange(X.shape[1]), len(X))
    bounds = np.arange(len(X) + 1) * X.shape[1]
    yield as_source(X, tile=tile)
    yield as_source(sp.csr_matrix(X), tile=tile)
    yield as_source(sp.csr_matrix((X.ravel(), columns, bounds), shape=X.shape), tile=tile)
    yield as_source(da.from_array(X, chunks=(3, 2)), tile=tile)


@contextmanager
def stored(X, tile, form):
    with tempfile.TemporaryDirectory() as folder:
        table = ArrayTable(form(X), np.zeros((len(X), 1)))
        store = ingest(table, Path(folder) / "x.zarr", tile=tile)
        yield as_source(open_dataset(store.path))


def loses_the_cells(source, X, seed, rate):
    expected = inject(X, seed, rate)
    holed = source.with_missing(MissingCells(seed, rate))
    np.testing.assert_array_equal(rows_of(holed), expected)
    np.testing.assert_array_equal(rows_of(source), np.asarray(X, float))  # stays as it was
    blocks = [holed.block(t) for t in range(holed.n_tiles)]
    assert {block.dtype for block in blocks} == {holed.dtype}
    assert holed.dtype.kind == "f"
    assert all(block.has_canonical_format for block in blocks if sp.issparse(block))
    again = pickle.loads(pickle.dumps(holed.items()))
    np.testing.assert_array_equal(np.vstack([dense(load_block(i)) for i in again]), expected)


rates = st.sampled_from([0.0, 0.05, 0.5, 1.0])


@given(matrices(), st.integers(1, 16), rates, st.integers(0, 2**40))
def test_every_road_loses_the_cells_of_the_contract(X, tile, rate, seed):
    for source in roads(X, tile):
        loses_the_cells(source, X, seed, rate)


@settings(max_examples=6)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@given(X=matrices(), tile=st.integers(1, 16), rate=rates, seed=st.integers(0, 2**40))
def test_stores_lose_the_cells_of_the_contract(form, X, tile, rate, seed):
    with stored(X, tile, form) as source:
        loses_the_cells(source, X, seed, rate)


@given(matrices(), st.integers(1, 16), st.data())
def test_missing_kept_filled_and_taken_in_any_order(X, tile, data):
    cells = MissingCells(data.draw(st.integers(0, 99)), data.draw(st.sampled_from([0.1, 0.6])))
    n, d = X.shape
    rows = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    kept = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=d, max_size=d).filter(any)))
    costs, values = np.arange(d) + 0.5, -np.arange(d) - 1.0
    Y = np.arange(n)[:, None] % 2
    expected = inject(X, cells.seed, cells.rate)
    expected = np.where(np.isnan(expected), values, expected)[np.ix_(rows, kept)]
    order = data.draw(st.permutations(["missing", "take", "keep", "fill", "costs", "label"]))
    for source in roads(X, tile):
        width = np.arange(d)
        for step in order:
            if step == "missing":
                source = source.with_missing(cells)
            elif step == "take":
                source = source.take(rows)
            elif step == "keep":
                source, width = source.keep_features(kept), kept
            elif step == "fill":
                source = source.filled(values[width])
            elif step == "costs":
                source = source.with_costs(costs[width])
            else:
                source = source.with_labels(Y if source.n_samples == n else Y[rows])
        np.testing.assert_array_equal(rows_of(source), expected)
        np.testing.assert_array_equal(source.Y, Y[rows])
        np.testing.assert_array_equal(source.feature_cost, costs[kept])
        assert (source.n_samples, source.n_features) == expected.shape
        assert len(source.feature_kind) == len(kept)


@settings(max_examples=8)
@given(matrices(), st.integers(1, 16), st.sampled_from([np.asarray, sp.csr_matrix]))
def test_a_store_with_cells_missing_equals_one_that_lacks_them(X, tile, form):
    """In what is summed over its tiles too: the same bits."""
    with stored(X, tile, form) as source, stored(inject(X, 7, 0.2), tile, form) as lacking:
        np.testing.assert_array_equal(
            rows_of(source.with_missing(MissingCells(7, 0.2))), rows_of(lacking)
        )
        found = summarize_columns(source.with_missing(MissingCells(7, 0.2)), InProcess(2))
        for name, expected in vars(summarize_columns(lacking, InProcess(1))).items():
            np.testing.assert_array_equal(getattr(found, name), expected, err_msg=name)


def test_nominal_codes_go_missing_and_stay_nominal():
    X = np.array([[0, 2], [1, 1], [2, 0]])
    source = as_source(X, feature_kind=[1, 0]).with_missing(MissingCells(3, 0.5))
    assert source.feature_kind.tolist() == [1, 0]
    assert np.isnan(rows_of(source)[:, 0]).any()
    np.testing.assert_array_equal(rows_of(source), inject(X, 3, 0.5))


def test_names_kinds_and_costs_follow_the_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.zeros((2, 4)), columns=list("abcd"))
    source = as_source(frame, feature_kind=[0, 1, 0, 1], feature_cost=[1, 2, 3, 4])
    kept = source.keep_features(np.array([0, 1, 3])).keep_features(np.array([1, 2]))
    assert kept.feature_names == ("b", "d")
    assert kept.feature_kind.tolist() == [1, 1]
    assert kept.feature_cost.tolist() == [2, 4]
    assert kept.with_costs(None).feature_cost is None
    assert source.feature_names == tuple("abcd")
    assert kept.block(0).flags.c_contiguous


def test_a_tile_of_a_store_is_drawn_once_for_all_folds(tmp_path, monkeypatch):
    X = np.arange(60.0).reshape(20, 3)
    store = ingest(ArrayTable(X, np.zeros((20, 1))), tmp_path / "a.zarr", tile=8)
    drawn = []
    plain = MissingCells.inject

    def counted(self, block, start):
        drawn.append((self.seed, start))
        return plain(self, block, start)

    monkeypatch.setattr(MissingCells, "inject", counted)
    whole = as_source(open_dataset(store.path))
    for seed in (0, 1):  # another seed has tiles of its own
        source = whole.with_missing(MissingCells(seed, 0.3))
        for fold in range(5):
            rows_of(source.take(np.arange(fold, 20, 2)))
            rows_of(source.keep_features(np.array([fold % 3])))
        np.testing.assert_array_equal(rows_of(source), inject(X, seed, 0.3))
    assert drawn == [(seed, start) for seed in (0, 1) for start in (0, 8, 16)]
    np.testing.assert_array_equal(rows_of(whole), X)


def test_an_array_is_drawn_once_for_all_folds(monkeypatch):
    source = as_source(np.arange(60.0).reshape(20, 3), tile=8).with_missing(MissingCells(0, 0.3))
    monkeypatch.setattr(MissingCells, "inject", None)
    np.testing.assert_array_equal(rows_of(source), inject(np.arange(60).reshape(20, 3), 0, 0.3))


def test_tiles_dropped_from_the_cache_come_back_the_same(tmp_path, monkeypatch):
    X = np.random.default_rng(0).random((64, 9))
    store = ingest(ArrayTable(X, np.zeros((64, 1))), tmp_path / "a.zarr", tile=8)
    tile_bytes = 8 * 9 * 8
    monkeypatch.setattr(source_module, "_cache", source_module.TileCache(4 * tile_bytes))
    source = as_source(open_dataset(store.path)).with_missing(MissingCells(3, 0.3))
    for _ in range(2):
        np.testing.assert_array_equal(rows_of(source), inject(X, 3, 0.3))
    assert source_module._cache._bytes == 4 * tile_bytes


@pytest.mark.cluster
def test_futures_lose_the_same_cells():
    from distributed import Client

    X = np.arange(60.0).reshape(20, 3)
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ):
        executor = get_executor()
        assert isinstance(executor, OnCluster)
        source = as_source(da.from_array(X, chunks=(7, 2)), tile=6)
        holed = source.with_missing(MissingCells(5, 0.4)).keep_features(np.array([0, 2]))
        blocks = list(executor.map(load_block, holed.items()))
    np.testing.assert_array_equal(np.vstack(blocks), inject(X, 5, 0.4)[:, [0, 2]])


@pytest.mark.parametrize("rate", [-0.1, 1.01, np.nan])
def test_impossible_cells_are_refused(rate):
    with pytest.raises(InputError, match=r"missing rate = .*from 0 to 1"):
        MissingCells(0, rate)
    with pytest.raises(InputError, match="seed = -1"):
        MissingCells(-1, 0.5)


def test_cells_are_taken_away_once():
    source = as_source(np.zeros((2, 2))).with_missing(MissingCells(0, 0.5))
    with pytest.raises(InputError, match=r"already missing by .*0\.5"):
        source.with_missing(MissingCells(1, 0.5))


def test_rows_beyond_the_streams_are_refused():
    with pytest.raises(InputError, match="4,294,967,296 rows"):
        MissingCells(0, 0.5).inject(np.zeros((2, 1)), 2**32 - 1)


@pytest.mark.parametrize("features", [[], [1, 0], [1, 1], [-1, 0], [0, 3]])
def test_features_kept_must_increase(features):
    with pytest.raises(InputError, match="strictly increasing"):
        as_source(np.zeros((2, 3))).keep_features(np.array(features, dtype=np.int64))


@pytest.mark.parametrize("costs", [[1.0], [1.0, -1.0, 0.0], [1.0, np.nan, 0.0]])
def test_costs_are_checked(costs):
    with pytest.raises(InputError, match="feature_cost"):
        as_source(np.zeros((2, 3))).with_costs(costs)


def test_methods_see_the_same_data_as_if_the_cells_were_missing_from_the_start():
    """Selection and evaluation on a fold, with the cells drawn and features kept on the way."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 9, (60, 7)).astype(np.uint8)
    Y = (rng.random((60, 3)) < 0.4).astype(np.uint8)
    kept, train, test = np.array([0, 2, 3, 6]), np.arange(0, 60, 2), np.arange(1, 60, 2)
    lacking = inject(X, 4, 0.2)[:, kept]
    for form in (np.asarray, sp.csr_matrix):
        source = as_source(form(X), Y, tile=16).with_missing(MissingCells(4, 0.2))
        source = source.keep_features(kept)
        other = as_source(form(lacking), Y, tile=16)
        found = []
        for rows in (source, other):
            record = protocol.select(SPEC(impute="mean"), rows.take(train))
            ranking = (np.array(record["order"]), [1, 3, 4])
            fold = (rows.take(train), rows.take(test))
            found.append((record, protocol.judge(MLkNN(5), fold, ranking, ["hamming_loss"])))
        assert found[0] == found[1]
