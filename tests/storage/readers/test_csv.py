"""CSV files: numbers and words, labels by name or number, every mistake in its place."""

import bz2
import gzip
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions


def table_of(folder, text, *, name="t.csv", test=None, **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    second = None
    if test is not None:
        second = folder / "test.csv"
        second.write_text(test)
    options.setdefault("labels", 1)
    return open_table(path, test=second, options=ReadOptions(**options))


def parts(table, max_bytes=1 << 20):
    batches = list(table.batches(max_bytes))
    return (np.concatenate([getattr(b, part) for b in batches]) for part in ("X", "Y", "split"))


def test_numbers_words_and_gaps(tmp_path):
    table = table_of(tmp_path, "a,b,l\n1,x,0\n+2.5e0,y,1\n,x,1\nNA,?,0\nnan,,0\n")
    X, Y, split = parts(table)
    nan = math.nan
    np.testing.assert_array_equal(X, [[1, 0], [2.5, 1], [nan, 0], [nan, nan], [nan, nan]])
    assert Y.ravel().tolist() == [0, 1, 1, 0, 0]
    assert not split.any()
    head = table.header
    assert (head.name, head.feature_names, head.label_names) == ("t", ("a", "b"), ("l",))
    assert (head.feature_kind.tolist(), head.categories) == ([0, 1], {1: ("x", "y")})
    assert not head.is_sparse
    assert [(s.name, s.format, s.role) for s in head.source] == [("t.csv", "csv", "data")]


@pytest.mark.parametrize(
    ("labels", "label_names", "features"),
    [
        (("m", "k"), ("k", "m"), ("a", "b")),
        (2, ("b", "m"), ("k", "a")),
        (-1, ("k",), ("a", "b", "m")),
    ],
)
def test_labels_by_name_or_number(tmp_path, labels, label_names, features):
    """Label columns keep the order of the file, whatever the order asked for."""
    table = table_of(tmp_path, "k,a,b,m\n1,0,1,0\n0,0,0,1\n", labels=labels)
    assert (table.header.label_names, table.header.feature_names) == (label_names, features)


@pytest.mark.parametrize("pair", [("0", "1"), ("0.0", "1.0"), ("FALSE", "TRUE"), ("No", "Yes")])
def test_labels_of_two_words(tmp_path, pair):
    """Also where one of the two never occurs."""
    zero, one = pair
    _, Y, _ = parts(table_of(tmp_path, f"a,l,m\n1,{one},{zero}\n2,{zero},{zero}\n", labels=2))
    assert Y.tolist() == [[1, 0], [0, 0]]


def test_names_and_values_are_never_rewritten(tmp_path):
    """Quotes, separators, line ends and blanks inside quotes."""
    text = '" a ""q""","c,d","é","l\nm"\n1,"x, y",2,0\n2,"z\n",3,1\n'
    table = table_of(tmp_path, text)
    assert table.header.feature_names == (' a "q"', "c,d", "é")
    assert table.header.label_names == ("l\nm",)
    assert table.header.categories == {1: ("x, y", "z")}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_and_line_ends(tmp_path, separator, end):
    rows = [["a", "b", "l"], ["1.5", "2", "1"], ["3", "", "0"]]
    X, Y, _ = parts(table_of(tmp_path, "".join(separator.join(row) + end for row in rows)))
    np.testing.assert_array_equal(X, [[1.5, 2], [3, math.nan]])
    assert Y.ravel().tolist() == [1, 0]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gz", "bz2"])
def test_packed(tmp_path, pack):
    name = "t.csv.gz" if pack is gzip.compress else "t.csv.bz2"
    table = table_of(tmp_path, pack(b"a,l\n4,1\n"), name=name)
    X, _, _ = parts(table)
    assert (X.tolist(), table.header.name) == ([[4.0]], "t")


def test_pair_is_matched_by_name_and_domains_are_united(tmp_path):
    """Test rows last, columns of the test file in any order, new values appended."""
    table = table_of(tmp_path, "a,b,l\n1,x,0\n2,y,1\n", test="l,b,a\n1,z,5\n")
    X, Y, split = parts(table)
    assert X.tolist() == [[1, 0], [2, 1], [5, 2]]
    assert (Y.ravel().tolist(), split.tolist()) == ([0, 1, 1], [1, 1, 2])
    assert table.header.categories == {1: ("x", "y", "z")}
    assert [s.role for s in table.header.source] == ["data", "test"]


def test_identifiers_stay_out_unless_kept(tmp_path):
    """A word of its own in every row identifies the row."""
    text = "id,a,l\n" + "".join(f"row{i},{i},{i % 2}\n" for i in range(30))
    table = table_of(tmp_path, text)
    assert table.header.feature_names == ("a",)
    assert any("'id'" in note and "identifier" in note for note in table.header.notes)
    kept = table_of(tmp_path, text, keep_identifiers=True)
    assert len(kept.header.categories[0]) == 30


def test_a_slip_in_a_column_of_numbers_is_noted(tmp_path):
    table = table_of(tmp_path, "a,l\n1,0\n2x,1\n")
    assert table.header.feature_kind.tolist() == [1]
    assert "numbers and text ('2x')" in table.header.notes[0]


def test_batches_are_bounded_and_start_anew(tmp_path):
    table = table_of(tmp_path, "a,l\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    sizes = [batch.n_rows for batch in table.batches(max_bytes=100)]
    assert sum(sizes) == 50
    assert max(sizes) <= 10
    X, _, _ = parts(table, max_bytes=1)
    assert X.ravel().tolist() == list(range(50))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_correctly_rounded(tmp_path_factory, values):
    text = "a,l\n" + "".join(f"{value!r},1\n" for value in values)
    X, _, _ = parts(table_of(tmp_path_factory.mktemp("csv"), text))
    assert X.ravel().tolist() == values


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a,l\n1,2\n", 2, 2, "label 'l' is '2'"),
        ("a,l\n1,0\n1,\n", 3, 2, "label 'l' is missing"),
        ("a,l\n1,0\n1\n", 3, 2, "has 1 cell;"),
        ("a,l\n1,0,7\n", 2, 3, "has 3 cells"),
        ("a,a\n1,0\n", 1, 2, "two columns are named 'a'"),
        ("a,\n1,0\n", 1, 2, "no name"),
        ('a,l\n1,0\n"2,0\n', 3, None, "cannot be read as CSV"),
        ("a,l\n1,\0\n", 2, 3, "NUL"),
        (b"a,l\n\xff,0\n", 2, 1, "not UTF-8"),
        ("a,l\n", None, None, "no row"),
        ("\n\n", None, None, "no line"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, line, column, words):
    """Labels that are not 0 or 1, and the list of bad files."""
    with pytest.raises(DataFileError, match=r"t\.csv") as caught:
        list(table_of(tmp_path, text).batches())
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (line, column)
    assert words in str(caught.value)


@pytest.mark.parametrize("labels", [None, 0, 3, ("nope",), ("l", "l"), ("a", "b", "l"), ()])
def test_labels_that_do_not_fit(tmp_path, labels):
    with pytest.raises(InputError, match=r"labels|t\.csv"):
        table_of(tmp_path, "a,b,l\n1,2,0\n", labels=labels)


def test_pair_with_other_columns_is_refused(tmp_path):
    with pytest.raises(DataFileError, match="column 'a' is in one of the two files only"):
        table_of(tmp_path, "a,b,l\n1,2,0\n", test="b,l\n1,0\n")
