"""The middle value of the columns of many dense rows: bounds from a sample, then one pass.

Some rows of some tiles, spread evenly, give each column bounds that its middle value is all but
sure to lie between. One pass counts what is below and fetches what is between, a few of a hundred
values; of these the middle is picked. Counts say whether it is there: a column whose bounds missed
it, or hold too much (values that occur very often), is left to who asked. The value found is the
one that sorting would find, whatever the sample.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mlfs_dask._typing import BoolArray, FloatArray, IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.tiles import TileTask, TileTasks, tile_tasks
from mlfs_dask.kernels.brackets import take_inside, two_values

_SAMPLED_ROWS: Final = 1024  # of each tile of the sample
_DEVIATIONS: Final = 4.0  # of the sample's share below the middle, on either side
_MOST_INSIDE: Final = 4  # bounds that hold more than 1 of so many rows of a tile are too far apart
_FETCHED_BYTES: Final = 128 * 2**20  # at one place


class Bounds(NamedTuple):
    """What a column is compared with.

    Attributes
    ----------
    low, high : ndarray of float64, shape (n_columns,)
        Bounds of the middle value.
    least, most : ndarray of float64, shape (n_columns,)
        Extremes of the column.
    """

    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray


class Middles(NamedTuple):
    """What is known of the middle of columns.

    Attributes
    ----------
    value : ndarray of float64, shape (n_columns,)
    found : ndarray of bool, shape (n_columns,)
        Whether the value is known.
    two_valued : ndarray of bool, shape (n_columns,)
        Whether the column has no value beside its extremes.
    """

    value: FloatArray
    found: BoolArray
    two_valued: BoolArray


def find_middles(
    source: Source,
    which: IntArray,
    rank: int,
    extremes: tuple[FloatArray, FloatArray],
    executor: Executor,
) -> Middles:
    """Values of a rank near the middle of some columns.

    Parameters
    ----------
    source
        Dense rows without missing values.
    which : ndarray of int64, shape (n_columns,)
        Features.
    rank
        1 is the smallest.
    extremes : two ndarrays of float64, shape (n_columns,)
        Smallest and largest value of each.
    executor
        Where to run.

    Examples
    --------
    >>> from mlfs_dask.graphs.executor import InProcess
    >>> from mlfs_dask.graphs.source import as_source
    >>> X = (np.arange(10_000) * 37 % 10_000.0)[:, None]
    >>> source, ends = as_source(X, tile=500), (np.array([0.0]), np.array([9999.0]))
    >>> middles = find_middles(source, np.arange(1), 5000, ends, InProcess(1))
    >>> middles.found.tolist(), middles.value.tolist()
    ([True], [4999.0])
    """
    parts = []
    n_tiles, width = _sample(source)
    step = max(1, int(_FETCHED_BYTES / (8 * max(1.0, 2 * width * source.n_samples))))
    for start in range(0, len(which), step):
        run = slice(start, start + step)
        least, most = (ends[run] for ends in extremes)
        low, high = _bounds(source, which[run], rank, (n_tiles, width), executor)
        parts.append(_middles(source, which[run], rank, Bounds(low, high, least, most), executor))
    return Middles(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _sample(source: Source) -> tuple[int, float]:
    """Tiles of the sample, and how far its ranks may be off, as a share of all."""
    n_tiles = min(source.n_tiles, 64, max(8, source.n_tiles // 16))
    rows = n_tiles * min(_SAMPLED_ROWS, max(1, source.n_samples // max(1, source.n_tiles)))
    return n_tiles, _DEVIATIONS * 0.5 / float(np.sqrt(rows))


def _bounds(
    source: Source, which: IntArray, rank: int, size: tuple[int, float], executor: Executor
) -> tuple[FloatArray, FloatArray]:
    """Values of a sample a little below and above the rank."""
    n_tiles, width = size
    chosen = np.unique(np.linspace(0, source.n_tiles - 1, n_tiles).round().astype(np.int64))
    tasks = TileTasks(source, [(int(t),) for t in chosen])
    sample = np.sort(np.concatenate(list(executor.map(_some_rows, tasks, which))), axis=0)
    share, last = rank / source.n_samples, len(sample) - 1
    places = np.array([share - width, share + width]) * len(sample)
    first, second = np.clip(np.array([np.floor(places[0]), np.ceil(places[1])]), 0, last)
    return sample[int(first)], sample[int(second)]


def _some_rows(task: TileTask, which: IntArray) -> FloatArray:
    [block] = task.load()
    every = max(1, len(block) // _SAMPLED_ROWS)
    return np.take(block[::every], which, axis=1).astype(np.float64)


def _middles(
    source: Source, which: IntArray, rank: int, bounds: Bounds, executor: Executor
) -> Middles:
    below, two_valued = np.zeros(len(which), dtype=np.int64), np.ones(len(which), dtype=bool)
    fits = np.ones(len(which), dtype=bool)
    fetched: list[list[FloatArray]] = [[] for _ in which]
    for part in executor.map(_compare_tile, tile_tasks(source), which, bounds):
        part_below, part_two, part_fits, ends, values = part
        below += part_below
        two_valued &= part_two
        fits &= part_fits
        for held, new in zip(fetched, np.split(values, ends[:-1]), strict=True):
            held.append(new)
    value, found = np.zeros(len(which)), np.zeros(len(which), dtype=bool)
    for c in np.flatnonzero(fits):
        inside = np.concatenate(fetched[c])
        place = rank - int(below[c]) - 1
        if 0 <= place < len(inside):
            found[c] = True
            value[c] = np.partition(inside, place)[place] + 0.0  # -0.0 becomes 0.0
    return Middles(value, found, two_valued)


def _compare_tile(
    task: TileTask, which: IntArray, bounds: Bounds
) -> tuple[IntArray, BoolArray, BoolArray, IntArray, FloatArray]:
    """Counts below, two values, whether bounds fit, ends of the values fetched, these values."""
    [block] = task.load()
    below, inside = np.zeros((2, len(which)), dtype=np.int64)
    two_valued = np.ones(len(which), dtype=bool)
    out = np.empty((len(which), len(block) // _MOST_INSIDE + 1))
    take_inside(block, which, bounds.low, bounds.high, below, inside, out)
    two_values(block, which, bounds.least, bounds.most, two_valued)
    fits = inside <= out.shape[1]
    kept = np.where(fits, inside, 0)
    values = out[np.arange(out.shape[1]) < kept[:, None]]
    return below, two_valued, fits, np.cumsum(kept), values
