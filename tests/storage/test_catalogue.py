"""Names of data sets: entries of the catalogue, stores, and what to do when neither is there."""

import hashlib
import json
from pathlib import Path

import pytest

from mlfs_dask import open_dataset
from mlfs_dask.errors import DataFileError, InputError, NotFoundError
from mlfs_dask.storage import catalogue as names
from mlfs_dask.storage.describe import describe
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.verify import verify
from mlfs_dask.testing.tables import ArrayTable

ARFF = "@relation r\n@attribute a numeric\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
XML = """<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="l"></label><label name="m"></label></labels>"""


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A catalogue of one data set, with its files."""
    data = tmp_path / "data" / "sub"
    data.mkdir(parents=True)
    (data / "train.arff").write_text(ARFF + "1,0,1\n2,1,1\n")
    (data / "test.arff").write_text(ARFF + "3,1,0\n")
    (data / "labels.xml").write_text(XML)
    entry = [
        'name = "tiny"',
        'title = "A tiny set"',
        "n_samples = 3",
        "n_features = 1",
        "n_labels = 2",
        'aliases = ["old/tiny"]',
        'source = "nowhere"',
        'licence = "none given"',
    ]
    for name, role in (("train.arff", "data"), ("test.arff", "test"), ("labels.xml", "labels")):
        digest = hashlib.sha256((data / name).read_bytes()).hexdigest()
        entry += ["[[files]]", f'path = "sub/{name}"', f'role = "{role}"', f'sha256 = "{digest}"']
    folder = tmp_path / "catalogue"
    folder.mkdir()
    (folder / "tiny.toml").write_text("\n".join(entry))
    monkeypatch.setattr(names, "declaration", lambda relative: folder)
    monkeypatch.setenv("MLFS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MLFS_STORES", str(tmp_path / "stores"))
    return tmp_path


@pytest.mark.parametrize("name", ["tiny", "old/tiny"])
def test_a_name_without_a_store_is_ingested(shelf, name):
    dataset = open_dataset(name)
    assert dataset.path == str(shelf / "stores" / "tiny.zarr")
    assert dataset.name == "tiny"
    assert dataset.split.tolist() == [1, 1, 2]
    assert dataset.label_names == ("l", "m")
    assert [file["role"] for file in dataset.attributes["source"]] == ["data", "test", "labels"]
    (shelf / "data" / "sub" / "train.arff").unlink()
    assert open_dataset(name).digest == dataset.digest  # the store is used from now on


def test_a_path_a_name_and_a_name_with_ending(shelf):
    path = open_dataset("tiny").path
    for given in (path, Path(path), "tiny", "tiny.zarr"):
        assert open_dataset(given).path == path


def test_the_folder_of_stores_by_default(shelf, monkeypatch):
    monkeypatch.delenv("MLFS_STORES")
    monkeypatch.chdir(shelf)
    assert names.store_path("x") == Path("storage/stores/x.zarr")
    assert Path(open_dataset("tiny").path) == shelf / "storage" / "stores" / "tiny.zarr"


def test_no_data_folder(shelf, monkeypatch):
    monkeypatch.delenv("MLFS_DATA")
    with pytest.raises(NotFoundError, match="MLFS_DATA is not set") as caught:
        open_dataset("tiny")
    assert "mlfs data ingest FILE --name tiny" in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there(shelf):
    (shelf / "data" / "sub" / "test.arff").unlink()
    with pytest.raises(NotFoundError, match=r"needs sub/test.arff, which is not in MLFS_DATA"):
        open_dataset("tiny")


def test_a_file_of_other_content(shelf):
    with (shelf / "data" / "sub" / "train.arff").open("a") as handle:
        handle.write("9,0,0\n")
    with pytest.raises(DataFileError, match="as in the catalogue entry 'tiny'"):
        open_dataset("tiny")
    assert not (shelf / "stores").exists()


def test_a_table_of_another_size(shelf):
    entry = shelf / "catalogue" / "tiny.toml"
    entry.write_text(entry.read_text().replace("n_features = 1", "n_features = 2"))
    names._read_catalogue.cache_clear()
    with pytest.raises(DataFileError, match="1 feature and 2 labels were found; expected 2 and 2"):
        open_dataset("tiny")
    names._read_catalogue.cache_clear()


@pytest.mark.parametrize(
    ("line", "problem"),
    [("colour = 'red'", "unknown field `colour`"), ("tile = ", ""), ("name = 3", "")],
)
def test_a_wrong_entry_is_named(shelf, line, problem):
    (shelf / "catalogue" / "wrong.toml").write_text(line)
    names._read_catalogue.cache_clear()
    with pytest.raises(DataFileError, match=r"wrong\.toml.*" + problem):
        names.catalogue()
    names._read_catalogue.cache_clear()


def test_unknown_names_come_with_near_ones(shelf):
    ingest(ArrayTable([[1.0]], [[1]]), shelf / "stores" / "emotional.zarr")
    with pytest.raises(NotFoundError, match="named 'emotion'") as caught:
        open_dataset("emotion")
    assert "Did you mean emotional?" in caught.value.hint
    with pytest.raises(NotFoundError):
        open_dataset("some/path.zarr")


def test_resolving_without_ingesting(shelf):
    with pytest.raises(NotFoundError, match="no store yet") as caught:
        names.resolve_store("tiny", ingest_missing=False)
    assert caught.value.hint == "Make it with: mlfs data ingest tiny"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0b"])
def test_names_no_store_may_have(name):
    with pytest.raises(InputError, match="is no name for a store"):
        names.store_path(name)


ENTRIES = names.catalogue()


def test_the_shipped_catalogue_is_whole():
    assert len(ENTRIES) == 44
    for entry in ENTRIES.values():
        roles = [file.role for file in entry.files]
        assert roles.count("data") == 1
        assert len(set(roles)) == len(roles)
        assert entry.source
        assert entry.licence
        for file in entry.files:
            assert not Path(file.path).is_absolute()
            assert ".." not in Path(file.path).parts
            assert len(file.sha256) == 64


def test_entries_and_catalog_agree(mlfs_data):
    """Sizes, files and digests of the folder's own list; genbase leaves its identifier out."""
    listed = {
        entry["name"]: entry
        for entry in json.loads((mlfs_data / "catalog.json").read_text())["datasets"]
    }
    by_name = {name.removeprefix("uci/"): entry for name, entry in listed.items()}
    assert set(by_name) == set(ENTRIES)
    for name, entry in ENTRIES.items():
        known = by_name[name]
        identifiers = 1 if name == "genbase" else 0
        assert entry.n_samples == known["n"]
        assert entry.n_features == known["d"] - identifiers
        assert entry.n_labels == known["q"]
        digests = {f"{known['folder']}/{file['name']}": file["sha256"] for file in known["files"]}
        assert all(digests[file.path] == file.sha256 for file in entry.files)


def check_store(name, listed):
    dataset = open_dataset(name)
    facts = describe(dataset)
    assert facts.n_samples == listed["n"]
    if "cardinality" in listed:
        assert round(facts.label_cardinality, 4) == listed["cardinality"]
        assert facts.label_sets == listed["distinct_label_sets"]
        assert facts.samples_without_label == listed["rows_without_label"]
        assert facts.labels_never_positive == listed["labels_never_positive"]
    if facts.split["test"] and "rows_of_test_also_in_train" in listed.get("splits", {}):
        assert facts.rows_shared_by_split == listed["splits"]["rows_of_test_also_in_train"]
    if listed.get("constant_features") is not None and name != "genbase":
        assert facts.constant_features == listed["constant_features"]
    assert facts.missing == listed.get("missing_values", 0)
    return dataset


def listed_entry(mlfs_data, name):
    listed = json.loads((mlfs_data / "catalog.json").read_text())["datasets"]
    return next(entry for entry in listed if entry["name"].removeprefix("uci/") == name)


@pytest.mark.parametrize("name", ["emotions", "birds", "genbase", "enron", "colic", "tmc2007-500"])
def test_real_sets(mlfs_data, name):
    check_store(name, listed_entry(mlfs_data, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_all_real_sets(mlfs_data, name):
    dataset = check_store(name, listed_entry(mlfs_data, name))
    assert verify(Path(dataset.path)).ok
