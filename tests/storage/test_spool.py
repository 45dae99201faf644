"""The temporary file: any rows, any columns, pieces of different dtypes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.storage.spool import Spool


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["u1", "i2", "f4", "f8"])), max_size=6),
    st.integers(1, 5),
    st.data(),
)
def test_ranges_equal_the_rows_appended(tmp_path_factory, pieces, width, data):
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 200, (n, width)).astype(dtype) for n, dtype in pieces]
    whole = np.vstack([np.empty((0, width)), *rows])
    with Spool(tmp_path_factory.mktemp("spool") / "rows", width) as spool:
        for piece in rows:
            spool.append(piece)
        assert spool.n_rows == len(whole)
        start = data.draw(st.integers(0, len(whole)))
        stop = data.draw(st.integers(start, len(whole)))
        left = data.draw(st.integers(0, width - 1))
        right = data.draw(st.integers(left + 1, width))
        read = spool.read(start, stop, np.dtype(float), slice(left, right))
        np.testing.assert_array_equal(read, whole[start:stop, left:right])
        np.testing.assert_array_equal(spool.read(start, stop, np.dtype(float)), whole[start:stop])


def test_a_file_cut_short_is_no_zeros(tmp_path):
    with Spool(tmp_path / "rows", 2) as spool:
        spool.append(np.ones((4, 2)))
        with open(tmp_path / "rows", "r+b") as handle:
            handle.truncate(40)
        with pytest.raises(OSError, match="cut short"):
            spool.read(0, 4, np.dtype(float))


def test_other_users_cannot_read_it(tmp_path):
    with Spool(tmp_path / "rows"):
        assert (tmp_path / "rows").stat().st_mode & 0o077 == 0
