"""Equal rows made one.

Rows that are equal in every feature have the same neighbours, and are neighbours of each other on
every set of features. So none of them is in a positive region if one of the others lacks one of its
labels; and all of them violate what one of them violates::

    equal rows   labels                one row    labels   stands for
    3            1 2                   3          1        rows 8 and 9
    8            1            ──>
    9            1
"""

from __future__ import annotations

import numpy as np

from mlfs_dask._typing import AnyArray, IntArray
from mlfs_dask.graphs.neighbor_tasks import frozen, sealed
from mlfs_dask.kernels.duplicates import equal_to_first, row_codes
from mlfs_dask.kernels.separation import Planes, Rows

_MOVED_TOGETHER = 1024


def collapse(rows: Rows) -> tuple[Rows, IntArray]:
    """Leave the first of equal rows, with the labels that all of them carry.

    Parameters
    ----------
    rows
        All rows, prepared; their memory is used again.

    Returns
    -------
    rows : Rows
    weight : ndarray of int64, shape (n_left,)
        How many rows each stands for: those equal ones that carry the same labels as it does now.
    """
    sealed_rows = Rows(sealed(rows.head), sealed(rows.side), sealed(rows.tail), frozen(rows.labels))
    bits = (
        frozen(rows.head.values.view(np.uint64)),
        frozen(rows.side.values.view(f"u{rows.side.values.itemsize}")),
        frozen(rows.tail.values.view(np.uint64)),
    )
    codes = row_codes(sealed_rows, *bits)
    order = np.argsort(codes, kind="stable")
    first = equal_to_first(sealed_rows, *bits, codes, order)
    left, group = np.unique(first, return_inverse=True)
    labels = np.full((len(left), rows.labels.shape[1]), ~np.uint64(0))
    np.bitwise_and.at(labels, group, rows.labels)
    same = np.all(rows.labels == labels[group], axis=1)
    weight = np.bincount(group[same], minlength=len(left))
    if len(left) < len(first):
        rows = _taken(rows, left)
    return rows._replace(labels=labels), weight


def _taken(rows: Rows, left: IntArray) -> Rows:
    """Some of the rows, ascending, moved up to where the first ones stood."""
    width = rows.side.width
    values = rows.side.values.reshape(len(rows.labels), width)
    _move_up(values, left)
    side = rows.side._replace(values=values[: len(left)].reshape(-1))
    return rows._replace(
        head=_taken_planes(rows.head, left), side=side, tail=_taken_planes(rows.tail, left)
    )


def _taken_planes(planes: Planes, left: IntArray) -> Planes:
    for plane in (planes.far, planes.zero, planes.some, planes.place):
        _move_up(plane, left)
    return planes.part(0, len(left))


def _move_up(plane: AnyArray, left: IntArray) -> None:
    """No row moves down, so none that is still to be moved is written over."""
    for start in range(0, len(left), _MOVED_TOGETHER):
        stop = min(start + _MOVED_TOGETHER, len(left))
        plane[start:stop] = plane[left[start:stop]]
