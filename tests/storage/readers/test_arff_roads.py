"""The fast roads through ARFF rows give what the careful one gives, and numbers are Python's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.storage.readers.arff_cells import ArffCells, Column, DenseRows
from mlfs_dask.storage.readers.arff_rows import ArffRows
from mlfs_dask.storage.readers.coding import feature_table
from mlfs_dask.storage.readers.numerals import decode_numbers, parse_number
from mlfs_dask.storage.readers.textfile import Block
from mlfs_dask.testing.files import arff_files


class TestTwoRoads:
    """The fast road gives what the careful one gives, or leaves the block to it."""

    @given(file=arff_files())
    def test_same_rows(self, file):
        columns = [
            Column(c.name, None if c.domain is None else feature_table(c.domain), c.is_label)
            for c in file.columns
        ]
        text = file.text.replace(b"\r\n", b"\n")
        block = Block(1, text[text.lower().index(b"\n@data") :].split(b"\n", 2)[2])
        fast = ArffRows(Path("f"), columns, is_sparse=file.is_sparse).decode(block)
        cells = ArffCells(Path("f"), columns)
        careful = cells.sparse(block) if file.is_sparse else cells.dense(block)
        if isinstance(careful, DenseRows):
            assert fast.cells.tobytes() == careful.cells.tobytes()
        else:
            assert fast.n_rows == careful.n_rows
            assert fast.row.tolist() == careful.row.tolist()
            assert fast.column.tolist() == careful.column.tolist()
            assert fast.value.tobytes() == careful.value.tobytes()

    @pytest.mark.parametrize("is_sparse", [False, True])
    @given(data=st.data())
    def test_same_verdict_on_damaged_rows(self, data, is_sparse):
        """What the fast road takes, the careful one takes as well, to the same values."""
        tables = data.draw(st.sampled_from([("0", "1"), ("YES", "NO"), ("3", "1", "2")]))
        columns = [Column("n"), Column("c", feature_table(tables)), Column("l", None)]
        alphabet = st.sampled_from(
            [*"013?.-e+%'\t\r_[\" ,{}", "YES", "nan", "null", "00", "1e999", "\xa0", "9" * 20]
        )
        row = "{0 1,1 3}" if is_sparse else "0.5,1,0"
        lines = []
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(row)))
            cut = data.draw(st.integers(0, 2))
            noise = "".join(data.draw(st.lists(alphabet, max_size=3)))
            lines.append(row[:at] + noise + row[at + cut :])
        block = Block(1, "\n".join(lines).encode())
        fast = ArffRows(Path("f"), columns, is_sparse=is_sparse)
        cells = ArffCells(Path("f"), columns)
        careful = _outcome(cells.sparse if is_sparse else cells.dense, block)
        assert _outcome(fast.decode, block) == careful


def _outcome(decode, block):
    try:
        rows = decode(block)
    except ValueError as error:
        return str(error)
    if isinstance(rows, DenseRows):
        return rows.cells.tobytes(), rows.cells.shape
    return rows.n_rows, rows.row.tolist(), rows.column.tolist(), rows.value.tobytes()


@given(
    text=st.from_regex(
        r"[+-]?([0-9]{1,25}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?", fullmatch=True
    )
)
def test_numbers_are_those_of_python(text):
    data = text.encode()
    assert parse_number(data) == float(text)
    decoded = decode_numbers(data)
    assert decoded is None or decoded.tolist() == [float(text)]
