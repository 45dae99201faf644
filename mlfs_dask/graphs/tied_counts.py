"""Label counts over all training rows that are as near as the k-th neighbour.

Lists of neighbours have a fixed length. The few rows whose list breaks off among equally near ones
(on 0/1 data: nearly all rows at small numbers of features) meet the training rows once more, with
the distance of their k-th neighbour as the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mlfs_dask._typing import AnyArray, ByteArray, FloatArray, IntArray
from mlfs_dask.graphs.distance_rows import fill_distances
from mlfs_dask.graphs.neighbor_tasks import Plan, QueryBlock, Rows, query_rows
from mlfs_dask.kernels.meetings import Met
from mlfs_dask.kernels.mlknn import count_dtype, count_within
from mlfs_dask.kernels.postings import Postings

TASK_BYTES = 32 * 2**20
"""Distances that a task holds."""


@dataclass(frozen=True, eq=False)
class Tied:
    """Queries of a block, each at one point of the curve, for which all tied rows are to count.

    Attributes
    ----------
    block : QueryBlock
    row : ndarray of int64, shape (n,)
        Positions in the block.
    point : ndarray of int64, shape (n,)
    bound : ndarray of float64, shape (n,)
        Squared distance of the k-th neighbour.
    """

    block: QueryBlock
    row: IntArray
    point: IntArray
    bound: FloatArray


def count_all_tied(
    item: Tied, plan: Plan, train: Rows, query: Rows, labels: ByteArray
) -> tuple[AnyArray, IntArray]:
    """Label counts over all rows within the bounds: a task for ``NeighborSearch.over_queries``.

    Parameters
    ----------
    item
        Which queries, at which points.
    plan, train, query
        How rows are compared; training rows; queries.
    labels : ndarray of uint8, shape (n_train, n_labels)

    Returns
    -------
    counts : ndarray of an unsigned type, shape (n, n_labels)
    sizes : ndarray of int64, shape (n,)
        How many rows are within the bound.
    """
    n_train = len(labels)
    counts: AnyArray = np.zeros((len(item.row), labels.shape[1]), dtype=count_dtype(n_train))
    sizes = np.zeros(len(item.row), dtype=np.int64)
    block = query_rows(item.block, query)
    for point in np.unique(item.point).tolist():
        part, rows = _up_to(point, plan, train)
        # On 0/1 data distances are numbers of features.
        dtype = np.float64 if part.layout is None else count_dtype(len(part.rule.order))
        step = max(1, TASK_BYTES // (n_train * np.dtype(dtype).itemsize))
        here = np.flatnonzero(item.point == point)
        for begin in range(0, len(here), step):
            some = here[begin : begin + step]
            totals: AnyArray = np.empty((len(some), n_train), dtype=dtype)
            fill_distances(totals, block[item.row[some]], part, rows)
            held, size = counts[some], sizes[some]
            count_within(totals, item.bound[some], labels, held, size)
            counts[some], sizes[some] = held, size
    return counts, sizes


def _up_to(point: int, plan: Plan, train: Rows) -> tuple[Plan, Rows]:
    """The comparison of rows by the features of one point alone."""
    stop = width = int(plan.rule.stops[point])
    rule, layout = plan.rule.part(0, stop), plan.layout
    if layout is not None:
        width = int(layout.stops[point])
        byte = np.where(layout.byte < width, layout.byte, -1)
        layout = layout._replace(byte=byte, stops=layout.stops[:0], n_bytes=width)
    rare = plan.rare
    if rare is not None:
        stop = int(rare.stops[point])
        place = np.where(rare.place < stop, rare.place, -1)
        rare = rare._replace(place=place, stops=rare.stops[:0])
    strips = None if train.strips is None else [_first(each, stop, width) for each in train.strips]
    panel = None if train.panel is None else train.panel[:width]
    return (
        replace(plan, rule=rule, layout=layout, rare=rare),
        replace(train, panel=panel, strips=strips),
    )


def _first(strip: Postings | Met, stop: int, width: int) -> Postings | Met:
    """Postings of the first features; the cells of the others are not looked at."""
    if isinstance(strip, Met):
        posted = strip.posted._replace(start=strip.posted.start[: stop + 1])
        return Met(posted, strip.columns[:width])
    return strip._replace(start=strip.start[: stop + 1])
