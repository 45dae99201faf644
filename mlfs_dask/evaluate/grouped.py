"""Folds that keep the rows of a group together, and the file that names the groups."""

from __future__ import annotations

import heapq
import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from mlfs_dask._typing import IntArray
from mlfs_dask.errors import DataFileError, InputError
from mlfs_dask.evaluate.splits import check_folds, fold_generator
from mlfs_dask.storage.readers.csv_lists import numbered_cells
from mlfs_dask.storage.readers.numerals import parse_number
from mlfs_dask.wording import counted

_HEADERS: Final = frozenset(
    ("group", "groups", "group_id", "group id", "id", "ids", "patient", "subject", "person", "user")
)
_DIGITS: Final = re.compile(r"\d+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def groups(codes: Any, folds: int, seed: int, repeat: int = 0) -> list[IntArray]:
    """Test rows of each fold, no group in two of them.

    Groups are shuffled, then dealt out by size, the largest first, each to the fold with the fewest
    rows; equally filled folds come in drawn order. Fold sizes differ by at most the size of the
    largest group.

    Parameters
    ----------
    codes : array-like, shape (n_samples,)
        Group of each row, such as an integer.
    folds
        From 2 to the number of groups.
    seed
        Not negative.
    repeat
        Counted from 0. ``default_rng(SeedSequence(seed, spawn_key=(0, repeat)))`` draws the order
        of the groups (numbered by ascending code), then that of the folds.

    Returns
    -------
    list of ndarray of int64
        Ascending row numbers per fold.

    Raises
    ------
    InputError
        Fewer than two folds, more folds than groups, a negative seed or repeat, codes that are not
        one per row.

    Examples
    --------
    >>> [rows.tolist() for rows in groups([7, 7, 3, 3, 3, 5], 2, seed=0)]
    [[0, 1, 5], [2, 3, 4]]
    """
    array = np.asarray(codes)
    if array.ndim != 1:
        raise InputError(f"group codes have shape {array.shape}, expected one per row")
    check_folds(len(array), folds)
    _, members, sizes = np.unique(array, return_inverse=True, return_counts=True)
    if len(sizes) < folds:
        raise InputError(
            f"folds = {folds}, but the rows form only {counted(len(sizes), 'group')}",
            hint=f"A group is never parted: at most {counted(len(sizes), 'fold')} can have one to "
            "test.",
            folds=folds,
            groups=len(sizes),
        )
    generator = fold_generator(seed, repeat)
    order = generator.permutation(len(sizes))
    filled = [(0, int(turn), fold) for fold, turn in enumerate(generator.permutation(folds))]
    heapq.heapify(filled)
    fold_of = np.empty(len(sizes), dtype=np.int64)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        rows, turn, fold = filled[0]
        fold_of[group] = fold
        heapq.heapreplace(filled, (rows + int(sizes[group]), turn, fold))
    fold_of_row = fold_of[members]
    return [np.flatnonzero(fold_of_row == fold) for fold in range(folds)]


def read_groups(path: str | Path, n_samples: int) -> IntArray:
    r"""Groups of the rows from a file: one id per line, in the order of the rows.

    Ids are any text, compared as it is (blanks around it do not count, nor do quotes of CSV). One
    line more than there are rows is taken for a header if it is no number, found in no other line,
    and a usual word for ids (``group``, ``patient``, ...) or built otherwise than all ids (``site``
    above ``S1``, ``S2``); else it may be an id too many, and the file is refused. Empty lines at
    the end do not count.

    Parameters
    ----------
    path
        File in UTF-8, plain, gzip or bzip2.
    n_samples
        Rows of the data set.

    Returns
    -------
    ndarray of int64, shape (n_samples,)
        Codes of the ids, counted from 0 in the order of their first lines.

    Raises
    ------
    NotFoundError
        No such file.
    DataFileError
        More or fewer ids than rows, an empty line before the last, a line of several cells; with
        file and line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "patients.csv"
    ...     _ = file.write_text("patient\nP7\nP2\nP7\n")
    ...     read_groups(file, 3).tolist()
    [0, 1, 0]
    """
    file = Path(path)
    ids, lines = _read_ids(file)
    one_more = len(ids) == n_samples + 1
    if one_more and _is_header(ids):
        ids, lines = ids[1:], lines[1:]
    if len(ids) != n_samples:
        raise DataFileError.at(
            file,
            line=lines[n_samples] if len(ids) > n_samples else lines[-1],
            problem=f"{counted(len(ids), 'group id')} up to line {lines[-1]}",
            expected=f"{n_samples}, one for each row of the data set",
            hint="If the first line is a header, take it out: it looks like an id."
            if one_more
            else None,
        )
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(name, len(codes)) for name in ids], dtype=np.int64)


def _is_header(ids: list[str]) -> bool:
    first = ids[0]
    if parse_number(first.encode()) is not None or first in ids[1:]:
        return False
    return first.casefold() in _HEADERS or all(_build(first) != _build(id_) for id_ in ids[1:])


def _build(name: str) -> str:
    """How an id is made: runs of digits and of letters, and what stands between them."""
    return _LETTERS.sub("a", _DIGITS.sub("0", name))


def _read_ids(file: Path) -> tuple[list[str], list[int]]:
    """Ids and their lines."""
    rows = numbered_cells(file, n_cells=1, expected="one cell, the group id of a row")
    if not rows:
        raise DataFileError.at(file, problem="no group ids in it", expected="one per line")
    ids = [cells[0].strip() for _, cells in rows]
    lines = [line for line, _ in rows]
    if "" in ids:
        empty = lines[ids.index("")]
        raise DataFileError.at(file, line=empty, problem="an empty cell", expected="a group id")
    return ids, lines
