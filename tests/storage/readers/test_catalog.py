"""Every benchmark file is read to the counts of catalog.json."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions

SLOW = ("yahoo-arts", "yahoo-education", "yahoo-science", "yahoo-business")
SLOW += ("rcv1sub1", "imdb", "delicious", "bibtex", "tmc2007-500-fixed")
# An attribute that tells the rows apart is kept out.
DROPPED = {"genbase": 1}
MEKA = "full (MEKA form)"


def _entries():
    folder = os.environ.get("MLFS_DATA")
    path = Path(folder) / "catalog.json" if folder else None
    return json.loads(path.read_text())["datasets"] if path and path.exists() else []


ENTRIES = {entry["name"]: entry for entry in _entries()}


def _cases():
    """(data set, file, what the catalogue says of it), the big sets marked slow."""
    for name, entry in ENTRIES.items():
        marks = [pytest.mark.slow] if name in SLOW else []
        for file in entry["files"]:
            role = file["role"]
            if role in ("train", "test"):
                facts = entry["splits"][role]
            elif role == MEKA:
                facts = entry["meka"]
            elif role in ("full", "full (derived)", "sample", "train+test"):
                facts = entry
            else:
                continue
            yield pytest.param(name, file["name"], facts, id=f"{name}:{file['name']}", marks=marks)


def _pairs():
    for name, entry in ENTRIES.items():
        marks = [pytest.mark.slow] if name in SLOW else []
        roles = {file["role"]: file["name"] for file in entry["files"]}
        if "train" in roles:
            yield pytest.param(name, roles["train"], roles["test"], id=name, marks=marks)


CASES = list(_cases()) or [pytest.param("none", "none", {}, id="no-data")]
PAIRS = list(_pairs()) or [pytest.param("none", "none", "none", id="no-data")]


class Measured:
    """Counts of a table, batch by batch."""

    def __init__(self, table):
        self.header = table.header
        self.n = self.missing = self.nonzero = self.unlabelled = 0
        self.per_label = np.zeros(table.header.n_labels, np.int64)
        self.sets = set()
        self.split = Counter()
        for batch in table.batches():
            X, Y = batch.X, batch.Y
            assert X.shape == (len(Y), self.header.n_features)
            assert Y.max() <= 1
            values = X.data if self.header.is_sparse else X
            if self.header.is_sparse:
                assert X.has_canonical_format
                assert not (values == 0).any()
            self.n += len(Y)
            self.missing += int(np.isnan(values).sum())
            self.nonzero += int(np.count_nonzero(values))
            self.per_label += Y.sum(axis=0, dtype=np.int64)
            self.unlabelled += int((Y.sum(axis=1) == 0).sum())
            self.sets |= set(map(bytes, np.packbits(Y, axis=1)))
            self.split.update(batch.split.tolist())

    @property
    def cardinality(self):
        return self.per_label.sum() / self.n

    def check(self, facts, dropped=0):
        d = facts["d"] - dropped
        assert (self.n, self.header.n_features, self.header.n_labels) == (
            facts["n"],
            d,
            facts["q"],
        )
        if "cardinality" in facts:
            assert self.cardinality == pytest.approx(facts["cardinality"], abs=6e-5)
        if "distinct_label_sets" in facts:
            assert len(self.sets) == facts["distinct_label_sets"]
        if "rows_without_label" in facts:
            assert self.unlabelled == facts["rows_without_label"]
            assert int((self.per_label == 0).sum()) == facts["labels_never_positive"]
        if "feature_kinds" in facts:
            kinds = np.bincount(self.header.feature_kind, minlength=2).tolist()
            nominal = facts["feature_kinds"].get("nominal", 0)
            assert kinds == [d + dropped - nominal, nominal - dropped]
        assert self.missing == facts.get("missing_values", 0)
        assert sorted(self.header.categories) == np.flatnonzero(self.header.feature_kind).tolist()


@pytest.mark.parametrize(("name", "file", "facts"), CASES)
def test_file_has_the_counts_of_the_catalogue(mlfs_data, name, file, facts):
    """n, d, q, cardinality, label sets, kinds, missing counts; with no flag but the source."""
    entry = ENTRIES[name]
    table = open_table(mlfs_data / entry["folder"] / file)
    found = Measured(table)
    found.check(facts, DROPPED.get(name, 0))
    if facts is entry and "nonzero_fraction" in entry and name not in DROPPED:
        fraction = found.nonzero / (found.n * found.header.n_features)
        assert fraction == pytest.approx(entry["nonzero_fraction"], abs=6e-6)
    if "class_values" in entry:
        # The positive class is the less frequent one; names and counts as in the catalogue.
        rarer = min(entry["class_values"].values())
        assert found.per_label.tolist() == [rarer]
        assert found.header.label_names == (entry["class_attribute"],)


@pytest.mark.parametrize(("name", "train", "test"), PAIRS)
def test_pair_of_files_is_one_table(mlfs_data, name, train, test):
    """Train rows first, split filled, nothing lost."""
    entry = ENTRIES[name]
    folder = mlfs_data / entry["folder"]
    found = Measured(open_table(folder / train, test=folder / test))
    splits = entry["splits"]
    facts = {"n": splits["train"]["n"] + splits["test"]["n"], "d": entry["d"], "q": entry["q"]}
    if splits.get("full_equals_train_plus_test") or name in ("scene", "image"):
        facts |= {k: entry[k] for k in ("cardinality", "distinct_label_sets", "feature_kinds")}
    found.check(facts, DROPPED.get(name, 0))
    assert found.split == {1: splits["train"]["n"], 2: splits["test"]["n"]}


@pytest.mark.parametrize("name", ["emotions", "medical", "birds", "genbase"])
def test_pair_equals_the_full_file(mlfs_data, name):
    """Same rows, where the full file is train then test; genbase differs by one protein only."""
    entry = ENTRIES[name]
    folder = mlfs_data / entry["folder"]
    roles = {file["role"]: folder / file["name"] for file in entry["files"]}
    pair = open_table(roles["train"], test=roles["test"])
    full = open_table(roles["full"])
    assert pair.header.feature_names == full.header.feature_names
    assert pair.header.categories == full.header.categories
    rows_of_pair, rows_of_full = _sorted_rows(pair), _sorted_rows(full)
    assert len(rows_of_pair) == len(rows_of_full) == entry["n"]
    if entry["splits"]["full_is_train_then_test_in_order"]:
        assert _rows(pair) == _rows(full)
    differing = (Counter(rows_of_pair) - Counter(rows_of_full)).total()
    assert differing <= (1 if name == "genbase" else 0)


def _rows(table):
    rows = []
    for batch in table.batches():
        X = batch.X.toarray() if table.header.is_sparse else batch.X
        rows += [x.tobytes() + y.tobytes() for x, y in zip(X, batch.Y, strict=True)]
    return rows


def _sorted_rows(table):
    return sorted(_rows(table))


def test_r_objects_are_refused(mlfs_data):
    path = mlfs_data / "yahoo-arts" / "yahoo_arts.rda"
    with pytest.raises(DataFileError, match="R object") as caught:
        open_table(path)
    assert caught.value.facts["file"] == str(path)
    assert "mldr" in caught.value.hint


class TestTraps:
    """Notes of the catalogue's README, one by one."""

    def test_genbase_yes_is_one_and_proteins_stay_out(self, mlfs_data):
        """YES is declared first and is 1; the protein is an identifier."""
        table = open_table(mlfs_data / "genbase" / "genbase.arff.gz")
        assert table.header.n_features == 1185
        assert "protein" not in table.header.feature_names
        assert any("'protein'" in note for note in table.header.notes)
        assert set(table.header.categories.values()) == {("NO", "YES")}
        X = np.vstack([batch.X for batch in table.batches()])
        assert 0 < X.mean() < 0.01
        constant = (X[0] == X).all(axis=0)
        assert constant.sum() == 1073
        kept = open_table(
            mlfs_data / "genbase" / "genbase.arff.gz", options=ReadOptions(keep_identifiers=True)
        )
        assert kept.header.n_features == 1186
        assert len(kept.header.categories[0]) == 662

    @pytest.mark.parametrize("part", ["genbase-train.arff.gz", "genbase-test.arff"])
    def test_half_of_genbase_has_no_proteins_either(self, mlfs_data, part):
        assert open_table(mlfs_data / "genbase" / part).header.n_features == 1185

    def test_yeast_labels_keep_the_order_of_the_attributes(self, mlfs_data):
        """The XML lists Class1..Class14 in another order."""
        table = open_table(mlfs_data / "yeast" / "yeast.arff.gz")
        meka = open_table(mlfs_data / "yeast" / "Yeast.arff.bz2")
        assert table.header.label_names == tuple(f"Class{i}" for i in range(1, 15))
        assert set(meka.header.label_names) == set(table.header.label_names)
        assert meka.header.feature_names == table.header.feature_names

        def by_name(t):
            order = np.argsort(t.header.label_names)
            return Counter(map(bytes, np.vstack([b.Y for b in t.batches()])[:, order]))

        assert by_name(table) == by_name(meka)

    def test_split_number_of_meka_fills_split(self, mlfs_data):
        table = open_table(mlfs_data / "yeast" / "Yeast.arff.bz2")
        assert Measured(table).split == {1: 1500, 2: 917}

    def test_stale_count_of_medical_yields_to_the_xml(self, mlfs_data):
        table = open_table(mlfs_data / "medical" / "medical.arff")
        assert table.header.label_names[0].startswith("Class-0")
        assert [s.role for s in table.header.source] == ["data", "labels"]

    def test_birds_names_hold_blanks_and_apostrophes(self, mlfs_data):
        r"""'Swainson\'s Thrush' of the ARFF is Swainson's Thrush in the XML."""
        table = open_table(mlfs_data / "birds" / "birds.arff.gz")
        assert "Swainson's Thrush" in table.header.label_names
        domains = sorted(table.header.categories.values(), key=len)
        assert [len(domain) for domain in domains] == [2, 12]
        # Declared values that are numbers but not in numeric order: the code is the position.
        assert list(domains[1]) != sorted(domains[1], key=int)

    def test_delicious_backslashes_are_literal(self, mlfs_data):
        table = open_table(mlfs_data / "delicious" / "delicious-test.arff")
        assert r"TAG_dise\~no" in table.header.label_names

    def test_slashdot_comment_after_the_relation(self, mlfs_data):
        """Labels first, sparse; liac-arff refuses the relation line."""
        table = open_table(mlfs_data / "slashdot" / "SLASHDOT-F.arff")
        found = Measured(table)
        assert found.split == {1: 1891, 2: 1891}
        assert found.header.is_sparse

    def test_enron_in_both_forms_is_the_same(self, mlfs_data):
        """Same rows and order; nominal {0,1} features here, numeric ones there."""
        mulan = open_table(mlfs_data / "enron" / "enron.arff")
        meka = open_table(mlfs_data / "enron" / "Enron.arff.bz2")
        assert sorted(mulan.header.label_names) == sorted(meka.header.label_names)
        ours, theirs = (np.vstack([b.X.toarray() for b in t.batches()]) for t in (mulan, meka))
        np.testing.assert_array_equal(ours, theirs)
        Y = {
            t: np.vstack([b.Y for b in t.batches()])[:, np.argsort(t.header.label_names)]
            for t in (mulan, meka)
        }
        np.testing.assert_array_equal(Y[mulan], Y[meka])

    def test_scene_in_meka_form(self, mlfs_data):
        """-C 6, labels first, other names than the XML beside it has: passed over."""
        table = open_table(mlfs_data / "scene" / "Scene.arff.bz2")
        assert table.header.label_names[0] == "Beach" or table.header.label_names[0] == "beach"
        assert table.header.n_labels == 6
        assert any("scene.xml" in note for note in table.header.notes)

    def test_corel5k_stems_lose_two_parts(self, mlfs_data):
        table = open_table(mlfs_data / "corel5k" / "Corel5k-train-sparse.arff")
        assert table.header.n_labels == 374

    def test_colic_has_136_positives(self, mlfs_data):
        table = open_table(mlfs_data / "uci" / "colic.arff")
        assert Measured(table).per_label.tolist() == [136]
        assert any("'no'" in note for note in table.header.notes)
        other = open_table(mlfs_data / "uci" / "colic.arff", options=ReadOptions(positive="yes"))
        assert Measured(other).per_label.tolist() == [232]

    def test_sick_has_a_feature_named_like_a_value_and_an_empty_column(self, mlfs_data):
        table = open_table(mlfs_data / "uci" / "sick.arff")
        X = np.vstack([batch.X for batch in table.batches()])
        assert "sick" in table.header.feature_names
        assert np.isnan(X[:, table.header.feature_names.index("TBG")]).all()
