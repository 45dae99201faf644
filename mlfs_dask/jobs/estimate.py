"""Rough time and memory of units, from sizes alone: enough to group tasks and choose a place.

The rates are orders of magnitude of one core; a wrong guess costs some waiting, never a result.
Methods that are not listed count as one pass over all pairs of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mlfs_dask.jobs.model_costs import models_seconds, n_models
from mlfs_dask.jobs.rows import counts_of, injects_missing, says_counts
from mlfs_dask.jobs.spec import Job, Method, Prefilter
from mlfs_dask.jobs.units import Unit
from mlfs_dask.storage.dataset import Dataset

_PAIR_FEATURES_PER_SECOND: Final = 3e9  # distances, float64, one core
_PAIR_BITS_PER_SECOND: Final = 5e10  # distances of 0/1 features by popcount
_PAIR_POINTS_PER_SECOND: Final = 1e9  # looking at the nearest at one point of a curve
_PAIRS_TOLD_PER_SECOND: Final = 3e7  # until a feature separates two rows, over a whole search
_PAIRS_OF_BITS_TOLD_PER_SECOND: Final = 1.2e8
_CELLS_PER_SECOND: Final = 1.5e8  # reading, decoding and summing values
_BIT_PRODUCTS_PER_SECOND: Final = 3e10  # counts of 0/1 features by words of 64 rows
_DENSITIES_PER_SECOND: Final = 1e8  # log ratios of normal densities
_NUMBERS_PER_DENSITY: Final = 11  # of a feature, label and fold: densities and moments
_OWN_SHARE: Final = 1 / 3  # of the features in a subset that a selector makes by itself
_FIXED_SECONDS: Final = 0.01
# Selectors whose rankings, one for each label, are judged by a curve each.
_PER_PROBLEM: Final = ("relief-wrapper", "spec-wrapper")
# Classifiers with a model for each problem of such a ranking.
_EACH_HAS_FEATURES: Final = ("br", "clr")
_TILES_HELD: Final = 4


@dataclass(frozen=True)
class Sizes:
    """Sizes of a data set that costs depend on.

    Attributes
    ----------
    n_samples, n_features, n_labels, label_sets, tile
        As in the store.
    cells
        Stored values: all, or the entries of CSR.
    bits
        Whether values may be handled as packed bits.
    item_bytes
        Bytes of a stored value, with its column index if sparse.
    """

    n_samples: int
    n_features: int
    n_labels: int
    label_sets: int
    tile: int
    cells: int
    bits: bool
    item_bytes: int

    @classmethod
    def of(cls, dataset: Dataset) -> Sizes:
        """Sizes of an opened store.

        Parameters
        ----------
        dataset
            Opened store.
        """
        indptr = dataset.X.indptr
        n, d = dataset.n_samples, dataset.n_features
        return cls(
            n_samples=n,
            n_features=d,
            n_labels=dataset.n_labels,
            label_sets=int(dataset.attributes["label_sets"]),
            tile=dataset.tile,
            cells=n * d if indptr is None else int(indptr[-1]),
            bits=dataset.x_dtype.kind == "u",
            item_bytes=dataset.x_dtype.itemsize + (4 if indptr is not None else 0),
        )


def seconds(job: Job, unit: Unit, sizes: Sizes) -> float:
    """Rough time of a unit on one core.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    sizes
        Of the unit's data set.
    """
    sizes = _as_seen(sizes, injected=injects_missing(job))
    rows = train_rows(job, unit, sizes)
    if unit.kind == "judge":
        return _FIXED_SECONDS + _reading_seconds(sizes) + _judge_seconds(job, unit, sizes, rows)
    select = job.selects[unit.selector]
    if select.prefilter is None:
        return _FIXED_SECONDS + _select_seconds(select, sizes, rows)
    first = _select_seconds(select.prefilter, sizes, rows)
    kept = _narrowed(sizes, select.prefilter.n)
    return _FIXED_SECONDS + first + _select_seconds(select, kept, rows)


def _judge_seconds(job: Job, unit: Unit, sizes: Sizes, rows: int) -> float:
    assert unit.classifier is not None
    method, widths = job.classifiers[unit.classifier], _widths(job, unit, sizes)
    test = max(1, sizes.n_samples - rows)
    per_problem = unit.needs and job.selects[unit.selector].method in _PER_PROBLEM
    curves = sizes.n_labels if per_problem and method.method not in _EACH_HAS_FEATURES else 1
    if method.method == "mlnb":
        per_row = sizes.n_features * sizes.n_labels
        return curves * sizes.n_samples * per_row / _DENSITIES_PER_SECOND
    if n_models(method.method, method.params, sizes.n_labels) > 0:
        stored = min(1.0, sizes.cells / max(1, sizes.n_samples * sizes.n_features))
        shape = sizes.n_labels, (rows, test), widths, stored
        return curves * models_seconds(method.method, method.params, *shape)
    return curves * _neighbour_seconds(sizes, rows, sizes.n_samples, len(widths))


def _widths(job: Job, unit: Unit, sizes: Sizes) -> tuple[int, ...]:
    """Features at the points of the curve; a selector's own subset or size is one point."""
    if not unit.needs:
        return (sizes.n_features,)
    features = job.features_of(job.selects[unit.selector])
    if says_counts(features):
        return counts_of(features, sizes.n_features)
    return (max(1, int(sizes.n_features * _OWN_SHARE)),)


def _reading_seconds(sizes: Sizes) -> float:
    return sizes.cells / _CELLS_PER_SECOND


def _select_seconds(method: Method | Prefilter, sizes: Sizes, rows: int) -> float:
    estimates = {
        "spec": _spec_seconds,
        "mllap": _mllap_seconds,
        "mlnb": _genetic_seconds,
        "pmu": _information_seconds,
        "mdmr": _information_seconds,
        **dict.fromkeys(("variance", "chi2", "mutual-info"), _class_sums_seconds),
        "spec-wrapper": _class_sums_seconds,
        "relief-wrapper": _relief_seconds,
        "mlrelieff": _relief_seconds,
        "nrs-cost": _reduct_seconds,
    }
    estimate = estimates.get(method.method, _pair_seconds)
    return _reading_seconds(sizes) + estimate(sizes, rows, method.params)


@lru_cache(maxsize=64)
def _as_seen(sizes: Sizes, *, injected: bool) -> Sizes:
    """Sizes of the rows as units see them: cells that are made missing are floats."""
    if not injected:
        return sizes
    return replace(sizes, bits=False, item_bytes=max(sizes.item_bytes, 8))


@lru_cache(maxsize=64)
def _narrowed(sizes: Sizes, n_features: int) -> Sizes:
    """Sizes with fewer features; all cells are still read."""
    return replace(sizes, n_features=min(n_features, sizes.n_features))


def task_bytes(job: Job, unit: Unit, sizes: Sizes) -> int:
    """Rough peak of a unit's arrays in bytes.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    sizes
        Of the unit's data set.
    """
    sizes = _as_seen(sizes, injected=injects_missing(job))
    rows = train_rows(job, unit, sizes)
    per_row = sizes.cells / sizes.n_samples
    tile_rows = min(sizes.tile, sizes.n_samples)
    tiles = _TILES_HELD * tile_rows * per_row * (sizes.item_bytes + 8)
    if unit.kind == "judge":
        return int(tiles + rows * per_row * sizes.item_bytes + 8 * tile_rows * tile_rows)
    pairs = min(sizes.label_sets, 2048) ** 2 * 8
    sums = 3 * 8 * sizes.n_features * (min(sizes.label_sets, 4096) + sizes.n_labels)
    select = job.selects[unit.selector]
    kept = 0.0
    if select.method == "nrs-cost":
        kept = _reduct_bytes(sizes, rows)
    elif select.method == "mlnb":
        kept = 8.0 * _NUMBERS_PER_DENSITY * sizes.n_labels * _inputs(sizes, select)
        kept *= _number(select.params, "n_folds")
    return int(tiles + pairs + sums + kept)


def train_rows(job: Job, unit: Unit, sizes: Sizes) -> int:
    """Training rows of a unit, about.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    sizes
        Of the unit's data set.
    """
    if unit.fold is None or job.evaluate is None or job.evaluate.split.kind == "holdout":
        return sizes.n_samples
    return sizes.n_samples - sizes.n_samples // job.evaluate.split.folds


def _neighbour_seconds(sizes: Sizes, rows: int, all_rows: int, points: int) -> float:
    """Distances among training rows and from test rows, neighbours at every point."""
    pairs = rows * (rows / 2 + max(1, all_rows - rows))
    rate = _PAIR_BITS_PER_SECOND if sizes.bits else _PAIR_FEATURES_PER_SECOND
    return pairs * sizes.n_features / rate + points * pairs / _PAIR_POINTS_PER_SECOND


def _spec_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    if params.get("similarity") == "rbf-features":
        return _pair_seconds(sizes, rows, params)
    if params.get("phi") == 3:
        return sizes.label_sets**3 / 2e9 + sizes.label_sets**2 * sizes.n_features / 3e9
    return sizes.label_sets**2 * sizes.n_features / 3e9


def _mllap_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    return sizes.cells * (sizes.n_labels + 2) / 1e9 + sizes.n_features**2 / 1e8


def _class_sums_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    sets = sizes.label_sets * sizes.n_features if params.get("order") == 2 else sizes.cells
    return sets * (sizes.n_labels + 2) / 1e9


def _relief_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    """Distances, and a look at each row's for the classes it is told from."""
    rate = _PAIR_BITS_PER_SECOND if sizes.bits else _PAIR_FEATURES_PER_SECOND
    looks = 4 * sizes.n_labels
    return rows * rows * (sizes.n_features / rate + looks / (8 * _PAIR_POINTS_PER_SECOND))


def _reduct_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    """Most pairs are told apart by the first words; sums of differences look at all features."""
    if params.get("aggregate") == "sum":
        return rows * rows * sizes.n_features**2 / _PAIR_POINTS_PER_SECOND
    rate = _PAIRS_OF_BITS_TOLD_PER_SECOND if sizes.bits else _PAIRS_TOLD_PER_SECOND
    return rows * rows / rate


def _reduct_bytes(sizes: Sizes, rows: int) -> float:
    """All rows, prepared twice while they are joined, and the violators that are kept of each."""
    from mlfs_dask.graphs.separation import PREPARED_BYTES

    per_row = sizes.n_features / 2 + (0 if sizes.bits else 8 * sizes.cells / sizes.n_samples)
    return 2.0 * min(rows * per_row, PREPARED_BYTES) + rows * (350 + sizes.n_features / 8)


def _inputs(sizes: Sizes, select: Method) -> int:
    share = select.params.get("pca")
    return int(sizes.n_features * (share if isinstance(share, float) else 1.0)) + 1


def _genetic_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    """Log ratios of all features once for each generation, added up in half of its sets."""
    sets, generations = _number(params, "n_individuals"), _number(params, "n_generations")
    cells = rows * sizes.n_features * sizes.n_labels
    return (generations + 1) * cells * (1 / _DENSITIES_PER_SECOND + sets / 2 / 1e9)


def _information_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    """Counts with all pairs of labels, then with each feature and label."""
    pairs = sizes.n_labels * (sizes.n_labels + sizes.n_features)
    return rows * sizes.n_features * pairs / _BIT_PRODUCTS_PER_SECOND


def _number(params: dict[str, object], name: str) -> float:
    value = params[name]
    assert isinstance(value, (int, float))
    return float(value)


def _pair_seconds(sizes: Sizes, rows: int, params: dict[str, object]) -> float:
    return rows * rows * sizes.n_features / _PAIR_FEATURES_PER_SECOND
