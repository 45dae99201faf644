"""Reading a journal that somebody else is writing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mlfs_dask.storage.places import ObjectPlace, Place
from mlfs_dask.storage.segments import Segments


class JournalTail:
    """Events of a journal, each once, as they come.

    For looking only: lines are not checked against their checksums, and a journal that was put in
    place anew by another coordinator is taken up where the old one had got to.

    Parameters
    ----------
    path
        The journal; need not exist yet.
    """

    def __init__(self, path: Place) -> None:
        self._path = path
        self._position = 0  # in bytes, or in segments
        self._seq = 0

    def read(self) -> Iterator[dict[str, Any]]:
        """Events written since the last call."""
        lines = self._segments if isinstance(self._path, ObjectPlace) else self._file
        for line in lines():
            event = _parsed(line)
            if event is not None and event["seq"] > self._seq:
                self._seq = event["seq"]
                yield event

    def _file(self) -> Iterator[bytes]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            if file.seek(0, 2) < self._position:
                self._position = 0
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                yield line

    def _segments(self) -> Iterator[bytes]:
        assert isinstance(self._path, ObjectPlace)
        for number, content in Segments(self._path).contents(after=self._position):
            yield from content.splitlines()
            self._position = number


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("seq"), int) else None
