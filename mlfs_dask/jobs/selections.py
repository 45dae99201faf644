"""Selections read back one by one: those with a ranking for each problem are large.

A thousand problems over a thousand features make a million places in the order, a million scores
and perhaps a million members: as Python numbers a hundred bytes each, in arrays sixteen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from mlfs_dask.errors import RunFolderError
from mlfs_dask.jobs.rundir import CHANGED, read_json
from mlfs_dask.jobs.shapes import Results, Selection, read_shaped
from mlfs_dask.storage.places import Place

_LIST: Final = b'"selections": [\n'


def iter_selections(path: Place) -> Iterator[dict[str, Any]]:
    """Selections of ``results.json``, of which one at a time is held as text.

    Parameters
    ----------
    path
        The file, as runs write it: a selection per line. One that was laid out anew is read whole.

    Yields
    ------
    dict
        As the file holds it; but order and support of a selection for problems are lists of arrays
        of int32, and its scores are lists of arrays of float64 with NaN for null.

    Raises
    ------
    NotFoundError
        It is missing.
    RunFolderError
        It is not what a run writes.
    """
    if not path.is_file():
        read_json(path)  # says what is missing
    with path.open("rb") as file:
        head = file.readline()
        by_line = head.endswith(_LIST)
        if by_line:
            for line in file:
                if line.rstrip() == b"]}":
                    return
                yield _compact(_parse(line.rstrip(b",\n"), path))
    if by_line:
        raise RunFolderError(f"{path} ends in the middle", hint=CHANGED, path=str(path))
    for selection in read_shaped(path, Results)["selections"]:
        yield _compact(selection)


def _parse(line: bytes, path: Place) -> dict[str, Any]:
    try:
        selection: dict[str, Any] = msgspec.json.decode(line)
        msgspec.convert(selection, Selection)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{path}: {error}", hint=CHANGED, path=str(path)) from error
    return selection


def _compact(selection: dict[str, Any]) -> dict[str, Any]:
    if selection["problems"] is None:
        return selection
    arrays = {
        "order": [np.array(row, dtype=np.int32) for row in selection["order"]],
        "scores": [np.array(row, dtype=np.float64) for row in selection["scores"]],
        "support": [np.array(row, dtype=np.int32) for row in selection["support"]],
    }
    return {**selection, **arrays}
