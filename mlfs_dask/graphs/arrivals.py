"""Columns of features as they arrive: values of all rows, scaled, by their distinct levels.

A stream of features looks at one column after the other, while rows lie in tiles. So the columns of
the next few arrivals are read in one pass over the tiles, as many as stay in bounded memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.errors import InputError
from mlfs_dask.graphs.columns import many_valued
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source, TileItem, load_block
from mlfs_dask.graphs.statistics import ColumnSummary
from mlfs_dask.kernels.deviations import standard_deviation
from mlfs_dask.kernels.gap_measure import Features

Scaling: TypeAlias = Literal["minmax", "std", "none"]

_BATCH_BYTES = 64 * 2**20
# Squares of differences this large, added up, leave the range of float64.
_LARGEST_SPAN = 1e140


@dataclass(frozen=True, eq=False)
class Column:
    """One feature's values.

    Attributes
    ----------
    levels : ndarray of float64, shape (n_levels,)
        Distinct values after scaling, ascending.
    codes : ndarray of uint8 or int32, shape (n_samples,)
        Position of each row's value among them.
    coded : bool
        Values are compared by equality.
    """

    levels: FloatArray
    codes: AnyArray
    coded: bool = False

    @property
    def constant(self) -> bool:
        """Whether all rows have one value."""
        return len(self.levels) < 2

    @property
    def is_bit(self) -> bool:
        """Whether squared differences are those of 0 and 1, which the codes then are."""
        two = len(self.levels) == 2
        return two and (self.coded or (self.levels[0] == 0.0 and self.levels[1] == 1.0))

    @property
    def values(self) -> FloatArray:
        """Scaled values, shape (n_samples,)."""
        return self.levels[self.codes]


def make_column(
    values: AnyArray, scaling: Scaling, *, coded: bool = False, name: str = "the feature"
) -> Column:
    """Scale a feature.

    Parameters
    ----------
    values : ndarray, shape (n_samples,)
        As stored, none missing.
    scaling
        ``"minmax"``; ``"std"``: by mean and standard deviation with n - 1; ``"none"``.
    coded
        Values are codes of categories, which aren't scaled.
    name
        For the message.

    Raises
    ------
    InputError
        Values so far apart, or deviations so small, that squared distances would be lost.

    Examples
    --------
    >>> import numpy as np
    >>> column = make_column(np.array([3.0, 7.0, 5.0, 3.0]), "minmax")
    >>> column.levels.tolist(), column.codes.tolist()
    ([0.0, 0.5, 1.0], [0, 2, 1, 0])
    """
    levels, codes = _levels(values)
    if coded or len(levels) < 2:
        return Column(levels, codes, coded)
    scaled = levels
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if scaling == "minmax":
            scaled = (levels - levels[0]) / (levels[-1] - levels[0])
        elif scaling == "std":
            mean, deviation = standard_deviation(values.astype(np.float64))
            scaled = (levels - mean) / deviation
        span = scaled[-1] - scaled[0]
    if not 0 < span < _LARGEST_SPAN:  # NaN too
        raise InputError(
            f"squared distances leave the range of float64: {name} has values from "
            f"{levels[0]:.3g} to {levels[-1]:.3g}",
            hint="Give the features units of ordinary size."
            if scaling == "std"
            else 'Scale the features: normalize = "minmax", or units of ordinary size.',
        )
    return Column(scaled, codes)


def _levels(values: AnyArray) -> tuple[FloatArray, AnyArray]:
    if values.dtype == np.uint8:
        counts = np.bincount(values, minlength=256)
        present = np.flatnonzero(counts)
        return present.astype(np.float64), (np.cumsum(counts > 0) - 1).astype(np.uint8)[values]
    numbers = values.astype(np.float64)
    if np.all((numbers == 0) | (numbers == 1)):
        return _levels(numbers.astype(np.uint8))
    levels, codes = np.unique(numbers, return_inverse=True)
    return levels, codes.astype(np.uint8 if len(levels) <= 256 else np.int32)


def pack(columns: Sequence[Column], n_rows: int, rows: IntArray | None = None) -> ByteArray:
    """Bits of 0/1 columns, eight columns to a byte.

    Parameters
    ----------
    columns
        All of them bits.
    n_rows
        Rows of the columns.
    rows : ndarray of int64, optional
        Which of them.

    Returns
    -------
    ndarray of uint8, shape (n_bytes, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> two = [make_column(np.array(bits), "none") for bits in ([0.0, 1.0], [1.0, 0.0])]
    >>> pack(two, 2).tolist()
    [[2, 1]]
    """
    n = n_rows if rows is None else len(rows)
    packed = np.zeros((-(-len(columns) // 8), n), dtype=np.uint8)
    for i, column in enumerate(columns):
        codes = column.codes if rows is None else column.codes[rows]
        packed[i // 8] |= codes << np.uint8(i % 8)
    return packed


def values_of(columns: Sequence[Column], n_rows: int, rows: IntArray | None = None) -> Features:
    """Values of any columns, one to a row.

    Parameters
    ----------
    columns, n_rows, rows
        As for :func:`pack`.
    """
    n = n_rows if rows is None else len(rows)
    values = np.empty((len(columns), n))
    for held, column in zip(values, columns, strict=True):
        held[:] = column.levels[column.codes if rows is None else column.codes[rows]]
    coded = np.array([column.coded for column in columns], dtype=bool)
    return Features(values, coded)


class Arrivals:
    """Reads the columns of a source in the order in which its features arrive.

    Parameters
    ----------
    source, summary
        Rows without missing values, and what is known of their features.
    order
        Features in order of arrival.
    scaling
        See :func:`make_column`.
    executor
        Where tiles are read.
    """

    def __init__(
        self,
        source: Source,
        summary: ColumnSummary,
        order: Sequence[int],
        scaling: Scaling,
        executor: Executor,
    ) -> None:
        self._source, self._scaling, self._executor = source, scaling, executor
        self._coded = many_valued(source, summary)
        self._order = np.asarray(order, dtype=np.int64)
        self._place = {feature: i for i, feature in enumerate(self._order.tolist())}
        bytes_each = source.n_samples * max(1, source.dtype.itemsize)
        self._at_once = max(1, _BATCH_BYTES // max(1, bytes_each))
        self._held: dict[int, AnyArray] = {}

    def column(self, feature: int) -> Column:
        """The column of a feature; those of the next arrivals are read with it.

        Parameters
        ----------
        feature
            One of the order.
        """
        if feature not in self._held:
            place = self._place[feature]
            self._read(self._order[place : place + self._at_once])
        return self._made(feature)

    def columns(self, features: Sequence[int]) -> list[Column]:
        """The columns of any features, in the order given.

        Parameters
        ----------
        features
            Of the order, each once.
        """
        found: dict[int, Column] = {}
        wanted = np.asarray(features, dtype=np.int64)
        for start in range(0, len(wanted), self._at_once):
            part = wanted[start : start + self._at_once]
            self._read(part)
            found.update((feature, self._made(feature)) for feature in part.tolist())
        return [found[feature] for feature in features]

    def following(self, feature: int, most: int) -> list[int]:
        """The features that arrive after one, as far as they are known.

        Parameters
        ----------
        feature
            Of the order.
        most
            No more than so many.
        """
        place = self._place[feature] + 1
        return [int(each) for each in self._order[place : place + most]]

    def _made(self, feature: int) -> Column:
        names = self._source.feature_names
        return make_column(
            self._held[feature],
            self._scaling,
            coded=bool(self._coded[feature]),
            name=f"feature {feature}" + (f" ({names[feature]})" if names else ""),
        )

    def _read(self, features: IntArray) -> None:
        if len(features) == 0:
            return
        self._held = {}  # the old ones go before the new ones come
        place = 0
        for part in self._executor.map(_tile_columns, self._source.items(), features):
            if place == 0:
                stacked = np.empty((len(features), self._source.n_samples), dtype=part.dtype)
            stacked[:, place : place + part.shape[1]] = part
            place += part.shape[1]
        self._held = dict(zip(features.tolist(), stacked, strict=True))


def _tile_columns(item: TileItem, features: IntArray) -> Any:
    """Columns of a tile, shape (n_features, n_rows)."""
    block = load_block(item)
    columns = block[:, features].toarray() if sp.issparse(block) else block[:, features]
    return np.ascontiguousarray(columns.T)
