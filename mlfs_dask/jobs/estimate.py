"""Time and memory of units, from sizes alone: what a plan says, and what tasks are made of.

What one selector costs stands in `mlfs_dask.jobs.selector_costs` and `selector_memory`, what one
classifier costs in `classifier_costs`; here they meet the units of a job. A wrong guess costs some
waiting, never a result. Methods that are not listed count as one pass over all pairs of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final

from mlfs_dask.graphs.budget import share_of
from mlfs_dask.jobs import classifier_costs, selector_costs, selector_memory
from mlfs_dask.jobs.rates import Rates, known_rates
from mlfs_dask.jobs.row_shape import Shape
from mlfs_dask.jobs.rows import counts_of, injects_missing, says_counts
from mlfs_dask.jobs.spec import Job, Method, Prefilter
from mlfs_dask.jobs.units import Unit
from mlfs_dask.jobs.workload import Stage, Work, joined
from mlfs_dask.storage.dataset import Dataset

_KERNELS: Final = 24 * 2**20  # those of a method, once they are loaded
_KEEPING_SECONDS: Final = 7e-7  # of a feature in the ranking of a problem, until it is in a file
_OWN_SHARE: Final = 1 / 3  # of the features in a subset that a selector makes by itself
# Selectors whose rankings, one for each label, are judged by a curve each.
_PER_PROBLEM: Final = ("relief-wrapper", "spec-wrapper")
# Classifiers with a model for each problem of such a ranking.
_EACH_HAS_FEATURES: Final = ("br", "clr")


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
    sparse
        Whether rows are sparse.
    carried
        Labels of a row, on average.
    """

    n_samples: int
    n_features: int
    n_labels: int
    label_sets: int
    tile: int
    cells: int
    bits: bool
    item_bytes: int
    sparse: bool = False
    carried: float = 2.0

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
            sparse=indptr is not None,
            carried=float(dataset.Y.mean(dtype=float) * dataset.n_labels) if n else 0.0,
        )

    def shape(self, rows: int, share: float = 1.0) -> Shape:
        """Some of the rows, as costs know them.

        Parameters
        ----------
        rows
            How many.
        share
            Of what a process keeps with ample memory.
        """
        return Shape(
            n=max(1, rows),
            d=max(1, self.n_features),
            q=max(1, self.n_labels),
            u=max(1, min(self.label_sets, rows)),
            per_row=self.cells / max(1, self.n_samples),
            carried=self.carried,
            sparse=self.sparse,
            bits=self.bits,
            item_bytes=self.item_bytes,
            tile=self.tile,
            all_rows=max(1, self.n_samples),
            share=share,
        )


def work(job: Job, unit: Unit, sizes: Sizes, limit: int | None = None) -> Work:
    """What a unit does, in seconds of the machine that the package was measured on.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    sizes
        Of the unit's data set.
    limit
        Bytes that a process may use; what it cannot keep is made anew. None: ample.
    """
    share = share_of(limit)
    sizes = _as_seen(sizes, injected=injects_missing(job))
    rows = train_rows(job, unit, sizes)
    if unit.kind == "judge":
        return _judge(job, unit, sizes, rows, share)
    select = job.selects[unit.selector]
    shape = sizes.shape(rows, share)
    if select.prefilter is None:
        return _select(select, shape)
    kept = _narrowed(sizes, select.prefilter.n).shape(rows, share)
    works = (_select(select.prefilter, shape), _select(select, kept))
    return joined(works[1].road, works)


def seconds(
    job: Job, unit: Unit, sizes: Sizes, rates: Rates | None = None, limit: int | None = None
) -> float:
    """Time of a unit on one core.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    sizes
        Of the unit's data set.
    rates
        Of the machine; default: what is known of this one.
    limit
        As in `work`.
    """
    rates = rates or known_rates().rates
    done = work(job, unit, sizes, limit)
    read = sum(stage.read_bytes for stage in done.stages) / rates.read_bytes_per_second
    return rates.unit_seconds + read + rates.seconds(done.road, done.seconds)


def memory_bytes(
    job: Job, unit: Unit, sizes: Sizes, threads: int, limit: int | None, sharing: int = 1
) -> int:
    """Peak of a unit's arrays, without the process around them.

    Parameters
    ----------
    job
        Resolved job.
    unit
        One of its units.
    sizes
        Of the unit's data set.
    threads
        Tasks that the process does at a time.
    limit
        Bytes that the process may use; None: ample.
    sharing
        Processes that do the unit together.
    """
    together = partial(selector_memory.together, sharing=sharing)
    sizes = _as_seen(sizes, injected=injects_missing(job))
    rows, share = train_rows(job, unit, sizes), share_of(limit)
    shape = sizes.shape(rows, share)
    copies = float(rows < sizes.n_samples)
    if unit.kind == "judge":
        assert unit.classifier is not None
        method = job.classifiers[unit.classifier]
        widths, test = _widths(job, unit, sizes), max(1, sizes.n_samples - rows)
        room = classifier_costs.room(method.method, method.params, shape, test, widths, share)
        copies += 1.0
        return int(_KERNELS + together(shape, room, share, threads, copies))
    select = job.selects[unit.selector]
    room = _room_of(select, shape, share)
    if select.prefilter is not None:
        narrow = _narrowed(sizes, select.prefilter.n).shape(rows, share)
        room = _room_of(select.prefilter, shape, share) | _room_of(select, narrow, share)
        copies += 1.0
    return int(_KERNELS + together(shape, room, share, threads, copies))


def _room_of(method: Method | Prefilter, shape: Shape, share: float) -> selector_memory.Room:
    room = selector_memory.MEMORY.get(method.method, selector_memory.any_other)
    return room(shape, method.params, share)


def _select(method: Method | Prefilter, shape: Shape) -> Work:
    cost = selector_costs.COSTS.get(method.method, selector_costs.any_other)
    done = cost(shape, method.params)
    if method.method not in _PER_PROBLEM:
        return done
    ranked = selector_costs.n_problems(shape, method.params) * shape.d
    return Work(done.road, (*done.stages, Stage("rankings kept", ranked * _KEEPING_SECONDS)))


def _judge(job: Job, unit: Unit, sizes: Sizes, rows: int, share: float) -> Work:
    assert unit.classifier is not None
    method = job.classifiers[unit.classifier]
    test = max(1, sizes.n_samples - rows)
    per_problem = unit.needs and job.selects[unit.selector].method in _PER_PROBLEM
    curves = sizes.n_labels if per_problem and method.method not in _EACH_HAS_FEATURES else 1
    widths = _widths(job, unit, sizes)
    return classifier_costs.curve(
        method.method, method.params, sizes.shape(rows, share), test, widths
    ).repeated(curves)


def _widths(job: Job, unit: Unit, sizes: Sizes) -> tuple[int, ...]:
    """Features at the points of the curve; a selector's own subset or size is one point."""
    if not unit.needs:
        return (sizes.n_features,)
    features = job.features_of(job.selects[unit.selector])
    if says_counts(features):
        return counts_of(features, sizes.n_features)
    return (max(1, int(sizes.n_features * _OWN_SHARE)),)


@lru_cache(maxsize=64)
def _as_seen(sizes: Sizes, *, injected: bool) -> Sizes:
    """Sizes of the rows as units see them: cells that are made missing are floats."""
    if not injected:
        return sizes
    return replace(sizes, bits=False, item_bytes=max(sizes.item_bytes, 8))


@lru_cache(maxsize=64)
def _narrowed(sizes: Sizes, n_features: int) -> Sizes:
    """Sizes with fewer features; all cells are still read."""
    kept = min(n_features, sizes.n_features)
    cells = int(sizes.cells * kept / max(1, sizes.n_features))
    return replace(sizes, n_features=kept, cells=cells)


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
