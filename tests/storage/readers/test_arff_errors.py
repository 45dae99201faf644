"""Bad ARFF files: one DataFileError each, with file, line, column and what was expected."""

import gzip
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlfs_dask.cli import mlfs
from mlfs_dask.errors import DataFileError, InputError, NotFoundError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions

HEAD = (
    "@relation 'bad: -C 1'\n@attribute l {0,1}\n@attribute f numeric\n@attribute g {a,b}\n@data\n"
)


@dataclass(frozen=True)
class Bad:
    text: str
    line: int | None
    column: int | None
    problem: str
    expected: str = ""


def row(text: str, column: int, problem: str, expected: str = "", line: int = 6) -> Bad:
    return Bad(HEAD + text, line, column, problem, expected)


def attribute(text: str, column: int | None, problem: str, expected: str = "") -> Bad:
    declared = (
        f"@relation 'bad: -C 1'\n@attribute l {{0,1}}\n{text}\n@attribute f real\n@data\n0,1,2\n"
    )
    return Bad(declared, 3, column, problem, expected)


BAD = {
    "too few values": row("0,1\n", 3, "the row has 2 values", "3, one for each"),
    "too many values": row("0,1,a,7\n", 7, "more than 3 values", "3, one for each"),
    "cut in the last row": row("0,1,a\n0,1,b\n0,1", 3, "the row has 2 values", line=8),
    "undeclared value": row("0,1,a\n1,2,c\n", 5, "'g' has the value 'c'", "one of {a, b}", 7),
    "undeclared quoted": row("1, 2, 'it''s'\n", 7, "cannot read"),
    "indented": row("\t 0,1,  zz\n", 9, "'g' has the value 'zz'"),
    "value in the wrong case": row("0,1,A\n", 5, "the value 'A'"),
    "no number": row("0,one,a\n", 3, "'f' has the value 'one'", "a number or ?"),
    "empty cell": row("0,,a\n", 3, "'f' has the value ''", "a number or ?"),
    "nan": row("0,nan,a\n", 3, "'f' has the value 'nan'", "a number"),
    "inf": row("0,inf,a\n", 3, "'f' has the value 'inf'", "a number"),
    "-Infinity": row("0,-Infinity,a\n", 3, "'f' has the value '-Infinity'"),
    "beyond float64": row("0,1e999,a\n", 3, "'f' has the value '1e999'"),
    "underscores": row("0,1_000,a\n", 3, "'f' has the value '1_000'"),
    "hex float": row("0,0x1p3,a\n", 3, "'f' has the value '0x1p3'"),
    "null": row("0,null,a\n0,?,a\n", 3, "'f' has the value 'null'"),
    "json array": row("0,[1],a\n", 3, "'f' has the value '[1]'"),
    "arabic digits": row("0,١٢,a\n", 3, "'f' has the value"),
    "label 2": row("2,1,a\n", 1, "'l' has the value '2'", "one of {0, 1}"),
    "label missing": row("0,1,a\n?,1,a\n", 1, "label 'l' is missing", "0 or 1", 7),
    "open quote": row("0,1,'a\n", 5, "cannot read"),
    "comment after a row": row("0,1,a % so\n", 5, "the value 'a % so'"),
    "sparse row in a dense file": row("0,1,a\n{0 1}\n", 1, "a sparse row in a dense", line=7),
    "dense row in a sparse file": row("{0 1}\n 0,1,a\n", 2, "a dense row in a sparse", line=7),
    "index out of range": row("{0 1,3 1}\n", 6, "index '3'", "0 to 2"),
    "huge index": row("{0 1,99999999999999999999999 1}\n", 6, "index '9999"),
    "negative index": row("{-1 1}\n", 2, "cannot read", "index value"),
    "float index": row("{1.0 1}\n", 2, "cannot read", "index value"),
    "index twice": row("{0 1}\n{1 1, 1 2}\n", 7, "index 1 stands twice", "ascending", 7),
    "index decreasing": row("{1 1,0 1}\n", 6, "index 0 comes after index 1", "ascending"),
    "open brace": row("{0 1}\n{0 1,1 2\n", 8, "no closing brace", "}", 7),
    "brace cut in the last row": row("{0 1}\n{0 1,1", 6, "no closing brace", "}", 7),
    "entry without a value": row("{0 1,1}\n", 6, "cannot read", "index value"),
    "comma without an entry": row("{0 1,}\n", 6, "cannot read", "index value"),
    "sparse undeclared value": row("{0 1, 2 c}\n", 9, "'g' has the value 'c'", "one of {a, b}"),
    "sparse quoted undeclared": row("{2 'no such'}\n", 4, "'g' has the value 'no such'"),
    "sparse number": row("{1 x}\n", 4, "'f' has the value 'x'", "a number"),
    "sparse label missing": row("{0 ?}\n", 4, "label 'l' is missing"),
    "instance weight": row("{0 1}, {5}\n", 4, "'l' has the value '1}'", "one of {0, 1}"),
    "relational": attribute("@attribute bag relational", 16, "is of type relational", "numeric"),
    "date": attribute("@attribute d date 'yyyy-MM-dd'", 14, "is of type date", "numeric"),
    "string": attribute("  @attribute s string", 16, "is of type string", "numeric"),
    "unknown type": attribute("@attribute s float32", 14, "no type that is known", "numeric"),
    "no type": attribute("@attribute s", 13, "no type that is known", "numeric"),
    "name twice": attribute("@attribute l numeric", None, "declared twice, first on line 2"),
    "no name": attribute("@attribute", None, "cannot read the attribute's name"),
    "open name": attribute("@attribute 'a numeric", None, "cannot read the attribute's name"),
    "value twice": attribute("@attribute g {a,b,a}", None, "the value 'a' twice"),
    "open domain": attribute("@attribute g {a,b", None, "cannot be read from"),
    "empty domain": attribute("@attribute g {}", None, "cannot be read from"),
    "text after a domain": attribute("@attribute g {'a',b} c", None, "text after the values"),
    "unknown keyword": attribute("@attrib g numeric", None, "cannot read '@attrib"),
    "label of other values": Bad(
        HEAD.replace("l {0,1}", "l {low,high}") + "low,1,a\n", 2, None, "has the values {low, high}"
    ),
    "label of three values": Bad(
        HEAD.replace("l {0,1}", "l {0,1,2}") + "0,1,a\n", 2, None, "has the values {0, 1, 2}"
    ),
    "numeric label of 2": Bad(
        HEAD.replace("l {0,1}", "l numeric") + "0,1,a\n2,1,a\n", 7, 1, "'l' has the value '2'"
    ),
    "more labels than attributes": Bad(HEAD.replace("-C 1", "-C 9"), None, None, "9 labels"),
    "no row": Bad(HEAD + "% nothing\n\n", None, None, "no row follows @data", "at least one row"),
    "no @data": Bad(HEAD[:-6], None, None, "ends before the line @data", "@data"),
    "only comments": Bad("% a\n% b\n", None, None, "empty"),
    "no attribute": Bad("@relation r\n@data\n1\n", 2, None, "no attribute is declared"),
    "another format": Bad("a,b,c\n1,2,3\n", 1, None, "not an ARFF file", "@relation"),
    "old line ends": Bad(HEAD.replace("\n", "\r"), 1, 22, "a carriage return", "LF or CRLF"),
    "NUL byte": row("0,1,a\n0,\x00,a\n", 3, "a NUL byte", "UTF-8", 7),
    "no label to be found": Bad(
        "@relation r\n@attribute f real\n@attribute h real\n@data\n1,2\n",
        None,
        None,
        "nothing tells which attributes are the labels",
    ),
    "numeric class": Bad(
        "@relation r\n@attribute f real\n@attribute CLASS real\n@data\n1,2\n", 3, None, "is numeric"
    ),
}


def refused(path: Path, **options) -> DataFileError:
    with pytest.raises(DataFileError) as caught:
        for _ in open_table(path, options=ReadOptions(**options)).batches():
            pass
    return caught.value


@pytest.mark.parametrize("case", list(BAD))
def test_mistake_is_placed(tmp_path, case):
    """The file, the line and the column of the mistake."""
    bad = BAD[case]
    path = tmp_path / "bad.arff"
    path.write_bytes(bad.text.encode())
    error = refused(path)
    facts = error.facts
    assert (facts["file"], facts["line"], facts["column"]) == (str(path), bad.line, bad.column)
    assert bad.problem in error.message
    assert bad.expected in (facts["expected"] or "")
    place = ":".join(str(part) for part in (path, bad.line, bad.column) if part is not None)
    assert str(error).startswith(f"{place}: ")


@pytest.mark.parametrize("case", ["undeclared value", "index twice", "label missing"])
def test_line_numbers_hold_far_into_a_file(tmp_path, case):
    """Also where the mistake is many blocks away from the head, among CRLF and comments."""
    bad = BAD[case]
    sparse = case == "index twice"
    good = "{0 1,1 0.5}\r\n" if sparse else "1,0.5,b\r\n% comment\r\n"
    path = tmp_path / "bad.arff"
    before = good * 60_000
    path.write_bytes((HEAD + before + bad.text.removeprefix(HEAD)).encode())
    facts = refused(path).facts
    assert (facts["line"], facts["column"]) == (bad.line + before.count("\n"), bad.column)


def test_not_utf8_is_told_with_a_way_out(tmp_path):
    path = tmp_path / "bad.arff"
    path.write_bytes(HEAD.replace("@attribute f", "@attribute fé").encode("latin-1") + b"0,1,a\n")
    error = refused(path)
    assert error.facts["line"] == 3
    assert "iconv" in error.hint


def test_utf16_is_told(tmp_path):
    path = tmp_path / "bad.arff"
    path.write_bytes((HEAD + "0,1,a\n").encode("utf-16"))
    error = refused(path)
    assert error.facts["line"] == 1
    assert "UTF-16" in error.hint


class TestNoFile:
    def test_directory(self, tmp_path):
        error = refused(tmp_path)
        assert "is a directory" in error.message
        assert error.facts["file"] == str(tmp_path)

    @pytest.mark.parametrize("ending", ["", ".gz"])
    def test_empty(self, tmp_path, ending):
        path = tmp_path / f"empty.arff{ending}"
        path.write_bytes(gzip.compress(b"") if ending else b"")
        assert "empty" in refused(path).message

    def test_nothing_there(self, tmp_path):
        with pytest.raises(NotFoundError, match="no such file"):
            open_table(tmp_path / "none.arff")

    @pytest.mark.parametrize("name", ["x.rda", "x.RData", "x.rds"])
    def test_r_objects(self, tmp_path, name):
        path = tmp_path / name
        path.write_bytes(b"x")
        assert "R object" in refused(path).message

    def test_unknown_ending(self, tmp_path):
        path = tmp_path / "x.dat"
        path.write_text(HEAD + "0,1,a\n")
        assert "--format" in refused(path).hint
        assert open_table(path, options=ReadOptions(format="arff")).header.n_features == 2

    def test_pipe(self, tmp_path):
        path = tmp_path / "pipe.arff"
        os.mkfifo(path)
        assert "device or a pipe" in refused(path).message

    def test_no_permission(self, tmp_path):
        """A real one: the reading process is nobody, whatever this one is."""
        path = tmp_path / "secret.arff"
        path.write_text(HEAD + "0,1,a\n")
        path.chmod(0)
        code = (
            "import os, sys\n"
            "import mlfs_dask.storage.readers.arff\n"
            "from mlfs_dask.errors import DataFileError\n"
            "from mlfs_dask.storage.readers import open_table\n"
            "if os.getuid() == 0:\n    os.setuid(65534)\n"
            "try:\n    open_table(sys.argv[1])\n"
            "except DataFileError as error:\n    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
        )
        assert "no permission to read" in done.stdout
        assert "chmod" in done.stdout


class TestTruncatedPacking:
    def test_gzip_at_every_length(self, tmp_path):
        whole = gzip.compress((HEAD + "0,1,a\n" * 3).encode())
        path = tmp_path / "cut.arff.gz"
        for length in range(1, len(whole)):
            path.write_bytes(whole[:length])
            assert refused(path).facts["file"] == str(path)
        path.write_bytes(whole)
        assert sum(batch.n_rows for batch in open_table(path).batches()) == 3

    def test_flipped_byte_in_the_data(self, tmp_path):
        whole = bytearray(gzip.compress((HEAD + "0,1,a\n" * 3).encode()))
        path = tmp_path / "flip.arff.gz"
        whole[-6] ^= 1  # of the checksum
        path.write_bytes(whole)
        assert "damaged" in refused(path).message


class TestOptions:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "ok.arff"
        path.write_text(HEAD + "0,1,a\n1,2,b\n0,2,b\n")
        return path

    def refuse(self, path, match, **options):
        with pytest.raises(InputError, match=match):
            open_table(path, options=ReadOptions(**options))

    def test_unknown_label(self, path):
        self.refuse(path, "'nope', which is no attribute", labels=("l", "nope"))

    def test_label_twice(self, path):
        self.refuse(path, "each once", labels=("l", "l"))

    @pytest.mark.parametrize("count", [0, 3, -3, 10**9])
    def test_wrong_counts(self, path, count):
        self.refuse(path, f"--labels says {abs(count)} labels", labels=count)

    def test_count_of_meka_larger_than_the_file(self, path):
        self.refuse(path, "-C says 7 labels, the file has 3", n_labels=-7)

    def test_unknown_positive(self, path):
        self.refuse(path, "--positive 'c' is no value of 'g'", labels=("g",), positive="c")

    def test_positive_of_a_numeric_label(self, path):
        self.refuse(path, "--positive is for one nominal label", labels=("f",), positive="1")

    def test_positive_of_several_labels(self, path):
        self.refuse(path, "labels found are: l, g", labels=("l", "g"), positive="1")

    def test_unknown_format(self, path):
        self.refuse(path, "no known format", format="parquet")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (HEAD + "0,1\n", "bad.arff:6:3: the row has 2 values"),
        (HEAD + "0,1,zebra\n", "bad.arff:6:5: attribute 'g' has the value 'zebra'"),
        ("", "bad.arff: the file is empty"),
        (HEAD + "0,1,a\n" * 50_000 + "?,1,a\n", "bad.arff:50006:1: label 'l' is missing"),
    ],
)
def test_command_line_says_it_once_and_leaves_no_store(tmp_path, text, place):
    path = tmp_path / "bad.arff"
    path.write_text(text)
    dest = tmp_path / "out" / "bad.zarr"
    done = CliRunner().invoke(mlfs, ["data", "ingest", str(path), str(dest)])
    assert done.exit_code == 2
    assert done.output.count(place) == 1
    assert "Traceback" not in done.output
    assert not dest.exists()
    left = list(dest.parent.iterdir()) if dest.parent.exists() else []
    assert not [p for p in left if p.suffix == ".zarr"]
