"""A training and a test file as one table."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions
from mlfs_dask.testing.files import ArffColumn, ArffStyle, arff_columns, arff_styles, label_xml


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


def read(table):
    batches = list(table.batches())
    X = np.vstack([b.X.toarray() if table.header.is_sparse else b.X for b in batches])
    return X, np.vstack([b.Y for b in batches]), np.concatenate([b.split for b in batches])


def pair(folder, train, test, xml=("l",), **options):
    (folder / "p-train.arff").write_text(train)
    (folder / "p-test.arff").write_text(test)
    if xml:
        (folder / "p.xml").write_bytes(label_xml(xml))
    options = ReadOptions(**options)
    return open_table(folder / "p-train.arff", test=folder / "p-test.arff", options=options)


@settings(max_examples=25)
@given(
    data=st.data(),
    columns=arff_columns(),
    styles=st.tuples(arff_styles(), arff_styles()),
    sparse=st.tuples(st.booleans(), st.booleans()),
)
def test_cut_in_two_with_permuted_attributes(shared, data, columns, styles, sparse):
    """Columns are matched by name, whatever their order, style and row layout."""
    n = len(columns[0].cells)
    cut = data.draw(st.integers(1, max(1, n - 1)))
    home = Path(tempfile.mkdtemp(dir=shared))
    parts = (slice(0, cut), slice(cut, n) if n > 1 else slice(0, n))
    orders = (columns, data.draw(st.permutations(columns)))
    for part, order, style, is_sparse, name in zip(
        parts, orders, styles, sparse, ("train", "test"), strict=True
    ):
        cells = [ArffColumn(c.name, c.domain, c.is_label, c.cells[part]) for c in order]
        text = style.encode(style.lines("p", cells, is_sparse))
        (home / f"p-{name}.arff").write_bytes(text)
    labels = [c for c in columns if c.is_label]
    features = [c for c in columns if not c.is_label]
    (home / "p.xml").write_bytes(label_xml([c.name for c in labels]))
    table = open_table(home / "p-train.arff", test=home / "p-test.arff")
    X, Y, split = read(table)
    rows = [*range(n)[parts[0]], *range(n)[parts[1]]]
    np.testing.assert_array_equal(X, np.array([c.codes() for c in features]).T[rows])
    np.testing.assert_array_equal(Y, np.array([c.codes() for c in labels]).T[rows])
    assert split.tolist() == [1] * cut + [2] * (len(rows) - cut)
    assert table.header.feature_names == tuple(c.name for c in features)


def test_different_domains_are_united(tmp_path):
    """Values of the training file keep their codes; new ones of the test file follow."""
    head = "@relation p\n@attribute l {0,1}\n@attribute g {%s}\n@attribute h {%s}\n@data\n"
    table = pair(
        tmp_path, head % ("c,a", "NO") + "0,a,NO\n", head % ("d,c", "YES,NO") + "1,d,YES\n1,c,NO\n"
    )
    assert table.header.categories == {0: ("c", "a", "d"), 1: ("NO", "YES")}
    assert read(table)[0].tolist() == [[1, 0], [2, 1], [0, 0]]


def test_omitted_cells_follow_the_domain_of_their_own_file(tmp_path):
    """{} is the first value that this file declares, in either file."""
    head = "@relation p\n@attribute l {%s}\n@attribute g {%s}\n@attribute f real\n@data\n{}\n"
    table = pair(tmp_path, head % ("0,1", "a,b,c"), head % ("1,0", "c,a,b"))
    X, Y, _ = read(table)
    assert X.tolist() == [[0, 0], [2, 0]]
    assert Y.tolist() == [[0], [1]]


def test_label_declared_with_one_value_in_one_half(tmp_path):
    head = "@relation p\n@attribute l {%s}\n@attribute f real\n@data\n"
    table = pair(tmp_path, head % "0" + "0,1\n", head % "0,1" + "1,2\n")
    assert read(table)[1].tolist() == [[0], [1]]


HEAD = "@relation p\n@attribute l {0,1}\n@attribute f real\n"


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (
            "@attribute extra real\n@data\n0,1,2\n",
            "@data\n0,1\n",
            "p-train.arff, but not in p-test",
        ),
        (
            "@data\n0,1\n",
            "@attribute extra real\n@data\n0,1,2\n",
            "p-test.arff, but not in p-train",
        ),
    ],
)
def test_attribute_in_one_file_only_is_refused(tmp_path, train, test, message):
    with pytest.raises(DataFileError, match=f"'extra' is in {message}") as caught:
        pair(tmp_path, HEAD + train, HEAD + test)
    assert "Remove it" in caught.value.hint


def test_other_type_in_the_other_file_is_refused(tmp_path):
    other = HEAD.replace("f real", "f {1,2}")
    with pytest.raises(DataFileError, match="numeric in one file, nominal in the other") as caught:
        pair(tmp_path, HEAD + "@data\n0,1\n", other + "@data\n0,1\n")
    assert caught.value.facts["line"] == 3
    assert caught.value.facts["file"].endswith("p-test.arff")


def test_mistake_in_the_second_file_names_it(tmp_path):
    table = pair(tmp_path, HEAD + "@data\n0,1\n", HEAD + "@data\n0,1\n0,x\n")
    with pytest.raises(DataFileError) as caught:
        list(table.batches())
    facts = caught.value.facts
    assert (Path(facts["file"]).name, facts["line"], facts["column"]) == ("p-test.arff", 6, 3)


def test_second_file_without_rows_is_refused(tmp_path):
    table = pair(tmp_path, HEAD + "@data\n0,1\n", HEAD + "@data\n% none\n")
    with pytest.raises(DataFileError, match=r"p-test\.arff: no row follows @data"):
        list(table.batches())


def test_files_of_two_formats_are_refused(tmp_path):
    (tmp_path / "a.arff").write_text(HEAD + "@data\n0,1\n")
    (tmp_path / "b.csv").write_text("l,f\n0,1\n")
    with pytest.raises(InputError, match=r"a\.arff is arff, b\.csv is csv"):
        open_table(tmp_path / "a.arff", test=tmp_path / "b.csv")


def test_identifiers_and_rarer_class_are_judged_on_both_files(tmp_path):
    """12 values of 24 in each half are an identifier only taken together."""
    domain = ",".join(f"p{i}" for i in range(24))
    head = f"@relation p\n@attribute id {{{domain}}}\n@attribute f real\n"
    head += "@attribute class {x,y}\n@data\n"
    rows = [f"p{i},1,{'x' if i < 9 else 'y'}\n" for i in range(24)]
    table = pair(tmp_path, head + "".join(rows[:12]), head + "".join(rows[12:]), xml=())
    assert table.header.feature_names == ("f",)
    assert read(table)[1].sum() == 9


def test_split_number_gives_way_to_the_pair(tmp_path):
    train = HEAD.replace("@relation p", "@relation 'p: -split-number 1'") + "@data\n0,1\n0,2\n"
    assert read(pair(tmp_path, train, HEAD + "@data\n0,3\n"))[2].tolist() == [1, 1, 2]


def test_plain_style_is_what_most_files_look_like(tmp_path):
    """The drawing itself: a test whose files were all odd would miss the plain ones."""
    column = ArffColumn("f", None, False, (1.0, None))
    lines = ArffStyle().lines("r", [column], False)
    assert lines == ["@relation 'r'", "@attribute f numeric", "@data", "1.0", "?"]
