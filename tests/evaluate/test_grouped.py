"""Groups stay together, folds stay balanced; files of group ids and what can be wrong in them."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError, InputError, NotFoundError
from mlfs_dask.evaluate.grouped import groups, read_groups
from reference import folds as twin


@st.composite
def grouped(draw):
    codes = draw(st.lists(st.integers(-3, 9), min_size=2, max_size=60))
    kinds = len(set(codes))
    if kinds < 2:
        codes[0] = 99
        kinds = len(set(codes))
    return codes, draw(st.integers(2, kinds)), draw(st.integers(0, 2**40))


@given(grouped(), st.integers(0, 3))
def test_groups_are_dealt_out_by_size(drawn, repeat):
    codes, folds, seed = drawn
    found = groups(codes, folds, seed, repeat)
    assert [set(rows.tolist()) for rows in found] == twin.groups(codes, folds, seed, repeat)


@given(grouped(), st.integers(0, 3))
def test_no_group_is_parted_and_folds_are_balanced(drawn, repeat):
    codes, folds, seed = drawn
    found = groups(np.array(codes), folds, seed, repeat)
    held = [{codes[row] for row in rows} for rows in found]
    assert sum(len(names) for names in held) == len(set(codes))
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(len(codes)))
    assert all(rows.dtype == np.int64 and (np.diff(rows) > 0).all() for rows in found)
    sizes = [len(rows) for rows in found]
    assert min(sizes) > 0
    assert max(sizes) - min(sizes) <= max(codes.count(code) for code in codes)


def test_groups_of_one_row_give_folds_of_equal_size():
    sizes = [len(rows) for rows in groups(np.arange(23), 5, seed=0)]
    assert sorted(sizes) == [4, 4, 5, 5, 5]


def test_every_row_tests_about_as_often_in_each_fold():
    """Over 100 repeats, how often a row is in fold 0 stays within binomial bounds."""
    codes = np.repeat(np.arange(12), np.arange(1, 13))  # groups of 1 to 12 rows
    times = np.zeros(len(codes), dtype=np.int64)
    for repeat in range(100):
        times[groups(codes, 4, seed=9, repeat=repeat)[0]] += 1
    # Binomial(100, 1/4): mean 25, deviation 4.33; beyond 4 deviations once in 16,000.
    assert times.min() >= 25 - 17.4
    assert times.max() <= 25 + 17.4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 1, 2, 2], 3, 0, 0), "folds = 3, but the rows form only 2 groups\n.*at most 2"),
        (([1, 1, 2, 2], 1, 0, 0), "folds = 1"),
        (([1, 1, 2, 2], 2, -1, 0), "seed = -1"),
        (([[1, 2]], 2, 0, 0), "one per row"),
    ],
)
def test_impossible_groups_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        groups(*arguments)


@pytest.mark.parametrize(
    "text",
    [
        b"a\nb\na\n",
        b"a\nb\na",
        b"\xef\xbb\xbfa\r\nb\r\na\r\n\r\n\r\n",
        b'patient\n"a"\n"b"\na\n',
        b" a\nb \n\ta\n",
        b"site\nS1\nS2\nS1\n",
        b"some site\n1\n2\n1\n",
        gzip.compress(b"patient\na\nb\na\n"),
    ],
)
def test_ids_are_read_in_the_order_of_the_rows(tmp_path, text):
    file = tmp_path / "groups.csv"
    file.write_bytes(text)
    codes = read_groups(file, 3)
    assert codes.dtype == np.int64
    assert codes.tolist() == [0, 1, 0]


def test_ids_may_hold_commas_and_any_unicode(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text('"Müller, A."\n標籤\n"Müller, A."\n', encoding="utf-8")
    assert read_groups(file, 3).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\nb\n", r"groups\.csv:2: 2 group ids .*; expected 3, one for each row"),
        (b"a\nb\na\na\n", r"groups\.csv:4: 4 group ids"),  # its first line is an id like others
        (b"7\nb\na\na\n", r"groups\.csv:4: 4 group ids"),  # a number is no header
        (b"c\na\nb\na\n", r"groups\.csv:4: 4 group ids.*\n.*header, take it out"),
        (b"S9\nS1\nS2\nS1\n", r"groups\.csv:4: 4 group ids"),  # it may be an id too many
        (b"head\na\nb\na\nb\nb\n", r"groups\.csv:4: 6 group ids"),
        (b"a\n\nb\n", r"groups\.csv:2: an empty line; expected one cell"),
        (b"a\n  \nb\n", r"groups\.csv:2: an empty cell"),
        (b"1,a\n2,b\n3,a\n", r"groups\.csv:1: 2 cells; expected one cell.*\n.*quotes"),
        (b'a\n"b\na\n', r"groups\.csv:2: cannot be read as CSV: unexpected end"),
        (b"a\nb\n\xff\n", r"groups\.csv: byte 4 is not UTF-8"),
        (b" \n", r"groups\.csv: no group ids"),
        (b"", r"groups\.csv: the file is empty"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(tmp_path, text, message):
    file = tmp_path / "groups.csv"
    file.write_bytes(text)
    with pytest.raises(DataFileError, match=message):
        read_groups(file, 3)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(NotFoundError, match=r"nowhere\.csv: no such file"):
        read_groups(tmp_path / "nowhere.csv", 3)
