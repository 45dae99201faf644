"""The full shape of a set of which only the frequent words are at hand."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from scipy.io import savemat
from sklearn.linear_model import LogisticRegression

from mlfs_dask.cli import mlfs
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.ingest import StoreOptions
from mlfs_dask.storage.likeness import fit_log_odds, read_likeness
from mlfs_dask.storage.synth import BLOCK_ROWS
from mlfs_dask.storage.synth_like import LikeTable, synthesize_like

N_TRAIN, N_TEST, Q, KEPT, WORDS = 4000, 1000, 4, 12, 60


@pytest.fixture(scope="module")
def variables():
    """Twelve frequent words, the first three of which stand for labels 0, 1 and 2."""
    rng = np.random.default_rng(1)
    n = N_TRAIN + N_TEST
    Y = (rng.random((n, Q)) < [0.5, 0.3, 0.2, 0.1]).astype(float)
    share = np.tile(np.linspace(0.7, 0.05, KEPT), (n, 1))
    for word in range(3):
        share[:, word] = np.where(Y[:, word] > 0, 0.8, 0.4)
    X = (rng.random((n, KEPT)) < share).astype(float)
    counts = X.sum(axis=0).astype(int)
    rare = np.sort(rng.integers(0, counts.min(), WORDS - KEPT))[::-1]
    rare[-2:], rare[-5:-2] = 0, 1
    return {
        "X": sp.csc_matrix(X[:N_TRAIN]),
        "Y": sp.csc_matrix(Y[:N_TRAIN]),
        "Xt": sp.csc_matrix(X[N_TRAIN:]),
        "Yt": sp.csc_matrix(Y[N_TRAIN:]),
        "attribDF": np.concatenate([rare[:20], counts, rare[20:]]).astype(np.uint16)[None],
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory, variables):
    path = tmp_path_factory.mktemp("like") / "small.mat"
    savemat(path, variables, do_compression=True)
    return path


@pytest.fixture(scope="module")
def made(source):
    return synthesize_like(source.with_name("small-like.zarr"), source, seed=3)


def test_shape_labels_and_frequencies_are_those_of_the_file(made, variables):
    assert (made.n_samples, made.n_features, made.n_labels) == (N_TRAIN + N_TEST, WORDS, Q)
    assert made.is_sparse
    assert made.x_dtype == np.uint8
    X = made.X[:]
    np.testing.assert_array_equal(np.bincount(X.indices, minlength=WORDS), variables["attribDF"][0])
    assert (X.data == 1).all()
    Y = sp.vstack([variables["Y"], variables["Yt"]]).toarray()
    np.testing.assert_array_equal(made.Y, Y)
    assert np.bincount(made.split).tolist() == [0, N_TRAIN, N_TEST]
    assert made.attributes["source"][0]["name"] == "small.mat"
    assert "no cell of X" in made.attributes["notes"][0]


def test_words_depend_on_labels_as_those_of_the_file(source, made):
    """Fitted anew on what was made, log-odds are those that were drawn, noise of the fit aside."""
    likeness = read_likeness(source)
    drawn = LikeTable(likeness, "t", seed=3).log_odds
    sets, codes = np.unique(made.Y, axis=0, return_inverse=True)
    members = sp.csr_matrix(
        (np.ones(len(codes)), (codes.ravel(), np.arange(len(codes)))), shape=(len(sets), len(codes))
    )
    found = (members @ made.X[:].astype(float)).toarray()
    frequent = (likeness.frequencies > 200) & (likeness.frequencies < made.n_samples)
    again = fit_log_odds(sets, np.bincount(codes.ravel()), found[:, frequent])
    assert np.abs(again - drawn[frequent]).mean() < 0.12
    assert np.corrcoef(again.ravel(), drawn[frequent].ravel())[0, 1] > 0.9


def test_a_word_takes_the_log_odds_of_one_of_the_file(source):
    likeness = read_likeness(source)
    table = LikeTable(likeness, "t")
    directions = likeness.log_odds / np.linalg.norm(likeness.log_odds, axis=1, keepdims=True)
    for drawn in table.log_odds:
        assert (directions @ (drawn / np.linalg.norm(drawn))).max() == pytest.approx(1.0)


def test_log_odds_are_those_of_ridge_regression(source, variables):
    likeness = read_likeness(source)
    X = sp.vstack([variables["X"], variables["Xt"]]).toarray()
    for word in (0, 5, 11):
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(likeness.Y, X[:, word])
        np.testing.assert_allclose(likeness.log_odds[word], model.coef_[0], atol=1e-5)


def test_documents_differ_in_length_as_those_of_the_file(source, variables):
    likeness = read_likeness(source)
    assert likeness.spread < 0.3  # the words of this file are independent given the labels
    X = sp.vstack([variables["X"], variables["Xt"]]).toarray()
    long = np.random.default_rng(0).random(len(X)) < 0.5
    X[long] = np.maximum(X[long], X[np.roll(np.flatnonzero(long), 1)])
    frequencies = variables["attribDF"].copy()
    frequencies[0, 20 : 20 + KEPT] = X.sum(axis=0)
    path = source.with_name("uneven.mat")
    savemat(path, {**variables, "X": sp.csc_matrix(X[:N_TRAIN]), "Xt": sp.csc_matrix(X[N_TRAIN:]),
                   "attribDF": frequencies})  # fmt: skip
    uneven = read_likeness(path)
    assert uneven.spread > 0.4
    kept = slice(20, 20 + KEPT)
    drawn = np.concatenate([b.X[:, kept].sum(axis=1) for b in LikeTable(uneven, "t").batches()])
    assert drawn.std() == pytest.approx(X.sum(axis=1).std(), rel=0.1)


def test_blocks_have_streams_of_their_own(source, made):
    likeness = read_likeness(source)
    blocks = list(LikeTable(likeness, "t", seed=3).batches())
    assert [block.n_rows for block in blocks] == [BLOCK_ROWS, N_TRAIN + N_TEST - BLOCK_ROWS]
    table = LikeTable(likeness, "t", seed=3)
    alone = table.draw(1)
    assert (alone.X != blocks[1].X).nnz == 0
    assert (sp.vstack([block.X for block in blocks]) != made.X[:]).nnz == 0


def test_the_seed_decides(source, made, tmp_path):
    options = StoreOptions(tile=64, name="another")
    same = synthesize_like(tmp_path / "a.zarr", source, seed=3, options=options)
    assert same.digest == made.digest
    assert synthesize_like(tmp_path / "b.zarr", source, seed=4).digest != made.digest


SPOILED = {
    "no frequencies": ({"attribDF": None}, "has no attribDF"),
    "words": ({"attribDF": "many"}, "has no attribDF"),
    "halves": ({"attribDF": np.full((1, WORDS), 0.5)}, "other values than counts"),
    "not a number": ({"attribDF": np.full((1, WORDS), np.nan)}, "other values than counts"),
    "infinite": ({"attribDF": np.full((1, WORDS), np.inf)}, "other values than counts"),
    "negative": ({"attribDF": np.full((1, WORDS), -4)}, "other values than counts"),
    "more than documents": ({"attribDF": np.full((1, WORDS), 5001)}, "attribDF says 5,001"),
    "others": ({"attribDF": np.full((1, WORDS), 4)}, "does not hold the 12 most frequent words"),
    "fewer": ({"attribDF": np.full((1, 3), 4)}, "does not hold the 12 most frequent words"),
    "none": ({"attribDF": np.zeros((1, 0))}, "has no attribDF"),
    "counts": ({"X": sp.csc_matrix(np.full((N_TRAIN, KEPT), 2.0))}, "other than 0 and 1"),
    "dense": ({"X": np.ones((N_TRAIN, KEPT)), "Xt": np.ones((N_TEST, KEPT))}, "X is dense"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_other_files_are_refused(tmp_path, variables, name):
    change, message = SPOILED[name]
    content = {key: value for key, value in (variables | change).items() if value is not None}
    savemat(tmp_path / "t.mat", content)
    with pytest.raises(DataFileError, match=message) as caught:
        synthesize_like(tmp_path / "out" / "t.zarr", tmp_path / "t.mat")
    assert str(tmp_path / "t.mat") in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_negative_seed_is_refused(source, tmp_path):
    with pytest.raises(InputError, match="seed is -1; it must be at least 0"):
        synthesize_like(tmp_path / "t.zarr", source, seed=-1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--like", "tmc2007"], "needs --source"),
        (["--source", "x.mat"], "give --like tmc2007"),
        (["--like", "yeast"], "'yeast' is not 'tmc2007'"),
        (
            ["--like", "tmc2007", "--source", "x.mat", "-n", "5"],
            "--samples does not go with --like",
        ),
        (["--like", "tmc2007", "--source", "x.mat", "--sparse"], "--sparse does not go with"),
        (["--like", "tmc2007", "--source", "missing.mat"], "missing.mat"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(mlfs, ["data", "synth", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("Error: ") == 1
    assert list(tmp_path.iterdir()) == []


def test_on_the_command_line(source, made, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFS_STORES", str(tmp_path))
    arguments = ["--like", "tmc2007", "--source", str(source), "--seed", "3", "--tile", "512"]
    done = CliRunner().invoke(mlfs, ["data", "synth", *arguments])
    assert done.exit_code == 0
    assert "60 features (uint8, sparse), 4 labels in" in done.output
    assert (tmp_path / "tmc2007-like.zarr" / "complete").is_file()


@pytest.mark.slow
def test_the_full_tmc2007(mlfs_data, tmp_path):
    source: Path = mlfs_data / "tmc2007-top981" / "tmc2007.mat"
    dataset = synthesize_like(tmp_path / "t.zarr", source)
    assert (dataset.n_samples, dataset.n_features, dataset.n_labels) == (28596, 49060, 22)
    assert dataset.attributes["label_sets"] == 1341
    assert dataset.label_names[0] == "class01"
    X = dataset.X[:]
    assert X.nnz == 2982327
    assert (np.bincount(X.indices, minlength=49060) == 0).sum() == 130
