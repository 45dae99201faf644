"""``evaluation.csv``: every measure of every fold, written in a fixed order and read back."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mlfs_dask.errors import RunFolderError
from mlfs_dask.storage.places import Place

COLUMNS: Final = (
    "dataset",
    "selector",
    "classifier",
    "repeat",
    "fold",
    "n_features",
    "share",
    "cost_share",
    "metric",
    "value",
    "n_scored",
)
_TEXT: Final = ("dataset", "selector", "classifier", "metric")
_WHOLE: Final = ("repeat", "fold", "n_scored")
REBUILD: Final = (
    "Remove state.json from the run's folder and run the job again: its results are put together "
    "anew from the finished units."
)


def evaluation_csv(rows: Iterable[dict[str, Any]]) -> bytes:
    """The file's content, sorted by its columns; None is an empty field.

    Parameters
    ----------
    rows
        By name of the column.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in sorted(rows, key=_sort_key):
        writer.writerow("" if row[column] is None else row[column] for column in COLUMNS)
    return text.getvalue().encode()


def read_evaluation(path: Place) -> NDArray[np.void]:
    """``evaluation.csv`` as a structured array; undefined values are NaN.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    RunFolderError
        It is damaged.
    """
    try:
        header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
        if tuple(header) != COLUMNS:
            raise ValueError(f"the first line is not {','.join(COLUMNS)}")
        return _structured(rows)
    except (ValueError, IndexError, csv.Error) as error:
        raise RunFolderError(f"{path}: {error}", hint=REBUILD, path=str(path)) from error


def evaluation_table(rows: Iterable[Sequence[Any]]) -> NDArray[np.void]:
    """What `read_evaluation` gives for a file of these rows.

    Parameters
    ----------
    rows
        Their values in the order of `COLUMNS`; None is undefined.
    """
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    return np.sort(_structured(cells), order=COLUMNS[:9])


def no_evaluation() -> NDArray[np.void]:
    """What `read_evaluation` gives for a file without rows."""
    return _structured([])


def _sort_key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(-math.inf if row[column] is None else row[column] for column in COLUMNS[:9])


def _structured(rows: list[list[str]]) -> NDArray[np.void]:
    columns: dict[str, NDArray[Any]] = {}
    for position, name in enumerate(COLUMNS):
        cells = [row[position] for row in rows]
        if name in _TEXT:
            columns[name] = np.array(cells, dtype=np.str_)
        elif name in _WHOLE:
            columns[name] = np.array(cells, dtype=np.int64)
        else:
            columns[name] = np.array([cell or "nan" for cell in cells], dtype=np.float64)
    table = np.empty(len(rows), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table
