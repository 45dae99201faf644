"""Planted data: what is planted can be found, and depends on the parameters alone."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlfs_dask.errors import InputError
from mlfs_dask.storage.ingest import StoreOptions
from mlfs_dask.storage.planted import nearest_sets
from mlfs_dask.storage.store import open_store
from mlfs_dask.storage.synth import BLOCK_ROWS, Planted, PlantedTable, synthesize


def test_the_quickstart_set(tmp_path):
    dataset = synthesize(tmp_path / "quickstart.zarr")
    assert (dataset.n_samples, dataset.n_features, dataset.n_labels) == (2000, 60, 8)
    truth = dataset.truth
    assert len(truth["relevant"]) == len(truth["copies"]) == 12
    names = dataset.feature_names
    assert {names[f].rstrip("0123456789") for f in truth["relevant"]} == {"relevant"}
    assert {names[int(f)].rstrip("0123456789") for f in truth["copies"]} == {"copy"}
    assert sum(name.startswith("noise") for name in names) == 36
    assert dataset.name == "quickstart"
    assert dataset.x_dtype == np.float32


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth") / "p.zarr"
    return synthesize(path, Planted(n_samples=20_000, copy_noise=0.6))


def test_labels_depend_on_the_relevant_features(planted):
    """The strongest correlation with any label: relevant above copies above noise."""
    X, Y = np.asarray(planted.X).astype(float), planted.Y.astype(float)
    correlation = np.abs(np.corrcoef(X.T, Y.T)[:60, 60:]).max(axis=1)
    relevant = planted.truth["relevant"]
    copies = [int(f) for f in planted.truth["copies"]]
    noise = sorted(set(range(60)) - {*relevant, *copies})
    assert correlation[relevant].min() > 0.2
    assert correlation[noise].max() < 0.05
    for copy, original in planted.truth["copies"].items():
        assert 0.05 < correlation[int(copy)] < correlation[original]
        pair = np.corrcoef(X[:, int(copy)], X[:, original])[0, 1]
        assert pair == pytest.approx(0.8, abs=0.03)  # sqrt(1 - 0.6^2), less for the map to (0, 1)


def test_label_shares_and_correlation(planted):
    Y = planted.Y.astype(float)
    np.testing.assert_allclose(Y.mean(axis=0), np.linspace(0.4, 0.2, 8), atol=0.02)
    together = np.corrcoef(Y.T)[np.triu_indices(8, 1)]
    assert together.min() > 0.1
    path = Path(planted.path).with_name("free.zarr")
    free = synthesize(path, Planted(n_samples=20_000, label_correlation=0.0))
    apart = np.corrcoef(free.Y.astype(float).T)[np.triu_indices(8, 1)]
    assert np.median(np.abs(apart)) < 0.05 < np.median(together)


def test_values_are_uniform(planted):
    X = np.asarray(planted.X)
    assert X.min() >= 0
    assert X.max() <= 1
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.02)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_density(tmp_path, sparse, dtype):
    settings = Planted(n_samples=5000, density=0.1, sparse=sparse, dtype=dtype)
    dataset = synthesize(tmp_path / "t.zarr", settings)
    X = np.asarray(dataset.X)
    np.testing.assert_allclose((X > 0).mean(axis=0), 0.1, atol=0.025)
    assert dataset.is_sparse == sparse
    assert dataset.x_dtype == dtype
    assert X.max() <= 1
    if dtype == "uint8":
        assert set(np.unique(X)) == {0, 1}
    else:
        assert np.median(X[X > 0]) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("sparse", [False, True])
def test_values_depend_on_the_parameters_alone(tmp_path, sparse):
    settings = Planted(n_samples=300, density=0.3, sparse=sparse, seed=5, label_sets=9)
    one = synthesize(tmp_path / "a.zarr", settings, StoreOptions(tile=16))
    two = synthesize(tmp_path / "b.zarr", settings, StoreOptions(tile=4096, name="b"))
    assert one.digest == two.digest
    other = synthesize(
        tmp_path / "c.zarr", Planted(n_samples=300, density=0.3, sparse=sparse, seed=6)
    )
    assert other.digest != one.digest
    assert other.truth["relevant"] != one.truth["relevant"]


def test_blocks_have_streams_of_their_own():
    """Rows of a block do not depend on how many blocks there are."""
    long = list(PlantedTable(Planted(n_samples=2 * BLOCK_ROWS + 5)).batches())
    short = list(PlantedTable(Planted(n_samples=BLOCK_ROWS + 100)).batches())
    assert [batch.n_rows for batch in long] == [BLOCK_ROWS, BLOCK_ROWS, 5]
    np.testing.assert_array_equal(long[0].X, short[0].X)
    assert not np.array_equal(long[0].X[:100], short[1].X)


def test_wide_blocks_are_drawn_in_bounded_runs():
    batches = PlantedTable(Planted(n_samples=100, n_features=100_000)).batches()
    assert next(batches).n_rows == 32 * 2**20 // (8 * 100_000)


def test_all_features_relevant(tmp_path):
    dataset = synthesize(
        tmp_path / "t.zarr",
        Planted(n_samples=50, n_features=3, n_labels=1, relevant=3, copies=0, sparse=True),
    )
    assert dataset.truth["relevant"] == [0, 1, 2]
    assert open_store(tmp_path / "t.zarr").n_labels == 1


@pytest.mark.parametrize(("n_samples", "label_sets"), [(6000, 40), (40, 40), (300, 1), (100, 32)])
def test_the_number_of_label_sets_is_exact(tmp_path, n_samples, label_sets):
    settings = Planted(n_samples=n_samples, n_labels=5 if label_sets <= 32 else 12,
                       label_sets=label_sets)  # fmt: skip
    dataset = synthesize(tmp_path / "t.zarr", settings)
    assert len(np.unique(dataset.Y, axis=0)) == label_sets
    assert dataset.attributes["label_sets"] == label_sets


def test_label_sets_reached_by_noise_alone(tmp_path):
    """Without noise and with all labels alike only 4 of the 8 sets of three labels come about."""
    settings = Planted(n_samples=50, n_labels=3, label_correlation=1.0, label_noise=0.0)
    assert synthesize(tmp_path / "a.zarr", settings).attributes["label_sets"] <= 4
    all_sets = replace(settings, label_sets=8)
    assert synthesize(tmp_path / "b.zarr", all_sets).attributes["label_sets"] == 8


def test_a_row_takes_the_nearest_of_the_label_sets():
    settings = Planted(n_samples=BLOCK_ROWS + 500, n_labels=10, label_sets=30)
    chosen = np.concatenate([b.Y for b in PlantedTable(settings).batches()])
    free = np.concatenate([b.Y for b in PlantedTable(replace(settings, label_sets=None)).batches()])
    sets = np.unique(chosen, axis=0)
    distances = (free[:, None, :] != sets[None]).sum(axis=2)
    own = (free != chosen).sum(axis=1)
    assert (own > distances.min(axis=1)).sum() <= 30  # one row a set has it whatever it is
    assert (own == 0).any()


def test_label_sets_leave_the_features_alone():
    settings = Planted(n_samples=200, label_sets=20)
    [chosen] = PlantedTable(settings).batches()
    [free] = PlantedTable(replace(settings, label_sets=None)).batches()
    np.testing.assert_array_equal(chosen.X, free.X)


def test_the_nearest_set_by_small_steps(monkeypatch):
    rng = np.random.default_rng(0)
    Y, sets = (rng.integers(0, 2, (n, 6), dtype=np.uint8) for n in (50, 7))
    whole = nearest_sets(Y, sets)
    expected = [min(range(7), key=lambda s: (int((y != sets[s]).sum()), s)) for y in Y]
    assert whole.tolist() == expected
    monkeypatch.setattr("mlfs_dask.storage.planted._COMPARED_BYTES", 4 * 7 * 3)
    assert nearest_sets(Y, sets).tolist() == expected


def _peak(table: PlantedTable) -> int:
    tracemalloc.start()
    for batch in table.batches():
        del batch
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("sparse", [False, True])
def test_memory_does_not_grow_with_the_rows(sparse):
    """Blocks are drawn ahead by threads, but no further than two."""
    settings = Planted(n_features=200, density=0.02, sparse=sparse)
    few = _peak(PlantedTable(replace(settings, n_samples=5 * BLOCK_ROWS)))
    many = _peak(PlantedTable(replace(settings, n_samples=16 * BLOCK_ROWS)))
    assert many < 1.5 * few


WRONG = {
    "n_samples": (0, "at least 1"),
    "n_labels": (0, "at least 1"),
    "relevant": (0, "at least 1"),
    "copies": (-1, "at least 0"),
    "n_features": (23, "at least 24, the relevant features and their copies"),
    "copy_noise": (1.5, "from 0 to 1"),
    "label_correlation": (-0.1, "from 0 to 1"),
    "label_noise": (-1.0, "at least 0"),
    "label_sets": (0, "from 1 to 256, no more than samples or sets of 8 labels"),
    "density": (0.0, "above 0, at most 1"),
    "dtype": ("int16", "uint8, float32 or float64"),
    "seed": (-1, "at least 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_impossible_parameters(tmp_path, name):
    value, allowed = WRONG[name]
    with pytest.raises(InputError) as caught:
        synthesize(tmp_path / "t.zarr", Planted(**{name: value}))
    assert str(caught.value) == f"{name} is {value!r}; it must be {allowed}"
    assert list(tmp_path.iterdir()) == []


def test_more_columns_than_a_store_can_number(tmp_path):
    with pytest.raises(InputError, match=r"n_features is 2147483648; it must be below 2\^31"):
        synthesize(tmp_path / "t.zarr", Planted(n_features=2**31))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("n_samples", "n_labels", "most"), [(3, 30, 3), (50, 2, 4)])
def test_more_label_sets_than_there_can_be(tmp_path, n_samples, n_labels, most):
    settings = Planted(n_samples=n_samples, n_labels=n_labels, label_sets=most + 1)
    with pytest.raises(InputError, match=f"label_sets is {most + 1}; it must be from 1 to {most},"):
        synthesize(tmp_path / "t.zarr", settings)
    assert list(tmp_path.iterdir()) == []


def test_bits_need_a_density(tmp_path):
    with pytest.raises(InputError, match=r"density is 1\.0; it must be below 1"):
        synthesize(tmp_path / "t.zarr", Planted(dtype="uint8"))
