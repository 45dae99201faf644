"""Chunks unpacked by the thread that asks: values as Zarr gives them, and never those of damage."""

from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.codecs import BytesCodec, GzipCodec

from mlfs_dask.storage.direct import chunk_file, read_rows
from mlfs_dask.storage.layout import compressors
from mlfs_dask.storage.places import place

TYPES = (np.uint8, np.int32, np.int64, np.float32, np.float64)


def make(folder: Path, values, chunks, packed=None, **options):
    group = zarr.create_group(folder, zarr_format=3, overwrite=True)
    packed = packed or compressors()
    # As our stores are written: chunks of zeros are there, too.
    options |= {"config": {"write_empty_chunks": True}}
    group.create_array("X", data=values, chunks=chunks, compressors=packed, **options)
    return zarr.open_group(folder, mode="r")["X"]


def rows(first, last, array):
    return (slice(first, last), *(slice(0, length) for length in array.shape[1:]))


@given(
    n=st.integers(1, 40),
    height=st.integers(1, 12),
    width=st.sampled_from([None, 1, 3]),
    dtype=st.sampled_from(TYPES),
    ends=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_rows_are_those_of_zarr(tmp_path_factory, n, height, width, dtype, ends):
    shape = (n,) if width is None else (n, width)
    values = np.random.default_rng(n).integers(0, 200, shape).astype(dtype)
    array = make(tmp_path_factory.mktemp("a"), values, (min(height, n), *shape[1:]))
    first, last = sorted(min(end, n) for end in ends)
    found = read_rows(Path(array.store.root), array, rows(first, last, array))
    if first == last:
        assert found is None
        return
    assert found is not None
    assert found.dtype == dtype
    assert found.flags.writeable
    assert np.array_equal(found, array[first:last])


def test_what_is_unusual_is_left_to_zarr(tmp_path):
    values = np.arange(24.0).reshape(6, 4)
    whole = (slice(0, 6), slice(0, 4))
    ours = make(tmp_path / "a", values, (2, 4))
    assert read_rows(tmp_path / "a", ours, whole) is not None
    assert read_rows(tmp_path / "a", ours, (slice(0, 6), slice(1, 4))) is None
    assert read_rows(place("s3://bucket/a"), ours, whole) is None
    cut = make(tmp_path / "b", values, (2, 2))
    assert read_rows(tmp_path / "b", cut, whole) is None
    other = make(tmp_path / "c", values, (2, 4), (GzipCodec(),))
    assert read_rows(tmp_path / "c", other, whole) is None
    turned = make(tmp_path / "d", values, (2, 4), serializer=BytesCodec(endian="big"))
    assert read_rows(tmp_path / "d", turned, whole) is None


@pytest.mark.parametrize("damage", ["lost", "cut", "empty", "flipped", "another"])
def test_a_damaged_chunk_is_left_to_zarr(tmp_path, damage):
    array = make(tmp_path, np.arange(24.0).reshape(6, 4), (2, 4))
    file = tmp_path / chunk_file(array, (1, 0))
    content = bytearray(file.read_bytes())
    if damage == "lost":
        file.unlink()
    elif damage == "another":
        longer = make(tmp_path / "longer", np.arange(40.0).reshape(10, 4), (5, 4))
        file.write_bytes((tmp_path / "longer" / chunk_file(longer, (0, 0))).read_bytes())
    else:
        content[len(content) // 2] ^= 1
        file.write_bytes({"cut": content[:-5], "empty": b"", "flipped": content}[damage])
    assert read_rows(tmp_path, array, rows(0, 6, array)) is None
    assert np.array_equal(read_rows(tmp_path, array, rows(0, 2, array)), array[0:2])
