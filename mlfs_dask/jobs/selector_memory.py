"""Memory of selectors from sizes alone, one function for each road.

A process needs room for itself, for tiles it keeps decoded, for what the road holds until it ends,
and for as many tasks as it does at a time, with the results that wait for their turn::

    process + kept tiles + held + threads x (tile in hand + task) + 2 x threads x result
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from functools import partial
from typing import Final, TypeAlias

from mlfs_dask.graphs.task_sizes import (
    COLUMN_BLOCK,
    KEPT_BYTES,
    LISTED_BYTES,
    PART_BYTES,
    SET_TILE,
    SUMS_BYTES,
    TRAINING_STRIP,
    WHOLE_PROBLEM,
)
from mlfs_dask.jobs.rough_set_costs import are_kept, prepared_bytes
from mlfs_dask.jobs.row_shape import MIB, Params, Shape
from mlfs_dask.jobs.selector_costs import takes_row_pairs
from mlfs_dask.jobs.stream_costs import BY_MEAN, BY_SIGNIFICANCE, Joins, at_points, coming

_STRIP: Final = 64  # rows of a tile whose similarities are made at a time
_AS_VALUES: Final = 16.0  # a stored cell as float64 with an index of int64
_RANKED: Final = 128.0  # a feature in the ranking of a problem
_POSTING: Final = 20.0  # a stored cell as it is compared


@dataclass(frozen=True)
class Room:
    """Bytes of a road's arrays.

    Attributes
    ----------
    held
        From the beginning, or some stage, to the end.
    task
        By each task in hand, besides its tile.
    result
        What a task gives back.
    tasks
        How many there are at most.
    alone
        All of it, at a stage that has one task only.
    """

    held: float = 0.0
    task: float = 0.0
    result: float = 0.0
    tasks: float = math.inf
    alone: float = 0.0

    def __or__(self, other: Room) -> Room:
        """What is enough for either, when one stage follows the other."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Room(*(max(pair) for pair in pairs))

    def bytes(self, threads: int) -> float:
        """All of it.

        Parameters
        ----------
        threads
            Tasks at a time.

        Examples
        --------
        >>> Room(held=10.0, task=3.0, result=1.0).bytes(1), Room(10.0, 3.0, 1.0).bytes(2)
        (14.0, 20.0)
        """
        working = min(threads, self.tasks)
        waiting = min(1 if threads == 1 else 2 * threads, self.tasks)
        return max(self.held + working * self.task + waiting * self.result, self.alone)


Memory: TypeAlias = Callable[[Shape, Params, float], Room]


def tile_read(s: Shape) -> float:
    """A tile while it is read: chunks are decoded beside it."""
    return s.tile_bytes * 2.0


def tile_at_work(s: Shape, copies: float = 0.0) -> float:
    """A tile while it is brought to the form that kernels take.

    Parameters
    ----------
    s
        Rows.
    copies
        Of the tile in its stored form: one where only some of its rows are taken, one where only
        some of its columns are.
    """
    forms = _AS_VALUES if s.sparse else {1: 1.0, 8: 0.0}.get(s.item_bytes, 8.0)
    return s.tile_bytes * copies + min(s.tile, s.all_rows) * s.per_row * forms


def tile_in_hand(s: Shape) -> float:
    """A tile while it is read, sliced and brought to the form that kernels take."""
    return tile_read(s) + tile_at_work(s, 1.0)


def together(
    s: Shape, room: Room, share: float, threads: int, copies: float, sharing: int = 1
) -> float:
    """Bytes of kept tiles, of those in hand and of a road's arrays.

    A process that keeps all tiles has read the last one before anything large is made of them.

    Parameters
    ----------
    s
        Rows.
    room
        Of the road.
    share
        Of what is kept with ample memory.
    threads
        Tasks at a time.
    copies
        As in `tile_at_work`.
    sharing
        Processes that read each its part of the tiles.
    """
    own, at_a_time = s.stored_bytes / sharing, min(threads, s.tiles)
    kept = min(kept_tiles(s, share), own)
    reading = at_a_time * tile_read(s)
    working = room.bytes(threads) + at_a_time * tile_at_work(s, copies)
    if kept >= own:
        return kept + max(reading, working)
    return kept + reading + working


def kept_tiles(s: Shape, share: float) -> float:
    """Decoded tiles that a process keeps.

    Parameters
    ----------
    s
        Rows.
    share
        Of what is kept with ample memory.
    """
    limit = 1024 * MIB * share
    return 0.0 if s.tile_bytes > limit / 4 else min(s.stored_bytes, limit)


def columns(s: Shape, params: Params, share: float) -> Room:
    """Some numbers of each feature, and of each row."""
    held = 200.0 * s.d + s.n * (2.0 * s.q + 60)
    return Room(held, result=64.0 * s.d, tasks=s.tiles)


def label_sums(s: Shape, params: Params, share: float) -> Room:
    """Two numbers of each feature and label, made by every tile."""
    sums = 16.0 * (s.q + 1) * s.d
    return columns(s, params, share) | Room(1.2 * sums, sums / 4, sums, s.tiles)


def mddm(s: Shape, params: Params, share: float) -> Room:
    """Sums by label; with ``spc`` vectors of that size, some of them at a time."""
    sums = label_sums(s, params, share)
    vectors = 8.0 * s.q * s.d
    images = 8.0 * min(s.tile, s.n) * (s.q + 8 + (0 if s.sparse else COLUMN_BLOCK))
    if params.get("constraint") == "proj":
        return sums
    return sums | Room(held=9.0 * vectors, task=vectors + images, result=vectors)


def counts(s: Shape, params: Params, share: float) -> Room:
    """Counts of two bins of each feature with each label."""
    table = 16.0 * (s.q + 1) * s.d
    cells = min(s.tile, s.n) * s.per_row
    task = 40.0 * cells if s.sparse else table + cells / 4
    digits = 0.0 if s.bits else 2048.0 * min(s.d, 1024)
    result = min(table, 16.0 * cells * (1 + s.carried)) if s.sparse else table
    fetched = 0.0 if s.bits or s.sparse else min(0.4 * s.n * s.d, 128.0 * MIB)
    held = max(2.2 * table, fetched)
    return columns(s, params, share) | Room(held, task, max(result, digits), s.tiles)


def information(s: Shape, params: Params, share: float) -> Room:
    """The table, rows as bits or lists, and one row of counts at a time."""
    table = 8.0 * (s.q + 1) * s.d
    encoded = 8.0 * s.cells if s.sparse else s.n * (2.0 * s.d + s.q) / 8
    kept = min(encoded, 512 * MIB * share)
    at_once = max(table, min(s.q * table, 32 * MIB))
    asked = Room(held=6.0 * table + kept + at_once, task=table, result=at_once / 2)
    return counts(s, params, share) | asked


def spec(s: Shape, params: Params, share: float) -> Room:
    """Sums by label set, similarities of two tiles of label sets, or of two tiles of rows."""
    by_features = params.get("similarity") == "rbf-features"
    if by_features or takes_row_pairs(s):
        room = row_pairs(s, params, share)
    else:
        room = columns(s, params, share) | _by_label_set(s) | _similarities(s)
    return room if params.get("phi") != 3 else room | _eigenvectors(s, s.n if by_features else s.u)


def _by_label_set(s: Shape) -> Room:
    cells = min(s.tile, s.n) * s.per_row
    if s.sparse:
        entries = min(s.cells, float(s.u) * s.d)
        return Room(30.0 * entries, 32.0 * cells, 16.0 * cells, s.tiles)
    run = min(8.0 * s.u * s.d, SUMS_BYTES)
    return Room(held=2.0 * run, task=run, result=run)


def _similarities(s: Shape) -> Room:
    size = min(s.u, SET_TILE)
    return Room(task=8.0 * size * (size + 3 * COLUMN_BLOCK))


def row_pairs(s: Shape, params: Params, share: float) -> Room:
    """A strip of similarities, and columns of two tiles."""
    width = min(s.n, s.tile)
    strip = 8.0 * min(_STRIP, width) * width
    block = 8.0 * width * COLUMN_BLOCK
    cells = 48.0 * width * s.per_row if s.sparse else 0.0
    scaled = 2 * min(32 * MIB, 8.0 * width * s.d)
    other = tile_at_work(s) if s.is_cached else tile_in_hand(s)
    task = strip + 3 * block + cells + scaled + other
    return Room(held=160.0 * s.d, task=task, result=32.0 * s.d)


def _eigenvectors(s: Shape, nodes: int) -> Room:
    basis = 8.0 * nodes * (6 * s.q + 20)
    whole = 2.5 * 8.0 * nodes**2 if nodes <= WHOLE_PROBLEM else 8.0 * min(nodes, SET_TILE) ** 2
    projected = 8.0 * (s.q + 1) * s.d
    centred = 8.0 * min(s.tile, s.n) * (COLUMN_BLOCK + s.q + 1)
    return Room(held=basis + whole + 2 * projected, task=3 * centred, result=projected)


def mllap(s: Shape, params: Params, share: float) -> Room:
    """Sums by label."""
    return columns(s, params, share) | _by_label(s) | Room(held=300.0 * s.d)


def _by_label(s: Shape) -> Room:
    cells = min(s.tile, s.n) * s.per_row
    sums = 8.0 * (s.q + 1) * s.d
    if s.sparse:
        entries = min(cells * (1 + s.carried), (s.q + 1.0) * s.d)
        whole = min(5.0 * sums, 36.0 * s.cells * (1 + s.carried))
        return Room(whole, 16.0 * (cells + entries), 16.0 * entries, s.tiles)
    run = min(sums, SUMS_BYTES)
    return Room(held=2.0 * run, task=run, result=run)


def spec_wrapper(s: Shape, params: Params, share: float) -> Room:
    """Three numbers of each feature and problem, and the sums they come from."""
    pairs = params.get("order") == 2
    problems = s.q * (s.q - 1) / 2 if pairs else float(s.q)
    terms = 8.0 * problems * s.d
    sums = _by_label_set(s) if pairs else _by_label(s)
    held = 4.0 * terms + (sums.held if not pairs else 2 * sums.held if s.sparse else 0.0)
    if pairs:  # extremes of label sets, in runs of columns, of all rows and of a tile
        held += 7.0 * min(8.0 * s.u * s.d, SUMS_BYTES / 5)
    made = Room(held, sums.task, sums.result, sums.tasks)
    return columns(s, params, share) | made | _rankings(s, problems)


def _rankings(s: Shape, problems: float) -> Room:
    """Orders, scores and selected features of all problems as the numbers that a run keeps."""
    return Room(held=_RANKED * problems * s.d)


def prepared(s: Shape, share: float) -> float:
    """Rows in the form in which they are compared; 0 if they are made anew tile by tile."""
    each = {
        "bits": s.d / 8,
        "meetings": 3.0 * s.per_row,
        "postings": _POSTING * s.per_row,
        "distances": 8.0 * s.d,
    }[s.compared_by]
    return s.n * each if s.n * each <= 256 * MIB * share else 0.0


def anew(s: Shape) -> float:
    """Rows that are not kept while a task prepares them: its own, and a strip of others."""
    return 2.0 * min(PART_BYTES, 8.0 * min(s.n, TRAINING_STRIP) * s.d) + tile_in_hand(s)


def search(s: Shape, share: float, k: float, points: float = 1.0) -> Room:
    """Rows prepared, distances of a block of queries, their lists."""
    held = prepared(s, share)
    queries = min(1024.0, s.n)
    width = 8.0 * min(s.n, TRAINING_STRIP)
    totals = queries * width if held and s.compared_by == "distances" else 8.0 * width
    lists = queries * points * k * 16.0
    streamed = 0.0
    if not held:
        totals = queries * width
        streamed = anew(s)
    return Room(held=held, task=totals + streamed + 2 * lists, result=lists)


def laplacian(s: Shape, params: Params, share: float) -> Room:
    """The search, then the edges and two tiles."""
    k = params.get("n_neighbors", 5)
    first = search(s, share, k)
    cells = 2 * min(s.tile, s.n) * s.per_row * (_AS_VALUES if s.sparse else 0.0)
    dense = 0.0 if s.sparse else 16.0 * min(s.tile, s.n) * COLUMN_BLOCK
    edges = Room(first.held + 130.0 * s.n * k, cells + dense, 8.0 * s.d)
    return columns(s, params, share) | first | edges


def relief(s: Shape, params: Params, share: float) -> Room:
    """The search, rows once more for differences, sums of each problem."""
    wide = (4.0 if s.bits else 24.0) * s.per_row if s.sparse else s.d * (1.0 if s.bits else 8.0)
    second = s.n * wide if s.n * wide <= 256 * MIB * share else 0.0
    problems = 1.0
    if "order" in params:
        problems = s.q * (s.q - 1) / 2 if params.get("order") == 2 else float(s.q)
    sums = min(64.0 * MIB, 16.0 * s.d * problems)
    k = params.get("n_neighbors", 10)
    item = 2 if s.bits else 8
    lists = 2.0 * s.q if "order" in params else 2 * s.carried * s.q
    per_row = s.n * item + lists * 64 + lists * k * 16
    task = min(64.0 * MIB, min(s.n, 1024) * per_row)
    kept = prepared(s, share)
    # Rows that are not kept are made anew for distances, then neighbours for differences.
    again = 0.0 if second else 3.0 * min(64.0 * MIB, s.n * wide) + tile_in_hand(s)
    task += max(again, 0.0 if kept else anew(s))
    held = 2 * kept + 1.5 * second + 8.0 * problems * s.d + sums
    return columns(s, params, share) | Room(held, task + sums, sums) | _rankings(s, problems)


def rough_set(s: Shape, params: Params, share: float) -> Room:
    """All rows, prepared twice while they are joined; then once, with violators kept of each."""
    whole = prepared_bytes(s)
    held = min(s.n * (350 + s.d / 8), KEPT_BYTES * share + 350.0 * s.n)
    marks = s.n * 16.0 * (s.d / 64 + 1)
    if not are_kept(s, share):
        # A block's tile, beside one after the other; then its marks twice, while they are joined.
        own = min(s.tile, s.n) / s.n
        task = own * whole + max(min(own, 1.0 - own) * whole + own * marks / 2, own * marks)
        return columns(s, params, share) | Room(held, task, s.d)
    task = min(marks, 128.0 * MIB)
    joined = whole + min(LISTED_BYTES, 4.0 * s.cells) + held
    return columns(s, params, share) | Room(joined, task, s.d, alone=2 * whole)


def stream(s: Shape, params: Params, share: float, joins: Joins = BY_SIGNIFICANCE) -> Room:
    """Distances of all rows to all rows as far as they are kept, and columns that arrive.

    None are kept while rows stand at few points.
    """
    few, each = at_points(s, params, joins) is not None, 1.0 if s.bits else 8.0
    kept = 0.0 if few else min(each * s.n * s.n, 2**30 * share)
    batch = min(64.0 * MIB, (1.0 if s.bits else 12.0) * s.n * coming(s, params))
    return columns(s, params, share) | Room(kept + batch + 200.0 * s.n, 2.0 * MIB + 64.0 * s.n)


def genetic(s: Shape, params: Params, share: float) -> Room:
    """Densities and moments of each feature, label and fold."""
    pca = params.get("pca")
    inputs = int(s.d * pca) + 1 if isinstance(pca, float) else s.d
    densities = 8.0 * 11 * s.q * inputs * params["n_folds"]
    components = 5 * 8.0 * s.d * s.d if isinstance(pca, float) else 0.0
    dense = 8.0 * MIB + 8.0 * min(s.tile, s.n) * s.q * 4
    return columns(s, params, share) | Room(densities + components, dense, densities / 10)


def any_other(s: Shape, params: Params, share: float) -> Room:
    """A method that nothing is known of: a search among all rows."""
    return columns(s, params, share) | search(s, share, 10.0)


MEMORY: Final[Mapping[str, Memory]] = {
    "variance": columns,
    "chi2": label_sums,
    "mutual-info": counts,
    "spec": spec,
    "spec-wrapper": spec_wrapper,
    "mllap": mllap,
    "mddm": mddm,
    "pmu": information,
    "mdmr": information,
    "laplacian": laplacian,
    "mlrelieff": relief,
    "relief-wrapper": relief,
    "nrs-cost": rough_set,
    "nrs-stream": stream,
    "ofs-a3m": partial(stream, joins=BY_MEAN),
    "mlnb": genetic,
}
