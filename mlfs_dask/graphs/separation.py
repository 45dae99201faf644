"""Rows of a source brought to the form in which pairs are compared, once or tile by tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mlfs_dask._typing import AnyArray, BoolArray, FloatArray, IntArray
from mlfs_dask.graphs.executor import Executor
from mlfs_dask.graphs.inputs import Block
from mlfs_dask.graphs.neighbor_tasks import frozen, sealed
from mlfs_dask.graphs.source import Source, TileItem, load_block
from mlfs_dask.graphs.statistics import NOMINAL, ColumnSummary
from mlfs_dask.graphs.task_sizes import LISTED_BYTES
from mlfs_dask.graphs.tiles import TileTask, tile_tasks
from mlfs_dask.kernels.holders import Holders, count_holders, list_holders
from mlfs_dask.kernels.planes import (
    Spread,
    count_values,
    csr_spread,
    dense_spread,
    empty_rows,
    fill_csr,
    fill_dense,
    fill_values,
    label_words,
    no_spread,
    zero_rows,
)
from mlfs_dask.kernels.separation import NOWHERE, Layout, Rows, make_layout

_RADIUS_DIGITS = 12
# From this share of cells on, sparse columns of many values are kept side by side.
_DENSE_SHARE = 1 / 8
# Features that are other than 0 in few rows have lists of these, as long as they take no more.
_LISTED_SHARE = 1 / 8
_SAMPLED_CELLS = 2**20
_SAMPLED_ROWS = 256


@dataclass(frozen=True, eq=False)
class Columns:
    """What decides how each feature separates rows.

    Attributes
    ----------
    radius : ndarray of float64, shape (n_features,)
        Known values further apart than this are separated; 0 for nominal features of more than
        two values, which separate wherever they differ.
    nominal : ndarray of bool, shape (n_features,)
        Those.
    layout : Layout
    dtype : type
        Of values that are kept side by side.
    """

    radius: FloatArray
    nominal: BoolArray
    layout: Layout
    dtype: type


def find_columns(
    source: Source,
    summary: ColumnSummary,
    executor: Executor,
    *,
    divisor: float,
    radius: FloatArray | None = None,
) -> Columns:
    """Radii of the features, and how their cells are kept.

    Parameters
    ----------
    source, summary
        Rows and what is known of their features.
    executor
        Where to run.
    divisor
        Radii are population standard deviations of the known values divided by it, rounded to 12
        significant digits.
    radius : ndarray of float64, shape (n_features,), optional
        Radii to be taken instead.
    """
    centre, scale = _centres(summary)
    spread = _spread(source, centre, scale, executor)
    n, others, low, high = source.n_samples, spread.others, spread.low, spread.high
    if radius is None:
        with np.errstate(over="ignore"):  # beyond float64 all rows are neighbours, as below it
            radius = _standard_deviations(source, summary, spread, centre, scale) / divisor
        radius = np.minimum(radius, np.finfo(np.float64).max)
        radius = np.array([float(f"{r:.{_RADIUS_DIGITS - 1}e}") for r in radius.tolist()])
    two_valued = (others == 0) | ((low == 1.0) & (high == 1.0))
    nominal = (source.feature_kind == NOMINAL) & ~two_valued & ~summary.constant
    radius = np.where(nominal, 0.0, radius)
    with np.errstate(invalid="ignore", over="ignore"):
        inert = summary.constant | (summary.high - summary.low <= radius)
        valued = (others > 0) & (high - low > radius)
    dense = not source.is_sparse
    side = valued & (dense | (others >= _DENSE_SHARE * n))
    power = (others / n) * ((n - summary.n_missing - others) / n)
    if side.any():
        sampled = np.flatnonzero(side & ~inert)
        power[sampled] = _power_of_sample(source, sampled, radius[sampled], executor)
    layout = make_layout(radius, power, side=side, valued=valued & ~side, inert=inert)
    exact = source.dtype in (np.uint8, np.int16, np.float32)
    return Columns(radius, nominal, layout, np.float32 if exact else np.float64)


def _centres(summary: ColumnSummary) -> tuple[FloatArray, FloatArray]:
    """Means, and powers of two that bring values into [-1, 1]."""
    known = np.maximum(summary.n_samples - summary.n_missing, 1)
    middle = summary.low / 2 + summary.high / 2
    mean = np.where(np.isfinite(summary.total), summary.total / known, middle)
    centre = np.where(np.isnan(middle), 0.0, mean)
    largest = np.nan_to_num(np.maximum(abs(summary.low), abs(summary.high)))
    exponent = np.clip(np.frexp(largest)[1], -1000, 1000)
    return centre, np.where(largest > 0, np.ldexp(1.0, -exponent), 1.0)


def _spread(source: Source, centre: FloatArray, scale: FloatArray, executor: Executor) -> Spread:
    total = no_spread(source.n_features)
    for part in executor.map(_spread_of_tile, source.items(), centre, scale):
        for held, new in zip(total[:4], part[:4], strict=True):
            held += new
        np.minimum(total.low, part.low, out=total.low)
        np.maximum(total.high, part.high, out=total.high)
    return total


def _spread_of_tile(item: TileItem, centre: FloatArray, scale: FloatArray) -> Spread:
    block = load_block(item)
    spread = no_spread(block.shape[1])
    centre, scale = frozen(centre), frozen(scale)
    if sp.issparse(block):
        csr_spread(*_csr(block)[:2], centre, scale, spread)
    else:
        dense_spread(_dense(block), centre, scale, spread)
    return spread


def _standard_deviations(
    source: Source, summary: ColumnSummary, spread: Spread, centre: FloatArray, scale: FloatArray
) -> FloatArray:
    """Of the known values of each feature, the number of values being the divisor."""
    known = (source.n_samples - summary.n_missing).astype(np.float64)
    omitted = known - spread.known
    gap = -centre * scale
    first, second = spread.first + omitted * gap, spread.second + omitted * gap * gap
    with np.errstate(invalid="ignore"):
        variance = np.where(known > 0, (second - first * first / known) / known, 0.0)
    found = np.sqrt(np.maximum(variance, 0.0)) / scale
    return np.where(summary.constant, 0.0, found)


def _power_of_sample(
    source: Source, features: IntArray, radius: FloatArray, executor: Executor
) -> FloatArray:
    """Share of some pairs of rows that each feature separates: rows far apart in the store."""
    n_rows = min(source.n_samples, _SAMPLED_ROWS, max(2, _SAMPLED_CELLS // len(features)))
    chosen = np.zeros(source.n_samples, dtype=bool)
    chosen[np.linspace(0, source.n_samples - 1, n_rows).astype(np.int64)] = True
    values = np.concatenate(list(executor.map(_sample_tile, tile_tasks(source, chosen), features)))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = [abs(values - np.roll(values, k, axis=0)) > radius for k in (1, len(values) // 2)]
    found: FloatArray = np.mean(apart, axis=(0, 1))
    return found


def _sample_tile(task: TileTask, features: IntArray) -> FloatArray:
    [[chosen]] = task.rows
    [block] = task.load()
    some = block[np.flatnonzero(chosen)][:, features]
    return np.asarray(some.toarray() if sp.issparse(some) else some, dtype=np.float64)


def row_bytes(columns: Columns, n_labels: int, cells_per_row: float) -> float:
    """About what a prepared row takes.

    Parameters
    ----------
    columns
        How cells are kept.
    n_labels
        Number of labels.
    cells_per_row
        Stored cells of a row.
    """
    layout = columns.layout
    words = (layout.n_head + layout.n_tail) * (4 if layout.valued.any() else 2)
    values = 8 * cells_per_row if layout.valued.any() else 0.0
    lanes = layout.n_lanes * np.dtype(columns.dtype).itemsize
    return 8 * words + values + lanes + 8 * (n_labels / 64 + 1)


def prepare_rows(task: TileTask, columns: Columns) -> Rows:
    """Load a tile and bring its rows to the form in which they are compared.

    Parameters
    ----------
    task
        A tile and the labels of its rows.
    columns
        How cells are kept.
    """
    [block] = task.load()
    [[Y]] = task.rows
    layout = columns.layout
    make = zero_rows if sp.issparse(block) else empty_rows
    rows = make(block.shape[0], layout, label_words(Y), columns.dtype)
    if not sp.issparse(block):
        fill_dense(_dense(block), sealed(layout), rows)
        return rows
    cells = _csr(block)
    begins = (0, layout.n_head + layout.n_side)
    filled = []
    for count, begin, planes in zip(
        fill_csr(*cells, sealed(layout), rows), begins, (rows.head, rows.tail), strict=True
    ):
        filled.append(planes._replace(values=np.zeros(count)))
        count_values(filled[-1])
        fill_values(*cells, sealed(layout), filled[-1], begin)
    return rows._replace(head=filled[0], tail=filled[1])


def join_rows(parts: Iterator[Rows], n_rows: int, columns: Columns, n_labels: int) -> Rows:
    """Prepared rows of all tiles, one after the other.

    Parameters
    ----------
    parts
        Of each tile, in order.
    n_rows
        Of all tiles.
    columns
        How cells are kept.
    n_labels
        Number of labels.
    """
    unlabelled = label_words(np.zeros((n_rows, n_labels), dtype=np.uint8))
    rows = empty_rows(n_rows, columns.layout, unlabelled, columns.dtype)
    values: list[list[FloatArray]] = [[np.zeros(0)], [np.zeros(0)]]
    start = 0
    for part in parts:
        stop = start + len(part.labels)
        for planes, new, held in zip(
            (rows.head, rows.tail), (part.head, part.tail), values, strict=True
        ):
            for plane, piece in zip(planes[:4], new[:4], strict=True):
                plane[start:stop] = piece
            planes.place[start:stop] += sum(map(len, held))
            held.append(new.values)
        width = rows.side.width
        rows.side.values[start * width : stop * width] = part.side.values
        rows.labels[start:stop] = part.labels
        start = stop
    head, tail = (np.concatenate(held) for held in values)
    return rows._replace(head=rows.head._replace(values=head), tail=rows.tail._replace(values=tail))


def no_holders(layout: Layout) -> Holders:
    """Lists of no feature.

    Parameters
    ----------
    layout
        Where features stand.
    """
    return Holders(np.zeros(64 * layout.n_words + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))


def find_holders(rows: Rows, layout: Layout) -> Holders:
    """Lists of the features that are 0 in most rows, the shortest ones first if memory is short.

    Parameters
    ----------
    rows
        All rows, prepared.
    layout
        Where features stand.
    """
    planes = [(0, sealed(rows.head)), (layout.n_head + layout.n_side, sealed(rows.tail))]
    counts = np.zeros(64 * layout.n_words, dtype=np.int64)
    for begin, each in planes:
        count_holders(each, counts[64 * begin : 64 * (begin + each.zero.shape[1])])
    placed = layout.slot[layout.slot != NOWHERE]
    placed = placed[np.argsort(counts[placed], kind="stable")]
    lengths = counts[placed]
    fits = 4 * np.cumsum(lengths) <= LISTED_BYTES
    listed = placed[fits & (lengths <= _LISTED_SHARE * len(rows.labels))]
    kept = np.zeros_like(counts)
    kept[listed] = counts[listed]
    start = np.concatenate([[0], np.cumsum(kept)])
    row = np.empty(start[-1], dtype=np.int32)
    words = np.zeros(layout.n_words, dtype=np.uint64)
    np.bitwise_or.at(words, listed >> 6, np.uint64(1) << (listed & 63).astype(np.uint64))
    at = start[:-1].copy()
    for begin, each in planes:
        end = begin + each.zero.shape[1]
        list_holders(each, words[begin:end], at[64 * begin : 64 * end], row)
    return Holders(start, row)


def sealed_rows(rows: Rows) -> Rows:
    """The rows with their arrays read-only, so that kernels know one type only.

    Parameters
    ----------
    rows
        Prepared.
    """
    head, tail = sealed(rows.head), sealed(rows.tail)
    return Rows(head, sealed(rows.side), tail, frozen(rows.labels))


def _dense(block: Block) -> AnyArray:
    """Rows of a dtype that kernels are compiled for."""
    if block.dtype in (np.uint8, np.float32, np.float64):
        return frozen(np.ascontiguousarray(block))
    kept = np.float32 if block.dtype == np.int16 else np.float64
    return frozen(np.ascontiguousarray(block, dtype=kept))


def _csr(block: Block) -> tuple[FloatArray, IntArray, IntArray]:
    data = block.data.astype(np.float64, copy=False)
    indices, indptr = (x.astype(np.int64, copy=False) for x in (block.indices, block.indptr))
    return frozen(data), frozen(indices), frozen(indptr)
