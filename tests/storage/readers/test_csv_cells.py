"""Blocks at once and Python's csv: the two roads through CSV are one; quotes, lines, bounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.export import export_store
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.damage import no_hang
from mlfs_dask.testing.tables import ArrayTable

CELLS = st.sampled_from(["1", "0", "", "?", "NA", "na", "nan", "NaN", " 2.5 ", "+.5e1", "-0", "1."])
CELLS |= st.sampled_from(["01", "x", "null", "true", "1_0", "[1", "é", "inf", "1e999", "n", "a b"])
ROWS = st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["0", "1", "yes", "1.00", "", "2"])))


def outcome(path, text, labels=1):
    path.write_bytes(text.encode())
    try:
        table = open_table(path, options=ReadOptions(labels=labels))
        batches = list(table.batches())
    except DataFileError as error:
        return error.message
    head = table.header
    X = np.concatenate([batch.X for batch in batches])
    return (
        *(head.feature_names, head.label_names, head.categories, head.notes),
        [[None if math.isnan(v) else (v, math.copysign(1, v)) for v in row] for row in X.tolist()],
        np.concatenate([batch.Y for batch in batches]).tolist(),
    )


@given(ROWS.filter(bool), st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n"]))
def test_both_roads_agree(tmp_path_factory, rows, delimiter, end):
    """Also on what is refused, with the same words and place."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    head = delimiter.join("abl") + end
    plain = "".join(delimiter.join(row) + end for row in rows)
    quoted = "".join(delimiter.join(f'"{cell}"' for cell in row) + end for row in rows)
    assert outcome(path, head + plain) == outcome(path, head + quoted)


@given(ROWS.filter(bool))
def test_a_cell_means_what_it_says(tmp_path_factory, rows):
    """Against the rules, cell by cell."""
    found = outcome(
        tmp_path_factory.mktemp("csv") / "t.csv",
        "a,b,l\n" + "".join(f"{a},{b},1\n" for a, b, _ in rows),
    )
    missing = ("", "?", "na", "nan")
    for i in range(2):
        cells = [row[i].strip() for row in rows]
        known = [cell for cell in cells if cell.lower() not in missing]
        texts = [c for c in known if c in ("x", "null", "true", "1_0", "[1", "é", "n", "a b")]
        infinite = [c for c in known if c in ("inf", "1e999")]
        if infinite and not texts:
            assert "has the infinite number" in found
            return
        if not isinstance(found, str):
            assert (i in found[2]) == bool(texts)
            column = [row[i] for row in found[4]]
            assert [value is None for value in column] == [c.lower() in missing for c in cells]
            if not texts:
                assert [v[0] for v in column if v is not None] == [float(c) for c in known]


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ('"a;x\nb",b,l\n', ("a;x\nb", "b", "l")),
        ('"x,y";b;l\n', ("x,y", "b", "l")),
        ('"a\r\nb",b,l\r\n', ("a\r\nb", "b", "l")),
        ('a"b,b,l\n', ('a"b', "b", "l")),
        ("\n  \na,b,l\n", ("a", "b", "l")),
    ],
)
def test_headers(tmp_path, head, names):
    """Delimiters are those outside of quotes; no row is lost behind a quote in a name."""
    mark = ";" if '";' in head else ","
    found = outcome(tmp_path / "t.csv", head + mark.join("370") + "\n" + mark.join("241") + "\n")
    assert (*found[0], *found[1]) == names
    assert found[5] == [[0], [1]]


def test_lines_are_counted_through_quotes(tmp_path):
    text = 'a,b,l\n1,2,0\n"x\ny",2,0\n\n3,4,5\n'
    (tmp_path / "t.csv").write_text(text)
    table = open_table(tmp_path / "t.csv", options=ReadOptions(labels=1))
    with pytest.raises(DataFileError, match="label 'l' is '5'") as caught:
        list(table.batches())
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (6, 3)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a,l\n1,0\n-inf,1\n", 3, "column 'a' has the infinite number '-inf'"),
        ("a;l\n1,5;0\n2,25;1\n", 2, "column 'a' has the decimal comma '1,5'"),
        ("a,l\n1,0\r2,1\n", 2, "carriage return"),
        ("a,l\r1,0\r", 1, "new-line character"),
        ('a,"l\n1,0\n', 1, "unexpected end of data"),
    ],
)
def test_slips_are_told(tmp_path, text, line, words):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(DataFileError, match=words) as caught:
        open_table(path, options=ReadOptions(labels=1))
    assert caught.value.facts["line"] == line


def test_labels_are_found_without_the_blanks_of_the_header(tmp_path):
    found = outcome(tmp_path / "t.csv", "a, b, l\n1, 2, 0\n", labels=("l",))
    assert (found[0], found[1]) == (("a", " b"), (" l",))


def test_export_keeps_carriage_returns_and_marks(tmp_path):
    """Names are never rewritten, line ends and byte order marks in them neither."""
    names = ("\ufeffmark", "c\rr", "cr\r\nlf", "plain")
    table = ArrayTable([[1.0, 2.0, 3.0]], [[1]], feature_names=names[:3], label_names=names[3:])
    dataset = ingest(table, tmp_path / "t.zarr")
    export_store(dataset, tmp_path / "t.csv")
    header = open_table(tmp_path / "t.csv", options=ReadOptions(labels=1)).header
    assert (*header.feature_names, *header.label_names) == names


N = 300_000


@pytest.mark.parametrize(
    "text",
    [
        "a,l\n1," + " " * N + "x\n",
        "a,l\n" + " " * N + "?" + " " * N + "x,1\n",
        'a,"l' + "\n" * N,
        'a,"l\n' + "1,1\n" * N,
        'a,l"\n' + "1,1\n" * N,
        "a,l\n" + "," * N,
        "," * N,
        '"' * N,
        "a,l\n" + '"' * N + ",1\n",
        "a,l\n" + "NA" * N + ",1\n",
    ],
    ids=range(10),
)
def test_hostile_text(tmp_path, text):
    """Linear time, bounded memory: an answer within seconds."""
    with no_hang():
        outcome(tmp_path / "t.csv", text)
