"""Column summaries of a source, one pass over its tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.errors import InputError, MissingValuesError
from mlfs_dask.graphs.executor import Executor, get_executor
from mlfs_dask.graphs.source import Source, TileItem, load_block
from mlfs_dask.kernels.summary import (
    csr_all_binary,
    csr_summary,
    dense_all_binary,
    dense_summary,
)
from mlfs_dask.wording import counted, have

NOMINAL = 1


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What one pass over the rows says about each feature.

    Attributes
    ----------
    low, high : ndarray of float64, shape (n_features,)
        Extremes of the known values; NaN where all are missing.
    total : ndarray of float64, shape (n_features,)
        Sum of the known values, rows in order inside a tile, tiles in order.
    n_missing : ndarray of int64, shape (n_features,)
    first : ndarray of float64, shape (n_features,)
        Value in the first row for dense input (NaN if missing), 0 for CSR: the shift that the
        spectral scores are computed on.
    binary : ndarray of bool, shape (n_features,)
        Every value is 0 or 1, none missing.
    n_samples : int
    n_cells : int
        Stored values: rows times features, or the non-zeros of CSR.
    """

    low: FloatArray
    high: FloatArray
    total: FloatArray
    n_missing: IntArray
    first: FloatArray
    binary: BoolArray
    n_samples: int
    n_cells: int

    @property
    def constant(self) -> BoolArray:
        """One known value, or none at all."""
        return ~(self.low < self.high)


def summarize_columns(source: Source, executor: Executor | None = None) -> ColumnSummary:
    """Extremes, sums, missing counts and 0/1 columns of a source.

    Parameters
    ----------
    source
        Rows.
    executor
        Where to run; default: :func:`~mlfs_dask.graphs.executor.get_executor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mlfs_dask.graphs.source import as_source
    >>> summarize_columns(as_source(np.array([[0.0, 3.0], [1.0, 3.0]]))).constant
    array([False,  True])
    """
    executor = executor or get_executor()
    d = source.n_features
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    total, missing, stored = np.zeros(d), np.zeros(d, np.int64), np.zeros(d, np.int64)
    binary = np.ones(d, dtype=bool)
    first: FloatArray | None = None
    for part in executor.map(_summarize_tile, source.items()):
        np.minimum(low, part["low"], out=low)
        np.maximum(high, part["high"], out=high)
        total += part["total"]
        missing += part["missing"]
        stored += part["stored"]
        binary &= part["binary"]
        first = part["first"] if first is None else first
    omitted = stored < source.n_samples if source.is_sparse else np.zeros(d, dtype=bool)
    low = np.where(omitted, np.minimum(low, 0.0), low)
    high = np.where(omitted, np.maximum(high, 0.0), high)
    unknown = low > high
    return ColumnSummary(
        low=np.where(unknown, np.nan, low),
        high=np.where(unknown, np.nan, high),
        total=total,
        n_missing=missing,
        first=np.zeros(d) if first is None else first,
        binary=binary,
        n_samples=source.n_samples,
        n_cells=int(stored.sum()) if source.is_sparse else source.n_samples * d,
    )


def refuse_missing(summary: ColumnSummary, source: Source, method: str) -> None:
    """Refuse missing values for a method that has no rule for them.

    Parameters
    ----------
    summary, source
        The rows and what is known of them.
    method
        Name shown to the user.

    Raises
    ------
    MissingValuesError
        Names the first such feature, its count, and how many features are affected.
    """
    affected = np.flatnonzero(summary.n_missing)
    if len(affected) == 0:
        return
    j = int(affected[0])
    name = f" ({source.feature_names[j]})" if source.feature_names else ""
    others = len(affected) - 1
    more = f", and {counted(others, 'more feature')} {have(others)} some" if others else ""
    raise MissingValuesError(
        f"{method} has no rule for missing values: Input X contains NaN; feature {j}{name} has "
        f"{counted(int(summary.n_missing[j]), 'missing value')}{more}",
        hint='Set impute = "mean" to replace them by the training mean (nominal: the mode).',
        feature=j,
        count=int(summary.n_missing[j]),
    )


def refuse_infinite(summary: ColumnSummary, source: Source) -> None:
    """Refuse infinite values.

    Parameters
    ----------
    summary, source
        The rows and what is known of them.

    Raises
    ------
    InputError
        Names the first feature with one.
    """
    affected = np.flatnonzero(np.isinf(summary.low) | np.isinf(summary.high))
    if len(affected) == 0:
        return
    j = int(affected[0])
    name = f" ({source.feature_names[j]})" if source.feature_names else ""
    raise InputError(
        f"Input X contains infinity or a value too large: feature {j}{name}",
        hint="Values must be finite; NaN stands for a missing one.",
        feature=j,
    )


def imputation_values(source: Source, executor: Executor | None = None) -> FloatArray:
    """Value that replaces missing ones: the mean, for nominal features the mode.

    Parameters
    ----------
    source
        Training rows.
    executor
        Where to run.

    Returns
    -------
    ndarray of float64, shape (n_features,)
        Mode ties go to the lowest code; a feature with no known value gets 0.
    """
    summary = summarize_columns(source, executor)
    known = summary.n_samples - summary.n_missing
    values = np.where(known > 0, summary.total / np.maximum(known, 1), 0.0)
    # Also those that miss nothing here: test rows may.
    nominal = np.flatnonzero(source.feature_kind == NOMINAL)
    if len(nominal):
        values[nominal] = _modes(source, nominal, executor or get_executor())
    return values


def _modes(source: Source, features: IntArray, executor: Executor) -> FloatArray:
    counts: list[dict[float, int]] = [{} for _ in features]
    for part in executor.map(_count_codes, source.items(), features):
        for held, new in zip(counts, part, strict=True):
            for code, count in new.items():
                held[code] = held.get(code, 0) + count
    modes = [min(held, key=lambda c: (-held[c], c)) if held else 0.0 for held in counts]
    return np.array(modes, dtype=np.float64)


def _count_codes(item: TileItem, features: IntArray) -> list[dict[float, int]]:
    block = load_block(item)
    columns = block[:, features].toarray() if sp.issparse(block) else block[:, features]
    found: list[dict[float, int]] = []
    for column in columns.T:
        codes, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        found.append(dict(zip(codes.tolist(), counts.tolist(), strict=True)))
    return found


def _summarize_tile(item: TileItem) -> dict[str, Any]:
    block = load_block(item)
    d = block.shape[1]
    part: dict[str, Any] = {
        "low": np.full(d, np.inf),
        "high": np.full(d, -np.inf),
        "total": np.zeros(d),
        "missing": np.zeros(d, np.int64),
        "stored": np.zeros(d, np.int64),
        "binary": np.ones(d, dtype=bool),
        "first": np.zeros(d),
    }
    columns = (part["low"], part["high"], part["total"], part["missing"])
    if sp.issparse(block):
        csr_summary(block.data, block.indices, *columns, part["stored"])
        csr_all_binary(block.data, block.indices, part["binary"])
    else:
        dense_summary(block, *columns)
        dense_all_binary(block, part["binary"])
        if len(block):
            part["first"] = block[0].astype(np.float64)
    return part
