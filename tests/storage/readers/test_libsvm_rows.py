"""Blocks at once and line by line: the two roads through libsvm text are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.storage.readers import open_table
from mlfs_dask.storage.readers.libsvm_rows import libsvm_rows
from mlfs_dask.storage.records import ReadOptions

# A comment sends the whole block down the road of single lines.
COMMENT = "# one line at a time\n"

LABELS = st.lists(st.integers(0, 12).map(str), max_size=3).map(",".join)
WORDS = st.sampled_from(["1:2", "2:0.5", "3:-1e-3", "5:0", "07:1", "9:+4", "1.0:2", "1e1:2", "4:"])
WORDS |= st.sampled_from(["-1:1", "2:1:3", ":", ",", "6", "8:nan", "8:1e999", "x:1", "11:.5"])
LINES = st.tuples(LABELS, st.lists(WORDS, max_size=4)).map(lambda row: " ".join([row[0], *row[1]]))


def read(path, text):
    path.write_text(text)
    try:
        rows = list(libsvm_rows(path, start_line=1))
    except DataFileError as error:
        return error.message
    return [[getattr(piece, name).tolist() for name in vars(piece)] for piece in rows]


@given(st.lists(LINES, min_size=1, max_size=5))
def test_both_roads_agree(tmp_path_factory, lines):
    """Also on what is refused, with the same words and place."""
    path = tmp_path_factory.mktemp("svm") / "t.svm"
    text = "\n".join(lines) + "\n"
    # The comment follows, so that line numbers stay; a mistake is found before it.
    assert read(path, text) == read(path, text + COMMENT)


def test_values_are_those_of_python(tmp_path):
    texts = [
        "0.1",
        "1e-320",
        "123456789012345678",
        "2.2250738585072011e-308",
        "-0.30000000000000004",
    ]
    line = "1 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts, start=1)) + "\n"
    for text in (line, line + COMMENT):
        (tmp_path / "t.svm").write_text(text)
        (piece,) = libsvm_rows(tmp_path / "t.svm", start_line=1)
        assert piece.values.tolist() == [float(text) for text in texts]


def sizes_table(tmp_path, text, **options):
    (tmp_path / "t.svm").write_text(text)
    return open_table(tmp_path / "t.svm", options=ReadOptions(**options))


class TestHeadOfSizes:
    """A first line of three whole numbers: indices from 0, unless only 1 is possible."""

    def test_from_0(self, tmp_path):
        header = sizes_table(tmp_path, "1 3 2\n1 1:1\n").header
        assert header.label_names == ("0", "1")
        assert header.feature_names == ("f0", "f1", "f2")

    def test_from_1(self, tmp_path):
        table = sizes_table(tmp_path, "1 3 2\n1,2 1:4 3:5\n")
        assert table.header.label_names == ("1", "2")
        assert table.header.feature_names == ("f1", "f2", "f3")
        (batch,) = table.batches()
        assert batch.X.toarray().tolist() == [[4, 0, 5]]

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ("2 3 2\n0 0:1\n2 1:1\n", 3, "label 2 is beyond the 2 labels"),
            ("2 3 2\n0 0:1\n1 3:1\n", 3, "3 features are stated, 4 are used"),
            ("1 3 2\n1 5:1\n", 2, "3 features are stated, 6 are used"),
        ],
    )
    def test_numbers_beyond_it(self, tmp_path, text, line, words):
        with pytest.raises(DataFileError, match=words) as caught:
            sizes_table(tmp_path, text)
        assert caught.value.facts["line"] == line


@pytest.mark.parametrize("n_features", [0, -1, 5_000_001, 10**13])
def test_width_asked_for_is_bounded(tmp_path, n_features):
    """Each feature gets a name, so that a slip of the keyboard would take all memory."""
    with pytest.raises(InputError, match="n-features"):
        sizes_table(tmp_path, "1 1:1\n", n_features=n_features)


def test_many_small_rows_in_one_block(tmp_path):
    """Rows of a block are cut where labels are many."""
    table = sizes_table(tmp_path, "1000000 1:1\n" + "1\n" * 2000)
    n_rows = 0
    for batch in table.batches(max_bytes=1 << 22):
        assert batch.Y.nbytes <= 1 << 22
        n_rows += batch.n_rows
        if n_rows > 100:
            break
    assert n_rows > 100
    assert np.asarray(batch.split).max() == 0
