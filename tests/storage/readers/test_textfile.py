"""Blocks of lines of plain and packed files."""

import bz2
import errno
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.errors import DataFileError, MachineError, NotFoundError
from mlfs_dask.storage.readers import textfile
from mlfs_dask.storage.readers.textfile import (
    check_file,
    line_blocks,
    read_whole,
    reading,
)

PACKED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


@given(
    lines=st.lists(st.text("ab \r", max_size=9), max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    bom=st.booleans(),
    packing=st.sampled_from(list(PACKED)),
    chunk=st.integers(1, 40),
    start=st.integers(1, 14),
)
def test_lines_and_numbers(shared, lines, end, last, bom, packing, chunk, start):
    lines = [line.replace("\r", "") or "x" for line in lines]
    text = end.join(lines) + (end if last and lines else "")
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    path = shared / "lines"
    path.write_bytes(PACKED[packing](data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textfile, "_CHUNK", chunk)
        blocks = list(line_blocks(path, start_line=start))
    found = [
        (number, line.decode())
        for block in blocks
        for number, line in enumerate(block.data.split(b"\n"), start=block.line)
        if line
    ]
    assert found == [(i, line) for i, line in enumerate(lines, start=1) if i >= start]
    assert all(block.data.endswith(b"\n") for block in blocks[:-1])


def test_members_of_gzip_are_joined_and_padding_ignored(tmp_path):
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n") + b"\0" * 7)
    assert b"".join(block.data for block in line_blocks(path)) == b"a\nbc\n"


@pytest.mark.parametrize("packing", ["gzip", "bzip2"])
def test_truncated_packing_at_every_length(tmp_path, packing):
    whole = PACKED[packing](b"line one\nline two\n" * 20)
    path = tmp_path / "cut"
    first = 3 if packing == "bzip2" else 2  # fewer bytes tell no packing
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataFileError, match=r"truncated|damaged") as caught:
            list(line_blocks(path))
        assert caught.value.facts["file"] == str(path)


@pytest.mark.parametrize("packing", ["gzip", "bzip2"])
@given(data=st.data())
def test_flipped_byte_never_gives_other_lines(shared, packing, data):
    content = b"some lines\nof text\n" * 30
    whole = bytearray(PACKED[packing](content))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    path = shared / "flipped"
    path.write_bytes(whole)
    try:
        found = b"".join(block.data for block in line_blocks(path))
    except DataFileError:
        return
    # Of the first bytes, which tell the packing, and of the header's time stamp or name.
    assert found == content or at < 10


def test_garbage_after_gzip_is_refused(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"a\n") + b"garbage")
    with pytest.raises(DataFileError, match="damaged"):
        list(line_blocks(path))


def test_nul_byte_has_its_place(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"ab\ncd\nef\0g\n")
    with pytest.raises(DataFileError, match="NUL byte") as caught:
        list(line_blocks(path))
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (3, 3)


def test_whole_content_is_bounded(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\n" * 1_000_000))
    assert len(read_whole(path)) == 1_000_000
    with pytest.raises(DataFileError, match="more than 999,999 bytes"):
        read_whole(path, limit=999_999)


def test_memory_is_bounded_by_a_block(tmp_path):
    """A packed megabyte of lines comes in pieces, none larger than a chunk."""
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"0123456\n" * 200_000))
    sizes = [len(block.data) for block in line_blocks(path)]
    assert sum(sizes) == 1_600_000
    assert max(sizes) <= textfile._CHUNK + 8


@pytest.mark.parametrize(
    ("raised", "expected", "words"),
    [
        (PermissionError(errno.EACCES, "denied"), DataFileError, "no permission"),
        (FileNotFoundError(errno.ENOENT, "gone"), NotFoundError, "no such file"),
        (OSError(errno.EIO, "Input/output error"), MachineError, "Input/output error"),
        (ValueError("embedded null byte"), NotFoundError, "not a path"),
    ],
)
def test_what_the_system_says(tmp_path, raised, expected, words):
    with pytest.raises(expected, match=words), reading(tmp_path / "f"):
        raise raised


def test_read_error_in_the_middle_is_the_machines_fault(tmp_path, monkeypatch):
    path = tmp_path / "x.bz2"
    path.write_bytes(bz2.compress(b"a\n" * 1000))

    def fail(self, size=-1):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(bz2.BZ2File, "read", fail)
    with pytest.raises(MachineError) as caught:
        list(line_blocks(path))
    assert caught.value.exit_code == 1


def test_path_with_a_nul(tmp_path):
    with pytest.raises(NotFoundError):
        check_file(tmp_path / "a\0b")


def test_dangling_link(tmp_path):
    link = tmp_path / "link.arff"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(NotFoundError):
        check_file(link)
