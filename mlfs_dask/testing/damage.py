"""Damage to files: what a reader must answer with an error of ours, soon, whatever the bytes.

Needs hypothesis installed.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hypothesis import strategies as st

from mlfs_dask.errors import MlfsError

_PIECES: Final = (
    *(b"@attribute ", b"@data\n", b"@relation ", b"-C 2", b"numeric", b"string", b"{}", b"0,1"),
    *(b"{", b"}", b"'", b'"', b"\\", b"\\u", b"%", b"?", b",", b":", b"#", b";"),
    *(b" ", b"\n", b"\r", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"BZh"),
    *(b"1e999", b"-0", b"9" * 30, b"999999999", b"nan", b"-1"),
)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes flipped, pieces put in or taken out, lines dropped, doubled or swapped, an early end.

    Parameters
    ----------
    draw
        Given by hypothesis.
    data
        Content of a whole file.
    """
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["flip", "insert", "cut", "drop", "double", "swap", "remove"])):
            case "flip" if at < len(data):
                data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
            case "insert":
                data = data[:at] + draw(st.sampled_from(_PIECES)) + data[at:]
            case "cut":
                data = data[:at]
            case "remove":
                data = data[:at] + data[at + draw(st.integers(1, 9)) :]
            case action:
                lines = data.split(b"\n")
                i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
                if action == "drop":
                    del lines[i]
                elif action == "double":
                    lines.insert(j, lines[i])
                else:
                    lines[i], lines[j] = lines[j], lines[i]
                data = b"\n".join(lines)
    return data


@contextmanager
def no_hang(seconds: int = 20) -> Iterator[None]:
    """Fail what takes so long, where it should take milliseconds (main thread only).

    Parameters
    ----------
    seconds
        Whole seconds.
    """

    def stop(*_: object) -> None:
        raise TimeoutError(f"still at it after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Take an error that the user can correct for an answer; let any other through."""
    raised = None
    try:
        yield
    except MlfsError as error:
        raised = error
    assert raised is None or (str(raised) and raised.exit_code == 2), raised
