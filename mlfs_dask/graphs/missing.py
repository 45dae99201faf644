"""Values taken away on purpose: which cells are missing is drawn by row, for every selector alike.

Cell (i, r) of the store is missing iff ``default_rng(SeedSequence(seed, spawn_key=(2, i)))
.random(n_features)[r] < rate``: it depends on nothing but the seed, the row and the feature, so
folds, tiles, workers and methods all see the same holes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from mlfs_dask.errors import InputError
from mlfs_dask.graphs.inputs import Block

MISSING_STREAM: Final = 2
"""First number of the spawn key of every stream that draws missing cells."""
_MOST_ROWS: Final = 2**32


@dataclass(frozen=True)
class MissingCells:
    """Cells of a data set that count as missing.

    Parameters
    ----------
    seed
        Of the job, not negative.
    rate
        Share of the cells, in [0, 1]; each is drawn by itself.

    Raises
    ------
    InputError
        A rate outside [0, 1], a negative seed.
    """

    seed: int
    rate: float

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:  # NaN too
            raise InputError(
                f"missing rate = {self.rate}: expected a share of the cells, from 0 to 1"
            )
        if self.seed < 0:
            raise InputError(f"seed = {self.seed}: it must not be negative")

    def inject(self, block: Block, start: int) -> Block:
        """Rows with their missing cells set to NaN; the block itself stays as it is.

        Parameters
        ----------
        block : ndarray or csr_matrix, shape (n_rows, n_features)
            Rows of the data set with all its features.
        start
            Row of the data set that is the block's first.

        Returns
        -------
        ndarray or csr_matrix, shape (n_rows, n_features)
            Of dtype :func:`float_dtype`; a sparse block stores each missing cell.

        Raises
        ------
        InputError
            Rows from 2^32 on, which have no stream.

        Examples
        --------
        >>> import numpy as np
        >>> MissingCells(seed=0, rate=0.25).inject(np.arange(6).reshape(2, 3), start=0).tolist()
        [[0.0, nan, 2.0], [3.0, nan, nan]]
        """
        from mlfs_dask.kernels.streams import draw_below, row_states

        n_rows, n_features = block.shape
        if start + n_rows > _MOST_ROWS:
            raise InputError(f"missing cells can be drawn for {_MOST_ROWS:,} rows, not for more")
        states = row_states(self.seed, MISSING_STREAM, start, start + n_rows)
        bounds, features = draw_below(states, n_features, self.rate)
        floats = block.astype(float_dtype(block.dtype))
        if sp.issparse(floats):
            holes = np.full(len(features), np.nan, dtype=floats.dtype)
            return floats + sp.csr_matrix((holes, features, bounds), shape=block.shape)
        floats[np.repeat(np.arange(n_rows), np.diff(bounds)), features] = np.nan
        return floats


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Smallest float dtype that has NaN and keeps every value of a dtype.

    Parameters
    ----------
    dtype
        Of values; 64-bit integers become float64, as everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> [float_dtype(np.dtype(name)).name for name in ("uint8", "int16", "float32", "int32")]
    ['float32', 'float32', 'float32', 'float64']
    """
    return np.result_type(dtype, np.float32)


def missing_stream(seed: int, row: int) -> np.random.SeedSequence:
    """Seed of the generator that draws the missing cells of one row.

    :meth:`MissingCells.inject` draws from the same streams, of many rows at once.

    Parameters
    ----------
    seed
        Of the job.
    row
        Of the data set, from 0.

    Examples
    --------
    >>> missing_stream(0, 12).spawn_key
    (2, 12)
    """
    return np.random.SeedSequence(seed, spawn_key=(MISSING_STREAM, row))
