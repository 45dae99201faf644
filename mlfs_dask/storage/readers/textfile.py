"""Text files as blocks of whole lines, packed or not, with one clear error for what can go wrong.

Memory is bounded by a block (or by the longest line, if that is longer), whatever the file.
"""

from __future__ import annotations

import bz2
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from mlfs_dask.errors import DataFileError, MachineError, NotFoundError

# Text of this size and the objects parsed from it stay in the processor's cache.
_CHUNK: Final = 256 * 1024
_GZIP: Final = b"\x1f\x8b"
_BZIP2: Final = b"BZh"
_PACKED_HINT: Final = "Copy or download the file again."


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive whole lines of a file.

    Parameters
    ----------
    line
        1-based number of the first line.
    data
        The lines, each ended by a line feed (the file's last one perhaps not).
    """

    line: int
    data: bytes


def line_blocks(path: Path, *, start_line: int = 1, unix_ends: bool = True) -> Iterator[Block]:
    r"""Lines of a plain, gzip or bzip2 file.

    A byte order mark is removed.

    Parameters
    ----------
    path
        The file; packing is told by its first bytes, not its name.
    start_line
        First line wanted, 1-based.
    unix_ends
        Turn each ``\r\n`` into ``\n``.

    Raises
    ------
    DataFileError
        Damaged or truncated packing, a NUL byte, no permission to read.
    MachineError
        The machine failed to read.
    """
    line = 1
    for text in _whole_lines(path):
        data = _unix_ends(text) if unix_ends else text
        if b"\0" in data:
            raise _nul_byte(path, line, data)
        n_lines = data.count(b"\n")
        if line + n_lines >= start_line:
            if line < start_line:
                rest = data.split(b"\n", start_line - line)[-1]
                block = Block(start_line, rest)
            else:
                block = Block(line, data)
            if block.data:
                yield block
        line += n_lines


def check_file(path: Path) -> None:
    """Refuse a path that is no regular, non-empty file.

    Raises
    ------
    NotFoundError
        Nothing is there.
    DataFileError
        A directory, a device or pipe, an empty file, or no permission to look.
    """
    with reading(path):
        if path.is_dir():
            raise DataFileError.at(
                path,
                problem="is a directory",
                expected="a data file",
                hint="Give the data file inside it.",
            )
        if not path.exists():
            raise NotFoundError(
                f"{path}: no such file", hint="Check the path and its spelling.", file=str(path)
            )
        if not path.is_file():
            raise DataFileError.at(path, problem="is a device or a pipe", expected="a regular file")
        if path.stat().st_size == 0:
            raise empty_file(path)


def empty_file(path: Path) -> DataFileError:
    """The error for a file without content."""
    return DataFileError.at(
        path, problem="the file is empty", expected="a data file", hint=_PACKED_HINT
    )


def file_digest(path: Path) -> str:
    """sha256 of the file as it lies on the disk, in hexadecimal."""
    with reading(path), path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def read_whole(path: Path, *, limit: int | None = None) -> bytes:
    """Unpacked content of a file that a library wants in one piece.

    Parameters
    ----------
    path
        Plain, gzip or bzip2 file.
    limit
        Refuse content of more bytes; a small packed file can unpack to anything.

    Raises
    ------
    DataFileError
        Damaged packing, or more content than ``limit``.
    """
    pieces: list[bytes] = []
    size = 0
    for chunk in _chunks(path):
        size += len(chunk)
        if limit is not None and size > limit:
            raise DataFileError.at(
                path, problem=f"unpacks to more than {limit:,} bytes", expected="a smaller file"
            )
        pieces.append(chunk)
    return b"".join(pieces)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into errors of ours."""
    try:
        yield
    except (DataFileError, NotFoundError, MachineError):
        raise
    except FileNotFoundError as error:
        raise NotFoundError(
            f"{path}: no such file", hint="Check the path and its spelling.", file=str(path)
        ) from error
    except PermissionError as error:
        raise DataFileError.at(
            path,
            problem="no permission to read it",
            hint="Change the permissions of the file or of its folder (chmod a+r).",
        ) from error
    except OSError as error:
        raise MachineError(
            f"{path}: cannot be read: {error.strerror or error}",
            hint="Check the disk or the network mount, then try again.",
            file=str(path),
        ) from error
    except ValueError as error:  # a NUL inside the path
        raise NotFoundError(f"{str(path)!r} is not a path: {error}", file=str(path)) from error


def _nul_byte(path: Path, line: int, data: bytes) -> DataFileError:
    at = data.index(b"\0")
    start = data.rfind(b"\n", 0, at) + 1
    return DataFileError.at(
        path,
        line=line + data.count(b"\n", 0, at),
        column=at - start + 1,
        problem="a NUL byte",
        expected="text in UTF-8",
        hint="The file is damaged, or it is not a text file (UTF-16 text must be re-encoded).",
    )


def _whole_lines(path: Path) -> Iterator[bytes]:
    pieces: list[bytes] = []
    mark = b"\xef\xbb\xbf"
    for chunk in _chunks(path):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            pieces.append(chunk[:cut])
            yield b"".join(pieces).removeprefix(mark)
            pieces, mark = [chunk[cut:]], b""
        else:
            pieces.append(chunk)
    rest = b"".join(pieces).removeprefix(mark)
    if rest:
        yield rest


def _unix_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _chunks(path: Path) -> Iterator[bytes]:
    with reading(path), path.open("rb") as raw:
        magic = raw.read(3)
        raw.seek(0)
        if magic.startswith(_GZIP):
            yield from _gunzip(path, raw)
        elif magic == _BZIP2:
            yield from _bunzip2(path, raw)
        else:
            while chunk := raw.read(_CHUNK):
                yield chunk


def _gunzip(path: Path, raw: BinaryIO) -> Iterator[bytes]:
    # The gzip module reads 8 KiB at a time; this is a third faster, in bounded steps.
    member = zlib.decompressobj(wbits=31)
    fresh = True
    data = raw.read(_CHUNK)
    while data:
        try:
            text = member.decompress(data, _CHUNK)
        except zlib.error as error:
            raise _damaged(path, "gzip", str(error)) from error
        fresh = False
        if text:
            yield text
        if member.eof:
            # Further members may follow, or zero padding.
            data = (member.unused_data or raw.read(_CHUNK)).lstrip(b"\0")
            member = zlib.decompressobj(wbits=31)
            fresh = True
        else:
            data = member.unconsumed_tail
        data = data or raw.read(_CHUNK)
    if not fresh:
        raise _truncated(path, "gzip")


def _bunzip2(path: Path, raw: BinaryIO) -> Iterator[bytes]:
    with bz2.BZ2File(raw) as unpacked:
        while True:
            try:
                text = unpacked.read(_CHUNK)
            except EOFError as error:
                raise _truncated(path, "bzip2") from error
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise _damaged(path, "bzip2", str(error)) from error
            if not text:
                return
            yield text


def _damaged(path: Path, packing: str, detail: str) -> DataFileError:
    return DataFileError.at(
        path, problem=f"the {packing} data are damaged ({detail})", hint=_PACKED_HINT
    )


def _truncated(path: Path, packing: str) -> DataFileError:
    return DataFileError.at(
        path,
        problem=f"the {packing} data end early: the file is truncated",
        expected=f"a whole {packing} file",
        hint=_PACKED_HINT,
    )
