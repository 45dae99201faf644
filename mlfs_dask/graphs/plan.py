"""Which road a spectral method takes, from plain numbers, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from mlfs_dask.graphs.pairs import STRIP, padded_rows
from mlfs_dask.graphs.products import PRODUCT_SPEED
from mlfs_dask.graphs.source import Source
from mlfs_dask.graphs.task_sizes import COLUMN_BLOCK, SET_TILE, SUMS_BYTES
from mlfs_dask.kernels.labelsets import LabelSets

_SCATTERED = 10.0  # additions of dense rows that take as long as one of a stored cell of CSR rows

Road: TypeAlias = Literal["collapsed", "lowrank", "pairs"]

_DESCRIPTION: dict[Road, str] = {
    "collapsed": "sums per distinct label set",
    "lowrank": "sums per label",
    "pairs": "pairs of tiles of rows",
}


@dataclass(frozen=True)
class RoadPlan:
    """The road taken, and why.

    Attributes
    ----------
    road : str
        ``"collapsed"``, ``"lowrank"`` or ``"pairs"``.
    why : str
        One sentence.
    operations : dict of str to float
        Estimated operations of each road that could be taken, in additions.
    tasks : int
        Tasks of the road's costliest stage.
    bytes_per_task : int
        Working memory of one such task.
    """

    road: Road
    why: str
    operations: dict[str, float]
    tasks: int
    bytes_per_task: int


def plan_road(
    source: Source,
    *,
    allowed: Sequence[Road],
    wanted: str,
    sets: LabelSets,
    n_cells: float | None = None,
    by_features: bool = False,
) -> RoadPlan:
    """Compare the roads and choose.

    Parameters
    ----------
    source
        Rows.
    allowed
        Roads the similarity has.
    wanted
        ``"auto"`` or one of them.
    sets
        Label sets of the rows.
    n_cells
        Stored values of X; default: all cells, a twentieth of them for CSR.
    by_features
        Rows are compared by their features, not by their labels.
    """
    if n_cells is None:
        n_cells = source.n_samples * source.n_features / (20 if source.is_sparse else 1)
    cell = n_cells * (_SCATTERED if source.is_sparse else 1.0)
    n_sets = sets.n_sets
    pair_cost = float(source.n_features if by_features else 1 + len(sets.words))
    cardinality = float((sets.sizes * sets.counts).sum()) / max(source.n_samples, 1)
    cost: dict[Road, float] = {
        "collapsed": _collapsed_cost(source, 4.0 * cell, n_sets, pair_cost),
        "lowrank": (5.0 + cardinality) * cell,
        "pairs": _pairs_cost(source, 4.0 * cell, pair_cost),
    }
    road = min(allowed, key=lambda r: cost[r])
    if wanted == "auto":
        others = [f"{_DESCRIPTION[r]} {cost[r]:.2g}" for r in allowed if r != road]
        why = f"{_DESCRIPTION[road]} take about {cost[road]:.2g} operations"
        why += f", {' and '.join(others)}" if others else ": no other road for this similarity"
    else:
        road = next(r for r in allowed if r == wanted)
        why = "asked for"
    tasks, bytes_per_task = _tasks(source, road, n_sets)
    operations: dict[str, float] = {r: cost[r] for r in allowed}
    return RoadPlan(road, why, operations, tasks, bytes_per_task)


def _blocks(n_features: int) -> int:
    return max(1, -(-n_features // COLUMN_BLOCK))


def _collapsed_cost(source: Source, sums: float, n_sets: int, pair_cost: float) -> float:
    n_tiles = -(-n_sets // SET_TILE)
    size = float(min(SET_TILE, n_sets))
    pairs = n_tiles * (n_tiles + 1) / 2
    products = pairs * size * size * _blocks(source.n_features) * COLUMN_BLOCK / PRODUCT_SPEED
    return sums + 2.0 * n_sets * n_sets * pair_cost + products


def _pairs_cost(source: Source, sums: float, pair_cost: float) -> float:
    rows = np.diff(source.offsets).astype(np.float64)
    pairs = float(rows.sum() ** 2 + (rows**2).sum()) / 2
    products = pairs * _blocks(source.n_features) * COLUMN_BLOCK / PRODUCT_SPEED
    return sums + pairs * pair_cost + products


def _tasks(source: Source, road: Road, n_sets: int) -> tuple[int, int]:
    rows = int(np.diff(source.offsets).max(initial=0))
    if road == "pairs":
        width = padded_rows(rows, source.tile)
        strip = 8 * min(STRIP, width) * width
        block = 8 * width * COLUMN_BLOCK
        return source.n_tiles * (source.n_tiles + 1) // 2, strip + 3 * block
    groups = 8 * min(rows, n_sets) * source.n_features
    return source.n_tiles, min(groups, SUMS_BYTES) + 32 * source.n_features
