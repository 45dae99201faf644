"""Small CSV files that say something about a data set: a group per row, a cost per feature."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from mlfs_dask.errors import DataFileError
from mlfs_dask.storage.readers.textfile import check_file, read_whole
from mlfs_dask.wording import counted


def numbered_cells(path: Path, *, n_cells: int, expected: str) -> list[tuple[int, list[str]]]:
    """Cells of every line, with the number of the line; empty lines at the end left out.

    Parameters
    ----------
    path
        File in UTF-8, plain, gzip or bzip2; cells separated by commas, quotes as in RFC 4180.
    n_cells
        Cells that each line is to have.
    expected
        What they are, for the message.

    Returns
    -------
    list of (int, list of str)
        1-based number of the first line of a row (a quoted cell may span several), its cells.

    Raises
    ------
    NotFoundError
        No such file.
    DataFileError
        A line with more or fewer cells, quotes that do not close, text that is not UTF-8.
    """
    check_file(path)
    try:
        text = read_whole(path).decode("utf-8-sig").rstrip()
    except UnicodeDecodeError as error:
        raise DataFileError.at(
            path, problem=f"byte {error.start} is not UTF-8", expected="text in UTF-8"
        ) from error
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    found = []
    line = 1
    try:
        for cells in rows:
            if len(cells) != n_cells:
                raise DataFileError.at(
                    path,
                    line=line,
                    problem=counted(len(cells), "cell") if cells else "an empty line",
                    expected=expected,
                    hint='Put text with commas in quotes: "a, b"' if cells else None,
                )
            found.append((line, cells))
            line = rows.line_num + 1
    except csv.Error as error:
        raise DataFileError.at(
            path, line=line, problem=f"cannot be read as CSV: {error}"
        ) from error
    return found
