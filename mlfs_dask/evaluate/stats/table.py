"""A table of results, read and ranked: direction, shared ranks, missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, TypedDict

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray
from mlfs_dask.errors import InputError
from mlfs_dask.wording import counted

Missing: TypeAlias = Literal["refuse", "drop"]
_SHOWN: Final = 6
_MISSING_RULES: Final = ("refuse", "drop")


class Reading(TypedDict, total=False):
    """How a table is read; the keyword arguments of `rank_table`."""

    higher_is_better: bool
    names: Iterable[str] | None
    rows: Iterable[str] | None
    missing: Missing


@dataclass(frozen=True, eq=False)
class RankTable:
    """Results of k methods on N rows, with their ranks.

    Attributes
    ----------
    names
        The k methods.
    rows
        The N rows that were ranked.
    dropped
        Rows left out because a cell was missing.
    higher_is_better
        Direction of the values.
    values : ndarray of float64, shape (n_rows, n_methods)
        Results.
    ranks : ndarray of float64, shape (n_rows, n_methods)
        1 is best in its row; equal values share the mean of their ranks.
    """

    names: tuple[str, ...]
    rows: tuple[str, ...]
    dropped: tuple[str, ...]
    higher_is_better: bool
    values: FloatArray
    ranks: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of ranked rows, N."""
        return len(self.rows)

    @property
    def n_methods(self) -> int:
        """Number of methods, k."""
        return len(self.names)

    @property
    def average_ranks(self) -> FloatArray:
        """Mean rank of each method, shape (n_methods,)."""
        # Ranks are whole or half numbers, so their sums are exact in any order.
        return np.asarray(self.ranks.sum(axis=0) / self.n_rows, dtype=np.float64)

    def position(self, name: str) -> int:
        """Column of a method.

        Parameters
        ----------
        name
            One of ``names``.

        Raises
        ------
        InputError
            No such method.
        """
        if name not in self.names:
            raise InputError(
                f"no method of the table is named {name!r}",
                hint=f"There are: {', '.join(self.names)}.",
            )
        return self.names.index(name)

    def pairs(self, control: str | None = None) -> list[tuple[int, int]]:
        """Columns to compare: all pairs, or every other method with the control as the second.

        Parameters
        ----------
        control
            One of ``names``, or None.

        Raises
        ------
        InputError
            No such method.
        """
        if control is None:
            return list(combinations(range(self.n_methods), 2))
        position = self.position(control)
        return [(other, position) for other in range(self.n_methods) if other != position]


def rank_table(
    table: Any,
    *,
    higher_is_better: bool = True,
    names: Iterable[str] | None = None,
    rows: Iterable[str] | None = None,
    missing: Missing = "refuse",
) -> RankTable:
    """Rank the methods in every row of a table.

    Parameters
    ----------
    table : array-like, data frame or mapping, shape (n_rows, n_methods)
        One row per data set (or fold), one column per method; NaN is a missing cell. A mapping
        goes from names to columns.
    higher_is_better
        False for losses: then the smallest value of a row has rank 1.
    names
        Of the columns; by default those of the data frame or mapping, else "1", "2", ...
    rows
        Names of the rows; by default those of the data frame, else "1", "2", ...
    missing
        What to do about rows with a missing cell: ``"refuse"`` the table, or ``"drop"`` the row,
        for all methods.

    Raises
    ------
    InputError
        No table of numbers, fewer than two methods or rows, an infinite or (if refused) missing
        cell, names that do not fit.

    Examples
    --------
    >>> ranked = rank_table([[0.9, 0.8, 0.9], [0.7, float("nan"), 0.5], [0.3, 0.2, 0.1]],
    ...                     names=["A", "B", "C"], missing="drop")
    >>> ranked.ranks.tolist(), ranked.dropped
    ([[1.5, 3.0, 1.5], [1.0, 2.0, 3.0]], ('2',))
    """
    if missing not in _MISSING_RULES:
        raise InputError(f"missing = {missing!r} is not known", hint="Known: refuse, drop.")
    values, own_names, own_rows = _read(table)
    labels = _labels("name", own_names if names is None else names, values.shape[1])
    row_labels = _labels("row", own_rows if rows is None else rows, values.shape[0])
    if len(labels) < 2:
        raise InputError(
            f"the table has {counted(len(labels), 'column')}",
            hint="A test compares two methods or more.",
        )
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise InputError(f"row {row_labels[row]!r}, column {labels[column]!r}: an infinite value")
    incomplete: BoolArray = np.asarray(np.isnan(values).any(axis=1))
    if incomplete.any() and missing == "refuse":
        raise _missing_cells(values, labels, row_labels)
    kept = values[~incomplete]
    if len(kept) < 2:
        left = " without a missing cell" if incomplete.any() else ""
        raise InputError(
            f"the table has {counted(len(kept), 'row')}{left}",
            hint="A test needs at least two rows.",
        )
    ranks = shared_ranks(kept, higher_is_better=higher_is_better)
    kept.setflags(write=False)
    ranks.setflags(write=False)
    return RankTable(
        names=labels,
        rows=tuple(row for row, out in zip(row_labels, incomplete, strict=True) if not out),
        dropped=tuple(row for row, out in zip(row_labels, incomplete, strict=True) if out),
        higher_is_better=bool(higher_is_better),
        values=kept,
        ranks=ranks,
    )


def as_ranked(table: Any, reading: Reading) -> RankTable:
    """A table as `rank_table` reads it, or the ranked table that was given.

    Parameters
    ----------
    table
        As for `rank_table`, or a `RankTable`.
    reading
        Keyword arguments of `rank_table`.

    Raises
    ------
    InputError
        As `rank_table`; or a ranked table is to be read in another way.
    """
    if not isinstance(table, RankTable):
        return rank_table(table, **reading)
    if reading:
        raise InputError(
            f"{', '.join(reading)}: the table was ranked before",
            hint="Give this to rank_table.",
        )
    return table


def shared_ranks(values: FloatArray, *, higher_is_better: bool) -> FloatArray:
    """Ranks within rows, 1 for the best; equal values share the mean of their ranks.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_methods)
        No NaN.
    higher_is_better
        Direction.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_methods)

    Examples
    --------
    >>> shared_ranks(np.array([[0.2, 0.9, 0.5, 0.9]]), higher_is_better=True).tolist()
    [[4.0, 1.5, 3.0, 1.5]]
    """
    mine, other = values[:, :, None], values[:, None, :]
    better = (other > mine) if higher_is_better else (other < mine)
    return np.asarray(better.sum(axis=2) + ((other == mine).sum(axis=2) + 1) / 2, dtype=np.float64)


def _read(table: Any) -> tuple[FloatArray, Iterable[str] | None, Iterable[str] | None]:
    """Values, and the names that the table itself has for its columns and rows."""
    columns: Iterable[str] | None = None
    rows: Iterable[str] | None = None
    if isinstance(table, Mapping):
        columns = list(table)
        lengths = {len(column) for column in table.values()}
        if len(lengths) > 1:
            raise InputError(f"the columns have different lengths: {sorted(lengths)}")
        table = list(zip(*table.values(), strict=True))
    elif hasattr(table, "columns") and hasattr(table, "index"):
        columns, rows = map(str, table.columns), map(str, table.index)
    try:
        values = np.array(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"not a table of numbers: {error}") from error
    if values.ndim != 2:
        raise InputError(
            f"the table has {counted(values.ndim, 'dimension')} of shape {values.shape}",
            hint="Expected one row per data set and one column per method.",
        )
    return values, columns, rows


def _labels(what: str, given: Iterable[str] | None, count: int) -> tuple[str, ...]:
    labels = tuple(str(i + 1) for i in range(count)) if given is None else tuple(given)
    if len(labels) != count:
        raise InputError(f"{counted(len(labels), what)} for {count} of the table")
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"{what}s there twice: {', '.join(map(repr, twice))}")
    return labels


def _missing_cells(values: FloatArray, names: tuple[str, ...], rows: tuple[str, ...]) -> InputError:
    cells = np.argwhere(np.isnan(values))
    shown = ", ".join(f"{names[j]!r} on {rows[i]!r}" for i, j in cells[:_SHOWN].tolist())
    more = f", ... ({len(cells)} in all)" if len(cells) > _SHOWN else ""
    return InputError(
        f"the table has missing cells: {shown}{more}",
        hint='missing = "drop" leaves these rows out for all methods.',
    )
