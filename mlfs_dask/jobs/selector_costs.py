"""Time of selectors from sizes alone, one function for each road.

Numbers are nanoseconds of one core of the machine that the package was measured on; what another
machine makes of them is said by `mlfs_dask.jobs.rates`. Costs follow the roads of
`mlfs_dask.graphs`: whoever changes one changes its function here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from mlfs_dask.graphs.task_sizes import (
    COLUMN_BLOCK,
    MANY_TILES,
    SET_TILE,
    SUMS_BYTES,
    WHOLE_PROBLEM,
    blocks_of_task,
)
from mlfs_dask.jobs.rough_set_costs import guess_choices, rough_set
from mlfs_dask.jobs.row_shape import MIB, NS, Params, Shape, blocks, passes, prepared, summary
from mlfs_dask.jobs.stream_costs import guess, guess_by_mean, stream, stream_by_mean
from mlfs_dask.jobs.workload import Stage, Work

_SIMILARITY: Final = 4.0  # of two rows by their labels

Cost: TypeAlias = Callable[[Shape, Params], Work]


def _added(s: Shape, bytes_per_tile: float) -> Stage:
    """Results of all tiles, added up by the process that decides."""
    return Stage("adding up", 0.6 * s.tiles * bytes_per_tile * NS)


def variance(s: Shape, params: Params) -> Work:
    """Two more passes."""
    return Work(
        "passes",
        (summary(s), passes(s, "deviations", 4.0 if s.sparse else 0.8, times=2, result=32.0 * s.d)),
    )


def label_sums(s: Shape) -> tuple[Stage, ...]:
    """Sums of each column over the rows of each label, in two parts."""
    result = 16.0 * (s.q + 1) * s.d
    ns = (6.0 if s.sparse else 0.75) * (1 + s.carried)
    return passes(s, "label sums", ns, result=result), _added(s, result)


def chi2(s: Shape, params: Params) -> Work:
    """Sums by label."""
    return Work("sums", (summary(s), *label_sums(s), Stage("scores", 40.0 * s.q * s.d * NS)))


def mddm(s: Shape, params: Params) -> Work:
    """Sums by label; with ``spc`` some dozens of products with all rows besides."""
    scores = Stage("scores", 20.0 * s.q * s.d * NS)
    if params.get("constraint") == "proj":
        return Work("sums", (summary(s), *label_sums(s), scores))
    # Few features need few steps.
    rounds = 40.0 * min(1.0, s.d / 500) ** 0.5 * max(1.0, s.d / 1000) ** 0.5
    vectors = min(s.q, s.d)  # those that are independent
    result = 8.0 * s.d * vectors
    ns = (0.5 if s.sparse else 0.6) * vectors
    products = passes(s, "products", ns, times=rounds, result=result)
    between = Stage("conjugate gradients", rounds * (20.0 + 4.0 * s.tiles) * s.d * vectors * NS)
    return Work("products", (summary(s), *label_sums(s), scores, products, between))


def bins(s: Shape) -> tuple[Stage, ...]:
    """Columns that are no bits are cut in the middle: after a sample, or digit by digit."""
    if s.bits:
        return ()
    if s.sparse:
        return (passes(s, "sides", 4.0),)
    if s.tiles >= MANY_TILES:
        between = 0.4 * s.d * s.n / s.tiles
        return (passes(s, "middles", 4.0, times=1.1, result=between),)
    return (passes(s, "digits", 1.2, times=8.0, result=2048.0 * s.d),)


def table(s: Shape) -> Stage:
    """Counts of each bin with each label."""
    ns = 12.0 * (1 + s.carried) if s.sparse else 0.05 * s.q + 4.0
    result = 8.0 * s.d * (s.q + 1)
    if s.sparse:  # only bins and labels that occur together come back
        result = min(result, 16.0 * s.cells / s.tiles * (1 + s.carried))
    return passes(s, "counts", ns, result=result)


def mutual_info(s: Shape, params: Params) -> Work:
    """Counts by label."""
    scores = Stage("scores", 150.0 * s.q * s.d * NS)
    return Work("counts", (summary(s), *bins(s), table(s), scores))


def mdmr(s: Shape, params: Params) -> Work:
    """Counts with the rows of each chosen feature."""
    return information(s, params, by_labels=False)


def information(s: Shape, params: Params, *, by_labels: bool = True) -> Work:
    """Counts with the rows of each label, then with those of each chosen feature."""
    chosen = wanted(s, params)
    if s.sparse:
        by_marker = s.cells / s.d * s.per_row * (1 + s.carried) * 2.0
        by_label = s.n * s.carried / s.q * s.per_row * (1 + s.carried) * 2.0
    else:
        by_marker = by_label = s.n / 64 * s.d * (s.q + 1) * 0.3
    table_ns = 3.0 * s.d * (s.q + 1)
    terms = 12.0 * s.d * (s.q + 1)
    groups = _groups_of_tiles(s)
    row_of_counts = 4.0 * (s.q + 1)
    present = min(s.d, s.cells / s.d / groups * s.per_row) if s.sparse else s.d
    asked = Stage(
        "counts of chosen features",
        chosen * (by_marker + table_ns) * NS,
        tasks=chosen * groups,
        result_bytes=chosen * groups * present * row_of_counts,
        rounds=chosen,
    )
    labels = Stage(
        "counts of labels",
        s.q * (by_label + table_ns) * NS,
        tasks=groups,
        result_bytes=s.q * groups * s.d * row_of_counts,
    )
    begun = (summary(s), *bins(s), table(s), *((labels,) if by_labels else ()), asked)
    entropies = Stage("entropies", (chosen + s.q * by_labels) * terms * NS)
    return Work("information", (*begun, entropies))


def _groups_of_tiles(s: Shape) -> float:
    """Tasks of a request for counts: tiles go together until there is enough for a task."""
    encoded = 8.0 * s.cells if s.sparse else s.n * (2.0 * s.d + s.q) / 8
    return max(1.0, min(s.tiles, encoded * (s.q + 1) // (128 * MIB)))


def wanted(s: Shape, params: Params) -> float:
    """Features that a greedy selector chooses."""
    asked = params.get("n_features_to_select")
    if asked is None:
        return s.d
    return min(s.d, asked if isinstance(asked, int) else asked * s.d)


def spec(s: Shape, params: Params) -> Work:
    """Sums by label set and their products, or pairs of rows where that is less."""
    if params.get("similarity") == "rbf-features":
        work, nodes = row_pairs(s, "spec", _affinity(s)), s.n
    else:
        work = row_pairs(s, "spec", _SIMILARITY) if takes_row_pairs(s) else collapsed(s)
        nodes = s.u
    if params.get("phi") != 3:
        return work
    return Work(work.road, (*work.stages, *eigenvectors(s, nodes)))


def _affinity(s: Shape) -> float:
    """Nanoseconds of the similarity of two rows by their features: sparse ones are made dense."""
    return 2.0 + 0.006 * s.d if s.bits else 6.0 + 0.06 * s.d


def takes_row_pairs(s: Shape) -> bool:
    """Whether label sets are so many that pairs of rows are less work."""
    return row_pairs(s, "spec", _SIMILARITY).seconds < collapsed(s).seconds


def collapsed(s: Shape) -> Work:
    """Similarities of distinct label sets, multiplied with sums by label set."""
    entries = min(s.cells, float(s.u) * s.d)
    result = 16.0 * min(entries, s.cells / s.tiles)
    sums = passes(s, "sums by label set", 35.0 if s.sparse else 1.5, result=result)
    tiles = -(-s.u // SET_TILE)
    pairs, size = tiles * (tiles + 1) / 2, float(min(s.u, SET_TILE))
    blocks = -(-s.d // COLUMN_BLOCK)
    tasks = pairs * _product_tasks(s)
    dense = 2.0 * size * size * COLUMN_BLOCK * blocks / 40.0
    each = min(1.5 * s.d * (entries / s.d / tiles) ** 2, dense) if s.sparse else dense
    similar = tasks / pairs * size * size * 3.0
    products = Stage("products", pairs * (each + similar) * NS, tasks, 8.0 * s.d * pairs)
    return Work("spec", (summary(s), sums, _added(s, result), products))


def _product_tasks(s: Shape) -> int:
    """Tasks for each pair of tiles of label sets: columns are taken in runs, these in blocks."""
    blocks = math.ceil(s.d / COLUMN_BLOCK)
    run = blocks if s.sparse else max(1, int(SUMS_BYTES // (8 * max(s.u, 1) * COLUMN_BLOCK)))
    whole, rest = divmod(blocks, run)
    return sum(-(-size // blocks_of_task(size)) for size in (*[run] * whole, rest) if size)


def row_pairs(s: Shape, road: str, ns_of_a_pair: float) -> Work:
    """All pairs of rows, tile by tile, each multiplied with all columns."""
    pairs = s.n * (s.n + min(s.n, s.tile)) / 2
    tasks = s.tiles * (s.tiles + 1) / 2
    product = 2.0 * s.d / 40.0
    if s.sparse:
        product = min(product, 1.5 * s.d * (s.per_row / s.d) ** 2)
    stage = Stage(
        "pairs of rows",
        pairs * (ns_of_a_pair + product) * NS,
        tasks,
        result_bytes=tasks * 32.0 * s.d,
        read_bytes=0.0 if s.is_cached else 2 * tasks / s.tiles * s.stored_bytes,
    )
    return Work(road, (summary(s), stage))


def distances(s: Shape) -> float:
    """Nanoseconds of the distance of two rows; less than a look where most pairs are passed by."""
    return {
        "bits": 0.1 + 0.0007 * s.d,
        "meetings": 0.3 + 0.01 * s.per_row,
        "postings": 1.0 + 0.1 * s.per_row,
        "distances": 0.06 * s.d,
    }[s.compared_by]


def eigenvectors(s: Shape, nodes: int) -> tuple[Stage, ...]:
    """Of the graph of label sets or of rows: whole while that is small, else by iterations."""
    whole = nodes <= WHOLE_PROBLEM
    seconds = 0.15 * nodes**3 * NS if whole else 200.0 * float(nodes) ** 2 * NS
    dense = s.d / s.per_row  # columns are projected as dense ones
    ns = (3.5 + 0.05 * (s.q + 1)) * dense
    return (Stage("eigenvectors", seconds), passes(s, "projections", ns, result=8.0 * s.q * s.d))


def mllap(s: Shape, params: Params) -> Work:
    """Sums by label, or by label set where these are few; then a look at all for each choice."""
    by_label = Work("mllap", (summary(s), *_sums_by_label(s, 18.0)))
    least = min(by_label, collapsed(s), key=lambda work: work.seconds)
    choices = Stage("choices", (1.0 * s.d**2 + 20.0 * s.d * s.q) * NS)
    return Work("mllap", (*least.stages, choices))


def _sums_by_label(s: Shape, ns_of_a_cell: float) -> tuple[Stage, ...]:
    """Sums by label of what rows store; dense cells take less than stored ones."""
    ns = (ns_of_a_cell if s.sparse else 2.0) * (1 + s.carried)
    result = 16.0 * min(s.cells / s.tiles * (1 + s.carried), (s.q + 1.0) * s.d)
    return passes(s, "sums by label", ns, result=result), _added(s, result)


def spec_wrapper(s: Shape, params: Params) -> Work:
    """Sums by label, or of label sets for all pairs of labels."""
    if params.get("order") == 2:
        entries = min(s.cells, float(s.u) * s.d)
        pairs = s.q * (s.q - 1) / 2
        sums = passes(s, "sums by label set", 50.0 if s.sparse else 8.0)
        per_entry = s.carried * max(1.0, s.q - s.carried) * 3.0
        ends = 10.0 * s.u * s.d  # extremes of label sets
        both = Stage("pairs of labels", (entries * per_entry + 270.0 * pairs * s.d + ends) * NS)
        return Work("spec-wrapper", (summary(s), sums, both))
    scores = Stage("scores", 150.0 * s.q * s.d * NS)
    return Work("spec-wrapper", (summary(s), *_sums_by_label(s, 12.0), scores))


def nearest(s: Shape, queries: float, points: float = 1.0, k: float = 10.0) -> Stage:
    """Nearest rows of some rows, at each point of a curve."""
    pairs = s.n * queries
    ns = distances(s) + 0.15 * points
    return Stage("distances", pairs * ns * NS, blocks(s), 16.0 * k * points * queries)


def laplacian(s: Shape, params: Params) -> Work:
    """A graph of nearest neighbours and differences along its edges."""
    k = params.get("n_neighbors", 5)
    forms = Stage("edges", 2.0 * s.n * k * s.per_row * 1.5 * NS, s.tiles * (s.tiles + 1) / 2)
    deviations = passes(s, "deviations", 4.0, times=2)
    graph = Stage("graph", 300.0 * s.n * k * NS)
    road: str = s.compared_by
    return Work(road, (summary(s), prepared(s), nearest(s, s.n, 1, k), graph, forms, deviations))


def relief(s: Shape, params: Params) -> Work:
    """Distances, the nearest of each class, differences from them."""
    k = params.get("n_neighbors", 10)
    near = _lists(s, params) * k  # rows in several lists are compared once
    if params.get("labels") != "sets":
        near = min(near, _in_order(s))
    each = 0.3 if s.compared_by == "bits" else 1.0
    looks = s.n * (s.n * each + _finding(s, params))
    gaps = s.n * near * (s.per_row * 1.6 if s.sparse else s.d * 0.9)
    pairs = s.n * s.n * distances(s)
    sums = 16.0 * s.d * n_problems(s, params)
    stage = Stage(
        "neighbours", (pairs + looks + gaps) * NS, blocks(s), blocks(s) * min(sums, 64 * MIB)
    )
    road = f"relief of {s.compared_by}"
    added = Stage("adding up", 0.6 * blocks(s) * sums * NS)
    return Work(road, (summary(s), prepared(s), stage, added))


def _lists(s: Shape, params: Params) -> float:
    """Lists of neighbours that a row asks for."""
    if params.get("order") == 2 or ("order" not in params and params.get("labels") != "sets"):
        return 2 * s.carried * max(1.0, s.q - s.carried)
    return float(s.u) if params.get("labels") == "sets" else 2.0 * s.q


def _finding(s: Shape, params: Params) -> float:
    """Nanoseconds in which a row finds its lists, once distances are known."""
    if params.get("labels") == "sets":
        return 0.35 * s.n
    return 30.0 * _in_order(s) + 260.0 * _lists(s, params)


def _in_order(s: Shape) -> int:
    """Rows near a row that are put in order once, and dealt to the labels."""
    return min(s.n, 16 * (s.q + 1))


def n_problems(s: Shape, params: Params) -> float:
    """Rankings that come of it: one, or one for each label or pair of labels.

    Parameters
    ----------
    s, params
        Rows, and parameters of the selector.
    """
    if "order" not in params:
        return 1.0
    return s.q * (s.q - 1) / 2 if params.get("order") == 2 else float(s.q)


def genetic(s: Shape, params: Params) -> Work:
    """Log ratios of all features once for each generation, added up in half of its sets."""
    sets, generations = params["n_individuals"], params["n_generations"]
    cells = float(s.n) * s.d
    ns = 20.0 + (1.6 + 0.06 * sets) * s.q
    densities = passes(s, "densities", 8.0 * s.q, result=88.0 * s.d * s.q)
    each = Stage(
        "generations",
        (generations + 1) * (5e-3 + cells * ns * NS),
        tasks=(generations + 1) * s.tiles,
        rounds=generations + 1.0,
    )
    return Work("genetic", (summary(s), densities, each))


def any_other(s: Shape, params: Params) -> Work:
    """A method that nothing is known of: one look at all pairs of rows."""
    return Work("", (summary(s), nearest(s, s.n)))


COSTS: Final[Mapping[str, Cost]] = {
    "variance": variance,
    "chi2": chi2,
    "mutual-info": mutual_info,
    "spec": spec,
    "spec-wrapper": spec_wrapper,
    "mllap": mllap,
    "mddm": mddm,
    "pmu": information,
    "mdmr": mdmr,
    "laplacian": laplacian,
    "mlrelieff": relief,
    "relief-wrapper": relief,
    "nrs-cost": rough_set,
    "nrs-stream": stream,
    "ofs-a3m": stream_by_mean,
    "mlnb": genetic,
}

GUESSES: Final[Mapping[str, Callable[[Shape, Params], str]]] = {
    "nrs-cost": guess_choices,
    "nrs-stream": guess,
    "ofs-a3m": guess_by_mean,
}
"""What a cost rests on that only rows could tell, in words."""
