"""ARFF files read to the values they were drawn from, and to what liac-arff reads."""

import bz2
import gzip
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import arff as liac
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlfs_dask.storage.export import export_store
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.storage.store import open_store
from mlfs_dask.testing.files import ArffFile, arff_files, label_xml
from processes import run_command


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One folder for all examples of a property; each writes its own sub-folder."""
    return tmp_path_factory.mktemp("drawn")


def write(folder: Path, file: ArffFile, ending: str = "") -> Path:
    home = Path(tempfile.mkdtemp(dir=folder))
    packed = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending]
    path = home / f"drawn.arff{ending}"
    path.write_bytes(packed(file.text))
    if file.xml is not None:
        (home / "drawn.xml").write_bytes(file.xml)
    return path


def read(table, **options):
    """X with NaN, Y and split of a whole table."""
    batches = list(table.batches(**options))
    X = np.vstack([b.X.toarray() if table.header.is_sparse else b.X for b in batches])
    return X, np.vstack([b.Y for b in batches]), np.concatenate([b.split for b in batches])


def table_of(folder: Path, text: str, **options):
    path = folder / "hand.arff"
    path.write_text(text, encoding="utf-8")
    return open_table(path, options=ReadOptions(**options))


class TestDrawnFiles:
    @given(file=arff_files())
    def test_reads_back_what_was_drawn(self, shared, file):
        """Names, domains, order and values are kept."""
        table = open_table(write(shared, file))
        header = table.header
        assert header.feature_names == tuple(c.name for c in file.features)
        assert header.label_names == tuple(c.name for c in file.labels)
        assert header.feature_kind.tolist() == [int(c.domain is not None) for c in file.features]
        for f, column in enumerate(file.features):
            if column.domain is not None:
                by_code = sorted(column.domain, key=column.code)
                assert header.categories[f] == tuple(by_code)
        X, Y, split = read(table)
        np.testing.assert_array_equal(X, file.X)
        np.testing.assert_array_equal(Y, file.Y)
        assert not split.any()

    @given(file=arff_files(plain=True), max_bytes=st.integers(1, 600))
    def test_any_batch_size_gives_the_same_rows(self, shared, file, max_bytes):
        table = open_table(write(shared, file))
        X, Y, _ = read(table, max_bytes=max_bytes)
        np.testing.assert_array_equal(X, file.X)
        np.testing.assert_array_equal(Y, file.Y)

    @settings(max_examples=10)
    @given(file=arff_files(), ending=st.sampled_from([".gz", ".bz2"]))
    def test_packed_files_are_the_same(self, shared, file, ending):
        X, Y, _ = read(open_table(write(shared, file, ending)))
        np.testing.assert_array_equal(X, file.X)
        np.testing.assert_array_equal(Y, file.Y)

    @given(file=arff_files(max_rows=6), cut=st.integers(1, 200))
    def test_small_chunks_of_the_file_change_nothing(self, shared, file, cut):
        path = write(shared, file)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mlfs_dask.storage.readers.textfile._CHUNK", cut)
            X, Y, _ = read(open_table(path))
        np.testing.assert_array_equal(X, file.X)
        np.testing.assert_array_equal(Y, file.Y)

    @settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
    @given(file=arff_files(max_rows=6), form=st.sampled_from(["arff", "meka"]))
    def test_store_and_export_give_the_same_table(self, shared, file, form):
        """Write-read round trip keeps names and values."""
        path = write(shared, file)
        dataset = ingest(open_table(path), path.parent / "drawn.zarr", tile=4)
        home = path.parent / "out"
        home.mkdir()
        export_store(dataset, home / "again.arff", form)
        again = open_table(home / "again.arff")
        assert again.header.feature_names == dataset.feature_names
        assert again.header.label_names == dataset.label_names
        assert again.header.categories == dataset.categories
        X, Y, _ = read(again)
        np.testing.assert_array_equal(X, file.X)
        np.testing.assert_array_equal(Y, file.Y)


class TestOracle:
    """Value equality with liac-arff on the sets it reads."""

    QUICK = ("emotions/emotions-test.arff", "birds/birds-test.arff", "genbase/genbase-test.arff")
    QUICK += ("medical/medical-test.arff", "enron/enron-test.arff", "uci/colic.arff")
    QUICK += ("uci/credit-a.arff", "uci/tic-tac-toe.arff", "uci/labor.arff", "yeast/Yeast.arff.bz2")
    SLOW = ("yeast/yeast.arff.gz", "scene/scene-train.arff.gz", "image/image-train.arff.gz")
    SLOW += ("bibtex/bibtex.arff.gz", "corel5k/Corel5k-sparse.arff", "uci/mushroom.arff")
    SLOW += ("tmc2007-500/tmc2007-500.arff.gz", "reuters-k500/reuters-k500.arff")
    SLOW += ("mediamill-small/mediamill_small.arff.gz", "genbase/genbase.arff.gz", "uci/sick.arff")

    @pytest.mark.parametrize(
        "name", [*QUICK, *[pytest.param(name, marks=pytest.mark.slow) for name in SLOW]]
    )
    def test_same_values(self, mlfs_data, name):
        path = mlfs_data / name
        table = open_table(path, options=ReadOptions(keep_identifiers=True))
        X, Y, _ = read(table)
        names, rows = _liac_rows(path)
        features = [names.index(name) for name in table.header.feature_names]
        labels = [names.index(name) for name in table.header.label_names]
        for f, column in enumerate(features):
            theirs = [row[column] for row in rows]
            if f in table.header.categories:
                categories = table.header.categories[f]
                ours = [None if np.isnan(v) else categories[int(v)] for v in X[:, f]]
            else:
                ours = [None if np.isnan(v) else v for v in X[:, f].tolist()]
            assert ours == theirs
        if len(labels) > 1:
            theirs = [[float(row[column]) for column in labels] for row in rows]
            np.testing.assert_array_equal(Y, theirs)


def _liac_rows(path: Path):
    opened = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as file:
        text = file.read()
    *_, rows = text.partition("@data") if "@data" in text else text.partition("@DATA")
    sparse = rows.lstrip().startswith("{")
    loaded = liac.loads(text, return_type=liac.LOD if sparse else liac.DENSE)
    # liac-arff leaves the backslash of an escaped apostrophe in names.
    names = [name.replace("\\'", "'") for name, _ in loaded["attributes"]]
    if not sparse:
        return names, loaded["data"]
    first = [kind[0] if isinstance(kind, list) else 0.0 for _, kind in loaded["attributes"]]
    return names, [[row.get(c, value) for c, value in enumerate(first)] for row in loaded["data"]]


class TestHandMade:
    HEAD = "@relation 'hand: -C 1'\n@attribute l {0,1}\n"

    def test_omitted_nominal_is_the_first_declared(self, tmp_path):
        """{YES,NO} omitted is YES, stored 1; {a,b} omitted is a, stored 0."""
        text = (
            self.HEAD + "@attribute y {YES,NO}\n@attribute a {a,b}\n@attribute n numeric\n@data\n"
        )
        X, Y, _ = read(table_of(tmp_path, text + "{}\n{0 1,1 NO,2 b,3 5}\n{ }\n"))
        assert X.tolist() == [[1, 0, 0], [0, 1, 5], [1, 0, 0]]
        assert Y.tolist() == [[0], [1], [0]]

    def test_omitted_label_is_its_first_value(self, tmp_path):
        text = "@relation 'x: -C 1'\n@attribute l {1,0}\n@attribute n numeric\n@data\n{}\n{0 0,1 2}"
        X, Y, _ = read(table_of(tmp_path, text))
        assert Y.tolist() == [[1], [0]]
        assert X.tolist() == [[0], [2]]

    def test_many_sparse_rows_of_defaults_stay_bounded(self, tmp_path, monkeypatch):
        """A row ``{}`` takes 3 bytes of text and a full row of memory; batches stay small."""
        wide = "".join(f"@attribute f{i} {{YES,NO}}\n" for i in range(50))
        monkeypatch.setattr("mlfs_dask.storage.readers.arff.BATCH_BYTES", 4000)
        table = table_of(tmp_path, self.HEAD + wide + "@data\n" + "{}\n" * 300 + "{1 NO}\n")
        X, _, _ = read(table)
        assert X.shape == (301, 50)
        assert X[:300].all()
        assert X[300].tolist() == [0] + [1] * 49
        assert max(batch.n_rows for batch in table.batches(max_bytes=10_000)) < 30

    def test_meka_sparse_with_labels_first(self, tmp_path):
        """-C 6 sparse, labels are the first six columns."""
        labels = "".join(f"@attribute l{i} {{0,1}}\n" for i in range(6))
        text = "@relation 'scene: -C 6 -R'\n" + labels + "@attribute f numeric\n@data\n"
        table = table_of(tmp_path, text + "{1 1,6 0.25}\n{0 1,5 1}\n")
        X, Y, _ = read(table)
        assert table.header.label_names == tuple(f"l{i}" for i in range(6))
        assert X.tolist() == [[0.25], [0]]
        assert Y.tolist() == [[0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 1]]

    def test_interleaved_labels_and_shuffled_xml(self, tmp_path):
        """Labels at 2, 4, 6, 7, 8 (1-based); columns in the order of the attributes."""
        names = ["f1", "A", "f2", "B", "f3", "C", "D", "E"]
        kinds = ["numeric" if name[0] == "f" else "{0,1}" for name in names]
        head = "".join(f"@attribute {n} {k}\n" for n, k in zip(names, kinds, strict=True))
        (tmp_path / "hand.xml").write_bytes(label_xml(["E", "B", "A", "D", "C"]))
        table = table_of(tmp_path, "@relation r\n" + head + "@data\n.1,1,.2,0,.3,1,0,1\n")
        X, Y, _ = read(table)
        assert table.header.label_names == ("A", "B", "C", "D", "E")
        assert table.header.feature_names == ("f1", "f2", "f3")
        assert X.tolist() == [[0.1, 0.2, 0.3]]
        assert Y.tolist() == [[1, 0, 1, 0, 1]]

    @pytest.mark.parametrize(
        "domain", ["{0,1}", "{1,0}", "{FALSE,TRUE}", "{false,true}", "{NO,YES}", "{YES, NO}"]
    )
    def test_label_domains(self, tmp_path, domain):
        """All load as 0/1, whichever is declared first."""
        values = [v.strip() for v in domain.strip("{}").split(",")]
        rows = "".join(f"{value},1\n" for value in values)
        text = f"@relation 'x: -C 1'\n@attribute l {domain}\n@attribute f numeric\n@data\n{rows}"
        _, Y, _ = read(table_of(tmp_path, text))
        assert Y[:, 0].tolist() == [int(v.lower() in ("1", "true", "yes")) for v in values]

    def test_escaped_quotes_in_a_domain(self, tmp_path):
        r"""'\'B1of3\'' is the text 'B1of3' with its quotes."""
        text = self.HEAD + r"@attribute g {'\'B1of3\'','\'B2of3\'',plain}" + "\n@data\n"
        table = table_of(tmp_path, text + r"0,'\'B2of3\''" + "\n0,plain\n")
        assert table.header.categories[0] == ("'B1of3'", "'B2of3'", "plain")
        assert read(table)[0].tolist() == [[1], [2]]

    def test_sparse_and_dense_rows_need_no_flag(self, tmp_path):
        head = self.HEAD + "@attribute f numeric\n@data\n"
        dense, sparse = (read(table_of(tmp_path, head + rows)) for rows in ("1,2\n", "{0 1,1 2}\n"))
        np.testing.assert_equal(dense, sparse)

    def test_no_package_named_arff_is_imported(self):
        """Two packages share that name; the run path needs neither."""
        code = "import sys, mlfs_dask.storage.readers.arff; print('arff' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "False"

    def test_many_long_levels(self, tmp_path):
        """25,000 levels of 30 characters, codes are right."""
        levels = [f"level number {i:017d}" for i in range(25_000)]
        domain = ",".join(f"'{level}'" for level in levels)
        rows = "".join(f"0,'{levels[i]}'\n" for i in (0, 24_999, 777))
        table = table_of(
            tmp_path, f"{self.HEAD}@attribute g {{{domain}}}\n@data\n{rows}" + "1,?\n" * 97
        )
        X, _, _ = read(table)
        assert X[:3, 0].tolist() == [0, 24_999, 777]
        assert len(table.header.categories[0]) == 25_000

    def test_many_different_long_domains(self, tmp_path):
        """Look-ups grow with the words, not with words times columns."""
        head = "".join(
            f"@attribute f{i} {{{','.join(f'v{i}_{j}' for j in range(40))}}}\n" for i in range(400)
        )
        row = "0," + ",".join(f"v{i}_{i % 40}" for i in range(400))
        text = f"{self.HEAD}{head}@data\n{row}\n"
        X, _, _ = read(table_of(tmp_path, text, keep_identifiers=True))
        assert X[0].tolist() == [i % 40 for i in range(400)]

    def test_identifier_is_kept_out_by_the_stated_rule(self, tmp_path):
        """More than 20 declared values, used values at least 95 % of the rows."""

        def features(levels, used, rows):
            domain = ",".join(f"p{i}" for i in range(levels))
            text = "@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute id {" + domain + "}\n"
            text += "@attribute f numeric\n@data\n"
            text += "".join(f"0,p{i % used},1\n" for i in range(rows))
            table = table_of(tmp_path, text)
            return table.header.feature_names, bool(table.header.notes)

        assert features(21, 21, 21) == (("f",), True)
        assert features(20, 20, 20) == (("id", "f"), False)
        assert features(30, 19, 20) == (("f",), True)
        assert features(30, 18, 20) == (("id", "f"), False)

    def test_missing_is_told_from_the_value_of_that_name(self, tmp_path):
        """Unquoted ? is missing even where '?' is declared."""
        text = self.HEAD + "@attribute g {'?',b}\n@data\n0,?\n0,b\n"
        assert np.isnan(read(table_of(tmp_path, text))[0][0, 0])
        quoted = read(table_of(tmp_path, text + "0,'?'\n"))[0]
        np.testing.assert_array_equal(quoted, [[np.nan], [1], [0]])

    def test_comment_lines_are_no_rows(self, tmp_path):
        """A comment with as many commas as a row is not counted for the rarer class."""
        text = "@relation r\n@attribute f numeric\n@attribute class {a,b}\n@data\n1,a\n2,a\n3,b\n"
        table = table_of(tmp_path, text + "% x,b\n%,b\n% y,b\n")
        assert read(table)[1].tolist() == [[0], [0], [1]]

    def test_whole_numbers_match_in_any_spelling(self, tmp_path):
        text = self.HEAD + "@attribute g {1,2,3}\n@attribute h {0,1}\n@data\n0,2.0,1.0\n1.0,3,0e0\n"
        X, Y, _ = read(table_of(tmp_path, text))
        assert X.tolist() == [[1, 1], [2, 0]]
        assert Y.tolist() == [[0], [1]]

    def test_surrogates_in_escapes_stay_text(self, tmp_path):
        text = self.HEAD + "@attribute '\\ud800' {'\\udfff',b}\n@data\n0,b\n"
        table = table_of(tmp_path, text)
        assert table.header.feature_names == ("\\ud800",)
        assert table.header.categories[0][0] == "\\udfff"

    def test_types_with_ranges_and_any_case(self, tmp_path):
        text = "@RELATION 'x: -C 1'\n@Attribute\tl\t{0,1}\n@attribute a integer [1,10]\n"
        text += "@attribute b REAL % a comment\n@attribute c{x,y} % another\n@DATA % the rows\n"
        table = table_of(tmp_path, text + "1,2,3,y\n")
        assert table.header.feature_names == ("a", "b", "c")
        assert read(table)[0].tolist() == [[2, 3, 1]]

    def test_sources_are_named_with_digests(self, tmp_path):
        (tmp_path / "hand.xml").write_bytes(label_xml(["l"]))
        table = table_of(tmp_path, self.HEAD + "@attribute f numeric\n@data\n0,1\n")
        assert [(s.name, s.role, s.format) for s in table.header.source] == [
            ("hand.arff", "data", "arff"),
            ("hand.xml", "labels", "mulan-xml"),
        ]
        assert all(len(s.sha256) == 64 for s in table.header.source)

    def test_batches_may_be_read_again(self, tmp_path):
        table = table_of(tmp_path, self.HEAD + "@attribute f numeric\n@data\n0,1\n1,2\n")
        first, second = read(table), read(table)
        np.testing.assert_equal(first, second)


@pytest.mark.slow
def test_memory_of_a_file_of_the_shape_of_tmc2007(tmp_path):
    """28,596 x 49,082 sparse, below 1 GiB for the whole process."""
    rng = np.random.default_rng(7)
    path = tmp_path / "tmc.arff"
    with path.open("w") as out:
        out.write("@relation 'tmc: -C -22'\n")
        out.writelines(f"@attribute w{i} {{0,1}}\n" for i in range(49_060))
        out.writelines(f"@attribute l{i} {{0,1}}\n" for i in range(22))
        out.write("@data\n")
        for _ in range(28_596):
            words = np.unique(rng.integers(0, 49_060, 104)).tolist()
            labels = np.unique(rng.integers(49_060, 49_082, 2)).tolist()
            out.write("{" + ",".join(f"{i} 1" for i in words + labels) + "}\n")
    command = [sys.executable, "-m", "mlfs_dask", "data", "ingest", str(path), "--name", "tmc"]
    cost = run_command(command)
    assert cost.peak_bytes < 2**30, f"peak {cost.peak_bytes:,} bytes"
    assert open_store(tmp_path / "stores" / "tmc.zarr").n_features == 49_060


@settings(max_examples=10)
@given(file=arff_files(plain=True), n_train=st.integers(1, 12))
def test_split_number_of_the_relation(shared, file, n_train):
    if file.xml is not None:
        file = replace(file, text=file.text.replace(b"'drawn'", b"'drawn: -C 0'", 1))
    text = file.text.replace(b"drawn: ", b"drawn: -split-number %d " % n_train, 1)
    _, Y, split = read(open_table(write(shared, replace(file, text=text))))
    assert split.tolist() == [1 if i < n_train else 2 for i in range(len(Y))]
