"""libsvm's multi-label text."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.records import ReadOptions


def table_of(folder, text, *, name="t.svm", test=None, **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    second = None
    if test is not None:
        second = folder / "test.svm"
        second.write_text(test)
    return open_table(path, test=second, options=ReadOptions(**options))


def parts(table):
    batches = list(table.batches())
    X = np.vstack([batch.X.toarray() for batch in batches])
    Y = np.vstack([batch.Y for batch in batches])
    return X, Y, np.concatenate([batch.split for batch in batches])


def test_blanks_after_commas(tmp_path):
    """``3, 5 1:2`` has the labels 3 and 5."""
    table = table_of(tmp_path, "3, 5 1:2\n1 ,2\t3:-1e-2\n")
    X, Y, _ = parts(table)
    names = table.header.label_names
    assert [[names[j] for j in np.flatnonzero(row)] for row in Y] == [["3", "5"], ["1", "2"]]
    assert X.tolist() == [[2, 0, 0], [0, 0, -0.01]]
    assert table.header.is_sparse
    assert table.header.feature_names == ("f1", "f2", "f3")


def test_rows_without_labels_are_kept(tmp_path):
    """As many rows as lines, labelled or not, with entries or not."""
    X, Y, split = parts(table_of(tmp_path, "1 1:1\n 1:2\n2:3\n2\n \n"))
    assert Y.tolist() == [[1, 0], [0, 0], [0, 0], [0, 1], [0, 0]]
    assert X.tolist() == [[1, 0], [2, 0], [0, 3], [0, 0], [0, 0]]
    assert not split.any()


def test_label_zero_counts_where_it_occurs(tmp_path):
    assert table_of(tmp_path, "0,2 1:1\n").header.label_names == ("0", "1", "2")
    assert table_of(tmp_path, "2 1:1\n").header.label_names == ("1", "2")


@pytest.mark.parametrize(
    ("text", "options", "names"),
    [
        ("1 1:1 3:1\n", {}, ("f1", "f2", "f3")),
        ("1 0:1 2:1\n", {}, ("f0", "f1", "f2")),
        ("1 1:1 2:1\n", {"index_base": 0}, ("f0", "f1", "f2")),
        ("1 1:1\n", {"n_features": 3}, ("f1", "f2", "f3")),
    ],
)
def test_width_and_index_base(tmp_path, text, options, names):
    assert table_of(tmp_path, text, **options).header.feature_names == names


def test_pair_has_the_larger_width(tmp_path):
    """Neither half loses columns or labels."""
    X, Y, split = parts(table_of(tmp_path, "1 1:1\n2 2:1\n", test="3 4:1\n"))
    assert X.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert Y.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert split.tolist() == [1, 1, 2]


def test_head_of_sizes(tmp_path):
    """Extreme-classification files begin with rows, features and labels, and count from 0."""
    table = table_of(tmp_path, "2 5 4\n0,2 0:1\n1 4:2\n")
    X, Y, _ = parts(table)
    assert (X.shape, table.header.label_names) == ((2, 5), ("0", "1", "2", "3"))
    assert Y.tolist() == [[1, 0, 1, 0], [0, 1, 0, 0]]
    with pytest.raises(DataFileError, match="2 rows; expected 3"):
        table_of(tmp_path, "3 5 4\n0,2 0:1\n1 4:2\n")


def test_comments_packing_and_stated_zeros(tmp_path):
    table = table_of(
        tmp_path, gzip.compress(b"# head\n1 1:0 2:5 # tail\r\n1 3:1\r\n"), name="t.svm.gz"
    )
    (batch,) = table.batches()
    assert batch.X.nnz == 2
    assert batch.X.toarray().tolist() == [[0, 5, 0], [0, 0, 1]]


@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(1, 6), max_size=3),
            st.dictionaries(st.integers(1, 9), st.floats(-1e300, 1e300), max_size=4),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_drawn_rows(tmp_path_factory, rows):
    rows = [({6}, {9: 1.0}), *rows]
    lines = [
        ",".join(map(str, labels)) + " " + " ".join(f"{j}:{v!r}" for j, v in sorted(cells.items()))
        for labels, cells in rows
    ]
    X, Y, _ = parts(table_of(tmp_path_factory.mktemp("svm"), "\n".join(lines), index_base=1))
    for i, (labels, cells) in enumerate(rows):
        assert (np.flatnonzero(Y[i]) + 1).tolist() == sorted(labels)
        assert X[i].tolist() == [cells.get(j, 0.0) for j in range(1, 10)]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("1 1:1\n1 2:1 1:1\n", 2, 7, "index 1 comes after 2"),
        ("1 2:1 2:1\n", 1, 7, "stands twice"),
        ("1 2:x\n", 1, 3, "'2:x'"),
        ("1 2:inf\n", 1, 3, "finite number"),
        ("1 2:\n", 1, 3, "'2:'"),
        ("1 qid:3 2:1\n", 1, 3, "qid"),
        ("a 2:1\n", 1, 1, "labels 'a'"),
        ("1.5 2:1\n", 1, 1, "labels '1.5'"),
        ("-1 2:1\n", 1, 1, "labels '-1'"),
        ("1 999999999:1\n", 1, 3, "at most 5,000,000"),
        ("1 99999999999999999999:1\n", 1, 3, "at most 5,000,000"),
        ("9999999 1:1\n", 1, 1, "at most 1,000,000"),
        ("9 999999999 9\n1 1:1\n", 1, 1, "at most 5,000,000"),
        (" 1:1\n", None, None, "no row has a label"),
        ("1\n", None, None, "no row has an entry"),
        ("#\n", None, None, "0 rows"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, line, column, words):
    with pytest.raises(DataFileError, match=r"t\.svm") as caught:
        table_of(tmp_path, text)
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (line, column)
    assert words in str(caught.value)


def test_options_that_do_not_fit(tmp_path):
    with pytest.raises(DataFileError, match="index 0"):
        table_of(tmp_path, "1 0:1\n", index_base=1)
    with pytest.raises(InputError, match="index-base 2"):
        table_of(tmp_path, "1 1:1\n", index_base=2)
    with pytest.raises(DataFileError, match="5 features are stated, 9 are used"):
        table_of(tmp_path, "1 9:1\n", n_features=5)


def test_many_labels_keep_batches_bounded(tmp_path):
    table = table_of(tmp_path, "1000000 1:1\n" * 40)
    sizes = [batch.Y.nbytes for batch in table.batches(max_bytes=4_000_000)]
    assert sum(sizes) == 40 * 1_000_000
    assert max(sizes) <= 4_000_000
