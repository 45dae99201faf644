"""``mlfs data``: exact calls of the library, and the real thing on tiny stores."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from mlfs_dask.cli import mlfs
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.store import open_store
from mlfs_dask.testing.tables import ArrayTable
from processes import run_command

ARFF = """@relation tiny
@attribute 'a b' numeric
@attribute colour {red,green,blue}
@attribute one {0,1}
@attribute two {0,1}
@data
1.5,red,1,0
0,blue,0,1
?,green,1,1
"""
XML = """<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="one"></label><label name="two"></label></labels>"""


def run(*arguments):
    return CliRunner().invoke(mlfs, ["data", *map(str, arguments)])


def run_json(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def stores(monkeypatch, tmp_path):
    folder = tmp_path / "stores"
    monkeypatch.setenv("MLFS_STORES", str(folder))
    monkeypatch.delenv("MLFS_DATA", raising=False)
    return folder


@pytest.fixture
def tiny(stores):
    table = ArrayTable(np.eye(6, 4), np.eye(6, 2), [1, 1, 1, 1, 2, 2])
    return ingest(table, stores / "tiny.zarr", name="tiny")


@pytest.fixture
def arff(tmp_path):
    (tmp_path / "tiny.arff").write_text(ARFF)
    (tmp_path / "tiny.xml").write_text(XML)
    return tmp_path / "tiny.arff"


def test_ingest_passes_every_option_on(stores, monkeypatch, tmp_path, tiny):
    seen = {}

    def open_table(source, *, test, options):
        seen.update(source=source, test=test, options=options)
        return SimpleNamespace(header=SimpleNamespace(name="from-reader"))

    def write(reader, dest, **layout):
        seen.update(dest=dest, layout=layout)
        return tiny

    monkeypatch.setattr("mlfs_dask.storage.readers.open_table", open_table)
    monkeypatch.setattr("mlfs_dask.storage.ingest.ingest", write)
    flags = "--labels a,'b --xml l.xml -C -3 --index-base 0 --n-features 9 --positive yes"
    flags += " --keep-identifiers --format csv --dtype float32 --tile 64 --force --test t.csv"
    done = run("ingest", "x.csv", *flags.split(), "--name", "N")
    assert done.exit_code == 0, done.output
    options = seen["options"]
    assert seen["source"] == Path("x.csv")
    assert seen["test"] == Path("t.csv")
    assert options.labels == ("a", "'b")
    assert (options.xml, options.n_labels, options.index_base) == (Path("l.xml"), -3, 0)
    assert (options.n_features, options.positive) == (9, "yes")
    assert (options.keep_identifiers, options.name, options.format) == (True, "N", "csv")
    assert seen["layout"] == {"tile": 64, "dtype": "float32", "overwrite": True}
    assert seen["dest"] == stores / "from-reader.zarr"


@pytest.mark.parametrize(
    ("text", "labels"),
    [("3", 3), ("-2", -2), ("a", ("a",)), ("a,b c", ("a", "b c")), ('"x,y", z', ("x,y", "z"))],
)
def test_labels_are_names_or_a_number(text, labels):
    from mlfs_dask.cli.data import _parse_labels

    assert _parse_labels(text) == labels


def test_ingest_to_the_folder_of_stores(stores, arff):
    made = run_json("ingest", arff)
    assert made["path"] == str(stores / "tiny.zarr")
    assert (made["n_samples"], made["n_features"], made["n_labels"]) == (3, 2, 2)
    assert [file["name"] for file in made["source"]] == ["tiny.arff", "tiny.xml"]
    dataset = open_store(stores / "tiny.zarr")
    assert dataset.feature_names == ("a b", "colour")
    assert dataset.categories == {1: ("red", "green", "blue")}


def test_ingest_to_a_path_or_a_name(stores, arff, tmp_path):
    assert run_json("ingest", arff, tmp_path / "sub" / "x.zarr")["name"] == "tiny"
    assert run_json("ingest", arff, "named")["path"] == str(stores / "named.zarr")
    assert run_json("ingest", arff, "--name", "other")["path"] == str(stores / "other.zarr")


def test_ingest_a_pair(stores, arff):
    test = arff.with_name("more.arff")
    test.write_text(ARFF)
    made = run_json("ingest", arff, "--test", test, "--tile", "2", "--dtype", "float64")
    dataset = open_store(Path(made["path"]))
    assert dataset.split.tolist() == [1, 1, 1, 2, 2, 2]
    assert (dataset.tile, dataset.x_dtype) == (2, np.float64)


def test_an_existing_store_needs_force(stores, arff):
    run_json("ingest", arff)
    again = run("ingest", arff)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert "--force" in again.stderr
    assert run("ingest", arff, "--force").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest"],
        ["ingest", "missing.arff"],
        ["ingest", "missing.arff", "--json"],
        ["ingest", "."],
        ["ingest", "x.arff", "--tile", "0"],
        ["ingest", "x.arff", "--index-base", "2"],
        ["ingest", "x.arff", "--dtype", "int32"],
        ["show", "nope"],
        ["verify", "nope"],
        ["verify", "."],
        ["show", "."],
        ["export", "nope", "-o", "x.npz"],
        ["export", "tiny"],
        ["export", "tiny", "-o", "x.unknown"],
        ["synth", "x", "--density", "2"],
        ["synth", "x", "--features", "3"],
        ["synth", "x", "--label-sets", "300"],
        ["synth", "..", "--samples", "5"],
        ["show", "../tiny"],
        ["show", ""],
        ["show", "a\0b"],
        ["show", "emotions"],
        ["ingest", "emotions"],
    ],
)
def test_mistakes_are_messages(tiny, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert done.stderr.count("Error: ") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["stores"]
    assert [path.name for path in (tmp_path / "stores").iterdir()] == ["tiny.zarr"]


def test_a_machine_fault_is_exit_code_1(tiny, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = run("synth", "x", "--json")
    assert done.exit_code == 1
    error = json.loads(done.stdout)["error"]
    assert "No space left on device" in error["message"]
    assert not (tmp_path / "stores" / "x.zarr").exists()


def test_show(tiny):
    facts = run_json("show", "tiny")
    required = (
        "name n_samples n_features n_labels label_cardinality label_density label_sets missing "
        "duplicate_rows rows_shared_by_split"
    )
    assert set(required.split()) <= set(facts)
    assert (facts["name"], facts["n_samples"], facts["split"]["test"]) == ("tiny", 6, 2)
    text = run("show", tiny.path)
    assert text.exit_code == 0
    assert "6 (4 train, 2 test)" in text.output


def test_verify(tiny):
    assert run_json("verify", "tiny")["ok"] is True
    assert run("verify", "tiny").exit_code == 0
    chunk = Path(tiny.path) / "X" / "c" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"!")
    plain = run("verify", "tiny")
    assert plain.exit_code == 2
    assert "X/c/0/0: chunk (0, 0) of array 'X' changed" in plain.stderr
    with_json = run("verify", "tiny", "--json")
    assert with_json.exit_code == 2
    document = json.loads(with_json.stdout)
    assert document["ok"] is False
    assert [item["file"] for item in document["damage"]] == ["X/c/0/0"]
    assert run("verify", "emotions").exit_code == 2  # never ingests by itself


def test_list(tiny, stores):
    broken = stores / "broken.zarr"
    broken.mkdir()
    listed = run_json("list")
    assert [(s["name"], s["n_samples"]) for s in listed["stores"]] == [("broken", 0), ("tiny", 6)]
    assert "not a finished store" in listed["stores"][0]["problem"]
    entries = {entry["name"]: entry for entry in listed["catalogue"]}
    assert entries["emotions"]["n_samples"] == 593
    assert entries["emotions"]["has_store"] is False
    text = run("list").output
    assert "tiny" in text
    assert "emotions" in text


def test_list_without_any_store(stores):
    assert "No stores yet." in run("list").output


def test_synth(stores):
    made = run_json("synth", "planted", "-n", 50, "-d", 30, "-q", 3, "--seed", 4, "--tile", 16)
    dataset = open_store(stores / "planted.zarr")
    assert (dataset.n_samples, dataset.n_features, dataset.n_labels) == (50, 30, 3)
    assert dataset.tile == 16
    assert dataset.truth["parameters"]["seed"] == 4
    assert made["digest"] == dataset.digest


def test_export(tiny, tmp_path):
    report = run_json("export", "tiny", "-o", tmp_path / "out" / "t.csv")
    assert report["files"] == [str(tmp_path / "out" / "t.csv")]
    assert report["not_held"] == ["the split into training and test rows"]
    again = run("export", "tiny", "-o", tmp_path / "out" / "t.csv")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    forced = run("export", "tiny", "-o", tmp_path / "out" / "t.csv", "--force", "--format", "meka")
    assert forced.exit_code == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["t-test.csv", "t-train.csv", "t.csv"]


def test_names_become_no_paths_outside(stores, tmp_path):
    (tmp_path / "secret.zarr").mkdir()
    for name in ("../secret", "..\\secret", "/etc"):
        assert run("show", name).exit_code == 2


@pytest.mark.parametrize("name", ["imdb", "yahoo-science"])
def test_ingest_streams(stores, mlfs_data, monkeypatch, name):
    """The whole process stays below 500 MB, interpreter and libraries included."""
    monkeypatch.setenv("MLFS_DATA", str(mlfs_data))
    cost = run_command([sys.executable, "-m", "mlfs_dask", "data", "ingest", name])
    assert cost.peak_bytes < 500e6
    assert (stores / f"{name}.zarr" / "complete").exists()


def test_append_and_close(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,l\n1,0\n2,1\n3,0\n")
    late = tmp_path / "late.csv"
    late.write_text("b,l\n0.5,0\n1.5,1\n2.5,0\n")
    store = str(tmp_path / "rows.zarr")
    run("ingest", str(table), store, "--labels", "l")
    first = json.loads(run("show", store, "--json").stdout)["digest"]
    result = run("append", store, str(late), "--json")
    made = json.loads(result.stdout)
    assert (made["blocks"], made["n_features"], made["closed"]) == ([1], 2, False)
    assert made["digest"] != first
    for words, problem in (
        ([str(late)], "has a feature 'b' already"),
        ([], "give a FILE to append, or --close"),
        ([str(tmp_path / "no.csv")], "no.csv"),
    ):
        refused = run("append", store, *words)
        assert refused.exit_code == 2
        assert problem in refused.stderr
    closed = run("append", store, "--close")
    assert "closed, no further block will come" in closed.stdout
    refused = run("append", store, str(late), "--prefix", "x")
    assert refused.exit_code == 2
    assert "is closed" in refused.stderr
    shown = run("show", store).stdout
    assert "1 block, of 1 feature (closed, no more will come)" in shown
    assert run("verify", store).exit_code == 0
